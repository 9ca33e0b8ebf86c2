/* SPDX-License-Identifier: MIT
 * The entries of a dump. Writers of other years and libraries leave out members: each is taken where it stands. */
#include "decimal.h"
#include "flight_names.h"
#include "flight_reading.h"

#include "poison.h"

#define FIELDS(FIELD)                                                 \
    FIELD(FIELD_RECORD, NULL, "record_id", ANY)                       \
    FIELD(FIELD_GROUP_ID, NULL, "pg_id", ANY)                         \
    FIELD(FIELD_GROUP, NULL, "process_group", ANY)                    \
    FIELD(FIELD_COLLECTIVE_SEQUENCE, NULL, "collective_seq_id", ANY)  \
    FIELD(FIELD_P2P_SEQUENCE, NULL, "p2p_seq_id", ANY)                \
    FIELD(FIELD_SEQUENCE, NULL, "seq_id", ANY)                        \
    FIELD(FIELD_NAME, NULL, "profiling_name", ANY)                    \
    FIELD(FIELD_CREATED, NULL, "time_created_ns", ANY)                \
    FIELD(FIELD_STARTED, NULL, "time_discovered_started_ns", ANY)     \
    FIELD(FIELD_COMPLETED, NULL, "time_discovered_completed_ns", ANY) \
    FIELD(FIELD_DURATION, NULL, "duration_ms", ANY)                   \
    FIELD(FIELD_INPUT_SIZES, NULL, "input_sizes", ANY)                \
    FIELD(FIELD_OUTPUT_SIZES, NULL, "output_sizes", ANY)              \
    FIELD(FIELD_INPUT_TYPES, NULL, "input_dtypes", ANY)               \
    FIELD(FIELD_OUTPUT_TYPES, NULL, "output_dtypes", ANY)             \
    FIELD(FIELD_STATE, NULL, "state", ANY)                            \
    FIELD(FIELD_RETIRED, NULL, "retired", ANY)                        \
    FIELD(FIELD_P2P, NULL, "is_p2p", ANY)                             \
    FIELD(FIELD_FRAMES, NULL, "frames", ANY)
enum field { FIELDS(AP_JSON_FIELD_ID) FIELD_COUNT_ };
static const struct ap_json_field fields[FIELD_COUNT_] = { FIELDS(AP_JSON_FIELD) };

/* One entry's members as they stand in the input. */
struct members {
    struct ap_flight_reading *reading;
    struct ap_json_span spans[FIELD_COUNT_ + 1];
    uint64_t offset_bytes;
};

static struct ap_json_token token_of(const struct members *members, enum field field)
{
    const struct ap_json_span *span = &members->spans[field];
    return (struct ap_json_token){ (enum ap_json_kind)span->kind, span->text, span->bytes, members->offset_bytes };
}

static bool has(const struct members *members, enum field field)
{
    return members->spans[field].kind != AP_SPAN_ABSENT;
}

static int64_t whole(const struct members *members, enum field field, int64_t otherwise)
{
    struct ap_json_token token = token_of(members, field);
    int64_t number;
    return has(members, field) && ap_json_integer(&token, &number) ? number : otherwise;
}

static bool is_true(const struct members *members, enum field field)
{
    return members->spans[field].kind == AP_JSON_TRUE;
}

static struct ap_text text_of(const struct members *members, enum field field)
{
    const struct ap_json_span *span = &members->spans[field];
    return span->kind == AP_JSON_STRING ? (struct ap_text){ span->text, span->bytes } : (struct ap_text){ "", 0 };
}

/* Over a list; over nothing where another value stands there, or none. */
static struct ap_json_cursor cursor_of(const struct ap_json_span *span)
{
    bool is_list = span->kind == AP_JSON_ARRAY_BEGIN;
    return is_list ? (struct ap_json_cursor){ span->text, span->text + span->bytes } : (struct ap_json_cursor){ "", "" };
}

/* ------------------------------------------------------------------------------------------------------------ names */

/* What stands between quotes in a text that is valid JSON. */
static enum ap_status decoded(struct ap_flight *flight, struct ap_text raw, bool decode, struct ap_text *ret_text,
                              struct ap_error *reterr)
{
    *ret_text = raw;
    if (!decode)
        return AP_OK;
    AP_TRY(AP_RESERVE(flight->gate, flight->decoded, flight->decoded_capacity, raw.bytes * 3, reterr));
    *ret_text = (struct ap_text){ flight->decoded, ap_json_decode(raw.data, raw.bytes, flight->decoded) };
    return AP_OK;
}

