/* SPDX-License-Identifier: MIT
 * overlay_events.c - the overlay as a process with one thread for each track, or more where spans overlap, since viewers
 * draw what overlaps on one thread wrongly. */
#include "copying.h"
#include "json_text.h"

#include "poison.h"

#define FIRST_LANE_OF(track) ((uint64_t)(track)*AP_OVERLAY_MAX_LANES)

static void begin_event(struct ap_copying *copying, const char *ph, uint64_t thread)
{
    uint64_t pid = copying->options->overlay->pid;
    ap_copying_element(copying);
    ap_out_format(&copying->out, "{\"ph\":\"%s\",\"pid\":%llu,\"tid\":%llu", ph, (unsigned long long)pid,
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

/* Those of the findings are made from a report that is redacted already. */
static enum ap_status write_text(struct ap_copying *copying, enum ap_overlay_track track, struct ap_text text,
                                 struct ap_error *reterr)
{
    if (track != AP_OVERLAY_findings)
        return ap_copy_text(copying, text, reterr);
    ap_json_write_text(&copying->out, text);
    return AP_OK;
}

static bool is_ours(struct ap_text key)
{
    return ap_text_is(key, "cause") || ap_text_is(key, "class") || ap_text_is(key, "state") || ap_text_is(key, "marked_by");
}

static enum ap_status write_words(struct ap_copying *copying, enum ap_overlay_track track,
                                  const struct ap_overlay_span *span, struct ap_error *reterr)
{
    struct ap_text key, text;
    bool first = true;
    ap_out_string(&copying->out, ",\"args\":{");
    for (size_t i = 0; ap_overlay_word(copying->options->overlay, span, i, &key, &text); i++) {
        ap_out_string(&copying->out, first ? "" : ",");
        ap_json_write_text(&copying->out, key);
        ap_out_char(&copying->out, ':');
        AP_TRY(write_text(copying, is_ours(key) ? AP_OVERLAY_findings : track, text, reterr));
        first = false;
    }
    if (span->saves_ns >= 0) {
        ap_out_string(&copying->out, first ? "\"saves_us\":" : ",\"saves_us\":");
        ap_out_microseconds(&copying->out, span->saves_ns);
    }
    ap_out_char(&copying->out, '}');
    return AP_OK;
}

static enum ap_status write_span(struct ap_copying *copying, enum ap_overlay_track track, const struct ap_overlay_span *span,
                                 uint64_t thread, struct ap_error *reterr)
{
    struct ap_text name = ap_strpool_text(&copying->options->overlay->strings, span->name);
    begin_event(copying, "X", thread);
    ap_out_string(&copying->out, ",\"cat\":\"analyze_profile\",\"name\":");
    AP_TRY(write_text(copying, track == AP_OVERLAY_idle_causes ? AP_OVERLAY_findings : track, name, reterr));
    ap_out_string(&copying->out, ",\"ts\":");
    ap_out_microseconds(&copying->out, span->start_ns);
    ap_out_string(&copying->out, ",\"dur\":");
    ap_out_microseconds(&copying->out, span->dur_ns);
    AP_TRY(write_words(copying, track, span, reterr));
    ap_out_char(&copying->out, '}');
    return AP_OK;
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
    enum ap_status status = AP_OK;
    for (size_t i = 0; i < layout.count && status == AP_OK; i++)
        status = write_span(copying, track, &overlay->lists[track].spans[layout.order[i]],
                            FIRST_LANE_OF(track) + layout.lanes[i], reterr);
    ap_overlay_layout_release(&layout);
    return status;
}

enum ap_status ap_copy_overlay(struct ap_copying *copying, struct ap_error *reterr)
{
    write_label(copying, 0, "process_name", "analyze_profile", 1);
    write_place(copying, 0, "process_sort_index", -1); /* above the processes of the trace */
    for (int track = 0; track < AP_OVERLAY_TRACK_COUNT_; track++)
        AP_TRY(write_track(copying, (enum ap_overlay_track)track, reterr));
    return AP_OK;
}
