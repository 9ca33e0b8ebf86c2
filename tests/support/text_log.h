/* SPDX-License-Identifier: MIT
 * text_log.h - a text that grows, for tests that compare what two ways of doing the same thing say. */
#ifndef AP_TEXT_LOG_H
#define AP_TEXT_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"

struct text_log {
    char *data;
    size_t bytes, capacity;
};

static inline void log_bytes(struct text_log *log, const void *data, size_t bytes)
{
    if (log->bytes + bytes + 1 > log->capacity) {
        log->capacity = (log->bytes + bytes + 1) * 2;
        log->data = realloc(log->data, log->capacity);
        if (!log->data)
            abort();
    }
    if (bytes)
        memcpy(log->data + log->bytes, data, bytes);
    log->bytes += bytes;
    log->data[log->bytes] = '\0';
}

/** At most 4,000 bytes a call. */
static inline void log_format(struct text_log *log, const char *format, ...) AP_PRINTF(2, 3);
static inline void log_format(struct text_log *log, const char *format, ...)
{
    char text[4096];
    va_list list;
    va_start(list, format);
    int bytes = vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    log_bytes(log, text, bytes < 0 ? 0 : (size_t)bytes < sizeof(text) ? (size_t)bytes : sizeof(text) - 1);
}

static inline bool log_same(const struct text_log *a, const struct text_log *b)
{
    return a->bytes == b->bytes && (a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0);
}

/** Where @text stands in it, or NULL. The log may hold NUL. */
static inline const char *log_find(const struct text_log *log, const char *text)
{
    size_t bytes = strlen(text);
    for (size_t at = 0; at + bytes <= log->bytes; at++)
        if (log->data[at] == text[0] && memcmp(log->data + at, text, bytes) == 0)
            return log->data + at;
    return NULL;
}

static inline void log_clear(struct text_log *log)
{
    log->bytes = 0;
}

static inline void log_release(struct text_log *log)
{
    free(log->data);
    *log = (struct text_log){ .data = NULL };
}

/** Print the first line that differs and the few before it, as remarks. */
static inline void log_show_difference(const struct text_log *a, const struct text_log *b)
{
    size_t at = 0, from = 0;
    while (at < a->bytes && at < b->bytes && a->data[at] == b->data[at])
        at++;
    for (size_t i = at, lines = 0; i > 0 && !from; i--)
        from = a->data[i - 1] == '\n' && ++lines == 6 ? i : 0;
    const struct text_log *both[2] = { a, b };
    for (int k = 0; k < 2; k++) {
        printf("# %s:\n#   ", k ? "other" : "one");
        for (size_t i = from; i < both[k]->bytes && i < at + 300; i++) {
            unsigned char c = (unsigned char)both[k]->data[i];
            if (c == '\n')
                printf(i < at ? "\n#   " : " | ");
            else
                printf(c < 32 || c > 126 ? "\\x%02x" : "%c", c);
        }
        printf("\n");
    }
}

#endif
