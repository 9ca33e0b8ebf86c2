/* SPDX-License-Identifier: MIT */
#include "near_pairs.h"

#include <string.h>

#include "poison.h"

enum ap_status ap_near_pairs_init(struct ap_near_pairs *pairs, struct ap_gate *gate, size_t id_count,
                                  struct ap_error *reterr)
{
    *pairs = (struct ap_near_pairs){ .gate = gate, .others.gate = gate };
    AP_TRY(AP_ALLOC(gate, pairs->first, id_count, reterr));
    pairs->id_count = id_count;
    memset(pairs->first, 0xff, id_count * sizeof(pairs->first[0]));
    return AP_OK;
}

void ap_near_pairs_release(struct ap_near_pairs *pairs)
{
    AP_FREE(pairs->gate, pairs->first, pairs->id_count);
    AP_FREE(pairs->gate, pairs->numbers, pairs->number_capacity);
    ap_pair_map_release(&pairs->others);
    *pairs = (struct ap_near_pairs){ .gate = pairs->gate, .others.gate = pairs->gate };
}

enum ap_status ap_near_pairs_add(struct ap_near_pairs *pairs, uint32_t a, uint32_t id, uint32_t *ret_number,
                                 struct ap_error *reterr)
{
    struct ap_near_pair *first = &pairs->first[id];
    uint32_t other, known = pairs->others.count;
    if (first->number == AP_PAIR_NONE)
        *first = (struct ap_near_pair){ a, pairs->count++ };
    if (first->a == a) {
        *ret_number = first->number;
        return AP_OK;
    }
    AP_TRY(AP_RESERVE(pairs->gate, pairs->numbers, pairs->number_capacity, (size_t)known + 1, reterr));
    AP_TRY(ap_pair_map_add(&pairs->others, a, id, &other, reterr));
    if (other == known)
        pairs->numbers[other] = pairs->count++;
    *ret_number = pairs->numbers[other];
    return AP_OK;
}
