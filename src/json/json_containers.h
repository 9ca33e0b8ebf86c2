/* SPDX-License-Identifier: MIT
 * json_containers.h - inside the json stage: arrays and objects that come again and again and are known by their text. */
#ifndef AP_JSON_CONTAINERS_H
#define AP_JSON_CONTAINERS_H

#include "json_layout.h"
#include "json_values.h"

static inline enum ap_scan_result skip_unknown(struct ap_scan *scan, struct ap_element_reader *element, const uint8_t **p)
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
    return (unsigned)(sum >> (64 - AP_CONTAINERS_BITS));
}

static inline bool is_known(const struct ap_known_container *known, const uint8_t *at)
{
    return known->bytes && text_matches(known->text, UINT64_MAX >> (64 - known->bytes), known->bytes, at);
}

/* The one that was learned first moves to the second place. */
static inline void learn_container(struct ap_element_reader *element, unsigned place, const uint8_t *start, size_t bytes)
{
    struct ap_known_container *known = &element->containers[place];
    element->containers[place ^ 1] = *known;
    memcpy(known->text, start, bytes);
    known->bytes = (uint8_t)bytes;
}

static inline enum ap_scan_result skip_container(struct ap_scan *scan, struct ap_element_reader *element, const uint8_t **p)
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
    if (result == AP_SCAN_OK && bytes <= sizeof(element->containers[0].text) && !odd && !scan->odds.any)
        learn_container(element, place, start, bytes);
    return result;
}

#else

static inline enum ap_scan_result skip_container(struct ap_scan *scan, struct ap_element_reader *element, const uint8_t **p)
{
    return skip_unknown(scan, element, p);
}

#endif

#endif
