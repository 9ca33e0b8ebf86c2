/* SPDX-License-Identifier: MIT
 * places.h - which files a run reads and writes, and whether two paths are one file, there yet or not. */
#ifndef AP_CLI_PLACES_H
#define AP_CLI_PLACES_H

#include "options.h"

#define AP_CLI_OUTPUTS 9
#define AP_CLI_OVER_INPUT "an output would overwrite an input"

/** The files that are named for the forms of a report, the pictures left out; NULL where one is not wanted. */
void ap_cli_list_outputs(const struct ap_cli_options *options, const char *to[AP_CLI_OUTPUTS]);
/** Every path that may be read, one a call: @at is 0 to begin with. False behind the last one. */
bool ap_cli_next_input(const struct ap_cli_options *options, size_t *at, const char **ret_path);
/** Is the path of an output one of the inputs? */
bool ap_cli_is_input(const struct ap_cli_options *options, const char *path);
/** Is it one of the outputs, the pictures left out? */
bool ap_cli_is_output(const struct ap_cli_options *options, const char *path);
/** A mistake in @text, false, where an output would be written over an input or another output. */
bool ap_cli_check_places(const struct ap_cli_options *options, char *text, size_t text_bytes);

#endif
