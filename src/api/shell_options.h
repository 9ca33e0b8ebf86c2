/* SPDX-License-Identifier: MIT
 * shell_options.h - the options of a request as a shell reads them, for commands that the report tells. */
#ifndef AP_SHELL_OPTIONS_H
#define AP_SHELL_OPTIONS_H

#include "analyze_profile/analyze_profile.h"
#include "mem.h"

/** Those that decide what a report is about: --rubric, --focus, --phase, --context; each with a space before it. */
AP_MUST_CHECK enum ap_status ap_shell_options(const struct ap_request *request, struct ap_arena *arena,
                                              struct ap_text *ret_options, struct ap_error *reterr);

#endif
