/* SPDX-License-Identifier: MIT
 * address_space.h - what the allocator held at one position of a history: segments, the blocks in use within them, and
 * the holes between these. Rebuilt from the final state and the entries behind the position.
 *
 * Exact where every block lives on to the end. Of a block that is gone only the requested bytes are known: it is taken to
 * be as large as the allocator's rounding (512 bytes) makes it, and what is left to the next block or to the end of the
 * segment is counted to it too where the allocator would not have split it off (in the large pool up to 1 MiB, unless the
 * segment is expandable). Such a remainder in front of a free block cannot be told from that: each block that is gone can
 * make the hole behind it up to 1 MiB too large, and more with roundup_power2_divisions. Holes are upper bounds. */
#ifndef AP_ADDRESS_SPACE_H
#define AP_ADDRESS_SPACE_H

#include "replay.h"

struct ap_space_segment {
    uint64_t address, end;
    uint64_t stream;
    int64_t pool[2];
    uint32_t first_used, used_count; /* of space->used */
    bool expandable;
    bool small; /* of the small pool */
};

struct ap_space_block {
    uint64_t address, end; /* within its segment, and not beyond the next block */
    uint32_t lifetime;
};

struct ap_space {
    struct ap_gate *gate;
    struct ap_space_segment *segments; /* by address, without overlap */
    struct ap_space_block *used;       /* by address */
    uint32_t segment_count, used_count;
    uint32_t stray_count; /* live blocks that lie in no segment, or overlap another */
    size_t segment_capacity, used_capacity;
};

/** Blocks in use are those of the active curve: what waits for a stream is not free yet. */
AP_MUST_CHECK enum ap_status ap_space_at(const struct ap_replay *replay, uint32_t device, uint32_t position,
                                         struct ap_space *ret_space, struct ap_error *reterr);
void ap_space_release(struct ap_space *space);

/** Bytes of the hole behind used block @index of the segment (-1: from the segment's beginning), up to the next block or
 *  the segment's end. */
uint64_t ap_space_hole(const struct ap_space *space, const struct ap_space_segment *segment, int64_t index);

#endif
