/* SPDX-License-Identifier: MIT
 * stretches.h - a set of stretches of time, and how much of one lies within another. */
#ifndef AP_STRETCHES_H
#define AP_STRETCHES_H

#include "mem.h"

/** Of more stretches than this a set keeps none: then it is not known where its time lies. */
#define AP_STRETCHES_MOST ((size_t)1 << 15) /* half a MiB a set */

struct ap_stretch {
    int64_t start_ns, end_ns;
};

/** {0} is the empty set. The list is of the gate that the calls are handed. */
struct ap_stretches {
    struct ap_stretch *list;
    size_t count, capacity;
    bool in_order; /* by start, and none touches the next one */
    bool unknown;  /* there were too many */
    bool failed;   /* memory was refused; it is for the owner to say so */
};

/** One more stretch; empty ones are left out. What begins within the one that was added last makes that longer. */
void ap_stretches_add(struct ap_stretches *set, struct ap_gate *gate, int64_t start_ns, int64_t end_ns);
/** All of @more as well. */
void ap_stretches_add_all(struct ap_stretches *set, struct ap_gate *gate, const struct ap_stretches *more);
void ap_stretches_release(struct ap_stretches *set, struct ap_gate *gate);

/** Time that is in the set; both put sets in order. */
int64_t ap_stretches_length_ns(struct ap_stretches *set);
/** Time that is in both sets. */
int64_t ap_stretches_overlap_ns(struct ap_stretches *a, struct ap_stretches *b);

#endif
