/* SPDX-License-Identifier: MIT */
#include "visible_text.h"

#include <stdio.h>

#include "code_point.h"

#include "poison.h"

#define SHOWN_BYTES 16

/* One code point as it is shown; columns it takes. */
static size_t show(uint32_t code_point, char to[SHOWN_BYTES], size_t *ret_bytes)
{
    if (!ap_code_point_is_hidden(code_point)) {
        *ret_bytes = ap_code_point_encode(code_point, to);
        return 1;
    }
    int bytes = snprintf(to, SHOWN_BYTES, "\\u{%x}", (unsigned)code_point);
    *ret_bytes = bytes > 0 ? (size_t)bytes : 0;
    return *ret_bytes;
}

size_t ap_visible_columns(struct ap_text text)
{
    char shown[SHOWN_BYTES];
    size_t columns = 0, bytes;
    for (size_t at = 0; at < text.bytes;)
        columns += show(ap_code_point_next(text, &at), shown, &bytes);
    return columns;
}

size_t ap_out_visible(struct ap_out *out, struct ap_text text, size_t max_columns)
{
    static const char dots[] = "...";
    bool cut = max_columns && ap_visible_columns(text) > max_columns;
    size_t room = !cut ? SIZE_MAX : max_columns > sizeof(dots) - 1 ? max_columns - (sizeof(dots) - 1) : 0;
    size_t columns = 0;
    for (size_t at = 0; at < text.bytes;) {
        char shown[SHOWN_BYTES];
        size_t bytes, wide = show(ap_code_point_next(text, &at), shown, &bytes);
        if (columns + wide > room)
            break;
        ap_out_text(out, (struct ap_text){ shown, bytes });
        columns += wide;
    }
    for (size_t i = 0; cut && i < sizeof(dots) - 1 && columns < max_columns; i++, columns++)
        ap_out_char(out, '.');
    return columns;
}

struct ap_text ap_short_label(struct ap_text name)
{
    size_t start = 0;
    for (size_t i = 0; i + 1 < name.bytes && name.data[i] != ' ' && name.data[i] != '<'; i++)
        if (name.data[i] == '/')
            start = i + 1;
    return (struct ap_text){ name.data + start, name.bytes - start };
}
