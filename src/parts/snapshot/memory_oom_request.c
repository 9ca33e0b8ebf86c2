/* SPDX-License-Identifier: MIT
 * What the request was that failed: its size as a shape where it factors, and who holds others like it. */
#include <stdio.h>

#include "frame_kind.h"
#include "oom_request.h"
#include "periods.h"
#include "request_shape.h"
#include "sort.h"

#include "poison.h"

#define BLOCK_BYTES 512 /* an oom entry tells the request rounded up to that */

static void add_alike(struct ap_oom_alike *to, int64_t bytes, bool *overflowed)
{
    to->bytes = ap_add_sat(to->bytes, bytes, overflowed);
    to->count++;
}

/* 0 = the request's size is not known. */
static bool has_size(const struct ap_owned *owned, int64_t request_bytes)
{
    return request_bytes > 0 && owned->bytes <= request_bytes && request_bytes - owned->bytes < BLOCK_BYTES;
}

/* The most that the line got before it failed. */
static int64_t most_before(const struct ap_snapshot_part *pass, const struct ap_oom *oom, const uint32_t *lines,
                           uint32_t line)
{
    const struct ap_actions *actions = &pass->snapshot->actions;
    int64_t most_bytes = 0;
    for (uint32_t i = pass->replay->devices[oom->device].first_entry; i < oom->entry && line; i++)
        if (actions->name[i].id == AP_ACTION_ALLOC && lines[actions->stack[i]] == line &&
            actions->size_bytes[i] > most_bytes)
            most_bytes = actions->size_bytes[i];
    return most_bytes;
}

/* The loss makes as many values as there are logits several times, in 16 or 32 bits. */
static int64_t sum_logits(struct ap_snapshot_part *pass, const struct ap_owned_device *owned, int64_t request_bytes)
{
    int64_t bytes = request_bytes;
    for (uint32_t i = 0; i < owned->count; i++) {
        int64_t of = owned->list[i].bytes;
        if (of == request_bytes || of == request_bytes / 2 || (of % 2 == 0 && of / 2 == request_bytes))
            bytes = ap_add_sat(bytes, of, &pass->overflowed);
    }
    return bytes;
}

static void put_shape(struct ap_snapshot_part *pass, struct ap_value *to, const struct ap_oom *oom,
                      const struct ap_owned_device *owned, struct ap_oom_request *request)
{
    struct ap_request_shape shape;
    char text[80], half[40] = "";
    if (!oom->has_request || !ap_request_shape_find(oom->request_bytes, owned->list, owned->count, &shape)) {
        ap_add_null(pass->model, to, "shape");
        return;
    }
    request->logits_bytes = sum_logits(pass, owned, oom->request_bytes);
    if (shape.may_be_half)
        (void)snprintf(half, sizeof(half), ", or %lld of 2", (long long)shape.rows * 2);
    (void)snprintf(text, sizeof(text), "%lld rows of %lld values of %u bytes%s", (long long)shape.rows,
                   (long long)shape.words, (unsigned)shape.value_bytes, half);
    ap_add_string(pass->model, to, "shape", text);
}

static void put_alike(struct ap_model *model, struct ap_value *to, const char *key, const struct ap_oom_alike *alike)
{
    struct ap_value *of = ap_add_object(model, to, key);
    ap_add_known_count(model, of, "allocations", alike->known, (int64_t)alike->count);
    ap_add_known_bytes(model, of, "requested_bytes", alike->known, alike->bytes);
}

/* The stack that holds most of the list; what for, where @as asks for that. */
static enum ap_status put_holder(struct ap_snapshot_part *pass, struct ap_value *to, struct ap_owned_device *list,
                                 const char *by, const char *as, struct ap_error *reterr)
{
    struct ap_owned_group *groups;
    uint32_t count, best = 0;
    AP_TRY(ap_owned_by_stack(pass->owners, list, &groups, &count, reterr));
    for (uint32_t i = 1; i < count; i++)
        best = groups[i].bytes > groups[best].bytes ? i : best;
    enum ap_status status = AP_OK;
    if (count)
        status = ap_memory_put_frame(pass, to, by, groups[best].stack, reterr);
    else
        ap_add_null(pass->model, to, by);
    if (as && status == AP_OK)
        ap_add_known_string(pass->model, to, as, count,
                            count ? ap_owner_category_name((enum ap_owner_category)groups[best].category) : NULL);
    AP_FREE(pass->scratch.gate, groups, count);
    return status;
}

static void sum_categories(struct ap_snapshot_part *pass, const struct ap_owned_device *owned, struct ap_oom_request *to)
{
    for (uint32_t i = 0; i < owned->count; i++) {
        enum ap_owner_category category = ap_owned_category(&owned->list[i]);
        int64_t *bytes = &to->category_bytes[category];
        *bytes = ap_add_sat(*bytes, owned->list[i].bytes, &pass->overflowed);
        to->live_bytes = ap_add_sat(to->live_bytes, owned->list[i].bytes, &pass->overflowed);
    }
    for (unsigned i = 0; i < AP_OWNER_CATEGORY_COUNT_; i++)
        to->most = to->category_bytes[i] > to->category_bytes[to->most] ? (enum ap_owner_category)i : to->most;
}

