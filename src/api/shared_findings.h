/* SPDX-License-Identifier: MIT
 * shared_findings.h - what the ranks of a run do alike. */
#ifndef AP_SHARED_FINDINGS_H
#define AP_SHARED_FINDINGS_H

#include "report_state.h"
#include "rubric.h"

/** Where nothing was found between the ranks of a run: puts first what is found on two of its ranks, each by itself. A
 *  rank that cannot be analyzed leaves the report as it is. */
AP_MUST_CHECK enum ap_status ap_shared_findings_add(struct ap_report *report, const struct ap_request *request,
                                                    const struct ap_rubric *rubric, struct ap_error *reterr);

#endif
