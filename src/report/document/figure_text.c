/* SPDX-License-Identifier: MIT */
#include "figure_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "catalogue.h"
#include "decimal.h"
#include "value_text.h"

#include "poison.h"

struct line {
    char *to;
    size_t used;
};

static void add(struct line *line, const char *text)
{
    for (; *text && line->used + 1 < AP_FIGURE_BYTES; text++)
        line->to[line->used++] = *text;
    line->to[line->used] = '\0';
}

/* Thousands separated, in the digits before the point. @number: what printf makes of a finite number. */
static void add_grouped(struct line *line, const char *number)
{
    size_t sign = *number == '-', digits = strspn(number + sign, "0123456789");
    for (size_t i = 0; i < sign + digits; i++) {
        char one[] = { number[i], '\0' };
        if (i > sign && (sign + digits - i) % 3 == 0)
            add(line, ",");
        add(line, one);
    }
    add(line, number + sign + digits);
}

static void add_integer(struct line *line, int64_t number)
{
    char text[AP_DECIMAL_BYTES];
    add_grouped(line, ap_decimal_of(number, text).data);
}

static void add_microseconds(struct line *line, int64_t ns)
{
    char text[AP_DECIMAL_BYTES];
    add_grouped(line, ap_decimal_of_ns_in_us(ns, text).data);
}

/* The exact figure; in full with its unit, and the rounded one behind it where that is shorter. */
static void add_exact(struct line *line, const struct ap_value *value, bool full)
{
    bool time = value->type == AP_VALUE_TIME_NS;
    int64_t from = time ? 1000000 : 1024, number = value->as.integer;
    if (time)
        add_microseconds(line, number);
    else
        add_integer(line, number);
    if (full)
        add(line, time ? " us" : " B");
    if (full && (number >= from || number <= -from)) {
        char rounded[AP_VALUE_TEXT_BYTES];
        (void)ap_format_value(value, rounded, sizeof(rounded));
        add(line, " (");
        add(line, rounded);
        add(line, ")");
    }
}

/* @digits of them in all, where there are that many before the point or after, and what the number is. */
static void add_rounded(struct line *line, double number, int digits, const char *suffix)
{
    double size = fabs(number);
    int decimals = size >= 100 ? 1 : size >= 10 ? digits - 2 : size >= 1 ? digits - 1 : 3;
    char text[400];
    if (!isfinite(number)) {
        add(line, "–");
        return;
    }
    if (number == 0)
        (void)snprintf(text, sizeof(text), "0");
    else if (size < 0.001)
        (void)snprintf(text, sizeof(text), number < 0 ? ">-0.001" : "<0.001");
    else
        (void)snprintf(text, sizeof(text), "%.*f", decimals, number);
    add_grouped(line, text);
    add(line, suffix);
}

static void add_ratio(struct line *line, double ratio, const char *sign)
{
    if (*sign) /* it may be any number of times; all others are shares */
        add_rounded(line, ratio, 4, " x");
    else
        add_rounded(line, ratio * 100, 3, " %");
}

#define WHOLE_LIMIT 1e7 /* of larger numbers the JSON report does not give each digit */

/* Of a rate by what its sign begins with: titles of columns tell the others. */
static void add_number(struct line *line, double number, const char *sign, bool full)
{
    bool is_whole = number == floor(number) && fabs(number) < WHOLE_LIMIT;
    if (is_whole)
        add_integer(line, (int64_t)number);
    else
        add_rounded(line, number, 4, "");
    if (isfinite(number) && *sign && (full || *sign == '/')) {
        add(line, " ");
        add(line, sign);
    }
}

size_t ap_figure_format(const struct ap_value *value, struct ap_text name, bool full, char to[AP_FIGURE_BYTES])
{
    struct line line = { to, 0 };
    switch (value ? value->type : AP_VALUE_NULL) {
    case AP_VALUE_BOOL: add(&line, value->as.integer ? "yes" : "no"); break;
    case AP_VALUE_COUNT: add_integer(&line, value->as.integer); break;
    case AP_VALUE_BYTES:
    case AP_VALUE_TIME_NS: add_exact(&line, value, full); break;
    case AP_VALUE_RATIO: add_ratio(&line, value->as.number, ap_catalogue_sign(name)); break;
    case AP_VALUE_NUMBER: add_number(&line, value->as.number, ap_catalogue_sign(name), full); break;
    default: add(&line, full ? "not recorded" : "–"); break;
    }
    return line.used;
}
