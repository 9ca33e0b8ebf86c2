/* SPDX-License-Identifier: MIT */
#include "rank_json.h"

#include "decimal.h"
#include "json_text.h"
#include "memory_set_json.h"
#include "summary_rows.h"

#include "poison.h"

#define WIDTH_MAX 32 /* of a row */
#define RANK_LARGEST 100000000

enum { HEAD_COUNT = 15, STEP_COUNT = 7, COLLECTIVE_COUNT = 11, CALL_COUNT = 7 };
#define STEP_WIDTH (STEP_COUNT + AP_SPENT_COUNT_)
#define COLLECTIVE_WIDTH (COLLECTIVE_COUNT + 2 * AP_RANK_BEFORE)
_Static_assert(STEP_WIDTH <= WIDTH_MAX && COLLECTIVE_WIDTH <= WIDTH_MAX && HEAD_COUNT <= WIDTH_MAX, "a row fits");

/* A row is copied out of its struct, or back into it. Names are their places in the list of names, 0 = absent. */
struct row {
    int64_t values[WIDTH_MAX];
    size_t count;
    bool out;
};

static void carry(struct row *row, int64_t *value)
{
    if (row->out)
        row->values[row->count] = *value;
    else
        *value = row->values[row->count];
    row->count++;
}

static void carry_name(struct row *row, struct ap_str *name)
{
    int64_t id = row->out ? name->id : 0;
    carry(row, &id);
    name->id = (uint32_t)id;
}

static void carry_bool(struct row *row, bool *flag)
{
    int64_t value = row->out && *flag; /* what is read in has no value yet */
    carry(row, &value);
    *flag = value != 0;
}

static void carry_head(struct row *row, struct ap_rank_summary *head)
{
    carry(row, &head->rank);
    carry(row, &head->world_size);
    carry_name(row, &head->path);
    carry_name(row, &head->host);
    carry_name(row, &head->device);
    carry_name(row, &head->backend);
    carry(row, &head->start_ns);
    carry(row, &head->end_ns);
    carry(row, &head->rows);
    carry_bool(row, &head->has_device);
    carry_bool(row, &head->is_cut);
    carry(row, &head->peak_allocated_bytes);
    carry(row, &head->peak_reserved_bytes);
    carry(row, &head->capacity_bytes);
    carry_name(row, &head->last_frame);
}

static void carry_spent(struct row *row, int64_t spent_ns[AP_SPENT_COUNT_])
{
    for (int i = 0; i < AP_SPENT_COUNT_; i++)
        carry(row, &spent_ns[i]);
}

static void carry_step(struct row *row, struct ap_rank_step *step)
{
    carry(row, &step->number);
    carry(row, &step->start_ns);
    carry(row, &step->end_ns);
    carry(row, &step->kernel_ns);
    carry(row, &step->kernel_count);
    carry(row, &step->work);
    carry_bool(row, &step->is_partial);
    carry_spent(row, step->spent_ns);
}

static void carry_collective(struct row *row, struct ap_rank_collective *collective)
{
    int64_t operation = collective->operation, before, us;
    carry(row, &collective->start_ns);
    carry(row, &collective->dur_ns);
    carry(row, &collective->exposed_ns);
    carry(row, &collective->sequence);
    carry(row, &collective->bytes);
    carry(row, &collective->step);
    carry_name(row, &collective->group);
    carry_name(row, &collective->frame);
    carry(row, &operation);
    carry_bool(row, &collective->on_host);
    carry(row, &collective->peer);
    collective->operation = (uint8_t)operation;
    for (int i = 0; i < AP_RANK_BEFORE; i++) {
        before = collective->before[i];
        us = collective->before_us[i];
        carry(row, &before);
        carry(row, &us);
        collective->before[i] = (uint8_t)before;
        collective->before_us[i] = (uint32_t)us;
    }
}

