/* SPDX-License-Identifier: MIT
 * Who owns the memory that is in use at the peak of each device. */
#include "early_gradients.h"
#include "frame_kind.h"
#include "peak_causes.h"
#include "peak_part.h"
#include "sort.h"

#include "poison.h"

/* ---------------------------------------------------------------------------------------------------------- categories */

struct owner_sum {
    int64_t bytes;
    uint64_t count;
};

/* By evidence, and from that by category. */
struct owner_sums {
    struct owner_sum evidence[AP_OWNER_EVIDENCE_COUNT_], category[AP_OWNER_CATEGORY_COUNT_];
    int64_t stacked_bytes; /* with a stack */
};

static void add_owned(struct owner_sum *sum, int64_t bytes, bool *overflowed)
{
    sum->bytes = ap_add_sat(sum->bytes, bytes, overflowed);
    sum->count++;
}

static void sum_owners(const struct ap_owned_device *device, struct owner_sums *ret_sums, bool *overflowed)
{
    *ret_sums = (struct owner_sums){ .stacked_bytes = 0 };
    for (uint32_t i = 0; i < device->count; i++) {
        const struct ap_owned *owned = &device->list[i];
        add_owned(&ret_sums->evidence[owned->evidence], owned->bytes, overflowed);
        add_owned(&ret_sums->category[ap_owned_category(owned)], owned->bytes, overflowed);
        if (owned->stack)
            ret_sums->stacked_bytes = ap_add_sat(ret_sums->stacked_bytes, owned->bytes, overflowed);
    }
}

static void put_amount(struct ap_model *model, struct ap_value *row, int64_t bytes, uint64_t count, int64_t total_bytes)
{
    ap_add_bytes(model, row, "requested_bytes", bytes);
    ap_add_count(model, row, "allocations", (int64_t)count);
    ap_add_quotient(model, row, "share_ratio", (double)bytes, (double)total_bytes);
}

static void put_evidence(struct ap_model *model, struct ap_value *row, const struct owner_sums *sums,
                         enum ap_owner_category category, int64_t total_bytes)
{
    struct ap_value *list = ap_add_list(model, row, "evidence");
    for (unsigned i = 0; i < AP_OWNER_EVIDENCE_COUNT_; i++) {
        enum ap_owner_evidence evidence = (enum ap_owner_evidence)i;
        if (!sums->evidence[i].count || ap_owner_evidence_category(evidence) != category)
            continue;
        struct ap_value *item = ap_add_object(model, list, NULL);
        ap_add_string(model, item, "reason", ap_owner_evidence_sentence(evidence));
        put_amount(model, item, sums->evidence[i].bytes, sums->evidence[i].count, total_bytes);
    }
}

/* All categories, so that their bytes add up to the total; last what the list of allocations does not explain. */
static void put_categories(struct ap_snapshot_part *pass, struct ap_value *to, const struct ap_owned_device *device,
                           const struct owner_sums *sums)
{
    struct ap_model *model = pass->model;
    struct ap_value *list = ap_add_list(model, to, "by_category");
    for (unsigned i = 0; i < AP_OWNER_CATEGORY_COUNT_; i++) {
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_string(model, row, "category", ap_owner_category_name((enum ap_owner_category)i));
        put_amount(model, row, sums->category[i].bytes, sums->category[i].count, device->total_bytes);
        put_evidence(model, row, sums, (enum ap_owner_category)i, device->total_bytes);
    }
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_string(model, row, "category", "unexplained");
    put_amount(model, row, ap_subtract_sat(device->total_bytes, device->listed_bytes, &pass->overflowed), 0,
               device->total_bytes);
    (void)ap_add_list(model, row, "evidence");
}

/* -------------------------------------------------------------------------------------------------- stacks and frames */

/* Of the device, row @index of @rows. */
typedef enum ap_status put_row(struct ap_snapshot_part *pass, struct ap_value *list, const struct ap_owned_device *device,
                               const void *rows, uint32_t index, struct ap_error *reterr);

static enum ap_status put_largest(struct ap_peak_part *own, struct ap_value *list, const struct ap_owned_device *device,
                                  const void *rows, uint32_t count, ap_before *before, put_row *put, struct ap_error *reterr)
{
    uint32_t *top;
    size_t top_count;
    AP_TRY(ap_top_indices(own->gate, count, own->pass->top_n, before, rows, &top, &top_count, reterr));
    enum ap_status status = AP_OK;
    for (size_t i = 0; i < top_count && status == AP_OK; i++)
        status = put(own->pass, list, device, rows, top[i], reterr);
    AP_FREE(own->gate, top, top_count);
    return status;
}

static bool larger_group(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_owned_group *groups = context;
    return groups[a].bytes != groups[b].bytes ? groups[a].bytes > groups[b].bytes : a < b;
}

