/* SPDX-License-Identifier: MIT
 * engine_part.h - inside the part "engine": what its files share. */
#ifndef AP_ENGINE_PART_H
#define AP_ENGINE_PART_H

#include "engine_steps.h"
#include "part.h"

struct ap_engine_work {
    struct ap_part_context *context;
    struct ap_engine_steps steps;
};

/* What each adds to "engine". */
/** batches */
AP_MUST_CHECK enum ap_status ap_engine_add_batches(struct ap_engine_work *work, struct ap_model *model, struct ap_value *to,
                                                   struct ap_error *reterr);
/** slowest */
AP_MUST_CHECK enum ap_status ap_engine_add_slowest(struct ap_engine_work *work, struct ap_model *model, struct ap_value *to,
                                                   struct ap_error *reterr);

#endif
