/* SPDX-License-Identifier: MIT */
#include "memory_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "frame_kind.h"
#include "stack_frames.h"
#include "sort.h"

#include "poison.h"

#define ID_BYTES 40

static const struct ap_lifetime *lifetime_at(const struct ap_memory_view *view, size_t index)
{
    return &view->replay->lifetimes[view->order[index]];
}

/* ---- order ---- */

static bool lifetime_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_memory_view *view = context;
    const struct ap_lifetime *x = &view->replay->lifetimes[a], *y = &view->replay->lifetimes[b];
    uint32_t device_x = ap_replay_device_of(view->replay, a), device_y = ap_replay_device_of(view->replay, b);
    AP_SMALLER_FIRST(device_x, device_y);
    bool old_x = x->alloc == AP_NO_ENTRY, old_y = y->alloc == AP_NO_ENTRY;
    if (old_x != old_y)
        return old_x;
    return x->alloc != y->alloc ? x->alloc < y->alloc : a < b;
}

enum ap_status ap_memory_view_init(struct ap_memory_view *view, const struct ap_snapshot *snapshot, struct ap_gate *gate,
                                   struct ap_error *reterr)
{
    bool overflowed = false;
    *view = (struct ap_memory_view){ .gate = gate, .snapshot = snapshot };
    enum ap_status status = ap_replay_new(snapshot, gate, &overflowed, &view->replay, reterr);
    if (status == AP_OK)
        status =
            ap_top_indices(gate, view->replay->lifetime_count, 0, lifetime_before, view, &view->order, &view->count, reterr);
    if (status != AP_OK)
        ap_memory_view_release(view);
    return status;
}

void ap_memory_view_release(struct ap_memory_view *view)
{
    if (!view->snapshot)
        return;
    AP_FREE(view->gate, view->order, view->count);
    ap_replay_free(view->replay);
    *view = (struct ap_memory_view){ .gate = view->gate };
}

/* ---- one row ---- */

static void format_id(const struct ap_lifetime *lifetime, char to[ID_BYTES])
{
    uint32_t freed = lifetime->free_requested != AP_NO_ENTRY ? lifetime->free_requested : lifetime->free_completed;
    if (lifetime->alloc != AP_NO_ENTRY)
        (void)snprintf(to, ID_BYTES, "alloc:%" PRIu32, lifetime->alloc);
    else if (lifetime->block != AP_NO_ENTRY)
        (void)snprintf(to, ID_BYTES, "block:%" PRIu32, lifetime->block);
    else
        (void)snprintf(to, ID_BYTES, "free:%" PRIu32, freed);
}

static bool time_of(const struct ap_memory_view *view, uint32_t entry, int64_t *ret_ns)
{
    const struct ap_actions *actions = &view->snapshot->actions;
    if (entry == AP_NO_ENTRY || !(actions->has[entry] & AP_ACTION_HAS_TIME))
        return false;
    *ret_ns = actions->time_ns[entry];
    return true;
}

static void add_frame(const struct ap_memory_view *view, uint32_t frame, struct ap_model *model, struct ap_value *to,
                      const char *key)
{
    struct ap_text text;
    if (ap_memory_frame_text(view->snapshot, &model->arena, frame, &text, NULL) == AP_OK)
        ap_add_text(model, to, key, text);
    else
        model->failed = true;
}

/* The program's own line, else the node of a backward pass, else the innermost frame. */
static void add_line(const struct ap_memory_view *view, uint32_t stack, struct ap_model *model, struct ap_value *to)
{
    uint32_t count, shown = ap_stack_main_frame(view->snapshot, stack);
    const uint32_t *frames = ap_stack_frames(&view->snapshot->stacks, stack, &count);
    if (!count)
        ap_add_null(model, to, "line");
    else
        add_frame(view, frames[shown], model, to, "line");
}

static void fill(void *self, size_t index, struct ap_model *model, struct ap_value *to)
{
    const struct ap_memory_view *view = self;
    const struct ap_lifetime *lifetime = lifetime_at(view, index);
    struct ap_allocation of;
    char id[ID_BYTES], address[40];
    int64_t begin_ns = 0, end_ns = 0;
    bool begun = time_of(view, lifetime->alloc, &begin_ns);
    bool ended = time_of(view, lifetime->free_requested != AP_NO_ENTRY ? lifetime->free_requested : lifetime->free_completed,
                         &end_ns);
    ap_replay_allocation(view->replay, view->order[index], &of);
    format_id(lifetime, id);
    (void)snprintf(address, sizeof(address), "0x%" PRIx64, of.address);
    ap_add_string(model, to, "row_id", id);
    ap_add_count(model, to, "device", of.device);
    ap_add_known_bytes(model, to, "bytes", of.has_requested, of.requested_bytes);
    ap_add_known_bytes(model, to, "block_bytes", of.block_bytes > 0, of.block_bytes);
    ap_add_known_time(model, to, "start_us", begun, begin_ns);
    ap_add_known_time(model, to, "lifetime_us", begun && ended && end_ns >= begin_ns, end_ns - (begun ? begin_ns : end_ns));
    ap_add_bool(model, to, "before_history", lifetime->alloc == AP_NO_ENTRY);
    ap_add_bool(model, to, "live_at_end", lifetime->block != AP_NO_ENTRY && lifetime->free_requested == AP_NO_ENTRY);
    add_line(view, of.stack, model, to);
    ap_add_known_string(model, to, "address", of.has_address, address);
    ap_add_known_count(model, to, "stream", of.has_stream, (int64_t)(of.stream & INT64_MAX));
}

