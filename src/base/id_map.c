/* SPDX-License-Identifier: MIT */
#include "id_map.h"

#include "poison.h"

enum ap_status ap_id_map_init(struct ap_id_map *map, struct ap_gate *gate, size_t count, struct ap_error *reterr)
{
    size_t slot_count = 16;
    while (slot_count < count * 2)
        slot_count *= 2;
    *map = (struct ap_id_map){ .gate = gate };
    AP_TRY(AP_ALLOC_CLEARED(gate, map->slots, slot_count, reterr));
    map->slot_count = slot_count;
    return AP_OK;
}

void ap_id_map_release(struct ap_id_map *map)
{
    if (map->slots)
        AP_FREE(map->gate, map->slots, map->slot_count);
    *map = (struct ap_id_map){ .gate = map->gate };
}

/* Numbers that follow each other are asked for one after the other: 64 of them lie side by side, and only where such a
 * group lies is hashed. */
#define GROUP_BITS 6

/* The slot that holds the key, or the free one where it belongs. */
static struct ap_id_slot *slot_of(const struct ap_id_map *map, uint32_t key)
{
    uint64_t group = ap_hash_number(&map->gate->hash_key, key >> GROUP_BITS);
    size_t mask = map->slot_count - 1, at = (size_t)(group << GROUP_BITS | (key & ((1u << GROUP_BITS) - 1))) & mask;
    while (map->slots[at].key && map->slots[at].key != key)
        at = (at + 1) & mask;
    return &map->slots[at];
}

uint32_t *ap_id_map_add(struct ap_id_map *map, uint32_t key)
{
    struct ap_id_slot *slot = slot_of(map, key);
    if (!slot->key)
        *slot = (struct ap_id_slot){ key, AP_ID_NONE };
    return &slot->value;
}

uint32_t *ap_id_map_find(const struct ap_id_map *map, uint32_t key)
{
    struct ap_id_slot *slot = slot_of(map, key);
    return slot->key ? &slot->value : NULL;
}
