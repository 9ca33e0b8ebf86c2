/* SPDX-License-Identifier: MIT */
#include "out.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "decimal.h"

#include "poison.h"

void ap_out_init(struct ap_out *out, struct ap_sink sink)
{
    out->sink = sink;
    out->status = AP_OK;
    out->used_bytes = 0;
}

static void flush(struct ap_out *out)
{
    if (out->status == AP_OK && out->used_bytes)
        out->status = out->sink.write(out->sink.self, out->buffer, out->used_bytes, &out->error);
    out->used_bytes = 0;
}

/* Of its own, so that a text which fits, as nearly all do, needs no room on the stack. */
static __attribute__((noinline)) void write_in_parts(struct ap_out *out, struct ap_text text)
{
    while (text.bytes) {
        if (out->used_bytes >= sizeof(out->buffer))
            flush(out);
        size_t part = sizeof(out->buffer) - out->used_bytes;
        if (part > text.bytes)
            part = text.bytes;
        memcpy(out->buffer + out->used_bytes, text.data, part);
        out->used_bytes += part;
        text.data += part;
        text.bytes -= part;
    }
}

void ap_out_text(struct ap_out *out, struct ap_text text)
{
    if (AP_UNLIKELY(!text.bytes || out->used_bytes + text.bytes > sizeof(out->buffer))) {
        write_in_parts(out, text);
        return;
    }
    char *to = out->buffer + out->used_bytes;
    out->used_bytes += text.bytes;
    memcpy(to, text.data, text.bytes);
}

void ap_out_format(struct ap_out *out, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (bytes > 0)
        ap_out_text(out, (struct ap_text){ text, (size_t)bytes < sizeof(text) ? (size_t)bytes : sizeof(text) - 1 });
}

void ap_out_integer(struct ap_out *out, int64_t number)
{
    char text[AP_DECIMAL_BYTES];
    ap_out_text(out, ap_decimal_of(number, text));
}

void ap_out_microseconds(struct ap_out *out, int64_t ns)
{
    char text[AP_DECIMAL_BYTES];
    ap_out_text(out, ap_decimal_of_ns_in_us(ns, text));
}

void ap_out_number(struct ap_out *out, double number)
{
    char text[40], room[AP_DECIMAL_BYTES];
    if (!isfinite(number)) {
        ap_out_string(out, "null");
        return;
    }
    struct ap_text plain_text = ap_decimal_of_double(number, room);
    if (plain_text.bytes) {
        ap_out_text(out, plain_text);
        return;
    }
    (void)snprintf(text, sizeof(text), "%.9g", number == 0 ? 0.0 : number);
    /* A program that uses the library may have set a locale with another decimal point, of several bytes even. */
    for (const char *at = text; *at;) {
        size_t plain = strspn(at, "0123456789+-e");
        ap_out_text(out, (struct ap_text){ at, plain });
        at += plain;
        if (*at)
            ap_out_char(out, '.');
        at += strcspn(at, "0123456789+-e");
    }
}

enum ap_status ap_out_finish(struct ap_out *out, struct ap_error *reterr)
{
    flush(out);
    if (out->status != AP_OK && reterr)
        *reterr = out->error;
    return out->status;
}
