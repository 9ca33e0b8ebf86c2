/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <string.h>

#include "json_text.h"
#include "kernel_name.h"
#include "known_table.h"
#include "report.h"
#include "row_pick.h"
#include "table_cell.h"
#include "visible_text.h"
#include "words.h"

#include "poison.h"

#define MAX_COLUMNS 64
#define MAX_LEVELS 3
#define MAX_CELL 60    /* columns that one cell of text takes at most */
#define NARROW 140     /* a terminal of fewer columns */
#define NARROW_CELL 32 /* and what a cell takes there */

/* Keys may come from an input: any bytes, a dot or NUL among them, so a value is found by its keys and not by a path. */
struct column {
    struct ap_text keys[MAX_LEVELS];
    size_t level_count;  /* 0 = found by the path that it is called by */
    struct ap_text path; /* keys with dots between, and a NUL behind */
    size_t head_columns; /* of the path as it is shown */
    size_t width;        /* 0 = empty in all rows */
    bool number, shown, asked;
};

struct writing {
    struct ap_out out;
    struct ap_arena arena;
    const struct ap_table_query *query;
    struct column columns[MAX_COLUMNS];
    size_t column_count, row_count;
    size_t columns_left_out;
    enum ap_words words;
};

/* ---- columns ---- */

static const struct ap_value *cell_of(const struct ap_value *row, const struct column *column)
{
    const struct ap_value *value = row;
    if (!column->level_count)
        return ap_value_below(row, column->path);
    for (size_t i = 0; i < column->level_count; i++)
        value = ap_value_member_of(value, column->keys[i]);
    return value;
}

/* The row goes before the column does. */
static bool keep_keys(struct writing *writing, struct column *column)
{
    size_t bytes = column->level_count, at = 0;
    for (size_t i = 0; i < column->level_count; i++)
        bytes += column->keys[i].bytes;
    char *path = ap_arena_alloc(&writing->arena, bytes);
    for (size_t i = 0; path && i < column->level_count; i++) {
        struct ap_text key = column->keys[i];
        memcpy(path + at, key.data, key.bytes);
        column->keys[i].data = path + at;
        at += key.bytes;
        path[at++] = i + 1 < column->level_count ? '.' : '\0';
    }
    column->path = (struct ap_text){ path, bytes - 1 };
    column->head_columns = path ? ap_visible_columns(column->path) : 0;
    column->head_columns = column->head_columns > MAX_CELL ? MAX_CELL : column->head_columns;
    return path;
}

static enum ap_status add_column(struct writing *writing, const struct column *above, struct ap_text key,
                                 struct ap_error *reterr)
{
    struct column *column = &writing->columns[writing->column_count];
    *column = *above;
    column->keys[column->level_count++] = key;
    if (!keep_keys(writing, column))
        return ap_fail_memory(writing->arena.gate, reterr);
    writing->column_count++;
    return AP_OK;
}

/* Objects in a row are columns of their members; three levels are more than a report has. */
static enum ap_status add_columns(struct writing *writing, const struct ap_value *object, const struct column *above,
                                  struct ap_error *reterr)
{
    for (const struct ap_value *member = ap_value_first(object); member; member = member->next) {
        if (writing->column_count == MAX_COLUMNS)
            return AP_OK;
        if (member->type != AP_VALUE_OBJECT || above->level_count + 1 == MAX_LEVELS || !ap_value_first(member)) {
            AP_TRY(add_column(writing, above, member->key, reterr));
            continue;
        }
        struct column inner = *above;
        inner.keys[inner.level_count++] = member->key;
        AP_TRY(add_columns(writing, member, &inner, reterr));
    }
    return AP_OK;
}

/* A column by the path that somebody wrote. */
static enum ap_status add_named(struct writing *writing, struct ap_text path, bool asked, struct ap_error *reterr)
{
    struct column *column = &writing->columns[writing->column_count];
    *column = (struct column){ .keys = { path }, .level_count = 1, .asked = asked };
    if (!keep_keys(writing, column))
        return ap_fail_memory(writing->arena.gate, reterr);
    column->level_count = 0;
    writing->column_count++;
    return AP_OK;
}

