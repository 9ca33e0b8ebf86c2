/* SPDX-License-Identifier: MIT
 * place.c - where a row stands, in the words of the file, so that a reader finds it in a viewer; lists of names. */
#include <string.h>

#include "part.h"

#include "poison.h"

/* A number that every reader of JSON takes as it is: one of a million digits, or 1e999, is shown as text. */
static bool is_plain(struct ap_text literal)
{
    static const char signs[] = "0123456789-.";
    size_t plain = 0;
    while (plain < literal.bytes && memchr(signs, literal.data[plain], sizeof(signs) - 1))
        plain++;
    return literal.bytes <= 24 && (plain == literal.bytes || literal.data[0] == 't' || literal.data[0] == 'f');
}

static void add_id(const struct ap_trace *trace, struct ap_str id, bool is_text, const char *key, struct ap_model *model,
                   struct ap_value *to)
{
    struct ap_text text = ap_trace_id_text(trace, id);
    if (!id.id || is_text || !is_plain(text))
        ap_add_known_text(model, to, key, id.id, text);
    else
        ap_add_literal(model, to, key, text);
}

void ap_add_track(const struct ap_trace *trace, uint32_t track, struct ap_model *model, struct ap_value *to)
{
    static const struct ap_track none;
    const struct ap_track *at = track == AP_NO_ROW ? &none : &trace->tracks[track];
    add_id(trace, at->pid, at->pid_is_text, "pid", model, to);
    add_id(trace, at->tid, at->tid_is_text, "tid", model, to);
}

void ap_add_names(const struct ap_trace *trace, struct ap_model *model, struct ap_value *to, const char *key,
                  const uint32_t *ids, size_t count)
{
    char text[400];
    size_t used = 0;
    for (size_t i = 0; i < count && ids[i]; i++) {
        struct ap_text name = ap_trace_text(trace, ids[i]);
        if (used + name.bytes + 2 > sizeof(text))
            break;
        if (i) {
            text[used++] = ',';
            text[used++] = ' ';
        }
        memcpy(text + used, name.data, name.bytes);
        used += name.bytes;
    }
    ap_add_known_text(model, to, key, used, (struct ap_text){ text, used });
}

void ap_add_place(const struct ap_trace *trace, uint32_t row, struct ap_model *model, struct ap_value *to)
{
    ap_add_known_time(model, to, "start_us", trace->events.start_ns[row] != AP_START_UNKNOWN, trace->events.start_ns[row]);
    ap_add_time(model, to, "dur_us", trace->events.dur_ns[row]);
    ap_add_track(trace, trace->events.track[row], model, to);
}
