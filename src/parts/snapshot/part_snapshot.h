/* SPDX-License-Identifier: MIT
 * part_snapshot.h - from a snapshot to the report's "memory": sums, state, history figures, replay, post-mortem. */
#ifndef AP_PART_SNAPSHOT_H
#define AP_PART_SNAPSHOT_H

#include "model_build.h"
#include "replay.h"

struct ap_snapshot_part_options {
    const char *path;  /* stands in the report as it is */
    uint64_t top_n;    /* bound of lists; 0 = all */
    bool for_pictures; /* adds what only the HTML report needs */
    /** The memory of a device, 0 = not known; NULL = of no device. */
    int64_t (*device_bytes)(const void *self, uint32_t device);
    const void *device_bytes_self;
};

/** Append the object "memory" to the root of @model. @overflowed: the replay of the histories met sums beyond the ends of
 *  int64. Sums that overflow and segments whose blocks contradict them are counted in @notes. */
AP_MUST_CHECK enum ap_status ap_part_snapshot(const struct ap_snapshot *snapshot, const struct ap_replay *replay,
                                              bool overflowed, const struct ap_snapshot_part_options *options,
                                              struct ap_notes *notes, struct ap_model *model, struct ap_error *reterr);

#endif
