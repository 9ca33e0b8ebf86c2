/* SPDX-License-Identifier: MIT */
#include "near_pairs.h"

#include <string.h>

#include "poison.h"

enum ap_status ap_near_pairs_init(struct ap_near_pairs *pairs, struct ap_gate *gate, size_t id_count,
                                  struct ap_error *reterr)
{
    *pairs = (struct ap_near_pairs){ .gate = gate, .others.gate = gate, .id_count = id_count };
    AP_TRY(AP_ALLOC(gate, pairs->first_number, id_count, reterr));
    AP_TRY(AP_ALLOC(gate, pairs->first_key, id_count, reterr));
    memset(pairs->first_number, 0xff, id_count * sizeof(pairs->first_number[0]));
    return AP_OK;
}

void ap_near_pairs_release(struct ap_near_pairs *pairs)
{
    AP_FREE(pairs->gate, pairs->first_number, pairs->id_count);
    AP_FREE(pairs->gate, pairs->first_key, pairs->id_count);
    AP_FREE(pairs->gate, pairs->numbers, pairs->number_capacity);
    ap_pair_map_release(&pairs->others);
    *pairs = (struct ap_near_pairs){ .gate = pairs->gate, .others.gate = pairs->gate };
}

/* Makes it last_key; false where there is no room for it. It is asked for new pairs only. */
static bool find_key(struct ap_near_pairs *pairs, uint32_t a)
{
    if (pairs->key_count && pairs->keys[pairs->last_key] == a)
        return true;
    for (size_t i = 0; i < pairs->key_count; i++) {
        if (pairs->keys[i] != a)
            continue;
        pairs->last_key = i;
        return true;
    }
    if (pairs->key_count == AP_NEAR_KEYS_MAX)
        return false;
    pairs->last_key = pairs->key_count;
    pairs->keys[pairs->key_count++] = a;
    return true;
}

enum ap_status ap_near_pairs_add(struct ap_near_pairs *pairs, uint32_t a, uint32_t id, uint32_t *ret_number,
                                 struct ap_error *reterr)
{
    uint32_t other, known = pairs->others.count;
    if (pairs->first_number[id] == AP_PAIR_NONE && find_key(pairs, a)) {
        pairs->first_number[id] = pairs->count++;
        pairs->first_key[id] = (uint8_t)pairs->last_key;
    }
    if (pairs->first_number[id] != AP_PAIR_NONE && pairs->keys[pairs->first_key[id]] == a) {
        *ret_number = pairs->first_number[id];
        return AP_OK;
    }
    AP_TRY(AP_RESERVE(pairs->gate, pairs->numbers, pairs->number_capacity, (size_t)known + 1, reterr));
    AP_TRY(ap_pair_map_add(&pairs->others, a, id, &other, reterr));
    if (other == known)
        pairs->numbers[other] = pairs->count++;
    *ret_number = pairs->numbers[other];
    return AP_OK;
}
