/* SPDX-License-Identifier: MIT */
#include "base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "poison.h"

static enum ap_status fail(struct ap_error *reterr, enum ap_status status, const char *format, va_list arguments)
{
    if (reterr) {
        reterr->status = status;
        reterr->setting = AP_SETTING_NONE;
        reterr->advice = AP_ADVICE_NONE;
        reterr->has_lines = false;
        reterr->has_offset = false;
        reterr->offset_bytes = 0;
        (void)vsnprintf(reterr->message, sizeof(reterr->message), format, arguments);
    }
    return status;
}

enum ap_status ap_fail(struct ap_error *reterr, enum ap_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(reterr, status, format, arguments);
    va_end(arguments);
    return status;
}

enum ap_status ap_fail_at(struct ap_error *reterr, enum ap_status status, uint64_t offset_bytes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(reterr, status, format, arguments);
    va_end(arguments);
    if (reterr) {
        reterr->has_offset = true;
        reterr->offset_bytes = offset_bytes;
    }
    return status;
}

enum ap_status ap_refuse(struct ap_error *reterr, enum ap_setting setting, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(reterr, AP_ERROR_USAGE, format, arguments);
    va_end(arguments);
    if (reterr)
        reterr->setting = setting;
    return AP_ERROR_USAGE;
}

enum ap_status ap_advise(struct ap_error *reterr, enum ap_advice advice, enum ap_status status)
{
    if (reterr)
        reterr->advice = advice;
    return status;
}

int ap_text_compare(struct ap_text a, struct ap_text b)
{
    size_t common = a.bytes < b.bytes ? a.bytes : b.bytes;
    int order = common ? memcmp(a.data, b.data, common) : 0;
    if (order)
        return order;
    return (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

static bool begins_folded(const char *text, const char *lower, size_t bytes)
{
    size_t same = 0;
    while (same < bytes && ap_folded(text[same]) == lower[same])
        same++;
    return same == bytes;
}

/* NULL where the byte is in none of them. */
static const char *find_byte(const char *from, const char *end, char byte)
{
    return from < end ? memchr(from, byte, (size_t)(end - from)) : NULL;
}

/* Both forms of its first letter are looked for, each from where it stood last. */
bool ap_text_contains_folded(struct ap_text text, const char *lower_needle)
{
    size_t bytes = strlen(lower_needle);
    if (bytes > text.bytes || !bytes)
        return !bytes;
    char lower = lower_needle[0], upper = lower >= 'a' && lower <= 'z' ? (char)(lower - ('a' - 'A')) : lower;
    const char *end = text.data + (text.bytes - bytes) + 1;
    const char *small = find_byte(text.data, end, lower);
    const char *large = upper != lower ? find_byte(text.data, end, upper) : NULL;
    while (small || large) {
        bool is_small = small && (!large || small < large);
        const char *at = is_small ? small : large;
        if (begins_folded(at, lower_needle, bytes))
            return true;
        if (is_small)
            small = find_byte(at + 1, end, lower);
        else
            large = find_byte(at + 1, end, upper);
    }
    return false;
}

bool ap_text_starts_with(struct ap_text text, const char *prefix)
{
    size_t prefix_bytes = strlen(prefix);
    return text.bytes >= prefix_bytes && memcmp(text.data, prefix, prefix_bytes) == 0;
}

struct ap_text ap_text_trim(struct ap_text text)
{
    while (text.bytes && ap_is_space(text.data[0])) {
        text.data++;
        text.bytes--;
    }
    while (text.bytes && ap_is_space(text.data[text.bytes - 1]))
        text.bytes--;
    return text;
}

struct ap_text ap_text_cut(struct ap_text text, size_t most_bytes)
{
    if (text.bytes <= most_bytes)
        return text;
    while (most_bytes && ((unsigned char)text.data[most_bytes] & 0xc0) == 0x80)
        most_bytes--;
    return (struct ap_text){ text.data, most_bytes };
}

bool ap_text_next_part(struct ap_text *rest, char separator, struct ap_text *ret_part)
{
    if (!rest->data)
        return false;
    const char *end = rest->bytes ? memchr(rest->data, separator, rest->bytes) : NULL;
    size_t bytes = end ? (size_t)(end - rest->data) : rest->bytes;
    *ret_part = ap_text_trim((struct ap_text){ rest->data, bytes });
    *rest = end ? (struct ap_text){ end + 1, rest->bytes - bytes - 1 } : (struct ap_text){ NULL, 0 };
    return true;
}

bool ap_text_ends_with(struct ap_text text, const char *ending)
{
    size_t bytes = strlen(ending);
    return text.bytes >= bytes && memcmp(text.data + text.bytes - bytes, ending, bytes) == 0;
}

bool ap_text_contains(struct ap_text text, struct ap_text part)
{
    if (part.bytes == 0)
        return true;
    for (size_t at = 0; at + part.bytes <= text.bytes; at++) {
        const char *first = memchr(text.data + at, part.data[0], text.bytes - part.bytes + 1 - at);
        if (!first)
            return false;
        if (memcmp(first, part.data, part.bytes) == 0)
            return true;
        at = (size_t)(first - text.data);
    }
    return false;
}
