/* SPDX-License-Identifier: MIT
 * Records of the Inspector of NCCL and RCCL: one for each operation that ended, a line each. */
#include "flight_names.h"
#include "flight_reading.h"

#include "poison.h"

enum ap_status ap_inspector_read_header(struct ap_flight_reading *reading, struct ap_error *reterr)
{
    struct ap_inspector_record *record = &reading->record;
    struct ap_json_token key;
    AP_TRY_UNTIL_END(ap_flight_enter(reading, reterr));
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_key(reading->json, &key, reterr));
        struct ap_text text = { key.text, key.text_bytes };
        if (ap_text_is(text, "id"))
            AP_TRY(ap_flight_name(reading, &record->communicator, reterr));
        else if (ap_text_is(text, "comm_name"))
            AP_TRY(ap_flight_name(reading, &record->communicator_name, reterr));
        else if (ap_text_is(text, "rank"))
            AP_TRY(ap_flight_number(reading, &record->rank, reterr));
        else if (ap_text_is(text, "n_ranks"))
            AP_TRY(ap_flight_number(reading, &record->rank_count, reterr));
        else
            AP_TRY(ap_json_skip_value(reading->json, reterr));
    }
}

enum ap_status ap_inspector_read_metadata(struct ap_flight_reading *reading, struct ap_error *reterr)
{
    struct ap_inspector_record *record = &reading->record;
    struct ap_json_token key;
    AP_TRY_UNTIL_END(ap_flight_enter(reading, reterr));
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_key(reading->json, &key, reterr));
        struct ap_text text = { key.text, key.text_bytes };
        if (ap_text_is(text, "hostname"))
            AP_TRY(ap_flight_name(reading, &record->host, reterr));
        else if (ap_text_is(text, "pid"))
            AP_TRY(ap_flight_number(reading, &record->process_id, reterr));
        else if (ap_text_is(text, "dump_timestamp_us"))
            AP_TRY(ap_flight_number(reading, &record->dumped_us, reterr));
        else
            AP_TRY(ap_json_skip_value(reading->json, reterr));
    }
}

/* Members begin with "coll_" or "p2p_"; the operation itself is "coll" or "p2p". */
enum ap_status ap_inspector_read_operation(struct ap_flight_reading *reading, struct ap_error *reterr)
{
    struct ap_inspector_record *record = &reading->record;
    struct ap_json_token key;
    AP_TRY_UNTIL_END(ap_flight_enter(reading, reterr));
    record->has_operation = true;
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_key(reading->json, &key, reterr));
        struct ap_text text = { key.text, key.text_bytes };
        if (ap_text_is(text, "coll") || ap_text_is(text, "p2p"))
            AP_TRY(ap_flight_name(reading, &record->operation, reterr));
        else if (ap_text_ends_with(text, "_sn") && !ap_text_starts_with(text, "event"))
            AP_TRY(ap_flight_number(reading, &record->sequence, reterr));
        else if (ap_text_ends_with(text, "_msg_size_bytes"))
            AP_TRY(ap_flight_number(reading, &record->size_bytes, reterr));
        else if (ap_text_ends_with(text, "_exec_time_us"))
            AP_TRY(ap_flight_number(reading, &record->duration_us, reterr));
        else
            AP_TRY(ap_json_skip_value(reading->json, reterr));
    }
}

static uint32_t number_of(int64_t number, uint32_t otherwise)
{
    return number >= 0 && number <= INT32_MAX ? (uint32_t)number : otherwise;
}

/* A file that failed took its dumps along. */
static bool is_of_process(const struct ap_flight *flight, uint32_t number, const struct ap_inspector_record *record)
{
    const struct ap_flight_dump *dump = &flight->dumps[number];
    return number < flight->dump_count && dump->kind == AP_FLIGHT_INSPECTOR && dump->host.id == record->host.id &&
           dump->process_id == record->process_id;
}

/* The process that the record is of. Its rank is the one that it has in its largest communicator. */
static enum ap_status find_dump(struct ap_flight_reading *reading, uint32_t *ret_dump, struct ap_error *reterr)
{
    struct ap_flight *flight = reading->flight;
    const struct ap_inspector_record *record = &reading->record;
    uint32_t process;
    AP_TRY(AP_RESERVE(flight->gate, flight->process_dumps, flight->process_capacity, (size_t)flight->process_count + 1,
                      reterr));
    AP_TRY(ap_pair_map_add(&flight->processes, record->host.id, number_of(record->process_id, AP_FLIGHT_NONE), &process,
                           reterr));
    bool is_new = process == flight->process_count;
    if (is_new || !is_of_process(flight, flight->process_dumps[process], record)) {
        struct ap_flight_dump dump = { .path = reading->source->path,
                                       .kind = AP_FLIGHT_INSPECTOR,
                                       .rank = number_of(record->rank, flight->dump_count),
                                       .rank_is_known = record->rank >= 0,
                                       .wrapped = true,
                                       .host = record->host,
                                       .process_id = record->process_id };
        AP_TRY(ap_flight_add_dump(flight, &dump, reterr));
        flight->process_dumps[process] = flight->dump_count - 1;
        flight->process_count += is_new;
    }
    *ret_dump = flight->process_dumps[process];
    struct ap_flight_dump *dump = &flight->dumps[*ret_dump];
    uint32_t size = number_of(record->rank_count, 0);
    if (size > dump->world_size) {
        dump->world_size = size;
        dump->rank = number_of(record->rank, dump->rank);
    }
    return AP_OK;
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
        .duration_ns = record->duration_us >= 0 && record->duration_us < INT64_MAX / 1000 ? record->duration_us * 1000 : -1,
        .state = AP_FLIGHT_COMPLETED,
        .flags = record->is_p2p ? AP_FLIGHT_IS_P2P : 0,
        .peer_from = AP_FLIGHT_NONE,
        .peer_to = AP_FLIGHT_NONE,
    };
    if (record->sequence < 0) {
        ap_note(reading->notes, AP_COUNTER_flight_no_sequence, ap_json_offset(reading->json));
        return AP_OK;
    }
    AP_TRY(find_dump(reading, &entry.dump, reterr));
    AP_TRY(ap_flight_name_group(flight, record->communicator, record->communicator_name, &entry.group, reterr));
    flight->names[entry.group].size = number_of(record->rank_count, 0);
    size_t bytes = ap_operation_of_inspector(ap_flight_text(flight, record->operation), text, sizeof(text));
    AP_TRY(ap_strpool_intern(&flight->strings, text, bytes, &entry.operation, reterr));
    return ap_flight_add_entry(flight, &entry, reterr);
}
