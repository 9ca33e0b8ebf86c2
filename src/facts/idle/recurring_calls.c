/* SPDX-License-Identifier: MIT
 * recurring_calls.c - what comes again in each steady step is no start-up. Whatever the steps tell, neither is what begins
 * in the second half of the window, where the kernels of its first quarter run again in the last: a single iteration that
 * loads all that it runs is a start as a whole. */
#include "recurring_calls.h"

#include "poison.h"

#define STEPS_TO_RECUR 3 /* of so many it can be told what each has: our choice */
#define WINDOW_PIECES 4  /* a start fills the first, perhaps the second: our choice */

/* What recurs is what the second smallest of the steps has, in all of them, so that one that is short does not decide. */
struct recurring {
    int64_t all_ns, least_ns, second_ns, count;
};

static void see_piece(struct recurring *seen, int64_t ns)
{
    seen->all_ns += ns;
    seen->count++;
    if (ns >= seen->second_ns)
        return;
    seen->second_ns = ns < seen->least_ns ? seen->least_ns : ns;
    seen->least_ns = ns < seen->least_ns ? ns : seen->least_ns;
}

static int64_t recurring_ns(const struct recurring *seen, enum ap_idle_cause cause)
{
    if (seen->count == 2 && cause == AP_IDLE_allocation) /* a pool that is warm takes none */
        return 2 * seen->least_ns;
    if (seen->count < STEPS_TO_RECUR)
        return 0;
    return seen->second_ns < seen->all_ns / seen->count ? seen->second_ns * seen->count : seen->all_ns;
}

/* ---- the window, whatever steps there are ---- */

static int piece_of(const struct ap_split *split, int64_t start_ns)
{
    double place = (double)(start_ns - split->start_ns) / (double)split->window.dur_ns * WINDOW_PIECES;
    return !(place > 0) ? 0 : place < WINDOW_PIECES ? (int)place : WINDOW_PIECES - 1;
}

/* Graphs are captured before they are replayed, wherever in the window that is. */
static bool is_in_capture(const struct ap_split *split, int64_t at_ns)
{
    const struct ap_stretch *capture = ap_capture_after(&split->captures, at_ns);
    return capture && capture->start_ns <= at_ns;
}

/* What begins in the second half is no start, and as much of the first half comes again. */
static int64_t recurring_in_window_ns(const struct ap_split *split, enum ap_idle_cause cause)
{
    const struct ap_stretches *calls = &split->of_cause[cause];
    int64_t half_ns[2] = { 0 }, most_ns = split->window.cause_ns[cause];
    if (calls->unknown) /* too many for a start */
        return most_ns;
    for (size_t i = 0; i < calls->count; i++)
        if (!is_in_capture(split, calls->list[i].start_ns))
            half_ns[piece_of(split, calls->list[i].start_ns) >= WINDOW_PIECES / 2] +=
                calls->list[i].end_ns - calls->list[i].start_ns;
    int64_t recurring_ns = half_ns[1] + (half_ns[0] < half_ns[1] ? half_ns[0] : half_ns[1]);
    return recurring_ns < most_ns ? recurring_ns : most_ns;
}

/* Most of what devices run in the last piece ran in the first. */
static enum ap_status does_work_repeat(bool *ret_repeats, const struct ap_split *split, const struct ap_trace *trace,
                                       const struct ap_links *links, struct ap_error *reterr)
{
    uint64_t last_count = 0, again_count = 0;
    size_t name_count = ap_trace_id_count(trace);
    uint8_t *ran_first; /* by name */
    AP_TRY(AP_ALLOC_CLEARED(split->gate, ran_first, name_count, reterr));
    for (size_t i = 0; i < links->count; i++)
        if (piece_of(split, trace->events.start_ns[links->row[i]]) == 0)
            ran_first[trace->events.name[links->row[i]]] = true;
    for (size_t i = 0; i < links->count; i++) {
        uint32_t row = links->row[i];
        bool is_last = piece_of(split, trace->events.start_ns[row]) == WINDOW_PIECES - 1;
        last_count += is_last;
        again_count += is_last && ran_first[trace->events.name[row]];
    }
    AP_FREE(split->gate, ran_first, name_count);
    *ret_repeats = again_count > last_count / 2;
    return AP_OK;
}

/* ---- steps ---- */

/* No less than the window tells, of which @in_window_ns recur. */
static int64_t recurring_in_steps_ns(const struct ap_split *split, const struct ap_steps *steps, enum ap_idle_cause cause,
                                     int64_t in_window_ns)
{
    struct recurring seen = { .least_ns = INT64_MAX, .second_ns = INT64_MAX };
    int64_t window_ns = split->window.cause_ns[cause];
    for (size_t i = 0; i < split->step_count; i++)
        if (ap_step_is_steady(&steps->steps[i]))
            see_piece(&seen, split->steps[i].cause_ns[cause]);
    int64_t share_ns = window_ns ? ap_share_of(seen.all_ns, (double)in_window_ns / (double)window_ns) : 0;
    int64_t ns = recurring_ns(&seen, cause);
    return ns > share_ns ? ns : share_ns;
}

enum ap_status ap_find_recurring_calls(struct ap_split *split, const struct ap_trace *trace, const struct ap_links *links,
                                       const struct ap_steps *steps, struct ap_error *reterr)
{
    struct ap_split_part *window = &split->window, *steady = &split->steady;
    bool repeats = false;
    if (split->has_gpu)
        AP_TRY(does_work_repeat(&repeats, split, trace, links, reterr));
    window->recurring_call_ns = repeats ? recurring_in_window_ns(split, AP_IDLE_driver_call) : 0;
    window->recurring_allocation_ns = repeats ? recurring_in_window_ns(split, AP_IDLE_allocation) : 0;
    steady->recurring_call_ns = recurring_in_steps_ns(split, steps, AP_IDLE_driver_call, window->recurring_call_ns);
    steady->recurring_allocation_ns =
        recurring_in_steps_ns(split, steps, AP_IDLE_allocation, window->recurring_allocation_ns);
    return AP_OK;
}
