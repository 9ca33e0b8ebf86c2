/* SPDX-License-Identifier: MIT
 * progress.h - how far reading is, on standard error when that is a terminal and the run lasts. */
#ifndef AP_PROGRESS_H
#define AP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct ap_progress {
    bool enabled, shown;
    int64_t started_ns, last_ns;
};

/** Nothing is ever shown where @quiet, or where standard error is no terminal. */
void ap_progress_init(struct ap_progress *progress, bool quiet);
/** For ap_request.progress. */
void ap_progress_update(void *progress, const char *path, uint64_t done_bytes, uint64_t total_bytes);
/** Clear the line. */
void ap_progress_end(struct ap_progress *progress);

#endif
