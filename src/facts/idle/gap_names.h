/* SPDX-License-Identifier: MIT
 * gap_names.h - what the host was in for most of a gap: summed by name over all its pieces, as a loop of short calls is in
 * none of them for long. */
#ifndef AP_GAP_NAMES_H
#define AP_GAP_NAMES_H

#include "host_tree.h"
#include "split.h"
#include "user_frame.h"

struct ap_known_caller {
    uint32_t asked, caller; /* the row + 1 that was asked for; 0 = none */
};

/* Of a name, in a gap, by what is the cause. */
struct ap_gap_name_sum {
    uint32_t gap_and_cause, row; /* the first one of the name */
    uint32_t before;             /* of the same name; UINT32_MAX = there is none */
};

struct ap_gap_names {
    struct ap_gate *gate;
    const struct ap_trace *trace;
    const struct ap_host_tree *tree;
    struct ap_user_frames frames;
    struct ap_gap_name_sum *sums;
    int64_t *sums_ns; /* of each: how long the host was in it */
    size_t count, capacity, ns_capacity;
    uint32_t *last_of; /* by name: its last sum */
    struct ap_known_caller known[64];
    bool failed; /* for want of memory */
};

/** The host was in @row for @dur_ns of the gap, number @detail, by which its time is due to @cause; no gap comes again
 *  behind another one. Functions of libraries go with the user's that calls them, built-in ones with the Python function
 *  that does. Keeps in the detail who has most by then. */
void ap_gap_names_add(struct ap_gap_names *names, struct ap_gap_detail *details, uint32_t detail, enum ap_idle_cause cause,
                      uint32_t row, int64_t dur_ns);
/** All names that the host was in for so long of a gap, by which its time is due to @cause, into the split. */
enum ap_status ap_gap_names_keep(const struct ap_gap_names *names, enum ap_idle_cause cause, int64_t least_ns,
                                 struct ap_split *split, struct ap_error *reterr);
void ap_gap_names_release(struct ap_gap_names *names);

#endif
