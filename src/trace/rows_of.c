/* SPDX-License-Identifier: MIT */
#include "rows_of.h"

#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "poison.h"

#if defined(__SSE2__)
#define TOGETHER 16
#define PARTS (AP_ROWS_OF_LOOK / TOGETHER)

static uint64_t look(const uint8_t *tags, uint32_t kinds)
{
    const __m128i mask = _mm_set1_epi8(AP_ROW_KIND_MASK);
    __m128i of[PARTS], found[PARTS];
    uint64_t bits = 0;
    for (size_t i = 0; i < PARTS; i++) {
        of[i] = _mm_and_si128(_mm_loadu_si128((const __m128i *)(const void *)(tags + i * TOGETHER)), mask);
        found[i] = _mm_setzero_si128();
    }
    for (; kinds; kinds &= kinds - 1) {
        const __m128i kind = _mm_set1_epi8((char)__builtin_ctz(kinds));
        for (size_t i = 0; i < PARTS; i++)
            found[i] = _mm_or_si128(found[i], _mm_cmpeq_epi8(of[i], kind));
    }
    for (size_t i = 0; i < PARTS; i++)
        bits |= (uint64_t)_mm_movemask_epi8(found[i]) << (i * TOGETHER);
    return bits;
}
#else
static uint64_t look(const uint8_t *tags, uint32_t kinds)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < AP_ROWS_OF_LOOK; i++)
        bits |= (uint64_t)(kinds >> ap_row_kind(tags[i]) & 1) << i;
    return bits;
}
#endif

uint64_t ap_rows_of_look(const uint8_t *tags, size_t count, uint32_t kinds)
{
    uint8_t few[AP_ROWS_OF_LOOK];
    if (AP_LIKELY(count >= AP_ROWS_OF_LOOK))
        return look(tags, kinds);
    memset(few, 0, sizeof(few));
    memcpy(few, tags, count);
    return look(few, kinds) & ((UINT64_C(1) << count) - 1);
}
