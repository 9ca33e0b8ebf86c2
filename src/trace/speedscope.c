/* SPDX-License-Identifier: MIT
 * speedscope.c - a profile in the form of speedscope (py-spy record -f speedscope): for each thread the stacks that samples
 * found, outermost frame first, and how long each stands for; or frames as they open and close. Frames that stay open from
 * one sample to the next are one row. Their names stand behind the profiles: rows get theirs when all is read. */
#include <stdio.h>

#include "decimal.h"
#include "trace_internal.h"

#include "poison.h"

#define FRAME_BYTES 1024
#define NO_FRAME UINT32_MAX

struct open_frame {
    uint32_t frame;
    size_t row;
};

struct sample {
    size_t end;     /* of its frames in the list of all */
    int64_t weight; /* millionths of the unit */
};

struct event {
    uint32_t frame;
    bool opens;
    int64_t at; /* millionths of the unit */
};

struct ap_speedscope {
    struct ap_trace_reading *reading;
    struct ap_trace *trace;
    uint32_t *row_frames; /* by row: NO_FRAME is a frame that the file does not tell */
    size_t row_count, row_capacity;
    struct ap_str *names; /* by number of the frame */
    size_t name_count, name_capacity;
    struct open_frame *open;
    size_t open_count, open_capacity;
    uint32_t profiles, category;
    /* of the profile that is being read */
    uint32_t *frames;
    size_t frame_count, frame_capacity;
    struct sample *samples;
    size_t sample_count, sample_capacity, weight_count;
    struct event *events;
    size_t event_count, event_capacity;
    int64_t start;
    double ns_each; /* a millionth of the unit in nanoseconds; 0 = no time */
};

/* ---- values ---- */

static enum ap_status next_is(struct ap_speedscope *scope, enum ap_json_kind kind, bool *ret_is, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(scope->reading->json, &token, reterr));
    *ret_is = token.kind == kind;
    return *ret_is ? AP_OK : ap_json_skip_rest(scope->reading->json, &token, reterr);
}

typedef enum ap_status read_value(struct ap_speedscope *scope, const struct ap_json_token *first, struct ap_error *reterr);

/* Of what is no list nothing is read. */
static enum ap_status read_list(struct ap_speedscope *scope, read_value *read, struct ap_error *reterr)
{
    struct ap_json_token token;
    bool is;
    AP_TRY(next_is(scope, AP_JSON_ARRAY_BEGIN, &is, reterr));
    for (; is;) {
        AP_TRY_UNTIL_END(ap_json_next_element(scope->reading->json, &token, reterr));
        AP_TRY(read(scope, &token, reterr));
    }
    return AP_OK;
}

static uint32_t frame_of(const struct ap_json_token *token)
{
    int64_t number;
    if (token->kind != AP_JSON_NUMBER || !ap_decimal_to_integer(token->text, token->text_bytes, &number) || number < 0 ||
        number >= NO_FRAME)
        return NO_FRAME;
    return (uint32_t)number;
}

/* 0 where it is no number that a time can be. */
static int64_t millionths_of(struct ap_speedscope *scope, const struct ap_json_token *token)
{
    int64_t millionths;
    if (token->kind == AP_JSON_NUMBER &&
        ap_decimal_to_millionths(token->text, token->text_bytes, &millionths) != AP_DECIMAL_OUT_OF_RANGE)
        return millionths;
    ap_note(scope->reading->notes, AP_COUNTER_dur_not_number, token->offset_bytes);
    return 0;
}

static enum ap_status read_unit(struct ap_speedscope *scope, const struct ap_json_token *first, struct ap_error *reterr)
{
    static const struct {
        const char *unit;
        double ns_each;
    } units[] = { { "seconds", 1e3 }, { "milliseconds", 1 }, { "microseconds", 1e-3 }, { "nanoseconds", 1e-6 } };
    scope->ns_each = 0;
    for (size_t i = 0; first->kind == AP_JSON_STRING && i < AP_COUNT_OF(units); i++)
        if (ap_text_is((struct ap_text){ first->text, first->text_bytes }, units[i].unit))
            scope->ns_each = units[i].ns_each;
    return ap_json_skip_rest(scope->reading->json, first, reterr);
}

