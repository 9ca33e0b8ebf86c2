/* SPDX-License-Identifier: MIT
 * record_live.h - the allocations in use, found by device and address: a hash table with open addressing that closes the
 * gap behind what it gives up. */
#ifndef AP_RECORD_LIVE_H
#define AP_RECORD_LIVE_H

#include "mem.h"

struct ap_record_block {
    uint64_t address;
    int64_t bytes; /* negative = a free slot */
    int32_t device;
    uint32_t stack;
};

struct ap_record_live {
    struct ap_gate *gate;
    struct ap_record_block *slots;
    size_t slot_count; /* 0 or a power of two */
    size_t count;
};

/** An empty table: { .gate = gate }. */
void ap_record_live_release(struct ap_record_live *live);
/** Make room for one more. */
AP_MUST_CHECK enum ap_status ap_record_live_reserve(struct ap_record_live *live, struct ap_error *reterr);
/** NULL where it is not in use. Borrowed until the next change. */
struct ap_record_block *ap_record_live_find(const struct ap_record_live *live, int32_t device, uint64_t address);
/** There is room for it, and it is not there yet. */
void ap_record_live_add(struct ap_record_live *live, struct ap_record_block allocation);
void ap_record_live_remove(struct ap_record_live *live, struct ap_record_block *allocation);

#endif
