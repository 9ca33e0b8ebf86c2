/* SPDX-License-Identifier: MIT
 * json_fast.c - the work per byte. Compiled once for each instruction set: AP_ISA_avx2, AP_ISA_sse2, AP_ISA_neon or
 * AP_ISA_plain chooses the three primitives at the top, everything below is the same text. */
#include <string.h>

#include "json_layout.h"

#if defined(AP_ISA_avx2) || defined(AP_ISA_sse2)
#include <immintrin.h>
#elif defined(AP_ISA_neon)
#include <arm_neon.h>
#endif

#include "poison.h"

#define LANE_DONE(mask) AP_UNLIKELY(mask)
#define NOT_INLINE __attribute__((noinline)) /* rare, and would cost the usual path its registers */

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

static inline bool text_matches(const uint8_t *text, uint64_t needed, unsigned bytes, const uint8_t *p)
{
    (void)needed;
    return memcmp(text, p, bytes) == 0;
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

static inline bool text_matches(const uint8_t *text, uint64_t needed, unsigned bytes, const uint8_t *p)
{
    (void)needed;
    return memcmp(text, p, bytes) == 0;
}

#endif

static inline bool gap_matches(const struct ap_gap *gap, const uint8_t *p)
{
    return text_matches(gap->text, gap->needed, gap->bytes, p);
}

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
            if (LANE_DONE(mask))                        \
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

static const uint8_t *scan_space(const uint8_t *p)
{
    return skip_space(p);
}

static inline enum ap_scan_result scan_string(struct ap_scan *scan, const uint8_t **p, unsigned *flags)
{
    for (;;) {
        *p = seek_string_stop(*p);
        if (AP_LIKELY(**p == '"'))
            return AP_SCAN_OK;
        bool done;
        enum ap_scan_result result = ap_scan_string_special(scan, p, flags, &done);
        if (result != AP_SCAN_OK || done)
            return result;
    }
}

static enum ap_scan_result scan_string_call(struct ap_scan *scan, const uint8_t **p, unsigned *flags)
{
    return scan_string(scan, p, flags);
}

static inline bool is_digit(uint8_t c)
{
    return (uint8_t)(c - '0') <= 9;
}

/* -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)? */
static inline enum ap_scan_result scan_number(struct ap_scan *scan, const uint8_t **p)
{
    const uint8_t *at = *p;
    at += *at == '-';
    if (*at == '0')
        at++;
    else if (AP_LIKELY(is_digit(*at)))
        at = seek_not_digit(at + 1);
    else
        return ap_scan_bad(scan, at, "a digit");
    if (*at == '.') {
        if (!is_digit(at[1]))
            return ap_scan_bad(scan, at + 1, "a digit after the decimal point");
        at = seek_not_digit(at + 2);
    }
    if (AP_UNLIKELY((*at | 0x20) == 'e')) {
        const uint8_t *digits = at + 1 + (at[1] == '+' || at[1] == '-');
        if (!is_digit(*digits))
            return ap_scan_bad(scan, digits, "a digit in the exponent");
        at = seek_not_digit(digits + 1);
    }
    if (AP_UNLIKELY(at >= scan->end && !scan->at_eof))
        return ap_scan_bad(scan, scan->end, "the rest of a number");
    *p = at;
    return AP_SCAN_OK;
}

static enum ap_scan_result scan_number_call(struct ap_scan *scan, const uint8_t **p)
{
    return scan_number(scan, p);
}

static inline enum ap_scan_result scan_scalar(struct ap_scan *scan, const uint8_t **p)
{
    enum ap_json_kind kind;
    const uint8_t *at = *p;
    if (is_digit(*at) || (*at == '-' && (at[1] | 0x20) != 'i' && at[1] != 'n'))
        return scan_number(scan, p);
    return ap_scan_literal(scan, p, &kind);
}

/* ------------------------------------------------------------------------------------------------ skipping values */

static inline bool level_is_object(const struct ap_skip *skip)
{
    uint32_t level = skip->depth - 1;
    return skip->is_object[level / 8] >> (level % 8) & 1;
}

static inline bool open_level(struct ap_skip *skip, bool object)
{
    if (AP_UNLIKELY(skip->depth >= skip->depth_limit))
        return false;
    uint8_t bit = (uint8_t)(1u << (skip->depth % 8)), *byte = &skip->is_object[skip->depth / 8];
    *byte = (uint8_t)(object ? *byte | bit : *byte & ~bit);
    skip->depth++;
    return true;
}

/* One label per place in the grammar; `pause` says where the next call goes on. */
static inline enum ap_scan_result skip_value(struct ap_scan *scan, struct ap_skip *skip, const uint8_t **p)
{
    const uint8_t *at = *p;
    unsigned flags = 0;
    enum ap_scan_result result;
    enum ap_skip_label pause = (enum ap_skip_label)skip->label;

    switch (pause) {
    case AP_SKIP_VALUE: goto value;
    case AP_SKIP_FIRST_ELEMENT: goto first_element;
    case AP_SKIP_KEY: goto key;
    case AP_SKIP_FIRST_KEY: goto first_key;
    case AP_SKIP_IN_KEY: goto in_key;
    case AP_SKIP_COLON: goto colon;
    case AP_SKIP_IN_STRING: goto in_string;
    case AP_SKIP_AFTER: goto after;
    }

first_element:
    at = skip_space(at);
    if (*at == ']') {
        at++;
        skip->depth--;
        goto after;
    }
    pause = AP_SKIP_FIRST_ELEMENT;
    goto any_value;
value:
    at = skip_space(at);
    pause = AP_SKIP_VALUE;
any_value:
    if (*at == '"') {
        at++;
in_string:
        pause = AP_SKIP_IN_STRING;
        result = scan_string(scan, &at, &flags);
        if (result != AP_SCAN_OK)
            goto stop;
        at++;
    } else if (*at == '[' || *at == '{') {
        bool object = *at == '{';
        if (!open_level(skip, object)) {
            skip->too_deep = true;
            scan->expected = "less nesting";
            scan->at = at;
            return AP_SCAN_BAD;
        }
        at++;
        if (object)
            goto first_key;
        goto first_element;
    } else {
        result = scan_scalar(scan, &at);
        if (result != AP_SCAN_OK)
            goto stop;
    }
after:
    pause = AP_SKIP_AFTER;
    if (skip->depth == 0) {
        *p = at;
        return AP_SCAN_OK;
    }
    at = skip_space(at);
    if (*at == ',') {
        at++;
        if (level_is_object(skip))
            goto key;
        goto value;
    }
    if (*at == (level_is_object(skip) ? '}' : ']')) {
        at++;
        skip->depth--;
        goto after;
    }
    result = ap_scan_bad(scan, at, level_is_object(skip) ? "a comma or a closing brace" : "a comma or a closing bracket");
    goto stop;
first_key:
    at = skip_space(at);
    pause = AP_SKIP_FIRST_KEY;
    if (*at == '}') {
        at++;
        skip->depth--;
        goto after;
    }
    goto any_key;
key:
    at = skip_space(at);
    pause = AP_SKIP_KEY;
any_key:
    if (*at != '"') {
        result = ap_scan_bad(scan, at, "a key in quotation marks");
        goto stop;
    }
    at++;
in_key:
    pause = AP_SKIP_IN_KEY;
    result = scan_string(scan, &at, &flags);
    if (result != AP_SCAN_OK)
        goto stop;
    at++;
colon:
    at = skip_space(at);
    pause = AP_SKIP_COLON;
    if (*at != ':') {
        result = ap_scan_bad(scan, at, "a colon");
        goto stop;
    }
    at++;
    goto value;

stop:
    skip->label = (uint8_t)pause;
    *p = at;
    return result;
}

static enum ap_scan_result skip_call(struct ap_scan *scan, struct ap_skip *skip, const uint8_t **p)
{
    return skip_value(scan, skip, p);
}

/* ------------------------------------------------------------------------------------------------------- elements */

#define VALUE_UNKNOWN 255 /* bytes of a value that has to be read by the grammar */
#define REPEAT_8(c) c, c, c, c, c, c, c, c
#define REPEAT_32(c) REPEAT_8(c), REPEAT_8(c), REPEAT_8(c), REPEAT_8(c)

static enum ap_scan_result skip_unknown(struct ap_scan *scan, struct ap_element_reader *element, const uint8_t **p)
{
    struct ap_skip skip = { .label = AP_SKIP_VALUE,
                            .depth_limit = element->skip_depth_limit,
                            .is_object = element->skip_bits };
    enum ap_scan_result result = skip_value(scan, &skip, p);
    element->too_deep = skip.too_deep;
    return result;
}

#if STEP == 32

static inline uint64_t lanes_equal(__m256i first, __m256i second, uint8_t byte)
{
    __m256i wanted = _mm256_set1_epi8((char)byte);
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(first, wanted)) |
           (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(second, wanted)) << 32;
}

