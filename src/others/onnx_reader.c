/* SPDX-License-Identifier: MIT
 * onnx_reader.c - the events of a profile, as onnxruntime/core/common/profiler.cc writes them: an array of X events, all
 * values of args as texts, names not escaped, the closing bracket missing where the session was never ended. */
#include <string.h>

#include "decimal.h"
#include "json_cursor.h"
#include "onnx_profile.h"

#include "poison.h"

#define FIELDS(FIELD)                                   \
    FIELD(FIELD_category, NULL, "cat", REPEAT)          \
    FIELD(FIELD_phase, NULL, "ph", REPEAT)              \
    FIELD(FIELD_name, NULL, "name", WITH_QUOTES)        \
    FIELD(FIELD_tid, NULL, "tid", ANY)                  \
    FIELD(FIELD_start, NULL, "ts", ANY)                 \
    FIELD(FIELD_dur, NULL, "dur", ANY)                  \
    FIELD(FIELD_op, "args", "op_name", ANY)             \
    FIELD(FIELD_provider, "args", "provider", ANY)      \
    FIELD(FIELD_shape, "args", "input_type_shape", ANY) \
    FIELD(FIELD_output, "args", "output_size", ANY)     \
    FIELD(FIELD_pool, "args", "thread_scheduling_stats", ANY)
enum field { FIELDS(AP_JSON_FIELD_ID) FIELD_COUNT_ };
static const struct ap_json_field fields[FIELD_COUNT_] = { FIELDS(AP_JSON_FIELD) };

struct reading {
    struct ap_onnx *onnx;
    struct ap_element_reader *elements;
    struct ap_notes *notes;
    struct ap_json_span spans[FIELD_COUNT_ + 1];
    uint64_t offset_bytes;
    struct ap_error *reterr;
};

/* ----------------------------------------------------------------------------------------------------------- values */

static enum ap_status intern(struct reading *reading, enum field field, struct ap_str *ret_text)
{
    const struct ap_json_span *span = &reading->spans[field];
    struct ap_text text;
    ret_text->id = 0;
    if (span->kind == AP_SPAN_ABSENT || span->kind == AP_JSON_NULL)
        return AP_OK;
    AP_TRY(ap_element_text(reading->elements, span, &text, reading->reterr));
    return ap_strpool_intern(&reading->onnx->strings, text.data, text.bytes, ret_text, reading->reterr);
}

static enum ap_status intern_shape(struct reading *reading, struct ap_str *ret_text)
{
    const struct ap_json_span *span = &reading->spans[FIELD_shape];
    ret_text->id = 0;
    if (span->kind != AP_JSON_ARRAY_BEGIN)
        return AP_OK;
    return ap_strpool_intern(&reading->onnx->strings, span->text, span->bytes, ret_text, reading->reterr);
}

static bool read_time(struct reading *reading, enum field field, int64_t *ret_ns)
{
    const struct ap_json_span *span = &reading->spans[field];
    bool start = field == FIELD_start;
    if (span->kind == AP_SPAN_ABSENT) {
        ap_note(reading->notes, start ? AP_COUNTER_ts_missing : AP_COUNTER_dur_missing, reading->offset_bytes);
        return false;
    }
    if (span->kind != AP_JSON_NUMBER) {
        ap_note(reading->notes, start ? AP_COUNTER_ts_not_number : AP_COUNTER_dur_not_number, reading->offset_bytes);
        return false;
    }
    if (ap_decimal_us_to_ns(span->text, span->bytes, ret_ns) == AP_DECIMAL_OUT_OF_RANGE) {
        ap_note(reading->notes, AP_COUNTER_time_out_of_range, reading->offset_bytes);
        return false;
    }
    if (*ret_ns < 0) { /* time begins with the profile */
        ap_note(reading->notes, start ? AP_COUNTER_time_out_of_range : AP_COUNTER_dur_negative, reading->offset_bytes);
        return false;
    }
    return true;
}

static bool is_text(const struct ap_json_span *span, const char *text)
{
    return span->kind == AP_JSON_STRING && ap_text_is((struct ap_text){ span->text, span->bytes }, text);
}

/* ------------------------------------------------------------------------------------------------------------- pool */

/* Cores on which the threads of one call of a node ran; -1 is told of a thread that never did. */
struct cores {
    uint64_t bits[AP_ONNX_CORE_WORDS];
    bool any_twice;
};

