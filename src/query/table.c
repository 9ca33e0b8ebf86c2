/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <stdio.h>
#include <string.h>

#include "json_text.h"
#include "known_table.h"
#include "report.h"
#include "row_pick.h"
#include "table_cell.h"
#include "words.h"

#include "poison.h"

#define MAX_COLUMNS 64
#define MAX_PATH 120
#define MAX_CELL 60    /* columns that one cell of text takes at most */
#define NARROW 140     /* a terminal of fewer columns */
#define NARROW_CELL 32 /* and what a cell takes there */

struct column {
    char path[MAX_PATH];
    size_t width; /* 0 = empty in all rows */
    bool number, shown, asked;
};

struct writing {
    struct ap_out out;
    const struct ap_table_query *query;
    struct column columns[MAX_COLUMNS];
    size_t column_count, row_count;
    size_t columns_left_out;
    enum ap_words words;
};

/* ---- columns ---- */

/* Objects in a row are columns of their members; three levels are more than a report has. */
static void add_columns(struct writing *writing, const struct ap_value *object, const char *before, int levels)
{
    for (const struct ap_value *member = ap_value_first(object); member; member = member->next) {
        char path[MAX_PATH];
        int bytes = snprintf(path, sizeof(path), "%s%.*s", before, (int)(member->key.bytes < 60 ? member->key.bytes : 60),
                             member->key.data);
        if (bytes < 0 || (size_t)bytes + 2 >= sizeof(path) || writing->column_count == MAX_COLUMNS)
            return;
        if (member->type == AP_VALUE_OBJECT && levels > 1 && ap_value_first(member)) {
            path[bytes] = '.';
            path[bytes + 1] = '\0';
            add_columns(writing, member, path, levels - 1);
        } else {
            struct column *column = &writing->columns[writing->column_count++];
            *column = (struct column){ .width = 0 };
            (void)snprintf(column->path, sizeof(column->path), "%s", path);
        }
    }
}

/* What the rows would have, where there are none. */
static void know_columns(struct writing *writing, const char *table)
{
    const struct ap_known_table *known = writing->query->columns ? NULL : ap_known_table_find(table);
    const char *rest = known ? known->columns : writing->query->columns;
    struct ap_text name;
    while (ap_known_column_next(&rest, known ? " " : ",", &name) && writing->column_count < MAX_COLUMNS) {
        struct column *column = &writing->columns[writing->column_count];
        bool is_open = name.bytes >= 2 && memcmp(name.data + name.bytes - 2, ".*", 2) == 0;
        name.bytes -= is_open ? 2 : 0;
        if (ap_text_is(name, "*") || name.bytes >= sizeof(column->path))
            continue;
        *column = (struct column){ .width = 0 };
        memcpy(column->path, name.data, name.bytes);
        writing->column_count++;
    }
}

/* Those that are asked for. */
static enum ap_status choose_asked(struct writing *writing, const struct ap_value *row, struct ap_error *reterr)
{
    const char *table = writing->query->name;
    for (const char *at = writing->query->columns; at;) {
        size_t bytes = strcspn(at, ",");
        struct column *column = &writing->columns[writing->column_count];
        if (writing->column_count == MAX_COLUMNS || bytes >= sizeof(column->path))
            return ap_refuse(reterr, AP_SETTING_COLUMNS, "at most %d names of columns were expected", MAX_COLUMNS);
        *column = (struct column){ .asked = true };
        memcpy(column->path, at, bytes);
        if (!bytes || (!ap_value_at(row, column->path) && !ap_known_table_has(table, ap_text_of(column->path))))
            return ap_advise(reterr, AP_ADVICE_ALL_COLUMNS,
                             ap_refuse(reterr, AP_SETTING_COLUMNS, "the table has no column '%.60s'", column->path));
        writing->column_count++;
        at = at[bytes] ? at + bytes + 1 : NULL;
    }
    return AP_OK;
}

static enum ap_status learn_columns(void *self, const struct ap_value *row, struct ap_error *reterr)
{
    struct writing *writing = self;
    if (!writing->column_count && writing->query->columns)
        return choose_asked(writing, row, reterr);
    if (!writing->column_count)
        add_columns(writing, row, "", 3);
    return AP_OK;
}

static size_t cell_limit(const struct writing *writing)
{
    return writing->query->width && writing->query->width < NARROW ? NARROW_CELL : MAX_CELL;
}

static enum ap_status measure(void *self, const struct ap_value *row, struct ap_error *reterr)
{
    struct writing *writing = self;
    AP_TRY(learn_columns(self, row, reterr));
    for (size_t i = 0; i < writing->column_count; i++) {
        struct column *column = &writing->columns[i];
        const struct ap_value *value = ap_value_at(row, column->path);
        double number;
        size_t columns = ap_cell_columns(value);
        column->number = column->number || (value && value->type != AP_VALUE_BOOL && ap_value_number(value, &number));
        columns = columns > cell_limit(writing) ? cell_limit(writing) : columns;
        if (value && value->type != AP_VALUE_NULL && columns > column->width)
            column->width = columns;
    }
    return AP_OK;
}