/* How many of the first 64 bytes of a container are its own, as far as that is seen at a glance: up to ], where the first
 * element is an array to ]], where it is a string to "]. */
static inline unsigned own_bytes(const uint8_t *at, __m256i first, __m256i second)
{
    uint64_t ends = lanes_equal(first, second, (uint8_t)(*at + 2)); /* as { and } are, [ and ] are two apart */
    if (at[1] == '[')
        ends &= ends << 1;
    else if (at[0] == '[' && at[1] == '"')
        ends &= lanes_equal(first, second, '"') << 1;
    return ends ? (unsigned)__builtin_ctzll(ends) : 64;
}

/* The first of the two places where a container is known, by these bytes. */
static inline unsigned place_of(const uint8_t *at)
{
    static const uint8_t ones[64] = { REPEAT_32(0xff), REPEAT_32(0) };
    __m256i first = load_lane(at), second = load_lane(at + 32);
    unsigned own = own_bytes(at, first, second);
    first = _mm256_and_si256(first, load_lane(ones + 32 - (own < 32 ? own : 32)));
    second = _mm256_and_si256(second, load_lane(ones + 64 - (own < 32 ? 32 : own)));
    uint64_t words[4], sum;
    _mm256_storeu_si256((__m256i *)(void *)words, _mm256_add_epi64(first, _mm256_permute4x64_epi64(second, 0x39)));
    sum = words[0] * UINT64_C(0x9e3779b97f4a7c15) + words[1] * UINT64_C(0xd6e8feb86659fd93) +
          words[2] * UINT64_C(0xff51afd7ed558ccd) + words[3] * UINT64_C(0xc4ceb9fe1a85ec53);
    return (unsigned)(sum >> 54);
}
_Static_assert(AP_CONTAINERS_KNOWN == 1 << (64 - 54), "a place is 10 bits");

