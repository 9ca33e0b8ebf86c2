/* SPDX-License-Identifier: MIT
 * overlay_events.c - the overlay as a process with one thread for each track, or more where spans overlap, since viewers draw
 * what overlaps on one thread wrongly. */
#include "copying.h"
#include "json_text.h"

#include "poison.h"

#define FIRST_LANE_OF(track) ((uint64_t)(track) * AP_OVERLAY_MAX_LANES)

static void begin_event(struct ap_copying *copying, const char *phase, uint64_t thread)
{
    uint64_t pid = copying->options->overlay->pid;
    ap_copying_element(copying);
    ap_out_format(&copying->out, "{\"ph\":\"%s\",\"pid\":%llu,\"tid\":%llu", phase, (unsigned long long)pid,
                  (unsigned long long)(pid + thread));
}

static void write_metadata(struct ap_copying *copying, uint64_t thread, const char *name, const char *key)
{
    begin_event(copying, "M", thread);
    ap_out_format(&copying->out, ",\"name\":\"%s\",\"args\":{\"%s\":", name, key);
}

static void write_label(struct ap_copying *copying, uint64_t thread, const char *name, const char *label, unsigned number)
{
    write_metadata(copying, thread, name, "name");
    if (number > 1)
        ap_out_format(&copying->out, "\"%s (%u)\"}}", label, number);
    else
        ap_out_format(&copying->out, "\"%s\"}}", label);
}

static void write_place(struct ap_copying *copying, uint64_t thread, const char *name, long long place)
{
    write_metadata(copying, thread, name, "sort_index");
    ap_out_format(&copying->out, "%lld}}", place);
}

static void write_words(struct ap_copying *copying, const struct ap_overlay_span *span)
{
    struct ap_text key, text;
    bool first = true;
    ap_out_string(&copying->out, ",\"args\":{");
    for (size_t i = 0; ap_overlay_word(copying->options->overlay, span, i, &key, &text); i++) {
        ap_out_string(&copying->out, first ? "" : ",");
        ap_json_write_text(&copying->out, key);
        ap_out_char(&copying->out, ':');
        ap_json_write_text(&copying->out, text);
        first = false;
    }
    if (span->saves_ns >= 0) {
        ap_out_string(&copying->out, first ? "\"saves_us\":" : ",\"saves_us\":");
        ap_out_microseconds(&copying->out, span->saves_ns);
    }
    ap_out_char(&copying->out, '}');
}

static void write_span(struct ap_copying *copying, const struct ap_overlay_span *span, uint64_t thread)
{
    begin_event(copying, "X", thread);
    ap_out_string(&copying->out, ",\"cat\":\"analyze_profile\",\"name\":");
    ap_json_write_text(&copying->out, ap_strpool_text(&copying->options->overlay->strings, span->name));
    ap_out_string(&copying->out, ",\"ts\":");
    ap_out_microseconds(&copying->out, span->start_ns);
    ap_out_string(&copying->out, ",\"dur\":");
    ap_out_microseconds(&copying->out, span->dur_ns);
    write_words(copying, span);
    ap_out_char(&copying->out, '}');
}

static enum ap_status write_track(struct ap_copying *copying, enum ap_overlay_track track, struct ap_error *reterr)
{
    const struct ap_overlay *overlay = copying->options->overlay;
    struct ap_overlay_layout layout;
    AP_TRY(ap_overlay_layout_init(&layout, overlay, track, reterr));
    for (unsigned lane = 0; lane < layout.lane_count; lane++) {
        uint64_t thread = FIRST_LANE_OF(track) + lane;
        write_label(copying, thread, "thread_name", ap_overlay_track_name(track), lane + 1);
        write_place(copying, thread, "thread_sort_index", (long long)thread);
    }
    for (size_t i = 0; i < layout.count; i++)
        write_span(copying, &overlay->lists[track].spans[layout.order[i]], FIRST_LANE_OF(track) + layout.lanes[i]);
    ap_overlay_layout_release(&layout);
    return AP_OK;
}

enum ap_status ap_copy_overlay(struct ap_copying *copying, struct ap_error *reterr)
{
    write_label(copying, 0, "process_name", "analyze_profile", 1);
    write_place(copying, 0, "process_sort_index", -1); /* above the processes of the trace */
    for (int track = 0; track < AP_OVERLAY_TRACK_COUNT_; track++)
        AP_TRY(write_track(copying, (enum ap_overlay_track)track, reterr));
    return AP_OK;
}
