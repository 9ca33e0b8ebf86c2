/* SPDX-License-Identifier: MIT */
#include "json_cursor.h"

#include <string.h>

#include "decimal.h"

#include "poison.h"

char ap_cursor_peek(struct ap_json_cursor *cursor)
{
    ap_cursor_space(cursor);
    return cursor->at < cursor->end ? *cursor->at : '\0';
}

struct ap_text ap_cursor_string(struct ap_json_cursor *cursor, bool *ret_decode)
{
    const char *start = cursor->at < cursor->end ? ++cursor->at : cursor->at;
    *ret_decode = false;
    for (; cursor->at < cursor->end && *cursor->at != '"'; cursor->at++) {
        bool escape = *cursor->at == '\\';
        *ret_decode = *ret_decode || escape || (unsigned char)*cursor->at >= 0x80;
        cursor->at += escape && cursor->end - cursor->at > 1;
    }
    struct ap_text text = { start, (size_t)(cursor->at - start) };
    cursor->at += cursor->at < cursor->end;
    return text;
}

static struct ap_text take_scalar(struct ap_json_cursor *cursor)
{
    const char *start = cursor->at;
    while (cursor->at < cursor->end && (unsigned char)*cursor->at > ' ' && !strchr(",]}", *cursor->at))
        cursor->at++;
    return (struct ap_text){ start, (size_t)(cursor->at - start) };
}

void ap_cursor_skip(struct ap_json_cursor *cursor)
{
    uint64_t depth = 0;
    bool decode;
    for (;;) {
        char c = ap_cursor_peek(cursor);
        if (cursor->at >= cursor->end)
            return;
        if (c == '"') {
            ap_cursor_string(cursor, &decode);
        } else if (c == '{' || c == '[') {
            depth++;
            cursor->at++;
        } else if (c == '}' || c == ']') {
            if (!depth)
                return;
            depth--;
            cursor->at++;
        } else if (c == ',' || c == ':') {
            if (!depth)
                return;
            cursor->at++;
        } else {
            take_scalar(cursor);
        }
        if (!depth)
            return;
    }
}

bool ap_cursor_whole(struct ap_json_cursor *cursor, int64_t *ret_number)
{
    char c = ap_cursor_peek(cursor);
    if ((c < '0' || c > '9') && c != '-') {
        ap_cursor_skip(cursor);
        return false;
    }
    struct ap_text number = take_scalar(cursor);
    uint64_t large;
    if (ap_decimal_to_integer(number.data, number.bytes, ret_number))
        return true;
    if (!ap_decimal_to_u64(number.data, number.bytes, &large))
        return false;
    *ret_number = (int64_t)large;
    return true;
}
