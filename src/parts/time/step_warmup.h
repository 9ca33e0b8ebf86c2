/* SPDX-License-Identifier: MIT
 * step_warmup.h - what cold steps spend their additional time on. Private to the stage. */
#ifndef AP_STEP_WARMUP_H
#define AP_STEP_WARMUP_H

#include "part.h"

/** Adds "warmup" to @parent. @median_ns is that of the steady steps, -1 = there are none. */
AP_MUST_CHECK enum ap_status ap_step_warmup_add(struct ap_part_context *context, int64_t median_ns, struct ap_model *model,
                                                struct ap_value *parent, struct ap_error *reterr);

#endif
