/* SPDX-License-Identifier: MIT
 * recording_cost.h - inside the split: how much of the time that a device waits for the host is the profiler's own, which
 * writes a row for each operator, frame and call. */
#ifndef AP_RECORDING_COST_H
#define AP_RECORDING_COST_H

#include "host_state.h"
#include "row_order.h"

/** What an operator takes that does nothing but call another one: the median, in whole 50 ns. 0 = what a row costs cannot be
 *  told by such operators: they are few, or of other recorders. */
int64_t ap_recording_edge_ns(const struct ap_trace *trace, const struct ap_row_order *order);

/** What rows cost, summed until a device waits. To begin: all but spare_ns. */
struct ap_recording_cost {
    const struct ap_trace *trace;
    const struct ap_row_order *order;
    const struct ap_host_states *states;
    int64_t edge_ns;  /* as above */
    uint32_t *next;   /* by track: in the order of rows; the caller's, each at its track's beginning. Where edge_ns is 0
                       * nobody asks */
    int64_t until_ns; /* so far it is summed */
    int64_t spare_ns; /* by so much the host would be earlier than it is, beside what the device would be */
};

/** Sums on to @until_ns, over rows of two threads, which may be one: the one that feeds the device and the main one. */
void ap_recording_cost_sum(struct ap_recording_cost *cost, uint32_t track, uint32_t main_track, int64_t until_ns);

/** A device waited for the host for @waited_ns, until then. Returns how much of it goes without the recording. */
int64_t ap_recording_cost_take(struct ap_recording_cost *cost, int64_t waited_ns);

#endif
