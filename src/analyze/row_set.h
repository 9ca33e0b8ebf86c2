/* SPDX-License-Identifier: MIT
 * row_set.h - a set of rows: one bit each. */
#ifndef AP_ROW_SET_H
#define AP_ROW_SET_H

#include <string.h>

#include "trace.h"

struct ap_row_set {
    struct ap_gate *gate;
    uint64_t *bits;
    size_t words;
};

static inline AP_MUST_CHECK enum ap_status ap_row_set_init(struct ap_row_set *set, const struct ap_trace *trace,
                                                           struct ap_gate *gate, struct ap_error *reterr)
{
    *set = (struct ap_row_set){ .gate = gate };
    size_t words = trace->events.count / 64 + 1;
    set->bits = ap_mem_resize(gate, NULL, 0, words * sizeof(uint64_t));
    if (!set->bits)
        return ap_fail_memory(gate, reterr);
    set->words = words;
    memset(set->bits, 0, words * sizeof(uint64_t));
    return AP_OK;
}

static inline void ap_row_set_release(struct ap_row_set *set)
{
    ap_mem_free(set->gate, set->bits, set->words * sizeof(uint64_t));
    *set = (struct ap_row_set){ .gate = set->gate };
}

static inline bool ap_row_set_has(const struct ap_row_set *set, uint32_t row)
{
    return set->bits[row / 64] >> (row % 64) & 1;
}

/** False where it was in the set already. */
static inline bool ap_row_set_add(struct ap_row_set *set, uint32_t row)
{
    bool fresh = !ap_row_set_has(set, row);
    set->bits[row / 64] |= (uint64_t)1 << (row % 64);
    return fresh;
}

#endif
