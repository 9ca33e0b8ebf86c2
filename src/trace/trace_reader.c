/* SPDX-License-Identifier: MIT
 * trace_reader.c - the document: object form or bare array, cut or whole, a trace or something else. */
#include "json_ahead.h"
#include "trace_internal.h"

#include "poison.h"

static enum ap_status refuse(struct ap_error *reterr, const char *what)
{
    return ap_fail(reterr, AP_ERROR_INPUT, "this is %s", what);
}

#define NAMED_SNAPSHOT "a CUDA memory snapshot, not a trace"
#define NAMED_EXECUTION_TRACE                                                                                   \
    "a PyTorch execution trace (schema and nodes), which holds no times: export the profiler's trace instead, " \
    "prof.export_chrome_trace(\"trace.json.gz\")"
#define NAMED_TIMELINE                                                                                         \
    "a raw memory timeline of the profiler ([[time, action, bytes, category], ...]), not a trace: export the " \
    "trace itself with prof.export_chrome_trace(\"trace.json.gz\")"
#define NAMED_TENSORRT \
    "output of trtexec (layer or query times), not a PyTorch trace: give a trace written by torch.profiler"

/* ---------------------------------------------------------------------------------------------------------- events */

/* The next element of the array: AP_END behind the last one. */
static enum ap_status read_event(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    enum ap_element_outcome outcome;
    AP_TRY(ap_element_next(reading->elements, reading->spans, &outcome, &reading->offset_bytes, reterr));
    if (AP_UNLIKELY(outcome == AP_ELEMENT_AHEAD))
        return ap_trace_ahead_take(reading, reterr);
    reading->trace->event_count++;
    if (AP_LIKELY(outcome == AP_ELEMENT_READ)) {
        reading->trace->object_count++;
        return ap_trace_take_event(reading, reterr);
    }
    ap_note(reading->notes, outcome == AP_ELEMENT_TOO_LARGE ? AP_COUNTER_event_too_large : AP_COUNTER_event_not_object,
            reading->offset_bytes);
    return AP_OK;
}

static enum ap_status read_events(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    enum ap_status status;
    if (!reading->elements)
        AP_TRY(ap_element_reader_new(reading->json, ap_event_fields, AP_FIELD_COUNT_, &reading->elements, reterr));
    AP_TRY(ap_trace_ahead_new(reading, reterr));
    do
        status = read_event(reading, reterr);
    while (AP_LIKELY(status == AP_OK));
    ap_trace_ahead_free(reading);
    return status == AP_END ? AP_OK : status;
}

/* The value of a member traceEvents. */
static enum ap_status read_event_member(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    struct ap_json_token token;
    uint64_t offset_bytes = ap_json_offset(reading->json);
    AP_TRY(ap_json_next(reading->json, &token, reterr));
    if (token.kind != AP_JSON_ARRAY_BEGIN)
        return ap_fail_at(reterr, AP_ERROR_INPUT, token.offset_bytes, "traceEvents is not an array");
    uint64_t before = reading->trace->event_count;
    if (reading->arrays++) {
        ap_trace_close_open(reading);
        ap_trace_forget_events(reading->trace);
        reading->open_count = reading->open_free = 0;
    }
    AP_TRY(read_events(reading, reterr));
    if (reading->arrays > 1) {
        ap_note(reading->notes, AP_COUNTER_two_event_arrays, offset_bytes);
        ap_note_detail(reading->notes, AP_COUNTER_two_event_arrays, "%llu events in the one before, %llu in the last",
                       (unsigned long long)before, (unsigned long long)reading->trace->event_count);
    }
    return AP_OK;
}

static enum ap_status read_schema(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(reading->json, &token, reterr));
    if (token.kind != AP_JSON_STRING)
        return ap_json_skip_rest(reading->json, &token, reterr);
    bool is = ap_text_contains((struct ap_text){ token.text, token.text_bytes }, AP_TEXT("speedscope"));
    return is && !reading->arrays ? ap_speedscope_begin(reading, reterr) : AP_OK;
}

