/* SPDX-License-Identifier: MIT
 * model_redact.h - takes out of the tree what an input gave it of names: the one place where a report is redacted, so that
 * no writer can forget it. */
#ifndef AP_MODEL_REDACT_H
#define AP_MODEL_REDACT_H

#include "model_build.h"
#include "redact.h"

/** Redact all texts and keys below @below that stem from an input (ap_value.from_input), and the paths of files. Labels of
 *  the user's (context) and names of devices stay. */
AP_MUST_CHECK enum ap_status ap_model_redact(struct ap_model *model, const struct ap_value *below,
                                             struct ap_redaction *redaction, struct ap_error *reterr);

/** The same for a tree of which it is not known what stems from an input, as a report that was read back: what stands where
 *  reports have names and paths. */
AP_MUST_CHECK enum ap_status ap_model_redact_names(struct ap_model *model, struct ap_redaction *redaction,
                                                   struct ap_error *reterr);

/** The paths of files alone. */
AP_MUST_CHECK enum ap_status ap_model_redact_paths(struct ap_model *model, struct ap_redaction *redaction,
                                                   struct ap_error *reterr);

#endif
