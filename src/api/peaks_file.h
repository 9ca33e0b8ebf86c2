/* SPDX-License-Identifier: MIT
 * peaks_file.h - what GPUs can do, by the table of the program and one of the user's. */
#ifndef AP_PEAKS_FILE_H
#define AP_PEAKS_FILE_H

#include "gpu_peaks.h"

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
