/* SPDX-License-Identifier: MIT */
#include "memory_set_json.h"

#include "json_text.h"

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
    struct ap_str *names; /* by place */
    size_t name_count, name_capacity;
};

static enum ap_status fail_row(struct reader *reader, const char *what, struct ap_error *reterr)
{
    return ap_fail_at(reterr, AP_ERROR_INPUT, ap_json_offset(reader->json),
                      "not the memory of ranks as this version writes it: %s", what);
}

static enum ap_status begin(struct reader *reader, enum ap_json_kind kind, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(reader->json, &token, reterr));
    return token.kind == kind ? AP_OK : fail_row(reader, "a list or an object was expected", reterr);
}

static enum ap_status read_names(struct reader *reader, struct ap_error *reterr)
{
    AP_TRY(begin(reader, AP_JSON_ARRAY_BEGIN, reterr));
    for (;;) {
        struct ap_json_token token;
        struct ap_str name;
        AP_TRY_UNTIL_END(ap_json_next_element(reader->json, &token, reterr));
        if (token.kind != AP_JSON_STRING)
            return fail_row(reader, "a name is no text", reterr);
        AP_TRY(ap_strpool_intern(&reader->set->names, token.text, token.text_bytes, &name, reterr));
        AP_TRY_ADD(reader->set->gate, reader->names, reader->name_count, reader->name_capacity, reterr, name);
    }
}

/* -1 is a number that is not known. */
static bool is_possible(const struct ap_rank_memory *row)
{
    return row->rank >= 0 && row->rank <= RANK_LARGEST && row->failures >= -1 && row->retries >= -1;
}

static enum ap_status take_row(struct reader *reader, const int64_t *values, struct ap_error *reterr)
{
    struct ap_rank_memory row = { .rank = -1 };
    int64_t *numbers[AP_MEMORY_ROW_NUMBERS];
    struct ap_str *names[AP_MEMORY_ROW_NAMES];
    ap_memory_row_members(&row, numbers, names);
    for (size_t i = 0; i < AP_MEMORY_ROW_NUMBERS; i++)
        *numbers[i] = values[i];
    for (size_t i = 0; i < AP_MEMORY_ROW_NAMES; i++) {
        int64_t place = values[AP_MEMORY_ROW_NUMBERS + i];
        if (place < 0 || place > (int64_t)reader->name_count)
            return fail_row(reader, "a name is not there", reterr);
        *names[i] = place ? reader->names[place - 1] : (struct ap_str){ 0 };
    }
    if (!is_possible(&row))
        return fail_row(reader, "a number is out of range", reterr);
    AP_TRY_ADD(reader->set->gate, reader->set->rows, reader->set->count, reader->set->capacity, reterr, row);
    return AP_OK;
}

static enum ap_status read_row(struct reader *reader, struct ap_error *reterr)
{
    int64_t values[WIDTH];
    for (size_t i = 0;; i++) {
        struct ap_json_token token;
        enum ap_status status = ap_json_next_element(reader->json, &token, reterr);
        if (status == AP_END)
            return i == WIDTH ? take_row(reader, values, reterr) : fail_row(reader, "a row is too short", reterr);
        AP_TRY(status);
        if (i == WIDTH || token.kind != AP_JSON_NUMBER || !ap_json_integer(&token, &values[i]))
            return fail_row(reader, "a row is too long, or holds what is no whole number", reterr);
    }
}

static enum ap_status read_rows(struct reader *reader, struct ap_error *reterr)
{
    AP_TRY(begin(reader, AP_JSON_ARRAY_BEGIN, reterr));
    for (;;) {
        struct ap_json_token token;
        AP_TRY_UNTIL_END(ap_json_next_element(reader->json, &token, reterr));
        if (token.kind != AP_JSON_ARRAY_BEGIN)
            return fail_row(reader, "a row is no list", reterr);
        AP_TRY(read_row(reader, reterr));
    }
}

static enum ap_status read_members(struct reader *reader, struct ap_error *reterr)
{
    AP_TRY(begin(reader, AP_JSON_OBJECT_BEGIN, reterr));
    for (;;) {
        struct ap_json_token token;
        AP_TRY_UNTIL_END(ap_json_next_key(reader->json, &token, reterr));
        struct ap_text key = { token.text, token.text_bytes };
        if (ap_text_is(key, "names"))
            AP_TRY(read_names(reader, reterr));
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
    AP_FREE(set->gate, reader.names, reader.name_capacity);
    return status;
}
