/* SPDX-License-Identifier: MIT
 * memory_ranges.h - the ranges that a snapshot's external annotations mark, and the memory within each. */
#ifndef AP_MEMORY_RANGES_H
#define AP_MEMORY_RANGES_H

#include "allocation_owner.h"

struct ap_memory_range {
    int64_t start_ns, end_ns;
    int64_t start_bytes, end_bytes, peak_bytes; /* requested */
    uint32_t name;                              /* of snapshot->strings */
    uint32_t device;
    uint32_t from, to; /* positions: before the first entry in it; after the last */
};

struct ap_memory_ranges {
    struct ap_gate *gate;
    struct ap_memory_range *list; /* by device, name, then start */
    size_t count, capacity;
};

/** Those of devices whose history has times. Every END is matched with the last open START of its name and device; what is
 *  left over is ignored. An annotation without a device holds for all. */
AP_MUST_CHECK enum ap_status ap_memory_ranges_init(struct ap_memory_ranges *ranges, const struct ap_replay *replay,
                                                   struct ap_gate *gate, struct ap_error *reterr);
void ap_memory_ranges_release(struct ap_memory_ranges *ranges);
/** The one begun last of those open at a time; NULL where none is. */
const struct ap_memory_range *ap_memory_range_at(const struct ap_memory_ranges *ranges, uint32_t device, int64_t time_ns);

#endif
