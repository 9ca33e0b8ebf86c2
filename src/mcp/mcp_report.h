/* SPDX-License-Identifier: MIT
 * mcp_report.h - from the arguments of a call to a report, and from a report to an object that is not too large. */
#ifndef AP_MCP_REPORT_H
#define AP_MCP_REPORT_H

#include "mcp_tools.h"

/** Makes the answer of a call from a report. */
typedef enum ap_status ap_mcp_answer(struct ap_mcp_call *call, struct ap_report *report, struct ap_error *reterr);
/** What @answer makes of the report that the arguments ask for (paths, focus, phase, baseline, conditions), with its rows;
 * call->path tells what a failure is about. One that is kept of the same files, unchanged since, and the same arguments is
 * taken instead of reading again; AP_END where one is not, and it has to be. */
AP_MUST_CHECK enum ap_status ap_mcp_with_report(struct ap_mcp_call *call, ap_mcp_answer *answer, struct ap_error *reterr);

/** The answer's object while it is written: what does not fit is left out, and counted. */
struct ap_mcp_object {
    struct ap_mcp_call *call;
    size_t count, left_out_count;
};

/** A value, NULL is null; of an object these members alone (NULL ends them; members NULL = all). */
AP_MUST_CHECK enum ap_status ap_mcp_object_add(struct ap_mcp_object *object, const char *key, const struct ap_value *value,
                                               const char *const *members, struct ap_error *reterr);

/** A list of objects with these members alone; @changed: only those that are called a change. The first ones where not all
 *  fit. */
AP_MUST_CHECK enum ap_status ap_mcp_object_add_rows(struct ap_mcp_object *object, const char *key,
                                                    const struct ap_value *rows, const char *const *members, bool changed,
                                                    struct ap_error *reterr);
/** Ends the object, which takes no more members. */
AP_MUST_CHECK enum ap_status ap_mcp_object_end(struct ap_mcp_object *object, struct ap_error *reterr);

#endif
