/* SPDX-License-Identifier: MIT
 * trace_header.c - what a trace says of itself beside its events. Members may stand before or after them. */
#include "decimal.h"
#include "trace_internal.h"

#include "poison.h"

static enum ap_status skip_other(struct ap_trace_reading *reading, const struct ap_json_token *token,
                                 struct ap_error *reterr)
{
    ap_note(reading->notes, AP_COUNTER_member_type, token->offset_bytes);
    return ap_json_skip_rest(reading->json, token, reterr);
}

static enum ap_status read_integer(struct ap_trace_reading *reading, int64_t *ret_integer, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(reading->json, &token, reterr));
    if (token.kind == AP_JSON_NULL)
        return AP_OK;
    if (token.kind == AP_JSON_NUMBER && ap_decimal_to_integer(token.text, token.text_bytes, ret_integer))
        return AP_OK;
    return skip_other(reading, &token, reterr);
}

/* 1 and true are both written. */
static enum ap_status read_flag(struct ap_trace_reading *reading, bool *ret_flag, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(reading->json, &token, reterr));
    if (token.kind == AP_JSON_NUMBER)
        *ret_flag = !(token.text_bytes == 1 && token.text[0] == '0');
    else if (token.kind == AP_JSON_TRUE || token.kind == AP_JSON_FALSE)
        *ret_flag = token.kind == AP_JSON_TRUE;
    else
        return skip_other(reading, &token, reterr);
    return AP_OK;
}

static enum ap_status read_text(struct ap_trace_reading *reading, enum ap_json_kind kind, struct ap_str *ret_text,
                                struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(reading->json, &token, reterr));
    if (token.kind != kind)
        return skip_other(reading, &token, reterr);
    return ap_strpool_intern(&reading->trace->strings, token.text, token.text_bytes, ret_text, reterr);
}

/* One member of an object, behind its key. @to: of the object. */
typedef enum ap_status read_member_fn(struct ap_trace_reading *reading, struct ap_text key, void *to,
                                      struct ap_error *reterr);

/* The rest of an object of which the brace was read. */
static enum ap_status read_members(struct ap_trace_reading *reading, read_member_fn *read_member, void *to,
                                   struct ap_error *reterr)
{
    for (;;) {
        struct ap_json_token key;
        AP_TRY_UNTIL_END(ap_json_next_key(reading->json, &key, reterr));
        AP_TRY(read_member(reading, (struct ap_text){ key.text, key.text_bytes }, to, reterr));
    }
}

static enum ap_status read_object(struct ap_trace_reading *reading, read_member_fn *read_member, void *to,
                                  struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(reading->json, &token, reterr));
    return token.kind == AP_JSON_OBJECT_BEGIN ? read_members(reading, read_member, to, reterr)
                                              : skip_other(reading, &token, reterr);
}

/* A list of objects; *@count is of those that an earlier one left. */
static enum ap_status read_list(struct ap_trace_reading *reading, size_t *count,
                                enum ap_status (*read_one)(struct ap_trace_reading *reading, struct ap_error *reterr),
                                struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(reading->json, &token, reterr));
    if (token.kind != AP_JSON_ARRAY_BEGIN)
        return skip_other(reading, &token, reterr);
    *count = 0;
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_element(reading->json, &token, reterr));
        AP_TRY(token.kind == AP_JSON_OBJECT_BEGIN ? read_one(reading, reterr) : skip_other(reading, &token, reterr));
    }
}

