/* SPDX-License-Identifier: MIT
 * confine.h - what the process gives up before a byte of an input is parsed. */
#ifndef AP_CLI_CONFINE_H
#define AP_CLI_CONFINE_H

#include "opened.h"
#include "options.h"
#include "written.h"

/** Bounds the memory of the request by what the machine has, where the user set no bound. */
void ap_cli_limit_memory(struct ap_cli_options *options);
/** All outputs are open. Opens the inputs where they are few, and enters the sandbox: from here on nothing else can be
 *  opened. */
void ap_cli_confine(struct ap_cli_options *options, struct ap_cli_opened *opened, const struct ap_cli_written *written);

#endif
