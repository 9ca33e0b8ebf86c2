/* SPDX-License-Identifier: MIT
 * snapshot_part.h - inside the analyze stage: what the parts of the report's "memory" share. To add a part: a function that
 * appends its members to the object, called in ap_part_snapshot. */
#ifndef AP_SNAPSHOT_PART_H
#define AP_SNAPSHOT_PART_H

#include "allocation_owner.h"
#include "model_build.h"
#include "oom.h"
#include "part_snapshot.h"
#include "periods.h"
#include "replay.h"
#include "snapshot_state.h"
#include "stack_frames.h"

struct ap_snapshot_part {
    const struct ap_snapshot *snapshot;
    const struct ap_replay *replay; /* of the snapshot's histories; has no devices where there are none */
    const struct ap_owners *owners; /* of the replay */
    const struct ap_snapshot_part_options *options;
    struct ap_notes *notes;
    struct ap_model *model;
    struct ap_arena scratch; /* dies with the pass */
    uint64_t top_n;          /* longest list, 0 = all */
    bool overflowed;         /* a sum stopped at the end of int64 */
};

/* The parts, in order; each appends to @memory. */
AP_MUST_CHECK enum ap_status ap_memory_put_pools(struct ap_snapshot_part *pass, struct ap_value *memory,
                                                 struct ap_error *reterr); /* pools, streams, block_sizes */
AP_MUST_CHECK enum ap_status ap_memory_put_segments(struct ap_snapshot_part *pass, struct ap_value *memory,
                                                    struct ap_error *reterr); /* segments, blocks */
AP_MUST_CHECK enum ap_status ap_memory_put_map(struct ap_snapshot_part *pass, struct ap_value *memory,
                                               struct ap_error *reterr);           /* segment_map */
void ap_memory_put_replay(struct ap_snapshot_part *pass, struct ap_value *memory); /* replay */
AP_MUST_CHECK enum ap_status ap_memory_put_ooms(struct ap_snapshot_part *pass, struct ap_value *memory,
                                                struct ap_error *reterr); /* oom */
AP_MUST_CHECK enum ap_status ap_memory_put_owners(struct ap_snapshot_part *pass, struct ap_value *memory,
                                                  struct ap_error *reterr); /* peak, temporaries, byte_time,
                                                                                 allocation_counts, phases, timeline,
                                                                                 flame */
AP_MUST_CHECK enum ap_status ap_memory_put_leaks(struct ap_snapshot_part *pass, struct ap_value *memory,
                                                 struct ap_error *reterr); /* leaks, spike */
AP_MUST_CHECK enum ap_status ap_memory_put_churn(struct ap_snapshot_part *pass, struct ap_value *memory,
                                                 struct ap_error *reterr); /* churn */
AP_MUST_CHECK enum ap_status ap_memory_put_fragmentation(struct ap_snapshot_part *pass, struct ap_value *memory,
                                                         struct ap_error *reterr);         /* fragmentation */
void ap_memory_put_settings_notes(struct ap_snapshot_part *pass, struct ap_value *memory); /* settings_notes */

/** The members that say what a set of segments holds, from reserved_bytes on; their parts add up, see the schema. */
void ap_memory_put_parts(struct ap_snapshot_part *pass, struct ap_value *to, const struct ap_memory_state *state);
/** The innermost frame that is the user's, as "file:line name"; the innermost of all where none is; null for no stack. */
AP_MUST_CHECK enum ap_status ap_memory_put_frame(struct ap_snapshot_part *pass, struct ap_value *to, const char *key,
                                                 uint32_t stack, struct ap_error *reterr);

/** The list "frames": the innermost of those shown, innermost first; and "frames_left_out". */
AP_MUST_CHECK enum ap_status ap_memory_put_frames(struct ap_snapshot_part *pass, struct ap_value *to, uint32_t stack,
                                                  struct ap_error *reterr);

/** device, address, segment_type, pool_id, stream, expandable. */
void ap_memory_put_segment_head(struct ap_snapshot_part *pass, struct ap_value *row, const struct ap_segment *segment);

/** How periods were found, in the report's words: "annotations", "repetition", "equal parts", "none". */
const char *ap_memory_period_source(enum ap_period_source source);

/** An address as a number; null where it is not known. */
void ap_memory_put_address(struct ap_snapshot_part *pass, struct ap_value *to, const char *key, bool known,
                           uint64_t address);
/** [a, b]; null where it is not known. */
void ap_memory_put_pool_id(struct ap_snapshot_part *pass, struct ap_value *to, bool known, const int64_t *pool);

static inline void ap_put_bytes(struct ap_snapshot_part *pass, struct ap_value *to, const char *key, bool known,
                                int64_t bytes)
{
    ap_add_known_bytes(pass->model, to, key, known, bytes);
}

static inline void ap_put_count(struct ap_snapshot_part *pass, struct ap_value *to, const char *key, bool known,
                                uint64_t count)
{
    ap_add_known_count(pass->model, to, key, known, (int64_t)count);
}

static inline void ap_put_bool(struct ap_snapshot_part *pass, struct ap_value *to, const char *key, bool known, bool value)
{
    ap_add_known_bool(pass->model, to, key, known, value);
}

static inline void ap_put_time(struct ap_snapshot_part *pass, struct ap_value *to, const char *key, bool known,
                               int64_t time_ns)
{
    ap_add_known_time(pass->model, to, key, known, time_ns);
}

/** The memory of a device; 0 = not known. */
static inline int64_t ap_memory_device_bytes(const struct ap_snapshot_part *pass, uint32_t device)
{
    return pass->options->device_bytes ? pass->options->device_bytes(pass->options->device_bytes_self, device) : 0;
}

/** Cleared memory for @count elements, at least one; NULL when refused. */
static inline void *ap_memory_scratch(struct ap_snapshot_part *pass, size_t count, size_t element_bytes)
{
    return ap_arena_alloc(&pass->scratch, (count ? count : 1) * element_bytes);
}

#endif
