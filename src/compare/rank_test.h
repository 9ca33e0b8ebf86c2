/* SPDX-License-Identifier: MIT
 * rank_test.h - are two samples of times different? The Mann-Whitney U test (Wilcoxon's rank sum test), which asks nothing
 * of how the times are distributed. Knows numbers only. */
#ifndef AP_RANK_TEST_H
#define AP_RANK_TEST_H

#include "mem.h"

/** Values of both samples together for which the exact distribution is counted; above, the normal approximation. */
#define AP_RANK_EXACT_MAX 60

struct ap_rank_test {
    size_t before_count, after_count;
    bool exact;
    double p_value; /* two-sided */
    double least_p; /* the smallest p-value that samples of these sizes can have */
    int64_t shift;  /* Hodges-Lehmann: the median of all differences after - before */
};

/** @before and @after are not empty and are reordered. Ties are counted with mid-ranks. Exchanging the samples leaves p
 * alone and turns the sign of the shift, but for rounding. */
AP_MUST_CHECK enum ap_status ap_rank_test(struct ap_gate *gate, int64_t *before, size_t before_count, int64_t *after,
                                          size_t after_count, struct ap_rank_test *ret_test, struct ap_error *reterr);

/** "Mann-Whitney U, two-sided, exact" */
const char *ap_rank_test_name(bool exact);

#endif
