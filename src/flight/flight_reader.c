/* SPDX-License-Identifier: MIT
 * The documents of a file: which they are, and what becomes of one that is cut. */
#include "flight_reading.h"

#include "poison.h"

#define HOW_TO_EXPORT                                                                                               \
    "a dump is written as JSON by torch._C._distributed_c10d._dump_nccl_trace_json(), or _dump_fr_trace_json() of " \
    "newer versions"

/* ----------------------------------------------------------------------------------------------------------- values */

enum ap_status ap_flight_scalar(struct ap_flight_reading *reading, struct ap_json_token *token, struct ap_error *reterr)
{
    AP_TRY(ap_json_next(reading->json, token, reterr));
    return ap_json_skip_rest(reading->json, token, reterr);
}

static enum ap_status intern(struct ap_flight_reading *reading, const struct ap_json_token *token, struct ap_str *ret_name,
                             struct ap_error *reterr)
{
    if (token->kind != AP_JSON_STRING)
        return AP_OK;
    return ap_strpool_intern(&reading->flight->strings, token->text, token->text_bytes, ret_name, reterr);
}

enum ap_status ap_flight_name(struct ap_flight_reading *reading, struct ap_str *ret_name, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_flight_scalar(reading, &token, reterr));
    ret_name->id = 0;
    return intern(reading, &token, ret_name, reterr);
}

enum ap_status ap_flight_number(struct ap_flight_reading *reading, int64_t *number, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_flight_scalar(reading, &token, reterr));
    if (token.kind == AP_JSON_STRING)
        token.kind = AP_JSON_NUMBER; /* pg_status has its numbers as texts */
    int64_t whole;
    if (ap_json_integer(&token, &whole))
        *number = whole;
    return AP_OK;
}

enum ap_status ap_flight_enter(struct ap_flight_reading *reading, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(reading->json, &token, reterr));
    if (token.kind == AP_JSON_OBJECT_BEGIN)
        return AP_OK;
    if (token.kind != AP_JSON_NULL)
        ap_note(reading->notes, AP_COUNTER_member_type, token.offset_bytes);
    AP_TRY(ap_json_skip_rest(reading->json, &token, reterr));
    return AP_END;
}

/* -------------------------------------------------------------------------------------------------------- documents */

enum ap_status ap_flight_begin_dump(struct ap_flight_reading *reading, struct ap_error *reterr)
{
    struct ap_flight *flight = reading->flight;
    if (reading->dump_begun)
        return AP_OK;
    int64_t rank = reading->source->rank;
    struct ap_flight_dump dump = {
        .path = reading->source->path,
        .rank = rank >= 0 ? (uint32_t)rank : flight->dump_count,
        .rank_is_known = rank >= 0,
        .process_id = -1,
        .first_config = flight->config_count,
    };
    reading->dump_begun = true;
    return ap_flight_add_dump(flight, &dump, reterr);
}

static struct ap_flight_dump *dump_of(const struct ap_flight_reading *reading)
{
    return &reading->flight->dumps[reading->flight->dump_count - 1];
}

/* Some tools that collect dumps add it: they know better than the name of the file. */
static enum ap_status read_rank(struct ap_flight_reading *reading, struct ap_error *reterr)
{
    int64_t rank = -1;
    AP_TRY(ap_flight_number(reading, &rank, reterr));
    if (rank < 0 || rank > INT32_MAX)
        return AP_OK;
    AP_TRY(ap_flight_begin_dump(reading, reterr));
    dump_of(reading)->rank = (uint32_t)rank;
    dump_of(reading)->rank_is_known = true;
    return AP_OK;
}

enum dump_text { DUMP_VERSION, DUMP_LIBRARY, DUMP_HOST };

static enum ap_status read_dump_text(struct ap_flight_reading *reading, enum dump_text which, struct ap_error *reterr)
{
    struct ap_str text;
    AP_TRY(ap_flight_name(reading, &text, reterr));
    AP_TRY(ap_flight_begin_dump(reading, reterr));
    struct ap_flight_dump *dump = dump_of(reading);
    *(which == DUMP_VERSION ? &dump->version : which == DUMP_LIBRARY ? &dump->library : &dump->host) = text;
    return AP_OK;
}

/* Keys that other documents have as well do not tell what this one is. */
static const struct {
    const char *key;
    bool tells;
} keys[] = {
    { "version", false },   { "comm_lib_version", true }, { "entries", false },  { "nccl_comm_state", true },
    { "pg_config", true },  { "pg_status", true },        { "rank", false },     { "host_name", false },
    { "header", false },    { "metadata", false },        { "coll_perf", true }, { "p2p_perf", true },
    { "dump_stats", true }, { "traceEvents", false },     { "segments", false },
};

