/* SPDX-License-Identifier: MIT
 * How numbers look. A reader of the file (tests/golden.py is one) can take every figure back to the JSON:
 *   1,034,551.204   exact: the JSON's number with thousands separated. Times are microseconds everywhere, so the first
 *                   comma from the right stands at milliseconds, the second at seconds
 *   39.6 %          100 times a ratio of the JSON, rounded to the digits shown
 *   1.52 x, 3,105.2 /s, 4.25 /step   a number of the JSON, rounded to the digits shown
 *   1,034,551.204 us (1.03 s), 20,971,520 B (20 MiB)   exact, then the same rounded
 * and "–" or "not recorded" for what is null. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "md.h"
#include "value_text.h"

#include "poison.h"

/* Thousands separated, in the digits before the point. @number: what printf makes of a finite number. */
static void write_grouped(struct ap_out *out, const char *number)
{
    if (*number == '-')
        ap_out_char(out, *number++);
    size_t digits = strspn(number, "0123456789");
    for (size_t i = 0; i < digits; i++) {
        if (i && (digits - i) % 3 == 0)
            ap_out_char(out, ',');
        ap_out_char(out, number[i]);
    }
    ap_out_string(out, number + digits);
}

void ap_md_integer(struct md *md, int64_t number)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%lld", (long long)number);
    write_grouped(&md->out, text);
}

static void write_microseconds(struct ap_out *out, int64_t ns)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    char text[40];
    int bytes = snprintf(text, sizeof(text), "%s%llu", ns < 0 ? "-" : "", (unsigned long long)(size / 1000));
    unsigned fraction = (unsigned)(size % 1000);
    if (fraction) {
        bytes += snprintf(text + bytes, sizeof(text) - (size_t)bytes, ".%03u", fraction);
        while (text[bytes - 1] == '0')
            text[--bytes] = '\0';
    }
    write_grouped(out, text);
}

void ap_md_rounded(struct md *md, const struct ap_value *value)
{
    char text[AP_VALUE_TEXT_BYTES];
    bool known = value && (value->type == AP_VALUE_TIME_NS || value->type == AP_VALUE_BYTES);
    if (known)
        (void)ap_format_value(value, text, sizeof(text));
    ap_md_string(md, known ? text : "–");
}

/* The exact figure with its unit; the rounded one behind it where that is shorter. */
static void write_full(struct md *md, const struct ap_value *value)
{
    bool time = value->type == AP_VALUE_TIME_NS;
    int64_t from = time ? 1000000 : 1024;
    if (time)
        write_microseconds(&md->out, value->as.integer);
    else
        ap_md_integer(md, value->as.integer);
    ap_out_string(&md->out, time ? " us" : " B");
    if (value->as.integer >= from || value->as.integer <= -from) {
        ap_out_string(&md->out, " (");
        ap_md_rounded(md, value);
        ap_out_char(&md->out, ')');
    }
}

/* @digits of them in all, where there are that many before the point or after, and what the number is. */
static void write_with_suffix(struct ap_out *out, double number, int digits, const char *suffix)
{
    double size = fabs(number);
    int decimals = size >= 100 ? 1 : size >= 10 ? digits - 2 : size >= 1 ? digits - 1 : 3;
    char text[400];
    if (!isfinite(number)) {
        ap_out_string(out, "–");
        return;
    }
    if (number == 0)
        (void)snprintf(text, sizeof(text), "0");
    else if (size < 0.001)
        (void)snprintf(text, sizeof(text), number < 0 ? "&gt;-0.001" : "&lt;0.001");
    else
        (void)snprintf(text, sizeof(text), "%.*f", decimals, number);
    write_grouped(out, text);
    if (*suffix)
        ap_out_char(out, ' ');
    ap_out_string(out, suffix);
}

static bool ends_with(struct ap_text text, const char *end)
{
    struct ap_text tail = ap_text_of(end);
    return text.bytes >= tail.bytes && memcmp(text.data + text.bytes - tail.bytes, end, tail.bytes) == 0;
}

static void write_ratio(struct ap_out *out, double ratio, struct ap_text name)
{
    /* what compares two sizes may be any number of times; all other ratios are shares */
    if (ap_text_contains_folded(name, "_vs_") || ap_text_contains_folded(name, "_over_") ||
        ap_text_contains_folded(name, "cold_start"))
        write_with_suffix(out, ratio, 4, "x");
    else
        write_with_suffix(out, ratio * 100, 3, "%");
}

static void write_number(struct ap_out *out, double number, struct ap_text name, enum md_form form)
{
    if (ends_with(name, "gigabytes_per_s"))
        write_with_suffix(out, number, 4, form == MD_FULL ? "GB/s" : "");
    else if (ends_with(name, "per_s"))
        write_with_suffix(out, number, 4, "/s");
    else if (ends_with(name, "per_step"))
        write_with_suffix(out, number, 4, "/step");
    else if (isfinite(number))
        write_with_suffix(out, number, 4, "");
    else
        ap_out_string(out, "–");
}

static void write_id(struct md *md, int64_t id)
{
    ap_out_format(&md->out, "`%lld`", (long long)id);
}

void ap_md_value(struct md *md, const struct ap_value *value, struct ap_text name, enum md_form form)
{
    switch (value ? value->type : AP_VALUE_NULL) {
    case AP_VALUE_NULL:
    case AP_VALUE_LIST:
    case AP_VALUE_OBJECT: ap_out_string(&md->out, form == MD_FULL ? "not recorded" : "–"); break;
    case AP_VALUE_BOOL: ap_out_string(&md->out, value->as.integer ? "yes" : "no"); break;
    case AP_VALUE_COUNT:
    case AP_VALUE_BYTES:
        if (form == MD_ID)
            write_id(md, value->as.integer);
        else if (form == MD_FULL && value->type == AP_VALUE_BYTES)
            write_full(md, value);
        else
            ap_md_integer(md, value->as.integer);
        break;
    case AP_VALUE_TIME_NS:
        if (form == MD_FULL)
            write_full(md, value);
        else
            write_microseconds(&md->out, value->as.integer);
        break;
    case AP_VALUE_RATIO: write_ratio(&md->out, value->as.number, name); break;
    case AP_VALUE_NUMBER: write_number(&md->out, value->as.number, name, form); break;
    case AP_VALUE_TEXT:
        if (form == MD_PROSE)
            ap_md_prose(md, value->as.text);
        else
            ap_md_name(md, value->as.text);
        break;
    case AP_VALUE_LITERAL: ap_md_name(md, value->as.text); break;
    }
}
