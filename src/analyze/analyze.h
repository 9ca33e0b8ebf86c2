/* SPDX-License-Identifier: MIT
 * analyze.h - from a trace to the parts of the report that are about it: cpu, trace, steps, split and on to symptoms. What
 * is found of the trace on the way stays in the caller's facts. */
#ifndef AP_ANALYZE_H
#define AP_ANALYZE_H

#include "part.h"

/** Find all facts, and append the parts to the root of @model, in the order of the report. Oddities found on the way go to
 *  @notes. @facts are initialized, with no fact found yet; release them after a failure too. */
AP_MUST_CHECK enum ap_status ap_analyze_trace(struct ap_facts *facts, const struct ap_part_options *options,
                                              bool two_threads, struct ap_notes *notes, struct ap_model *model,
                                              struct ap_error *reterr);

/** The same parts where no trace was given: null. */
void ap_analyze_no_trace(struct ap_model *model);

/** Append "pictures": what the HTML report draws. Called behind the findings, of which the first says what the timeline
 *  shows. */
AP_MUST_CHECK enum ap_status ap_analyze_pictures(const struct ap_facts *facts, const struct ap_part_options *options,
                                                 struct ap_notes *notes, struct ap_model *model, struct ap_error *reterr);

#endif
