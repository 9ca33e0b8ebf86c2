/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <string.h>

#include "html.h"

#include "poison.h"

void ap_md_string(struct md *md, const char *literal)
{
    ap_out_string(&md->out, literal);
}

const struct ap_value *ap_md_at(const struct md *md, const char *path)
{
    return ap_value_at(&md->model->root, path);
}

bool ap_md_known(const struct md *md, const char *path)
{
    const struct ap_value *value = ap_md_at(md, path);
    return value && value->type != AP_VALUE_NULL;
}

bool ap_md_false(const struct md *md, const char *path)
{
    const struct ap_value *value = ap_md_at(md, path);
    return value && value->type == AP_VALUE_BOOL && !value->as.integer;
}

/* Looks a key of the input up, which may hold dots and NULs. Rows and the object they are looked up in have one order
 * as a rule, so the next one is tried first: an input with a million keys must not cost their square. */
static const struct ap_value *beside(struct md *md, const struct ap_value *object, struct ap_text key)
{
    const struct ap_value *next = md->beside;
    if (!next || !ap_text_equal(next->key, key))
        for (next = ap_value_first(object); next && !ap_text_equal(next->key, key);)
            next = next->next;
    if (next)
        md->beside = next->next;
    return next;
}

const struct ap_value *ap_md_cell(struct md *md, const struct md_column *column, const struct ap_value *row)
{
    const struct ap_value *subject = column->from ? beside(md, ap_md_at(md, column->from), row->key) : row;
    return column->key ? ap_value_at(subject, column->key) : subject;
}

bool ap_md_is_row_key(const struct md_column *column)
{
    return column->key && strcmp(column->key, "*") == 0;
}

bool ap_md_is_text(const struct md_column *column)
{
    return column->form == MD_NAME || column->form == MD_PROSE;
}

/* A column that no row has is one that this kind of input does not know. */
bool ap_md_column_is_used(struct md *md, const struct md_column *column, const struct ap_value *rows)
{
    if (ap_md_is_row_key(column))
        return true;
    for (const struct ap_value *row = ap_value_first(rows); row; row = row->next)
        if (ap_md_cell(md, column, row))
            return true;
    return false;
}

bool ap_md_row_is_shown(const struct md_table *table, const struct ap_value *row)
{
    return !table->nonzero || ap_value_integer(ap_value_member(row, table->nonzero), 1) != 0;
}

size_t ap_md_count_shown(const struct md_table *table, const struct ap_value *rows)
{
    size_t shown = 0;
    for (const struct ap_value *row = ap_value_first(rows); row; row = row->next)
        shown += ap_md_row_is_shown(table, row);
    return shown;
}

static void write_head(struct md *md, const struct md_table *table, const bool *used)
{
    ap_md_string(md, "\n|");
    for (size_t i = 0; i < table->column_count; i++)
        if (used[i]) {
            ap_out_char(&md->out, ' ');
            ap_md_string(md, table->columns[i].title);
            ap_md_string(md, " |");
        }
    ap_md_string(md, "\n|");
    for (size_t i = 0; i < table->column_count; i++)
        if (used[i])
            ap_md_string(md, ap_md_is_text(&table->columns[i]) ? " :--- |" : " ---: |");
    ap_out_char(&md->out, '\n');
}

static void write_row(struct md *md, const struct md_table *table, const bool *used, const struct ap_value *row)
{
    ap_out_char(&md->out, '|');
    for (size_t i = 0; i < table->column_count; i++) {
        const struct md_column *column = &table->columns[i];
        if (!used[i])
            continue;
        ap_out_char(&md->out, ' ');
        const char *unit = column->unit ? column->unit : column->key ? column->key : "";
        if (ap_md_is_row_key(column))
            ap_md_name(md, row->key);
        else
            ap_md_value(md, ap_md_cell(md, column, row), ap_text_of(unit), column->form);
        ap_md_string(md, " |");
    }
    ap_out_char(&md->out, '\n');
}

static void write_title(struct md *md, const char *title)
{
    if (!title)
        return;
    ap_md_string(md, "\n### ");
    ap_md_string(md, title);
    ap_out_char(&md->out, '\n');
}

static void write_caption(struct md *md, const struct md_table *table, size_t shown)
{
    ap_md_string(md, "\nRows of `");
    ap_md_string(md, table->path);
    ap_md_string(md, "`");
    ap_md_string(md, table->remark ? table->remark : "");
    if (table->limit && shown > table->limit) {
        ap_md_string(md, "; the first ");
        ap_md_integer(md, (int64_t)table->limit);
        ap_md_string(md, " of ");
        ap_md_integer(md, (int64_t)shown);
    }
    ap_md_string(md, ".\n");
}

static void write_rows(struct md *md, const struct md_table *table, const bool *used, const struct ap_value *rows)
{
    size_t written = 0;
    for (const struct ap_value *row = ap_value_first(rows); row; row = row->next) {
        if (!ap_md_row_is_shown(table, row))
            continue;
        if (table->limit && written++ == table->limit)
            return;
        write_row(md, table, used, row);
    }
}

bool ap_md_table(struct md *md, const char *title, const struct md_table *table)
{
    if (md->html)
        return ap_html_table(md->html, title, table);
    const struct ap_value *rows = ap_md_at(md, table->path);
    size_t shown = ap_md_count_shown(table, rows);
    assert(table->column_count <= MD_MAX_COLUMNS);
    if (!shown)
        return false;
    bool used[MD_MAX_COLUMNS];
    for (size_t i = 0; i < table->column_count; i++)
        used[i] = ap_md_column_is_used(md, &table->columns[i], rows);
    md->beside = NULL;
    write_title(md, title);
    write_caption(md, table, shown);
    write_head(md, table, used);
    write_rows(md, table, used, rows);
    return true;
}

bool ap_md_figures(struct md *md, const char *title, const struct md_figure *figures, size_t count)
{
    if (md->html)
        return ap_html_figures(md->html, title, figures, count);
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        const struct ap_value *value = ap_md_at(md, figures[i].path);
        if (!value)
            continue;
        if (!any) {
            write_title(md, title);
            ap_md_string(md, "\n| Figure | Value | Metric |\n| :--- | ---: | :--- |\n");
        }
        any = true;
        ap_md_string(md, "| ");
        ap_md_string(md, figures[i].title);
        ap_md_string(md, " | ");
        ap_md_value(md, value, ap_text_of(figures[i].path), MD_FULL);
        ap_md_string(md, " | `");
        ap_md_string(md, figures[i].path);
        ap_md_string(md, "` |\n");
    }
    return any;
}
