/* SPDX-License-Identifier: MIT
 * fine.h - what was looked at and is fine. */
#ifndef AP_FINE_H
#define AP_FINE_H

#include "rubric.h"

/** Append the list "fine" to the root, beside the findings, which it does not contradict. */
AP_MUST_CHECK enum ap_status ap_fine_add(const struct ap_judge_options *options, struct ap_model *model,
                                         struct ap_error *reterr);

#endif