/* What the rows would have, where there are none. */
static enum ap_status know_columns(struct writing *writing, const char *table, struct ap_error *reterr)
{
    const struct ap_known_table *known = writing->query->columns ? NULL : ap_known_table_find(table);
    const char *rest = known ? known->columns : writing->query->columns;
    struct ap_text name;
    while (ap_known_column_next(&rest, known ? " " : ",", &name) && writing->column_count < MAX_COLUMNS) {
        bool is_open = name.bytes >= 2 && memcmp(name.data + name.bytes - 2, ".*", 2) == 0;
        name.bytes -= is_open ? 2 : 0;
        if (!ap_text_is(name, "*"))
            AP_TRY(add_named(writing, name, false, reterr));
    }
    return AP_OK;
}

/* A path is first what a column is called, dots and all. */
static enum ap_status choose_one(struct writing *writing, const struct writing *all, const struct ap_value *row,
                                 struct ap_text path, struct ap_error *reterr)
{
    for (size_t i = 0; i < all->column_count; i++) {
        if (!ap_text_equal(all->columns[i].path, path))
            continue;
        writing->columns[writing->column_count] = all->columns[i];
        writing->columns[writing->column_count++].asked = true;
        return AP_OK;
    }
    AP_TRY(add_named(writing, path, true, reterr));
    const struct column *column = &writing->columns[writing->column_count - 1];
    if (path.bytes && (cell_of(row, column) || ap_known_table_has(writing->query->name, path)))
        return AP_OK;
    return ap_advise(reterr, AP_ADVICE_ALL_COLUMNS,
                     ap_refuse(reterr, AP_SETTING_COLUMNS, "the table has no column '%.60s'", column->path.data));
}

/* Those that are asked for. */
static enum ap_status choose_asked(struct writing *writing, const struct ap_value *row, struct ap_error *reterr)
{
    static const struct column top = { .level_count = 0 };
    struct writing *all;
    AP_TRY(AP_ALLOC_CLEARED(writing->arena.gate, all, 1, reterr));
    ap_arena_init(&all->arena, writing->arena.gate);
    enum ap_status status = add_columns(all, row, &top, reterr);
    for (const char *at = writing->query->columns; at && status == AP_OK;) {
        size_t bytes = strcspn(at, ",");
        if (writing->column_count == MAX_COLUMNS)
            status = ap_refuse(reterr, AP_SETTING_COLUMNS, "at most %d names of columns were expected", MAX_COLUMNS);
        AP_AND_THEN(status, choose_one(writing, all, row, (struct ap_text){ at, bytes }, reterr));
        at = at[bytes] ? at + bytes + 1 : NULL;
    }
    ap_arena_adopt(&writing->arena, &all->arena);
    AP_FREE(writing->arena.gate, all, 1);
    return status;
}

static enum ap_status learn_columns(void *self, const struct ap_value *row, struct ap_error *reterr)
{
    struct writing *writing = self;
    if (!writing->column_count && writing->query->columns)
        return choose_asked(writing, row, reterr);
    static const struct column top = { .level_count = 0 };
    return writing->column_count ? AP_OK : add_columns(writing, row, &top, reterr);
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
        const struct ap_value *value = cell_of(row, column);
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
    static const char *const first[] = {
        "row_id", "name", "call", "title", "severity", "saves_us", "saves_bytes", "dur_us"
    };
    const char *sort = writing->query->sort;
    size_t bytes = column->path.bytes;
    if (sort && strncmp(sort, column->path.data, bytes) == 0 && (sort[bytes] == '\0' || sort[bytes] == ':'))
        return true;
    for (size_t i = 0; i < AP_COUNT_OF(first); i++)
        if (ap_text_is(column->path, first[i]))
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
            size_t head = column->head_columns;
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
        size_t blank = column->width - column->head_columns;
        ap_out_string(&writing->out, first ? "" : "  ");
        pad(&writing->out, column->number ? blank : 0);
        (void)ap_out_visible(&writing->out, column->path, column->head_columns);
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
        const struct ap_value *value = cell_of(row, column);
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
    if (!source->count) {
        ap_out_string(&writing->out, "0 rows: none were recorded.\n");
        return AP_OK;
    }
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
        ap_json_write_text(&writing->out, writing->columns[i].path);
        ap_out_string(&writing->out, ": ");
        const struct ap_value *value = cell_of(row, &writing->columns[i]);
        if (value)
            AP_TRY(ap_json_write_value(&writing->out, value, true, reterr));
        else
            ap_out_string(&writing->out, "null");
    }
    ap_out_char(&writing->out, '}');
    return AP_OK;
}

/* ---- the same, short ---- */

#define SHORT_NAME_BYTES 80 /* a longer name is cut: row_id tells which one it is */

