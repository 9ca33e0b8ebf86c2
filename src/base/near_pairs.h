/* SPDX-License-Identifier: MIT
 * near_pairs.h - numbers pairs as a pair map does, where the second key is an id, as many as are known before, and most ids
 * are met with one first key only: eight bytes for each id, and no search. */
#ifndef AP_NEAR_PAIRS_H
#define AP_NEAR_PAIRS_H

#include "pair_map.h"

#define AP_NEAR_KEYS_MAX 256

struct ap_near_pairs {
    struct ap_gate *gate;
    uint32_t *first_number;          /* by id: of the pair that was met first; AP_PAIR_NONE = none */
    uint8_t *first_key;              /* likewise: its first key, as number of keys */
    uint32_t keys[AP_NEAR_KEYS_MAX]; /* the first ones that are met */
    size_t id_count, key_count, last_key;
    struct ap_pair_map others; /* pairs that are not the first one of their id, or whose first key is not among keys */
    uint32_t *numbers;         /* by number in others */
    size_t number_capacity;
    uint32_t count;
};

/** For ids 0 .. @id_count - 1. @pairs may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_near_pairs_init(struct ap_near_pairs *pairs, struct ap_gate *gate, size_t id_count,
                                                struct ap_error *reterr);
void ap_near_pairs_release(struct ap_near_pairs *pairs);

/** The pair's number, 0 .. count - 1: a new pair gets the next one. */
AP_MUST_CHECK enum ap_status ap_near_pairs_add(struct ap_near_pairs *pairs, uint32_t a, uint32_t id, uint32_t *ret_number,
                                               struct ap_error *reterr);

#endif