/* ---- members of a profile ---- */

static enum ap_status read_stack(struct ap_speedscope *scope, struct ap_error *reterr)
{
    struct ap_json_token token;
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_element(scope->reading->json, &token, reterr));
        AP_TRY_ADD(scope->trace->gate, scope->frames, scope->frame_count, scope->frame_capacity, reterr, frame_of(&token));
        AP_TRY(ap_json_skip_rest(scope->reading->json, &token, reterr));
    }
}

static enum ap_status read_sample(struct ap_speedscope *scope, const struct ap_json_token *first, struct ap_error *reterr)
{
    AP_TRY(first->kind == AP_JSON_ARRAY_BEGIN ? read_stack(scope, reterr)
                                              : ap_json_skip_rest(scope->reading->json, first, reterr));
    struct sample sample = { .end = scope->frame_count };
    AP_TRY_ADD(scope->trace->gate, scope->samples, scope->sample_count, scope->sample_capacity, reterr, sample);
    return AP_OK;
}

/* They stand behind the samples, as all writers have it. */
static enum ap_status read_weight(struct ap_speedscope *scope, const struct ap_json_token *first, struct ap_error *reterr)
{
    if (scope->weight_count < scope->sample_count)
        scope->samples[scope->weight_count++].weight = millionths_of(scope, first);
    return ap_json_skip_rest(scope->reading->json, first, reterr);
}

/* {"type": "O", "frame": 3, "at": 12.5} */
static enum ap_status read_event(struct ap_speedscope *scope, const struct ap_json_token *first, struct ap_error *reterr)
{
    if (first->kind != AP_JSON_OBJECT_BEGIN)
        return ap_json_skip_rest(scope->reading->json, first, reterr);
    struct event event = { .frame = NO_FRAME };
    struct ap_json_token token;
    enum ap_status status;
    while ((status = ap_json_next_key(scope->reading->json, &token, reterr)) == AP_OK) {
        struct ap_text key = { token.text, token.text_bytes };
        bool type = ap_text_is(key, "type"), frame = ap_text_is(key, "frame"), at = ap_text_is(key, "at");
        AP_TRY(ap_json_next(scope->reading->json, &token, reterr));
        if (type)
            event.opens = token.kind == AP_JSON_STRING && token.text_bytes == 1 && token.text[0] == 'O';
        else if (frame)
            event.frame = frame_of(&token);
        else if (at)
            event.at = millionths_of(scope, &token);
        AP_TRY(ap_json_skip_rest(scope->reading->json, &token, reterr));
    }
    if (status != AP_END)
        return status;
    AP_TRY_ADD(scope->trace->gate, scope->events, scope->event_count, scope->event_capacity, reterr, event);
    return AP_OK;
}

static enum ap_status read_start(struct ap_speedscope *scope, const struct ap_json_token *first, struct ap_error *reterr)
{
    scope->start = millionths_of(scope, first);
    return ap_json_skip_rest(scope->reading->json, first, reterr);
}

/* ---- rows ---- */

/* A row stands where its frame opens: of two that begin and end alike the first is then the outer one. */
static enum ap_status open_frame(struct ap_speedscope *scope, uint32_t number, int64_t at_ns, uint32_t track,
                                 struct ap_error *reterr)
{
    struct ap_trace *trace = scope->trace;
    struct ap_category *category = &trace->categories[scope->category];
    struct open_frame frame = { number, trace->events.count };
    struct ap_str name;
    category->event_count++, category->row_count++;
    trace->event_count++, trace->object_count++, trace->ph_counts['X']++;
    AP_TRY(ap_strpool_intern(&trace->strings, "unknown", 7, &name, reterr));
    AP_TRY(ap_trace_add_row(trace, at_ns, 0, name, track, (uint8_t)((unsigned)category->kind | AP_ROW_X), reterr));
    AP_TRY_ADD(trace->gate, scope->row_frames, scope->row_count, scope->row_capacity, reterr, number);
    AP_TRY_ADD(trace->gate, scope->open, scope->open_count, scope->open_capacity, reterr, frame);
    return AP_OK;
}

