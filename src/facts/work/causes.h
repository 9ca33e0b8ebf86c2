/* SPDX-License-Identifier: MIT
 * causes.h - many single costs summed up by their cause: what it was, which operator asked for it, which line. */
#ifndef AP_CAUSES_H
#define AP_CAUSES_H

#include "mem.h"

/** One cost, or the sum of some with equal keys. */
struct ap_cause {
    uint32_t kind; /* keys: the kind has a meaning of the caller's, the others are name ids, 0 = none */
    uint32_t call, op, leaf, line;
    uint32_t row; /* where to look: of a sum, the one that weighs most */
    uint32_t count;
    int64_t weight_ns, time_ns, host_ns;
    int64_t row_weight_ns;
    int64_t bytes;
    bool bytes_known; /* of all of them */
};

/** Sums up @causes by their keys; the sums come first in @causes then, in no order to rely on. */
AP_MUST_CHECK enum ap_status ap_causes_sum(struct ap_cause *causes, size_t *count, struct ap_gate *gate, bool *overflowed,
                                           struct ap_error *reterr);

/** Costs one after the other, summed up on the way, so that the list takes what different keys take. */
struct ap_cause_sums {
    struct ap_cause *list;
    size_t count, capacity;
};

/** One more. Those of equal keys are sure to be one only behind ap_causes_sum(). */
AP_MUST_CHECK enum ap_status ap_causes_add(struct ap_cause_sums *sums, const struct ap_cause *cause, struct ap_gate *gate,
                                           bool *overflowed, struct ap_error *reterr);
void ap_causes_release(struct ap_cause_sums *sums, struct ap_gate *gate);

/** The first @limit (0 = all) in order of weight, time, host time, count, then of first rows. The list is the caller's, as
 *  that of ap_top_indices. */
AP_MUST_CHECK enum ap_status ap_causes_rank(const struct ap_cause *causes, size_t count, uint64_t limit,
                                            struct ap_gate *gate, uint32_t **ret_list, size_t *ret_count,
                                            struct ap_error *reterr);

#endif