/* A document of both is read as what it was given as, or as what comes first. */
static void note_snapshot(struct ap_trace_reading *reading)
{
    if (!reading->has_snapshot)
        reading->snapshot_at_bytes = ap_json_offset(reading->json);
    reading->has_snapshot = true;
}

static enum ap_status take_member(struct ap_trace_reading *reading, struct ap_text key, struct ap_error *reterr)
{
    if (ap_text_is(key, "traceEvents"))
        return read_event_member(reading, reterr);
    if (ap_text_is(key, "rocprofiler-sdk-tool"))
        return ap_trace_read_rocprof(reading, reterr);
    if (ap_text_is(key, "$schema"))
        return read_schema(reading, reterr);
    if (reading->speedscope) {
        enum ap_status taken = ap_speedscope_take(reading, key, reterr);
        if (taken != AP_END)
            return taken;
    }
    if (ap_text_is(key, "segments") || ap_text_is(key, "device_traces"))
        note_snapshot(reading);
    if (!reading->arrays) {
        if (ap_text_is(key, "segments") || ap_text_is(key, "device_traces"))
            reading->looks_like_snapshot = true;
        if (ap_text_is(key, "nodes"))
            reading->looks_like_execution_trace = true;
        if (ap_text_is(key, "Layers") || ap_text_is(key, "Bindings"))
            reading->looks_like_tensorrt = true;
    }
    enum ap_status status = ap_trace_take_header(reading, key, reterr);
    return status == AP_END ? ap_json_skip_value(reading->json, reterr) : status;
}

static enum ap_status read_object(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    for (;;) {
        struct ap_json_token key;
        enum ap_status status = ap_json_next_key(reading->json, &key, reterr);
        if (status == AP_END)
            return AP_OK;
        if (status != AP_OK)
            return status;
        AP_TRY(take_member(reading, (struct ap_text){ key.text, key.text_bytes }, reterr));
    }
}

static enum ap_status read_document(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(reading->json, &token, reterr));
    if (token.kind == AP_JSON_OBJECT_BEGIN) {
        AP_TRY(read_object(reading, reterr));
    } else if (token.kind == AP_JSON_ARRAY_BEGIN) {
        reading->trace->form = AP_FORM_ARRAY;
        reading->arrays = 1;
        AP_TRY(read_events(reading, reterr));
    } else {
        return ap_fail_at(reterr, AP_ERROR_INPUT, token.offset_bytes,
                          "a trace is a JSON object with traceEvents, or an array of events; this is a single value");
    }
    AP_TRY_UNTIL_END(ap_json_next(reading->json, &token, reterr));
    return AP_OK;
}

/* --------------------------------------------------------------------------------------------- what came of it all */

static enum ap_status check_identity(const struct ap_trace_reading *reading, struct ap_error *reterr)
{
    const struct ap_trace *trace = reading->trace;
    uint64_t with_ph = 0;
    for (size_t i = 0; i < AP_COUNT_OF(trace->ph_counts); i++)
        with_ph += trace->ph_counts[i];
    if (with_ph || (reading->arrays && trace->form == AP_FORM_OBJECT))
        return AP_OK;
    if (reading->looks_like_snapshot)
        return ap_advise(reterr, AP_ADVICE_AS_SNAPSHOT, refuse(reterr, NAMED_SNAPSHOT));
    if (reading->looks_like_execution_trace)
        return refuse(reterr, NAMED_EXECUTION_TRACE);
    if (reading->looks_like_tensorrt)
        return refuse(reterr, NAMED_TENSORRT);
    if (!reading->arrays)
        return refuse(reterr, "a JSON object without traceEvents, not a trace: export one with "
                              "prof.export_chrome_trace(\"trace.json.gz\")");
    if (trace->event_count == 0)
        return AP_OK;
    if (trace->object_count == 0)
        return refuse(reterr, NAMED_TIMELINE);
    return refuse(reterr, "a JSON array whose elements are no trace events (none has ph): export the trace with "
                          "prof.export_chrome_trace(\"trace.json.gz\")");
}