static inline bool is_known(const struct ap_known_container *known, const uint8_t *at)
{
    return known->needed && text_matches(known->text, known->needed, known->bytes, at);
}

/* The one that was learned first moves to the second place. */
static void learn_container(struct ap_element_reader *element, unsigned place, const uint8_t *start, size_t bytes)
{
    struct ap_known_container *known = &element->containers[place];
    element->containers[place ^ 1] = *known;
    memcpy(known->text, start, bytes);
    known->bytes = (uint8_t)bytes;
    known->needed = UINT64_MAX >> (64 - bytes);
}

static enum ap_scan_result skip_container(struct ap_scan *scan, struct ap_element_reader *element, const uint8_t **p)
{
    const uint8_t *start = *p;
    unsigned place = place_of(start);
    for (unsigned i = 0; i < 2; i++) {
        const struct ap_known_container *known = &element->containers[place ^ i];
        if (AP_LIKELY(is_known(known, start))) {
            *p = start + known->bytes;
            return AP_SCAN_OK;
        }
    }
    bool odd = scan->odds.any;
    enum ap_scan_result result = skip_unknown(scan, element, p);
    size_t bytes = (size_t)(*p - start);
    if (result == AP_SCAN_OK && bytes <= AP_GAP_MAX_BYTES && !odd && !scan->odds.any)
        learn_container(element, place, start, bytes);
    return result;
}

#else

static enum ap_scan_result skip_container(struct ap_scan *scan, struct ap_element_reader *element, const uint8_t **p)
{
    return skip_unknown(scan, element, p);
}

#endif

#if STEP == 32