struct ap_row_source ap_memory_view_source(struct ap_memory_view *view)
{
    return (struct ap_row_source){ view->gate, "allocations", view->count, fill, view, NULL };
}

/* ---- around one ---- */

size_t ap_memory_row_find(const struct ap_memory_view *view, const char *id)
{
    char own[ID_BYTES];
    for (size_t i = 0; i < view->count; i++) {
        format_id(lifetime_at(view, i), own);
        if (strcmp(own, id) == 0)
            return i;
    }
    return SIZE_MAX;
}

static enum ap_status add_frames(const struct ap_memory_view *view, uint32_t stack, uint64_t limit, struct ap_model *model,
                                 struct ap_value *to, struct ap_error *reterr)
{
    struct ap_value *list = ap_add_list(model, to, "frames");
    uint32_t count = ap_stack_shown(view->snapshot, stack, NULL);
    if (count) {
        uint32_t *frames;
        AP_TRY(AP_ALLOC(view->gate, frames, count, reterr));
        (void)ap_stack_shown(view->snapshot, stack, frames);
        for (uint32_t i = 0; i < count && i < limit; i++)
            add_frame(view, frames[i], model, list, NULL);
        AP_FREE(view->gate, frames, count);
    }
    ap_add_count(model, to, "frames_left_out", count > limit ? (int64_t)(count - limit) : 0);
    return AP_OK;
}

static bool larger(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_memory_view *view = context;
    int64_t x = ap_replay_lifetime_bytes(view->replay, view->order[a]),
            y = ap_replay_lifetime_bytes(view->replay, view->order[b]);
    return x != y ? x > y : a < b;
}

/* Of the same device, in use when this one was made. */
static bool lives_beside(const struct ap_memory_view *view, size_t index, size_t other)
{
    const struct ap_lifetime *own = lifetime_at(view, index), *its = lifetime_at(view, other);
    uint32_t at = own->alloc == AP_NO_ENTRY ? 0 : own->alloc;
    uint32_t freed = its->free_requested != AP_NO_ENTRY ? its->free_requested : its->free_completed;
    return other != index &&
           ap_replay_device_of(view->replay, view->order[index]) == ap_replay_device_of(view->replay, view->order[other]) &&
           (its->alloc == AP_NO_ENTRY || its->alloc < at) && (freed == AP_NO_ENTRY || freed > at);
}

static enum ap_status add_live(struct ap_memory_view *view, size_t index, uint64_t limit, struct ap_model *model,
                               struct ap_value *to, struct ap_error *reterr)
{
    struct ap_value *live = ap_add_object(model, to, "live");
    uint32_t *beside = NULL;
    size_t count = 0, capacity = 0;
    int64_t bytes = 0;
    bool overflowed = false;
    enum ap_status status = AP_OK;
    for (size_t i = 0; i < view->count && status == AP_OK; i++) {
        if (!lives_beside(view, index, i))
            continue;
        bytes = ap_add_sat(bytes, ap_replay_lifetime_bytes(view->replay, view->order[i]), &overflowed);
        status = AP_RESERVE(view->gate, beside, capacity, count + 1, reterr);
        if (status == AP_OK)
            beside[count++] = (uint32_t)i;
    }
    AP_AND_THEN(status, ap_sort_list(view->gate, beside, count, larger, view, reterr));
    if (status == AP_OK) {
        ap_add_count(model, live, "count", (int64_t)count);
        ap_add_bytes(model, live, "bytes", bytes);
        struct ap_value *list = ap_add_list(model, live, "largest");
        for (size_t i = 0; i < count && i < limit; i++)
            fill(view, beside[i], model, ap_add_object(model, list, NULL));
    }
    AP_FREE(view->gate, beside, capacity);
    return status;
}

static void add_neighbors(struct ap_memory_view *view, size_t index, uint64_t limit, struct ap_model *model,
                          struct ap_value *to)
{
    struct ap_value *list = ap_add_list(model, to, "neighbours");
    size_t half = (size_t)(limit / 2), first = index > half ? index - half : 0;
    for (size_t i = first; i < view->count && i <= index + half; i++)
        if (i != index)
            fill(view, i, model, ap_add_object(model, list, NULL));
}

enum ap_status ap_memory_add_around(struct ap_memory_view *view, size_t index, uint64_t limit, struct ap_model *model,
                                    struct ap_value *to, struct ap_error *reterr)
{
    struct ap_allocation of;
    ap_replay_allocation(view->replay, view->order[index], &of);
    fill(view, index, model, ap_add_object(model, to, "allocation"));
    AP_TRY(add_frames(view, of.stack, limit, model, to, reterr));
    AP_TRY(add_live(view, index, limit, model, to, reterr));
    add_neighbors(view, index, limit, model, to);
    return ap_model_status(model, reterr);
}
