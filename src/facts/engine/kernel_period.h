/* SPDX-License-Identifier: MIT
 * kernel_period.h - the stretch of kernels that repeats in a sequence of them: the layers of a model, where nothing else
 * tells them. */
#ifndef AP_KERNEL_PERIOD_H
#define AP_KERNEL_PERIOD_H

#include "mem.h"

struct ap_kernel_period {
    size_t first;   /* of the longest run of repeats */
    size_t length;  /* kernels of a repeat; 0 = nothing repeats */
    size_t repeats; /* whole ones in that run */
    size_t covered; /* kernels of all runs of two repeats or more */
};

/** Of @names, by number; in time that grows with @count. Stretches of less than @least kernels are passed over. */
AP_MUST_CHECK enum ap_status ap_kernel_period_find(const uint32_t *names, size_t count, size_t least, struct ap_gate *gate,
                                                   struct ap_kernel_period *ret_period, struct ap_error *reterr);

#endif
