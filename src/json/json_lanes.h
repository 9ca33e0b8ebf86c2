/* SPDX-License-Identifier: MIT
 * json_lanes.h - inside the json stage: many bytes at once. AP_ISA_avx2, AP_ISA_sse2, AP_ISA_neon or AP_ISA_plain chooses
 * how; what includes it is compiled once for each and knows no difference but STEP. */
#ifndef AP_JSON_LANES_H
#define AP_JSON_LANES_H

#include <string.h>

#include "json_scan.h"

#if defined(AP_ISA_avx2) || defined(AP_ISA_sse2)
#include <immintrin.h>
#elif defined(AP_ISA_neon)
#include <arm_neon.h>
#endif

#if defined(AP_ISA_avx2)

#define ISA_NAME avx2
#define STEP 32
typedef uint32_t lane_mask; /* one bit a byte */

static inline __m256i load_lane(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

/* Quote, backslash, control character or non-ASCII. */
static inline lane_mask string_stops(const uint8_t *p)
{
    __m256i v = load_lane(p);
    __m256i quote = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('"'));
    __m256i backslash = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\'));
    /* signed: bytes from 0x80 on are negative and so below 0x20 as well */
    __m256i low = _mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), v);
    return (lane_mask)_mm256_movemask_epi8(_mm256_or_si256(_mm256_or_si256(quote, backslash), low));
}

static inline lane_mask not_digit(const uint8_t *p)
{
    __m256i v = _mm256_sub_epi8(load_lane(p), _mm256_set1_epi8('0'));
    __m256i over = _mm256_cmpeq_epi8(_mm256_min_epu8(v, _mm256_set1_epi8(9)), v);
    return ~(lane_mask)_mm256_movemask_epi8(over);
}

static inline lane_mask not_space(const uint8_t *p)
{
    __m256i v = load_lane(p);
    __m256i space = _mm256_or_si256(
        _mm256_or_si256(_mm256_cmpeq_epi8(v, _mm256_set1_epi8(' ')), _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\n'))),
        _mm256_or_si256(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('\r')), _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\t'))));
    return ~(lane_mask)_mm256_movemask_epi8(space);
}

/* @needed has a bit for each of the @bytes of @text. */
static inline bool text_matches(const uint8_t *text, uint64_t needed, unsigned bytes, const uint8_t *p)
{
    __m256i a = _mm256_cmpeq_epi8(load_lane(p), load_lane(text));
    uint32_t same = (uint32_t)_mm256_movemask_epi8(a);
    if ((uint32_t)needed & ~same)
        return false;
    if (AP_LIKELY(bytes <= 32))
        return true;
    __m256i b = _mm256_cmpeq_epi8(load_lane(p + 32), load_lane(text + 32));
    return !((uint32_t)(needed >> 32) & ~(uint32_t)_mm256_movemask_epi8(b));
}

#elif defined(AP_ISA_sse2)

#define ISA_NAME sse2
#define STEP 16
typedef uint32_t lane_mask;

static inline __m128i load_lane(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static inline lane_mask string_stops(const uint8_t *p)
{
    __m128i v = load_lane(p);
    __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
    __m128i backslash = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
    __m128i low = _mm_cmplt_epi8(v, _mm_set1_epi8(0x20));
    return (lane_mask)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), low));
}

static inline lane_mask not_digit(const uint8_t *p)
{
    __m128i v = _mm_sub_epi8(load_lane(p), _mm_set1_epi8('0'));
    __m128i digit = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(9)), v);
    return ~(lane_mask)_mm_movemask_epi8(digit) & 0xffffu;
}

static inline lane_mask not_space(const uint8_t *p)
{
    __m128i v = load_lane(p);
    __m128i space =
        _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8(' ')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\n'))),
                     _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('\r')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\t'))));
    return ~(lane_mask)_mm_movemask_epi8(space) & 0xffffu;
}

static inline bool text_matches(const uint8_t *text, uint64_t needed, unsigned bytes, const uint8_t *p)
{
    for (unsigned at = 0; at < bytes; at += 16) {
        __m128i same = _mm_cmpeq_epi8(load_lane(p + at), load_lane(text + at));
        if ((uint32_t)(needed >> at) & 0xffffu & ~(uint32_t)_mm_movemask_epi8(same))
            return false;
    }
    return true;
}

#elif defined(AP_ISA_neon)

#define ISA_NAME neon
#define STEP 16
typedef uint64_t lane_mask; /* four bits a byte */

static inline lane_mask nibbles(uint8x16_t v)
{
    return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(v), 4)), 0);
}

static inline lane_mask string_stops(const uint8_t *p)
{
    uint8x16_t v = vld1q_u8(p);
    uint8x16_t special = vorrq_u8(vceqq_u8(v, vdupq_n_u8('"')), vceqq_u8(v, vdupq_n_u8('\\')));
    uint8x16_t outside = vorrq_u8(vcltq_u8(v, vdupq_n_u8(0x20)), vcgeq_u8(v, vdupq_n_u8(0x80)));
    return nibbles(vorrq_u8(special, outside));
}

static inline lane_mask not_digit(const uint8_t *p)
{
    return nibbles(vcgtq_u8(vsubq_u8(vld1q_u8(p), vdupq_n_u8('0')), vdupq_n_u8(9)));
}

static inline lane_mask not_space(const uint8_t *p)
{
    uint8x16_t v = vld1q_u8(p);
    uint8x16_t space = vorrq_u8(vorrq_u8(vceqq_u8(v, vdupq_n_u8(' ')), vceqq_u8(v, vdupq_n_u8('\n'))),
                                vorrq_u8(vceqq_u8(v, vdupq_n_u8('\r')), vceqq_u8(v, vdupq_n_u8('\t'))));
    return nibbles(vmvnq_u8(space));
}

#else

#define ISA_NAME plain
#define STEP 1
typedef uint32_t lane_mask;

static inline lane_mask string_stops(const uint8_t *p)
{
    return *p == '"' || *p == '\\' || *p < 0x20 || *p >= 0x80;
}

static inline lane_mask not_digit(const uint8_t *p)
{
    return *p < '0' || *p > '9';
}

static inline lane_mask not_space(const uint8_t *p)
{
    return *p != ' ' && *p != '\n' && *p != '\r' && *p != '\t';
}

#endif

#if STEP == 1 || defined(AP_ISA_neon)
static inline bool text_matches(const uint8_t *text, uint64_t needed, unsigned bytes, const uint8_t *p)
{
    (void)needed;
    return memcmp(text, p, bytes) == 0;
}
#endif

static inline unsigned first_lane(lane_mask mask)
{
#if defined(AP_ISA_neon)
    return (unsigned)__builtin_ctzll(mask) / 4;
#else
    return (unsigned)__builtin_ctz(mask);
#endif
}

/* The NUL at scan.end is a stop for each of the three, so these loops end there at the latest. */
#define SEEK(name, stops)                               \
    static inline const uint8_t *name(const uint8_t *p) \
    {                                                   \
        for (;; p += STEP) {                            \
            lane_mask mask = stops(p);                  \
            if (AP_UNLIKELY(mask))                      \
                return p + first_lane(mask);            \
        }                                               \
    }
SEEK(seek_string_stop, string_stops)
SEEK(seek_not_digit, not_digit)
SEEK(seek_not_space, not_space)

static inline const uint8_t *skip_space(const uint8_t *p)
{
    if (AP_LIKELY(*p > ' '))
        return p;
    return *p == ' ' && p[1] > ' ' ? p + 1 : seek_not_space(p);
}

#endif
