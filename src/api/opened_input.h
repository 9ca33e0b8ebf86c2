/* SPDX-License-Identifier: MIT
 * opened_input.h - an input of a request while it is read. */
#ifndef AP_OPENED_INPUT_H
#define AP_OPENED_INPUT_H

#include "input.h"
#include "json_reader.h"
#include "report_state.h"

/** Threads that read a trace: 1 to 16. */
unsigned ap_request_threads(const struct ap_request *request);

/** One input from its path to its JSON reader; progress is told as it is read. */
struct ap_opened_input {
    const struct ap_request *request;
    const char *path;
    struct ap_input *input;
    struct ap_byte_source source;
    struct ap_json_reader *json;
};

/** Fails as ap_input_open and ap_input_probe; nothing is open then. @opened must stay where it is. */
AP_MUST_CHECK enum ap_status ap_opened_input_open(struct ap_report *report, const struct ap_request *request,
                                                  const char *path, enum ap_input_role role, struct ap_notes *notes,
                                                  struct ap_opened_input *opened, struct ap_error *reterr);
/** Where a limit ended the reading: how much of the input it allowed. */
void ap_opened_input_tell_place(const struct ap_opened_input *opened, enum ap_status status, struct ap_error *reterr);
void ap_opened_input_close(struct ap_opened_input *opened);

#endif