static void write_short_name(struct ap_out *out, struct ap_text name)
{
    char cut[SHORT_NAME_BYTES + 4];
    struct ap_text text = ap_kernel_short_name(name);
    size_t bytes = ap_text_cut(text, SHORT_NAME_BYTES).bytes;
    if (bytes == text.bytes) {
        ap_json_write_text(out, text);
        return;
    }
    memcpy(cut, text.data, bytes);
    memcpy(cut + bytes, "...", 3);
    ap_json_write_text(out, (struct ap_text){ cut, bytes + 3 });
}

static enum ap_status write_compact_row(void *self, const struct ap_value *row, struct ap_error *reterr)
{
    struct writing *writing = self;
    const char *before = "[";
    ap_out_string(&writing->out, writing->row_count++ ? ",\n" : "\n");
    for (size_t i = 0; i < writing->column_count; i++) {
        const struct ap_value *value = cell_of(row, &writing->columns[i]);
        if (!writing->columns[i].width)
            continue;
        ap_out_string(&writing->out, before);
        before = ", ";
        if (value && value->type == AP_VALUE_TEXT)
            write_short_name(&writing->out, value->as.text);
        else if (value)
            AP_TRY(ap_json_write_value(&writing->out, value, true, reterr));
        else
            ap_out_string(&writing->out, "null");
    }
    ap_out_string(&writing->out, *before == '[' ? "[]" : "]");
    return AP_OK;
}

static enum ap_status write_compact(struct writing *writing, const struct ap_row_source *source,
                                    const struct ap_picked_rows *rows, struct ap_error *reterr)
{
    const char *before = "";
    AP_TRY(ap_rows_see(source, rows, measure, writing, reterr));
    ap_out_string(&writing->out, "{\"schema_version\": \"" AP_ANSWER_VERSION "\", \"table\": ");
    ap_json_write_text(&writing->out, ap_text_of(source->name));
    ap_out_format(&writing->out, ", \"rows_total\": %zu, \"rows_matched\": %llu, \"rows_shown\": %zu, \"columns\": [",
                  source->count, (unsigned long long)rows->matched, rows->count);
    for (size_t i = 0; i < writing->column_count; i++) {
        if (!writing->columns[i].width)
            continue;
        ap_out_string(&writing->out, before);
        ap_json_write_text(&writing->out, writing->columns[i].path);
        before = ", ";
    }
    ap_out_string(&writing->out, "],\n\"rows\": [");
    AP_TRY(ap_rows_see(source, rows, write_compact_row, writing, reterr));
    ap_out_string(&writing->out, "]}\n");
    return AP_OK;
}

/* ---- JSON: its head ---- */

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
        struct ap_value head = { .type = AP_VALUE_TEXT, .as.text = writing->columns[i].path };
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
        AP_TRY(ap_cell_write_csv(&writing->out, cell_of(row, &writing->columns[i]), reterr));
    }
    ap_out_string(&writing->out, "\r\n");
    return AP_OK;
}

static enum ap_status write_csv(struct writing *writing, const struct ap_row_source *source,
                                const struct ap_picked_rows *rows, struct ap_error *reterr)
{
    if (rows->count)
        return ap_rows_see(source, rows, write_csv_row, writing, reterr);
    AP_TRY(know_columns(writing, source->name, reterr));
    return writing->column_count ? write_csv_head(writing, reterr) : AP_OK;
}

static enum ap_status write_rows(struct writing *writing, const struct ap_row_source *source,
                                 const struct ap_picked_rows *rows, struct ap_error *reterr)
{
    switch (writing->query->format) {
    case AP_FORMAT_TEXT: return write_text(writing, source, rows, reterr);
    case AP_FORMAT_JSON: return write_json(writing, source, rows, reterr);
    case AP_FORMAT_CSV: return write_csv(writing, source, rows, reterr);
    case AP_FORMAT_COMPACT: return write_compact(writing, source, rows, reterr);
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
    ap_arena_init(&writing->arena, source->gate);
    enum ap_status status = ap_rows_pick(source, &filter, query->sort, query->limit, &rows, reterr);
    AP_AND_THEN(status, write_rows(writing, source, &rows, reterr));
    AP_AND_THEN(status, ap_out_finish(&writing->out, reterr));
    ap_picked_rows_release(&rows);
    ap_arena_release(&writing->arena);
    AP_FREE(source->gate, writing, 1);
    return status;
}