static void close_frame(struct ap_speedscope *scope, size_t row, int64_t end_ns)
{
    struct ap_trace *trace = scope->trace;
    struct ap_category *category = &trace->categories[scope->category];
    int64_t start_ns = trace->events.start_ns[row], dur_ns = end_ns - start_ns;
    bool overflowed = false;
    trace->events.dur_ns[row] = dur_ns;
    category->total_dur_ns = ap_add_sat(category->total_dur_ns, dur_ns, &overflowed);
    if (dur_ns < 0)
        ap_note(scope->reading->notes, AP_COUNTER_dur_negative, ap_json_offset(scope->reading->json));
    else
        ap_trace_widen(&trace->has_window, &trace->window_start_ns, &trace->window_end_ns, start_ns, end_ns);
    ap_trace_widen(&trace->has_window_all, &trace->window_all_start_ns, &trace->window_all_end_ns, start_ns, end_ns);
}

static void close_to(struct ap_speedscope *scope, size_t depth, int64_t at_ns)
{
    while (scope->open_count > depth)
        close_frame(scope, scope->open[--scope->open_count].row, at_ns);
}

static int64_t ns_of(const struct ap_speedscope *scope, int64_t millionths)
{
    double ns = (double)millionths * scope->ns_each;
    return ns > -1e18 && ns < 1e18 ? (int64_t)ns : 0;
}

static enum ap_status add_samples(struct ap_speedscope *scope, uint32_t track, struct ap_error *reterr)
{
    bool overflowed = false;
    int64_t at_ns = ns_of(scope, scope->start);
    size_t first = 0;
    for (size_t i = 0; i < scope->sample_count; first = scope->samples[i++].end) {
        size_t depth = scope->samples[i].end - first, same = 0;
        while (same < depth && same < scope->open_count && scope->open[same].frame == scope->frames[first + same])
            same++;
        close_to(scope, same, at_ns);
        for (size_t frame = same; frame < depth; frame++)
            AP_TRY(open_frame(scope, scope->frames[first + frame], at_ns, track, reterr));
        at_ns = ap_add_sat(at_ns, ns_of(scope, scope->samples[i].weight > 0 ? scope->samples[i].weight : 0), &overflowed);
        at_ns = at_ns < AP_MAX_TIME_NS ? at_ns : AP_MAX_TIME_NS;
    }
    close_to(scope, 0, at_ns);
    return AP_OK;
}

static enum ap_status add_events(struct ap_speedscope *scope, uint32_t track, struct ap_error *reterr)
{
    int64_t at_ns = 0;
    for (size_t i = 0; i < scope->event_count; i++) {
        const struct event *event = &scope->events[i];
        at_ns = ns_of(scope, event->at);
        if (event->opens)
            AP_TRY(open_frame(scope, event->frame, at_ns, track, reterr));
        else if (scope->open_count && scope->open[scope->open_count - 1].frame == event->frame)
            close_to(scope, scope->open_count - 1, at_ns);
        else
            ap_note(scope->reading->notes, AP_COUNTER_end_without_begin, ap_json_offset(scope->reading->json));
    }
    close_to(scope, 0, at_ns);
    return AP_OK;
}

/* Each profile is a thread. */
static enum ap_status add_rows(struct ap_speedscope *scope, struct ap_error *reterr)
{
    char number[24];
    uint32_t track;
    int bytes = snprintf(number, sizeof(number), "%u", scope->profiles++);
    AP_TRY(ap_trace_category(scope->trace, AP_TEXT("speedscope"), &scope->category, reterr));
    AP_TRY(
        ap_trace_track(scope->trace, AP_TEXT("0"), false, (struct ap_text){ number, (size_t)bytes }, false, &track, reterr));
    AP_TRY(add_samples(scope, track, reterr));
    AP_TRY(add_events(scope, track, reterr));
    scope->frame_count = scope->sample_count = scope->weight_count = scope->event_count = 0;
    scope->start = 0;
    return AP_OK;
}