/* As string_stops, of constants that lie in memory: the compiler would make them anew for each value. */
static inline lane_mask value_stops(const uint8_t *p)
{
    static const _Alignas(32) uint8_t quotes[32] = { REPEAT_32('"') }, backslashes[32] = { REPEAT_32('\\') },
                                      blanks[32] = { REPEAT_32(0x20) };
    __m256i v = load_lane(p);
    __m256i special = _mm256_or_si256(_mm256_cmpeq_epi8(v, load_lane(quotes)), _mm256_cmpeq_epi8(v, load_lane(backslashes)));
    return (lane_mask)_mm256_movemask_epi8(_mm256_or_si256(special, _mm256_cmpgt_epi8(load_lane(blanks), v)));
}

/* The value as it was laid out last time, or, short and plain, otherwise: then that is the guess for the next one. Its
 * bytes, or VALUE_UNKNOWN. */
static inline unsigned guess_string(struct ap_guess *guess, const uint8_t *at)
{
    lane_mask stops = value_stops(at);
    if (AP_LIKELY((stops & guess->upto) == guess->stops && at[guess->bytes] == '"'))
        return guess->bytes;
    unsigned bytes = stops ? first_lane(stops) : 32;
    if (bytes > 30 || at[bytes] != '"')
        return VALUE_UNKNOWN;
    guess->upto = ((uint32_t)2 << bytes) - 1;
    guess->stops = (uint32_t)1 << bytes;
    guess->bytes = (uint8_t)bytes;
    return bytes;
}

/* In a guess that fits, the byte behind it is the one of last time, so nothing goes on with the number, and the text does
 * not end there. */
static inline unsigned guess_number(struct ap_guess *guess, const uint8_t *at)
{
    lane_mask others = not_digit(at);
    if (AP_LIKELY((others & guess->upto) == guess->stops && at[guess->bytes] == guess->end && at[0] != guess->first &&
                  (guess->point == guess->bytes || at[guess->point] == '.')))
        return guess->bytes;
    unsigned whole = others ? first_lane(others) : 32;
    if (whole == 0 || whole > 30)
        return VALUE_UNKNOWN;
    unsigned bytes = whole;
    if (at[whole] == '.') {
        lane_mask behind = others & (others - 1);
        bytes = behind ? first_lane(behind) : 32;
        if (bytes > 30 || bytes == whole + 1)
            return VALUE_UNKNOWN;
    }
    uint8_t end = at[bytes];
    if ((end != ',' && end != '}' && end != '\n' && end != ' ') || (at[0] == '0' && whole > 1))
        return VALUE_UNKNOWN;
    guess->upto = ((uint32_t)2 << bytes) - 1;
    guess->stops = others & guess->upto;
    guess->bytes = (uint8_t)bytes;
    guess->point = (uint8_t)whole;
    guess->end = end;
    guess->first = whole > 1 ? '0' : 0;
    return bytes;
}

#else /* narrower sets gain nothing from guessing */

static inline unsigned guess_string(const struct ap_guess *guess, const uint8_t *at)
{
    (void)guess, (void)at;
    return VALUE_UNKNOWN;
}

static inline unsigned guess_number(const struct ap_guess *guess, const uint8_t *at)
{
    (void)guess, (void)at;
    return VALUE_UNKNOWN;
}

#endif

static inline uint8_t kind_of_value(uint8_t first)
{
    switch (first) {
    case '{': return AP_JSON_OBJECT_BEGIN;
    case '[': return AP_JSON_ARRAY_BEGIN;
    case 't': return AP_JSON_TRUE;
    case 'f': return AP_JSON_FALSE;
    default: return AP_JSON_NUMBER;
    }
}

/* What stands between two values is not what mostly does: another known text, or by the grammar. *@gap is the gap before
 * the last value on entry, the one that was read on return. */
static NOT_INLINE enum ap_scan_result find_gap(struct ap_scan *scan, struct ap_element_reader *element, struct ap_gap **gap,
                                               const uint8_t **p)
{
    struct ap_gap *before = *gap;
    for (unsigned i = 1; i < AP_GAP_FOLLOWERS && before->followers[i] != AP_GAP_NEVER; i++) {
        struct ap_gap *known = &element->gaps[before->followers[i]];
        if (gap_matches(known, *p)) {
            *p += known->bytes;
            *gap = known;
            return AP_SCAN_OK;
        }
    }
    const uint8_t *start = *p;
    bool learned = before != &element->parsed;
    element->cursor.level = before->level;
    element->cursor.opened = before == element->gaps;
    enum ap_scan_result result = ap_layout_parse_gap(scan, element, p, &element->parsed);
    if (result != AP_SCAN_OK)
        return result;
    unsigned number = AP_GAP_NEVER;
    if (learned)
        number = ap_layout_learn(element, (unsigned)(before - element->gaps), &element->parsed, start, (size_t)(*p - start));
    *gap = number == AP_GAP_NEVER ? &element->parsed : &element->gaps[number];
    return AP_SCAN_OK;
}

