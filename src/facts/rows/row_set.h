/* SPDX-License-Identifier: MIT
 * row_set.h - some of a trace's rows or tracks, numbered in their order: one bit each and four bytes for
 * each 64. */
#ifndef AP_ROW_SET_H
#define AP_ROW_SET_H

#include "mem.h"

#define AP_ROW_SET_NONE UINT32_MAX

/** First all rows are added, then ap_row_set_finish, then numbers are asked for. */
struct ap_row_set {
    struct ap_gate *gate;
    uint64_t *bits;
    uint32_t *before; /* rows in the set before each 64 */
    size_t word_count;
    uint32_t count; /* after ap_row_set_finish */
};

/** Room for rows 0 .. @row_count - 1. @set may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_row_set_init(struct ap_row_set *set, struct ap_gate *gate, size_t row_count,
                                             struct ap_error *reterr);
void ap_row_set_release(struct ap_row_set *set);
void ap_row_set_finish(struct ap_row_set *set);

static inline uint32_t ap_bit_count(uint64_t bits)
{
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)(bits * UINT64_C(0x0101010101010101) >> 56);
}

static inline bool ap_row_set_has(const struct ap_row_set *set, uint32_t row)
{
    return set->word_count && set->bits[row / 64] >> row % 64 & 1;
}

/** False where it was in the set already. */
static inline bool ap_row_set_add(struct ap_row_set *set, uint32_t row)
{
    bool is_new = !ap_row_set_has(set, row);
    set->bits[row / 64] |= UINT64_C(1) << row % 64;
    return is_new;
}

static inline void ap_row_set_remove(struct ap_row_set *set, uint32_t row)
{
    set->bits[row / 64] &= ~(UINT64_C(1) << row % 64);
}

/** The first row of the set from @row on; AP_ROW_SET_NONE where there is none. */
static inline uint32_t ap_row_set_next(const struct ap_row_set *set, uint32_t row)
{
    size_t word = row / 64;
    uint64_t bits = word < set->word_count ? set->bits[word] & UINT64_MAX << row % 64 : 0;
    while (!bits && ++word < set->word_count)
        bits = set->bits[word];
    return bits ? (uint32_t)(word * 64 + (unsigned)__builtin_ctzll(bits)) : AP_ROW_SET_NONE;
}

/** AP_ROW_SET_NONE where it is not in the set. */
static inline uint32_t ap_row_set_number(const struct ap_row_set *set, uint32_t row)
{
    if (!ap_row_set_has(set, row))
        return AP_ROW_SET_NONE;
    return set->before[row / 64] + ap_bit_count(set->bits[row / 64] & ((UINT64_C(1) << row % 64) - 1));
}

#endif
