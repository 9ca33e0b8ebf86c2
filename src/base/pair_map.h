/* SPDX-License-Identifier: MIT
 * pair_map.h - numbers the different pairs of two 32-bit keys in order of first sight; grows. About 17 bytes for each, also
 * while it grows: the table of slots is made anew from the pairs. */
#ifndef AP_PAIR_MAP_H
#define AP_PAIR_MAP_H

#include "mem.h"

#define AP_PAIR_NONE UINT32_MAX

struct ap_pair_map {
    struct ap_gate *gate;
    struct ap_pair {
        uint32_t a, b;
    } * pairs;                        /* by number */
    uint32_t *slots;                  /* numbers; AP_PAIR_NONE = free */
    size_t pair_capacity, slot_count; /* slots: 0 or a power of two */
    uint32_t count;
    uint32_t last; /* the number that was asked for last: rows one behind the other often have the same pair */
};

/** An empty map: { .gate = gate }. */
void ap_pair_map_release(struct ap_pair_map *map);
/** Nobody asks for pairs any more, only how many there are. */
void ap_pair_map_keep_count(struct ap_pair_map *map);

/** The pair's number, 0 .. count - 1: a new pair gets the next one. */
AP_MUST_CHECK enum ap_status ap_pair_map_add(struct ap_pair_map *map, uint32_t a, uint32_t b, uint32_t *ret_number,
                                             struct ap_error *reterr);
/** AP_PAIR_NONE where the pair is not in it. */
uint32_t ap_pair_map_find(const struct ap_pair_map *map, uint32_t a, uint32_t b);

#endif
