/* SPDX-License-Identifier: MIT */
#include "address_map.h"

#include "poison.h"

void ap_address_map_init(struct ap_address_map *map, struct ap_gate *gate)
{
    *map = (struct ap_address_map){ .gate = gate };
}

void ap_address_map_release(struct ap_address_map *map)
{
    AP_FREE(map->gate, map->slots, map->slot_count);
    *map = (struct ap_address_map){ .gate = map->gate };
}

static size_t home_of(const struct ap_address_map *map, uint64_t address)
{
    return (size_t)ap_hash_number(&map->gate->hash_key, address) & (map->slot_count - 1);
}

/* Where the address stands, or the free place where it would. */
static size_t slot_of(const struct ap_address_map *map, uint64_t address)
{
    size_t at = home_of(map, address);
    while (map->slots[at].value != AP_NOT_MAPPED && map->slots[at].address != address)
        at = (at + 1) & (map->slot_count - 1);
    return at;
}

static enum ap_status grow(struct ap_address_map *map, struct ap_error *reterr)
{
    struct ap_address_map grown = *map;
    grown.slot_count = map->slot_count ? map->slot_count * 2 : 64;
    AP_TRY(AP_ALLOC(map->gate, grown.slots, grown.slot_count, reterr));
    for (size_t i = 0; i < grown.slot_count; i++)
        grown.slots[i] = (struct ap_address_slot){ 0, AP_NOT_MAPPED };
    for (size_t i = 0; i < map->slot_count; i++)
        if (map->slots[i].value != AP_NOT_MAPPED)
            grown.slots[slot_of(&grown, map->slots[i].address)] = map->slots[i];
    ap_address_map_release(map);
    *map = grown;
    return AP_OK;
}

enum ap_status ap_address_map_set(struct ap_address_map *map, uint64_t address, uint32_t value, struct ap_error *reterr)
{
    if (map->used_count + 1 > map->slot_count / 8 * 5)
        AP_TRY(grow(map, reterr));
    struct ap_address_slot *slot = &map->slots[slot_of(map, address)];
    map->used_count += slot->value == AP_NOT_MAPPED;
    *slot = (struct ap_address_slot){ address, value };
    return AP_OK;
}

uint32_t ap_address_map_find(const struct ap_address_map *map, uint64_t address)
{
    return map->slot_count ? map->slots[slot_of(map, address)].value : AP_NOT_MAPPED;
}

/* What stands behind the emptied place moves up, so that no mark has to stay. */
uint32_t ap_address_map_take(struct ap_address_map *map, uint64_t address)
{
    if (!map->slot_count)
        return AP_NOT_MAPPED;
    size_t mask = map->slot_count - 1, hole = slot_of(map, address);
    uint32_t value = map->slots[hole].value;
    if (value == AP_NOT_MAPPED)
        return AP_NOT_MAPPED;
    for (size_t at = (hole + 1) & mask; map->slots[at].value != AP_NOT_MAPPED; at = (at + 1) & mask) {
        size_t home = home_of(map, map->slots[at].address);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue; /* it would stand before its home */
        map->slots[hole] = map->slots[at];
        hole = at;
    }
    map->slots[hole].value = AP_NOT_MAPPED;
    map->used_count--;
    return value;
}
