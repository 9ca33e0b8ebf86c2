/* SPDX-License-Identifier: MIT */
#include "json_text.h"

#include <string.h>

#include "code_point.h"

#include "poison.h"

static void write_unit(struct ap_out *out, uint32_t utf16_unit)
{
    ap_out_format(out, "\\u%04x", (unsigned)utf16_unit);
}

static void write_escape(struct ap_out *out, uint32_t code_point)
{
    switch (code_point) {
    case '"': ap_out_string(out, "\\\""); return;
    case '\\': ap_out_string(out, "\\\\"); return;
    case '\b': ap_out_string(out, "\\b"); return;
    case '\f': ap_out_string(out, "\\f"); return;
    case '\n': ap_out_string(out, "\\n"); return;
    case '\r': ap_out_string(out, "\\r"); return;
    case '\t': ap_out_string(out, "\\t"); return;
    default: break;
    }
    if (code_point < 0x10000) {
        write_unit(out, code_point);
    } else {
        write_unit(out, 0xD800 + ((code_point - 0x10000) >> 10));
        write_unit(out, 0xDC00 + ((code_point - 0x10000) & 0x3FF));
    }
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Of eight bytes below 0x80: the high bit of the first of those that are below @limit, which is at most 0x80, is set; so may
 * be that of others behind it, and other bits. */
static uint64_t below(uint64_t bytes, uint64_t limit)
{
    return bytes - EACH(limit);
}

/* Do eight bytes stand for themselves? */
static bool are_plain(const char *text)
{
    uint64_t bytes;
    memcpy(&bytes, text, sizeof(bytes));
    uint64_t odd = bytes | below(bytes, ' ') | below(bytes ^ EACH(0x7f), 1) | below(bytes ^ EACH('"'), 1) |
                   below(bytes ^ EACH('\\'), 1);
    return !(odd & EACH(0x80));
}

static bool is_plain(char byte)
{
    return byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\';
}

/* From @at on to the first byte that needs more than a look. */
static size_t skip_plain(struct ap_text text, size_t at)
{
    while (at + 8 <= text.bytes && are_plain(text.data + at))
        at += 8;
    if (at < text.bytes && text.bytes - at < 8 && text.bytes >= 8 && are_plain(text.data + text.bytes - 8))
        return text.bytes;
    while (at < text.bytes && is_plain(text.data[at]))
        at++;
    return at;
}

void ap_json_write_text(struct ap_out *out, struct ap_text text)
{
    ap_out_char(out, '"');
    size_t plain = 0; /* start of what needs no change */
    for (size_t at = skip_plain(text, 0); at < text.bytes; at = skip_plain(text, at)) {
        size_t start = at;
        uint32_t code_point = ap_code_point_next(text, &at);
        bool broken = code_point == AP_CODE_POINT_REPLACEMENT && at - start == 1;
        if (!broken && code_point != '"' && code_point != '\\' && !ap_code_point_is_hidden(code_point))
            continue;
        ap_out_text(out, (struct ap_text){ text.data + plain, start - plain });
        if (broken)
            ap_out_string(out, "\xEF\xBF\xBD");
        else
            write_escape(out, code_point);
        plain = at;
    }
    if (plain < text.bytes)
        ap_out_text(out, (struct ap_text){ text.data + plain, text.bytes - plain });
    ap_out_char(out, '"');
}

static size_t skip_digits(struct ap_text text, size_t at)
{
    while (at < text.bytes && ap_is_digit(text.data[at]))
        at++;
    return at;
}

static bool is_json_number(struct ap_text text)
{
    size_t at = text.bytes && text.data[0] == '-' ? 1 : 0;
    size_t digits = at;
    at = skip_digits(text, at);
    if (at == digits || (text.data[digits] == '0' && at > digits + 1))
        return false;
    if (at < text.bytes && text.data[at] == '.') {
        digits = at + 1;
        at = skip_digits(text, digits);
        if (at == digits)
            return false;
    }
    if (at < text.bytes && (text.data[at] == 'e' || text.data[at] == 'E')) {
        at++;
        if (at < text.bytes && (text.data[at] == '+' || text.data[at] == '-'))
            at++;
        digits = at;
        at = skip_digits(text, digits);
        if (at == digits)
            return false;
    }
    return at == text.bytes;
}

void ap_json_write_literal(struct ap_out *out, struct ap_text text)
{
    if (is_json_number(text) || ap_text_is(text, "true") || ap_text_is(text, "false") || ap_text_is(text, "null"))
        ap_out_text(out, text);
    else
        ap_json_write_text(out, text);
}
