/* SPDX-License-Identifier: MIT
 * flight_mismatch.h - where ranks entered different things under one sequence number: the first place of each group, since
 * all behind it follows from it. What went through on all ranks is none. */
#ifndef AP_FLIGHT_MISMATCH_H
#define AP_FLIGHT_MISMATCH_H

#include "flight_order.h"

enum ap_mismatch_kind {
    AP_MISMATCH_OPERATION, /* and nothing tells why: a call that is missing, one too many, or two in another order */
    AP_MISMATCH_SKIPPED,   /* what follows tells: the odd rank is one call ahead of the others */
    AP_MISMATCH_ADDED,     /* one call behind */
    AP_MISMATCH_SWAPPED,   /* two calls in the other order */
    AP_MISMATCH_SIZE,
    AP_MISMATCH_TYPE
};

struct ap_flight_mismatch {
    enum ap_mismatch_kind kind;
    uint32_t group;
    int64_t sequence;
    bool is_decided;               /* most agree: the odd ones are the others; else all are odd */
    uint32_t usual_entry;          /* an entry of those that agree; where none do, of the first rank */
    uint32_t odd_entry;            /* of the first odd rank; where none agree, of the first that differs from usual_entry */
    uint32_t slot_count;           /* ranks that entered */
    uint32_t first_odd, odd_count; /* dumps, of mismatches->odd */
};

struct ap_flight_mismatches {
    struct ap_gate *gate;
    struct ap_flight_mismatch *list; /* by group */
    uint32_t *odd;
    uint32_t count, odd_count;
    size_t capacity, odd_capacity;
};

/** @mismatches may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_flight_mismatches_init(struct ap_flight_mismatches *mismatches,
                                                       const struct ap_flight_order *order, struct ap_error *reterr);
void ap_flight_mismatches_release(struct ap_flight_mismatches *mismatches);

/** That of a group; NULL where it has none. */
const struct ap_flight_mismatch *ap_flight_mismatch_of(const struct ap_flight_mismatches *mismatches, uint32_t group);

#endif
