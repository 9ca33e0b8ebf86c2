/* SPDX-License-Identifier: MIT
 * memory_own_pass.h - what the parts of "who owns the peak" share. */
#ifndef AP_MEMORY_OWN_PASS_H
#define AP_MEMORY_OWN_PASS_H

#include "memory_frames.h"
#include "memory_phases.h"

struct ap_own_pass {
    struct ap_memory_pass *pass;
    struct ap_gate *gate;
    struct ap_owners owners;
    struct ap_memory_phases phases;
    struct ap_value *memory;
    struct ap_owned_device largest; /* of all devices the one with most bytes; its list is owned here */
    bool has_largest;
};

/* The parts, in order. */
AP_MUST_CHECK enum ap_status ap_own_put_peak(struct ap_own_pass *own, struct ap_error *reterr); /* finds largest, too */
AP_MUST_CHECK enum ap_status ap_own_put_lifetimes(struct ap_own_pass *own, struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_own_put_phases(struct ap_own_pass *own, struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_own_put_timeline(struct ap_own_pass *own, struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_own_put_flame(struct ap_own_pass *own, struct ap_error *reterr);

#endif
