/* SPDX-License-Identifier: MIT
 * equal_calls.h - whose calls take longer than the same calls of other ranks, whatever their roles: a slow host that has a
 * whole stage of a pipeline to itself is late against nobody of that stage. */
#ifndef AP_EQUAL_CALLS_H
#define AP_EQUAL_CALLS_H

#include "run_view.h"

/** As long as on others: less may be chance. */
#define AP_SLOW_TIMES 1.05

struct ap_rank_times {
    double compute_ns;     /* of all its kernels, in a step; without a device of its operators */
    double as_usual;       /* these take so many times as long as the same ones do on the middle rank; 0 = not known */
    double at_least;       /* the same of the shortest call of each, which no pause and no other process lengthens */
    bool is_shaped;        /* the trace tells the shapes of most of them */
    double copy_times;     /* as_usual of copies of equal size */
    double operator_times; /* at_least of operators of the host, each call counted alike; 0 = not known */
    double longer_share;   /* of these calls, those that take longer than usual */
    int64_t excess_ns;     /* in a step, of a rank that is slow, as far as those that are not compute less: so much shorter a
                          step could be */
};

/** @ret_ranks: one for each rank of the view. */
AP_MUST_CHECK enum ap_status ap_equal_calls_find(const struct ap_run_view *view, struct ap_rank_times *ret_ranks,
                                                 struct ap_error *reterr);

#endif
