/* SPDX-License-Identifier: MIT */
#include "trace_copy.h"

#include "copying.h"
#include "json_text.h"

#include "poison.h"

void ap_copying_member(struct ap_copying *copying, const char *key)
{
    ap_out_format(&copying->out, "%s\"%s\": ", copying->any_member ? ",\n" : "\n", key);
    copying->any_member = true;
}

void ap_copying_element(struct ap_copying *copying)
{
    ap_out_string(&copying->out, copying->any_event ? ",\n" : "\n");
    copying->any_event = true;
}

/* ---- events ---- */

/* Oddities that strict JSON, or a reader of events, would not take. */
static uint64_t odd_count(const struct ap_notes *notes)
{
    static const enum ap_counter counters[] = { AP_COUNTER_nonfinite,       AP_COUNTER_bad_utf8,
                                                AP_COUNTER_raw_control,     AP_COUNTER_duplicate_key,
                                                AP_COUNTER_unescaped_quote, AP_COUNTER_bare_na,
                                                AP_COUNTER_bare_backslash,  AP_COUNTER_path_end,
                                                AP_COUNTER_python_word,     AP_COUNTER_member_type };
    uint64_t sum = 0;
    for (size_t i = 0; i < AP_COUNT_OF(counters); i++)
        sum += notes->notes[counters[i]].count;
    return sum;
}

static enum ap_status copy_elements(struct ap_copying *copying, struct ap_error *reterr)
{
    for (;;) {
        enum ap_element_outcome outcome;
        uint64_t offset_bytes, odd_before = odd_count(copying->notes);
        enum ap_status status = ap_element_next(copying->elements, copying->spans, &outcome, &offset_bytes, reterr);
        if (status == AP_END)
            return AP_OK;
        if (status != AP_OK)
            return status;
        if (copying->out.status != AP_OK) /* a full disk: no need to read on */
            return ap_out_finish(&copying->out, reterr);
        copying->read_count++;
        if (outcome == AP_ELEMENT_READ)
            AP_TRY(ap_copy_event(copying, offset_bytes, odd_count(copying->notes) == odd_before, reterr));
        else
            copying->broken_count++;
    }
}

/* The input may end within; what belongs behind its events comes in any case. */
static bool is_end_of_input(enum ap_status status)
{
    return status == AP_ERROR_CUT || status == AP_ERROR_INPUT;
}

static enum ap_status write_events(struct ap_copying *copying, bool with_input, struct ap_error *reterr)
{
    enum ap_status status = AP_OK;
    ap_copying_member(copying, "traceEvents");
    ap_out_char(&copying->out, '[');
    if (with_input) {
        status = ap_element_reader_new(copying->json, ap_copy_fields, AP_COPY_FIELD_COUNT_, &copying->elements, reterr);
        AP_AND_THEN(status, copy_elements(copying, reterr));
        ap_element_reader_free(copying->elements);
        copying->elements = NULL;
    }
    if (status != AP_OK && !is_end_of_input(status))
        return status;
    AP_TRY(ap_copy_close_open(copying, reterr));
    if (!copying->options->slice)
        AP_TRY(ap_copy_overlay(copying, reterr));
    ap_out_string(&copying->out, "\n]");
    return status;
}

/* ---- the document ---- */

static enum ap_status copy_member(struct ap_copying *copying, struct ap_text key, struct ap_error *reterr)
{
    struct ap_json_token token;
    if (!ap_text_is(key, "traceEvents"))
        return ap_copy_header_member(copying, key, reterr);
    AP_TRY(ap_json_next(copying->json, &token, reterr));
    if (token.kind != AP_JSON_ARRAY_BEGIN)
        return ap_json_skip_rest(copying->json, &token, reterr);
    if (copying->arrays++ != copying->options->arrays_before)
        return ap_json_skip_rest(copying->json, &token, reterr);
    return write_events(copying, true, reterr);
}

static enum ap_status copy_document(struct ap_copying *copying, struct ap_error *reterr)
{
    struct ap_json_token token;
    enum ap_status begun = ap_json_next(copying->json, &token, reterr);
    if (begun != AP_OK) {
        ap_out_char(&copying->out, '{');
        return begun;
    }
    if (token.kind == AP_JSON_ARRAY_BEGIN) {
        copying->arrays = copying->options->arrays_before + 1;
        ap_out_char(&copying->out, '{');
        return write_events(copying, true, reterr);
    }
    ap_out_char(&copying->out, '{');
    if (token.kind != AP_JSON_OBJECT_BEGIN)
        return AP_OK;
    for (;;) {
        enum ap_status status = ap_json_next_key(copying->json, &token, reterr);
        if (status == AP_END)
            return AP_OK;
        if (status != AP_OK)
            return status;
        AP_TRY(copy_member(copying, (struct ap_text){ token.text, token.text_bytes }, reterr));
    }
}

