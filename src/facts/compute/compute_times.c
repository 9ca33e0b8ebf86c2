/* SPDX-License-Identifier: MIT
 * compute_times.c - what calls that are alike take. */
#include "compute_times.h"

#include "sort.h"

#include "poison.h"

#define COLD_FACTOR 1.5
#define LEAST_WARM 3 /* calls whose median tells what is usual */
#define LEAST_OF_TWO_KINDS 8
#define KINDS_APART 1.5

/* The times of a group, in order of the calls. */
static void describe_times(struct ap_compute_group *group, const int64_t *times, int64_t *sorted, size_t count)
{
    size_t cold = 0;
    memcpy(sorted, times, count * sizeof(times[0]));
    ap_sort(sorted, count, sizeof(sorted[0]), ap_by_int64);
    group->median_ns = sorted[(count - 1) / 2];
    while (cold + LEAST_WARM < count && (double)times[cold] > COLD_FACTOR * (double)group->median_ns)
        cold++;
    for (size_t i = 0; i < cold; i++)
        group->cold_ns += times[i] - group->median_ns;
    group->cold_count = (uint32_t)cold;
}

/* Layers that look at a window only, and those that look at all, have the same shapes, and take two kinds of times. What
 * attention with such times computes is not known. */
static bool is_of_two_kinds(const struct ap_compute_group *group, const int64_t *sorted, size_t count)
{
    if (group->cost.kind != AP_WORK_attention || count < LEAST_OF_TWO_KINDS)
        return false;
    for (size_t i = count / 4; i <= count - count / 4; i++) /* no time between the two, and some of each */
        if ((double)sorted[i] > KINDS_APART * (double)sorted[i - 1])
            return true;
    return false;
}

static void forget_cost(struct ap_compute *compute, struct ap_compute_group *group)
{
    double flops = ap_compute_matrix_flops(&group->cost), bytes = group->cost.bytes > 0 ? group->cost.bytes : 0;
    compute->flops -= flops * group->count;
    compute->bytes -= bytes * group->count;
    compute->timed_flops -= flops * group->timed_count;
    compute->timed_bytes -= bytes * group->timed_count;
    if (group->cost.flops >= 0 || group->cost.bytes >= 0)
        compute->known_ns -= group->total_ns;
    if (flops > 0)
        compute->product_ns -= group->total_ns;
    group->cost.flops = group->cost.bytes = -1;
}

static size_t largest_group(const struct ap_compute *compute)
{
    uint32_t largest = 1;
    for (size_t at = 0; at < compute->full_count; at++)
        if (compute->full[at].timed_count > largest)
            largest = compute->full[at].timed_count;
    return largest;
}

/* Those of which several calls are timed, side by side: of one alone there is nothing to find. */
static size_t place_groups(const struct ap_compute *compute, uint32_t *ends)
{
    ends[0] = 0;
    for (size_t at = 0; at < compute->full_count; at++) {
        uint32_t timed = compute->full[at].timed_count;
        ends[at + 1] = ends[at] + (timed > 1 ? timed : 0);
    }
    return ends[compute->full_count];
}

/* By counting. */
static void place_times(const struct ap_compute *compute, const struct ap_trace *trace, const uint32_t *kernel_of,
                        uint32_t *ends, int64_t *times)
{
    for (uint32_t row = 0, call = 0; call < compute->counted.count; row++, call++) {
        row = ap_row_set_next(&compute->counted, row);
        const struct ap_compute_place *place = &compute->groups[compute->group_of[call]];
        if (!place->is_alone && compute->full[place->at].timed_count > 1 &&
            (compute->is_host || kernel_of[call] != AP_NO_ROW))
            times[ends[place->at]++] = ap_compute_call_ns(compute, trace, row, call);
    }
}

static void describe_group(struct ap_compute *compute, struct ap_compute_group *group, const int64_t *times, int64_t *sorted)
{
    if (group->timed_count == 1)
        group->median_ns = group->total_ns;
    if (group->timed_count <= 1)
        return;
    describe_times(group, times, sorted, group->timed_count);
    if (!compute->is_host && is_of_two_kinds(group, sorted, group->timed_count))
        forget_cost(compute, group);
}

enum ap_status ap_compute_find_times(struct ap_compute *compute, const struct ap_trace *trace, const uint32_t *kernel_of,
                                     struct ap_error *reterr)
{
    size_t count, largest = largest_group(compute);
    uint32_t *ends;
    int64_t *times = NULL, *sorted = NULL;
    AP_TRY(AP_ALLOC(compute->gate, ends, compute->full_count + 1, reterr));
    count = place_groups(compute, ends);
    enum ap_status status = count ? AP_ALLOC(compute->gate, times, count, reterr) : AP_OK;
    AP_AND_THEN(status, AP_ALLOC(compute->gate, sorted, largest, reterr));
    if (status == AP_OK) {
        if (count)
            place_times(compute, trace, kernel_of, ends, times);
        for (size_t at = 0; at < compute->full_count; at++) {
            size_t timed = compute->full[at].timed_count > 1 ? compute->full[at].timed_count : 0;
            describe_group(compute, &compute->full[at], timed ? times + ends[at] - timed : NULL, sorted);
        }
    }
    AP_FREE(compute->gate, times, count);
    AP_FREE(compute->gate, sorted, largest);
    AP_FREE(compute->gate, ends, compute->full_count + 1);
    return status;
}
