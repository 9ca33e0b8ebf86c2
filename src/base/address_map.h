/* SPDX-License-Identifier: MIT
 * address_map.h - what is live at which address: 64 bits to 32 bits, open addressing, entries can be taken out. */
#ifndef AP_ADDRESS_MAP_H
#define AP_ADDRESS_MAP_H

#include "mem.h"

#define AP_NOT_MAPPED UINT32_MAX

struct ap_address_map {
    struct ap_gate *gate;
    struct ap_address_slot {
        uint64_t address;
        uint32_t value; /* AP_NOT_MAPPED = free */
    } * slots;
    size_t slot_count, used_count; /* slot_count: a power of two, or 0 */
};

/** Empty; memory is taken with the first address. */
void ap_address_map_init(struct ap_address_map *map, struct ap_gate *gate);
void ap_address_map_release(struct ap_address_map *map);
/** Sets the value of an address, fresh or not. @value is not AP_NOT_MAPPED. */
AP_MUST_CHECK enum ap_status ap_address_map_set(struct ap_address_map *map, uint64_t address, uint32_t value,
                                                struct ap_error *reterr);
/** AP_NOT_MAPPED where the address is not in it. */
uint32_t ap_address_map_find(const struct ap_address_map *map, uint64_t address);
/** The same, and takes it out. */
uint32_t ap_address_map_take(struct ap_address_map *map, uint64_t address);

#endif
