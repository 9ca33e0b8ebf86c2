/* SPDX-License-Identifier: MIT */
#include "pair_map.h"

#include <string.h>

#include "poison.h"

#define FIRST_SLOTS 64

void ap_pair_map_release(struct ap_pair_map *map)
{
    AP_FREE(map->gate, map->pairs, map->pair_capacity);
    AP_FREE(map->gate, map->slots, map->slot_count);
    *map = (struct ap_pair_map){ .gate = map->gate };
}

void ap_pair_map_keep_count(struct ap_pair_map *map)
{
    uint32_t count = map->count;
    ap_pair_map_release(map);
    map->count = count;
}

/* The slot that holds the pair's number, or the free one where it belongs. */
static uint32_t *slot_of(const struct ap_pair_map *map, uint32_t a, uint32_t b)
{
    size_t mask = map->slot_count - 1;
    size_t at = (size_t)ap_hash_number(&map->gate->hash_key, (uint64_t)a << 32 | b) & mask;
    while (map->slots[at] != AP_PAIR_NONE && (map->pairs[map->slots[at]].a != a || map->pairs[map->slots[at]].b != b))
        at = (at + 1) & mask;
    return &map->slots[at];
}

/* Without memory the map is empty. */
static enum ap_status grow(struct ap_pair_map *map, struct ap_error *reterr)
{
    size_t slot_count = map->slot_count ? map->slot_count * 2 : FIRST_SLOTS;
    AP_FREE(map->gate, map->slots, map->slot_count);
    map->slot_count = 0;
    enum ap_status status = AP_ALLOC(map->gate, map->slots, slot_count, reterr);
    if (status != AP_OK) {
        map->count = 0;
        return status;
    }
    map->slot_count = slot_count;
    memset(map->slots, 0xff, slot_count * sizeof(map->slots[0]));
    for (uint32_t i = 0; i < map->count; i++)
        *slot_of(map, map->pairs[i].a, map->pairs[i].b) = i;
    return AP_OK;
}

enum ap_status ap_pair_map_add(struct ap_pair_map *map, uint32_t a, uint32_t b, uint32_t *ret_number,
                               struct ap_error *reterr)
{
    if (map->last < map->count && map->pairs[map->last].a == a && map->pairs[map->last].b == b) {
        *ret_number = map->last;
        return AP_OK;
    }
    if ((size_t)map->count * 3 >= map->slot_count * 2)
        AP_TRY(grow(map, reterr));
    uint32_t *slot = slot_of(map, a, b);
    if (*slot == AP_PAIR_NONE) {
        AP_TRY(AP_RESERVE(map->gate, map->pairs, map->pair_capacity, (size_t)map->count + 1, reterr));
        map->pairs[map->count] = (struct ap_pair){ a, b };
        *slot = map->count++;
    }
    *ret_number = map->last = *slot;
    return AP_OK;
}

uint32_t ap_pair_map_find(const struct ap_pair_map *map, uint32_t a, uint32_t b)
{
    return map->slot_count ? *slot_of(map, a, b) : AP_PAIR_NONE;
}