static void carry_call(struct row *row, struct ap_rank_call *call)
{
    int64_t kind = row->out ? call->kind : 0;
    carry(row, &call->key);
    carry(row, &call->count);
    carry(row, &call->total_ns);
    carry(row, &call->least_ns);
    carry(row, &kind);
    carry_bool(row, &call->is_shaped);
    carry_name(row, &call->name);
    call->kind = (uint8_t)kind;
}

/* --------------------------------------------------------------------------------------------------------- writing */

/* Names in the order in which the ranks mention them, so that the bytes do not depend on how the set was joined. */
struct writer {
    const struct ap_rank_set *set;
    struct ap_out *out;
    uint32_t *place; /* by id: where it stands in the list; 0 = not yet */
    uint32_t *listed;
    uint32_t listed_count;
};

static void mention(struct writer *writer, struct ap_str *name)
{
    if (!name->id)
        return;
    if (!writer->place[name->id]) {
        writer->listed[writer->listed_count++] = name->id;
        writer->place[name->id] = writer->listed_count;
    }
    name->id = writer->place[name->id];
}

static void mention_all(struct writer *writer, const struct ap_rank_summary *rank)
{
    struct ap_str names[] = { rank->path, rank->host, rank->device, rank->backend, rank->last_frame };
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        mention(writer, &names[i]);
    for (size_t i = 0; i < rank->collective_count; i++) {
        struct ap_str group = rank->collectives[i].group, frame = rank->collectives[i].frame;
        mention(writer, &group);
        mention(writer, &frame);
    }
    for (size_t i = 0; i < rank->call_count; i++) {
        struct ap_str name = rank->calls[i].name;
        mention(writer, &name);
    }
}

static void write_values(struct ap_out *out, const struct row *row)
{
    ap_out_char(out, '[');
    for (size_t i = 0; i < row->count; i++)
        ap_out_format(out, "%s%lld", i ? "," : "", (long long)row->values[i]);
    ap_out_char(out, ']');
}

static void begin_list(struct writer *writer, const char *key)
{
    ap_out_format(writer->out, ",\n \"%s\":[", key);
}

static void write_row_of_list(struct ap_out *out, const struct row *row, size_t at)
{
    ap_out_string(out, at ? ",\n  " : "");
    write_values(out, row);
}

static void write_head(struct writer *writer, const struct ap_rank_summary *from)
{
    struct ap_rank_summary rank = *from;
    struct row row = { .out = true };
    mention(writer, &rank.path);
    mention(writer, &rank.host);
    mention(writer, &rank.device);
    mention(writer, &rank.backend);
    mention(writer, &rank.last_frame);
    carry_head(&row, &rank);
    ap_out_string(writer->out, "{\"head\":");
    write_values(writer->out, &row);
    row = (struct row){ .out = true };
    carry_spent(&row, rank.spent_ns);
    carry(&row, &rank.out_of_memory_count);
    ap_out_string(writer->out, ",\n \"spent\":");
    write_values(writer->out, &row);
}

static void write_rank(struct writer *writer, const struct ap_rank_summary *rank)
{
    struct row row;
    write_head(writer, rank);
    begin_list(writer, "steps");
    for (size_t i = 0; i < rank->step_count; i++) {
        struct ap_rank_step step = rank->steps[i];
        row = (struct row){ .out = true };
        carry_step(&row, &step);
        write_row_of_list(writer->out, &row, i);
    }
    ap_out_char(writer->out, ']');
    begin_list(writer, "collectives");
    for (size_t i = 0; i < rank->collective_count; i++) {
        struct ap_rank_collective collective = rank->collectives[i];
        mention(writer, &collective.group);
        mention(writer, &collective.frame);
        row = (struct row){ .out = true };
        carry_collective(&row, &collective);
        write_row_of_list(writer->out, &row, i);
    }
    ap_out_char(writer->out, ']');
    begin_list(writer, "calls");
    for (size_t i = 0; i < rank->call_count; i++) {
        struct ap_rank_call call = rank->calls[i];
        mention(writer, &call.name);
        row = (struct row){ .out = true };
        carry_call(&row, &call);
        write_row_of_list(writer->out, &row, i);
    }
    ap_out_string(writer->out, "]}");
}

