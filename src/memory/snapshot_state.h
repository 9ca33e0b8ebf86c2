/* SPDX-License-Identifier: MIT
 * snapshot_state.h - what a set of segments adds up to: all of them, those of one type, or those of one device.
 * Every sum stops at the ends of int64 and says so in *overflowed. */
#ifndef AP_SNAPSHOT_STATE_H
#define AP_SNAPSHOT_STATE_H

#include "snapshot_facts.h"

/** Fields as they are written, 0 where there is none. */
struct ap_field_sums {
    uint64_t segments;
    int64_t reserved_bytes, allocated_bytes, active_bytes, requested_bytes;
};

/** Adds the fields of a segment, as written. */
void ap_field_sums_add(struct ap_field_sums *sums, const struct ap_segment *segment, bool *overflowed);

struct ap_memory_state {
    struct ap_field_sums fields;
    /* In use: by the fields, or by the blocks of a segment that lacks them. */
    int64_t allocated_bytes, active_bytes;
    uint64_t use_unknown; /* segments with neither; then the two sums above are too small */
    /* Over the segments that tell what was requested, themselves or by their blocks: */
    uint64_t requested_known;
    int64_t rounding_bytes, rounded_allocated_bytes;
    uint64_t with_blocks, with_type, with_pool; /* segments */
    /* Over the segments that have blocks: inactive = split + wholly free. */
    int64_t inactive_bytes, inactive_split_bytes, wholly_free_bytes, pending_bytes;
    int64_t largest_inactive_bytes, largest_split_bytes;
    int64_t small_bytes, private_bytes; /* reserved by the small pool, by private pools */
};

/** Adds a segment; @sums is what its blocks add up to. */
void ap_memory_state_add(struct ap_memory_state *state, const struct ap_segment *segment, const struct ap_block_sums *sums,
                         bool *overflowed);
/** Are there blocks to tell free memory from? True where there are no segments at all. */
bool ap_memory_state_has_blocks(const struct ap_memory_state *state);
/** 1 - largest inactive block / all inactive bytes, in partly used segments; 0 where nothing is inactive there. */
double ap_memory_state_fragmentation(const struct ap_memory_state *state);

/** The difference; where it does not fit, the nearest end of int64. */
int64_t ap_subtract_sat(int64_t a, int64_t b, bool *overflowed);

#endif
