/* SPDX-License-Identifier: MIT
 * request_check.h - is a request one that can be fulfilled? Its mistakes are AP_ERROR_USAGE. */
#ifndef AP_REQUEST_CHECK_H
#define AP_REQUEST_CHECK_H

#include "analyze_profile/analyze_profile.h"
#include "model_build.h"
#include "notes.h"

#define AP_CONTEXT_MAX_COUNT 64
#define AP_CONTEXT_MAX_KEY_BYTES 64

/** AP_ERROR_USAGE with the first mistake found; no file is looked at. */
AP_MUST_CHECK enum ap_status ap_request_check(const struct ap_request *request, struct ap_error *reterr);

/** The same where something is asked that needs a trace and there is none, once the files of a run are known. */
AP_MUST_CHECK enum ap_status ap_request_check_trace(const struct ap_request *request, struct ap_error *reterr);

/** The two parts of "KEY=VALUE". */
void ap_context_split(const char *entry, struct ap_text *ret_key, struct ap_text *ret_value);

/** AP_ERROR_INPUT where the request is strict and something of an input is lost, or may be wrong. */
AP_MUST_CHECK enum ap_status ap_request_check_strict(const struct ap_request *request, const struct ap_notes *notes,
                                                     struct ap_error *reterr);

/** Count the texts of a report that were cut since this was done last. */
void ap_request_note_cut(struct ap_model *model, struct ap_notes *notes);

/** ap_request_check_strict() of all inputs, at the end: some things only the analysis notices. *ret_path: of the file that
 *  it is about. */
AP_MUST_CHECK enum ap_status ap_request_check_report(const struct ap_request *request, const struct ap_report *report,
                                                     const char **ret_path, struct ap_error *reterr);

#endif