static void write_all(struct writer *writer)
{
    struct ap_out *out = writer->out;
    for (size_t i = 0; i < writer->set->count; i++)
        mention_all(writer, &writer->set->ranks[i]);
    ap_out_format(out, "{\"rank_summaries\":%d,\n\"names\":[", AP_RANK_JSON_VERSION);
    for (uint32_t i = 0; i < writer->listed_count; i++) {
        ap_out_string(out, i ? ",\n " : "");
        ap_json_write_text(out, ap_strpool_text(&writer->set->names, (struct ap_str){ writer->listed[i] }));
    }
    ap_out_string(out, "],\n\"ranks\":[");
    for (size_t i = 0; i < writer->set->count; i++) {
        ap_out_string(out, i ? ",\n" : "\n");
        write_rank(writer, &writer->set->ranks[i]);
    }
    ap_out_char(out, ']');
}

static enum ap_status write_memory(struct writer *writer, struct ap_error *reterr)
{
    if (writer->set->memory.count) {
        ap_out_string(writer->out, ",\n\"memory\":");
        AP_TRY(ap_memory_set_write(&writer->set->memory, writer->out, reterr));
    }
    ap_out_string(writer->out, "}\n");
    return AP_OK;
}

enum ap_status ap_rank_json_write(const struct ap_rank_set *set, struct ap_sink sink, struct ap_error *reterr)
{
    struct ap_out out;
    struct writer writer = { .set = set, .out = &out };
    size_t count = (size_t)ap_strpool_count(&set->names) + 1;
    ap_out_init(&out, sink);
    AP_TRY(AP_ALLOC_CLEARED(set->gate, writer.place, count, reterr));
    enum ap_status status = AP_ALLOC(set->gate, writer.listed, count, reterr);
    if (status == AP_OK)
        write_all(&writer);
    AP_AND_THEN(status, write_memory(&writer, reterr));
    AP_AND_THEN(status, ap_out_finish(&out, reterr));
    AP_FREE(set->gate, writer.listed, count);
    AP_FREE(set->gate, writer.place, count);
    return status;
}

/* --------------------------------------------------------------------------------------------------------- reading */

struct reader {
    struct ap_json_reader *json;
    struct ap_rank_set *set;
    struct ap_summary_names names;
};

/* Those of hashes may be anything, all others are smaller in every file. */
static enum ap_status read_values(struct reader *reader, struct row *row, size_t width, struct ap_error *reterr)
{
    *row = (struct row){ .out = false };
    return ap_summary_read_row(reader->json, row->values, width, reterr);
}

static bool are_times(const int64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] < -AP_MAX_TIME_NS || values[i] > AP_MAX_TIME_NS)
            return false;
    return true;
}

static bool take_name(const struct reader *reader, struct ap_str *name)
{
    return ap_summary_name(&reader->names, name->id, name);
}

static enum ap_status take_head(struct reader *reader, struct ap_rank_summary *rank, struct ap_error *reterr)
{
    struct row row;
    AP_TRY(ap_summary_expect(reader->json, AP_JSON_ARRAY_BEGIN, reterr));
    AP_TRY(read_values(reader, &row, HEAD_COUNT, reterr));
    if (!are_times(row.values, HEAD_COUNT))
        return ap_summary_refuse(reader->json, "a number is out of range", reterr);
    carry_head(&row, rank);
    bool named = take_name(reader, &rank->path) && take_name(reader, &rank->host) && take_name(reader, &rank->device) &&
                 take_name(reader, &rank->backend) && take_name(reader, &rank->last_frame);
    if (!named || rank->rank < 0 || rank->rank > RANK_LARGEST || rank->start_ns > rank->end_ns)
        return ap_summary_refuse(reader->json, "a rank, a name or a window cannot be", reterr);
    return AP_OK;
}

