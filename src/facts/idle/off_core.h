/* SPDX-License-Identifier: MIT
 * off_core.h - inside the split: when threads of the host stood still in the middle of what takes no time, as they do where
 * the system runs something else on their cores. */
#ifndef AP_OFF_CORE_H
#define AP_OFF_CORE_H

#include "host_state.h"

/** A thread stood still for about this long. */
struct ap_off_core_piece {
    int64_t start_ns, end_ns;
    uint32_t track, row; /* the innermost row around it; AP_NO_ROW = none */
    bool sure;           /* in code that neither computes nor waits */
};

/** All figures are 0 and the list is empty where there are too few pieces to be sure of. */
struct ap_off_core {
    struct ap_gate *gate;
    struct ap_off_core_piece *pieces; /* by track, then by start */
    size_t count, capacity;
    double share; /* of the time of the others, what is as likely there as in code that does nothing */
    size_t sure_count;
    int64_t sum_ns;    /* of all, the others by that share */
    int64_t median_ns; /* of the sure ones, with what equal rows take */
    int64_t equal_ns;  /* the median of what rows equal to the sure ones take */
};

/** @off may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_off_core_init(struct ap_off_core *off, const struct ap_trace *trace,
                                              const struct ap_row_order *order, const struct ap_host_tree *tree,
                                              const struct ap_host_states *states, struct ap_gate *gate,
                                              struct ap_error *reterr);
void ap_off_core_release(struct ap_off_core *off);

/** What stands out beside code that does nothing is mostly of the same kind. */
static inline bool ap_off_core_is_all(const struct ap_off_core *off)
{
    return off->share > 0.5;
}

/** How long the thread of @track stood still between the two times. */
int64_t ap_off_core_within_ns(const struct ap_off_core *off, uint32_t track, int64_t start_ns, int64_t end_ns);

#endif
