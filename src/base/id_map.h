/* SPDX-License-Identifier: MIT
 * id_map.h - from numbers that link things to where they stand, 32 bits to 32 bits (open addressing). */
#ifndef AP_ID_MAP_H
#define AP_ID_MAP_H

#include "mem.h"

#define AP_ID_NONE UINT32_MAX

/** Keys are not 0. */
struct ap_id_map {
    struct ap_gate *gate;
    struct ap_id_slot {
        uint32_t key, value; /* key 0 = free */
    } * slots;
    size_t slot_count; /* a power of two */
};

/** Room for @count different keys. */
AP_MUST_CHECK enum ap_status ap_id_map_init(struct ap_id_map *map, struct ap_gate *gate, size_t count,
                                            struct ap_error *reterr);
void ap_id_map_release(struct ap_id_map *map);

/** Where the value of @key stands: a fresh key gets AP_ID_NONE. */
uint32_t *ap_id_map_add(struct ap_id_map *map, uint32_t key);
/** NULL where the key is not in it. */
uint32_t *ap_id_map_find(const struct ap_id_map *map, uint32_t key);

#endif