static enum ap_status put_stack(struct ap_snapshot_part *pass, struct ap_value *list, const struct ap_owned_device *device,
                                const void *rows, uint32_t index, struct ap_error *reterr)
{
    const struct ap_owned_group *group = (const struct ap_owned_group *)rows + index;
    struct ap_value *row = ap_add_object(pass->model, list, NULL);
    ap_put_count(pass, row, "stack", group->stack != 0, group->stack);
    AP_TRY(ap_memory_put_frame(pass, row, "frame", group->stack, reterr));
    put_amount(pass->model, row, group->bytes, group->count, device->total_bytes);
    ap_add_string(pass->model, row, "category", ap_owner_category_name((enum ap_owner_category)group->category));
    return ap_memory_put_frames(pass, row, group->stack, reterr);
}

#define FRAME_LIBRARY (UINT32_MAX - 1) /* no frame of the stack is the user's */
#define FRAME_NO_STACK UINT32_MAX

struct frame_group {
    int64_t bytes;
    uint64_t count;
    uint32_t frame;
    uint32_t stack; /* one of those */
};

static uint32_t user_frame_of(const struct ap_snapshot *snapshot, uint32_t stack)
{
    uint32_t count, at = ap_stack_user_frame(snapshot, stack);
    at = at == UINT32_MAX ? ap_stack_backward_frame(snapshot, stack) : at;
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    if (!count)
        return FRAME_NO_STACK;
    return at < count ? frames[at] : FRAME_LIBRARY;
}

static int by_frame(const void *left, const void *right)
{
    const struct frame_group *a = left, *b = right;
    AP_BY_SMALLER(a->frame, b->frame);
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static bool larger_frame(const void *context, uint32_t a, uint32_t b)
{
    const struct frame_group *frames = context;
    return frames[a].bytes != frames[b].bytes ? frames[a].bytes > frames[b].bytes : a < b;
}

static uint32_t merge_frames(struct frame_group *frames, uint32_t count, bool *overflowed)
{
    uint32_t merged = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (merged && frames[merged - 1].frame == frames[i].frame) {
            frames[merged - 1].bytes = ap_add_sat(frames[merged - 1].bytes, frames[i].bytes, overflowed);
            frames[merged - 1].count += frames[i].count;
        } else {
            frames[merged++] = frames[i];
        }
    }
    return merged;
}

static enum ap_status put_frame(struct ap_snapshot_part *pass, struct ap_value *list, const struct ap_owned_device *device,
                                const void *rows, uint32_t index, struct ap_error *reterr)
{
    const struct frame_group *group = (const struct frame_group *)rows + index;
    struct ap_value *row = ap_add_object(pass->model, list, NULL);
    bool user = ap_stack_user_frame(pass->snapshot, group->stack) != UINT32_MAX;
    if (group->frame < FRAME_LIBRARY)
        AP_TRY(ap_memory_put_frame(pass, row, "frame", group->stack, reterr));
    else
        ap_add_null(pass->model, row, "frame");
    ap_add_string(pass->model, row, "code", user ? "user" : group->frame == FRAME_NO_STACK ? "no stack" : "library only");
    put_amount(pass->model, row, group->bytes, group->count, device->total_bytes);
    return AP_OK;
}

