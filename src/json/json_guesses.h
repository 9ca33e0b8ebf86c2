/* SPDX-License-Identifier: MIT
 * json_guesses.h - inside the json stage: how a value is laid out, guessed from the last one at its place. */
#ifndef AP_JSON_GUESSES_H
#define AP_JSON_GUESSES_H

#include "json_lanes.h"
#include "json_layout.h"

#define VALUE_UNKNOWN 255 /* bytes of a value that has to be read by the grammar */

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

#endif
