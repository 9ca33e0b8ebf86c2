/* SPDX-License-Identifier: MIT
 * copy_redact.c - texts of the input on their way into the copy, without names. */
#include "copying.h"
#include "json_text.h"

#include "poison.h"

enum ap_status ap_copy_text(struct ap_copying *copying, struct ap_text text, struct ap_error *reterr)
{
    if (copying->options->redaction && !(copying->of_devices && ap_redact_is_device_name(text)))
        AP_TRY(ap_redact(copying->options->redaction, text, &text, reterr));
    ap_json_write_text(&copying->out, text);
    return AP_OK;
}

/* The string whose opening quotation mark is at @at; returns where its closing one is. */
static size_t end_of_string(struct ap_text raw, size_t at)
{
    for (at++; at < raw.bytes && raw.data[at] != '"'; at++)
        at += raw.data[at] == '\\';
    return at < raw.bytes ? at : raw.bytes;
}

static enum ap_status write_string(struct ap_copying *copying, struct ap_text inner, struct ap_error *reterr)
{
    struct ap_text plain = inner;
    for (size_t i = 0; i < inner.bytes; i++) {
        if (inner.data[i] != '\\')
            continue;
        AP_TRY(AP_RESERVE(copying->options->gate, copying->decoded, copying->decoded_capacity, inner.bytes * 3, reterr));
        plain = (struct ap_text){ copying->decoded, ap_json_decode(inner.data, inner.bytes, copying->decoded) };
        break;
    }
    return ap_copy_text(copying, plain, reterr);
}

enum ap_status ap_copy_redacted(struct ap_copying *copying, struct ap_text raw, struct ap_error *reterr)
{
    size_t at = 0;
    while (at < raw.bytes) {
        size_t plain = at;
        while (at < raw.bytes && raw.data[at] != '"')
            at++;
        ap_out_text(&copying->out, (struct ap_text){ raw.data + plain, at - plain });
        if (at == raw.bytes)
            break;
        size_t end = end_of_string(raw, at);
        AP_TRY(write_string(copying, (struct ap_text){ raw.data + at + 1, end - at - 1 }, reterr));
        at = end + 1;
    }
    return AP_OK;
}
