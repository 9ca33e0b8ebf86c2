/* SPDX-License-Identifier: MIT */
#include "churn.h"

#include <string.h>

#include "oom.h"
#include "snapshot_state.h"

#include "poison.h"

#define SMALL_SEGMENT_BYTES ((int64_t)2 << 20) /* segments of the large pool are larger */
#define NEED_SHARE 0.9                         /* of the peak of reserved memory: below it the device had room */

enum { STACK_PLAIN = 1, STACK_EMPTIES_CACHE };

static bool gives_back(uint32_t name)
{
    return name == AP_ACTION_SEGMENT_FREE || name == AP_ACTION_SEGMENT_UNMAP;
}

static bool takes(uint32_t name)
{
    return name == AP_ACTION_SEGMENT_ALLOC || name == AP_ACTION_SEGMENT_MAP;
}

/* ----------------------------------------------------------------------------------------------------------- bursts */

enum ap_status ap_bursts_init(struct ap_bursts *bursts, const struct ap_replay *replay, uint32_t device,
                              struct ap_error *reterr)
{
    size_t stacks = (size_t)replay->snapshot->stacks.stack_count + 1;
    uint8_t *kinds;
    AP_TRY(AP_ALLOC(replay->gate, kinds, stacks, reterr));
    memset(kinds, 0, stacks);
    *bursts = (struct ap_bursts){ .replay = replay,
                                  .stack_kinds = kinds,
                                  .device = device,
                                  .reserved_bytes = replay->devices[device].reserved.start_bytes };
    return AP_OK;
}

void ap_bursts_release(struct ap_bursts *bursts)
{
    ap_mem_free(bursts->replay->gate, bursts->stack_kinds, (size_t)bursts->replay->snapshot->stacks.stack_count + 1);
    bursts->stack_kinds = NULL;
}

static bool empties_cache(struct ap_bursts *bursts, uint32_t stack)
{
    const struct ap_snapshot *snapshot = bursts->replay->snapshot;
    uint32_t count;
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    if (bursts->stack_kinds[stack])
        return bursts->stack_kinds[stack] == STACK_EMPTIES_CACHE;
    bursts->stack_kinds[stack] = STACK_PLAIN;
    for (uint32_t i = 0; i < count; i++) {
        struct ap_text name = ap_strpool_text(&snapshot->strings, snapshot->stacks.frames[frames[i]].name);
        if (ap_text_contains_folded(name, "empty_cache") || ap_text_contains_folded(name, "emptycache"))
            bursts->stack_kinds[stack] = STACK_EMPTIES_CACHE;
    }
    return bursts->stack_kinds[stack] == STACK_EMPTIES_CACHE;
}

/* The reserved curve behind an entry. */
static int64_t reserved_after(const struct ap_actions *actions, uint32_t entry, int64_t bytes, bool *overflowed)
{
    uint32_t name = actions->name[entry].id;
    if (takes(name))
        return ap_add_sat(bytes, actions->size_bytes[entry], overflowed);
    return gives_back(name) ? ap_subtract_sat(bytes, actions->size_bytes[entry], overflowed) : bytes;
}

static void pass_entry(struct ap_bursts *bursts, bool *overflowed)
{
    uint32_t entry = bursts->replay->devices[bursts->device].first_entry + bursts->position++;
    bursts->reserved_bytes = reserved_after(&bursts->replay->snapshot->actions, entry, bursts->reserved_bytes, overflowed);
}

/* Did the burst give back what would have served the request behind it? Then that was no reason for it. */
static bool had_room_in_cache(const struct ap_snapshot *snapshot, const struct ap_burst *burst, uint32_t next)
{
    const struct ap_actions *actions = &snapshot->actions;
    bool small = burst->needed_bytes <= SMALL_SEGMENT_BYTES;
    for (uint32_t i = 0; i < burst->entry_count; i++) {
        uint32_t entry = burst->first_entry + i;
        int64_t bytes = actions->size_bytes[entry];
        if (bytes >= burst->needed_bytes && (bytes <= SMALL_SEGMENT_BYTES) == small &&
            snapshot->origins[actions->origin[entry]].stream == snapshot->origins[actions->origin[next]].stream)
            return true;
    }
    return false;
}

