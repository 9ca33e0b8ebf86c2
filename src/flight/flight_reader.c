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
    int64_t rank = reading->own_rank >= 0 ? reading->own_rank : reading->source->rank;
    struct ap_flight_dump dump = {
        .path = reading->source->path,
        .rank = (uint32_t)rank,
        .rank_is_known = rank >= 0,
        .process_id = -1,
        .written_ns = reading->source->written_ns,
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
    reading->record.rank = reading->own_rank = rank;
    if (reading->dump_begun) {
        dump_of(reading)->rank = (uint32_t)rank;
        dump_of(reading)->rank_is_known = true;
    }
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

enum key {
    KEY_VERSION,
    KEY_LIBRARY,
    KEY_ENTRIES,
    KEY_STATE_OF_NCCL,
    KEY_CONFIG,
    KEY_STATUS,
    KEY_RANK,
    KEY_HOST,
    KEY_HEADER,
    KEY_METADATA,
    KEY_COLLECTIVE,
    KEY_TRANSFER,
    KEY_STATISTICS,
    KEY_ROWS_OF_TRACE,
    KEY_SEGMENTS,
    KEY_COUNT_
};

/* Keys that other documents have as well do not tell what this one is. */
static const struct {
    const char *key;
    bool tells;
} keys[KEY_COUNT_] = {
    [KEY_VERSION] = { "version", false },
    [KEY_LIBRARY] = { "comm_lib_version", true },
    [KEY_ENTRIES] = { "entries", false },
    [KEY_STATE_OF_NCCL] = { "nccl_comm_state", true },
    [KEY_CONFIG] = { "pg_config", true },
    [KEY_STATUS] = { "pg_status", true },
    [KEY_RANK] = { "rank", false },
    [KEY_HOST] = { "host_name", false },
    [KEY_HEADER] = { "header", false },
    [KEY_METADATA] = { "metadata", false },
    [KEY_COLLECTIVE] = { "coll_perf", true },
    [KEY_TRANSFER] = { "p2p_perf", true },
    [KEY_STATISTICS] = { "dump_stats", true },
    [KEY_ROWS_OF_TRACE] = { "traceEvents", false },
    [KEY_SEGMENTS] = { "segments", false },
};

static enum ap_status read_operation(struct ap_flight_reading *reading, bool is_p2p, struct ap_error *reterr)
{
    reading->record.has_operation = true;
    reading->record.is_p2p = is_p2p;
    return ap_inspector_read_object(reading, reterr);
}

static enum ap_status read_member(struct ap_flight_reading *reading, enum key key, struct ap_text name,
                                  struct ap_error *reterr)
{
    switch (key) {
    case KEY_VERSION: return read_dump_text(reading, DUMP_VERSION, reterr);
    case KEY_LIBRARY: return read_dump_text(reading, DUMP_LIBRARY, reterr);
    case KEY_ENTRIES: return ap_flight_read_entries(reading, reterr);
    case KEY_CONFIG: return ap_flight_read_config(reading, reterr);
    case KEY_STATUS: return ap_flight_read_status(reading, reterr);
    case KEY_RANK: return read_rank(reading, reterr);
    case KEY_HOST: return read_dump_text(reading, DUMP_HOST, reterr);
    case KEY_HEADER:
    case KEY_METADATA: return ap_inspector_read_object(reading, reterr);
    case KEY_COLLECTIVE: return read_operation(reading, false, reterr);
    case KEY_TRANSFER: return read_operation(reading, true, reterr);
    case KEY_ROWS_OF_TRACE: reading->looks_like_trace = true; break;
    case KEY_SEGMENTS: reading->looks_like_snapshot = true; break;
    case KEY_STATE_OF_NCCL:
    case KEY_STATISTICS: break;
    case KEY_COUNT_: return ap_inspector_read_member(reading, name, reterr);
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
        while (known < KEY_COUNT_ && !ap_text_is(key, keys[known].key))
            known++;
        if (known < KEY_COUNT_) {
            ap_json_seen(reading->json, &seen, (unsigned)known, token.offset_bytes);
            reading->recognized = reading->recognized || keys[known].tells;
        }
        AP_TRY(read_member(reading, (enum key)known, key, reterr));
    }
}

/* A dump that the last document began stays as it is: the next one begins another. */
static enum ap_status read_documents(struct ap_flight_reading *reading, struct ap_error *reterr)
{
    struct ap_json_token token;
    reading->record = (struct ap_inspector_record){ .rank = -1, .process_id = -1 };
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next(reading->json, &token, reterr));
        reading->dump_begun = false;
        reading->own_rank = -1;
        ap_inspector_begin_record(&reading->record);
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
static enum ap_status keep_what_was_read(struct ap_flight_reading *reading, struct ap_error *why)
{
    uint64_t offset_bytes = why->has_offset ? why->offset_bytes : ap_json_offset(reading->json);
    if (!reading->flight->entries.count)
        return why->status;
    if (reading->dump_begun)
        dump_of(reading)->cut = true;
    reading->recognized = true;
    ap_note(reading->notes, AP_COUNTER_cut, offset_bytes);
    return AP_OK;
}

static enum ap_status read_and_judge(struct ap_flight_reading *reading, struct ap_error *reterr)
{
    const struct ap_flight *flight = reading->flight;
    struct ap_error why = { .status = AP_OK };
    enum ap_status status = read_documents(reading, &why);
    if (status == AP_ERROR_CUT)
        status = keep_what_was_read(reading, &why);
    if (status == AP_OK && !reading->recognized)
        status = refuse_other(reading, &why);
    if (status == AP_OK && flight->dump_count && !flight->dumps[0].rank_is_known)
        ap_note_many(reading->notes, AP_COUNTER_flight_rank_unknown, 1);
    if (status != AP_OK && reterr)
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
