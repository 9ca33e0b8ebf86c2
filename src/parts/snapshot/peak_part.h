/* SPDX-License-Identifier: MIT
 * peak_part.h - what the parts of "who owns the peak" share. */
#ifndef AP_PEAK_PART_H
#define AP_PEAK_PART_H

#include "snapshot_part.h"
#include "memory_ranges.h"

struct ap_peak_part {
    struct ap_snapshot_part *pass;
    struct ap_gate *gate;
    const struct ap_owners *owners;
    struct ap_memory_ranges ranges;
    struct ap_value *memory;
    struct ap_owned_device largest; /* of all devices the one with most bytes; its list is owned here */
    bool has_largest;
};

/* The parts, in order. */
AP_MUST_CHECK enum ap_status ap_own_put_lifetimes(struct ap_peak_part *own, struct ap_error *reterr);
/** avoidable: what the largest need not hold at its peak */
AP_MUST_CHECK enum ap_status ap_own_put_avoidable(struct ap_peak_part *own, struct ap_error *reterr);
/** phases: the marked ranges of the program, by their peak */
AP_MUST_CHECK enum ap_status ap_own_put_ranges(struct ap_peak_part *own, struct ap_error *reterr);
/** timeline: a curve for each of the first devices with a history */
AP_MUST_CHECK enum ap_status ap_own_put_timeline(struct ap_peak_part *own, struct ap_error *reterr);
/** bands: what a device held at each of @points of its curve, by what it is for and the line that asked for it */
AP_MUST_CHECK enum ap_status ap_own_put_bands(struct ap_peak_part *own, struct ap_value *to, uint32_t device,
                                              const struct ap_curve_point *points, uint32_t point_count,
                                              struct ap_error *reterr);
/** flame: the stacks that hold the peak, or the end, of the largest device; null where there is none */
AP_MUST_CHECK enum ap_status ap_own_put_flame(struct ap_peak_part *own, struct ap_error *reterr);

#endif
