/* SPDX-License-Identifier: MIT */
#include "decimal.h"

#include <string.h>

#include "decimal_short.h"

#include "poison.h"

#define MAX_EXPONENT 4000

static uint64_t eight_digits(const char *p)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t value;
    memcpy(&value, p, sizeof(value));
    return ap_eight_digits_of(value);
#else
    uint64_t result = 0;
    for (int i = 0; i < 8; i++)
        result = result * 10 + (uint64_t)(p[i] - '0');
    return result;
#endif
}

static uint64_t digits(const char *p, size_t count)
{
    uint64_t value = 0;
    for (; count >= 8; count -= 8, p += 8)
        value = value * 100000000u + eight_digits(p);
    for (; count; count--, p++)
        value = value * 10 + (uint64_t)(*p - '0');
    return value;
}

/* Where the parts of a number in JSON's grammar stand. */
struct parts {
    bool negative, complete; /* complete: at least one digit, and nothing behind the number */
    const char *whole, *fraction;
    size_t whole_count, fraction_count;
    int exponent;
};

static struct parts split(const char *text, size_t bytes)
{
    struct parts parts = { .negative = bytes && *text == '-' };
    const char *at = text + parts.negative, *end = text + bytes;
    parts.whole = at;
    while (at < end && ap_is_digit(*at))
        at++;
    parts.whole_count = (size_t)(at - parts.whole);
    if (at < end && *at == '.') {
        parts.fraction = ++at;
        while (at < end && ap_is_digit(*at))
            at++;
        parts.fraction_count = (size_t)(at - parts.fraction);
    }
    if (at < end && (*at | 0x20) == 'e') {
        bool minus = ++at < end && *at == '-';
        at += at < end && (*at == '-' || *at == '+');
        for (; at < end && ap_is_digit(*at); at++)
            if (parts.exponent < MAX_EXPONENT)
                parts.exponent = parts.exponent * 10 + (*at - '0');
        parts.exponent = minus ? -parts.exponent : parts.exponent;
    }
    parts.complete = parts.whole_count && at == end && ap_is_digit(end[-1]);
    return parts;
}

static char digit_at(const struct parts *parts, size_t index)
{
    return index < parts->whole_count ? parts->whole[index] : parts->fraction[index - parts->whole_count];
}

/* The number times 10^shift; digits beyond are rounded. Any number of digits and any exponent. */
static enum ap_decimal_result scale(const struct parts *parts, int shift, uint64_t max, uint64_t *ret_value)
{
    int64_t count = (int64_t)(parts->whole_count + parts->fraction_count);
    int64_t wanted = (int64_t)parts->whole_count + parts->exponent + shift;
    uint64_t value = 0;
    enum ap_decimal_result result = AP_DECIMAL_EXACT;
    for (int64_t i = 0; i < count && i < wanted; i++)
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(digit_at(parts, (size_t)i) - '0'), &value) || value > max)
            return AP_DECIMAL_OUT_OF_RANGE;
    for (int64_t i = count; i < wanted && value; i++)
        if (__builtin_mul_overflow(value, 10u, &value) || value > max)
            return AP_DECIMAL_OUT_OF_RANGE;
    for (int64_t i = wanted > 0 ? wanted : 0; i < count; i++) {
        char digit = digit_at(parts, (size_t)i);
        if (digit != '0')
            result = AP_DECIMAL_ROUNDED;
        if (i == wanted && digit >= '5')
            value++;
    }
    *ret_value = value;
    return value > max ? AP_DECIMAL_OUT_OF_RANGE : result;
}

static __attribute__((noinline)) enum ap_decimal_result any_us_to_ns(const char *text, size_t bytes, int64_t *ret_ns)
{
    struct parts parts = split(text, bytes);
    uint64_t value;
    enum ap_decimal_result result = AP_DECIMAL_EXACT;
    if (AP_LIKELY(parts.whole_count <= 15 && parts.fraction_count <= 3 && parts.exponent == 0)) {
        static const uint64_t scales[] = { 1000, 100, 10, 1 };
        value = digits(parts.whole, parts.whole_count) * 1000;
        value += digits(parts.fraction, parts.fraction_count) * scales[parts.fraction_count];
    } else {
        result = scale(&parts, 3, (uint64_t)AP_MAX_TIME_NS, &value);
        if (result == AP_DECIMAL_OUT_OF_RANGE)
            return result;
    }
    *ret_ns = parts.negative ? -(int64_t)value : (int64_t)value;
    return result;
}

enum ap_decimal_result ap_decimal_us_to_ns(const char *text, size_t bytes, int64_t *ret_ns)
{
    int64_t ns = bytes >= sizeof(uint64_t) ? ap_decimal_usual_time(text, bytes) : -1;
    if (AP_UNLIKELY(ns < 0))
        return any_us_to_ns(text, bytes, ret_ns);
    *ret_ns = ns;
    return AP_DECIMAL_EXACT;
}

