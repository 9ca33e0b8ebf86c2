/* SPDX-License-Identifier: MIT */
#include "rank_json.h"

#include "decimal.h"
#include "json_text.h"
#include "memory_set_json.h"
#include "summary_rows.h"

#include "poison.h"

#define WIDTH_MAX 32 /* of a row */
#define RANK_LARGEST 100000000

enum { HEAD_COUNT = 16, STEP_COUNT = 7, COLLECTIVE_COUNT = 11, CALL_COUNT = 7 };
#define STEP_WIDTH (STEP_COUNT + AP_SPENT_COUNT_)
#define COLLECTIVE_WIDTH (COLLECTIVE_COUNT + 2 * AP_RANK_BEFORE)
_Static_assert(STEP_WIDTH <= WIDTH_MAX && COLLECTIVE_WIDTH <= WIDTH_MAX && HEAD_COUNT <= WIDTH_MAX, "a row fits");

/* A row is copied out of its struct, or back into it. Names are their places in the list of names, 0 = absent. */
struct row {
    int64_t values[WIDTH_MAX];
    size_t count;
    const uint32_t *place;                /* where it is written: by id the place of a name; else it is read: */
    const struct ap_summary_names *names; /* by place */
    bool lacks_name;
};

static void carry(struct row *row, int64_t *value)
{
    if (row->place)
        row->values[row->count] = *value;
    else
        *value = row->values[row->count];
    row->count++;
}

static void carry_name(struct row *row, struct ap_str *name)
{
    int64_t place = row->place ? row->place[name->id] : 0;
    carry(row, &place);
    if (!row->place && !ap_summary_name(row->names, place, name))
        row->lacks_name = true;
}

static void carry_bool(struct row *row, bool *flag)
{
    int64_t value = *flag;
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
    carry(row, &head->lost_count);
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

typedef void carry_item(struct row *row, struct ap_rank_summary *rank, size_t at);

static void carry_step(struct row *row, struct ap_rank_summary *rank, size_t at)
{
    struct ap_rank_step *step = &rank->steps[at];
    carry(row, &step->number);
    carry(row, &step->start_ns);
    carry(row, &step->end_ns);
    carry(row, &step->kernel_ns);
    carry(row, &step->kernel_count);
    carry(row, &step->work);
    carry_bool(row, &step->is_partial);
    carry_spent(row, step->spent_ns);
}

static void carry_collective(struct row *row, struct ap_rank_summary *rank, size_t at)
{
    struct ap_rank_collective *collective = &rank->collectives[at];
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

static void carry_call(struct row *row, struct ap_rank_summary *rank, size_t at)
{
    struct ap_rank_call *call = &rank->calls[at];
    int64_t kind = call->kind;
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

static void mention_all(struct writer *writer, struct ap_rank_summary *rank)
{
    const struct ap_str *name;
    for (size_t i = 0; (name = ap_rank_name(rank, i)) != NULL; i++)
        if (name->id && !writer->place[name->id]) {
            writer->listed[writer->listed_count++] = name->id;
            writer->place[name->id] = writer->listed_count;
        }
}

static void write_values(struct ap_out *out, const struct row *row)
{
    ap_out_char(out, '[');
    for (size_t i = 0; i < row->count; i++)
        ap_out_format(out, "%s%lld", i ? "," : "", (long long)row->values[i]);
    ap_out_char(out, ']');
}

static void write_list(struct writer *writer, struct ap_rank_summary *rank, const char *key, size_t count,
                       carry_item *carry_at)
{
    ap_out_format(writer->out, ",\n \"%s\":[", key);
    for (size_t i = 0; i < count; i++) {
        struct row row = { .place = writer->place };
        carry_at(&row, rank, i);
        ap_out_string(writer->out, i ? ",\n  " : "");
        write_values(writer->out, &row);
    }
    ap_out_char(writer->out, ']');
}

static void write_rank(struct writer *writer, struct ap_rank_summary *rank)
{
    struct row head = { .place = writer->place }, spent = { .place = writer->place };
    carry_head(&head, rank);
    ap_out_string(writer->out, "{\"head\":");
    write_values(writer->out, &head);
    carry_spent(&spent, rank->spent_ns);
    carry(&spent, &rank->out_of_memory_count);
    ap_out_string(writer->out, ",\n \"spent\":");
    write_values(writer->out, &spent);
    write_list(writer, rank, "steps", rank->step_count, carry_step);
    write_list(writer, rank, "collectives", rank->collective_count, carry_collective);
    write_list(writer, rank, "calls", rank->call_count, carry_call);
    ap_out_char(writer->out, '}');
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
    *row = (struct row){ .names = &reader->names };
    return ap_summary_read_row(reader->json, row->values, width, reterr);
}

static bool are_times(const int64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] < -AP_MAX_TIME_NS || values[i] > AP_MAX_TIME_NS)
            return false;
    return true;
}

static enum ap_status take_head(struct reader *reader, struct ap_rank_summary *rank, struct ap_error *reterr)
{
    struct row row;
    AP_TRY(ap_summary_expect(reader->json, AP_JSON_ARRAY_BEGIN, reterr));
    AP_TRY(read_values(reader, &row, HEAD_COUNT, reterr));
    if (!are_times(row.values, HEAD_COUNT))
        return ap_summary_refuse(reader->json, "a number is out of range", reterr);
    carry_head(&row, rank);
    if (row.lacks_name || rank->rank < 0 || rank->rank > RANK_LARGEST || rank->start_ns > rank->end_ns ||
        rank->lost_count < 0)
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
    const struct ap_rank_step none = { .number = 0 };
    AP_TRY(read_values(reader, &row, STEP_WIDTH, reterr));
    if (!are_times(row.values, 5) || !are_times(row.values + STEP_COUNT, AP_SPENT_COUNT_))
        return ap_summary_refuse(reader->json, "a number is out of range", reterr);
    AP_TRY_ADD(reader->set->gate, rank->steps, rank->step_count, rank->step_capacity, reterr, none);
    carry_step(&row, rank, rank->step_count - 1);
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
    const struct ap_rank_collective none = { .bytes = -1 };
    AP_TRY(read_values(reader, &row, COLLECTIVE_WIDTH, reterr));
    if (!are_times(row.values, COLLECTIVE_COUNT) || row.values[1] < 0 || row.values[2] < 0 || !are_classes(&row))
        return ap_summary_refuse(reader->json, "a number is out of range", reterr);
    AP_TRY_ADD(reader->set->gate, rank->collectives, rank->collective_count, rank->collective_capacity, reterr, none);
    carry_collective(&row, rank, rank->collective_count - 1);
    return row.lacks_name ? ap_summary_refuse(reader->json, "a name is not there", reterr) : AP_OK;
}

static enum ap_status take_call(struct reader *reader, struct ap_rank_summary *rank, struct ap_error *reterr)
{
    struct row row;
    const struct ap_rank_call none = { .key = 0 };
    AP_TRY(read_values(reader, &row, CALL_COUNT, reterr));
    if (!are_times(row.values + 1, 3) || row.values[1] < 0 || row.values[2] < 0 || row.values[3] < 0 || row.values[4] < 0 ||
        row.values[4] >= AP_RANK_CALL_COUNT_)
        return ap_summary_refuse(reader->json, "a number is out of range", reterr);
    AP_TRY_ADD(reader->set->gate, rank->calls, rank->call_count, rank->call_capacity, reterr, none);
    carry_call(&row, rank, rank->call_count - 1);
    return row.lacks_name ? ap_summary_refuse(reader->json, "a name is not there", reterr) : AP_OK;
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
