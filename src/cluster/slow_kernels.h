/* SPDX-License-Identifier: MIT
 * slow_kernels.h - whose kernels take longer than the same kernels of other ranks, whatever their roles: a slow host that
 * has a whole stage of a pipeline to itself is late against nobody of that stage. */
#ifndef AP_SLOW_KERNELS_H
#define AP_SLOW_KERNELS_H

#include "run_view.h"

/** @ret_excess_ns: by rank, time in a step that its kernels take beyond what the same ones take on the middle rank, as
 *  far as ranks that are not slow compute less in a step: so much shorter a step could be. 0 = it is not slow. */
AP_MUST_CHECK enum ap_status ap_slow_kernels_find(const struct ap_run_view *view, int64_t *ret_excess_ns,
                                                  struct ap_error *reterr);

#endif
