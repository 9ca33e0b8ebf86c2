/* SPDX-License-Identifier: MIT
 * Records of the Inspector of NCCL and RCCL: one for each operation that ended, a line each. */
#include <stddef.h>

#include "decimal.h"
#include "flight_names.h"
#include "flight_reading.h"

#include "poison.h"

enum kind { TEXT, NUMBER, MICROSECONDS };

/* Members of all objects of a record. Those of an operation begin with "coll_" or "p2p_": they are told by their ends. */
static const struct member {
    const char *name;
    enum kind kind;
    bool ends;
    size_t offset;
} members[] = {
#define MEMBER(name, kind, ends, to)                               \
    {                                                              \
        name, kind, ends, offsetof(struct ap_inspector_record, to) \
    }
    MEMBER("id", TEXT, false, communicator),
    MEMBER("comm_name", TEXT, false, communicator_name),
    MEMBER("rank", NUMBER, false, rank),
    MEMBER("n_ranks", NUMBER, false, rank_count),
    MEMBER("hostname", TEXT, false, host),
    MEMBER("pid", NUMBER, false, process_id),
    MEMBER("coll", TEXT, false, operation),
    MEMBER("p2p", TEXT, false, operation),
    MEMBER("_sn", NUMBER, true, sequence),
    MEMBER("_msg_size_bytes", NUMBER, true, size_bytes),
    MEMBER("_exec_time_us", MICROSECONDS, true, duration_ns),
#undef MEMBER
};

static const struct member *member_of(struct ap_text key)
{
    for (size_t i = 0; i < AP_COUNT_OF(members); i++)
        if (members[i].ends ? ap_text_ends_with(key, members[i].name) : ap_text_is(key, members[i].name))
            return &members[i];
    return NULL;
}

/* Versions differ in whether there are parts of a microsecond. */
static enum ap_status read_microseconds(struct ap_flight_reading *reading, int64_t *ns, struct ap_error *reterr)
{
    struct ap_json_token token;
    int64_t millionths;
    AP_TRY(ap_flight_scalar(reading, &token, reterr));
    if (token.kind == AP_JSON_NUMBER &&
        ap_decimal_to_millionths(token.text, token.text_bytes, &millionths) != AP_DECIMAL_OUT_OF_RANGE && millionths >= 0)
        *ns = millionths / 1000;
    return AP_OK;
}

enum ap_status ap_inspector_read_member(struct ap_flight_reading *reading, struct ap_text key, struct ap_error *reterr)
{
    const struct member *member = member_of(key);
    if (!member)
        return ap_json_skip_value(reading->json, reterr);
    void *to = (char *)&reading->record + member->offset;
    switch (member->kind) {
    case TEXT: return ap_flight_name(reading, to, reterr);
    case NUMBER: return ap_flight_number(reading, to, reterr);
    case MICROSECONDS: return read_microseconds(reading, to, reterr);
    }
    return AP_OK;
}

enum ap_status ap_inspector_read_object(struct ap_flight_reading *reading, struct ap_error *reterr)
{
    struct ap_json_token key;
    AP_TRY_UNTIL_END(ap_flight_enter(reading, reterr));
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_key(reading->json, &key, reterr));
        AP_TRY(ap_inspector_read_member(reading, (struct ap_text){ key.text, key.text_bytes }, reterr));
    }
}

/* Since version 4.3 the process and its communicator stand once, before the operations. */
void ap_inspector_begin_record(struct ap_inspector_record *record)
{
    record->operation = (struct ap_str){ 0 };
    record->sequence = record->size_bytes = record->duration_ns = -1;
    record->has_operation = record->is_p2p = false;
}

static uint32_t number_of(int64_t number)
{
    return number >= 0 && number <= INT32_MAX ? (uint32_t)number : 0;
}

enum ap_status ap_inspector_take_record(struct ap_flight_reading *reading, struct ap_error *reterr)
{
    struct ap_flight *flight = reading->flight;
    const struct ap_inspector_record *record = &reading->record;
    char text[64];
    struct ap_flight_entry entry = {
        .sequence = record->sequence,
        .input_count = record->size_bytes,
        .output_count = -1,
        .duration_ns = record->duration_ns,
        .state = AP_FLIGHT_COMPLETED,
        .flags = record->is_p2p ? AP_FLIGHT_IS_P2P : 0,
        .peer_from = AP_FLIGHT_NONE,
        .peer_to = AP_FLIGHT_NONE,
    };
    if (record->sequence < 0) {
        ap_note(reading->notes, AP_COUNTER_flight_no_sequence, ap_json_offset(reading->json));
        return AP_OK;
    }
    const struct ap_flight_dump dump = { .path = reading->source->path,
                                         .kind = AP_FLIGHT_INSPECTOR,
                                         .rank = number_of(record->rank),
                                         .rank_is_known = record->rank == (int64_t)number_of(record->rank),
                                         .wrapped = true,
                                         .host = record->host,
                                         .process_id = record->process_id,
                                         .world_size = number_of(record->rank_count) };
    AP_TRY(ap_flight_add_process(flight, &dump, &entry.dump, reterr));
    AP_TRY(ap_flight_name_group(flight, record->communicator, record->communicator_name, &entry.group, reterr));
    flight->names[entry.group].size = number_of(record->rank_count);
    size_t bytes = ap_operation_of_inspector(ap_flight_text(flight, record->operation), text, sizeof(text));
    AP_TRY(ap_strpool_intern(&flight->strings, text, bytes, &entry.operation, reterr));
    return ap_flight_add_entry(flight, &entry, reterr);
}
