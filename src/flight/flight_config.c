/* SPDX-License-Identifier: MIT
 * What a dump says of its process groups. */
#include "flight_reading.h"

#include "poison.h"

/* Behind the '{'. */
static enum ap_status read_group(struct ap_flight_reading *reading, struct ap_flight_config *config, struct ap_error *reterr)
{
    struct ap_json_token key;
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_key(reading->json, &key, reterr));
        struct ap_text text = { key.text, key.text_bytes };
        if (ap_text_is(text, "name"))
            AP_TRY(ap_flight_name(reading, &config->name, reterr));
        else if (ap_text_is(text, "desc"))
            AP_TRY(ap_flight_name(reading, &config->description, reterr));
        else if (ap_text_is(text, "ranks"))
            AP_TRY(ap_flight_name(reading, &config->ranks, reterr));
        else
            AP_TRY(ap_json_skip_value(reading->json, reterr));
    }
}

enum ap_status ap_flight_read_config(struct ap_flight_reading *reading, struct ap_error *reterr)
{
    struct ap_flight *flight = reading->flight;
    struct ap_json_token key;
    AP_TRY(ap_flight_begin_dump(reading, reterr));
    AP_TRY_UNTIL_END(ap_flight_enter(reading, reterr));
    for (;;) {
        struct ap_flight_config config = { .name = { 0 } };
        AP_TRY_UNTIL_END(ap_json_next_key(reading->json, &key, reterr));
        AP_TRY(ap_strpool_intern(&flight->strings, key.text, key.text_bytes, &config.name, reterr));
        enum ap_status status = ap_flight_enter(reading, reterr);
        if (status == AP_END)
            continue;
        AP_TRY(status);
        AP_TRY(read_group(reading, &config, reterr));
        if (!config.ranks.id || !config.name.id)
            continue;
        AP_TRY_ADD(flight->gate, flight->configs, flight->config_count, flight->config_capacity, reterr, config);
        flight->dumps[flight->dump_count - 1].config_count++;
    }
}

/* Only whether anything was ever enqueued: its numbers count other things from library to library. */
static enum ap_status read_counts(struct ap_flight_reading *reading, struct ap_error *reterr)
{
    struct ap_flight_dump *dump = &reading->flight->dumps[reading->flight->dump_count - 1];
    struct ap_json_token key;
    for (;;) {
        int64_t enqueued = -1;
        AP_TRY_UNTIL_END(ap_json_next_key(reading->json, &key, reterr));
        if (ap_text_is((struct ap_text){ key.text, key.text_bytes }, "last_enqueued_collective"))
            AP_TRY(ap_flight_number(reading, &enqueued, reterr));
        else
            AP_TRY(ap_json_skip_value(reading->json, reterr));
        dump->has_enqueued = dump->has_enqueued || enqueued > 0;
    }
}

enum ap_status ap_flight_read_status(struct ap_flight_reading *reading, struct ap_error *reterr)
{
    struct ap_json_token key;
    AP_TRY(ap_flight_begin_dump(reading, reterr));
    AP_TRY_UNTIL_END(ap_flight_enter(reading, reterr));
    reading->flight->dumps[reading->flight->dump_count - 1].has_status = true;
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_key(reading->json, &key, reterr));
        enum ap_status status = ap_flight_enter(reading, reterr);
        if (status != AP_END) {
            AP_TRY(status);
            AP_TRY(read_counts(reading, reterr));
        }
    }
}
