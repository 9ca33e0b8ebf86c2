/* SPDX-License-Identifier: MIT
 * peak_stacks.h - every stack with memory in use at the peak of its device, for the folded stacks of a flame graph. */
#ifndef AP_PEAK_STACKS_H
#define AP_PEAK_STACKS_H

#include "snapshot.h"

struct ap_peak_stack {
    int64_t device; /* -1 = not told */
    int64_t bytes;
    uint32_t stack; /* 0 = not recorded */
};

struct ap_peak_stacks {
    struct ap_gate *gate;
    struct ap_peak_stack *list; /* by device, then stack */
    size_t count, capacity;
    bool several_devices; /* have some */
};

/** At the end of the history, or of the snapshot, where it tells no peak. */
AP_MUST_CHECK enum ap_status ap_peak_stacks_init(struct ap_peak_stacks *stacks, const struct ap_snapshot *snapshot,
                                                 struct ap_error *reterr);
void ap_peak_stacks_release(struct ap_peak_stacks *stacks);

#endif
