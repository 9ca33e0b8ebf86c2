/* SPDX-License-Identifier: MIT
 * team.h - this process as one of several that work on one run. */
#ifndef AP_CLI_TEAM_H
#define AP_CLI_TEAM_H

#include "options.h"
#include "program.h"

/** Who reports takes its helpers, and its part of the host. */
void ap_cli_join_team(struct ap_cli_options *options, const struct ap_program_team *team);
/** A helper from beginning to end: confined as the process that reports is, before it has received a byte. */
enum ap_status ap_cli_help_team(struct ap_cli_options *options, const struct ap_program_team *team);

#endif
