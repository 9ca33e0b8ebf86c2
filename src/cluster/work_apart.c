/* SPDX-License-Identifier: MIT */
#include "work_apart.h"

#include "sort.h"

#include "poison.h"

#define MOST_STEPS 0.8

/* One rank against those of its role, or against all. */
struct comparing {
    const struct ap_delays *delays;
    size_t rank;
    bool of_all;
    int64_t *values;
};

static bool is_peer(const struct comparing *comparing, size_t other)
{
    const uint32_t *role = comparing->delays->role;
    return comparing->of_all || role[comparing->rank] == role[other];
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

static int64_t middle_sum(const struct comparing *comparing, bool calls)
{
    const struct ap_run_view *view = comparing->delays->matching->view;
    int64_t *values = comparing->values;
    size_t count = 0;
    for (size_t i = 0; i < comparing->delays->rank_count; i++)
        if (is_peer(comparing, i))
            values[count++] = sum_of(view, i, calls);
    ap_sort(values, count, sizeof(values[0]), ap_by_int64);
    return count > 1 ? values[(count - 1) / 2] : 0;
}

static double against_middle(const struct comparing *comparing, bool calls)
{
    int64_t middle = middle_sum(comparing, calls);
    double mine = (double)sum_of(comparing->delays->matching->view, comparing->rank, calls);
    return middle > 0 ? mine / (double)middle : 0;
}

static int64_t calls_beyond(const struct comparing *comparing)
{
    const struct ap_run_view *view = comparing->delays->matching->view;
    int64_t middle = middle_sum(comparing, true), steps = view->step_count ? (int64_t)view->step_count : 1;
    return middle > 0 ? (sum_of(view, comparing->rank, true) - middle) / steps : 0;
}

/* Has any other rank made the same calls in the step? */
static bool has_equal(const struct comparing *comparing, const struct ap_rank_step *mine)
{
    const struct ap_run_view *view = comparing->delays->matching->view;
    for (size_t i = 0; i < comparing->delays->rank_count; i++) {
        bool other = i != comparing->rank && is_peer(comparing, i);
        const struct ap_rank_step *step = other ? ap_view_step(ap_view_rank(view, i), mine->number) : NULL;
        if (step && step->work == mine->work && step->kernel_count == mine->kernel_count)
            return true;
    }
    return false;
}

static bool differs(const struct comparing *comparing)
{
    const struct ap_run_view *view = comparing->delays->matching->view;
    const struct ap_rank_summary *rank = ap_view_rank(view, comparing->rank);
    size_t steps = 0, apart = 0;
    for (size_t i = 0; i < rank->step_count; i++) {
        if (!ap_view_has_step(view, rank->steps[i].number) || !rank->steps[i].kernel_count)
            continue;
        steps++;
        apart += !has_equal(comparing, &rank->steps[i]);
    }
    return steps && (double)apart >= MOST_STEPS * (double)steps;
}

struct ap_work_apart ap_work_apart_of(const struct ap_delays *delays, const struct ap_rank_times *times, size_t rank,
                                      bool of_all, int64_t *values)
{
    const struct comparing comparing = { delays, rank, of_all, values };
    return (struct ap_work_apart){ .calls_times = against_middle(&comparing, true),
                                   .calls_more = calls_beyond(&comparing),
                                   .work_times = against_middle(&comparing, false),
                                   .shapes_differ = differs(&comparing),
                                   .times = times[rank] };
}