static void add_core(struct cores *cores, int64_t core)
{
    if (core < 0 || core >= AP_ONNX_CORE_WORDS * 64)
        return;
    uint64_t bit = (uint64_t)1 << (core % 64);
    cores->any_twice = cores->any_twice || cores->bits[core / 64] & bit;
    cores->bits[core / 64] |= bit;
}

/* What the main thread did meanwhile, in microseconds: onnxruntime/core/common/threadpool.cc. */
static void take_main(struct ap_json_cursor *cursor, struct ap_onnx_pool *pool, struct cores *cores, bool *overflowed)
{
    bool decode;
    if (!ap_cursor_take(cursor, '{')) {
        ap_cursor_skip(cursor);
        return;
    }
    while (ap_cursor_peek(cursor) == '"') {
        struct ap_text key = ap_cursor_string(cursor, &decode);
        int64_t us;
        (void)ap_cursor_take(cursor, ':');
        if (!ap_cursor_whole(cursor, &us) || us < 0 || us > INT32_MAX)
            us = 0;
        else if (ap_text_is(key, "core"))
            add_core(cores, us);
        if (ap_text_is(key, "Run"))
            pool->run_ns = ap_add_sat(pool->run_ns, us * 1000, overflowed);
        else if (ap_text_is(key, "Wait"))
            pool->wait_ns = ap_add_sat(pool->wait_ns, us * 1000, overflowed);
        else if (ap_text_is(key, "Distribution") || ap_text_is(key, "DistributionEnqueue") || ap_text_is(key, "WaitRevoke"))
            pool->other_ns = ap_add_sat(pool->other_ns, us * 1000, overflowed);
        (void)ap_cursor_take(cursor, ',');
    }
    (void)ap_cursor_take(cursor, '}');
}

/* A thread, as in {"num_run": 1, "core": 1}: did it run? */
static bool has_run(struct ap_json_cursor *cursor, struct cores *cores)
{
    bool decode, any = false;
    int64_t core = -1;
    if (!ap_cursor_take(cursor, '{')) {
        ap_cursor_skip(cursor);
        return false;
    }
    while (ap_cursor_peek(cursor) == '"') {
        struct ap_text key = ap_cursor_string(cursor, &decode);
        int64_t number;
        (void)ap_cursor_take(cursor, ':');
        bool is_whole = ap_cursor_whole(cursor, &number);
        if (is_whole && ap_text_is(key, "num_run"))
            any = any || number > 0;
        else if (is_whole && ap_text_is(key, "core"))
            core = number;
        (void)ap_cursor_take(cursor, ',');
    }
    (void)ap_cursor_take(cursor, '}');
    if (any)
        add_core(cores, core);
    return any;
}

static uint32_t take_workers(struct ap_json_cursor *cursor, struct cores *cores, bool *ret_helped)
{
    uint32_t count = 0;
    bool decode;
    if (!ap_cursor_take(cursor, '{')) {
        ap_cursor_skip(cursor);
        return 0;
    }
    while (ap_cursor_peek(cursor) == '"') {
        (void)ap_cursor_string(cursor, &decode);
        (void)ap_cursor_take(cursor, ':');
        *ret_helped = has_run(cursor, cores) || *ret_helped;
        count += count < UINT32_MAX - 1;
        (void)ap_cursor_take(cursor, ',');
    }
    (void)ap_cursor_take(cursor, '}');
    return count;
}

static void take_pool(struct reading *reading, struct ap_onnx_event *event)
{
    const struct ap_json_span *span = &reading->spans[FIELD_pool];
    struct ap_onnx_pool *pool = &reading->onnx->pool;
    struct cores cores = { .any_twice = false };
    uint32_t workers = 0;
    bool decode, helped = false;
    pool->alone_nodes += is_text(span, "") && is_text(&reading->spans[FIELD_provider], "CPUExecutionProvider");
    if (span->kind != AP_JSON_OBJECT_BEGIN)
        return;
    struct ap_json_cursor cursor = { span->text, span->text + span->bytes };
    (void)ap_cursor_take(&cursor, '{');
    while (ap_cursor_peek(&cursor) == '"') {
        struct ap_text key = ap_cursor_string(&cursor, &decode);
        (void)ap_cursor_take(&cursor, ':');
        if (ap_text_is(key, "main_thread"))
            take_main(&cursor, pool, &cores, &reading->onnx->overflowed);
        else if (ap_text_is(key, "sub_threads"))
            workers = take_workers(&cursor, &cores, &helped);
        else
            ap_cursor_skip(&cursor);
        (void)ap_cursor_take(&cursor, ',');
    }
    pool->nodes++;
    pool->threads = pool->threads > workers + 1 ? pool->threads : workers + 1;
    for (size_t i = 0; i < AP_ONNX_CORE_WORDS; i++)
        pool->cores[i] |= cores.bits[i];
    event->signs |= (uint8_t)(helped << AP_ONNX_HELPED | (helped && cores.any_twice) << AP_ONNX_SHARED);
}