/* The text at the cursor; absent where another value stands there. */
static enum ap_status take_text(struct ap_flight *flight, struct ap_json_cursor *cursor, struct ap_str *ret_text,
                                struct ap_error *reterr)
{
    struct ap_text text;
    bool decode;
    ret_text->id = 0;
    if (ap_cursor_peek(cursor) != '"') {
        ap_cursor_skip(cursor);
        return AP_OK;
    }
    text = ap_cursor_string(cursor, &decode);
    AP_TRY(decoded(flight, text, decode, &text, reterr));
    return ap_strpool_intern(&flight->strings, text.data, text.bytes, ret_text, reterr);
}

/* ["0", "default_pg"]; without it the number that the process gave the group. */
static enum ap_status take_group(const struct members *members, struct ap_flight_entry *entry, struct ap_error *reterr)
{
    struct ap_flight *flight = members->reading->flight;
    const struct ap_json_span *span = &members->spans[FIELD_GROUP];
    struct ap_json_cursor cursor = cursor_of(span);
    struct ap_str name = { 0 }, description = { 0 };
    if (span->kind == AP_JSON_ARRAY_BEGIN && ap_cursor_take(&cursor, '[')) {
        AP_TRY(take_text(flight, &cursor, &name, reterr));
        if (ap_cursor_take(&cursor, ','))
            AP_TRY(take_text(flight, &cursor, &description, reterr));
    }
    if (!name.id && has(members, FIELD_GROUP_ID)) {
        struct ap_json_token id = token_of(members, FIELD_GROUP_ID);
        if (id.kind == AP_JSON_NUMBER)
            AP_TRY(ap_strpool_intern(&flight->strings, id.text, id.text_bytes, &name, reterr));
    }
    return ap_flight_name_group(flight, name, description, &entry->group, reterr);
}

