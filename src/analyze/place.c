/* SPDX-License-Identifier: MIT
 * place.c - where a row stands, in the words of the file, so that a reader finds it in a viewer. */
#include "passes.h"

#include "poison.h"

static void add_id(const struct ap_trace *trace, struct ap_str id, bool is_text, const char *key, struct ap_model *model,
                   struct ap_value *to)
{
    struct ap_text text = ap_strpool_text(&trace->strings, id);
    if (!id.id)
        ap_add_null(model, to, key);
    else if (is_text)
        ap_add_text(model, to, key, text);
    else
        ap_add_literal(model, to, key, text);
}

void ap_add_track(const struct ap_trace *trace, uint32_t track, struct ap_model *model, struct ap_value *to)
{
    add_id(trace, trace->tracks[track].pid, trace->tracks[track].pid_is_text, "pid", model, to);
    add_id(trace, trace->tracks[track].tid, trace->tracks[track].tid_is_text, "tid", model, to);
}

void ap_add_place(const struct ap_trace *trace, uint32_t row, struct ap_model *model, struct ap_value *to)
{
    if (trace->events.start_ns[row] == AP_START_UNKNOWN)
        ap_add_null(model, to, "start_us");
    else
        ap_add_time(model, to, "start_us", trace->events.start_ns[row]);
    ap_add_time(model, to, "dur_us", trace->events.dur_ns[row]);
    ap_add_track(trace, trace->events.track[row], model, to);
}