/* What most of the memory in use is for, and who made most of that. Those move to the front of the list. */
static enum ap_status put_most(struct ap_snapshot_part *pass, struct ap_value *row, struct ap_owned_device *owned,
                               const struct ap_oom_request *request, struct ap_error *reterr)
{
    struct ap_owned_device most = *owned;
    most.count = 0;
    for (uint32_t i = 0; i < owned->count; i++) {
        struct ap_owned one = owned->list[i];
        if (ap_owned_category(&one) != request->most)
            continue;
        owned->list[i] = owned->list[most.count];
        owned->list[most.count++] = one;
    }
    ap_add_known_string(pass->model, row, "most_as", most.count, ap_owner_category_name(request->most));
    ap_put_bytes(pass, row, "most_bytes", most.count, request->category_bytes[request->most]);
    return put_holder(pass, row, &most, "most_by", NULL, reterr);
}

/* Is the state of an optimizer being set up that no frame tells? No other pass has begun behind it. */
static bool is_first_update(const struct ap_snapshot_part *pass, const struct ap_oom *oom,
                            const struct ap_owned_device *owned)
{
    const struct ap_actions *actions = &pass->snapshot->actions;
    uint32_t first = AP_NO_ENTRY;
    for (uint32_t i = 0; i < owned->count; i++)
        if (owned->list[i].evidence == AP_EVIDENCE_FIRST_UPDATE && owned->list[i].alloc < first)
            first = owned->list[i].alloc;
    for (uint32_t i = first; i < oom->entry; i++)
        if (actions->name[i].id == AP_ACTION_ALLOC &&
            (pass->owners->work[i] == AP_WORK_FORWARD || pass->owners->work[i] == AP_WORK_BACKWARD))
            return false;
    return first < oom->entry;
}

/* Those of the same size move to the front of the list; returns their number. One line of the user's may ask by several
 * stacks, as for a copy and for the loss of it. */
static uint32_t find_alike(struct ap_snapshot_part *pass, const struct ap_oom *oom, const uint32_t *lines,
                           struct ap_owned_device *owned, struct ap_oom_request *to)
{
    uint32_t line = lines[pass->snapshot->actions.stack[oom->entry]], same = 0;
    int64_t request_bytes = oom->has_request ? oom->request_bytes : 0;
    to->line.known = line != 0;
    to->size.known = oom->has_request;
    to->most_before_bytes = most_before(pass, oom, lines, line);
    for (uint32_t i = 0; i < owned->count; i++) {
        struct ap_owned one = owned->list[i];
        if (line && lines[one.stack] == line)
            add_alike(&to->line, one.bytes, &pass->overflowed);
        if (!has_size(&one, request_bytes))
            continue;
        add_alike(&to->size, one.bytes, &pass->overflowed);
        owned->list[i] = owned->list[same];
        owned->list[same++] = one;
    }
    return same;
}

static enum ap_status put_all(struct ap_snapshot_part *pass, struct ap_value *row, const struct ap_oom *oom,
                              const uint32_t *lines, struct ap_owned_device *owned, struct ap_oom_request *to,
                              struct ap_error *reterr)
{
    struct ap_owned_device same = *owned;
    to->request_bytes = oom->has_request ? oom->request_bytes : 0;
    put_shape(pass, row, oom, owned, to);
    same.count = find_alike(pass, oom, lines, owned, to);
    put_alike(pass->model, row, "same_line", &to->line);
    ap_put_bytes(pass, row, "most_before_bytes", to->line.known, to->most_before_bytes);
    put_alike(pass->model, row, "same_size", &to->size);
    AP_TRY(put_holder(pass, row, &same, "held_by", "held_as", reterr));
    sum_categories(pass, owned, to);
    to->in_first_update = is_first_update(pass, oom, owned);
    return put_most(pass, row, owned, to, reterr);
}

/* By stack: the frame that stands for it in reports, and one; 0 = none. What asks by the same path is looked at once. */
static enum ap_status find_lines(struct ap_snapshot_part *pass, uint32_t *lines, struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = pass->snapshot;
    struct ap_origin_groups groups;
    ap_origin_groups_init(&groups, snapshot);
    enum ap_status status = ap_origin_groups_by_line(&groups, snapshot, reterr);
    for (uint32_t i = 1; i <= snapshot->stacks.stack_count && status == AP_OK; i++) {
        uint32_t count, first = groups.lines[i];
        const uint32_t *frames = ap_stack_frames(&snapshot->stacks, i, &count);
        lines[i] = first < i ? lines[first] : count ? frames[ap_stack_main_frame(snapshot, i)] + 1 : 0;
    }
    ap_origin_groups_release(&groups);
    return status;
}

enum ap_status ap_memory_put_oom_request(struct ap_snapshot_part *pass, struct ap_value *row, const struct ap_oom *oom,
                                         struct ap_oom_request *ret_request, struct ap_error *reterr)
{
    struct ap_owned_device owned;
    struct ap_oom_request request = { .most_before_bytes = 0 };
    uint32_t position = oom->entry - pass->replay->devices[oom->device].first_entry;
    uint32_t *lines = NULL;
    size_t stacks = (size_t)pass->snapshot->stacks.stack_count + 1;
    enum ap_status status = AP_ALLOC_CLEARED(pass->scratch.gate, lines, stacks, reterr);
    AP_AND_THEN(status, find_lines(pass, lines, reterr));
    AP_AND_THEN(status, ap_owned_take_at(pass->owners, oom->device, position, &owned, reterr));
    if (status == AP_OK) {
        status = put_all(pass, row, oom, lines, &owned, &request, reterr);
        ap_owned_release(pass->owners, &owned);
    }
    AP_FREE(pass->scratch.gate, lines, stacks);
    *ret_request = request;
    return status;
}
