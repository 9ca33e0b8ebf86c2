/* SPDX-License-Identifier: MIT */
#include "mcp_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hash.h"

#include "poison.h"

void ap_mcp_text_init(struct ap_mcp_text *text, struct ap_gate *gate, size_t max_bytes)
{
    *text = (struct ap_mcp_text){ .gate = gate, .max_bytes = max_bytes };
}

void ap_mcp_text_release(struct ap_mcp_text *text)
{
    ap_mem_free(text->gate, text->data, text->capacity);
    *text = (struct ap_mcp_text){ .gate = NULL };
}

static enum ap_status append(struct ap_mcp_text *text, const char *data, size_t bytes, struct ap_error *reterr)
{
    if (!bytes)
        return AP_OK;
    AP_TRY(AP_RESERVE(text->gate, text->data, text->capacity, text->bytes + bytes, reterr));
    memcpy(text->data + text->bytes, data, bytes);
    text->bytes += bytes;
    return AP_OK;
}

enum ap_status ap_mcp_text_write(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    struct ap_mcp_text *text = self;
    size_t room = text->max_bytes - text->bytes;
    if (text->cut)
        return AP_OK;
    if (bytes > room) {
        text->cut = true;
        bytes = room;
    }
    return append(text, data, bytes, reterr);
}

/* Length of the part up to the next blank outside of strings. */
static size_t part_bytes(struct ap_mcp_text *text, const char *data, size_t bytes)
{
    size_t at = 0;
    for (; at < bytes; at++) {
        char c = data[at];
        if (!text->in_string && (c == ' ' || c == '\n' || c == '\r' || c == '\t'))
            break;
        if (c == '"' && !text->escaped)
            text->in_string = !text->in_string;
        text->escaped = text->in_string && c == '\\' && !text->escaped;
    }
    return at;
}

enum ap_status ap_mcp_text_write_json(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    struct ap_mcp_text *text = self;
    while (bytes) {
        size_t part = part_bytes(text, data, bytes);
        AP_TRY(ap_mcp_text_write(text, data, part, reterr));
        part += part < bytes; /* the blank */
        data += part;
        bytes -= part;
    }
    return AP_OK;
}

enum ap_status ap_mcp_text_add(struct ap_mcp_text *text, const char *nul_terminated, struct ap_error *reterr)
{
    return ap_mcp_text_write(text, nul_terminated, strlen(nul_terminated), reterr);
}

enum ap_status ap_mcp_text_end(struct ap_mcp_text *text, const char *advice, struct ap_error *reterr)
{
    if (!text->cut)
        return AP_OK;
    size_t end = text->bytes;
    while (end && text->data[end - 1] != '\n')
        end--;
    if (!end) /* one long line: no half character at its end */
        for (end = text->bytes; end && (unsigned char)text->data[end - 1] >= 0x80; end--)
            continue;
    text->bytes = end;
    return append(text, advice, strlen(advice), reterr);
}

void ap_mcp_marks_draw(struct ap_mcp_marks *marks)
{
    struct ap_hash_key drawn;
    ap_hash_key_draw(&drawn);
    (void)snprintf(marks->begin, sizeof(marks->begin), "<data %016" PRIx64 ">\n", drawn.words[0]);
    (void)snprintf(marks->end, sizeof(marks->end), "\n</data %016" PRIx64 ">\n", drawn.words[0]);
}