static enum ap_status read_device_member(struct ap_trace_reading *reading, struct ap_text key, void *to,
                                         struct ap_error *reterr)
{
    struct ap_device_properties *device = to;
    if (ap_text_is(key, "name"))
        return read_text(reading, AP_JSON_STRING, &device->name, reterr);
    const struct {
        const char *key;
        int64_t *value;
    } members[] = {
        { "id", &device->id },
        { "totalGlobalMem", &device->memory_bytes },
        { "numSms", &device->sm_count },
        { "warpSize", &device->warp_size },
        { "computeMajor", &device->compute_major },
        { "computeMinor", &device->compute_minor },
    };
    for (size_t i = 0; i < AP_COUNT_OF(members); i++)
        if (ap_text_is(key, members[i].key))
            return read_integer(reading, members[i].value, reterr);
    return ap_json_skip_value(reading->json, reterr);
}

static enum ap_status read_device(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    struct ap_trace *trace = reading->trace;
    struct ap_device_properties device = {
        .id = -1, .memory_bytes = -1, .sm_count = -1, .compute_major = -1, .compute_minor = -1, .warp_size = -1
    };
    AP_TRY(read_members(reading, read_device_member, &device, reterr));
    AP_TRY_ADD(trace->gate, trace->devices, trace->device_count, trace->device_capacity, reterr, device);
    return AP_OK;
}

static enum ap_status read_raw(struct ap_trace_reading *reading, struct ap_str *ret_text, struct ap_error *reterr)
{
    struct ap_text text;
    AP_TRY(ap_json_raw_value(reading->json, &text, reterr));
    return text.data ? ap_strpool_intern(&reading->trace->strings, text.data, text.bytes, ret_text, reterr) : AP_OK;
}

static enum ap_status read_group_member(struct ap_trace_reading *reading, struct ap_text key, void *to,
                                        struct ap_error *reterr)
{
    struct ap_trace_group *group = to;
    if (ap_text_is(key, "pg_name"))
        return read_text(reading, AP_JSON_STRING, &group->name, reterr);
    if (ap_text_is(key, "pg_desc"))
        return read_text(reading, AP_JSON_STRING, &group->description, reterr);
    if (ap_text_is(key, "pg_size"))
        return read_integer(reading, &group->size, reterr);
    if (ap_text_is(key, "ranks"))
        return read_raw(reading, &group->ranks, reterr);
    return ap_json_skip_value(reading->json, reterr);
}

static enum ap_status read_group(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    struct ap_trace *trace = reading->trace;
    struct ap_trace_group group = { .size = -1 };
    AP_TRY(read_members(reading, read_group_member, &group, reterr));
    AP_TRY_ADD(trace->gate, trace->groups, trace->group_count, trace->group_capacity, reterr, group);
    return AP_OK;
}

static enum ap_status read_distributed_member(struct ap_trace_reading *reading, struct ap_text key, void *to,
                                              struct ap_error *reterr)
{
    struct ap_trace *trace = to;
    if (ap_text_is(key, "rank"))
        return read_integer(reading, &trace->rank, reterr);
    if (ap_text_is(key, "world_size"))
        return read_integer(reading, &trace->world_size, reterr);
    if (ap_text_is(key, "backend"))
        return read_text(reading, AP_JSON_STRING, &trace->backend, reterr);
    if (ap_text_is(key, "pg_config"))
        return read_list(reading, &trace->group_count, read_group, reterr);
    return ap_json_skip_value(reading->json, reterr);
}

/* -1 is what a process has that is in no group. */
static enum ap_status read_distributed(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    struct ap_trace *trace = reading->trace;
    uint64_t offset_bytes = ap_json_offset(reading->json);
    AP_TRY(read_object(reading, read_distributed_member, trace, reterr));
    bool known = trace->world_size != -1;
    if (trace->rank < -1 || (known && (trace->world_size < 1 || trace->rank >= trace->world_size)))
        ap_note(reading->notes, AP_COUNTER_rank_outside, offset_bytes);
    return AP_OK;
}

static enum ap_status read_time(struct ap_trace_reading *reading, int64_t *ret_ns, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(reading->json, &token, reterr));
    if (token.kind == AP_JSON_NUMBER && ap_decimal_us_to_ns(token.text, token.text_bytes, ret_ns) != AP_DECIMAL_OUT_OF_RANGE)
        return AP_OK;
    return skip_other(reading, &token, reterr);
}

