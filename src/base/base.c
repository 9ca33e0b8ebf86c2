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

struct ap_text ap_text_of(const char *nul_terminated)
{
    return (struct ap_text){ nul_terminated, strlen(nul_terminated) };
}

bool ap_text_equal(struct ap_text a, struct ap_text b)
{
    return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.data, b.data, a.bytes) == 0);
}

bool ap_text_is(struct ap_text text, const char *nul_terminated)
{
    return ap_text_equal(text, ap_text_of(nul_terminated));
}

int ap_text_compare(struct ap_text a, struct ap_text b)
{
    size_t common = a.bytes < b.bytes ? a.bytes : b.bytes;
    int order = common ? memcmp(a.data, b.data, common) : 0;
    if (order)
        return order;
    return (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

static char folded(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool ap_text_contains_folded(struct ap_text text, const char *lower_needle)
{
    size_t needle_bytes = strlen(lower_needle);
    for (size_t start = 0; start + needle_bytes <= text.bytes; start++) {
        size_t same = 0;
        while (same < needle_bytes && folded(text.data[start + same]) == lower_needle[same])
            same++;
        if (same == needle_bytes)
            return true;
    }
    return false;
}

bool ap_text_starts_with(struct ap_text text, const char *prefix)
{
    size_t prefix_bytes = strlen(prefix);
    return text.bytes >= prefix_bytes && memcmp(text.data, prefix, prefix_bytes) == 0;
}