/* What a row is told by, and what it was asked for by. */
static bool comes_first(const struct writing *writing, const struct column *column)
{
    static const char *const first[] = { "row_id", "name", "call", "title", "dur_us" };
    const char *sort = writing->query->sort;
    size_t bytes = strlen(column->path);
    if (sort && strncmp(sort, column->path, bytes) == 0 && (sort[bytes] == '\0' || sort[bytes] == ':'))
        return true;
    for (size_t i = 0; i < AP_COUNT_OF(first); i++)
        if (strcmp(column->path, first[i]) == 0)
            return true;
    return false;
}

/* Columns without anything in them say nothing; those that a terminal has no room for are told of. */
static void choose_columns(struct writing *writing)
{
    size_t used = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < writing->column_count; i++) {
            struct column *column = &writing->columns[i];
            size_t head = strlen(column->path);
            if ((!column->width && !column->asked) || comes_first(writing, column) != (pass == 0))
                continue;
            column->width = head > column->width ? head : column->width;
            bool fits = !writing->query->width || !used || used + 2 + column->width <= writing->query->width;
            column->shown = fits;
            writing->columns_left_out += !fits;
            used += fits ? column->width + 2 : 0;
        }
}

/* ---- text ---- */

static void pad(struct ap_out *out, size_t columns)
{
    while (columns--)
        ap_out_char(out, ' ');
}

/* Nothing stands behind the last cell of a line. */
static bool is_last(const struct writing *writing, size_t at)
{
    for (size_t i = at + 1; i < writing->column_count; i++)
        if (writing->columns[i].shown)
            return false;
    return true;
}

static void write_head(struct writing *writing)
{
    bool first = true;
    for (size_t i = 0; i < writing->column_count; i++) {
        const struct column *column = &writing->columns[i];
        if (!column->shown)
            continue;
        size_t blank = column->width - strlen(column->path);
        ap_out_string(&writing->out, first ? "" : "  ");
        pad(&writing->out, column->number ? blank : 0);
        ap_out_string(&writing->out, column->path);
        pad(&writing->out, column->number || is_last(writing, i) ? 0 : blank);
        first = false;
    }
    ap_out_char(&writing->out, '\n');
}

static enum ap_status write_text_row(void *self, const struct ap_value *row, struct ap_error *reterr)
{
    struct writing *writing = self;
    bool first = true;
    (void)reterr;
    for (size_t i = 0; i < writing->column_count; i++) {
        const struct column *column = &writing->columns[i];
        if (!column->shown)
            continue;
        const struct ap_value *value = ap_value_at(row, column->path);
        bool whole = !writing->query->width && is_last(writing, i);
        size_t columns = ap_cell_columns(value), most = whole ? 0 : column->width;
        columns = most && columns > most ? most : columns;
        ap_out_string(&writing->out, first ? "" : "  ");
        pad(&writing->out, column->number && columns < column->width ? column->width - columns : 0);
        ap_cell_write_text(&writing->out, value, most);
        pad(&writing->out, !column->number && !is_last(writing, i) && columns < column->width ? column->width - columns : 0);
        first = false;
    }
    ap_out_char(&writing->out, '\n');
    return AP_OK;
}

static enum ap_status write_text(struct writing *writing, const struct ap_row_source *source,
                                 const struct ap_picked_rows *rows, struct ap_error *reterr)
{
    AP_TRY(ap_rows_see(source, rows, measure, writing, reterr));
    choose_columns(writing);
    if (rows->count)
        write_head(writing);
    AP_TRY(ap_rows_see(source, rows, write_text_row, writing, reterr));
    ap_out_format(&writing->out, "%s%zu of %llu row%s", rows->count ? "\n" : "", rows->count,
                  (unsigned long long)rows->matched, rows->matched == 1 ? "" : "s");
    if (rows->matched != source->count)
        ap_out_format(&writing->out, " that %s keeps of %zu", ap_setting_name(AP_SETTING_WHERE, writing->words),
                      source->count);
    if (writing->columns_left_out)
        ap_out_format(&writing->out, "; %zu more column%s: %s, %s json or csv", writing->columns_left_out,
                      writing->columns_left_out == 1 ? "" : "s", ap_setting_name(AP_SETTING_COLUMNS, writing->words),
                      ap_setting_name(AP_SETTING_FORMAT, writing->words));
    ap_out_char(&writing->out, '\n');
    return AP_OK;
}

/* ---- JSON: a row a line ---- */

