/* SPDX-License-Identifier: MIT
 * predict_part.h - what changes would gain, as the part "prediction" of a report: how far the replay can be trusted, the
 * changes that somebody asked for, and those that the rules of findings name. */
#ifndef AP_PREDICT_PART_H
#define AP_PREDICT_PART_H

#include "predict.h"

/** Changes that somebody asked for, as they are written. */
struct ap_what_if {
    const char *const *changes;
    size_t count;
};

/** AP_ERROR_USAGE where one has a mistake, or they are more than AP_CHANGES_MAX. */
AP_MUST_CHECK enum ap_status ap_what_if_check(const struct ap_what_if *what_if, struct ap_error *reterr);

/** What the changes, as rules write them, gain: an ap_gain_fn of judging, whose context is the predictor. */
AP_MUST_CHECK enum ap_status ap_prediction_gain(void *predictor, struct ap_text changes, bool *ret_known,
                                                double *ret_step_ratio, int64_t *ret_window_ns, struct ap_error *reterr);

/** How much of the rows that the changes are about a phase launched: an ap_phase_share_fn of judging, whose context are the
 *  facts. */
AP_MUST_CHECK enum ap_status ap_prediction_phase_share(void *facts, struct ap_text changes, struct ap_text phase,
                                                       bool *ret_known, double *ret_ratio, struct ap_error *reterr);

/** Append "prediction" to the root of @model, and to each of its findings. A zeroed predictor is that of no trace: null. */
AP_MUST_CHECK enum ap_status ap_prediction_add(struct ap_predictor *predictor, const struct ap_what_if *what_if,
                                               struct ap_model *model, struct ap_error *reterr);

#endif
