/* SPDX-License-Identifier: MIT
 * host_part.h - what the parts of part_host_work share to write the report. */
#ifndef AP_HOST_PART_H
#define AP_HOST_PART_H

#include "autograd.h"
#include "habits.h"
#include "host_work.h"
#include "part.h"

/** Each adds its part to the root: operators; modules; frames; autograd; drilldown. */
AP_MUST_CHECK enum ap_status ap_part_operators(struct ap_part_context *context, const struct ap_host_work *work,
                                               struct ap_model *model, struct ap_value *root, struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_part_modules(struct ap_part_context *context, const struct ap_host_work *work,
                                             struct ap_model *model, struct ap_value *root, struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_part_frames(struct ap_part_context *context, const struct ap_host_work *work,
                                            struct ap_model *model, struct ap_value *root, struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_part_autograd(struct ap_part_context *context, const struct ap_autograd *autograd,
                                              struct ap_model *model, struct ap_value *root, struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_part_drilldown(struct ap_part_context *context, const struct ap_host_work *work,
                                               struct ap_model *model, struct ap_value *root, struct ap_error *reterr);

/** habits, of which rows have told theirs */
AP_MUST_CHECK enum ap_status ap_part_habits(struct ap_part_context *context, struct ap_habits *habits,
                                            const struct ap_host_work *work, struct ap_model *model, struct ap_value *root,
                                            struct ap_error *reterr);

/** By own GPU work, then own host time, both larger first; then by name. */
bool ap_cost_before(const struct ap_trace *trace, const struct ap_host_work *work, const struct ap_work_cost *a,
                    const struct ap_work_cost *b, bool *ret_is_equal);
/** A time of GPU work: null where the trace has none. */
void ap_add_device_time(const struct ap_part_context *context, struct ap_model *model, struct ap_value *to, const char *key,
                        int64_t ns);
/** The quotient of the time to all GPU work, else null. */
void ap_add_device_share(const struct ap_part_context *context, struct ap_model *model, struct ap_value *to, int64_t ns);
void ap_add_slowest(const struct ap_part_context *context, const struct ap_work_cost *cost, struct ap_model *model,
                    struct ap_value *to);

#endif