static void judge_cause(struct ap_bursts *bursts, struct ap_burst *burst)
{
    const struct ap_snapshot *snapshot = bursts->replay->snapshot;
    const struct ap_replay_device *of = &bursts->replay->devices[bursts->device];
    uint32_t next = bursts->position < of->entry_count ? of->first_entry + bursts->position : AP_NO_ENTRY;
    uint32_t name = next == AP_NO_ENTRY ? 0 : snapshot->actions.name[next].id;
    burst->ends_in_oom = name == AP_ACTION_OOM;
    if (takes(name) || burst->ends_in_oom)
        burst->needed_bytes = snapshot->actions.size_bytes[next];
    double needed = (double)burst->reserved_bytes + (double)burst->needed_bytes;
    bool in_need = burst->ends_in_oom || (takes(name) && needed > NEED_SHARE * (double)of->reserved.peak_bytes &&
                                          !had_room_in_cache(snapshot, burst, next));
    if (burst->told_by_stack)
        burst->cause = AP_BURST_EMPTY_CACHE;
    else if (in_need)
        burst->cause = AP_BURST_RETRY;
    else
        burst->cause = snapshot->settings.gc_threshold_ratio > 0 ? AP_BURST_COLLECTED : AP_BURST_EMPTY_CACHE;
}

bool ap_bursts_next(struct ap_bursts *bursts, struct ap_burst *ret_burst)
{
    const struct ap_snapshot *snapshot = bursts->replay->snapshot;
    const struct ap_replay_device *of = &bursts->replay->devices[bursts->device];
    const struct ap_str *names = snapshot->actions.name + of->first_entry;
    bool overflowed = false;
    while (bursts->position < of->entry_count && !gives_back(names[bursts->position].id))
        pass_entry(bursts, &overflowed);
    if (bursts->position == of->entry_count)
        return false;
    struct ap_burst burst = { .first_entry = of->first_entry + bursts->position, .reserved_bytes = bursts->reserved_bytes };
    for (; bursts->position < of->entry_count && gives_back(names[bursts->position].id); burst.entry_count++) {
        uint32_t entry = of->first_entry + bursts->position;
        burst.bytes = ap_add_sat(burst.bytes, snapshot->actions.size_bytes[entry], &overflowed);
        burst.told_by_stack = empties_cache(bursts, snapshot->actions.stack[entry]) || burst.told_by_stack;
        pass_entry(bursts, &overflowed);
    }
    judge_cause(bursts, &burst);
    *ret_burst = burst;
    return true;
}

/* ------------------------------------------------------------------------------------------------------------ churn */

static void add_entry(struct ap_churn_part *part, uint32_t name, int64_t bytes)
{
    bool overflowed = false;
    if (name == AP_ACTION_ALLOC) {
        part->allocations++;
        part->allocated_bytes = ap_add_sat(part->allocated_bytes, bytes, &overflowed);
    } else if (takes(name)) {
        part->segment_allocs++;
        part->segment_alloc_bytes = ap_add_sat(part->segment_alloc_bytes, bytes, &overflowed);
    } else if (gives_back(name)) {
        part->segment_frees++;
        part->segment_free_bytes = ap_add_sat(part->segment_free_bytes, bytes, &overflowed);
    }
}

static void add_burst(struct ap_churn *churn, const struct ap_burst *burst, bool steady, uint32_t stack)
{
    bool overflowed = false;
    struct ap_churn_part *parts[] = { &churn->whole, &churn->steady };
    for (unsigned i = 0; i < (steady ? 2u : 1u); i++) {
        parts[i]->empty_caches += burst->cause == AP_BURST_EMPTY_CACHE;
        parts[i]->retries += burst->cause == AP_BURST_RETRY;
        parts[i]->collections += burst->cause == AP_BURST_COLLECTED;
    }
    if (burst->cause == AP_BURST_EMPTY_CACHE) {
        churn->empty_cache_bytes = ap_add_sat(churn->empty_cache_bytes, burst->bytes, &overflowed);
        churn->empty_cache_stack = churn->empty_cache_stack ? churn->empty_cache_stack : stack;
    } else if (burst->cause == AP_BURST_RETRY) {
        churn->retry_bytes = ap_add_sat(churn->retry_bytes, burst->bytes, &overflowed);
    }
}

/* Where the steady part begins, and how it is bounded. */
static void bound_parts(const struct ap_replay *replay, const struct ap_replay_device *of, const struct ap_periods *periods,
                        struct ap_churn *churn, uint32_t ret_bounds[2])
{
    const int64_t *times_ns = replay->snapshot->actions.time_ns + of->first_entry;
    uint32_t count = periods->source == AP_PERIODS_EQUAL_PARTS ? 0 : ap_period_count(periods), last = of->entry_count - 1;
    bool overflowed = false;
    ret_bounds[0] = count > 1 ? periods->bounds[1] : of->entry_count / 2;
    ret_bounds[1] = count > 1 ? periods->bounds[count] : of->entry_count;
    churn->whole.periods = count;
    churn->steady.periods = count > 1 ? count - 1 : 0;
    if (!of->has_times || of->times_backwards)
        return;
    churn->whole.span_ns = ap_subtract_sat(times_ns[last], times_ns[0], &overflowed);
    churn->steady.span_ns = ap_subtract_sat(times_ns[ret_bounds[1] > last ? last : ret_bounds[1]],
                                            times_ns[ret_bounds[0] > last ? last : ret_bounds[0]], &overflowed);
}

