/* SPDX-License-Identifier: MIT */
#include "pair_map.h"

#include <string.h>

#include "poison.h"

#define FIRST_SLOTS 64

void ap_pair_map_release(struct ap_pair_map *map)
{
    AP_FREE(map->gate, map->slots, map->slot_count);
    *map = (struct ap_pair_map){ .gate = map->gate };
}

/* The slot that holds the pair, or the free one where it belongs. */
static struct ap_pair_slot *slot_of(const struct ap_pair_map *map, uint32_t a, uint32_t b)
{
    size_t mask = map->slot_count - 1;
    size_t at = (size_t)ap_hash_number(&map->gate->hash_key, (uint64_t)a << 32 | b) & mask;
    while (map->slots[at].number != AP_PAIR_NONE && (map->slots[at].a != a || map->slots[at].b != b))
        at = (at + 1) & mask;
    return &map->slots[at];
}

static enum ap_status grow(struct ap_pair_map *map, struct ap_error *reterr)
{
    struct ap_pair_map grown = { map->gate, NULL, map->slot_count ? map->slot_count * 2 : FIRST_SLOTS, map->count };
    AP_TRY(AP_ALLOC(map->gate, grown.slots, grown.slot_count, reterr));
    memset(grown.slots, 0xff, grown.slot_count * sizeof(grown.slots[0]));
    for (size_t i = 0; i < map->slot_count; i++)
        if (map->slots[i].number != AP_PAIR_NONE)
            *slot_of(&grown, map->slots[i].a, map->slots[i].b) = map->slots[i];
    AP_FREE(map->gate, map->slots, map->slot_count);
    *map = grown;
    return AP_OK;
}

enum ap_status ap_pair_map_add(struct ap_pair_map *map, uint32_t a, uint32_t b, uint32_t *ret_number,
                               struct ap_error *reterr)
{
    if ((size_t)map->count * 3 >= map->slot_count * 2)
        AP_TRY(grow(map, reterr));
    struct ap_pair_slot *slot = slot_of(map, a, b);
    if (slot->number == AP_PAIR_NONE)
        *slot = (struct ap_pair_slot){ a, b, map->count++ };
    *ret_number = slot->number;
    return AP_OK;
}

uint32_t ap_pair_map_find(const struct ap_pair_map *map, uint32_t a, uint32_t b)
{
    return map->slot_count ? slot_of(map, a, b)->number : AP_PAIR_NONE;
}