/* The input ends too early, or is broken and shall be salvaged: keep what was read, say how much that is. */
static enum ap_status keep_part(struct ap_trace_reading *reading, enum ap_status why, struct ap_error *reterr)
{
    struct ap_trace *trace = reading->trace;
    uint64_t offset_bytes = reterr->has_offset ? reterr->offset_bytes : ap_json_offset(reading->json);
    if (trace->event_count == 0) {
        if (check_identity(reading, reterr) != AP_OK && !reading->arrays && reading->looks_like_snapshot)
            return AP_ERROR_INPUT;
        return ap_fail_at(reterr, why, offset_bytes,
                          "the input ends before one whole event was read (after %llu bytes): record the trace again",
                          (unsigned long long)offset_bytes);
    }
    enum ap_counter counter = why == AP_ERROR_CUT ? AP_COUNTER_cut : AP_COUNTER_salvaged;
    trace->complete = false;
    ap_note(reading->notes, counter, offset_bytes);
    /* Chrome's array form may lack its closing bracket: then nothing need be missing, but nobody can tell. */
    bool only_bracket = why == AP_ERROR_CUT && trace->form == AP_FORM_ARRAY && ap_element_at_boundary(reading->elements);
    ap_note_detail(reading->notes, counter, "%llu events were read, up to byte %llu%s",
                   (unsigned long long)trace->event_count, (unsigned long long)offset_bytes,
                   only_bracket ? "; the last one is whole, so perhaps only the closing bracket is missing" : "");
    return check_identity(reading, reterr);
}

static enum ap_status finish(struct ap_trace_reading *reading, enum ap_status status, bool salvage, struct ap_error *reterr)
{
    if (status == AP_ERROR_CUT && reterr->advice == AP_ADVICE_SALVAGE) /* a text is not closed, and nothing is missing */
        status = reterr->status = AP_ERROR_INPUT;
    if (status == AP_ERROR_CUT || (status == AP_ERROR_INPUT && salvage && reading->trace->event_count))
        status = keep_part(reading, status, reterr);
    else if (status == AP_OK)
        status = check_identity(reading, reterr);
    if (status != AP_OK)
        return status;
    if (reading->has_snapshot)
        ap_note(reading->notes, AP_COUNTER_two_forms, reading->snapshot_at_bytes);
    ap_trace_close_open(reading);
    if (reading->trace->event_count == reading->trace->ph_counts['M']) /* names of processes and threads tell of no time */
        ap_note_many(reading->notes, AP_COUNTER_no_events, 1);
    AP_TRY(ap_trace_settle_kinds(reading, reterr));
    ap_trace_clip(reading->trace);
    AP_TRY(ap_trace_leave_strays(reading->trace, reading->notes, reterr));
    return ap_trace_leave_closures(reading->trace, reading->notes, reterr);
}

static unsigned helpers_of(const struct ap_trace_options *options)
{
    unsigned helpers = options && options->threads ? options->threads - 1 : 0;
    return helpers < AP_AHEAD_MOST_HELPERS ? helpers : AP_AHEAD_MOST_HELPERS;
}

enum ap_status ap_trace_read(struct ap_json_reader *json, struct ap_gate *gate, struct ap_notes *notes,
                             const struct ap_trace_options *options, struct ap_trace **ret_trace, struct ap_error *reterr)
{
    struct ap_trace_reading reading = { .gate = gate,
                                        .notes = notes,
                                        .json = json,
                                        .helpers = helpers_of(options),
                                        .always_wait = options && options->always_wait };
    struct ap_error error = { .status = AP_OK };
    enum ap_status status = ap_trace_new(gate, &reading.trace, &error);
    if (status == AP_OK) {
        status = read_document(&reading, &error);
        ap_speedscope_finish(&reading);
        status = finish(&reading, status, options && options->salvage, &error);
    }
    ap_element_reader_free(reading.elements);
    AP_FREE(gate, reading.open, reading.open_capacity);
    AP_FREE(gate, reading.process_names, reading.process_name_capacity);
    ap_speedscope_free(&reading);
    if (status != AP_OK) {
        ap_trace_free(reading.trace);
        if (reterr)
            *reterr = error;
        return status;
    }
    *ret_trace = reading.trace;
    return AP_OK;
}
