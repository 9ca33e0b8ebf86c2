/* SPDX-License-Identifier: MIT
 * slow_kernels.h - whose kernels take longer than the same kernels of other ranks, whatever their roles: a slow host that
 * has a whole stage of a pipeline to itself is late against nobody of that stage. */
#ifndef AP_SLOW_KERNELS_H
#define AP_SLOW_KERNELS_H

#include "run_view.h"

/** As long as on others: less may be chance. */
#define AP_SLOW_TIMES 1.05

struct ap_rank_times {
    double compute_ns; /* of all its kernels, in a step */
    double as_usual;   /* its kernels take so many times as long as the same ones do on the middle rank; 0 = not known */
    int64_t excess_ns; /* in a step, of a rank that is slow, as far as those that are not compute less: so much shorter a
                          step could be */
};

/** @ret_ranks: one for each rank of the view. */
AP_MUST_CHECK enum ap_status ap_slow_kernels_find(const struct ap_run_view *view, struct ap_rank_times *ret_ranks,
                                                  struct ap_error *reterr);

#endif
