/* SPDX-License-Identifier: MIT
 * tensorrt_reader.c - the three files, as NVIDIA/TensorRT's samples/common/sampleReporting.cpp writes them. Times are
 * decimal milliseconds, read as millionths, which are nanoseconds. */
#include "decimal.h"
#include "tensorrt.h"

#include "poison.h"

struct reading {
    struct ap_trt *trt;
    struct ap_json_reader *json;
    struct ap_element_reader *elements;
    struct ap_notes *notes;
    uint64_t offset_bytes, taken;
    struct ap_error *reterr;
};

static int64_t time_ns(struct reading *reading, const struct ap_json_span *span)
{
    int64_t ns;
    if (span->kind == AP_SPAN_ABSENT || span->kind == AP_JSON_NULL)
        return -1;
    if (span->kind != AP_JSON_NUMBER) {
        ap_note(reading->notes, AP_COUNTER_member_type, reading->offset_bytes);
        return -1;
    }
    if (ap_decimal_to_millionths(span->text, span->bytes, &ns) == AP_DECIMAL_OUT_OF_RANGE || ns < 0 || ns > AP_MAX_TIME_NS) {
        ap_note(reading->notes, AP_COUNTER_time_out_of_range, reading->offset_bytes);
        return -1;
    }
    return ns;
}

static enum ap_status intern(struct reading *reading, const struct ap_json_span *span, struct ap_str *ret_text)
{
    struct ap_text text;
    ret_text->id = 0;
    if (span->kind != AP_JSON_STRING)
        return AP_OK;
    AP_TRY(ap_element_text(reading->elements, span, &text, reading->reterr));
    return ap_strpool_intern(&reading->trt->strings, text.data, text.bytes, ret_text, reading->reterr);
}

/* The elements of the array, one after the other, each to @take. */
static enum ap_status read_elements(struct reading *reading, const struct ap_json_field *fields, unsigned count,
                                    struct ap_json_span *spans,
                                    enum ap_status (*take)(struct reading *, const struct ap_json_span *))
{
    enum ap_element_outcome outcome;
    AP_TRY(ap_element_reader_new(reading->json, fields, count, &reading->elements, reading->reterr));
    for (;;) {
        AP_TRY_UNTIL_END(ap_element_next(reading->elements, spans, &outcome, &reading->offset_bytes, reading->reterr));
        if (outcome == AP_ELEMENT_READ)
            AP_TRY(take(reading, spans));
        else
            ap_note(reading->notes,
                    outcome == AP_ELEMENT_TOO_LARGE ? AP_COUNTER_event_too_large : AP_COUNTER_entry_not_object,
                    reading->offset_bytes);
    }
}

/* ---------------------------------------------------------------------------------------------------------- queries */

/* Up to version 8.0 copies were called "in" and "out". */
#define QUERY_FIELDS(FIELD)                                 \
    FIELD(QUERY_start_enqueue, NULL, "startEnqMs", ANY)     \
    FIELD(QUERY_end_enqueue, NULL, "endEnqMs", ANY)         \
    FIELD(QUERY_start_h2d, NULL, "startH2dMs", ANY)         \
    FIELD(QUERY_start_in, NULL, "startInMs", ANY)           \
    FIELD(QUERY_start_compute, NULL, "startComputeMs", ANY) \
    FIELD(QUERY_end_compute, NULL, "endComputeMs", ANY)     \
    FIELD(QUERY_end_d2h, NULL, "endD2hMs", ANY)             \
    FIELD(QUERY_end_out, NULL, "endOutMs", ANY)             \
    FIELD(QUERY_h2d, NULL, "h2dMs", ANY)                    \
    FIELD(QUERY_in, NULL, "inMs", ANY)                      \
    FIELD(QUERY_compute, NULL, "computeMs", ANY)            \
    FIELD(QUERY_d2h, NULL, "d2hMs", ANY)                    \
    FIELD(QUERY_out, NULL, "outMs", ANY)                    \
    FIELD(QUERY_latency, NULL, "latencyMs", ANY)
