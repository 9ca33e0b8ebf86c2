/* SPDX-License-Identifier: MIT
 * The post-mortem of each failed allocation. */
#include "oom_request.h"
#include "sort.h"

#include "poison.h"

#define MOST_EXAMINED 32              /* the last ones of the file */
#define MOST_WORK ((uint64_t)8 << 20) /* each costs a walk over entries and allocations: of long histories fewer are taken */
#define TOP_OWNERS 5
#define TOP_RELEASED 10

/* -------------------------------------------------------------------------------------------------------- who filled it */

struct owner {
    int64_t bytes;
    uint32_t stack;
    uint32_t count;
};

static int by_stack(const void *left, const void *right)
{
    const struct owner *a = left, *b = right;
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static int by_bytes_then_stack(const void *left, const void *right)
{
    const struct owner *a = left, *b = right;
    AP_BY_LARGER(a->bytes, b->bytes);
    return by_stack(left, right);
}

/* One owner for each stack, the largest first; returns their number. */
static uint32_t group_by_stack(struct ap_snapshot_part *pass, const struct ap_oom *oom, struct owner *owners)
{
    uint32_t used = oom->space.used_count, count = 0;
    for (uint32_t i = 0; i < used; i++) {
        struct ap_allocation allocation;
        ap_replay_allocation(pass->replay, oom->space.used[i].lifetime, &allocation);
        owners[i] = (struct owner){ allocation.requested_bytes, allocation.stack, 1 };
    }
    ap_sort(owners, used, sizeof(*owners), by_stack);
    for (uint32_t i = 0; i < used; i++) {
        if (!count || owners[count - 1].stack != owners[i].stack) {
            owners[count++] = owners[i];
            continue;
        }
        owners[count - 1].bytes = ap_add_sat(owners[count - 1].bytes, owners[i].bytes, &pass->overflowed);
        owners[count - 1].count++;
    }
    ap_sort(owners, count, sizeof(*owners), by_bytes_then_stack);
    return count;
}

static enum ap_status put_grouped(struct ap_snapshot_part *pass, struct ap_value *list, const struct owner *owners,
                                  uint32_t count, struct ap_error *reterr)
{
    for (uint32_t i = 0; i < count && i < TOP_OWNERS; i++) {
        struct ap_value *owner = ap_add_object(pass->model, list, NULL);
        AP_TRY(ap_memory_put_frame(pass, owner, "frame", owners[i].stack, reterr));
        ap_add_bytes(pass->model, owner, "requested_bytes", owners[i].bytes);
        ap_add_count(pass->model, owner, "allocations", owners[i].count);
    }
    return AP_OK;
}

static enum ap_status put_owners(struct ap_snapshot_part *pass, struct ap_value *row, const struct ap_oom *oom,
                                 struct ap_error *reterr)
{
    struct ap_value *list = ap_add_list(pass->model, row, "filled_by");
    struct ap_gate *gate = pass->scratch.gate;
    size_t bytes = oom->space.used_count * sizeof(struct owner);
    if (!bytes)
        return AP_OK;
    struct owner *owners = ap_mem_resize(gate, NULL, 0, bytes); /* not from the scratch: there can be many ooms */
    if (!owners)
        return ap_fail_memory(gate, reterr);
    uint32_t count = group_by_stack(pass, oom, owners);
    enum ap_status status = put_grouped(pass, list, owners, count, reterr);
    ap_mem_free(gate, owners, bytes);
    return status;
}

/* ------------------------------------------------------------------------------------------------------ what to release */

static enum ap_status put_release(struct ap_snapshot_part *pass, struct ap_value *row, const struct ap_oom *oom,
                                  struct ap_error *reterr)
{
    static const char *const ways[] = { [AP_RELEASE_UNKNOWN] = "unknown",
                                        [AP_RELEASE_NOTHING] = "nothing",
                                        [AP_RELEASE_ONE_HOLE] = "one hole",
                                        [AP_RELEASE_SEGMENTS] = "whole segments" };
    struct ap_value *to = ap_add_object(pass->model, row, "release");
    bool known = oom->release != AP_RELEASE_UNKNOWN;
    ap_add_string(pass->model, to, "way", ways[oom->release]);
    ap_put_count(pass, to, "allocations", known, oom->released_count);
    ap_put_bytes(pass, to, "requested_bytes", known, oom->released_bytes);
    struct ap_value *list = ap_add_list(pass->model, to, "largest");
    for (uint32_t i = 0; i < oom->released_count && i < TOP_RELEASED; i++) {
        struct ap_value *item = ap_add_object(pass->model, list, NULL);
        struct ap_allocation allocation;
        ap_replay_allocation(pass->replay, oom->released[i], &allocation);
        ap_memory_put_address(pass, item, "address", allocation.has_address, allocation.address);
        ap_put_bytes(pass, item, "requested_bytes", allocation.has_requested, allocation.requested_bytes);
        bool seen = allocation.alloc != AP_NO_ENTRY;
        ap_put_count(pass, item, "age_entries", seen, seen ? oom->entry - allocation.alloc : 0);
        AP_TRY(ap_memory_put_frame(pass, item, "frame", allocation.stack, reterr));
    }
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------- an oom */

static void put_figures(struct ap_snapshot_part *pass, struct ap_value *row, const struct ap_oom *oom)
{
    ap_put_bytes(pass, row, "capacity_bytes", oom->has_capacity, oom->capacity_bytes);
    if (oom->has_capacity)
        ap_add_string(pass->model, row, "capacity_is",
                      oom->capacity_is_total ? "device total"
                      : oom->limited         ? "reserved, at a limit"
                                             : "reserved and free");
    else
        ap_add_null(pass->model, row, "capacity_is");
    ap_put_bytes(pass, row, "reserved_bytes", pass->replay->devices[oom->device].reserved.known, oom->reserved_bytes);
    ap_put_bytes(pass, row, "active_bytes", oom->has_space, oom->active_bytes);
    ap_put_bytes(pass, row, "inactive_bytes", oom->has_space, oom->inactive_bytes);
    ap_put_bytes(pass, row, "usable_inactive_bytes", oom->has_space, oom->usable_bytes);
    ap_put_bytes(pass, row, "other_pool_inactive_bytes", oom->has_space, oom->elsewhere_bytes);
    ap_put_bytes(pass, row, "largest_free_block_bytes", oom->has_space, oom->largest_hole_bytes);
    ap_add_bool(pass->model, row, "consistent", oom->consistent);
}

static enum ap_status put_oom(struct ap_snapshot_part *pass, struct ap_value *list, const struct ap_oom *oom, bool is_last,
                              struct ap_oom_request *ret_request, struct ap_error *reterr)
{
    const struct ap_actions *actions = &pass->snapshot->actions;
    struct ap_value *row = ap_add_object(pass->model, list, NULL);
    ap_add_count(pass->model, row, "device", oom->device);
    ap_add_count(pass->model, row, "entry", oom->entry - pass->replay->devices[oom->device].first_entry);
    ap_put_time(pass, row, "time_us", actions->has[oom->entry] & AP_ACTION_HAS_TIME, actions->time_ns[oom->entry]);
    ap_put_bytes(pass, row, "requested_bytes", oom->has_request, oom->request_bytes);
    ap_put_bytes(pass, row, "device_free_bytes", oom->has_device_free, oom->device_free_bytes);
    ap_add_string(pass->model, row, "verdict", ap_oom_verdict_name(oom->verdict));
    struct ap_value *signs = ap_add_list(pass->model, row, "signs");
    for (unsigned i = 0; i < AP_OOM_UNKNOWN; i++)
        if (oom->signs[i])
            ap_add_string(pass->model, signs, NULL, ap_oom_verdict_name((enum ap_oom_verdict)i));
    put_figures(pass, row, oom);
    ap_add_bool(pass->model, row, "is_last", is_last);
    AP_TRY(ap_memory_put_frame(pass, row, "frame", actions->stack[oom->entry], reterr));
    AP_TRY(ap_memory_put_oom_request(pass, row, oom, ret_request, reterr));
    AP_TRY(put_owners(pass, row, oom, reterr));
    return put_release(pass, row, oom, reterr);
}

/* ------------------------------------------------------------------------------------------------------- all together */

struct summary {
    uint64_t count, examined, in_optimizer, passes_behind, verdicts[AP_OOM_UNKNOWN + 1];
    struct ap_oom last; /* its figures alone: what it owned is released */
    struct ap_oom_request last_request;
};

/* What neither the allocator nor nobody has: of the device, or where its size is not told, of what we once had. */
static bool held_by_others(const struct ap_snapshot_part *pass, const struct ap_oom *oom, int64_t *ret_bytes)
{
    bool overflowed = false;
    int64_t least_bytes = oom->capacity_is_total ? oom->capacity_bytes : oom->once_reserved_bytes;
    if (!oom->has_device_free || !pass->replay->devices[oom->device].reserved.known)
        return false;
    *ret_bytes =
        ap_subtract_sat(ap_subtract_sat(least_bytes, oom->reserved_bytes, &overflowed), oom->device_free_bytes, &overflowed);
    return *ret_bytes >= 0;
}

/* Those that a rule asks for. */
static const char *const ratio_keys[AP_OWNER_CATEGORY_COUNT_] = {
    [AP_OWNER_INPUTS] = "inputs_ratio",
    [AP_OWNER_KV_CACHE] = "kv_cache_ratio",
    [AP_OWNER_COPIES] = "copies_of_weights_ratio",
};

static void put_last_request(struct ap_snapshot_part *pass, struct ap_value *to, const struct ap_oom_request *request)
{
    ap_put_count(pass, to, "same_size_count", request->size.known, request->size.count);
    ap_put_bytes(pass, to, "same_size_bytes", request->size.known, request->size.bytes);
    ap_put_count(pass, to, "same_line_count", request->line.known, request->line.count);
    ap_put_bytes(pass, to, "same_line_bytes", request->line.known, request->line.bytes);
    ap_put_bytes(pass, to, "same_line_most_bytes", request->line.known, request->most_before_bytes);
    ap_put_bytes(pass, to, "most_bytes", request->live_bytes, request->category_bytes[request->most]);
    ap_add_quotient(pass->model, to, "most_ratio", (double)request->category_bytes[request->most],
                    (double)request->live_bytes);
    ap_add_quotient(pass->model, to, "logits_ratio", (double)request->logits_bytes,
                    (double)request->live_bytes + (double)request->request_bytes);
    for (unsigned i = 0; i < AP_OWNER_CATEGORY_COUNT_; i++)
        if (ratio_keys[i])
            ap_add_quotient(pass->model, to, ratio_keys[i], (double)request->category_bytes[i], (double)request->live_bytes);
}

/* Of all that was free, had it been in one piece and gone to the request. */
static int64_t spare_bytes(struct ap_snapshot_part *pass, const struct ap_oom *oom)
{
    int64_t free_bytes = ap_add_sat(oom->inactive_bytes, oom->room_bytes, &pass->overflowed);
    return ap_subtract_sat(free_bytes, oom->request_bytes, &pass->overflowed);
}

static void put_last(struct ap_snapshot_part *pass, struct ap_value *to, const struct ap_oom *oom, bool any)
{
    int64_t others_bytes = 0;
    bool has_others = any && held_by_others(pass, oom, &others_bytes), space = any && oom->has_space;
    bool released = any && (oom->release == AP_RELEASE_ONE_HOLE || oom->release == AP_RELEASE_SEGMENTS);
    ap_put_bytes(pass, to, "requested_bytes", any && oom->has_request, oom->request_bytes);
    ap_put_bytes(pass, to, "device_free_bytes", any && oom->has_device_free, oom->device_free_bytes);
    ap_put_bytes(pass, to, "capacity_bytes", any && oom->has_capacity, oom->capacity_bytes);
    ap_put_bytes(pass, to, "reserved_bytes", any && pass->replay->devices[oom->device].reserved.known, oom->reserved_bytes);
    ap_put_bytes(pass, to, "active_bytes", space, oom->active_bytes);
    ap_put_bytes(pass, to, "inactive_bytes", space, oom->inactive_bytes);
    ap_put_bytes(pass, to, "usable_inactive_bytes", space, oom->usable_bytes);
    ap_put_bytes(pass, to, "largest_free_block_bytes", space, oom->largest_hole_bytes);
    bool spare = space && oom->has_request && oom->has_device_free;
    ap_put_bytes(pass, to, "spare_bytes", spare, spare ? spare_bytes(pass, oom) : 0);
    ap_put_bytes(pass, to, "other_users_bytes", has_others, others_bytes);
    ap_put_count(pass, to, "release_allocations", released, oom->released_count);
    ap_put_bytes(pass, to, "release_bytes", released, oom->released_bytes);
}

static void put_summary(struct ap_snapshot_part *pass, struct ap_value *memory, const struct summary *summary)
{
    static const char *const keys[] = {
        [AP_OOM_ONE_HUGE_REQUEST] = "one_huge_request_count",
        [AP_OOM_EXTERNAL_FRAGMENTATION] = "external_fragmentation_count",
        [AP_OOM_PRIVATE_POOLS] = "private_pools_count",
        [AP_OOM_OTHER_USERS] = "other_users_count",
        [AP_OOM_TRULY_FULL] = "truly_full_count",
        [AP_OOM_UNKNOWN] = "unknown_count",
    };
    struct ap_value *to = ap_add_object(pass->model, memory, "oom_summary");
    bool recorded = summary->count || pass->snapshot->actions.count > 1;
    ap_put_count(pass, to, "count", recorded, summary->count);
    ap_put_count(pass, to, "examined", recorded, summary->examined);
    for (unsigned i = 0; i < AP_COUNT_OF(keys); i++)
        ap_put_count(pass, to, keys[i], recorded, summary->verdicts[i]);
    ap_put_count(pass, to, "in_optimizer_count", recorded, summary->in_optimizer);
    ap_put_count(pass, to, "passes_behind", summary->examined, summary->passes_behind);
    put_last(pass, to, &summary->last, summary->examined > 0);
    put_last_request(pass, to, &summary->last_request);
}

/* Backward passes behind the failure that something else follows: with them the run went on. */
static uint64_t passes_behind(const struct ap_snapshot_part *pass, const struct ap_oom *oom)
{
    const struct ap_replay_device *of = &pass->replay->devices[oom->device];
    uint64_t passes = 0;
    bool within = false;
    for (uint32_t i = oom->entry + 1; i < of->first_entry + of->entry_count; i++) {
        enum ap_work work = (enum ap_work)pass->owners->work[i];
        bool allocates = pass->snapshot->actions.name[i].id == AP_ACTION_ALLOC;
        if (work != AP_WORK_ZERO_GRAD && (!allocates || work == AP_WORK_OTHER))
            continue;
        passes += within && work != AP_WORK_BACKWARD;
        within = work == AP_WORK_BACKWARD;
    }
    return passes;
}

static enum ap_status examine(struct ap_snapshot_part *pass, struct ap_value *list, uint32_t device, uint32_t entry,
                              bool is_last, struct summary *summary, struct ap_error *reterr)
{
    struct ap_oom oom;
    AP_TRY(ap_oom_examine(pass->replay, device, entry, ap_memory_device_bytes(pass, device), &oom, reterr));
    enum ap_status status = put_oom(pass, list, &oom, is_last, &summary->last_request, reterr);
    summary->examined++;
    summary->verdicts[oom.verdict]++;
    summary->in_optimizer += pass->owners->work[entry] == AP_WORK_OPTIMIZER || summary->last_request.in_first_update;
    summary->last = oom;
    if (is_last)
        summary->passes_behind = passes_behind(pass, &oom);
    ap_oom_release(&oom);
    return status;
}

static uint64_t most_examined(const struct ap_snapshot_part *pass)
{
    uint64_t work = (uint64_t)pass->snapshot->actions.count + pass->replay->lifetime_count + 1, most = MOST_WORK / work;
    most = most > MOST_EXAMINED ? MOST_EXAMINED : most ? most : 1;
    return pass->top_n && pass->top_n < most ? pass->top_n : most;
}

enum ap_status ap_memory_put_ooms(struct ap_snapshot_part *pass, struct ap_value *memory, struct ap_error *reterr)
{
    const struct ap_actions *actions = &pass->snapshot->actions;
    struct ap_value *list = ap_add_list(pass->model, memory, "oom");
    uint64_t most = most_examined(pass), passed = 0;
    struct summary summary = { .count = 0 };
    for (uint32_t i = 0; i < actions->count; i++)
        summary.count += actions->name[i].id == AP_ACTION_OOM;
    for (uint32_t device = 0; device < pass->replay->device_count && summary.count; device++) {
        const struct ap_replay_device *of = &pass->replay->devices[device];
        for (uint32_t i = 0; i < of->entry_count; i++)
            if (actions->name[of->first_entry + i].id == AP_ACTION_OOM && ++passed + most > summary.count)
                AP_TRY(examine(pass, list, device, of->first_entry + i, passed == summary.count, &summary, reterr));
    }
    put_summary(pass, memory, &summary);
    return AP_OK;
}