static void count_entries(const struct ap_replay *replay, const struct ap_replay_device *of, const uint32_t bounds[2],
                          struct ap_churn *churn)
{
    const struct ap_actions *actions = &replay->snapshot->actions;
    int64_t pending_bytes = ap_subtract_sat(of->active.start_bytes, of->requested.start_bytes, &(bool){ false });
    bool overflowed = false;
    churn->peak_pending_bytes = pending_bytes;
    for (uint32_t i = 0; i < of->entry_count; i++) {
        uint32_t entry = of->first_entry + i, name = actions->name[entry].id;
        struct ap_replay_step step;
        /* What completes as the very next entry did not wait. */
        if (name != AP_ACTION_FREE_COMPLETED && pending_bytes > churn->peak_pending_bytes) {
            churn->peak_pending_bytes = pending_bytes;
            churn->peak_pending_entry = entry;
        }
        add_entry(&churn->whole, name, actions->size_bytes[entry]);
        if (i >= bounds[0] && i < bounds[1])
            add_entry(&churn->steady, name, actions->size_bytes[entry]);
        ap_replay_step(replay, entry, &step);
        pending_bytes = ap_add_sat(pending_bytes, step.active_bytes, &overflowed);
        pending_bytes = ap_subtract_sat(pending_bytes, step.requested_bytes, &overflowed);
    }
    if (pending_bytes > churn->peak_pending_bytes) {
        churn->peak_pending_bytes = pending_bytes;
        churn->peak_pending_entry = of->first_entry + of->entry_count - 1;
    }
}

enum ap_status ap_churn_measure(const struct ap_replay *replay, uint32_t device, const struct ap_periods *periods,
                                struct ap_churn *ret_churn, struct ap_error *reterr)
{
    const struct ap_replay_device *of = &replay->devices[device];
    struct ap_churn churn = { .peak_pending_entry = AP_NO_ENTRY, .pending_known = of->frees_in_two };
    struct ap_bursts bursts;
    struct ap_burst burst;
    uint32_t bounds[2];
    if (of->entry_count) {
        bound_parts(replay, of, periods, &churn, bounds);
        count_entries(replay, of, bounds, &churn);
        AP_TRY(ap_bursts_init(&bursts, replay, device, reterr));
        while (ap_bursts_next(&bursts, &burst)) {
            uint32_t at = burst.first_entry - of->first_entry;
            add_burst(&churn, &burst, at >= bounds[0] && at < bounds[1], replay->snapshot->actions.stack[burst.first_entry]);
        }
        ap_bursts_release(&bursts);
    }
    *ret_churn = churn;
    return AP_OK;
}

bool ap_capacity_at_oom(const struct ap_replay *replay, uint32_t device, int64_t *ret_bytes)
{
    const struct ap_replay_device *of = &replay->devices[device];
    const struct ap_actions *actions = &replay->snapshot->actions;
    int64_t reserved_bytes = of->reserved.start_bytes;
    bool known = false, overflowed = false;
    for (uint32_t i = 0; i < of->entry_count && of->reserved.known; i++) {
        uint32_t entry = of->first_entry + i;
        reserved_bytes = reserved_after(actions, entry, reserved_bytes, &overflowed);
        uint64_t free_bytes = actions->address[entry];
        if (actions->name[entry].id != AP_ACTION_OOM || !(actions->has[entry] & AP_ACTION_HAS_ADDRESS) ||
            free_bytes > INT64_MAX || reserved_bytes < 0)
            continue;
        bool sized = actions->has[entry] & AP_ACTION_HAS_SIZE;
        int64_t room_bytes = sized ? ap_room_at_oom(actions->size_bytes[entry], (int64_t)free_bytes) : (int64_t)free_bytes;
        int64_t bytes = ap_add_sat(reserved_bytes, room_bytes, &overflowed);
        *ret_bytes = known && *ret_bytes > bytes ? *ret_bytes : bytes;
        known = true;
    }
    return known;
}