enum query_field { QUERY_FIELDS(AP_JSON_FIELD_ID) QUERY_COUNT_ };
static const struct ap_json_field query_fields[QUERY_COUNT_] = { QUERY_FIELDS(AP_JSON_FIELD) };

static int64_t either(int64_t a, int64_t b)
{
    return a >= 0 ? a : b;
}

static int64_t between(int64_t start_ns, int64_t end_ns)
{
    return start_ns >= 0 && end_ns >= start_ns ? end_ns - start_ns : -1;
}

static enum ap_status take_query(struct reading *reading, const struct ap_json_span *spans)
{
    struct ap_trt *trt = reading->trt;
    int64_t ns[QUERY_COUNT_];
    for (int i = 0; i < QUERY_COUNT_; i++)
        ns[i] = time_ns(reading, &spans[i]);
    struct ap_trt_query query = {
        .start_ns = either(ns[QUERY_start_h2d], either(ns[QUERY_start_in], ns[QUERY_start_compute])),
        .end_ns = either(ns[QUERY_end_d2h], either(ns[QUERY_end_out], ns[QUERY_end_compute])),
        .compute_start_ns = ns[QUERY_start_compute],
        .compute_end_ns = ns[QUERY_end_compute],
        .enqueue_ns = between(ns[QUERY_start_enqueue], ns[QUERY_end_enqueue]),
        .h2d_ns = either(ns[QUERY_h2d], ns[QUERY_in]),
        .compute_ns = either(ns[QUERY_compute], between(ns[QUERY_start_compute], ns[QUERY_end_compute])),
        .d2h_ns = either(ns[QUERY_d2h], ns[QUERY_out]),
        .latency_ns = ns[QUERY_latency],
    };
    if (query.latency_ns < 0 && query.h2d_ns >= 0 && query.compute_ns >= 0 && query.d2h_ns >= 0 &&
        query.h2d_ns + query.d2h_ns >= 0 && query.h2d_ns + query.d2h_ns <= AP_MAX_TIME_NS)
        query.latency_ns = query.h2d_ns + query.d2h_ns + query.compute_ns;
    if (query.latency_ns < 0 && query.compute_ns < 0) {
        ap_note(reading->notes, AP_COUNTER_dur_missing, reading->offset_bytes);
        return AP_OK;
    }
    AP_TRY_ADD(trt->gate, trt->queries, trt->query_count, trt->query_capacity, reading->reterr, query);
    reading->taken++;
    return AP_OK;
}

/* ---------------------------------------------------------------------------------------------------- layer profile */

#define LAYER_FIELDS(FIELD)                                           \
    FIELD(LAYER_count, NULL, "count", ANY)                            \
    FIELD(LAYER_name, NULL, "name", WITH_QUOTES) /* is not escaped */ \
    FIELD(LAYER_total, NULL, "timeMs", ANY)                           \
    FIELD(LAYER_mean, NULL, "averageMs", ANY)                         \
    FIELD(LAYER_median, NULL, "medianMs", ANY)
enum layer_field { LAYER_FIELDS(AP_JSON_FIELD_ID) LAYER_COUNT_ };
static const struct ap_json_field layer_fields[LAYER_COUNT_] = { LAYER_FIELDS(AP_JSON_FIELD) };

static enum ap_status take_layer(struct reading *reading, const struct ap_json_span *spans)
{
    struct ap_trt *trt = reading->trt;
    struct ap_trt_layer layer = { .described = AP_PAIR_NONE };
    int64_t count;
    if (spans[LAYER_count].kind == AP_JSON_NUMBER &&
        ap_decimal_to_integer(spans[LAYER_count].text, spans[LAYER_count].bytes, &count) && count > 0)
        trt->iterations = count;
    AP_TRY(intern(reading, &spans[LAYER_name], &layer.name));
    layer.total_ns = time_ns(reading, &spans[LAYER_total]);
    layer.mean_ns = time_ns(reading, &spans[LAYER_mean]);
    layer.median_ns = time_ns(reading, &spans[LAYER_median]);
    if (layer.mean_ns < 0 && layer.total_ns >= 0 && trt->iterations > 0)
        layer.mean_ns = layer.total_ns / trt->iterations;
    if (layer.mean_ns < 0)
        return AP_OK;
    AP_TRY_ADD(trt->gate, trt->layers, trt->layer_count, trt->layer_capacity, reading->reterr, layer);
    reading->taken++;
    return AP_OK;
}