/* ----------------------------------------------------------------------------------------------------------- events */

static const char kernel_time[] = "_kernel_time";

static enum ap_onnx_kind kind_of(const struct reading *reading, struct ap_text name)
{
    const struct ap_json_span *category = &reading->spans[FIELD_category];
    if (is_text(category, "Node"))
        return ap_text_ends_with(name, kernel_time)                                                  ? AP_ONNX_NODE
               : ap_text_ends_with(name, "_fence_before") || ap_text_ends_with(name, "_fence_after") ? AP_ONNX_FENCE
                                                                                                     : AP_ONNX_OTHER;
    if (is_text(category, "Kernel"))
        return AP_ONNX_KERNEL;
    if (!is_text(category, "Session"))
        return AP_ONNX_OTHER;
    return ap_text_is(name, "model_run")                 ? AP_ONNX_RUN
           : ap_text_is(name, "session_initialization")  ? AP_ONNX_INIT
           : ap_text_starts_with(name, "model_loading_") ? AP_ONNX_LOAD
                                                         : AP_ONNX_OTHER;
}

/* The name of a node is what stands before _kernel_time. */
static enum ap_status name_event(struct reading *reading, struct ap_text name, struct ap_onnx_event *event)
{
    if (event->kind == AP_ONNX_NODE) {
        name.bytes -= sizeof(kernel_time) - 1;
        /* onnxruntime/core/optimizer/insert_cast_transformer.cc; the second name is that of older versions */
        event->signs |=
            (uint8_t)((ap_text_starts_with(name, "InsertedPrecisionFreeCast_") || ap_text_starts_with(name, "InsertedCast_"))
                      << AP_ONNX_CAST_IN);
    }
    return ap_strpool_intern(&reading->onnx->strings, name.data, name.bytes, &event->name, reading->reterr);
}

static enum ap_status take_event(struct reading *reading)
{
    struct ap_onnx *onnx = reading->onnx;
    struct ap_onnx_session *session = &onnx->sessions[onnx->session_count - 1];
    struct ap_onnx_event event = { .kind = AP_ONNX_OTHER, .session = (uint32_t)onnx->session_count - 1 };
    struct ap_text name = { "", 0 };
    if (!is_text(&reading->spans[FIELD_phase], "X"))
        return AP_OK;
    if (!read_time(reading, FIELD_start, &event.start_ns) || !read_time(reading, FIELD_dur, &event.dur_ns))
        return AP_OK;
    if (event.start_ns > AP_MAX_TIME_NS - session->base_ns) {
        ap_note(reading->notes, AP_COUNTER_time_out_of_range, reading->offset_bytes);
        return AP_OK;
    }
    event.start_ns += session->base_ns;
    int64_t end_ns = ap_add_sat(event.start_ns, event.dur_ns, &onnx->overflowed);
    end_ns = end_ns < AP_MAX_TIME_NS ? end_ns : AP_MAX_TIME_NS; /* where the next session begins */
    onnx->read_end_ns = end_ns > onnx->read_end_ns ? end_ns : onnx->read_end_ns;
    session->events++;
    if (reading->spans[FIELD_name].kind == AP_JSON_STRING)
        AP_TRY(ap_element_text(reading->elements, &reading->spans[FIELD_name], &name, reading->reterr));
    else
        ap_note(reading->notes, AP_COUNTER_name_missing, reading->offset_bytes);
    event.kind = (uint8_t)kind_of(reading, name);
    AP_TRY(name_event(reading, name, &event));
    AP_TRY(intern(reading, FIELD_op, &event.op));
    AP_TRY(intern(reading, FIELD_provider, &event.provider));
    AP_TRY(intern(reading, FIELD_tid, &event.tid));
    AP_TRY(intern_shape(reading, &event.shape));
    if (event.kind == AP_ONNX_NODE)
        take_pool(reading, &event);
    AP_TRY_ADD(onnx->gate, onnx->events, onnx->count, onnx->capacity, reading->reterr, event);
    return AP_OK;
}

