/* SPDX-License-Identifier: MIT
 * clock_check.h - are a trace and an allocator's history of one process, and how far apart are their clocks? Told by the
 * allocations that both recorded: the same address, at the same time. */
#ifndef AP_CLOCK_CHECK_H
#define AP_CLOCK_CHECK_H

#include "replay.h"
#include "trace.h"

enum ap_clock_verdict {
    AP_CLOCKS_UNCHECKED, /* the trace has no [memory] instants of the device, or too few fall into the history */
    AP_CLOCKS_AGREE,
    AP_CLOCKS_CONTRADICT /* they hand out other addresses */
};

struct ap_clock_check {
    enum ap_clock_verdict verdict;
    uint64_t compared; /* allocations of the history, in the time that the instants looked at cover */
    uint64_t matched;  /* those of them that stand in the trace at the same address and, but for the offset, time */
    int64_t offset_ns; /* median of the trace's time less the history's; only where they agree */
};

/** @base_ns is added to times of the trace. */
AP_MUST_CHECK enum ap_status ap_clock_check(const struct ap_trace *trace, const struct ap_replay *replay, uint32_t device,
                                            int64_t base_ns, struct ap_gate *gate, struct ap_clock_check *ret_check,
                                            struct ap_error *reterr);

#endif
