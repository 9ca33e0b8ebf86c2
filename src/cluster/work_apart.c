/* SPDX-License-Identifier: MIT */
#include "work_apart.h"

#include "sort.h"

#include "poison.h"

#define MOST_STEPS 0.8

static bool is_peer(const struct ap_delays *delays, size_t rank, size_t other)
{
    return delays->role[rank] == delays->role[other];
}

/* Calls of all steps that are compared, or their time. */
static int64_t sum_of(const struct ap_run_view *view, size_t index, bool calls)
{
    const struct ap_rank_summary *rank = ap_view_rank(view, index);
    int64_t sum = 0;
    bool overflowed = false;
    for (size_t i = 0; i < rank->step_count; i++)
        if (ap_view_has_step(view, rank->steps[i].number))
            sum = ap_add_sat(sum, calls ? rank->steps[i].kernel_count : rank->steps[i].kernel_ns, &overflowed);
    return sum;
}

static double against_middle(const struct ap_delays *delays, size_t rank, bool calls, int64_t *values)
{
    const struct ap_run_view *view = delays->matching->view;
    size_t count = 0;
    for (size_t i = 0; i < delays->rank_count; i++)
        if (is_peer(delays, rank, i))
            values[count++] = sum_of(view, i, calls);
    ap_sort(values, count, sizeof(values[0]), ap_by_int64);
    int64_t middle = values[(count - 1) / 2];
    return count > 1 && middle > 0 ? (double)sum_of(view, rank, calls) / (double)middle : 0;
}

/* Has any other rank of the role made the same calls in the step? */
static bool has_equal(const struct ap_delays *delays, size_t rank, const struct ap_rank_step *mine)
{
    for (size_t i = 0; i < delays->rank_count; i++) {
        const struct ap_rank_step *step = i == rank || !is_peer(delays, rank, i)
                                              ? NULL
                                              : ap_view_step(ap_view_rank(delays->matching->view, i), mine->number);
        if (step && step->work == mine->work && step->kernel_count == mine->kernel_count)
            return true;
    }
    return false;
}

static bool differs(const struct ap_delays *delays, size_t index)
{
    const struct ap_run_view *view = delays->matching->view;
    const struct ap_rank_summary *rank = ap_view_rank(view, index);
    size_t steps = 0, apart = 0;
    for (size_t i = 0; i < rank->step_count; i++) {
        if (!ap_view_has_step(view, rank->steps[i].number) || !rank->steps[i].kernel_count)
            continue;
        steps++;
        apart += !has_equal(delays, index, &rank->steps[i]);
    }
    return steps && (double)apart >= MOST_STEPS * (double)steps;
}

struct ap_work_apart ap_work_apart_of(const struct ap_delays *delays, const struct ap_rank_times *times, size_t rank,
                                      int64_t *values)
{
    return (struct ap_work_apart){ .calls_times = against_middle(delays, rank, true, values),
                                   .work_times = against_middle(delays, rank, false, values),
                                   .shapes_differ = differs(delays, rank),
                                   .times = times[rank] };
}