/* ----------------------------------------------------------------------------------------------- layer descriptions */

/* A type as TensorRT calls it, in weights or in "Row major linear FP16 format". */
static struct ap_text precision_of(struct ap_text text)
{
    static const struct {
        const char *word, *precision;
    } words[] = {
        { "FP32", "FP32" },   { "FP16", "FP16" }, { "Half", "FP16" },  { "BF16", "BF16" },   { "BFloat16", "BF16" },
        { "Int8", "INT8" },   { "INT8", "INT8" }, { "FP8", "FP8" },    { "Float8", "FP8" },  { "FP4", "FP4" },
        { "Int4", "INT4" },   { "INT4", "INT4" }, { "Float", "FP32" }, { "Int32", "INT32" }, { "INT32", "INT32" },
        { "Int64", "INT64" }, { "Bool", "BOOL" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(words); i++)
        if (ap_text_contains(text, ap_text_of(words[i].word)))
            return ap_text_of(words[i].precision);
    return (struct ap_text){ NULL, 0 };
}

/* A text; skips any other value. */
static enum ap_status read_text(struct reading *reading, bool is_type, struct ap_str *ret_text)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(reading->json, &token, reading->reterr));
    if (token.kind != AP_JSON_STRING)
        return ap_json_skip_rest(reading->json, &token, reading->reterr);
    struct ap_text text = { token.text, token.text_bytes };
    if (is_type)
        text = precision_of(text);
    if (!text.data)
        return AP_OK;
    return ap_strpool_intern(&reading->trt->strings, text.data, text.bytes, ret_text, reading->reterr);
}

/* The member @wanted of the object that is next; all else is skipped. */
static enum ap_status read_member(struct reading *reading, const char *wanted, struct ap_str *ret_precision)
{
    struct ap_json_token token;
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_key(reading->json, &token, reading->reterr));
        if (ap_text_is((struct ap_text){ token.text, token.text_bytes }, wanted))
            AP_TRY(read_text(reading, true, ret_precision));
        else
            AP_TRY(ap_json_skip_value(reading->json, reading->reterr));
    }
}

/* Of the first tensor in the list. */
static enum ap_status read_tensors(struct reading *reading, struct ap_str *ret_precision)
{
    struct ap_json_token token;
    bool first = true;
    AP_TRY(ap_json_next(reading->json, &token, reading->reterr));
    if (token.kind != AP_JSON_ARRAY_BEGIN)
        return ap_json_skip_rest(reading->json, &token, reading->reterr);
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_element(reading->json, &token, reading->reterr));
        if (first && token.kind == AP_JSON_OBJECT_BEGIN)
            AP_TRY(read_member(reading, "Format/Datatype", ret_precision));
        else
            AP_TRY(ap_json_skip_rest(reading->json, &token, reading->reterr));
        first = false;
    }
}

static enum ap_status read_weights(struct reading *reading, struct ap_str *ret_precision)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(reading->json, &token, reading->reterr));
    if (token.kind != AP_JSON_OBJECT_BEGIN)
        return ap_json_skip_rest(reading->json, &token, reading->reterr);
    return read_member(reading, "Type", ret_precision);
}

/* Behind the '{' of a layer. What it computes in is told by its weights, else by what it writes. */
static enum ap_status read_description(struct reading *reading, struct ap_trt_description *description)
{
    struct ap_str of_weights = { 0 };
    struct ap_json_token token;
    for (;;) {
        enum ap_status status = ap_json_next_key(reading->json, &token, reading->reterr);
        if (status == AP_END)
            break;
        AP_TRY(status);
        struct ap_text key = { token.text, token.text_bytes };
        if (ap_text_is(key, "Name"))
            AP_TRY(read_text(reading, false, &description->name));
        else if (ap_text_is(key, "LayerType"))
            AP_TRY(read_text(reading, false, &description->type));
        else if (ap_text_is(key, "TacticName"))
            AP_TRY(read_text(reading, false, &description->tactic));
        else if (ap_text_is(key, "Outputs"))
            AP_TRY(read_tensors(reading, &description->precision));
        else if (ap_text_is(key, "Weights"))
            AP_TRY(read_weights(reading, &of_weights));
        else
            AP_TRY(ap_json_skip_value(reading->json, reading->reterr));
    }
    if (of_weights.id)
        description->precision = of_weights;
    return AP_OK;
}