static void write_count(struct ap_copying *copying, const char *key, uint64_t count)
{
    ap_out_format(&copying->out, ", \"%s\": %llu", key, (unsigned long long)count);
}

static const char *selection_of(const struct ap_copying *copying)
{
    if (!copying->options->all && !copying->json)
        return "no event: the input was standard input, which cannot be read again; only the tracks of analyze_profile are "
               "here";
    return copying->options->all ? "all events" : copying->windows.around;
}

static void write_tracks(struct ap_copying *copying)
{
    const struct ap_overlay *overlay = copying->options->overlay;
    ap_out_string(&copying->out, ", \"tracks\": {");
    for (int i = 0; i < AP_OVERLAY_TRACK_COUNT_; i++) {
        const struct ap_overlay_list *list = &overlay->lists[i];
        ap_out_format(&copying->out, "%s\"%s\": {\"spans\": %llu, \"left_out\": %llu}", i ? ", " : "",
                      ap_overlay_track_name((enum ap_overlay_track)i), (unsigned long long)list->count,
                      (unsigned long long)(list->offered_count - list->count));
    }
    ap_out_char(&copying->out, '}');
}

/* Rows that reach beyond it are whole in the file: who reads it cuts them there. */
static void write_stretch(struct ap_copying *copying)
{
    ap_out_string(&copying->out, ", \"slice_start_us\": ");
    ap_out_microseconds(&copying->out, copying->options->slice->start_ns);
    ap_out_string(&copying->out, ", \"slice_end_us\": ");
    ap_out_microseconds(&copying->out, copying->options->slice->end_ns);
}

/* What a reader has to know of the file itself. */
static void write_about(struct ap_copying *copying)
{
    ap_copying_member(copying, "analyze_profile");
    ap_out_string(&copying->out, "{\"version\": ");
    ap_json_write_text(&copying->out, ap_text_of(copying->options->version));
    ap_out_string(&copying->out, ", \"selection\": ");
    ap_json_write_text(&copying->out, ap_text_of(selection_of(copying)));
    write_count(copying, "events_read", copying->read_count);
    write_count(copying, "events_copied", copying->copied_count);
    write_count(copying, "events_rewritten", copying->rewritten_count);
    write_count(copying, "events_broken", copying->broken_count);
    write_count(copying, "events_over_limit", copying->over_limit_count);
    ap_out_format(&copying->out, ", \"input_read_to_its_end\": %s",
                  copying->json && !copying->input_ended_early ? "true" : "false");
    if (copying->options->slice)
        write_stretch(copying);
    else
        write_tracks(copying);
    ap_out_char(&copying->out, '}');
}

static enum ap_status write_document(struct ap_copying *copying, struct ap_error *reterr)
{
    enum ap_status status = AP_OK;
    if (copying->json)
        status = copy_document(copying, reterr);
    else
        ap_out_char(&copying->out, '{');
    copying->input_ended_early = is_end_of_input(status);
    if (status != AP_OK && !copying->input_ended_early)
        return status;
    if (copying->arrays <= copying->options->arrays_before)
        AP_TRY(write_events(copying, false, reterr));
    write_about(copying);
    ap_out_string(&copying->out, "\n}\n");
    return ap_out_finish(&copying->out, reterr);
}

enum ap_status ap_trace_copy_write(const struct ap_trace_copy_options *options, struct ap_json_reader *json,
                                   struct ap_notes *notes, struct ap_sink sink, struct ap_error *reterr)
{
    struct ap_copying copying = { .options = options, .json = json, .notes = notes, .open.gate = options->gate };
    ap_out_init(&copying.out, sink);
    ap_strpool_init(&copying.open.names, options->gate);
    enum ap_status status = options->slice ? ap_copy_windows_slice(&copying.windows, options->gate, options->slice, reterr)
                                           : ap_copy_windows_init(&copying.windows, options->overlay, reterr);
    AP_AND_THEN(status, write_document(&copying, reterr));
    ap_strpool_release(&copying.open.names);
    ap_mem_free(options->gate, copying.decoded, copying.decoded_capacity);
    AP_FREE(options->gate, copying.open.depths, copying.open.capacity);
    ap_copy_windows_release(&copying.windows);
    return status;
}
