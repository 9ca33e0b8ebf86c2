/* SPDX-License-Identifier: MIT
 * sim_chunks.h - inside the allocator's simulation: its state, and the chunks that segments are cut into. */
#ifndef AP_SIM_CHUNKS_H
#define AP_SIM_CHUNKS_H

#include "allocator_sim.h"
#include "chunk_tree.h"

#define AP_SIM_MOST_POOLS 64u

struct ap_sim_pool {
    uint64_t stream, base; /* base: where the pages of the expandable segment begin */
    int64_t id[2];
    bool small, apart;
    uint32_t free_root, unmapped_root;
    uint32_t first, last; /* chunks of the expandable segment, by address */
};

/* A segment of a private pool, as the snapshot shows it. */
struct ap_sim_owned {
    uint64_t address, end;
    int64_t id[2];
};

struct ap_sim {
    const struct ap_replay *replay;
    const struct ap_replay_device *of;
    const struct ap_sim_rules *rules;
    struct ap_chunk *chunks;
    size_t chunk_capacity;
    uint32_t chunk_count, spare; /* spare: chunks given back, linked by behind */
    uint32_t oldest, youngest;   /* wholly free segments that are not expandable */
    uint32_t *chunk_of;          /* by lifetime of the device */
    struct ap_sim_owned *owned;  /* by address */
    size_t owned_capacity;
    uint32_t owned_count;
    struct ap_sim_pool pools[AP_SIM_MOST_POOLS];
    uint32_t pool_count;
    uint64_t next_address, work;
    int64_t reserved_bytes;
    bool gave_up;
    struct ap_sim_result result;
};

/** A chunk of @pool with no neighbors, in no tree. */
AP_MUST_CHECK enum ap_status ap_sim_new_chunk(struct ap_sim *sim, uint32_t pool, uint64_t address, int64_t bytes,
                                              uint32_t *ret_index, struct ap_error *reterr);
/** Make @fresh the neighbor behind @index. */
void ap_sim_link_behind(struct ap_sim *sim, uint32_t index, uint32_t fresh);
/** Take a chunk that is in no tree out of its segment; its place is used again. */
void ap_sim_drop_chunk(struct ap_sim *sim, uint32_t index);
/** Into the tree of its state. */
void ap_sim_file(struct ap_sim *sim, uint32_t index);
/** Out of it. */
void ap_sim_unfile(struct ap_sim *sim, uint32_t index);
/** A chunk that is in no tree takes in its neighbors of the same state, and is filed. */
void ap_sim_settle(struct ap_sim *sim, uint32_t index, uint32_t *ret_index);
/** The chunk keeps @bytes; the rest becomes a chunk of state @rest_state that is in no tree. */
AP_MUST_CHECK enum ap_status ap_sim_cut(struct ap_sim *sim, uint32_t index, int64_t bytes, enum ap_chunk_state rest_state,
                                        uint32_t *ret_rest, struct ap_error *reterr);

#endif
