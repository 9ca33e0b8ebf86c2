/* SPDX-License-Identifier: MIT */
#include "file_head.h"

#include <string.h>

#include "poison.h"

static enum ap_file_kind kind_of_member(struct ap_text key)
{
    static const struct {
        const char *key;
        enum ap_file_kind kind;
    } members[] = {
        { "traceEvents", AP_FILE_trace },
        { "schemaVersion", AP_FILE_trace },
        { "deviceProperties", AP_FILE_trace },
        { "distributedInfo", AP_FILE_trace },
        { "segments", AP_FILE_snapshot },
        { "device_traces", AP_FILE_snapshot },
        { "pg_config", AP_FILE_flight },
        { "pg_status", AP_FILE_flight },
        { "entries", AP_FILE_flight },
        { "nccl_comm_state", AP_FILE_flight },
        { "comm_lib_version", AP_FILE_flight },
        { "coll_perf", AP_FILE_flight },
        { "p2p_perf", AP_FILE_flight },
        { "dump_stats", AP_FILE_flight },
        { "rank_summaries", AP_FILE_summary },
        { "schema_version", AP_FILE_report },
        { "rocprofiler-sdk-tool", AP_FILE_trace },
        { "$schema", AP_FILE_trace }, /* of speedscope: what reads traces names it */
    };
    for (size_t i = 0; i < AP_COUNT_OF(members); i++)
        if (ap_text_is(key, members[i].key))
            return members[i].kind;
    return AP_FILE_other;
}

static enum ap_file_kind kind_of_element_member(struct ap_text key)
{
    if (ap_text_is(key, "ph"))
        return AP_FILE_trace;
    if (ap_text_is(key, "total_size") || ap_text_is(key, "blocks") || ap_text_is(key, "segment_type"))
        return AP_FILE_snapshot;
    if (ap_text_is(key, "profiling_name") || ap_text_is(key, "collective_seq_id") || ap_text_is(key, "seq_id"))
        return AP_FILE_flight;
    return AP_FILE_other;
}

static enum ap_status read_number(struct ap_json_reader *json, int64_t *ret_number, struct ap_error *reterr)
{
    struct ap_json_token token;
    int64_t number;
    AP_TRY(ap_json_next(json, &token, reterr));
    if (token.kind == AP_JSON_NUMBER && ap_json_integer(&token, &number) && number >= 0)
        *ret_number = number;
    return ap_json_skip_rest(json, &token, reterr);
}

static enum ap_status read_distributed(struct ap_json_reader *json, struct ap_file_head *head, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(json, &token, reterr));
    if (token.kind != AP_JSON_OBJECT_BEGIN)
        return ap_json_skip_rest(json, &token, reterr);
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_key(json, &token, reterr));
        struct ap_text key = { token.text, token.text_bytes };
        if (ap_text_is(key, "rank"))
            AP_TRY(read_number(json, &head->rank, reterr));
        else if (ap_text_is(key, "world_size"))
            AP_TRY(read_number(json, &head->world_size, reterr));
        else
            AP_TRY(ap_json_skip_value(json, reterr));
    }
}

static enum ap_status read_host(struct ap_json_reader *json, struct ap_file_head *head, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(json, &token, reterr));
    if (token.kind != AP_JSON_STRING || token.text_bytes >= sizeof(head->host) || memchr(token.text, 0, token.text_bytes))
        return ap_json_skip_rest(json, &token, reterr);
    memcpy(head->host, token.text, token.text_bytes);
    head->host[token.text_bytes] = '\0';
    return AP_OK;
}

static bool is_told(const struct ap_file_head *head)
{
    return head->kind != AP_FILE_other && head->kind != AP_FILE_trace;
}

/* After a key that tells nothing of ranks. */
static enum ap_status look_at_other(struct ap_json_reader *json, enum ap_other_where where, struct ap_text key,
                                    struct ap_other_seen *seen, struct ap_file_head *head, struct ap_error *reterr)
{
    enum ap_status status = ap_other_look(json, where, key, seen, &head->format, reterr);
    head->kind = head->format ? AP_FILE_profile : head->kind;
    return head->format ? AP_OK : status;
}

/* An event is that of a trace, unless it is one as only another program writes it. */
static enum ap_status look_at_element(struct ap_json_reader *json, struct ap_other_seen *seen, struct ap_file_head *head,
                                      struct ap_error *reterr)
{
    for (;;) {
        struct ap_json_token token;
        AP_TRY_UNTIL_END(ap_json_next_key(json, &token, reterr));
        struct ap_text key = { token.text, token.text_bytes };
        if (head->kind == AP_FILE_other)
            head->kind = kind_of_element_member(key);
        if (is_told(head))
            return AP_OK;
        AP_TRY(look_at_other(json, AP_OTHER_ELEMENT, key, seen, head, reterr));
        if (is_told(head))
            return AP_OK;
    }
}

/* The first object of an array need not be like the others: that of a TensorRT profile is a count. */
#define ELEMENTS_LOOKED_AT 16

