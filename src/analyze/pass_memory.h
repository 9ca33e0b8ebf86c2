/* SPDX-License-Identifier: MIT
 * pass_memory.h - from a snapshot to the report's "memory": sums, state, history figures, replay, post-mortem. */
#ifndef AP_PASS_MEMORY_H
#define AP_PASS_MEMORY_H

#include "memory_join.h"
#include "model_build.h"
#include "snapshot.h"

/** Append the object "memory" to the root of @model. @path stands in the report as it is; @top_n bounds the list of
 *  segments, 0 = all. Sums that overflow and segments whose blocks contradict them are counted in @notes. */
AP_MUST_CHECK enum ap_status ap_pass_memory(const struct ap_snapshot *snapshot, const char *path, uint64_t top_n,
                                            struct ap_notes *notes, struct ap_model *model, struct ap_error *reterr);

/** The same with the trace of the same run at hand: its header tells the memory of the devices, and *@join takes what the
 *  trace's analysis needs of the history. */
AP_MUST_CHECK enum ap_status ap_pass_memory_of_trace(const struct ap_snapshot *snapshot, const char *path, uint64_t top_n,
                                                     struct ap_memory_join *join, struct ap_notes *notes,
                                                     struct ap_model *model, struct ap_error *reterr);

#endif