static enum ap_status take_spent(struct reader *reader, struct ap_rank_summary *rank, struct ap_error *reterr)
{
    struct row row;
    AP_TRY(ap_summary_expect(reader->json, AP_JSON_ARRAY_BEGIN, reterr));
    AP_TRY(read_values(reader, &row, AP_SPENT_COUNT_ + 1, reterr));
    if (!are_times(row.values, AP_SPENT_COUNT_ + 1))
        return ap_summary_refuse(reader->json, "a number is out of range", reterr);
    carry_spent(&row, rank->spent_ns);
    carry(&row, &rank->out_of_memory_count);
    return AP_OK;
}

static enum ap_status take_step(struct reader *reader, struct ap_rank_summary *rank, struct ap_error *reterr)
{
    struct row row;
    struct ap_rank_step step;
    AP_TRY(read_values(reader, &row, STEP_WIDTH, reterr));
    if (!are_times(row.values, 5) || !are_times(row.values + STEP_COUNT, AP_SPENT_COUNT_))
        return ap_summary_refuse(reader->json, "a number is out of range", reterr);
    carry_step(&row, &step);
    AP_TRY_ADD(reader->set->gate, rank->steps, rank->step_count, rank->step_capacity, reterr, step);
    return AP_OK;
}

static bool are_classes(const struct row *row)
{
    for (int i = 0; i < AP_RANK_BEFORE; i++) {
        int64_t class = row->values[COLLECTIVE_COUNT + 2 * i], us = row->values[COLLECTIVE_COUNT + 2 * i + 1];
        if (class < 0 || class >= AP_SPENT_COUNT_ || us < 0 || us > UINT32_MAX)
            return false;
    }
    return row->values[8] >= 0 && row->values[8] < AP_COLLECTIVE_COUNT_;
}

static enum ap_status take_collective(struct reader *reader, struct ap_rank_summary *rank, struct ap_error *reterr)
{
    struct row row;
    struct ap_rank_collective collective = { .bytes = -1 };
    AP_TRY(read_values(reader, &row, COLLECTIVE_WIDTH, reterr));
    if (!are_times(row.values, COLLECTIVE_COUNT) || row.values[1] < 0 || row.values[2] < 0 || !are_classes(&row))
        return ap_summary_refuse(reader->json, "a number is out of range", reterr);
    carry_collective(&row, &collective);
    if (!take_name(reader, &collective.group) || !take_name(reader, &collective.frame))
        return ap_summary_refuse(reader->json, "a name is not there", reterr);
    AP_TRY_ADD(reader->set->gate, rank->collectives, rank->collective_count, rank->collective_capacity, reterr, collective);
    return AP_OK;
}

static enum ap_status take_call(struct reader *reader, struct ap_rank_summary *rank, struct ap_error *reterr)
{
    struct row row;
    struct ap_rank_call call;
    AP_TRY(read_values(reader, &row, CALL_COUNT, reterr));
    if (!are_times(row.values + 1, 3) || row.values[1] < 0 || row.values[2] < 0 || row.values[3] < 0 || row.values[4] < 0 ||
        row.values[4] >= AP_RANK_CALL_COUNT_)
        return ap_summary_refuse(reader->json, "a number is out of range", reterr);
    carry_call(&row, &call);
    if (!take_name(reader, &call.name))
        return ap_summary_refuse(reader->json, "a name is not there", reterr);
    AP_TRY_ADD(reader->set->gate, rank->calls, rank->call_count, rank->call_capacity, reterr, call);
    return AP_OK;
}

typedef enum ap_status take_row(struct reader *reader, struct ap_rank_summary *rank, struct ap_error *reterr);

static enum ap_status take_rows(struct reader *reader, struct ap_rank_summary *rank, take_row *take, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_summary_expect(reader->json, AP_JSON_ARRAY_BEGIN, reterr));
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_element(reader->json, &token, reterr));
        if (token.kind != AP_JSON_ARRAY_BEGIN)
            return ap_summary_refuse(reader->json, "a row is no list", reterr);
        AP_TRY(take(reader, rank, reterr));
    }
}

