/* SPDX-License-Identifier: MIT
 * recording_cost.c - a host that writes rows calls later than it would without. By so much a device that waits for it waits
 * longer, but for what was hidden: as long as work is queued, and where the host waits for the device anyway. So the cost of
 * rows is put by, waits for the host are paid of it, and a wait for the device ends it.
 *
 * What a row costs depends on the machine, its load and the options. The recording tells it: what passes between the edges
 * of an operator and of the only one that it calls is mostly that. Measured as jobs on a GPU with the profiler and without,
 * see definitions.md. */
#include "recording_cost.h"

#include "poison.h"

/* Of that time, what a row costs: estimates on the low side. */
#define OF_OPERATOR 1.25
#define OF_FRAME 0.75 /* a call and its return */
#define OF_CALL 2.0   /* a row of the host and one of the device */

#define EDGE_STEP_NS 50
#define EDGE_STEPS 60    /* longer ones count as the last: more than 3 us was not measured */
#define EDGES_TO_TELL 20 /* of fewer operators the median says little: our choice */
#define MOST_OF_TIME 2   /* rows take at most one part in this many of the time in which they were written */
#define WAITED_NS 20000  /* a call that waits for the device takes less where there is nothing to wait for */

static bool is_operator(const struct ap_trace *trace, uint32_t row)
{
    return ap_row_kind(trace->events.tag[row]) == AP_KIND_operator;
}

int64_t ap_recording_edge_ns(const struct ap_trace *trace, const struct ap_row_order *order)
{
    uint64_t counts[EDGE_STEPS] = { 0 }, count = 0, below = 0;
    for (size_t track = 0; track < order->track_count; track++) {
        size_t end = order->track_start[track + 1];
        bool is_thread = ap_track_may_hold(order, track, 1u << AP_KIND_operator);
        for (size_t i = order->track_start[track]; is_thread && i + 1 < end; i++) {
            uint32_t row = order->rows[i], inner = order->rows[i + 1];
            if (!is_operator(trace, row) || !is_operator(trace, inner) ||
                ap_row_end_ns(trace, inner) > ap_row_end_ns(trace, row) ||
                (i + 2 < end && trace->events.start_ns[order->rows[i + 2]] < ap_row_end_ns(trace, row)))
                continue;
            int64_t step = (trace->events.dur_ns[row] - trace->events.dur_ns[inner]) / EDGE_STEP_NS;
            counts[step < EDGE_STEPS ? step : EDGE_STEPS - 1]++;
            count++;
        }
    }
    int64_t median = 0;
    while (count >= EDGES_TO_TELL && (below += counts[median]) <= count / 2)
        median++;
    return median * EDGE_STEP_NS;
}

static double share_of_edge(const struct ap_trace *trace, uint32_t row)
{
    switch (ap_row_kind(trace->events.tag[row])) {
    case AP_KIND_operator: return OF_OPERATOR;
    case AP_KIND_python: return OF_FRAME;
    case AP_KIND_runtime: return OF_CALL;
    default: return 0;
    }
}

/* What came before is hidden by a wait for the device that ended then. */
static void forget(struct ap_recording_cost *cost, int64_t end_ns)
{
    cost->spare_ns = 0;
    cost->until_ns = end_ns > cost->until_ns ? end_ns : cost->until_ns;
}

static double sum_track(struct ap_recording_cost *cost, uint32_t track, int64_t until_ns)
{
    const struct ap_trace *trace = cost->trace;
    double sum_ns = 0;
    for (uint32_t *at = &cost->next[track]; *at < cost->order->track_start[track + 1]; ++*at) {
        uint32_t row = cost->order->rows[*at];
        int64_t start_ns = trace->events.start_ns[row];
        if (start_ns > until_ns)
            break;
        if (start_ns <= cost->until_ns || !ap_row_is_of(trace, row, AP_HOST_KINDS))
            continue;
        sum_ns += share_of_edge(trace, row) * (double)cost->edge_ns;
        if (cost->states->state[row] == AP_IDLE_synchronization && trace->events.dur_ns[row] > WAITED_NS) {
            int64_t end_ns = ap_row_end_ns(trace, row);
            forget(cost, end_ns < until_ns ? end_ns : until_ns);
            sum_ns = 0;
        }
    }
    return sum_ns;
}

void ap_recording_cost_sum(struct ap_recording_cost *cost, uint32_t track, uint32_t main_track, int64_t until_ns)
{
    if (!cost->edge_ns || until_ns <= cost->until_ns)
        return;
    double sum_ns = sum_track(cost, track, until_ns);
    if (track != main_track)
        sum_ns += sum_track(cost, main_track, until_ns);
    int64_t most_ns = (until_ns - cost->until_ns) / MOST_OF_TIME;
    cost->spare_ns += sum_ns < (double)most_ns ? (int64_t)sum_ns : most_ns;
    cost->until_ns = until_ns;
}

int64_t ap_recording_cost_take(struct ap_recording_cost *cost, int64_t waited_ns)
{
    int64_t taken_ns = waited_ns < cost->spare_ns ? waited_ns : cost->spare_ns;
    cost->spare_ns -= taken_ns;
    return taken_ns;
}
