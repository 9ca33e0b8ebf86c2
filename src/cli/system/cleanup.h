/* SPDX-License-Identifier: MIT
 * cleanup.h - what is removed when a signal ends the program: files that are not in place yet, folders made for them. */
#ifndef AP_CLI_CLEANUP_H
#define AP_CLI_CLEANUP_H

#include <signal.h>
#include <stdbool.h>

/** From now on signals that ask for an end remove what is listed and then end the program as they would have done; a file
 *  that may not grow (SIGXFSZ) or a closed pipe is an output that fails. Signals that are ignored stay ignored. */
void ap_cli_cleanup_begin(void);
/** End the program so many seconds from now, whatever it is at: what is listed is removed then, @message written to standard
 *  error, and @exit_code is that of the program. @message is borrowed. */
void ap_cli_cleanup_after(unsigned seconds, const char *message, int exit_code);
/** Between these two no signal comes, so that what is made can be listed before one does. */
void ap_cli_cleanup_hold(sigset_t *ret_before);
void ap_cli_cleanup_go_on(const sigset_t *before);
/** List a file, or a folder that is removed if it is empty. @path is borrowed until it is taken off the list. Of more than a
 *  hundred the rest is not listed. */
void ap_cli_cleanup_list(const char *path, bool folder);
void ap_cli_cleanup_unlist(const char *path);

#endif
