/* SPDX-License-Identifier: MIT
 * join_curve.h - an allocator's curve cut by the phases and steps of a trace. A phase lasts from the first row of its kind
 * until one of another begins, on the thread that drives the run and those of autograd together. */
#ifndef AP_JOIN_CURVE_H
#define AP_JOIN_CURVE_H

#include "memory_join.h"
#include "part.h"

#define AP_JOIN_STEPS 4096

struct ap_join_phase {
    uint64_t count; /* times it was entered */
    int64_t peak_bytes, delta_bytes;
    int64_t peak_ns;
};

struct ap_join_step {
    int64_t start_bytes, peak_bytes, end_bytes, peak_ns;
    enum ap_phase peak_phase;
    bool begun, whole; /* any of it, all of it is within what both recordings cover */
};

struct ap_join_curve {
    struct ap_gate *gate;
    struct ap_join_phase phases[AP_PHASE_COUNT_];
    struct ap_join_step *steps; /* of context->facts->steps, the first ones */
    size_t step_count;
};

/** @curve may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_join_curve_init(struct ap_join_curve *curve, const struct ap_part_context *context,
                                                const struct ap_memory_join *join, struct ap_error *reterr);
void ap_join_curve_release(struct ap_join_curve *curve);

#endif
