/* SPDX-License-Identifier: MIT
 * near_pairs.h - numbers pairs as a pair map does, where the second key is an id, as many as are known before, and most ids
 * are met with one first key only: eight bytes for each id, and no search. */
#ifndef AP_NEAR_PAIRS_H
#define AP_NEAR_PAIRS_H

#include "pair_map.h"

struct ap_near_pairs {
    struct ap_gate *gate;
    struct ap_near_pair {
        uint32_t a, number;
    } * first; /* by id: the pair that was met first; number AP_PAIR_NONE = none */
    size_t id_count;
    struct ap_pair_map others;
    uint32_t *numbers; /* by number in others */
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