static enum ap_status read_members(struct ap_speedscope *scope, struct ap_error *reterr)
{
    static const struct {
        const char *key;
        read_value *read;
        bool is_list;
    } members[] = { { "unit", read_unit, false },
                    { "startValue", read_start, false },
                    { "samples", read_sample, true },
                    { "weights", read_weight, true },
                    { "events", read_event, true } };
    struct ap_json_token token;
    for (;;) {
        size_t i = 0;
        AP_TRY_UNTIL_END(ap_json_next_key(scope->reading->json, &token, reterr));
        while (i < AP_COUNT_OF(members) && !ap_text_is((struct ap_text){ token.text, token.text_bytes }, members[i].key))
            i++;
        if (i < AP_COUNT_OF(members) && members[i].is_list) {
            AP_TRY(read_list(scope, members[i].read, reterr));
        } else {
            AP_TRY(ap_json_next(scope->reading->json, &token, reterr));
            AP_TRY(i < AP_COUNT_OF(members) ? members[i].read(scope, &token, reterr)
                                            : ap_json_skip_rest(scope->reading->json, &token, reterr));
        }
    }
}

/* Of one that is cut those samples count that have their weight. */
static enum ap_status read_profile(struct ap_speedscope *scope, const struct ap_json_token *first, struct ap_error *reterr)
{
    if (first->kind != AP_JSON_OBJECT_BEGIN)
        return ap_json_skip_rest(scope->reading->json, first, reterr);
    scope->ns_each = 0;
    enum ap_status status = read_members(scope, reterr);
    if (status != AP_OK && status != AP_ERROR_CUT)
        return status;
    if (status == AP_ERROR_CUT && scope->sample_count > scope->weight_count)
        scope->sample_count = scope->weight_count;
    for (size_t i = scope->weight_count; i < scope->sample_count; i++)
        ap_note(scope->reading->notes, AP_COUNTER_dur_not_number, ap_json_offset(scope->reading->json));
    if (scope->ns_each > 0)
        AP_TRY(add_rows(scope, reterr));
    return status;
}

/* ---- names ---- */

static enum ap_status read_text(struct ap_speedscope *scope, struct ap_str *ret_text, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(scope->reading->json, &token, reterr));
    if (token.kind == AP_JSON_STRING)
        return ap_strpool_intern(&scope->trace->strings, token.text, token.text_bytes, ret_text, reterr);
    return ap_json_skip_rest(scope->reading->json, &token, reterr);
}

/* As PyTorch's profiler words a frame: "train.py(12): main". The line is the one that was at work. */
static enum ap_status add_name(struct ap_speedscope *scope, struct ap_str name, struct ap_str file, int64_t line,
                               struct ap_error *reterr)
{
    struct ap_text path = ap_strpool_text(&scope->trace->strings, file),
                   call = ap_strpool_text(&scope->trace->strings, name);
    char text[FRAME_BYTES];
    if (ap_text_is(path, "<built-in>") && call.bytes + 24 < sizeof(text)) { /* of pyinstrument: no line of anybody */
        int bytes = snprintf(text, sizeof(text), "<built-in function %.*s>", (int)call.bytes, call.data);
        AP_TRY(ap_strpool_intern(&scope->trace->strings, text, (size_t)bytes, &name, reterr));
    } else if (file.id && line >= 0 && path.bytes + call.bytes + 24 < sizeof(text)) {
        int bytes = snprintf(text, sizeof(text), "%.*s(%lld): %.*s", (int)path.bytes, path.data, (long long)line,
                             (int)call.bytes, call.data);
        AP_TRY(ap_strpool_intern(&scope->trace->strings, text, (size_t)bytes, &name, reterr));
    }
    AP_TRY_ADD(scope->trace->gate, scope->names, scope->name_count, scope->name_capacity, reterr, name);
    return AP_OK;
}