static void count_duplicates(struct ap_scan *scan, uint64_t keys, const uint8_t *at)
{
    for (; keys; keys &= keys - 1)
        ap_scan_odd(scan, AP_ODD_DUPLICATE, at);
}

#define KEYS_OF_ELEMENT (((uint64_t)1 << AP_ELEMENT_KEYS) - 1)

/* A gap that repeats a key, and may open a member object. */
static NOT_INLINE void enter_repeated(struct ap_scan *scan, struct ap_element_reader *element, const struct ap_gap *gap,
                                      const uint8_t *at)
{
    struct ap_element_cursor *cursor = &element->cursor;
    uint64_t repeated = cursor->seen & gap->keys & KEYS_OF_ELEMENT;
    if (repeated) {
        count_duplicates(scan, repeated, at);
        ap_layout_forget_members(element, cursor->seen & gap->keys);
    }
    if (gap->enters) {
        cursor->seen &= KEYS_OF_ELEMENT;
        cursor->parent = gap->parent;
    }
    count_duplicates(scan, cursor->seen & gap->keys & ~KEYS_OF_ELEMENT, at);
}

/* A value that is not laid out as last time. */
static NOT_INLINE enum ap_scan_result read_any_value(struct ap_scan *scan, struct ap_element_reader *element,
                                                     struct ap_gap *gap, const uint8_t **p, struct ap_json_span *span)
{
    const uint8_t *start = *p;
    enum ap_scan_result result;
    unsigned flags = 0;
    /* The learned gap may end before a number where this object has a string, or more white space. */
    bool string = gap->action == AP_GAP_STRING;
    if (!string && *start <= '"') {
        start = skip_space(start);
        string = *start == '"';
        start += string;
        *p = start;
    }
    if (string) {
        result = scan_string(scan, p, &flags);
        *span = (struct ap_json_span){ (const char *)start, (uint32_t)(*p - start), AP_JSON_STRING, (uint8_t)flags };
        *p += result == AP_SCAN_OK;
        return result;
    }
    uint8_t kind = kind_of_value(*start);
    if (is_digit(*start)) {
        result = scan_number(scan, p);
    } else if (*start == '{' || *start == '[') {
        result = skip_container(scan, element, p);
    } else if (*start == '-' && is_digit(start[1])) {
        result = scan_number(scan, p);
    } else {
        enum ap_json_kind literal = AP_JSON_NULL;
        result = ap_scan_literal(scan, p, &literal);
        kind = (uint8_t)literal;
    }
    *span = (struct ap_json_span){ (const char *)start, (uint32_t)(*p - start), kind, 0 };
    return result;
}

/* What follows a string is no gap: its writer may have forgotten to escape a quotation mark within it. */
static enum ap_scan_result recover(struct ap_scan *scan, struct ap_element_reader *element, const struct ap_gap *gap,
                                   const uint8_t *value_start, const uint8_t **p)
{
    bool possible = gap && gap->action == AP_GAP_STRING && gap->field != element->field_count &&
                    element->fields[gap->field].strings == AP_STRINGS_WITH_QUOTES;
    if (!possible)
        return AP_SCAN_BAD;
    enum ap_scan_result result = ap_layout_recover_quote(scan, element, value_start, p);
    if (result != AP_SCAN_OK)
        return result;
    struct ap_json_span *span = &element->spans[gap->field];
    span->bytes = (uint32_t)(*p - 1 - value_start);
    span->decode = AP_STRING_DECODE;
    return AP_SCAN_OK;
}

/* The gap that an element probably begins with; NULL: none is known here. The values in it are taken: forget_start takes
 * that back where it does not stand there. */
