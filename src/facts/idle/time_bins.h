/* SPDX-License-Identifier: MIT
 * time_bins.h - the split of the time once more, in bins of one length: what a strip over the run is drawn from. */
#ifndef AP_TIME_BINS_H
#define AP_TIME_BINS_H

#include "base.h"
#include "host_state.h"

#define AP_TIME_BINS_MAX 400
/** Classes of GPU work; the split knows which. */
#define AP_TIME_BIN_CLASSES 4

struct ap_time_bins {
    int64_t start_ns, width_ns; /* width 0 = there is nothing to divide */
    uint32_t count;
    int64_t class_ns[AP_TIME_BINS_MAX][AP_TIME_BIN_CLASSES];
    int64_t cause_ns[AP_TIME_BINS_MAX][AP_IDLE_CAUSE_COUNT_];
};

/** Empty bins over [start, end). */
void ap_time_bins_init(struct ap_time_bins *bins, int64_t start_ns, int64_t end_ns);
/** Add a piece of time; what lies outside of the bins is left out. With @bins NULL nothing happens. */
void ap_time_bins_add_class(struct ap_time_bins *bins, int class, int64_t start_ns, int64_t end_ns);
void ap_time_bins_add_cause(struct ap_time_bins *bins, enum ap_idle_cause cause, int64_t start_ns, int64_t end_ns);

#endif
