/* SPDX-License-Identifier: MIT
 * memory_pass.h - inside the analyze stage: what the parts of the report's "memory" share. To add a part: a function that
 * appends its members to the object, called in ap_pass_memory. */
#ifndef AP_MEMORY_PASS_H
#define AP_MEMORY_PASS_H

#include "memory_join.h"
#include "model_build.h"
#include "oom.h"
#include "periods.h"
#include "replay.h"
#include "snapshot_state.h"

struct ap_memory_pass {
    const struct ap_snapshot *snapshot;
    const struct ap_replay *replay; /* of the snapshot's histories; has no devices where there are none */
    const struct ap_memory_join *join; /* of the trace of the same run; NULL = none was given */
    struct ap_notes *notes;
    struct ap_model *model;
    struct ap_arena scratch;        /* dies with the pass */
    uint64_t top_n;                 /* longest list, 0 = all */
    bool overflowed;                /* a sum stopped at the end of int64 */
};

/* The parts, in order; each appends to @memory. */
AP_MUST_CHECK enum ap_status ap_memory_put_pools(struct ap_memory_pass *pass, struct ap_value *memory,
                                                 struct ap_error *reterr);    /* pools, streams, block_sizes */
AP_MUST_CHECK enum ap_status ap_memory_put_segments(struct ap_memory_pass *pass, struct ap_value *memory,
                                                    struct ap_error *reterr); /* segments, blocks */
AP_MUST_CHECK enum ap_status ap_memory_put_map(struct ap_memory_pass *pass, struct ap_value *memory,
                                               struct ap_error *reterr);      /* segment_map */
void ap_memory_put_replay(struct ap_memory_pass *pass, struct ap_value *memory); /* replay */
AP_MUST_CHECK enum ap_status ap_memory_put_ooms(struct ap_memory_pass *pass, struct ap_value *memory,
                                                struct ap_error *reterr);     /* oom */
AP_MUST_CHECK enum ap_status ap_memory_put_owners(struct ap_memory_pass *pass, struct ap_value *memory,
                                                  struct ap_error *reterr);   /* peak, temporaries, byte_time,
                                                                                 allocation_counts, phases, timeline,
                                                                                 flame */
AP_MUST_CHECK enum ap_status ap_memory_put_leaks(struct ap_memory_pass *pass, struct ap_value *memory,
                                                 struct ap_error *reterr);    /* leaks, spike */
AP_MUST_CHECK enum ap_status ap_memory_put_churn(struct ap_memory_pass *pass, struct ap_value *memory,
                                                 struct ap_error *reterr);    /* churn */
AP_MUST_CHECK enum ap_status ap_memory_put_fragmentation(struct ap_memory_pass *pass, struct ap_value *memory,
                                                         struct ap_error *reterr); /* fragmentation */
/** @rounding_ratio: rounding over allocated bytes; 0 where it is not known. */
void ap_memory_put_settings_notes(struct ap_memory_pass *pass, struct ap_value *memory,
                                  double rounding_ratio);                     /* settings_notes */

/** The members that say what a set of segments holds, from reserved_bytes on; their parts add up, see the schema. */
void ap_memory_put_parts(struct ap_memory_pass *pass, struct ap_value *to, const struct ap_memory_state *state);
/** The innermost frame that is the user's, as "file:line name"; the innermost of all where none is; null for no stack. */
AP_MUST_CHECK enum ap_status ap_memory_put_frame(struct ap_memory_pass *pass, struct ap_value *to, const char *key,
                                                 uint32_t stack, struct ap_error *reterr);

/** device, address, segment_type, pool_id, stream, expandable. */
void ap_memory_put_segment_head(struct ap_memory_pass *pass, struct ap_value *row, const struct ap_segment *segment);

const char *ap_memory_period_source(enum ap_period_source source);

/** An address as a number; null where it is not known. */
void ap_memory_put_address(struct ap_memory_pass *pass, struct ap_value *to, const char *key, bool known,
                           uint64_t address);
/** [a, b]; null where it is not known. */
void ap_memory_put_pool_id(struct ap_memory_pass *pass, struct ap_value *to, bool known, const int64_t *pool);

static inline void ap_put_bytes(struct ap_memory_pass *pass, struct ap_value *to, const char *key, bool known,
                                int64_t bytes)
{
    if (known)
        ap_add_bytes(pass->model, to, key, bytes);
    else
        ap_add_null(pass->model, to, key);
}

static inline void ap_put_count(struct ap_memory_pass *pass, struct ap_value *to, const char *key, bool known,
                                uint64_t count)
{
    if (known)
        ap_add_count(pass->model, to, key, (int64_t)count);
    else
        ap_add_null(pass->model, to, key);
}

static inline void ap_put_bool(struct ap_memory_pass *pass, struct ap_value *to, const char *key, bool known, bool value)
{
    if (known)
        ap_add_bool(pass->model, to, key, value);
    else
        ap_add_null(pass->model, to, key);
}

static inline void ap_put_time(struct ap_memory_pass *pass, struct ap_value *to, const char *key, bool known,
                               int64_t time_ns)
{
    if (known)
        ap_add_time(pass->model, to, key, time_ns);
    else
        ap_add_null(pass->model, to, key);
}

/** Cleared memory for @count elements, at least one; NULL when refused. */
static inline void *ap_memory_scratch(struct ap_memory_pass *pass, size_t count, size_t element_bytes)
{
    return ap_arena_alloc(&pass->scratch, (count ? count : 1) * element_bytes);
}

#endif
