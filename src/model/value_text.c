/* SPDX-License-Identifier: MIT */
#include "value_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "catalogue.h"

#include "poison.h"

struct scale {
    double size; /* one of this unit, in the value's own */
    const char *unit;
};

/* from the largest down */
static const struct scale times[] = { { 1e9, " s" }, { 1e6, " ms" }, { 1e3, " us" } };
static const struct scale sizes[] = {
    { 1099511627776.0, " TiB" }, { 1073741824.0, " GiB" }, { 1048576.0, " MiB" }, { 1024.0, " KiB" }, { 1.0, " B" },
};

static size_t copy_out(char *to, size_t capacity, const char *text, size_t bytes)
{
    if (bytes >= capacity)
        bytes = capacity - 1;
    if (bytes)
        memcpy(to, text, bytes);
    to[bytes] = '\0';
    return bytes;
}

/* "-12345.67" -> "-12,345.67" */
static size_t group_digits(char *to, const char *number)
{
    size_t digits = strcspn(number, "."), used = 0;
    for (size_t i = 0; i < digits; i++) {
        if (i > 0 && ap_is_digit(number[i - 1]) && (digits - i) % 3 == 0)
            to[used++] = ',';
        to[used++] = number[i];
    }
    size_t rest = strlen(number + digits);
    memcpy(to + used, number + digits, rest + 1);
    return used + rest;
}

/* Three digits that count, zeros at the end left away, thousands set apart. */
static void three_digits(char to[AP_VALUE_TEXT_BYTES], double number)
{
    double size = fabs(number);
    char text[40];
    if (size >= 1e15) {
        (void)snprintf(to, AP_VALUE_TEXT_BYTES, "%.3g", number);
        return;
    }
    (void)snprintf(text, sizeof(text), "%.*f",
                   size >= 99.95               ? 0
                   : size >= 9.995             ? 1
                   : size >= 0.01 || size == 0 ? 2
                                               : 4,
                   number);
    char *point = strchr(text, '.');
    if (point) {
        char *end = text + strlen(text);
        while (end[-1] == '0')
            *--end = '\0';
        if (end - 1 == point)
            *point = '\0';
    }
    if (number != 0 && strspn(text, "-0") == strlen(text))
        (void)snprintf(text, sizeof(text), "%s0.0001", number < 0 ? ">-" : "<");
    (void)group_digits(to, text);
}

static size_t scaled(char *to, size_t capacity, double number, const struct scale *scales, size_t count)
{
    size_t i = 0;
    /* what would round to 1000 us is 1 ms */
    while (i + 1 < count && fabs(number) < scales[i].size - scales[i + 1].size / 2)
        i++;
    char text[AP_VALUE_TEXT_BYTES + 8];
    three_digits(text, number / scales[i].size);
    (void)strncat(text, scales[i].unit, sizeof(text) - strlen(text) - 1);
    return copy_out(to, capacity, text, strlen(text));
}

static size_t suffixed(char *to, size_t capacity, double number, const char *suffix)
{
    char text[AP_VALUE_TEXT_BYTES + 8];
    if (!isfinite(number))
        return copy_out(to, capacity, "n/a", 3);
    three_digits(text, number);
    (void)strncat(text, suffix, sizeof(text) - strlen(text) - 1);
    return copy_out(to, capacity, text, strlen(text));
}

static size_t ratio(char *to, size_t capacity, const struct ap_value *value)
{
    if (*ap_catalogue_sign(value->key))
        return suffixed(to, capacity, value->as.number, " times");
    return suffixed(to, capacity, value->as.number * 100, " %");
}

static size_t count(char *to, size_t capacity, int64_t number)
{
    char digits[32], text[AP_VALUE_TEXT_BYTES];
    (void)snprintf(digits, sizeof(digits), "%lld", (long long)number);
    return copy_out(to, capacity, text, group_digits(text, digits));
}

size_t ap_format_value(const struct ap_value *value, char *to, size_t capacity)
{
    switch (value ? value->type : AP_VALUE_NULL) {
    case AP_VALUE_NULL:
    case AP_VALUE_LIST:
    case AP_VALUE_OBJECT: break;
    case AP_VALUE_BOOL: return value->as.integer ? copy_out(to, capacity, "yes", 3) : copy_out(to, capacity, "no", 2);
    case AP_VALUE_COUNT: return count(to, capacity, value->as.integer);
    case AP_VALUE_BYTES: return scaled(to, capacity, (double)value->as.integer, sizes, AP_COUNT_OF(sizes));
    case AP_VALUE_TIME_NS: return scaled(to, capacity, (double)value->as.integer, times, AP_COUNT_OF(times));
    case AP_VALUE_RATIO: return ratio(to, capacity, value);
    case AP_VALUE_NUMBER: return suffixed(to, capacity, value->as.number, "");
    case AP_VALUE_TEXT:
    case AP_VALUE_LITERAL: return copy_out(to, capacity, value->as.text.data, value->as.text.bytes);
    }
    return copy_out(to, capacity, "n/a", 3);
}
