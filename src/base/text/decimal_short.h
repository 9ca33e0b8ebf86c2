/* SPDX-License-Identifier: MIT
 * decimal_short.h - plain digits of numbers in a JSON text, behind which more bytes are readable: eight at a time, without a
 * call. */
#ifndef AP_DECIMAL_SHORT_H
#define AP_DECIMAL_SHORT_H

#include <string.h>

#include "decimal.h"

/** Eight digits' worth at once, the first one in the lowest byte; the high half of each byte is left out: pairs, then fours,
 *  then eight. */
static inline uint64_t ap_eight_digits_of(uint64_t value)
{
    value = (value & 0x0f0f0f0f0f0f0f0fu) * 2561 >> 8;
    value = (value & 0x00ff00ff00ff00ffu) * 6553601 >> 16;
    return (value & 0x0000ffff0000ffffu) * 42949672960001u >> 32;
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

/** The three digits of a fraction and the point before them, or -1. */
static inline int ap_thousandths(const char *text)
{
    uint32_t word;
    memcpy(&word, text, sizeof(word));
    word ^= 0x3030302eu; /* the point becomes 0, a digit what it is worth */
    if (((word | (word + 0x76767600u)) & 0x808080ffu) != 0)
        return -1;
    return (int)((word >> 8 & 0xff) * 100 + (word >> 16 & 0xff) * 10 + (word >> 24));
}

/** 1 to 16 digits: shifting puts zeros, which are no digits' worth, before the first ones. */
static inline int64_t ap_digits_of_time(const char *text, size_t count)
{
    uint64_t first, last;
    memcpy(&first, text, sizeof(first));
    if (count <= 8)
        return (int64_t)ap_eight_digits_of(first << (64 - 8 * count));
    memcpy(&last, text + count - sizeof(last), sizeof(last));
    return (int64_t)(ap_eight_digits_of(first << (128 - 8 * count)) * 100000000u + ap_eight_digits_of(last));
}

#else

static inline int ap_thousandths(const char *text)
{
    return text[0] == '.' && ap_is_digit(text[1]) && ap_is_digit(text[2]) && ap_is_digit(text[3])
               ? (text[1] - '0') * 100 + (text[2] - '0') * 10 + (text[3] - '0')
               : -1;
}

static inline int64_t ap_digits_of_time(const char *text, size_t count)
{
    int64_t value = 0;
    for (size_t i = 0; i < count; i++)
        value = value * 10 + (text[i] - '0');
    return value;
}

#endif

/** Digits only, 1 to 8 of them, with 8 bytes readable at @text; -1 where it is something else. */
static inline int64_t ap_decimal_short(const char *text, size_t bytes)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t word;
    memcpy(&word, text, sizeof(word));
    word = (word ^ 0x3030303030303030u) << (64 - 8 * bytes); /* what a digit is worth, with zeros before the first one */
    return ((word + 0x7676767676767676u) | word) & 0x8080808080808080u ? -1 : (int64_t)ap_eight_digits_of(word);
#else
    int64_t value = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (!ap_is_digit(text[i]))
            return -1;
        value = value * 10 + (text[i] - '0');
    }
    return value;
#endif
}

/** Likewise of any number of them; -1 also where there are none, or more than 16. */
static inline int64_t ap_decimal_digits(const char *text, size_t bytes)
{
    if (bytes - 1 < 8)
        return ap_decimal_short(text, bytes);
    if (bytes - 1 >= 16)
        return -1;
    int64_t high = ap_decimal_short(text, bytes - 8), low = ap_decimal_short(text + bytes - 8, 8);
    return high < 0 || low < 0 ? -1 : high * 100000000 + low;
}

/** A number in JSON's grammar, in microseconds, as nanoseconds, where it is written as Kineto writes each time: at most 15
 *  digits, a point and three digits, with 8 bytes readable at @text; -1 where it is not. */
static inline int64_t ap_decimal_usual_time(const char *text, size_t bytes)
{
    if (AP_UNLIKELY(bytes - 5 > 14 || !ap_is_digit(text[0])))
        return -1;
    int fraction = ap_thousandths(text + bytes - 4);
    return fraction < 0 ? -1 : ap_digits_of_time(text, bytes - 4) * 1000 + fraction;
}

#endif
