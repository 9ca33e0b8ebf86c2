/* SPDX-License-Identifier: MIT
 * json_check.h - is this text one strict JSON document in valid UTF-8 without any raw control character? Written apart
 * from the project's reader, so that the writer is not judged by its sibling. */
#ifndef AP_JSON_CHECK_H
#define AP_JSON_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct json_check {
    const unsigned char *text;
    size_t bytes, at;
};

static inline bool json_check_literal(struct json_check *in, const char *literal)
{
    size_t bytes = strlen(literal);
    if (in->bytes - in->at < bytes || memcmp(in->text + in->at, literal, bytes) != 0)
        return false;
    in->at += bytes;
    return true;
}

static inline void json_check_space(struct json_check *in)
{
    while (in->at < in->bytes && memchr(" \n\t\r", in->text[in->at], 4))
        in->at++;
}

static inline size_t json_check_digits(struct json_check *in)
{
    size_t start = in->at;
    while (in->at < in->bytes && in->text[in->at] >= '0' && in->text[in->at] <= '9')
        in->at++;
    return in->at - start;
}

static inline bool json_check_number(struct json_check *in)
{
    (void)json_check_literal(in, "-");
    size_t first = in->at, digits = json_check_digits(in);
    if (!digits || (digits > 1 && in->text[first] == '0'))
        return false;
    if (json_check_literal(in, ".") && !json_check_digits(in))
        return false;
    if (json_check_literal(in, "e") || json_check_literal(in, "E")) {
        if (!json_check_literal(in, "+"))
            (void)json_check_literal(in, "-");
        return json_check_digits(in) > 0;
    }
    return true;
}

/* Table 3-7 of the Unicode standard: the ranges of the second byte */
static inline size_t json_check_utf8(const unsigned char *text, size_t bytes)
{
    unsigned char lead = text[0], low = 0x80, high = 0xBF;
    size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    if (length < 2 || length > bytes)
        return length > bytes ? 0 : length;
    low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : low;
    high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : high;
    if (text[1] < low || text[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (text[i] < 0x80 || text[i] > 0xBF)
            return 0;
    return length;
}

static inline bool json_check_escape(struct json_check *in)
{
    if (in->at >= in->bytes)
        return false;
    unsigned char kind = in->text[in->at++];
    if (kind != 'u')
        return memchr("\"\\/bfnrt", kind, 8) != NULL;
    for (int i = 0; i < 4; i++, in->at++)
        if (in->at >= in->bytes || !memchr("0123456789abcdefABCDEF", in->text[in->at], 22))
            return false;
    return true;
}

static inline bool json_check_string(struct json_check *in)
{
    if (!json_check_literal(in, "\""))
        return false;
    while (in->at < in->bytes) {
        unsigned char c = in->text[in->at];
        if (c == '"') {
            in->at++;
            return true;
        }
        if (c < 0x20 || c == 0x7F)
            return false;
        if (c == '\\') {
            in->at++;
            if (!json_check_escape(in))
                return false;
            continue;
        }
        size_t length = json_check_utf8(in->text + in->at, in->bytes - in->at);
        if (!length)
            return false;
        in->at += length;
    }
    return false;
}

static inline bool json_check_scalar(struct json_check *in)
{
    if (in->at >= in->bytes)
        return false;
    switch (in->text[in->at]) {
    case '"': return json_check_string(in);
    case 't': return json_check_literal(in, "true");
    case 'f': return json_check_literal(in, "false");
    case 'n': return json_check_literal(in, "null");
    default: return json_check_number(in);
    }
}

static inline bool json_check_key(struct json_check *in)
{
    json_check_space(in);
    if (!json_check_string(in))
        return false;
    json_check_space(in);
    return json_check_literal(in, ":");
}

/** Depth up to 256. */
static inline bool json_is_valid(const char *text, size_t bytes)
{
    struct json_check in = { (const unsigned char *)text, bytes, 0 };
    char open[256];
    size_t depth = 0;
    for (;;) {
        json_check_space(&in);
        bool object = json_check_literal(&in, "{");
        if (object || json_check_literal(&in, "[")) {
            char end[2] = { object ? '}' : ']', '\0' };
            json_check_space(&in);
            if (!json_check_literal(&in, end)) {
                if (depth == sizeof(open) || (object && !json_check_key(&in)))
                    return false;
                open[depth++] = end[0];
                continue;
            }
        } else if (!json_check_scalar(&in)) {
            return false;
        }
        for (;;) { /* behind a value */
            json_check_space(&in);
            if (depth == 0)
                return in.at == in.bytes;
            char end[2] = { open[depth - 1], '\0' };
            if (!json_check_literal(&in, end))
                break;
            depth--;
        }
        if (!json_check_literal(&in, ",") || (open[depth - 1] == '}' && !json_check_key(&in)))
            return false;
    }
}

/* Eight bytes of ASCII without control characters: most of a report. */
static inline bool text_is_plain_word(const unsigned char *text)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    uint64_t word, deleted;
    memcpy(&word, text, sizeof(word));
    deleted = word ^ (ones * 0x7F);
    return !((word | (word - ones * 0x20) | (deleted - ones)) & tops);
}

/** Also for Markdown: no byte that is not UTF-8, no control character but the line feed. */
static inline bool text_is_clean(const char *text, size_t bytes)
{
    const unsigned char *data = (const unsigned char *)text;
    for (size_t at = 0; at < bytes;) {
        if (bytes - at >= sizeof(uint64_t) && text_is_plain_word(data + at)) {
            at += sizeof(uint64_t);
            continue;
        }
        size_t length = data[at] < 0x80 ? 1 : json_check_utf8(data + at, bytes - at);
        if (!length || (data[at] < 0x20 && data[at] != '\n') || data[at] == 0x7F)
            return false;
        if (length == 2 && data[at] == 0xC2 && data[at + 1] < 0xA0)
            return false;
        at += length;
    }
    return true;
}

#endif