static inline struct ap_gap *guess_start(struct ap_element_reader *element, const struct ap_known_start *start,
                                         const uint8_t *at)
{
    if (AP_UNLIKELY(start->gap == AP_GAP_NEVER))
        return NULL;
    for (unsigned i = 0; i < start->value_count; i++) {
        const struct ap_start_value *value = &start->values[i];
        element->spans[value->field] =
            (struct ap_json_span){ (const char *)at + value->at, value->bytes, AP_JSON_STRING, 0 };
    }
    return &element->gaps[start->gap];
}

static NOT_INLINE void forget_start(struct ap_element_reader *element, const struct ap_known_start *start)
{
    for (unsigned i = 0; i < start->value_count; i++)
        element->spans[start->values[i].field].kind = AP_SPAN_ABSENT;
}

/* The cursor stays in a variable whose address is not taken: through memory every step would wait for the one before. */
static enum ap_scan_result scan_element(struct ap_scan *scan, struct ap_element_reader *element, const uint8_t **p)
{
    const uint8_t *at = *p + 1, *value_start = NULL;
    struct ap_gap *gap = element->gaps, *last = NULL;
    uint64_t seen = 0;
    const struct ap_known_start *start = ap_layout_start(element, at);
    struct ap_gap *usual = guess_start(element, start, at);
    bool known_start = usual;
    if (AP_UNLIKELY(!known_start))
        usual = &element->gaps[gap->followers[0]];
    for (;; usual = &element->gaps[gap->followers[0]]) {
        const uint8_t *gap_start = at;
        /* A hostile text can hold even the byte of the gap that fits nothing. */
        if (AP_LIKELY(gap_matches(usual, at) && usual != &element->gaps[AP_GAP_NEVER])) {
            gap = usual;
            at += usual->bytes;
        } else if (known_start && gap == element->gaps) {
            forget_start(element, start);
            known_start = false;
            continue;
        } else {
            const uint8_t *slow = at;
            struct ap_gap *found = gap;
            enum ap_scan_result result = find_gap(scan, element, &found, &slow);
            if (AP_UNLIKELY(result != AP_SCAN_OK)) {
                if (result != AP_SCAN_BAD)
                    return result;
                slow = gap_start;
                result = recover(scan, element, last, value_start, &slow);
                if (result != AP_SCAN_OK)
                    return result;
                last = NULL;
                at = slow;
                continue;
            }
            gap = found;
            at = slow;
        }
        if (gap->enters && !(seen & gap->keys & KEYS_OF_ELEMENT)) {
            seen &= KEYS_OF_ELEMENT;
            element->cursor.parent = gap->parent;
        } else if (AP_UNLIKELY(seen & gap->keys)) {
            element->cursor.seen = seen;
            enter_repeated(scan, element, gap, gap_start);
            seen = element->cursor.seen;
        }
        seen |= gap->keys;
        if (gap->action == AP_GAP_END) {
            if (AP_UNLIKELY(!known_start))
                ap_layout_learn_start(element, *p + 1);
            *p = at;
            return AP_SCAN_OK;
        }
        struct ap_json_span *span = &element->spans[gap->field];
        value_start = at;
        last = gap;
        unsigned bytes = gap->action == AP_GAP_STRING ? guess_string(&gap->guess, at) : guess_number(&gap->guess, at);
        if (AP_LIKELY(bytes != VALUE_UNKNOWN)) {
            *span = (struct ap_json_span){ (const char *)at, bytes, gap->kind, 0 };
            at += bytes + (gap->action == AP_GAP_STRING);
            continue;
        }
        const uint8_t *slow = at;
        enum ap_scan_result result = read_any_value(scan, element, gap, &slow, span);
        if (AP_UNLIKELY(result != AP_SCAN_OK))
            return result;
        at = slow;
    }
}

#define ISA_OPS_NAME_(isa) ap_scan_ops_##isa
#define ISA_OPS_NAME(isa) ISA_OPS_NAME_(isa)
#define ISA_TEXT_(isa) #isa
#define ISA_TEXT(isa) ISA_TEXT_(isa)

extern const struct ap_scan_ops ISA_OPS_NAME(ISA_NAME);
const struct ap_scan_ops ISA_OPS_NAME(ISA_NAME) = {
    .name = ISA_TEXT(ISA_NAME),
    .space = scan_space,
    .string = scan_string_call,
    .number = scan_number_call,
    .skip = skip_call,
    .element = scan_element,
};