static enum ap_status read_events(struct reading *reading)
{
    enum ap_element_outcome outcome;
    for (;;) {
        AP_TRY_UNTIL_END(
            ap_element_next(reading->elements, reading->spans, &outcome, &reading->offset_bytes, reading->reterr));
        if (outcome == AP_ELEMENT_READ)
            AP_TRY(take_event(reading));
        else
            ap_note(reading->notes,
                    outcome == AP_ELEMENT_TOO_LARGE ? AP_COUNTER_event_too_large : AP_COUNTER_event_not_object,
                    reading->offset_bytes);
    }
}

/* Of an object, up to what its member traceEvents begins with. */
static enum ap_status find_events(struct ap_json_reader *json, struct ap_json_token *token, struct ap_error *reterr)
{
    bool found = false;
    while (!found) {
        AP_TRY_UNTIL_END(ap_json_next_key(json, token, reterr));
        found = ap_text_is((struct ap_text){ token->text, token->text_bytes }, "traceEvents");
        if (!found)
            AP_TRY(ap_json_skip_value(json, reterr));
    }
    return ap_json_next(json, token, reterr);
}

static enum ap_status read_document(struct reading *reading, struct ap_json_reader *json)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(json, &token, reading->reterr));
    bool wrapped = token.kind == AP_JSON_OBJECT_BEGIN;
    if (wrapped)
        AP_TRY(find_events(json, &token, reading->reterr));
    if (token.kind != AP_JSON_ARRAY_BEGIN)
        return ap_fail_at(reading->reterr, AP_ERROR_INPUT, token.offset_bytes,
                          "a profile of ONNX Runtime is an array of events");
    AP_TRY(ap_element_reader_new(json, fields, FIELD_COUNT_, &reading->elements, reading->reterr));
    AP_TRY(read_events(reading));
    if (wrapped)
        AP_TRY(find_events(json, &token, reading->reterr));
    AP_TRY_UNTIL_END(ap_json_next(json, &token, reading->reterr));
    return AP_OK;
}

/* A session that is never ended does not write the bracket. */
static enum ap_status keep_part(struct reading *reading, struct ap_json_reader *json, size_t before, enum ap_status why)
{
    enum ap_counter counter = why == AP_ERROR_CUT ? AP_COUNTER_cut : AP_COUNTER_salvaged;
    uint64_t offset_bytes = reading->reterr->has_offset ? reading->reterr->offset_bytes : ap_json_offset(json);
    if (reading->onnx->count == before)
        return why;
    ap_note(reading->notes, counter, offset_bytes);
    ap_note_detail(reading->notes, counter, "%llu events were read, up to byte %llu%s",
                   (unsigned long long)(reading->onnx->count - before), (unsigned long long)offset_bytes,
                   ap_element_at_boundary(reading->elements)
                       ? "; the last one is whole, so perhaps only end_profiling() was not called"
                       : "");
    return AP_OK;
}

enum ap_status ap_onnx_read(struct ap_onnx *onnx, struct ap_json_reader *json, bool salvage, struct ap_notes *notes,
                            struct ap_error *reterr)
{
    struct ap_error error = { .status = AP_OK };
    struct reading reading = { .onnx = onnx, .notes = notes, .reterr = &error };
    size_t before = onnx->count;
    struct ap_onnx_session session = { .base_ns = onnx->read_end_ns };
    AP_TRY_ADD(onnx->gate, onnx->sessions, onnx->session_count, onnx->session_capacity, reterr, session);
    enum ap_status status = read_document(&reading, json);
    if (status == AP_ERROR_CUT || (status == AP_ERROR_INPUT && salvage))
        status = keep_part(&reading, json, before, status);
    ap_element_reader_free(reading.elements);
    if (status != AP_OK && reterr)
        *reterr = error;
    return status;
}
