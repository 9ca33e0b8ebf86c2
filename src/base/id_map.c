/* SPDX-License-Identifier: MIT */
#include "id_map.h"

#include "poison.h"

#define ABSENT (AP_ID_NONE - 1) /* of a key in the array that was not added */
#define SPREAD 8                /* keys in the array for each that is used, at most */

static enum ap_status make_array(struct ap_id_map *map, uint32_t lowest, size_t count, struct ap_error *reterr)
{
    map->values = ap_mem_resize(map->gate, NULL, 0, count * sizeof(map->values[0]));
    if (!map->values)
        return ap_fail_memory(map->gate, reterr);
    for (size_t i = 0; i < count; i++)
        map->values[i] = ABSENT;
    map->value_count = count;
    map->lowest = lowest;
    return AP_OK;
}

enum ap_status ap_id_map_init(struct ap_id_map *map, struct ap_gate *gate, size_t count, struct ap_error *reterr)
{
    size_t slot_count = 16;
    while (slot_count < count * 2)
        slot_count *= 2;
    *map = (struct ap_id_map){ .gate = gate };
    map->slots = ap_mem_cleared(gate, slot_count * sizeof(map->slots[0]));
    if (!map->slots)
        return ap_fail_memory(gate, reterr);
    map->slot_count = slot_count;
    return AP_OK;
}

enum ap_status ap_id_map_init_range(struct ap_id_map *map, struct ap_gate *gate, size_t count, uint32_t lowest,
                                    uint32_t highest, struct ap_error *reterr)
{
    if (lowest > highest || highest - lowest >= count * SPREAD)
        return ap_id_map_init(map, gate, count, reterr);
    *map = (struct ap_id_map){ .gate = gate };
    return make_array(map, lowest, (size_t)(highest - lowest) + 1, reterr);
}

void ap_id_map_release(struct ap_id_map *map)
{
    if (map->slots)
        ap_mem_free(map->gate, map->slots, map->slot_count * sizeof(map->slots[0]));
    ap_mem_free(map->gate, map->values, map->value_count * sizeof(map->values[0]));
    *map = (struct ap_id_map){ .gate = map->gate };
}

/* Numbers that follow each other are asked for one after the other: 64 of them lie side by side, and only where such a
 * group lies is hashed. */
#define GROUP_BITS 6

/* The slot that holds the key, or the free one where it belongs. */
static struct ap_id_slot *slot_of(const struct ap_id_map *map, uint32_t key)
{
    uint64_t mixed = ((uint64_t)(key >> GROUP_BITS) ^ map->gate->hash_seed) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 32) * UINT64_C(0xd6e8feb86659fd93);
    mixed = mixed >> 32 << GROUP_BITS | (key & ((1u << GROUP_BITS) - 1));
    size_t mask = map->slot_count - 1, at = (size_t)mixed & mask;
    while (map->slots[at].key && map->slots[at].key != key)
        at = (at + 1) & mask;
    return &map->slots[at];
}

/* Its place in the array, or NULL. */
static uint32_t *value_of(const struct ap_id_map *map, uint32_t key)
{
    return key >= map->lowest && key - map->lowest < map->value_count ? &map->values[key - map->lowest] : NULL;
}

uint32_t *ap_id_map_add(struct ap_id_map *map, uint32_t key)
{
    if (map->values) {
        uint32_t *value = value_of(map, key);
        *value = *value == ABSENT ? AP_ID_NONE : *value;
        return value;
    }
    struct ap_id_slot *slot = slot_of(map, key);
    if (!slot->key)
        *slot = (struct ap_id_slot){ key, AP_ID_NONE };
    return &slot->value;
}

uint32_t *ap_id_map_find(const struct ap_id_map *map, uint32_t key)
{
    if (map->values) {
        uint32_t *value = value_of(map, key);
        return value && *value != ABSENT ? value : NULL;
    }
    struct ap_id_slot *slot = slot_of(map, key);
    return slot->key ? &slot->value : NULL;
}