static enum ap_status put_frames(struct ap_peak_part *own, struct ap_value *to, const struct ap_owned_device *device,
                                 const struct ap_owned_group *groups, uint32_t count, struct ap_error *reterr)
{
    size_t bytes = ((size_t)count + 1) * sizeof(struct frame_group);
    struct frame_group *frames = ap_mem_resize(own->gate, NULL, 0, bytes);
    if (!frames)
        return ap_fail_memory(own->gate, reterr);
    for (uint32_t i = 0; i < count; i++)
        frames[i] = (struct frame_group){ groups[i].bytes, groups[i].count,
                                          user_frame_of(own->pass->snapshot, groups[i].stack), groups[i].stack };
    ap_sort(frames, count, sizeof(*frames), by_frame);
    uint32_t merged = merge_frames(frames, count, &own->pass->overflowed);
    struct ap_value *list = ap_add_list(own->pass->model, to, "by_frame");
    enum ap_status status = put_largest(own, list, device, frames, merged, larger_frame, put_frame, reterr);
    ap_mem_free(own->gate, frames, bytes);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------ a device */

/* The entry that reached the peak, or the last one. */
static bool time_of(const struct ap_peak_part *own, const struct ap_owned_device *device, int64_t *ret_ns)
{
    const struct ap_actions *actions = &own->pass->snapshot->actions;
    if (!device->has_history || device->position == 0)
        return false;
    uint32_t entry = own->pass->replay->devices[device->device].first_entry + device->position - 1;
    *ret_ns = actions->time_ns[entry];
    return actions->has[entry] & AP_ACTION_HAS_TIME;
}

static void put_place(struct ap_peak_part *own, struct ap_value *row, const struct ap_owned_device *device)
{
    struct ap_snapshot_part *pass = own->pass;
    int64_t time_ns = 0;
    bool timed = time_of(own, device, &time_ns);
    const struct ap_memory_range *range = timed ? ap_memory_range_at(&own->ranges, (uint32_t)device->device, time_ns) : NULL;
    ap_put_count(pass, row, "device", device->device >= 0, (uint64_t)device->device);
    ap_add_string(pass->model, row, "at", device->at_peak ? "peak" : "end");
    ap_put_count(pass, row, "position", device->has_history, device->position);
    ap_put_time(pass, row, "time_us", timed, time_ns);
    if (range)
        ap_add_text(pass->model, row, "phase", ap_strpool_text(&pass->snapshot->strings, (struct ap_str){ range->name }));
    else
        ap_add_null(pass->model, row, "phase");
}

static enum ap_status put_device(struct ap_peak_part *own, struct ap_value *list, struct ap_owned_device *device,
                                 struct ap_error *reterr)
{
    struct ap_snapshot_part *pass = own->pass;
    struct ap_value *row = ap_add_object(pass->model, list, NULL);
    struct ap_owned_group *groups;
    struct owner_sums sums;
    uint32_t count;
    put_place(own, row, device);
    ap_add_bytes(pass->model, row, "requested_bytes", device->total_bytes);
    ap_add_count(pass->model, row, "live_count", device->count);
    sum_owners(device, &sums, &pass->overflowed);
    ap_add_quotient(pass->model, row, "with_stack_ratio", (double)sums.stacked_bytes, (double)device->listed_bytes);
    put_categories(pass, row, device, &sums);
    AP_TRY(ap_owned_by_stack(own->owners, device, &groups, &count, reterr));
    enum ap_status status = put_frames(own, row, device, groups, count, reterr);
    struct ap_value *stacks = ap_add_list(pass->model, row, "by_stack");
    AP_AND_THEN(status, put_largest(own, stacks, device, groups, count, larger_group, put_stack, reterr));
    AP_FREE(own->gate, groups, count);
    return status;
}

/* ----------------------------------------------------------------------------------------- the device with most of all */

/* A part of the peak, in bytes and as a share. */
static void put_cause(struct ap_peak_part *own, struct ap_value *to, const char *bytes_key, const char *ratio_key,
                      int64_t bytes)
{
    double total = own->has_largest ? (double)own->largest.total_bytes : 0;
    ap_put_bytes(own->pass, to, bytes_key, own->has_largest, bytes);
    ap_add_quotient(own->pass->model, to, ratio_key, (double)bytes, total);
}

static enum ap_status put_causes(struct ap_peak_part *own, struct ap_value *to, struct ap_error *reterr)
{
    struct ap_peak_causes causes = { .buffers_bytes = 0 };
    if (own->has_largest)
        AP_TRY(ap_peak_causes_find(own->owners, &own->largest, &causes, reterr));
    put_cause(own, to, "buffers_bytes", "buffers_ratio", causes.buffers_bytes);
    put_cause(own, to, "recomputed_bytes", "recomputed_ratio", causes.recomputed_bytes);
    put_cause(own, to, "gathered_bytes", "gathered_ratio", causes.gathered_bytes);
    ap_add_quotient(own->pass->model, to, "gathered_at_once_ratio", (double)causes.gathered_bytes,
                    causes.gathered_pass_bytes > causes.gathered_bytes ? (double)causes.gathered_pass_bytes
                                                                       : (double)causes.gathered_bytes);
    put_cause(own, to, "workspace_bytes", "workspace_ratio", causes.workspace_bytes);
    put_cause(own, to, "table_gradients_bytes", "table_gradients_ratio", causes.table_gradients_bytes);
    put_cause(own, to, "frozen_bytes", "frozen_ratio", causes.frozen_bytes);
    put_cause(own, to, "cast_bytes", "cast_ratio", causes.cast_bytes);
    ap_put_bytes(own->pass, to, "kv_cache_bytes", own->has_largest, causes.cache_bytes);
    ap_put_bool(own->pass, to, "trained", own->has_largest && own->largest.has_history, own->owners->has_backward);
    ap_put_count(own->pass, to, "kv_cache_count", own->has_largest, causes.cache_count);
    ap_put_count(own->pass, to, "kv_cache_replaced_count", own->has_largest, causes.cache_replaced_count);
    return AP_OK;
}

static void put_ratios(struct ap_peak_part *own, struct ap_value *to)
{
    static const char *const keys[] = {
#define AP_OWNER_CATEGORY(id, key, word) key "_ratio",
#include "owner_category.def"
    };
    struct ap_model *model = own->pass->model;
    struct owner_sums sums = { .stacked_bytes = 0 };
    double total = own->has_largest ? (double)own->largest.total_bytes : 0;
    if (own->has_largest)
        sum_owners(&own->largest, &sums, &own->pass->overflowed);
    ap_put_count(own->pass, to, "device", own->has_largest && own->largest.device >= 0, (uint64_t)own->largest.device);
    ap_add_known_string(model, to, "at", own->has_largest, own->largest.at_peak ? "peak" : "end");
    ap_put_bytes(own->pass, to, "requested_bytes", own->has_largest, own->largest.total_bytes);
    ap_add_quotient(model, to, "with_stack_ratio", (double)sums.stacked_bytes,
                    own->has_largest ? (double)own->largest.listed_bytes : 0);
    for (unsigned i = 0; i < AP_OWNER_CATEGORY_COUNT_; i++)
        ap_add_quotient(model, to, keys[i], (double)sums.category[i].bytes, total);
    ap_put_bytes(own->pass, to, "gradients_bytes", own->has_largest, sums.category[AP_OWNER_GRADIENTS].bytes);
    ap_put_bytes(own->pass, to, "optimizer_state_bytes", own->has_largest, sums.category[AP_OWNER_OPTIMIZER_STATE].bytes);
    ap_put_bytes(own->pass, to, "activations_bytes", own->has_largest, sums.category[AP_OWNER_ACTIVATIONS].bytes);
    ap_put_bytes(own->pass, to, "copies_of_weights_bytes", own->has_largest, sums.category[AP_OWNER_COPIES].bytes);
    int64_t early_bytes = 0;
    if (own->has_largest)
        early_bytes = ap_early_gradients(own->owners, &own->ranges, &own->largest, &own->pass->overflowed);
    ap_put_bytes(own->pass, to, "gradients_in_forward_bytes", own->has_largest, early_bytes);
    ap_add_quotient(model, to, "gradients_in_forward_ratio", (double)early_bytes, total);
}

/* Keeps the list of the largest; the first of equal ones. */
static void keep_largest(struct ap_peak_part *own, struct ap_owned_device *device)
{
    if (own->has_largest && device->total_bytes <= own->largest.total_bytes) {
        ap_owned_release(own->owners, device);
        return;
    }
    ap_owned_release(own->owners, &own->largest);
    own->largest = *device;
    own->has_largest = true;
}

static enum ap_status put_devices(struct ap_peak_part *own, struct ap_value *peak, const int64_t *devices, uint32_t count,
                                  struct ap_error *reterr)
{
    struct ap_value *list = ap_add_list(own->pass->model, peak, "devices");
    for (uint32_t i = 0; i < count; i++) {
        struct ap_owned_device device;
        AP_TRY(ap_owned_take(own->owners, devices[i], &device, reterr));
        enum ap_status status = put_device(own, list, &device, reterr);
        if (status != AP_OK) {
            ap_owned_release(own->owners, &device);
            return status;
        }
        keep_largest(own, &device);
    }
    return AP_OK;
}

static enum ap_status put_peak(struct ap_peak_part *own, struct ap_error *reterr)
{
    struct ap_value *peak = ap_add_object(own->pass->model, own->memory, "peak");
    int64_t *devices;
    uint32_t count, more;
    AP_TRY(ap_owned_devices(own->owners, &devices, &count, &more, reterr));
    ap_note_many(own->pass->notes, AP_COUNTER_many_devices, more);
    enum ap_status status = put_devices(own, peak, devices, count, reterr);
    AP_FREE(own->gate, devices, count);
    if (status == AP_OK) {
        put_ratios(own, peak);
        status = put_causes(own, peak, reterr);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------------------ the parts */

static enum ap_status put_parts(struct ap_peak_part *own, struct ap_error *reterr)
{
    AP_TRY(put_peak(own, reterr));
    AP_TRY(ap_own_put_lifetimes(own, reterr));
    AP_TRY(ap_own_put_ranges(own, reterr));
    AP_TRY(ap_own_put_timeline(own, reterr));
    AP_TRY(ap_own_put_flame(own, reterr));
    return ap_own_put_avoidable(own, reterr);
}

enum ap_status ap_memory_put_owners(struct ap_snapshot_part *pass, struct ap_value *memory, struct ap_error *reterr)
{
    struct ap_peak_part own = { .pass = pass, .gate = pass->scratch.gate, .owners = pass->owners, .memory = memory };
    enum ap_status status = ap_memory_ranges_init(&own.ranges, pass->replay, own.gate, reterr);
    AP_AND_THEN(status, put_parts(&own, reterr));
    ap_owned_release(own.owners, &own.largest);
    ap_memory_ranges_release(&own.ranges);
    return status;
}
