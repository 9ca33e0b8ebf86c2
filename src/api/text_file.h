/* SPDX-License-Identifier: MIT
 * text_file.h - small documents of the user's: the rubric to judge by, and what GPUs can do. */
#ifndef AP_TEXT_FILE_H
#define AP_TEXT_FILE_H

#include "gpu_peaks.h"
#include "rubric.h"

/** That of the file, or the built-in one where @path is NULL. AP_ERROR_USAGE where the file cannot be read, is too long or
 * has a mistake (with file and line). */
AP_MUST_CHECK enum ap_status ap_rubric_read(struct ap_gate *gate, const char *path, struct ap_rubric **ret_rubric,
                                            struct ap_error *reterr);

/** What GPUs can do, by the table of the program and one of the user's. */
struct ap_peaks_file {
    struct ap_gate *gate;
    char *text; /* of the user's; NULL = there is none */
    struct ap_gpu_peaks peaks;
};

/** @path NULL: the program's alone. AP_ERROR_USAGE where the file cannot be read or has a mistake, which is told with its
 *  line. @file may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_peaks_file_read(struct ap_peaks_file *file, const char *path, struct ap_gate *gate,
                                                struct ap_error *reterr);
/** A zeroed one is fine. */
void ap_peaks_file_release(struct ap_peaks_file *file);

#endif
