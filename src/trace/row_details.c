/* SPDX-License-Identifier: MIT
 * row_details.c - what rows of some kinds say beside their place in time: one table for each kind, so that a row without
 * details costs four bytes, and none where no row has any; and the instants of the allocators. To add a detail: its field
 * in trace_internal.h and trace_events.c, its member in trace.h, one line in the take_ function below. */
#include <math.h>
#include <string.h>

#include "decimal_short.h"
#include "op_formula.h"
#include "sort.h"
#include "trace_internal.h"

#include "poison.h"

#define SMALL_KEY_END UINT32_C(0x7fffffff) /* numbers below it are their own keys, plus one */
#define SMALL_KEY_DIGITS 9                 /* all numbers of so many are small */
#define ODD_TEXTS_MAX (~AP_ODD_KEY >> AP_ODD_DIGIT_BITS)
#define SIGNATURE_SEPARATOR '\x1f' /* no JSON text holds it */
#define LEAST_OF_A_PERCENT 0.64F   /* blocks per SM: even of one warp each, where 64 fit, they occupy one percent */

/* --------------------------------------------------------------------------------------------------------- adding */

static inline enum ap_status refer(struct ap_trace *trace, size_t detail_count, struct ap_error *reterr)
{
    if (AP_UNLIKELY(!trace->events.detail))
        AP_TRY(ap_trace_need_details(trace, reterr));
    trace->events.detail[trace->events.count - 1] = (uint32_t)detail_count;
    return AP_OK;
}