static enum ap_status take_operation(const struct members *members, struct ap_flight_entry *entry, struct ap_error *reterr)
{
    struct ap_flight *flight = members->reading->flight;
    struct ap_text text = text_of(members, FIELD_NAME);
    AP_TRY(decoded(flight, text, members->spans[FIELD_NAME].decode, &text, reterr));
    struct ap_operation_name name = ap_operation_name_of(text);
    AP_TRY(ap_strpool_intern(&flight->strings, name.library.data, name.library.bytes, &entry->library, reterr));
    AP_TRY(ap_strpool_intern(&flight->strings, name.operation.data, name.operation.bytes, &entry->operation, reterr));
    entry->peer_from = name.from;
    entry->peer_to = name.to;
    if (is_true(members, FIELD_P2P) || (!has(members, FIELD_P2P) && (name.is_send || name.is_receive)))
        entry->flags |= AP_FLIGHT_IS_P2P;
    entry->flags |= name.is_send ? AP_FLIGHT_IS_SEND : name.is_receive ? AP_FLIGHT_IS_RECEIVE : 0;
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------ sizes */

/* Numbers in all tensors of [[64, 16], [4]]: 1028; -1 where that is not told. */
static int64_t count_of_sizes(const struct ap_json_span *span)
{
    struct ap_json_cursor cursor = cursor_of(span);
    int64_t sum = 0, product, size;
    bool overflowed = false;
    if (span->kind != AP_JSON_ARRAY_BEGIN || !ap_cursor_take(&cursor, '['))
        return -1;
    while (ap_cursor_take(&cursor, '[')) {
        for (product = 1; ap_cursor_peek(&cursor) != ']' && cursor.at < cursor.end; (void)ap_cursor_take(&cursor, ','))
            if (!ap_cursor_whole(&cursor, &size) || size < 0 || __builtin_mul_overflow(product, size, &product))
                return -1;
        (void)ap_cursor_take(&cursor, ']');
        (void)ap_cursor_take(&cursor, ',');
        sum = ap_add_sat(sum, product, &overflowed);
    }
    return overflowed ? -1 : sum;
}

/* Lists as they are written: the same writer writes the same ones alike. */
static enum ap_status take_list(const struct members *members, enum field field, struct ap_str *ret_text,
                                struct ap_error *reterr)
{
    const struct ap_json_span *span = &members->spans[field];
    if (span->kind != AP_JSON_ARRAY_BEGIN || span->bytes <= 2)
        return AP_OK;
    return ap_strpool_intern(&members->reading->flight->strings, span->text, span->bytes, ret_text, reterr);
}

static enum ap_status take_sizes(const struct members *members, struct ap_flight_entry *entry, struct ap_error *reterr)
{
    entry->input_count = count_of_sizes(&members->spans[FIELD_INPUT_SIZES]);
    entry->output_count = count_of_sizes(&members->spans[FIELD_OUTPUT_SIZES]);
    AP_TRY(take_list(members, FIELD_INPUT_SIZES, &entry->input_sizes, reterr));
    AP_TRY(take_list(members, FIELD_OUTPUT_SIZES, &entry->output_sizes, reterr));
    AP_TRY(take_list(members, FIELD_INPUT_TYPES, &entry->input_types, reterr));
    return take_list(members, FIELD_OUTPUT_TYPES, &entry->output_types, reterr);
}

/* ------------------------------------------------------------------------------------------------- state, times, site */

static uint8_t state_of(struct ap_text state)
{
    if (ap_text_is(state, "completed"))
        return AP_FLIGHT_COMPLETED;
    if (ap_text_is(state, "started"))
        return AP_FLIGHT_STARTED;
    return ap_text_is(state, "scheduled") ? AP_FLIGHT_SCHEDULED : AP_FLIGHT_STATE_UNKNOWN;
}

static int64_t duration_of(const struct members *members)
{
    const struct ap_json_span *span = &members->spans[FIELD_DURATION];
    int64_t millionths; /* of a millisecond: nanoseconds */
    if (span->kind != AP_JSON_NUMBER ||
        ap_decimal_to_millionths(span->text, span->bytes, &millionths) == AP_DECIMAL_OUT_OF_RANGE)
        return -1;
    return millionths < 0 ? -1 : millionths;
}

static int64_t time_of(const struct members *members, enum field field)
{
    int64_t time_ns = whole(members, field, 0);
    return time_ns > 0 && time_ns <= AP_MAX_TIME_NS ? time_ns : 0;
}

static bool is_library_file(struct ap_text file)
{
    return ap_text_contains(file, AP_TEXT("torch/distributed/")) || ap_text_contains(file, AP_TEXT("torch/_"));
}

struct frame {
    struct ap_str name, file;
    int64_t line;
};

static enum ap_status take_frame(struct ap_flight *flight, struct ap_json_cursor *cursor, struct frame *frame,
                                 struct ap_error *reterr)
{
    *frame = (struct frame){ .line = -1 };
    if (!ap_cursor_take(cursor, '{')) {
        ap_cursor_skip(cursor);
        return AP_OK;
    }
    while (ap_cursor_peek(cursor) == '"') {
        bool decode;
        struct ap_text key = ap_cursor_string(cursor, &decode);
        (void)ap_cursor_take(cursor, ':');
        if (ap_text_is(key, "name"))
            AP_TRY(take_text(flight, cursor, &frame->name, reterr));
        else if (ap_text_is(key, "filename"))
            AP_TRY(take_text(flight, cursor, &frame->file, reterr));
        else if (!ap_text_is(key, "line"))
            ap_cursor_skip(cursor);
        else if (!ap_cursor_whole(cursor, &frame->line))
            frame->line = -1;
        (void)ap_cursor_take(cursor, ',');
    }
    (void)ap_cursor_take(cursor, '}');
    return AP_OK;
}

static enum ap_status name_site(struct ap_flight *flight, const struct frame *frame, struct ap_str *ret_site,
                                struct ap_error *reterr)
{
    struct ap_text file = ap_flight_text(flight, frame->file), name = ap_flight_text(flight, frame->name);
    size_t bytes = file.bytes + name.bytes + 32;
    AP_TRY(AP_RESERVE(flight->gate, flight->decoded, flight->decoded_capacity, bytes, reterr));
    size_t used = 0;
    for (size_t i = 0; i < file.bytes; i++)
        flight->decoded[used++] = file.data[i];
    if (frame->line >= 0) {
        char digits[20];
        size_t count = 0;
        flight->decoded[used++] = ':';
        for (int64_t rest = frame->line; rest || !count; rest /= 10)
            digits[count++] = (char)('0' + rest % 10);
        while (count)
            flight->decoded[used++] = digits[--count];
    }
    flight->decoded[used++] = ' ';
    for (size_t i = 0; i < name.bytes; i++)
        flight->decoded[used++] = name.data[i];
    return ap_strpool_intern(&flight->strings, flight->decoded, used, ret_site, reterr);
}

/* Where the program's own code called: the innermost frame that is not PyTorch's. */
static enum ap_status take_site(const struct members *members, struct ap_str *ret_site, struct ap_error *reterr)
{
    struct ap_flight *flight = members->reading->flight;
    const struct ap_json_span *span = &members->spans[FIELD_FRAMES];
    struct ap_json_cursor cursor = cursor_of(span);
    struct frame frame;
    if (span->kind != AP_JSON_ARRAY_BEGIN || !ap_cursor_take(&cursor, '['))
        return AP_OK;
    while (ap_cursor_peek(&cursor) != ']' && cursor.at < cursor.end) {
        AP_TRY(take_frame(flight, &cursor, &frame, reterr));
        if (frame.file.id && !is_library_file(ap_flight_text(flight, frame.file)))
            return name_site(flight, &frame, ret_site, reterr);
        (void)ap_cursor_take(&cursor, ',');
    }
    return AP_OK;
}

/* ---------------------------------------------------------------------------------------------------------- the list */

static int64_t sequence_of(const struct members *members, const struct ap_flight_entry *entry)
{
    enum field own = entry->flags & AP_FLIGHT_IS_P2P ? FIELD_P2P_SEQUENCE : FIELD_COLLECTIVE_SEQUENCE;
    return whole(members, own, whole(members, FIELD_SEQUENCE, -1));
}

static enum ap_status take_entry(const struct members *members, struct ap_error *reterr)
{
    struct ap_flight_reading *reading = members->reading;
    struct ap_flight *flight = reading->flight;
    struct ap_flight_dump *dump = &flight->dumps[flight->dump_count - 1];
    struct ap_flight_entry entry = { .dump = flight->dump_count - 1 };
    AP_TRY(take_operation(members, &entry, reterr));
    entry.sequence = sequence_of(members, &entry);
    if (!dump->entry_count && whole(members, FIELD_RECORD, 0) > 0)
        dump->wrapped = true;
    if (entry.sequence < 0) {
        ap_note(reading->notes, AP_COUNTER_flight_no_sequence, members->offset_bytes);
        dump->cut = true;
        return AP_OK;
    }
    reading->recognized = reading->recognized || has(members, FIELD_NAME);
    AP_TRY(take_group(members, &entry, reterr));
    AP_TRY(take_sizes(members, &entry, reterr));
    entry.state = state_of(text_of(members, FIELD_STATE));
    entry.flags |= is_true(members, FIELD_RETIRED) ? AP_FLIGHT_IS_RETIRED : 0;
    entry.created_ns = time_of(members, FIELD_CREATED);
    entry.started_ns = time_of(members, FIELD_STARTED);
    entry.completed_ns = time_of(members, FIELD_COMPLETED);
    entry.duration_ns = duration_of(members);
    AP_TRY(take_site(members, &entry.site, reterr));
    return ap_flight_add_entry(flight, &entry, reterr);
}

enum ap_status ap_flight_read_list(struct ap_flight_reading *reading, struct ap_error *reterr)
{
    struct members members = { .reading = reading };
    enum ap_element_outcome outcome;
    if (!reading->entries)
        AP_TRY(ap_element_reader_new(reading->json, fields, FIELD_COUNT_, &reading->entries, reterr));
    for (;;) {
        AP_TRY_UNTIL_END(ap_element_next(reading->entries, members.spans, &outcome, &members.offset_bytes, reterr));
        if (outcome == AP_ELEMENT_READ)
            AP_TRY(take_entry(&members, reterr));
        else
            ap_note(reading->notes,
                    outcome == AP_ELEMENT_NOT_OBJECT ? AP_COUNTER_entry_not_object : AP_COUNTER_event_too_large,
                    members.offset_bytes);
    }
}

enum ap_status ap_flight_read_entries(struct ap_flight_reading *reading, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_flight_begin_dump(reading, reterr));
    AP_TRY(ap_json_next(reading->json, &token, reterr));
    if (token.kind == AP_JSON_ARRAY_BEGIN)
        return ap_flight_read_list(reading, reterr);
    if (token.kind != AP_JSON_NULL)
        ap_note(reading->notes, AP_COUNTER_member_type, token.offset_bytes);
    return ap_json_skip_rest(reading->json, &token, reterr);
}
