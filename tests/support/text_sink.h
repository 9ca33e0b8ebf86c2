/* SPDX-License-Identifier: MIT
 * text_sink.h - a sink that keeps what is written as one NUL-terminated text. */
#ifndef AP_TEXT_SINK_H
#define AP_TEXT_SINK_H

#include <stdlib.h>
#include <string.h>

#include "out.h"

struct text_sink {
    char *data;
    size_t bytes, capacity;
    size_t limit_bytes; /* writes beyond it fail, as on a full disk; 0 = none */
};

static inline enum ap_status text_sink_write(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    struct text_sink *to = self;
    if (to->limit_bytes && to->bytes + bytes > to->limit_bytes)
        return ap_fail(reterr, AP_ERROR_OUTPUT, "the sink is full");
    if (to->capacity <= to->bytes + bytes) {
        to->capacity = 2 * (to->bytes + bytes + 1);
        to->data = realloc(to->data, to->capacity);
        if (!to->data)
            abort();
    }
    memcpy(to->data + to->bytes, data, bytes);
    to->bytes += bytes;
    to->data[to->bytes] = '\0';
    return AP_OK;
}

static inline struct ap_sink text_sink_of(struct text_sink *to)
{
    return (struct ap_sink){ text_sink_write, to };
}

static inline void text_sink_release(struct text_sink *to)
{
    free(to->data);
    *to = (struct text_sink){ .data = NULL };
}

#endif
