/* SPDX-License-Identifier: MIT
 * code_point.h - text as Unicode code points, and which of them a reader would not see. Shared by all writers. */
#ifndef AP_CODE_POINT_H
#define AP_CODE_POINT_H

#include "base.h"

#define AP_CODE_POINT_REPLACEMENT 0xFFFDu

/** What the two below do beyond ASCII. */
uint32_t ap_code_point_of_many_bytes(struct ap_text text, size_t *at);
bool ap_code_point_is_hidden_beyond_ascii(uint32_t code_point);

/** The code point at *@at, which moves behind it. A byte that is not part of valid UTF-8 counts as one U+FFFD, so
 *  that what is written out is valid whatever came in. *@at must be below text.bytes. */
static inline uint32_t ap_code_point_next(struct ap_text text, size_t *at)
{
    if (AP_LIKELY((unsigned char)text.data[*at] < 0x80))
        return (unsigned char)text.data[(*at)++];
    return ap_code_point_of_many_bytes(text, at);
}

/** UTF-8 of @code_point into @to; returns 1..4. */
size_t ap_code_point_encode(uint32_t code_point, char to[4]);

/** Control characters, line separators, and what has no width or turns the direction of writing: written as a visible
 *  escape everywhere, since a name that hides or reorders its neighbors lies to the reader. */
static inline bool ap_code_point_is_hidden(uint32_t code_point)
{
    return code_point < 0x7F ? code_point < ' ' : ap_code_point_is_hidden_beyond_ascii(code_point);
}

#endif
