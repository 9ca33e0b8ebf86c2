/* SPDX-License-Identifier: MIT
 * json_guesses.h - inside the json stage: how a value is laid out, guessed from the last one at its place. */
#ifndef AP_JSON_GUESSES_H
#define AP_JSON_GUESSES_H

#include "json_lanes.h"
#include "json_layout.h"

#define VALUE_UNKNOWN UINT32_MAX /* bytes of a value that has to be read by the grammar */

#if STEP == 32

/* As string_stops, of constants that lie in memory. */
static inline lane_mask value_stops(const uint8_t *p)
{
    __m256i v = load_lane(p), low = _mm256_cmpeq_epi8(_mm256_min_epi8(v, load_lane(ap_scan_constants.last_controls)), v);
    __m256i special = _mm256_or_si256(_mm256_cmpeq_epi8(v, load_lane(ap_scan_constants.quotes)),
                                      _mm256_cmpeq_epi8(v, load_lane(ap_scan_constants.backslashes)));
    return (lane_mask)_mm256_movemask_epi8(_mm256_or_si256(special, low));
}

/* Its bytes, or VALUE_UNKNOWN where it is not plain. A short one is the guess for the next string. */
static inline unsigned measure_string(struct ap_guess *guess, const uint8_t *at, lane_mask stops)
{
    const uint8_t *end = stops ? at + first_lane(stops) : seek_string_stop(at + 32);
    if (*end != '"')
        return VALUE_UNKNOWN;
    if (stops)
        guess->bytes = (uint8_t)(end - at);
    return (unsigned)(end - at);
}

/* The value as it was laid out last time or, where it is plain, otherwise. Its bytes, or VALUE_UNKNOWN. */
static inline unsigned guess_string(struct ap_guess *guess, const uint8_t *at)
{
    lane_mask stops = value_stops(at);
    if (AP_LIKELY(_tzcnt_u32(stops) == guess->bytes && at[guess->bytes] == '"')) /* 32 where there are none */
        return guess->bytes;
    return measure_string(guess, at, stops);
}

/* The bytes at @at: all digits are '0', and each other one is 9 less, which gives neither that nor one of the 9 before. */
static inline __m256i shape_of(const uint8_t *at)
{
    __m256i v = load_lane(at), worth = _mm256_sub_epi8(v, load_lane(ap_scan_constants.zeros));
    return _mm256_sub_epi8(v, _mm256_min_epu8(worth, load_lane(ap_scan_constants.nines)));
}

/* Likewise of a number. */
static inline unsigned measure_number(struct ap_guess *guess, const uint8_t *at)
{
    __m256i shape = shape_of(at);
    lane_mask others = (lane_mask)~_mm256_movemask_epi8(_mm256_cmpeq_epi8(shape, load_lane(ap_scan_constants.zeros)));
    unsigned whole = others ? first_lane(others) : 32, bytes = whole;
    if (whole == 0 || whole > 30)
        return VALUE_UNKNOWN;
    if (at[whole] == '.') {
        lane_mask behind = others & (others - 1);
        bytes = behind ? first_lane(behind) : 32;
        if (bytes > 30 || bytes == whole + 1)
            return VALUE_UNKNOWN;
    }
    uint8_t end = at[bytes];
    if ((end != ',' && end != '}' && end != '\n' && end != ' ') || (at[0] == '0' && whole > 1))
        return VALUE_UNKNOWN;
    _mm256_storeu_si256((__m256i *)(void *)guess->shape, shape);
    guess->upto = ((uint32_t)2 << bytes) - 1;
    guess->bytes = (uint8_t)bytes;
    guess->first = whole > 1 ? '0' : 0;
    return bytes;
}

/* In a guess that fits, the byte behind it is the one of last time, so nothing goes on with the number, and the text does
 * not end there. */
static inline unsigned guess_number(struct ap_guess *guess, const uint8_t *at)
{
    __m256i same = _mm256_cmpeq_epi8(shape_of(at), load_lane(guess->shape));
    if (AP_LIKELY(!(guess->upto & ~(lane_mask)_mm256_movemask_epi8(same)) && at[0] != guess->first))
        return guess->bytes;
    return measure_number(guess, at);
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

#endif