enum ap_decimal_result ap_decimal_to_millionths(const char *text, size_t bytes, int64_t *ret_millionths)
{
    static const uint64_t scales[] = { 1000000, 100000, 10000, 1000, 100, 10, 1 };
    struct parts parts = split(text, bytes);
    uint64_t value;
    enum ap_decimal_result result = AP_DECIMAL_EXACT;
    if (AP_LIKELY(parts.whole_count <= 12 && parts.fraction_count <= 6 && parts.exponent == 0))
        value = digits(parts.whole, parts.whole_count) * scales[0] +
                digits(parts.fraction, parts.fraction_count) * scales[parts.fraction_count];
    else
        result = scale(&parts, 6, INT64_MAX, &value);
    if (result != AP_DECIMAL_OUT_OF_RANGE)
        *ret_millionths = parts.negative ? -(int64_t)value : (int64_t)value;
    return result;
}

/* As nearly all are written: digits that cannot be too many. */
static bool few_digits(const char *text, size_t bytes, int64_t *ret_integer)
{
    int64_t value = 0;
    if (!bytes || bytes > 18)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        if (!ap_is_digit(text[i]))
            return false;
        value = value * 10 + (text[i] - '0');
    }
    *ret_integer = value;
    return true;
}

bool ap_decimal_to_integer(const char *text, size_t bytes, int64_t *ret_integer)
{
    if (AP_LIKELY(few_digits(text, bytes, ret_integer)))
        return true;
    struct parts parts = split(text, bytes);
    uint64_t value;
    if (!parts.complete || scale(&parts, 0, (uint64_t)INT64_MAX + parts.negative, &value) != AP_DECIMAL_EXACT)
        return false;
    *ret_integer = parts.negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

bool ap_decimal_to_u64(const char *text, size_t bytes, uint64_t *ret_number)
{
    uint64_t value = 0;
    if (!bytes)
        return false;
    for (size_t i = 0; i < bytes; i++)
        if (!ap_is_digit(text[i]) || __builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value))
            return false;
    *ret_number = value;
    return true;
}

/* Writes from the last digit to the first, which it returns; a sign before it. */
static char *write_before(char *end, uint64_t number, bool negative)
{
    do
        *--end = (char)('0' + number % 10);
    while (number /= 10);
    if (negative)
        *--end = '-';
    return end;
}

static uint64_t size_of(int64_t number)
{
    return number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
}

struct ap_text ap_decimal_of(int64_t number, char room[AP_DECIMAL_BYTES])
{
    char *end = room + AP_DECIMAL_BYTES - 1, *start = write_before(end, size_of(number), number < 0);
    *end = '\0';
    return (struct ap_text){ start, (size_t)(end - start) };
}

struct ap_text ap_decimal_of_ns_in_us(int64_t ns, char room[AP_DECIMAL_BYTES])
{
    uint64_t size = size_of(ns);
    char *end = room + AP_DECIMAL_BYTES - 1, *point = end;
    if (size % 1000) {
        point = write_before(end, 1000 + size % 1000, false);
        *point = '.'; /* in the place of the thousand, which kept the zeros */
        while (end[-1] == '0')
            end--;
    }
    *end = '\0';
    char *start = write_before(point, size / 1000, ns < 0);
    return (struct ap_text){ start, (size_t)(end - start) };
}

/* The digits of @size, the last @decimals of them behind a point, without zeros at its end. */
static struct ap_text write_fixed(char *room, uint64_t size, unsigned decimals, bool negative)
{
    char *end = room + AP_DECIMAL_BYTES - 1, *point = end;
    for (; decimals && size % 10 == 0; decimals--)
        size /= 10;
    *end = '\0';
    for (unsigned i = 0; i < decimals; i++, size /= 10)
        *--point = (char)('0' + size % 10);
    if (decimals)
        *--point = '.';
    char *start = write_before(point, size, negative);
    return (struct ap_text){ start, (size_t)(end - start) };
}

#define LEAST_DIGITS 100000000.0 /* nine of them */
#define MOST_DIGITS 1000000000.0

struct ap_text ap_decimal_of_double(double number, char room[AP_DECIMAL_BYTES])
{
    const struct ap_text none = { room, 0 };
    double size = number < 0 ? -number : number, scale = 1;
    unsigned decimals = 0;
    if (size == 0)
        return write_fixed(room, 0, 0, false);
    if (!(size >= 1e-4 && size < MOST_DIGITS)) /* nor is what is no number */
        return none;
    if (size == (double)(uint32_t)size)
        return write_fixed(room, (uint32_t)size, 0, number < 0);
    for (; size * scale < LEAST_DIGITS; decimals++)
        scale *= 10;              /* exact: below 10^13 */
    double digits = size * scale; /* off by less than 10^-6 */
    uint64_t whole = (uint64_t)digits;
    double rest = digits - (double)whole;
    if (rest > 0.5 - 1e-6 && rest < 0.5 + 1e-6)
        return none;
    whole += rest > 0.5;
    return (double)whole < MOST_DIGITS ? write_fixed(room, whole, decimals, number < 0) : none;
}
