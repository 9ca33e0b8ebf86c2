/* SPDX-License-Identifier: MIT
 * compute_times.h - inside compute_calls: what calls that are alike take. */
#ifndef AP_COMPUTE_TIMES_H
#define AP_COMPUTE_TIMES_H

#include "compute_calls.h"

/** Medians and cold calls of all groups. @kernel_of: by call its kernel or AP_NO_ROW; not read where times are of the
 *  host. */
AP_MUST_CHECK enum ap_status ap_compute_find_times(struct ap_compute *compute, const struct ap_trace *trace,
                                                   const uint32_t *kernel_of, struct ap_error *reterr);

#endif
