/* SPDX-License-Identifier: MIT */
#include "say.h"

#include <stdio.h>
#include <string.h>

#include "code_point.h"
#include "wrap.h"

void ap_say(const char *data, size_t bytes)
{
    static struct ap_wrap errors;
    struct ap_error error;
    if (!errors.write)
        ap_wrap_init_for(&errors, stderr);
    (void)ap_wrap_write(&errors, data, bytes, &error);
}

void ap_say_string(const char *text)
{
    ap_say(text, strlen(text));
}

void ap_say_text(const char *text, bool has_lines)
{
    struct ap_text whole = ap_text_of(text);
    for (size_t at = 0; at < whole.bytes;) {
        uint32_t code_point = ap_code_point_next(whole, &at);
        char shown[16];
        if (ap_code_point_is_hidden(code_point) && !(has_lines && code_point == '\n'))
            ap_say(shown, (size_t)snprintf(shown, sizeof(shown), "\\u{%x}", (unsigned)code_point));
        else
            ap_say(shown, ap_code_point_encode(code_point, shown));
    }
}

void ap_say_inert(const char *text)
{
    ap_say_text(text, false);
}
