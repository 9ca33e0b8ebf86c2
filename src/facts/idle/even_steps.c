/* SPDX-License-Identifier: MIT
 * even_steps.c - a host that is too slow for its device is so in each step that has the same rows. What only some of them
 * have was not the program's: other processes used the cores, or the thread was taken off its own. */
#include "even_steps.h"

#include "poison.h"

#define STEPS_TO_COMPARE 3 /* as for calls that recur: our choice */
#define ROWS_APART 0.02    /* a share of the rows: a step may log, or empty its gradients, and be the same: our choice */

/* Host rows that begin in a step. */
static void count_rows(uint32_t *counts, const struct ap_trace *trace, const struct ap_row_order *order,
                       const struct ap_steps *steps)
{
    struct ap_step_cursor cursor = { steps, 0 };
    size_t step = steps->count;
    for (struct ap_placed_rows at = ap_placed_rows(order, trace, AP_HOST_KINDS); ap_placed_rows_next(&at);) {
        int64_t start_ns = trace->events.start_ns[at.row];
        if (step == steps->count || start_ns < steps->steps[step].start_ns || start_ns >= steps->steps[step].end_ns)
            step = ap_step_cursor_at(&cursor, start_ns);
        if (step < steps->count)
            counts[step]++;
    }
}

static bool are_even(const uint32_t *counts, const struct ap_steps *steps)
{
    uint32_t least = UINT32_MAX, most = 0, count = 0;
    for (size_t i = 0; i < steps->count; i++) {
        if (!ap_step_is_steady(&steps->steps[i]))
            continue;
        count++;
        least = counts[i] < least ? counts[i] : least;
        most = counts[i] > most ? counts[i] : most;
    }
    return count >= STEPS_TO_COMPARE && (double)(most - least) <= ROWS_APART * (double)most;
}

static int64_t host_ns(const struct ap_split_part *step)
{
    int64_t sum_ns = 0;
    for (int i = 0; i < AP_IDLE_CAUSE_COUNT_; i++)
        sum_ns += ap_idle_is_of_host((enum ap_idle_cause)i) ? step->cause_ns[i] : 0;
    int64_t told_ns = step->recording_ns + step->off_core_ns;
    return sum_ns > told_ns ? sum_ns - told_ns : 0;
}

/* More than what the second smallest has, so that one step that is short does not decide. */
static int64_t uneven_ns(const struct ap_split *split, const struct ap_steps *steps)
{
    int64_t all_ns = 0, least_ns = INT64_MAX, second_ns = INT64_MAX, count = 0;
    for (size_t i = 0; i < split->step_count; i++) {
        if (!ap_step_is_steady(&steps->steps[i]))
            continue;
        int64_t ns = host_ns(&split->steps[i]);
        all_ns += ns;
        count++;
        second_ns = ns < least_ns ? least_ns : ns < second_ns ? ns : second_ns;
        least_ns = ns < least_ns ? ns : least_ns;
    }
    return second_ns < all_ns / count ? all_ns - second_ns * count : 0;
}

enum ap_status ap_find_uneven_steps(struct ap_split *split, const struct ap_trace *trace, const struct ap_row_order *order,
                                    const struct ap_steps *steps, struct ap_error *reterr)
{
    uint32_t *counts;
    if (!split->has_gpu || split->steady_count < STEPS_TO_COMPARE)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(split->gate, counts, steps->count, reterr));
    count_rows(counts, trace, order, steps);
    if (are_even(counts, steps))
        split->steady.uneven_ns = uneven_ns(split, steps);
    AP_FREE(split->gate, counts, steps->count);
    return AP_OK;
}