static enum ap_status read_member(struct ap_flight_reading *reading, size_t key, struct ap_error *reterr)
{
    switch (key) {
    case 0: return read_dump_text(reading, DUMP_VERSION, reterr);
    case 1: return read_dump_text(reading, DUMP_LIBRARY, reterr);
    case 2: return ap_flight_read_entries(reading, reterr);
    case 4: return ap_flight_read_config(reading, reterr);
    case 5: return ap_flight_read_status(reading, reterr);
    case 6: return read_rank(reading, reterr);
    case 7: return read_dump_text(reading, DUMP_HOST, reterr);
    case 8: return ap_inspector_read_header(reading, reterr);
    case 9: return ap_inspector_read_metadata(reading, reterr);
    case 10: return ap_inspector_read_operation(reading, reterr);
    case 11: reading->record.is_p2p = true; return ap_inspector_read_operation(reading, reterr);
    case 13: reading->looks_like_trace = true; break;
    case 14: reading->looks_like_snapshot = true; break;
    default: break;
    }
    return ap_json_skip_value(reading->json, reterr);
}

/* Behind the '{'. */
static enum ap_status read_object(struct ap_flight_reading *reading, struct ap_error *reterr)
{
    struct ap_json_token token;
    uint64_t seen = 0;
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_key(reading->json, &token, reterr));
        struct ap_text key = { token.text, token.text_bytes };
        size_t known = 0;
        while (known < AP_COUNT_OF(keys) && !ap_text_is(key, keys[known].key))
            known++;
        if (known < AP_COUNT_OF(keys)) {
            ap_json_seen(reading->json, &seen, (unsigned)known, token.offset_bytes);
            reading->recognized = reading->recognized || keys[known].tells;
        }
        AP_TRY(read_member(reading, known, reterr));
    }
}

/* A dump that the last document began stays as it is: the next one begins another. */
static enum ap_status read_documents(struct ap_flight_reading *reading, struct ap_error *reterr)
{
    struct ap_json_token token;
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next(reading->json, &token, reterr));
        reading->dump_begun = false;
        reading->record = (struct ap_inspector_record){
            .rank = -1, .process_id = -1, .sequence = -1, .duration_us = -1, .size_bytes = -1
        };
        if (token.kind == AP_JSON_OBJECT_BEGIN) {
            AP_TRY(read_object(reading, reterr));
            if (reading->record.has_operation)
                AP_TRY(ap_inspector_take_record(reading, reterr));
        } else if (token.kind == AP_JSON_ARRAY_BEGIN) { /* as the first versions wrote them */
            AP_TRY(ap_flight_begin_dump(reading, reterr));
            AP_TRY(ap_flight_read_list(reading, reterr));
        }
    }
}

static enum ap_status refuse_other(const struct ap_flight_reading *reading, struct ap_error *reterr)
{
    if (reading->looks_like_trace)
        return ap_advise(reterr, AP_ADVICE_AS_TRACE,
                         ap_fail(reterr, AP_ERROR_INPUT, "this is a PyTorch profiler trace, not a flight-recorder dump"));
    if (reading->looks_like_snapshot)
        return ap_advise(reterr, AP_ADVICE_AS_SNAPSHOT,
                         ap_fail(reterr, AP_ERROR_INPUT, "this is a memory snapshot, not a flight-recorder dump"));
    return ap_fail(reterr, AP_ERROR_INPUT,
                   "this is no dump of PyTorch's flight recorder and no record of NCCL's Inspector; " HOW_TO_EXPORT);
}

/* What is left of a file that ends too early. */
static enum ap_status keep_what_was_read(struct ap_flight_reading *reading, uint32_t entries_before,
                                         const struct ap_error *why, struct ap_error *reterr)
{
    uint64_t offset_bytes = why->has_offset ? why->offset_bytes : ap_json_offset(reading->json);
    if (reading->flight->entries.count == entries_before) {
        if (reterr)
            *reterr = *why;
        return why->status;
    }
    if (reading->dump_begun)
        dump_of(reading)->cut = true;
    reading->recognized = true;
    ap_note(reading->notes, AP_COUNTER_cut, offset_bytes);
    return AP_OK;
}

static enum ap_status read_and_judge(struct ap_flight_reading *reading, struct ap_error *reterr)
{
    struct ap_flight *flight = reading->flight;
    uint32_t dumps = flight->dump_count, entries = flight->entries.count, configs = flight->config_count;
    struct ap_error why = { .status = AP_OK };
    enum ap_status status = read_documents(reading, &why);
    if (status == AP_ERROR_CUT)
        status = keep_what_was_read(reading, entries, &why, &why);
    if (status == AP_OK && !reading->recognized)
        status = refuse_other(reading, &why);
    if (status == AP_OK) {
        if (dumps < flight->dump_count && !flight->dumps[dumps].rank_is_known)
            ap_note_many(reading->notes, AP_COUNTER_flight_rank_unknown, 1);
        return AP_OK;
    }
    flight->dump_count = dumps;
    flight->entries.count = entries;
    flight->config_count = configs;
    if (reterr)
        *reterr = why;
    return status;
}

enum ap_status ap_flight_read(struct ap_flight *flight, struct ap_json_reader *json, const struct ap_flight_source *source,
                              struct ap_notes *notes, struct ap_error *reterr)
{
    struct ap_flight_reading reading = { .flight = flight, .json = json, .notes = notes, .source = source };
    enum ap_status status = read_and_judge(&reading, reterr);
    ap_element_reader_free(reading.entries);
    return status;
}
