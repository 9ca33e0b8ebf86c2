/* SPDX-License-Identifier: MIT
 * stdin_head.h - what standard input is, by its first bytes, which cannot be read a second time. */
#ifndef AP_CLI_STDIN_HEAD_H
#define AP_CLI_STDIN_HEAD_H

#include "analyze_profile/analyze_profile.h"

/** Read as much as tells what it is, at most 1 MiB, and keep it in @request for who reads the rest. */
enum ap_status ap_cli_recognize_stdin(struct ap_request *request, enum ap_artifact *ret_artifact, struct ap_error *reterr);

#endif