static enum ap_status write_json_row(void *self, const struct ap_value *row, struct ap_error *reterr)
{
    struct writing *writing = self;
    ap_out_string(&writing->out, writing->row_count++ ? ",\n    " : "\n    ");
    if (!writing->query->columns)
        return ap_json_write_value(&writing->out, row, true, reterr);
    AP_TRY(learn_columns(self, row, reterr));
    for (size_t i = 0; i < writing->column_count; i++) {
        ap_out_string(&writing->out, i ? ", " : "{");
        ap_json_write_text(&writing->out, ap_text_of(writing->columns[i].path));
        ap_out_string(&writing->out, ": ");
        const struct ap_value *value = ap_value_at(row, writing->columns[i].path);
        if (value)
            AP_TRY(ap_json_write_value(&writing->out, value, true, reterr));
        else
            ap_out_string(&writing->out, "null");
    }
    ap_out_char(&writing->out, '}');
    return AP_OK;
}

/* Those that were asked for. */
static void write_json_columns(struct writing *writing)
{
    struct ap_text column;
    const char *rest = writing->query->columns, *before = "[";
    while (ap_known_column_next(&rest, ",", &column)) {
        ap_out_string(&writing->out, before);
        ap_json_write_text(&writing->out, column);
        before = ", ";
    }
    ap_out_string(&writing->out, writing->query->columns ? "]" : "null");
}

static enum ap_status write_json(struct writing *writing, const struct ap_row_source *source,
                                 const struct ap_picked_rows *rows, struct ap_error *reterr)
{
    ap_out_string(&writing->out, "{\n  \"schema_version\": \"" AP_ANSWER_VERSION "\",\n  \"table\": ");
    ap_json_write_text(&writing->out, ap_text_of(source->name));
    ap_out_format(&writing->out,
                  ",\n  \"rows_total\": %zu,\n  \"rows_matched\": %llu,\n  \"rows_shown\": %zu,\n  \"columns\": ",
                  source->count, (unsigned long long)rows->matched, rows->count);
    write_json_columns(writing);
    ap_out_string(&writing->out, ",\n  \"rows\": [");
    AP_TRY(ap_rows_see(source, rows, write_json_row, writing, reterr));
    ap_out_string(&writing->out, rows->count ? "\n  ]\n}\n" : "]\n}\n");
    return AP_OK;
}

/* ---- CSV ---- */

static enum ap_status write_csv_head(struct writing *writing, struct ap_error *reterr)
{
    for (size_t i = 0; i < writing->column_count; i++) {
        struct ap_value head = { .type = AP_VALUE_TEXT, .as.text = ap_text_of(writing->columns[i].path) };
        ap_out_string(&writing->out, i ? "," : "");
        AP_TRY(ap_cell_write_csv(&writing->out, &head, reterr));
    }
    ap_out_string(&writing->out, "\r\n");
    return AP_OK;
}

static enum ap_status write_csv_row(void *self, const struct ap_value *row, struct ap_error *reterr)
{
    struct writing *writing = self;
    if (!writing->row_count++) {
        AP_TRY(learn_columns(self, row, reterr));
        AP_TRY(write_csv_head(writing, reterr));
    }
    for (size_t i = 0; i < writing->column_count; i++) {
        ap_out_string(&writing->out, i ? "," : "");
        AP_TRY(ap_cell_write_csv(&writing->out, ap_value_at(row, writing->columns[i].path), reterr));
    }
    ap_out_string(&writing->out, "\r\n");
    return AP_OK;
}

static enum ap_status write_csv(struct writing *writing, const struct ap_row_source *source,
                                const struct ap_picked_rows *rows, struct ap_error *reterr)
{
    if (rows->count)
        return ap_rows_see(source, rows, write_csv_row, writing, reterr);
    know_columns(writing, source->name);
    return writing->column_count ? write_csv_head(writing, reterr) : AP_OK;
}

static enum ap_status write_rows(struct writing *writing, const struct ap_row_source *source,
                                 const struct ap_picked_rows *rows, struct ap_error *reterr)
{
    switch (writing->query->format) {
    case AP_FORMAT_TEXT: return write_text(writing, source, rows, reterr);
    case AP_FORMAT_JSON: return write_json(writing, source, rows, reterr);
    case AP_FORMAT_CSV: return write_csv(writing, source, rows, reterr);
    }
    return AP_OK;
}

enum ap_status ap_table_write(const struct ap_row_source *source, const struct ap_table_query *query, enum ap_words words,
                              struct ap_sink sink, struct ap_error *reterr)
{
    struct ap_row_filter filter;
    struct ap_picked_rows rows;
    AP_TRY(ap_row_filter_parse(query->where, &filter, reterr));
    struct writing *writing;
    AP_TRY(AP_ALLOC_CLEARED(source->gate, writing, 1, reterr));
    writing->query = query;
    writing->words = words;
    ap_out_init(&writing->out, sink);
    enum ap_status status = ap_rows_pick(source, &filter, query->sort, query->limit, &rows, reterr);
    AP_AND_THEN(status, write_rows(writing, source, &rows, reterr));
    AP_AND_THEN(status, ap_out_finish(&writing->out, reterr));
    ap_picked_rows_release(&rows);
    AP_FREE(source->gate, writing, 1);
    return status;
}