/* Behind the '['. Without detailed verbosity a layer is its name alone. */
static enum ap_status read_layers(struct reading *reading)
{
    struct ap_trt *trt = reading->trt;
    struct ap_json_token token;
    for (;;) {
        struct ap_trt_description description = { .name = { 0 } };
        AP_TRY_UNTIL_END(ap_json_next_element(reading->json, &token, reading->reterr));
        if (token.kind == AP_JSON_OBJECT_BEGIN)
            AP_TRY(read_description(reading, &description));
        else if (token.kind == AP_JSON_STRING)
            AP_TRY(ap_strpool_intern(&trt->strings, token.text, token.text_bytes, &description.name, reading->reterr));
        else
            AP_TRY(ap_json_skip_rest(reading->json, &token, reading->reterr));
        AP_TRY_ADD(trt->gate, trt->descriptions, trt->description_count, trt->description_capacity, reading->reterr,
                   description);
        reading->taken++;
    }
}

static enum ap_status read_layer_list(struct reading *reading)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(reading->json, &token, reading->reterr));
    return token.kind == AP_JSON_ARRAY_BEGIN ? read_layers(reading)
                                             : ap_json_skip_rest(reading->json, &token, reading->reterr);
}

static enum ap_status read_descriptions(struct reading *reading)
{
    struct ap_json_token token;
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_key(reading->json, &token, reading->reterr));
        if (ap_text_is((struct ap_text){ token.text, token.text_bytes }, "Layers"))
            AP_TRY(read_layer_list(reading));
        else
            AP_TRY(ap_json_skip_value(reading->json, reading->reterr));
    }
}

/* ------------------------------------------------------------------------------------------------------------- all */

static enum ap_status read_document(struct reading *reading, enum ap_other_format format)
{
    struct ap_json_span queries[QUERY_COUNT_ + 1], layers[LAYER_COUNT_ + 1];
    struct ap_json_token token;
    bool describes = format == AP_OTHER_tensorrt_layers;
    AP_TRY(ap_json_next(reading->json, &token, reading->reterr));
    if (token.kind != AP_JSON_ARRAY_BEGIN && !(describes && token.kind == AP_JSON_OBJECT_BEGIN))
        return ap_fail_at(reading->reterr, AP_ERROR_INPUT, token.offset_bytes, "this is no %s", ap_other_name(format));
    if (describes)
        AP_TRY(token.kind == AP_JSON_ARRAY_BEGIN ? read_layers(reading) : read_descriptions(reading));
    else if (format == AP_OTHER_tensorrt_times)
        AP_TRY(read_elements(reading, query_fields, QUERY_COUNT_, queries, take_query));
    else
        AP_TRY(read_elements(reading, layer_fields, LAYER_COUNT_, layers, take_layer));
    AP_TRY_UNTIL_END(ap_json_next(reading->json, &token, reading->reterr));
    return AP_OK;
}

enum ap_status ap_trt_read(struct ap_trt *trt, struct ap_json_reader *json, const struct ap_other_input *input,
                           struct ap_notes *notes, struct ap_error *reterr)
{
    struct ap_error error = { .status = AP_OK };
    struct reading reading = { .trt = trt, .json = json, .notes = notes, .reterr = &error };
    enum ap_status status = read_document(&reading, input->format);
    if (reading.taken && (status == AP_ERROR_CUT || (status == AP_ERROR_INPUT && input->salvage))) {
        ap_note(notes, status == AP_ERROR_CUT ? AP_COUNTER_cut : AP_COUNTER_salvaged,
                error.has_offset ? error.offset_bytes : ap_json_offset(json));
        status = AP_OK;
    }
    ap_element_reader_free(reading.elements);
    if (status != AP_OK && reterr)
        *reterr = error;
    return status;
}
