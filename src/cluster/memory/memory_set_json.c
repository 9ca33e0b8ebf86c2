/* SPDX-License-Identifier: MIT */
#include "memory_set_json.h"

#include "json_text.h"
#include "summary_rows.h"

#include "poison.h"

#define WIDTH (AP_MEMORY_ROW_NUMBERS + AP_MEMORY_ROW_NAMES)
#define RANK_LARGEST 100000000

/* --------------------------------------------------------------------------------------------------------- writing */

/* Names in the order in which the rows mention them, so that the bytes do not depend on how the set was joined. */
struct writer {
    const struct ap_memory_set *set;
    struct ap_out *out;
    uint32_t *place; /* by id: where it stands in the list; 0 = not yet */
    uint32_t listed;
};

static void write_names(struct writer *writer)
{
    ap_out_string(writer->out, "{\"names\":[");
    for (size_t i = 0; i < writer->set->count; i++) {
        struct ap_rank_memory row = writer->set->rows[i];
        int64_t *numbers[AP_MEMORY_ROW_NUMBERS];
        struct ap_str *names[AP_MEMORY_ROW_NAMES];
        ap_memory_row_members(&row, numbers, names);
        for (size_t j = 0; j < AP_MEMORY_ROW_NAMES; j++) {
            if (!names[j]->id || writer->place[names[j]->id])
                continue;
            ap_out_string(writer->out, writer->listed ? ",\n " : "");
            ap_json_write_text(writer->out, ap_memory_text(writer->set, *names[j]));
            writer->place[names[j]->id] = ++writer->listed;
        }
    }
}

static void write_row(struct writer *writer, struct ap_rank_memory row)
{
    int64_t *numbers[AP_MEMORY_ROW_NUMBERS];
    struct ap_str *names[AP_MEMORY_ROW_NAMES];
    ap_memory_row_members(&row, numbers, names);
    for (size_t i = 0; i < AP_MEMORY_ROW_NUMBERS; i++)
        ap_out_format(writer->out, "%s%lld", i ? "," : "[", (long long)*numbers[i]);
    for (size_t i = 0; i < AP_MEMORY_ROW_NAMES; i++)
        ap_out_format(writer->out, ",%u", (unsigned)writer->place[names[i]->id]);
    ap_out_char(writer->out, ']');
}

enum ap_status ap_memory_set_write(const struct ap_memory_set *set, struct ap_out *out, struct ap_error *reterr)
{
    struct writer writer = { .set = set, .out = out };
    size_t count = (size_t)ap_strpool_count(&set->names) + 1;
    AP_TRY(AP_ALLOC_CLEARED(set->gate, writer.place, count, reterr));
    write_names(&writer);
    ap_out_string(out, "],\"rows\":[");
    for (size_t i = 0; i < set->count; i++) {
        ap_out_string(out, i ? ",\n " : "\n ");
        write_row(&writer, set->rows[i]);
    }
    ap_out_string(out, "]}");
    AP_FREE(set->gate, writer.place, count);
    return AP_OK;
}

/* --------------------------------------------------------------------------------------------------------- reading */

struct reader {
    struct ap_json_reader *json;
    struct ap_memory_set *set;
    struct ap_summary_names names;
};

/* -1 is a number that is not known. */
static bool is_possible(const struct ap_rank_memory *row)
{
    return row->rank >= 0 && row->rank <= RANK_LARGEST && row->failures >= -1 && row->retries >= -1 && row->lost_count >= 0;
}

static enum ap_status take_row(struct reader *reader, const int64_t *values, struct ap_error *reterr)
{
    struct ap_rank_memory row = { .rank = -1 };
    int64_t *numbers[AP_MEMORY_ROW_NUMBERS];
    struct ap_str *names[AP_MEMORY_ROW_NAMES];
    ap_memory_row_members(&row, numbers, names);
    for (size_t i = 0; i < AP_MEMORY_ROW_NUMBERS; i++)
        *numbers[i] = values[i];
    for (size_t i = 0; i < AP_MEMORY_ROW_NAMES; i++)
        if (!ap_summary_name(&reader->names, values[AP_MEMORY_ROW_NUMBERS + i], names[i]))
            return ap_summary_refuse(reader->json, "a name is not there", reterr);
    if (!is_possible(&row))
        return ap_summary_refuse(reader->json, "a number is out of range", reterr);
    AP_TRY_ADD(reader->set->gate, reader->set->rows, reader->set->count, reader->set->capacity, reterr, row);
    return AP_OK;
}

static enum ap_status read_row(struct reader *reader, struct ap_error *reterr)
{
    int64_t values[WIDTH];
    AP_TRY(ap_summary_read_row(reader->json, values, WIDTH, reterr));
    return take_row(reader, values, reterr);
}

static enum ap_status read_rows(struct reader *reader, struct ap_error *reterr)
{
    AP_TRY(ap_summary_expect(reader->json, AP_JSON_ARRAY_BEGIN, reterr));
    for (;;) {
        struct ap_json_token token;
        AP_TRY_UNTIL_END(ap_json_next_element(reader->json, &token, reterr));
        if (token.kind != AP_JSON_ARRAY_BEGIN)
            return ap_summary_refuse(reader->json, "a row is no list", reterr);
        AP_TRY(read_row(reader, reterr));
    }
}

static enum ap_status read_members(struct reader *reader, struct ap_error *reterr)
{
    AP_TRY(ap_summary_expect(reader->json, AP_JSON_OBJECT_BEGIN, reterr));
    for (;;) {
        struct ap_json_token token;
        AP_TRY_UNTIL_END(ap_json_next_key(reader->json, &token, reterr));
        struct ap_text key = { token.text, token.text_bytes };
        if (ap_text_is(key, "names"))
            AP_TRY(ap_summary_read_names(reader->json, &reader->set->names, reader->set->gate, &reader->names, reterr));
        else if (ap_text_is(key, "rows"))
            AP_TRY(read_rows(reader, reterr));
        else
            AP_TRY(ap_json_skip_value(reader->json, reterr));
    }
}

enum ap_status ap_memory_set_read(struct ap_json_reader *json, struct ap_memory_set *set, struct ap_error *reterr)
{
    struct reader reader = { .json = json, .set = set };
    enum ap_status status = read_members(&reader, reterr);
    ap_summary_names_release(&reader.names, set->gate);
    return status;
}