static enum ap_status read_frame(struct ap_speedscope *scope, const struct ap_json_token *first, struct ap_error *reterr)
{
    struct ap_str name = { 0 }, file = { 0 };
    struct ap_json_token token;
    int64_t line = -1;
    enum ap_status status = AP_END;
    if (first->kind != AP_JSON_OBJECT_BEGIN)
        AP_TRY(ap_json_skip_rest(scope->reading->json, first, reterr));
    while (first->kind == AP_JSON_OBJECT_BEGIN &&
           (status = ap_json_next_key(scope->reading->json, &token, reterr)) == AP_OK) {
        struct ap_text key = { token.text, token.text_bytes };
        if (ap_text_is(key, "name")) {
            AP_TRY(read_text(scope, &name, reterr));
        } else if (ap_text_is(key, "file")) {
            AP_TRY(read_text(scope, &file, reterr));
        } else if (ap_text_is(key, "line")) {
            AP_TRY(ap_json_next(scope->reading->json, &token, reterr));
            uint32_t number = frame_of(&token);
            line = number == NO_FRAME ? -1 : (int64_t)number;
            AP_TRY(ap_json_skip_rest(scope->reading->json, &token, reterr));
        } else {
            AP_TRY(ap_json_skip_value(scope->reading->json, reterr));
        }
    }
    return status == AP_END ? add_name(scope, name, file, line, reterr) : status;
}

static enum ap_status read_shared(struct ap_speedscope *scope, struct ap_error *reterr)
{
    struct ap_json_token token;
    bool is;
    AP_TRY(next_is(scope, AP_JSON_OBJECT_BEGIN, &is, reterr));
    for (; is;) {
        AP_TRY_UNTIL_END(ap_json_next_key(scope->reading->json, &token, reterr));
        AP_TRY(ap_text_is((struct ap_text){ token.text, token.text_bytes }, "frames")
                   ? read_list(scope, read_frame, reterr)
                   : ap_json_skip_value(scope->reading->json, reterr));
    }
    return AP_OK;
}

/* ---- all of it ---- */

enum ap_status ap_speedscope_begin(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    if (reading->speedscope)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(reading->gate, reading->speedscope, 1, reterr));
    reading->speedscope->reading = reading;
    reading->speedscope->trace = reading->trace;
    return AP_OK;
}

enum ap_status ap_speedscope_take(struct ap_trace_reading *reading, struct ap_text key, struct ap_error *reterr)
{
    if (ap_text_is(key, "profiles")) {
        reading->arrays += !reading->arrays;
        return read_list(reading->speedscope, read_profile, reterr);
    }
    if (ap_text_is(key, "exporter")) {
        struct ap_str exporter = { 0 };
        AP_TRY(read_text(reading->speedscope, &exporter, reterr));
        reading->trace->by_py_spy = ap_text_starts_with(ap_strpool_text(&reading->trace->strings, exporter), "py-spy");
        return AP_OK;
    }
    return ap_text_is(key, "shared") ? read_shared(reading->speedscope, reterr) : AP_END;
}

void ap_speedscope_finish(struct ap_trace_reading *reading)
{
    struct ap_speedscope *scope = reading->speedscope;
    if (!scope)
        return;
    for (size_t row = 0; row < scope->row_count && scope->row_count == scope->trace->events.count; row++) {
        uint32_t frame = scope->row_frames[row];
        if (frame < scope->name_count && scope->names[frame].id)
            scope->trace->events.name[row] = scope->names[frame].id;
        else
            ap_note(reading->notes, AP_COUNTER_name_missing, 0);
    }
    scope->row_count = 0;
}

void ap_speedscope_free(struct ap_trace_reading *reading)
{
    struct ap_speedscope *scope = reading->speedscope;
    if (!scope)
        return;
    AP_FREE(reading->gate, scope->row_frames, scope->row_capacity);
    AP_FREE(reading->gate, scope->names, scope->name_capacity);
    AP_FREE(reading->gate, scope->open, scope->open_capacity);
    AP_FREE(reading->gate, scope->frames, scope->frame_capacity);
    AP_FREE(reading->gate, scope->samples, scope->sample_capacity);
    AP_FREE(reading->gate, scope->events, scope->event_capacity);
    AP_FREE(reading->gate, reading->speedscope, 1);
}
