/* SPDX-License-Identifier: MIT */
#include "rows_of.h"

#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "poison.h"

#define TOGETHER 16

#if defined(__SSE2__)
static uint64_t look_at_some(const uint8_t *tags, uint32_t kinds)
{
    __m128i of = _mm_loadu_si128((const __m128i *)(const void *)tags), found = _mm_setzero_si128();
    of = _mm_and_si128(of, _mm_set1_epi8(AP_ROW_KIND_MASK));
    for (; kinds; kinds &= kinds - 1)
        found = _mm_or_si128(found, _mm_cmpeq_epi8(of, _mm_set1_epi8((char)__builtin_ctz(kinds))));
    return (uint64_t)_mm_movemask_epi8(found);
}
#else
static uint64_t look_at_some(const uint8_t *tags, uint32_t kinds)
{
    uint64_t found = 0;
    for (size_t i = 0; i < TOGETHER; i++)
        found |= (uint64_t)(kinds >> ap_row_kind(tags[i]) & 1) << i;
    return found;
}
#endif

uint64_t ap_rows_of_look(const uint8_t *tags, size_t count, uint32_t kinds)
{
    uint8_t few[AP_ROWS_OF_LOOK];
    uint64_t found = 0;
    if (count < AP_ROWS_OF_LOOK) {
        memset(few, 0, sizeof(few));
        memcpy(few, tags, count);
        tags = few;
    }
    for (size_t i = 0; i < AP_ROWS_OF_LOOK; i += TOGETHER)
        found |= look_at_some(tags + i, kinds) << i;
    return count < AP_ROWS_OF_LOOK ? found & ((UINT64_C(1) << count) - 1) : found;
}
