/* SPDX-License-Identifier: MIT
 * text_file.h - small documents of the user's: rules, rates of GPUs. */
#ifndef AP_TEXT_FILE_H
#define AP_TEXT_FILE_H

#include "mem.h"

/** All of a regular file; *ret_text has room for @max_bytes + 1 and is freed with that. @what names it in messages: "the
 *  rubric". AP_ERROR_USAGE where it cannot be read or is longer. */
AP_MUST_CHECK enum ap_status ap_text_file_read(struct ap_gate *gate, const char *path, const char *what, size_t max_bytes,
                                               char **ret_text, size_t *ret_bytes, struct ap_error *reterr);

#endif
