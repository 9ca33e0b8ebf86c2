/* SPDX-License-Identifier: MIT
 * memory_summary.h - what stays of one rank's snapshot. */
#ifndef AP_MEMORY_SUMMARY_H
#define AP_MEMORY_SUMMARY_H

#include "memory_set.h"

/** Reads the snapshot in @json to its end and appends its summary to @set. @path is the file's. */
AP_MUST_CHECK enum ap_status ap_memory_summarize(struct ap_memory_set *set, struct ap_json_reader *json,
                                                 struct ap_notes *notes, const struct ap_snapshot_options *options,
                                                 int64_t rank, struct ap_text path, struct ap_error *reterr);

#endif
