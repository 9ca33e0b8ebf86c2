/* SPDX-License-Identifier: MIT
 * near_option.h - which option may have been meant by one that does not exist. */
#ifndef AP_CLI_NEAR_OPTION_H
#define AP_CLI_NEAR_OPTION_H

#include <stddef.h>

/** The names of all options, from @i 0 on; NULL behind the last. Stands in options.c. */
const char *ap_cli_option_name(size_t i);
/** "there is no option '--jsn-out'; did you mean --json-out?" into @to. */
void ap_cli_tell_near_option(const char *argument, char *to, size_t bytes);

#endif
