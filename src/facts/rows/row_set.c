/* SPDX-License-Identifier: MIT */
#include "row_set.h"

#include <string.h>

#include "poison.h"

enum ap_status ap_row_set_init(struct ap_row_set *set, struct ap_gate *gate, size_t row_count, struct ap_error *reterr)
{
    *set = (struct ap_row_set){ .gate = gate };
    size_t words = row_count / 64 + 1;
    uint64_t *bits = ap_mem_resize(gate, NULL, 0, words * sizeof(bits[0]));
    uint32_t *before = bits ? ap_mem_resize(gate, NULL, 0, words * sizeof(before[0])) : NULL;
    if (!before) {
        AP_FREE(gate, bits, words);
        return ap_fail_memory(gate, reterr);
    }
    memset(bits, 0, words * sizeof(bits[0]));
    memset(before, 0, words * sizeof(before[0]));
    *set = (struct ap_row_set){ gate, bits, before, words, 0 };
    return AP_OK;
}

void ap_row_set_release(struct ap_row_set *set)
{
    AP_FREE(set->gate, set->bits, set->word_count);
    AP_FREE(set->gate, set->before, set->word_count);
    *set = (struct ap_row_set){ .gate = set->gate };
}

void ap_row_set_finish(struct ap_row_set *set)
{
    set->count = 0;
    for (size_t i = 0; i < set->word_count; i++) {
        set->before[i] = set->count;
        set->count += ap_bit_count(set->bits[i]);
    }
}