#define DEFINE_ADD(type, table)                                                                                  \
    enum ap_status ap_trace_add_##type(struct ap_trace *trace, struct ap_##type detail, struct ap_error *reterr) \
    {                                                                                                            \
        AP_TRY_ADD(trace->gate, trace->table##s, trace->table##_count, trace->table##_capacity, reterr, detail); \
        return refer(trace, trace->table##_count, reterr);                                                       \
    }
DEFINE_ADD(call_detail, call_detail)
DEFINE_ADD(sync_detail, sync_detail)

/* Of the last operator, in a column in which those before it may lack. It grows with their table. */
static enum ap_status add_told(struct ap_trace *trace, uint32_t **column, size_t *count, size_t *capacity, uint32_t value,
                               struct ap_error *reterr)
{
    size_t last = trace->op_detail_count - 1;
    AP_TRY(AP_RESERVE(trace->gate, *column, *capacity, trace->op_detail_capacity, reterr));
    while (*count < last)
        (*column)[(*count)++] = 0;
    (*column)[(*count)++] = value;
    return AP_OK;
}

static enum ap_status add_rarely_told(struct ap_trace *trace, uint32_t arguments, uint32_t forward_thread,
                                      struct ap_error *reterr)
{
    if (arguments)
        AP_TRY(add_told(trace, &trace->op_arguments, &trace->op_argument_count, &trace->op_argument_capacity, arguments,
                        reterr));
    return forward_thread ? add_told(trace, &trace->forward_threads, &trace->forward_thread_count,
                                     &trace->forward_thread_capacity, forward_thread, reterr)
                          : AP_OK;
}

enum ap_status ap_trace_put_op_told(struct ap_trace *trace, const struct ap_op_told *told, struct ap_error *reterr)
{
    AP_TRY_ADD(trace->gate, trace->op_details, trace->op_detail_count, trace->op_detail_capacity, reterr,
               (struct ap_op_detail){ told->external_id, told->sequence, told->signature });
    return AP_LIKELY(!(told->arguments.id | told->forward_thread))
               ? AP_OK
               : add_rarely_told(trace, told->arguments.id, told->forward_thread, reterr);
}

static inline enum ap_status add_op(struct ap_trace *trace, const struct ap_op_told *told, struct ap_error *reterr)
{
    AP_TRY(ap_trace_put_op_told(trace, told, reterr));
    return refer(trace, trace->op_detail_count, reterr);
}

enum ap_status ap_trace_add_op_detail(struct ap_trace *trace, struct ap_op_told told, struct ap_error *reterr)
{
    return add_op(trace, &told, reterr);
}

/* Rows that follow one another and say the same share it: where no launches were recorded all may. It has no padding. */
enum ap_status ap_trace_add_work_detail(struct ap_trace *trace, struct ap_work_detail detail, struct ap_error *reterr)
{
    size_t count = trace->work_detail_count;
    if (!count || memcmp(&trace->work_details[count - 1], &detail, sizeof(detail)) != 0)
        AP_TRY_ADD(trace->gate, trace->work_details, trace->work_detail_count, trace->work_detail_capacity, reterr, detail);
    return refer(trace, trace->work_detail_count, reterr);
}

/* Of the next collective. Few writers tell any. */
static enum ap_status add_sequence(struct ap_trace *trace, int64_t sequence, struct ap_error *reterr)
{
    size_t count = trace->collective_count + 1;
    if (sequence < 0)
        return AP_OK;
    AP_TRY(AP_RESERVE(trace->gate, trace->collective_sequences, trace->collective_sequence_capacity, count, reterr));
    while (trace->collective_sequence_count < count - 1)
        trace->collective_sequences[trace->collective_sequence_count++] = -1;
    trace->collective_sequences[trace->collective_sequence_count++] = sequence;
    return AP_OK;
}

enum ap_status ap_trace_add_collective(struct ap_trace *trace, uint32_t row, struct ap_collective collective,
                                       int64_t sequence, struct ap_error *reterr)
{
    struct ap_collective_call call = { .row = row };
    AP_TRY(ap_strpool_intern(&trace->collective_kinds, (const char *)&collective, sizeof(collective), &call.what, reterr));
    AP_TRY(add_sequence(trace, sequence, reterr));
    AP_TRY_ADD(trace->gate, trace->collectives, trace->collective_count, trace->collective_capacity, reterr, call);
    return AP_OK;
}

/* Of the last row. */
static enum ap_status add_launched_name(struct ap_trace *trace, struct ap_str kernel, struct ap_error *reterr)
{
    struct ap_launched_name name = { (uint32_t)(trace->events.count - 1), kernel };
    AP_TRY_ADD(trace->gate, trace->launched_names, trace->launched_name_count, trace->launched_name_capacity, reterr, name);
    return AP_OK;
}

enum ap_status ap_trace_add_memory_event(struct ap_trace *trace, struct ap_memory_event event, struct ap_error *reterr)
{
    if (AP_UNLIKELY(trace->memory_instant_count >= UINT32_MAX - 1))
        return ap_fail(reterr, AP_ERROR_LIMIT, "more than 4,294,967,294 memory events: record a shorter trace");
    AP_TRY_ADD(trace->gate, trace->memory_instants, trace->memory_instant_count, trace->memory_instant_capacity, reterr,
               event);
    return AP_OK;
}

void ap_trace_release_details(struct ap_trace *trace)
{
    struct ap_gate *gate = trace->gate;
    ap_strpool_release(&trace->signatures);
    ap_strpool_release(&trace->collective_kinds);
    ap_strpool_release(&trace->odd_keys);
    AP_FREE(gate, trace->op_details, trace->op_detail_capacity);
    AP_FREE(gate, trace->op_arguments, trace->op_argument_capacity);
    AP_FREE(gate, trace->forward_threads, trace->forward_thread_capacity);
    AP_FREE(gate, trace->call_details, trace->call_detail_capacity);
    AP_FREE(gate, trace->work_details, trace->work_detail_capacity);
    AP_FREE(gate, trace->sync_details, trace->sync_detail_capacity);
    AP_FREE(gate, trace->collectives, trace->collective_capacity);
    AP_FREE(gate, trace->collective_sequences, trace->collective_sequence_capacity);
    AP_FREE(gate, trace->launched_names, trace->launched_name_capacity);
    AP_FREE(gate, trace->memory_instants, trace->memory_instant_capacity);
    ap_mem_free(gate, trace->signature, trace->signature_capacity);
    AP_FREE(gate, trace->wants_arguments, trace->wants_arguments_capacity);
}

const struct ap_collective *ap_trace_collective_of(const struct ap_trace *trace, struct ap_str what)
{
    const void *collective = ap_strpool_text(&trace->collective_kinds, what).data;
    return what.id ? collective : NULL;
}

const struct ap_collective *ap_trace_collective(const struct ap_trace *trace, size_t number)
{
    return ap_trace_collective_of(trace, trace->collectives[number].what);
}

uint32_t ap_row_collective_number(const struct ap_trace *trace, uint32_t row)
{
    size_t low = 0;
    AP_BISECT(low, trace->collective_count, at, trace->collectives[at].row < row);
    return low < trace->collective_count && trace->collectives[low].row == row ? (uint32_t)low : AP_NO_ROW;
}

const struct ap_collective *ap_row_collective(const struct ap_trace *trace, uint32_t row)
{
    uint32_t number = ap_row_collective_number(trace, row);
    return number == AP_NO_ROW ? NULL : ap_trace_collective(trace, number);
}

struct ap_str ap_row_launched_name(const struct ap_trace *trace, uint32_t row)
{
    size_t low = 0;
    AP_BISECT(low, trace->launched_name_count, at, trace->launched_names[at].row < row);
    return low < trace->launched_name_count && trace->launched_names[low].row == row ? trace->launched_names[low].kernel
                                                                                     : (struct ap_str){ 0 };
}

double ap_plain_figure(float figure)
{
    double number = (double)figure, scale = 1;
    if (!isfinite(number) || number < 0)
        return -1;
    while (number * scale < 1e5 && scale < 1e9)
        scale *= 10;
    return floor(number * scale + 0.5) / scale;
}

/* A number as programs write it, of more digits than any small one: it is odd by its first look. */
static bool is_long_number(struct ap_text digits)
{
    bool plain = digits.bytes > SMALL_KEY_DIGITS && digits.data[0] != '0';
    for (size_t i = 0; i < digits.bytes && plain; i++)
        plain = (uint8_t)(digits.data[i] - '0') < 10;
    return plain;
}

static enum ap_status odd_key(struct ap_trace *trace, struct ap_text text, uint32_t digit, ap_link_key *ret_key,
                              struct ap_error *reterr)
{
    struct ap_str odd;
    AP_TRY(ap_strpool_intern(&trace->odd_keys, text.data, text.bytes, &odd, reterr));
    if (AP_UNLIKELY(odd.id > ODD_TEXTS_MAX))
        return ap_fail(reterr, AP_ERROR_LIMIT,
                       "more than %u different numbers above %u that link events: record a shorter run", ODD_TEXTS_MAX,
                       SMALL_KEY_END);
    *ret_key = ap_odd_key(odd.id, digit);
    return AP_OK;
}

enum ap_status ap_trace_link_key(struct ap_trace *trace, struct ap_text digits, ap_link_key *ret_key,
                                 struct ap_error *reterr)
{
    int64_t number;
    bool is_long = is_long_number(digits);
    if ((!is_long || digits.bytes == SMALL_KEY_DIGITS + 1) && ap_decimal_to_integer(digits.data, digits.bytes, &number) &&
        number >= 0 && number < (int64_t)SMALL_KEY_END) {
        *ret_key = (ap_link_key)number + 1;
        return AP_OK;
    }
    if (!is_long)
        return odd_key(trace, digits, AP_ODD_NO_DIGIT, ret_key, reterr);
    return odd_key(trace, (struct ap_text){ digits.data, digits.bytes - 1 }, (uint8_t)(digits.data[digits.bytes - 1] - '0'),
                   ret_key, reterr);
}

enum ap_status ap_trace_join_signature(struct ap_trace *trace, struct ap_text dims, struct ap_text types,
                                       struct ap_str *ret_signature, struct ap_error *reterr)
{
    size_t bytes = dims.bytes + 1 + types.bytes;
    AP_TRY(AP_RESERVE(trace->gate, trace->signature, trace->signature_capacity, bytes, reterr));
    if (dims.bytes)
        memcpy(trace->signature, dims.data, dims.bytes);
    trace->signature[dims.bytes] = SIGNATURE_SEPARATOR;
    if (types.bytes)
        memcpy(trace->signature + dims.bytes + 1, types.data, types.bytes);
    return ap_strpool_intern(&trace->signatures, trace->signature, bytes, ret_signature, reterr);
}

uint32_t ap_trace_find_text(const struct ap_trace *trace, const char *text)
{
    for (uint32_t id = 1; id <= ap_strpool_count(&trace->strings); id++)
        if (ap_text_is(ap_trace_text(trace, id), text))
            return id;
    return 0;
}

void ap_trace_signature(const struct ap_trace *trace, struct ap_str signature, struct ap_text *ret_dims,
                        struct ap_text *ret_types)
{
    struct ap_text whole = ap_strpool_text(&trace->signatures, signature);
    const char *separator = whole.bytes ? memchr(whole.data, SIGNATURE_SEPARATOR, whole.bytes) : NULL;
    size_t dims_bytes = separator ? (size_t)(separator - whole.data) : whole.bytes;
    *ret_dims = (struct ap_text){ whole.data, dims_bytes };
    *ret_types = separator ? (struct ap_text){ separator + 1, whole.bytes - dims_bytes - 1 } : AP_TEXT("");
}

/* -------------------------------------------------------------------------------------------------------- reading */

static const struct ap_json_span *field(const struct ap_trace_reading *reading, enum ap_event_field index)
{
    return &reading->spans[index];
}

static bool is_scalar(const struct ap_json_span *span)
{
    return (span->kind == AP_JSON_NUMBER || span->kind == AP_JSON_STRING) && !span->decode && span->bytes;
}

static __attribute__((noinline)) enum ap_status read_long_key(struct ap_trace_reading *reading,
                                                              const struct ap_json_span *span, ap_link_key *ret_key,
                                                              struct ap_error *reterr)
{
    int64_t number = ap_decimal_digits(span->text, span->bytes);
    if (number < 0 || number >= (int64_t)SMALL_KEY_END)
        return ap_trace_link_key(reading->trace, (struct ap_text){ span->text, span->bytes }, ret_key, reterr);
    *ret_key = (ap_link_key)number + 1;
    return AP_OK;
}

/* A small number without sign is what nearly all are. */
static inline enum ap_status read_key(struct ap_trace_reading *reading, enum ap_event_field index, ap_link_key *ret_key,
                                      struct ap_error *reterr)
{
    const struct ap_json_span *span = field(reading, index);
    *ret_key = 0;
    if (!is_scalar(span))
        return AP_OK;
    int64_t number = span->bytes <= 8 ? ap_decimal_short(span->text, span->bytes) : -1;
    if (AP_UNLIKELY(number < 0))
        return read_long_key(reading, span, ret_key, reterr);
    *ret_key = (ap_link_key)number + 1;
    return AP_OK;
}

/* -1 where it is not told, no number or negative. */
static int64_t read_count(const struct ap_trace_reading *reading, enum ap_event_field index)
{
    const struct ap_json_span *span = field(reading, index);
    if (!is_scalar(span))
        return -1;
    int64_t number = ap_decimal_digits(span->text, span->bytes);
    if (AP_LIKELY(number >= 0))
        return number;
    return ap_decimal_to_integer(span->text, span->bytes, &number) && number >= 0 ? number : -1;
}

/* As nearly all figures are written: whole, or one digit, a point and up to six more. */
static int64_t plain_millionths(const struct ap_json_span *span)
{
    static const int64_t units[] = { 0, 100000, 10000, 1000, 100, 10, 1 };
    const char *text = span->text;
    if (span->bytes > 8)
        return -1;
    if (span->bytes < 3 || text[1] != '.') {
        int64_t whole = ap_decimal_short(text, span->bytes);
        return whole < 0 ? -1 : whole * 1000000;
    }
    int64_t fraction = ap_decimal_short(text + 2, span->bytes - 2);
    return fraction < 0 || !ap_is_digit(text[0]) ? -1 : (text[0] - '0') * 1000000 + fraction * units[span->bytes - 2];
}

static float read_figure(const struct ap_trace_reading *reading, enum ap_event_field index, double unit)
{
    const struct ap_json_span *span = field(reading, index);
    if (span->kind != AP_JSON_NUMBER)
        return -1;
    int64_t millionths = plain_millionths(span);
    if (AP_UNLIKELY(millionths < 0) &&
        (ap_decimal_to_millionths(span->text, span->bytes, &millionths) == AP_DECIMAL_OUT_OF_RANGE || millionths < 0))
        return -1;
    return (float)((double)millionths / 1e6 * unit);
}

static enum ap_status read_text(struct ap_trace_reading *reading, enum ap_event_field index, struct ap_str *ret_text,
                                struct ap_error *reterr)
{
    const struct ap_json_span *span = field(reading, index);
    struct ap_text text;
    *ret_text = (struct ap_str){ 0 };
    if (span->kind != AP_JSON_STRING)
        return AP_OK;
    AP_TRY(ap_element_text(reading->elements, span, &text, reterr));
    return ap_strpool_intern(&reading->trace->strings, text.data, text.bytes, ret_text, reterr);
}

static enum ap_status take_signature(struct ap_trace_reading *reading, struct ap_str *ret_signature, struct ap_error *reterr)
{
    const struct ap_json_span *dims = field(reading, AP_FIELD_ARGS_SHAPES), *types = field(reading, AP_FIELD_ARGS_TYPES);
    if (dims->kind != AP_JSON_ARRAY_BEGIN)
        return AP_OK;
    bool has_types = types->kind == AP_JSON_ARRAY_BEGIN;
    return ap_trace_join_signature(reading->trace, (struct ap_text){ dims->text, dims->bytes },
                                   has_types ? (struct ap_text){ types->text, types->bytes } : AP_TEXT(""), ret_signature,
                                   reterr);
}

static bool has_telling_arguments(struct ap_text name)
{
    return ap_op_formula_of(name) != AP_FORMULA_none || ap_text_is(name, "aten::arange") ||
           ap_text_is(name, "aten::linspace");
}

/* Of the few operators whose work depends on them, and of counters, which go on: they would double what is kept of all
 * others. */
static enum ap_status wants_arguments(struct ap_trace *trace, uint32_t name, bool *ret_wants, struct ap_error *reterr)
{
    enum { not_asked, no, yes };
    size_t before = trace->wants_arguments_capacity;
    AP_TRY(AP_RESERVE(trace->gate, trace->wants_arguments, trace->wants_arguments_capacity, (size_t)name + 1, reterr));
    if (trace->wants_arguments_capacity > before)
        memset(trace->wants_arguments + before, not_asked, trace->wants_arguments_capacity - before);
    uint8_t *told = &trace->wants_arguments[name];
    if (*told == not_asked)
        *told = has_telling_arguments(ap_trace_text(trace, name)) ? yes : no;
    *ret_wants = *told == yes;
    return AP_OK;
}

static enum ap_status take_arguments(struct ap_trace_reading *reading, struct ap_str *ret_arguments, struct ap_error *reterr)
{
    const struct ap_json_span *strides = field(reading, AP_FIELD_ARGS_STRIDES);
    const struct ap_json_span *concrete = field(reading, AP_FIELD_ARGS_CONCRETE);
    struct ap_trace *trace = reading->trace;
    bool has_strides = strides->kind == AP_JSON_ARRAY_BEGIN, has_concrete = concrete->kind == AP_JSON_ARRAY_BEGIN, wants;
    if (!has_strides && !has_concrete)
        return AP_OK;
    AP_TRY(wants_arguments(trace, trace->events.name[trace->events.count - 1], &wants, reterr));
    if (!wants)
        return AP_OK;
    return ap_trace_join_signature(trace, has_strides ? (struct ap_text){ strides->text, strides->bytes } : AP_TEXT(""),
                                   has_concrete ? (struct ap_text){ concrete->text, concrete->bytes } : AP_TEXT(""),
                                   ret_arguments, reterr);
}

/* "External id", "external id" until 2021-06. */
static enum ap_status read_external_id(struct ap_trace_reading *reading, ap_link_key *ret_key, struct ap_error *reterr)
{
    AP_TRY(read_key(reading, AP_FIELD_ARGS_EXTERNAL_ID, ret_key, reterr));
    return *ret_key ? AP_OK : read_key(reading, AP_FIELD_ARGS_EXTERNAL_ID_2021, ret_key, reterr);
}

static enum ap_status take_op(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    struct ap_op_told detail = { .external_id = 0 };
    AP_TRY(read_external_id(reading, &detail.external_id, reterr));
    AP_TRY(read_key(reading, AP_FIELD_ARGS_SEQUENCE, &detail.sequence, reterr));
    AP_TRY(take_signature(reading, &detail.signature, reterr));
    if (detail.signature.id)
        AP_TRY(take_arguments(reading, &detail.arguments, reterr));
    if (!detail.external_id && !detail.sequence && !detail.signature.id)
        return AP_OK;
    int64_t thread = read_count(reading, AP_FIELD_ARGS_FORWARD_THREAD);
    detail.forward_thread = thread > 0 && thread <= UINT32_MAX ? (uint32_t)thread : 0;
    return add_op(reading->trace, &detail, reterr);
}

static enum ap_status take_call(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    struct ap_call_detail detail;
    struct ap_str kernel;
    AP_TRY(read_text(reading, AP_FIELD_ARGS_KERNEL, &kernel, reterr));
    if (kernel.id)
        AP_TRY(add_launched_name(reading->trace, kernel, reterr));
    AP_TRY(read_key(reading, AP_FIELD_ARGS_CORRELATION, &detail.correlation, reterr));
    AP_TRY(read_external_id(reading, &detail.external_id, reterr));
    if (!detail.correlation && !detail.external_id)
        return AP_OK;
    reading->trace->calls_with_external_id += detail.external_id != 0;
    reading->trace->calls_named_by_correlation += detail.external_id && detail.external_id == detail.correlation;
    return ap_trace_add_call_detail(reading->trace, detail, reterr);
}

static bool tells_anything(const struct ap_work_detail *detail, enum ap_event_kind kind)
{
    bool told = kind == AP_KIND_kernel ? detail->as.grid.blocks_per_sm >= 0 || detail->as.grid.occupancy_ratio >= 0
                                       : detail->as.bytes >= 0;
    return told || detail->correlation || detail->external_id;
}

static enum ap_status take_work(struct ap_trace_reading *reading, enum ap_event_kind kind, struct ap_error *reterr)
{
    struct ap_work_detail detail;
    AP_TRY(read_key(reading, AP_FIELD_ARGS_CORRELATION, &detail.correlation, reterr));
    AP_TRY(read_external_id(reading, &detail.external_id, reterr));
    if (kind == AP_KIND_kernel) {
        detail.as.grid.blocks_per_sm = read_figure(reading, AP_FIELD_ARGS_BLOCKS_PER_SM, 1);
        detail.as.grid.occupancy_ratio = read_figure(reading, AP_FIELD_ARGS_OCCUPANCY, 0.01);
        if (detail.as.grid.occupancy_ratio == 0 && detail.as.grid.blocks_per_sm >= LEAST_OF_A_PERCENT)
            detail.as.grid.occupancy_ratio = -1; /* the writer's estimate failed */
    } else {
        detail.as.bytes = read_count(reading, AP_FIELD_ARGS_BYTES);
    }
    return tells_anything(&detail, kind) ? ap_trace_add_work_detail(reading->trace, detail, reterr) : AP_OK;
}

/* An unknown stream is written as -1, in some versions as the same in 32 bits without sign. */
static int64_t read_stream(const struct ap_trace_reading *reading, enum ap_event_field index)
{
    int64_t stream = read_count(reading, index);
    return stream == UINT32_MAX ? -1 : stream;
}

static enum ap_status take_sync(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    struct ap_sync_detail detail = { .stream = read_stream(reading, AP_FIELD_ARGS_STREAM),
                                     .wait_on_stream = read_stream(reading, AP_FIELD_ARGS_WAIT_STREAM) };
    AP_TRY(read_key(reading, AP_FIELD_ARGS_CORRELATION, &detail.correlation, reterr));
    if (read_count(reading, AP_FIELD_ARGS_WAIT_RECORD) >= 0)
        AP_TRY(read_key(reading, AP_FIELD_ARGS_WAIT_RECORD, &detail.record_correlation, reterr));
    return ap_trace_add_sync_detail(reading->trace, detail, reterr);
}

/* Is it @label and a value? */
static bool stands_behind(struct ap_text word, const char *label, struct ap_text *ret_value)
{
    size_t bytes = strlen(label);
    if (!ap_text_starts_with(word, label))
        return false;
    *ret_value = (struct ap_text){ word.data + bytes, word.bytes - bytes };
    return true;
}

/* XLA writes "kind_src:device kind_dst:pinned size:4096 dest:0 async:1", until 2022 "kind:host_to_device size:4096 ...". */
static void read_copy(const struct ap_trace_reading *reading, struct ap_work_detail *detail)
{
    const struct ap_json_span *span = field(reading, AP_FIELD_ARGS_MEMCPY_DETAILS);
    int64_t bytes;
    struct ap_text rest = { span->text, span->kind == AP_JSON_STRING ? span->bytes : 0 }, word, value;
    detail->as.bytes = -1;
    while (ap_text_next_part(&rest, ' ', &word)) {
        if (stands_behind(word, "size:", &value) && ap_decimal_to_integer(value.data, value.bytes, &bytes) && bytes >= 0)
            detail->as.bytes = bytes;
        else if (stands_behind(word, "kind_src:", &value))
            detail->external_id |= (ap_link_key)ap_xla_memory(value) << AP_MARK_BITS;
        else if (stands_behind(word, "kind_dst:", &value))
            detail->external_id |= (ap_link_key)ap_xla_memory(value) << 2 * AP_MARK_BITS;
    }
}

/* Of a row without category: what its kind will be told by. */
static enum ap_status take_uncategorized(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    struct ap_work_detail detail = { .external_id = AP_MARK_NONE };
    AP_TRY(read_key(reading, AP_FIELD_ARGS_CORRELATION_ID, &detail.correlation, reterr));
    if (field(reading, AP_FIELD_ARGS_STEP_NUMBER)->kind != AP_SPAN_ABSENT)
        detail.external_id = AP_MARK_STEP;
    else if (field(reading, AP_FIELD_ARGS_HLO_OP)->kind != AP_SPAN_ABSENT)
        detail.external_id = AP_MARK_HLO_OP;
    read_copy(reading, &detail);
    if (!detail.correlation && !detail.external_id && detail.as.bytes < 0)
        return AP_OK;
    return ap_trace_add_work_detail(reading->trace, detail, reterr);
}

static enum ap_status take_collective(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    struct ap_collective collective = { .in_elements = read_count(reading, AP_FIELD_ARGS_IN_ELEMENTS),
                                        .out_elements = read_count(reading, AP_FIELD_ARGS_OUT_ELEMENTS),
                                        .group_size = read_count(reading, AP_FIELD_ARGS_GROUP_SIZE),
                                        .peer = read_count(reading, AP_FIELD_ARGS_DESTINATION_RANK) };
    if (collective.peer < 0)
        collective.peer = read_count(reading, AP_FIELD_ARGS_SOURCE_RANK);
    AP_TRY(read_text(reading, AP_FIELD_ARGS_COLLECTIVE, &collective.name, reterr));
    AP_TRY(read_text(reading, AP_FIELD_ARGS_DTYPE, &collective.dtype, reterr));
    AP_TRY(read_text(reading, AP_FIELD_ARGS_GROUP_NAME, &collective.group_name, reterr));
    AP_TRY(read_text(reading, AP_FIELD_ARGS_GROUP_DESCRIPTION, &collective.group_description, reterr));
    AP_TRY(read_text(reading, AP_FIELD_ARGS_GROUP_RANKS, &collective.group_ranks, reterr));
    return ap_trace_add_collective(reading->trace, (uint32_t)(reading->trace->events.count - 1), collective,
                                   read_count(reading, AP_FIELD_ARGS_GROUP_SEQUENCE), reterr);
}

enum ap_status ap_trace_take_detail(struct ap_trace_reading *reading, enum ap_event_kind kind, struct ap_error *reterr)
{
    if (AP_UNLIKELY(field(reading, AP_FIELD_ARGS_COLLECTIVE)->kind == AP_JSON_STRING))
        AP_TRY(take_collective(reading, reterr));
    switch (kind) {
    case AP_KIND_operator:
    case AP_KIND_annotation: return take_op(reading, reterr);
    case AP_KIND_runtime: return take_call(reading, reterr);
    case AP_KIND_kernel:
    case AP_KIND_memcpy:
    case AP_KIND_memset:
    case AP_KIND_accelerator: return take_work(reading, kind, reterr);
    case AP_KIND_gpu_sync: return take_sync(reading, reterr);
    case AP_KIND_none: return take_uncategorized(reading, reterr);
    default: return AP_OK;
    }
}

/* ------------------------------------------------------------------------------------------------ memory instants */

/* @otherwise where it is not told, no whole number, or beyond the range. */
static int64_t read_within(const struct ap_trace_reading *reading, enum ap_event_field index, int64_t least, int64_t most,
                           int64_t otherwise)
{
    const struct ap_json_span *span = field(reading, index);
    int64_t number;
    return is_scalar(span) && ap_decimal_to_integer(span->text, span->bytes, &number) && number >= least && number <= most
               ? number
               : otherwise;
}

/* Some writers print addresses as signed numbers. */
static uint64_t read_address(const struct ap_trace_reading *reading)
{
    const struct ap_json_span *span = field(reading, AP_FIELD_ARGS_MEMORY_ADDRESS);
    uint64_t address = 0;
    int64_t number;
    if (!is_scalar(span))
        return 0;
    if (ap_decimal_to_integer(span->text, span->bytes, &number))
        return (uint64_t)number;
    return ap_decimal_to_u64(span->text, span->bytes, &address) ? address : 0;
}

enum ap_status ap_trace_take_memory_event(struct ap_trace_reading *reading, int64_t start_ns, uint32_t track,
                                          bool out_of_memory, struct ap_error *reterr)
{
    const int64_t most = AP_MAX_MEMORY_BYTES;
    struct ap_memory_event event = {
        .start_ns = start_ns,
        .bytes = out_of_memory ? read_within(reading, AP_FIELD_ARGS_MEMORY_BYTES, 0, most, -1)
                               : read_within(reading, AP_FIELD_ARGS_MEMORY_BYTES, -most, most, 0),
        .total_allocated_bytes = read_within(reading, AP_FIELD_ARGS_TOTAL_ALLOCATED, 0, most, -1),
        .total_reserved_bytes = read_within(reading, AP_FIELD_ARGS_TOTAL_RESERVED, 0, most, -1),
        .address = out_of_memory ? 0 : read_address(reading),
        .track = track,
        .device_id = (int16_t)read_within(reading, AP_FIELD_ARGS_DEVICE_ID, -1, INT16_MAX, -1),
        .device_type = (int8_t)read_within(reading, AP_FIELD_ARGS_DEVICE_TYPE, 0, INT8_MAX, -1),
        .out_of_memory = out_of_memory,
    };
    return ap_trace_add_memory_event(reading->trace, event, reterr);
}