/* Only whom it is known to have read from: the name ends in reports. */
static enum ap_status read_writer(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(reading->json, &token, reterr));
    if (token.kind != AP_JSON_STRING || !ap_text_is((struct ap_text){ token.text, token.text_bytes }, "Nsight Systems"))
        return skip_other(reading, &token, reterr);
    reading->trace->writer = "Nsight Systems";
    return AP_OK;
}

static enum ap_status read_about_member(struct ap_trace_reading *reading, struct ap_text key, void *to,
                                        struct ap_error *reterr)
{
    struct ap_trace *trace = to;
    if (ap_text_is(key, "slice_start_us"))
        return read_time(reading, &trace->slice_start_ns, reterr);
    if (ap_text_is(key, "slice_end_us"))
        return read_time(reading, &trace->slice_end_ns, reterr);
    return ap_text_is(key, "made_from") ? read_writer(reading, reterr) : ap_json_skip_value(reading->json, reterr);
}

/* What this program says of a file that it wrote: of which stretch of a recording it is, and from what it was made. */
static enum ap_status read_about(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    struct ap_trace *trace = reading->trace;
    AP_TRY(read_object(reading, read_about_member, trace, reterr));
    trace->is_slice = trace->slice_start_ns < trace->slice_end_ns;
    return AP_OK;
}

static enum ap_status read_viztracer_member(struct ap_trace_reading *reading, struct ap_text key, void *to,
                                            struct ap_error *reterr)
{
    return ap_text_is(key, "overflow") ? read_flag(reading, to, reterr) : ap_json_skip_value(reading->json, reterr);
}

/* What VizTracer says of its own buffer, which keeps the last entries only. */
static enum ap_status read_viztracer(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    struct ap_json_token token;
    bool overflow = false;
    AP_TRY(ap_json_next(reading->json, &token, reterr));
    if (token.kind != AP_JSON_OBJECT_BEGIN)
        return skip_other(reading, &token, reterr);
    AP_TRY(read_members(reading, read_viztracer_member, &overflow, reterr));
    if (overflow)
        ap_note(reading->notes, AP_COUNTER_buffer_overflowed, token.offset_bytes);
    return AP_OK;
}

enum ap_status ap_trace_take_header(struct ap_trace_reading *reading, struct ap_text key, struct ap_error *reterr)
{
    struct ap_trace *trace = reading->trace;
    const struct {
        const char *key;
        bool *flag;
    } flags[] = {
        { "record_shapes", &trace->record_shapes },   { "with_stack", &trace->with_stack },
        { "with_modules", &trace->with_modules },     { "with_flops", &trace->with_flops },
        { "profile_memory", &trace->profile_memory },
    };
    for (size_t i = 0; i < AP_COUNT_OF(flags); i++)
        if (ap_text_is(key, flags[i].key))
            return read_flag(reading, flags[i].flag, reterr);
    if (ap_text_is(key, "schemaVersion")) {
        trace->has_schema_version = true;
        return ap_json_skip_value(reading->json, reterr);
    }
    if (ap_text_is(key, "deviceProperties"))
        return read_list(reading, &trace->device_count, read_device, reterr);
    if (ap_text_is(key, "analyze_profile"))
        return read_about(reading, reterr);
    if (ap_text_is(key, "viztracer_metadata"))
        return read_viztracer(reading, reterr);
    if (ap_text_is(key, "distributedInfo"))
        return read_distributed(reading, reterr);
    if (ap_text_is(key, "host_name"))
        return read_text(reading, AP_JSON_STRING, &trace->host_name, reterr);
    if (ap_text_is(key, "baseTimeNanoseconds"))
        return read_text(reading, AP_JSON_NUMBER, &trace->base_time_ns, reterr);
    return AP_END;
}
