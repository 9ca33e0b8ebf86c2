/* SPDX-License-Identifier: MIT
 * serve.h - the program as a server: analyze_profile mcp --root DIR. */
#ifndef AP_SERVE_H
#define AP_SERVE_H

#include "options.h"

/** Is the first argument "mcp"? */
bool ap_serve_is_asked(int argc, char *const *argv);
/** Is this one of the options that say what the server may do? What a report is about is for the client to ask. */
bool ap_serve_takes(const char *name, size_t bytes);

/** Serve until standard input ends. *@ret_path is what a failure is about, or NULL. */
enum ap_status ap_serve(int argc, char *const *argv, const struct ap_cli_options *options, const char **ret_path,
                        struct ap_error *reterr);

#endif
