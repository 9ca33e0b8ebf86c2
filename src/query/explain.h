/* SPDX-License-Identifier: MIT
 * explain.h - what rules and figures there are, and what one of them means. */
#ifndef AP_EXPLAIN_H
#define AP_EXPLAIN_H

#include "analyze_profile/analyze_profile.h"
#include "out.h"
#include "rubric.h"

/** A list of objects in the root of @model: the rules of @rubric, or, where that is NULL, all figures. */
AP_MUST_CHECK enum ap_status ap_list_fill(const struct ap_rubric *rubric, struct ap_model *model,
                                          const struct ap_value **ret_rows, struct ap_error *reterr);
/** Such a list as a table. */
AP_MUST_CHECK enum ap_status ap_list_write(const struct ap_value *rows, struct ap_gate *gate, enum ap_format format,
                                           struct ap_sink sink, struct ap_error *reterr);
/** @root: of a report that what is explained may stand in; NULL = none. AP_ERROR_USAGE where nothing has this id. */
AP_MUST_CHECK enum ap_status ap_explain(const struct ap_rubric *rubric, const char *id, const struct ap_value *root,
                                        struct ap_gate *gate, enum ap_format format, struct ap_sink sink,
                                        struct ap_error *reterr);

#endif