static enum ap_status look_at_array(struct ap_json_reader *json, struct ap_file_head *head, struct ap_error *reterr)
{
    struct ap_json_token token;
    bool goes_on = true;
    for (int i = 0; goes_on && i < ELEMENTS_LOOKED_AT; i++) {
        struct ap_other_seen seen = { .schema = false };
        AP_TRY_UNTIL_END(ap_json_next_element(json, &token, reterr));
        if (token.kind == AP_JSON_ARRAY_BEGIN && i == 0) {
            AP_TRY(ap_other_look_at_rows(json, &head->format, reterr));
            head->kind = head->format ? AP_FILE_profile : AP_FILE_other;
            return AP_OK;
        }
        if (token.kind != AP_JSON_OBJECT_BEGIN)
            return ap_json_skip_rest(json, &token, reterr);
        AP_TRY(look_at_element(json, &seen, head, reterr));
        /* Of an event without a category nothing is known yet; another one's tells that it is a trace. */
        goes_on = !is_told(head) && (head->kind == AP_FILE_other || seen.has_category || !seen.is_event);
    }
    return AP_OK;
}

/* ONNX Runtime writes an array, which tools for traces put into an object. */
static enum ap_status look_at_events(struct ap_json_reader *json, struct ap_file_head *head, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(json, &token, reterr));
    if (token.kind == AP_JSON_ARRAY_BEGIN)
        AP_TRY(look_at_array(json, head, reterr));
    if (head->format != AP_OTHER_onnxruntime) {
        head->format = AP_OTHER_none;
        head->kind = AP_FILE_trace;
    }
    return AP_OK;
}

/* Members that tell of whom a trace is stand before the events, or behind them, which is too far. */
static enum ap_status look_at_document(struct ap_json_reader *json, struct ap_file_head *head, struct ap_error *reterr)
{
    struct ap_other_seen seen = { .schema = false };
    for (;;) {
        struct ap_json_token token;
        AP_TRY_UNTIL_END(ap_json_next_key(json, &token, reterr));
        struct ap_text key = { token.text, token.text_bytes };
        if (head->kind == AP_FILE_other)
            head->kind = kind_of_member(key);
        if (ap_text_is(key, "traceEvents"))
            return look_at_events(json, head, reterr);
        if (is_told(head))
            return AP_OK;
        if (ap_text_is(key, "distributedInfo"))
            AP_TRY(read_distributed(json, head, reterr));
        else if (ap_text_is(key, "host_name"))
            AP_TRY(read_host(json, head, reterr));
        else if (head->kind == AP_FILE_trace)
            AP_TRY(ap_json_skip_value(json, reterr));
        else
            AP_TRY(look_at_other(json, AP_OTHER_DOCUMENT, key, &seen, head, reterr));
        if (is_told(head))
            return AP_OK;
    }
}

static enum ap_status look(struct ap_json_reader *json, struct ap_file_head *head, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(json, &token, reterr));
    if (token.kind == AP_JSON_OBJECT_BEGIN)
        return look_at_document(json, head, reterr);
    return token.kind == AP_JSON_ARRAY_BEGIN ? look_at_array(json, head, reterr) : AP_OK;
}

enum ap_status ap_file_look(struct ap_json_reader *json, struct ap_file_head *ret_head, struct ap_error *reterr)
{
    *ret_head = (struct ap_file_head){ .rank = -1, .world_size = -1 };
    enum ap_status status = look(json, ret_head, reterr);
    if (ret_head->kind == AP_FILE_profile && !ap_other_key(ret_head->format)) {
        ret_head->kind = AP_FILE_other;
        return ap_fail(reterr, AP_ERROR_INPUT, "this is %s: %s", ap_other_name(ret_head->format),
                       ap_other_advice(ret_head->format));
    }
    return ret_head->kind == AP_FILE_other ? status : AP_OK;
}

/* What is told further behind is too far: blanks without end would be read to their end. */
#define LOOK_BYTES ((uint64_t)64 << 20)

struct beginning {
    struct ap_byte_source of;
    uint64_t given_bytes;
    bool is_over;
};

static enum ap_status borrow_beginning(void *self, struct ap_block_view *ret_block, struct ap_error *reterr)
{
    struct beginning *beginning = self;
    beginning->is_over = beginning->given_bytes >= LOOK_BYTES;
    if (beginning->is_over)
        return ap_fail(reterr, AP_ERROR_INPUT, "nothing in the first 64 MiB tells what it is");
    AP_TRY(beginning->of.borrow(beginning->of.self, ret_block, reterr));
    beginning->given_bytes += ret_block->bytes;
    return AP_OK;
}

enum ap_status ap_file_look_at_input(struct ap_gate *gate, struct ap_input *input, size_t window_bytes,
                                     struct ap_notes *notes, struct ap_file_head *ret_head, struct ap_error *reterr)
{
    struct ap_json_limits limits = { .window_bytes = window_bytes };
    struct ap_json_reader *json;
    if (ap_input_is_log(input)) {
        *ret_head =
            (struct ap_file_head){ .kind = AP_FILE_profile, .format = AP_OTHER_compile_log, .rank = -1, .world_size = -1 };
        return AP_OK;
    }
    struct beginning beginning = { .of = ap_input_source(input) };
    struct ap_byte_source source = { .borrow = borrow_beginning, .self = &beginning };
    AP_TRY(ap_json_reader_new(gate, source, notes, &limits, &json, reterr));
    enum ap_status status = ap_file_look(json, ret_head, reterr);
    ap_json_reader_free(json);
    return beginning.is_over && status == AP_ERROR_INPUT ? AP_OK : status; /* it is something else */
}

const char *ap_file_kind_name(enum ap_file_kind kind)
{
    static const char *const names[AP_FILE_KIND_COUNT_] = { "other",   "trace",  "snapshot",     "flight recorder",
                                                            "summary", "report", "other profile" };
    return names[kind];
}
