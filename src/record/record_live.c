/* SPDX-License-Identifier: MIT */
#include "record_live.h"

#include "poison.h"

#define FIRST_SLOTS 256

void ap_record_live_release(struct ap_record_live *live)
{
    AP_FREE(live->gate, live->slots, live->slot_count);
    *live = (struct ap_record_live){ .gate = live->gate };
}

static size_t home_of(const struct ap_record_live *live, int32_t device, uint64_t address)
{
    return (size_t)ap_hash_pair(&live->gate->hash_key, address, (uint32_t)device) & (live->slot_count - 1);
}

/* The slot that holds it, or the free one where it belongs. */
static size_t slot_of(const struct ap_record_live *live, int32_t device, uint64_t address)
{
    size_t at = home_of(live, device, address);
    while (live->slots[at].bytes >= 0 && (live->slots[at].address != address || live->slots[at].device != device))
        at = (at + 1) & (live->slot_count - 1);
    return at;
}

enum ap_status ap_record_live_reserve(struct ap_record_live *live, struct ap_error *reterr)
{
    if ((live->count + 1) * 3 <= live->slot_count * 2)
        return AP_OK;
    struct ap_record_live grown = { live->gate, NULL, live->slot_count ? live->slot_count * 2 : FIRST_SLOTS, live->count };
    AP_TRY(AP_ALLOC(live->gate, grown.slots, grown.slot_count, reterr));
    for (size_t i = 0; i < grown.slot_count; i++)
        grown.slots[i].bytes = -1;
    for (size_t i = 0; i < live->slot_count; i++)
        if (live->slots[i].bytes >= 0)
            grown.slots[slot_of(&grown, live->slots[i].device, live->slots[i].address)] = live->slots[i];
    AP_FREE(live->gate, live->slots, live->slot_count);
    *live = grown;
    return AP_OK;
}

struct ap_record_block *ap_record_live_find(const struct ap_record_live *live, int32_t device, uint64_t address)
{
    if (!live->slot_count)
        return NULL;
    struct ap_record_block *slot = &live->slots[slot_of(live, device, address)];
    return slot->bytes >= 0 ? slot : NULL;
}

void ap_record_live_add(struct ap_record_live *live, struct ap_record_block allocation)
{
    live->slots[slot_of(live, allocation.device, allocation.address)] = allocation;
    live->count++;
}

/* What stands behind the gap moves into it, unless its home lies between the two. */
void ap_record_live_remove(struct ap_record_live *live, struct ap_record_block *allocation)
{
    size_t mask = live->slot_count - 1, gap = (size_t)(allocation - live->slots);
    for (size_t at = (gap + 1) & mask; live->slots[at].bytes >= 0; at = (at + 1) & mask) {
        size_t home = home_of(live, live->slots[at].device, live->slots[at].address);
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            live->slots[gap] = live->slots[at];
            gap = at;
        }
    }
    live->slots[gap].bytes = -1;
    live->count--;
}
