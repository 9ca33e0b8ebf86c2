/* SPDX-License-Identifier: MIT
 * json_cursor.h - a walk over a short JSON text that was found valid already. It never leaves
 * the text, whatever that holds. */
#ifndef AP_JSON_CURSOR_H
#define AP_JSON_CURSOR_H

#include "base.h"

struct ap_json_cursor {
    const char *at, *end;
};

static inline void ap_cursor_space(struct ap_json_cursor *cursor)
{
    while (cursor->at < cursor->end && (unsigned char)*cursor->at <= ' ')
        cursor->at++;
}

/** After white space: step over @c if it stands there. */
static inline bool ap_cursor_take(struct ap_json_cursor *cursor, char c)
{
    ap_cursor_space(cursor);
    if (cursor->at >= cursor->end || *cursor->at != c)
        return false;
    cursor->at++;
    return true;
}

/** The byte after white space; NUL at the end. */
char ap_cursor_peek(struct ap_json_cursor *cursor);
/** At a quote: the text up to the closing one. *@ret_decode: it holds escapes or bytes beyond ASCII. */
struct ap_text ap_cursor_string(struct ap_json_cursor *cursor, bool *ret_decode);
/** Step over any value. */
void ap_cursor_skip(struct ap_json_cursor *cursor);
/** A whole number; false where the value is another one, which is stepped over all the same. Two's complement. */
bool ap_cursor_whole(struct ap_json_cursor *cursor, int64_t *ret_number);

#endif