static enum ap_status take_member(struct reader *reader, struct ap_rank_summary *rank, struct ap_text key,
                                  struct ap_error *reterr)
{
    if (ap_text_is(key, "head"))
        return take_head(reader, rank, reterr);
    if (ap_text_is(key, "spent"))
        return take_spent(reader, rank, reterr);
    if (ap_text_is(key, "steps"))
        return take_rows(reader, rank, take_step, reterr);
    if (ap_text_is(key, "collectives"))
        return take_rows(reader, rank, take_collective, reterr);
    if (ap_text_is(key, "calls"))
        return take_rows(reader, rank, take_call, reterr);
    return ap_json_skip_value(reader->json, reterr);
}

static enum ap_status take_members(struct reader *reader, struct ap_rank_summary *rank, struct ap_error *reterr)
{
    for (;;) {
        struct ap_json_token key;
        AP_TRY_UNTIL_END(ap_json_next_key(reader->json, &key, reterr));
        AP_TRY(take_member(reader, rank, (struct ap_text){ key.text, key.text_bytes }, reterr));
    }
}

static enum ap_status take_rank(struct reader *reader, struct ap_error *reterr)
{
    struct ap_gate *gate = reader->set->gate;
    struct ap_rank_summary rank = { .rank = -1 };
    enum ap_status status = take_members(reader, &rank, reterr);
    if (status == AP_OK && rank.rank < 0)
        status = ap_summary_refuse(reader->json, "a rank has no head", reterr);
    AP_AND_THEN(status, AP_RESERVE(gate, reader->set->ranks, reader->set->capacity, reader->set->count + 1, reterr));
    if (status == AP_OK)
        reader->set->ranks[reader->set->count++] = rank;
    else
        ap_rank_summary_release(&rank, gate);
    return status;
}

static enum ap_status take_ranks(struct reader *reader, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_summary_expect(reader->json, AP_JSON_ARRAY_BEGIN, reterr));
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_element(reader->json, &token, reterr));
        if (token.kind != AP_JSON_OBJECT_BEGIN)
            return ap_summary_refuse(reader->json, "a rank is no object", reterr);
        AP_TRY(take_rank(reader, reterr));
    }
}

static enum ap_status take_version(struct reader *reader, struct ap_error *reterr)
{
    struct ap_json_token token;
    int64_t version = -1;
    AP_TRY(ap_json_next(reader->json, &token, reterr));
    if (token.kind == AP_JSON_NUMBER && ap_json_integer(&token, &version) && version == AP_RANK_JSON_VERSION)
        return AP_OK;
    return ap_summary_refuse(reader->json, "it is of another version", reterr);
}

static enum ap_status take_document(struct reader *reader, struct ap_error *reterr)
{
    AP_TRY(ap_summary_expect(reader->json, AP_JSON_OBJECT_BEGIN, reterr));
    for (;;) {
        struct ap_json_token token;
        AP_TRY_UNTIL_END(ap_json_next_key(reader->json, &token, reterr));
        struct ap_text key = { token.text, token.text_bytes };
        if (ap_text_is(key, "rank_summaries"))
            AP_TRY(take_version(reader, reterr));
        else if (ap_text_is(key, "names"))
            AP_TRY(ap_summary_read_names(reader->json, &reader->set->names, reader->set->gate, &reader->names, reterr));
        else if (ap_text_is(key, "ranks"))
            AP_TRY(take_ranks(reader, reterr));
        else if (ap_text_is(key, "memory"))
            AP_TRY(ap_memory_set_read(reader->json, &reader->set->memory, reterr));
        else
            AP_TRY(ap_json_skip_value(reader->json, reterr));
    }
}

enum ap_status ap_rank_json_read(struct ap_json_reader *json, struct ap_rank_set *set, struct ap_error *reterr)
{
    struct reader reader = { .json = json, .set = set };
    enum ap_status status = take_document(&reader, reterr);
    ap_summary_names_release(&reader.names, set->gate);
    return status;
}
