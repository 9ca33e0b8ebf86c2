/* SPDX-License-Identifier: MIT */
#include "clock_check.h"

#include <stdlib.h>

#include "snapshot_state.h"
#include "sort.h"

#include "poison.h"

#define MOST_INSTANTS 16384 /* the first ones of the trace: more would not make it surer */
#define FEWEST_MATCHES 8
#define SPREAD_NS 1000000 /* from the median: scheduling between the two time stamps, not clocks */

struct handed_out {
    uint64_t address;
    int64_t time_ns, bytes;
};

struct checking {
    const struct ap_trace *trace;
    const struct ap_replay *replay;
    struct ap_gate *gate;
    uint32_t device;
    int64_t base_ns, start_ns, end_ns; /* what the instants cover */
    struct handed_out *instants;       /* by address, then time */
    size_t instant_count, instant_capacity;
    int64_t *differences_ns;
    size_t difference_count, difference_capacity;
};

static int by_address_then_time(const void *left, const void *right)
{
    const struct handed_out *a = left, *b = right;
    AP_BY_SMALLER(a->address, b->address);
    AP_BY_SMALLER(a->time_ns, b->time_ns);
    AP_BY_SMALLER(a->bytes, b->bytes);
    return 0;
}

static enum ap_status take_instants(struct checking *checking, struct ap_error *reterr)
{
    const struct ap_trace *trace = checking->trace;
    bool overflowed = false;
    for (size_t i = 0; i < trace->memory_instant_count && checking->instant_count < MOST_INSTANTS; i++) {
        const struct ap_memory_event *event = &trace->memory_instants[i];
        if (event->device_type <= 0 || event->device_id != (int64_t)checking->device || !event->address ||
            event->bytes <= 0 || event->out_of_memory)
            continue;
        int64_t time_ns = ap_add_sat(event->start_ns, checking->base_ns, &overflowed);
        AP_TRY(
            AP_RESERVE(checking->gate, checking->instants, checking->instant_capacity, checking->instant_count + 1, reterr));
        if (!checking->instant_count || time_ns < checking->start_ns)
            checking->start_ns = time_ns;
        if (!checking->instant_count || time_ns > checking->end_ns)
            checking->end_ns = time_ns;
        checking->instants[checking->instant_count++] = (struct handed_out){ event->address, time_ns, event->bytes };
    }
    ap_sort(checking->instants, checking->instant_count, sizeof(checking->instants[0]), by_address_then_time);
    return AP_OK;
}

/* The first instant at or behind this address and time. */
static size_t search(const struct checking *checking, uint64_t address, int64_t time_ns)
{
    const struct handed_out wanted = { address, time_ns, 0 };
    size_t low = 0;
    AP_BISECT(low, checking->instant_count, at, by_address_then_time(&checking->instants[at], &wanted) < 0);
    return low;
}

/* The nearest in time of those at this address; a block is as large as the request, or larger. */
static bool find_difference(const struct checking *checking, uint64_t address, int64_t time_ns, int64_t bytes,
                            int64_t *ret_ns)
{
    size_t at = search(checking, address, time_ns);
    bool found = false, overflowed = false;
    for (size_t i = at ? at - 1 : 0; i <= at && i < checking->instant_count; i++) {
        const struct handed_out *instant = &checking->instants[i];
        if (instant->address != address || instant->bytes < bytes)
            continue;
        int64_t difference_ns = ap_subtract_sat(instant->time_ns, time_ns, &overflowed);
        if (!found || llabs(difference_ns) < llabs(*ret_ns))
            *ret_ns = difference_ns;
        found = true;
    }
    return found;
}

static enum ap_status take_differences(struct checking *checking, uint64_t *ret_compared, struct ap_error *reterr)
{
    const struct ap_actions *actions = &checking->replay->snapshot->actions;
    const struct ap_replay_device *device = &checking->replay->devices[checking->device];
    for (uint32_t i = device->first_entry; i < device->first_entry + device->entry_count; i++) {
        int64_t time_ns = actions->time_ns[i], difference_ns;
        if (actions->name[i].id != AP_ACTION_ALLOC || !(actions->has[i] & AP_ACTION_HAS_ADDRESS) ||
            time_ns < checking->start_ns || time_ns > checking->end_ns)
            continue;
        ++*ret_compared;
        if (!find_difference(checking, actions->address[i], time_ns, actions->size_bytes[i], &difference_ns))
            continue;
        AP_TRY_ADD(checking->gate, checking->differences_ns, checking->difference_count, checking->difference_capacity,
                   reterr, difference_ns);
    }
    return AP_OK;
}

/* Most must match for a yes, next to none for a no. */
static void judge(const struct checking *checking, struct ap_clock_check *check)
{
    int64_t median_ns = 0;
    bool overflowed = false;
    if (checking->difference_count) {
        ap_sort(checking->differences_ns, checking->difference_count, sizeof(checking->differences_ns[0]), ap_by_int64);
        median_ns = checking->differences_ns[(checking->difference_count - 1) / 2];
    }
    for (size_t i = 0; i < checking->difference_count; i++) {
        int64_t away_ns = ap_subtract_sat(checking->differences_ns[i], median_ns, &overflowed);
        check->matched += away_ns >= -SPREAD_NS && away_ns <= SPREAD_NS;
    }
    if (check->matched >= FEWEST_MATCHES && check->matched >= check->compared - check->compared / 5)
        check->verdict = AP_CLOCKS_AGREE;
    else if (check->compared >= 2 * (uint64_t)FEWEST_MATCHES && check->matched < check->compared / 5)
        check->verdict = AP_CLOCKS_CONTRADICT;
    if (check->verdict == AP_CLOCKS_AGREE)
        check->offset_ns = median_ns;
}

enum ap_status ap_clock_check(const struct ap_trace *trace, const struct ap_replay *replay, uint32_t device, int64_t base_ns,
                              struct ap_gate *gate, struct ap_clock_check *ret_check, struct ap_error *reterr)
{
    struct checking checking = { .trace = trace, .replay = replay, .gate = gate, .device = device, .base_ns = base_ns };
    struct ap_clock_check check = { .verdict = AP_CLOCKS_UNCHECKED };
    enum ap_status status = take_instants(&checking, reterr);
    if (status == AP_OK && checking.instant_count)
        status = take_differences(&checking, &check.compared, reterr);
    if (status == AP_OK)
        judge(&checking, &check);
    AP_FREE(gate, checking.instants, checking.instant_capacity);
    AP_FREE(gate, checking.differences_ns, checking.difference_capacity);
    *ret_check = check;
    return status;
}
