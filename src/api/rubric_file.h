/* SPDX-License-Identifier: MIT
 * rubric_file.h - the rubric to judge by. */
#ifndef AP_RUBRIC_FILE_H
#define AP_RUBRIC_FILE_H

#include "rubric.h"

/** That of the file, or the built-in one where @path is NULL. AP_ERROR_USAGE where the file cannot be read, is too long or
 * has a mistake (with file and line). */
AP_MUST_CHECK enum ap_status ap_rubric_read(struct ap_gate *gate, const char *path, struct ap_rubric **ret_rubric,
                                            struct ap_error *reterr);

#endif
