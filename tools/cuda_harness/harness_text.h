/* SPDX-License-Identifier: MIT
 * harness_text.h - what the writers of the harness have in common: JSON strings, and a file to write to. */
#ifndef HARNESS_TEXT_H
#define HARNESS_TEXT_H

#include "out.h"

/** @text in quotation marks, escaped; null where it is NULL. */
void harness_json_string(struct ap_out *out, const char *text);

typedef void harness_write_fn(struct ap_out *out, const void *self);
/** Create or replace the file at @path, gzip where it ends in .gz, with what @write writes. A file that could not be written
 * whole is removed. */
AP_MUST_CHECK enum ap_status harness_write_file(const char *path, harness_write_fn *write, const void *self,
                                                struct ap_error *reterr);

#endif
