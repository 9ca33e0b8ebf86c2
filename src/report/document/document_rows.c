/* SPDX-License-Identifier: MIT
 * document_rows.c - which rows and columns a table has, what stands in a cell, and what a figure is called. */
#include <assert.h>
#include <string.h>

#include "catalogue.h"
#include "document.h"

#include "poison.h"

/* Looks a key of the input up, which may hold dots and NULs. Rows and the object they are looked up in have one order
 * as a rule, so the next one is tried first: an input with a million keys must not cost their square. */
static const struct ap_value *beside(struct doc *doc, const struct ap_value *object, struct ap_text key)
{
    const struct ap_value *next = doc->beside;
    if (!next || !ap_text_equal(next->key, key))
        for (next = ap_value_first(object); next && !ap_text_equal(next->key, key);)
            next = next->next;
    if (next)
        doc->beside = next->next;
    return next;
}

const struct ap_value *ap_doc_row_value(struct doc *doc, const struct doc_column *column, const struct ap_value *row)
{
    const struct ap_value *subject = column->from ? beside(doc, ap_doc_at(doc, column->from), row->key) : row;
    return column->key ? ap_value_at(subject, column->key) : subject;
}

bool ap_doc_is_row_key(const struct doc_column *column)
{
    return column->key && strcmp(column->key, "*") == 0;
}

bool ap_doc_is_text(const struct doc_column *column)
{
    return column->form == FORM_NAME || column->form == FORM_PROSE;
}

static bool is_shown(const struct doc_rows *rows, const struct ap_value *row)
{
    return !rows->nonzero || ap_integer_member(row, rows->nonzero, 1) != 0;
}

/* A column in which no row has a value is one that this input does not know. */
static bool is_used(struct doc *doc, const struct doc_rows *rows, const struct doc_column *column)
{
    if (ap_doc_is_row_key(column))
        return true;
    for (const struct ap_value *row = ap_value_first(ap_doc_at(doc, rows->path)); row; row = row->next) {
        const struct ap_value *value = ap_doc_row_value(doc, column, row);
        if (value && value->type != AP_VALUE_NULL)
            return true;
    }
    return false;
}

/* The rows that are shown, and the columns that any of them uses in @used. */
static size_t measure(struct doc *doc, const struct doc_rows *rows, bool used[DOC_MAX_COLUMNS])
{
    const struct ap_value *list = ap_doc_at(doc, rows->path);
    size_t shown = 0;
    assert(rows->column_count <= DOC_MAX_COLUMNS);
    for (const struct ap_value *row = ap_value_first(list); row; row = row->next)
        shown += is_shown(rows, row);
    for (size_t i = 0; shown && i < rows->column_count; i++)
        used[i] = i == 0 || is_used(doc, rows, &rows->columns[i]); /* the first says what the row is */
    doc->beside = NULL;
    return shown;
}

static void write_heading(struct doc *doc, const char *title)
{
    if (title)
        ap_doc_heading(doc, title);
}

bool ap_doc_rows(struct doc *doc, const char *title, const struct doc_rows *rows)
{
    const struct doc_backend *to = doc->backend;
    bool used[DOC_MAX_COLUMNS];
    size_t shown = measure(doc, rows, used), written = 0;
    size_t limit = to->most_rows && (!rows->limit || to->most_rows < rows->limit) ? to->most_rows : rows->limit;
    if (!shown)
        return false;
    write_heading(doc, title);
    to->rows(doc, rows, used, shown);
    for (const struct ap_value *row = ap_value_first(ap_doc_at(doc, rows->path)); row; row = row->next) {
        if (!is_shown(rows, row))
            continue;
        if ((limit && written == limit) || (to->has_room && !to->has_room(doc)))
            break;
        to->row(doc, rows, used, row);
        written++;
    }
    if (to->rows_end)
        to->rows_end(doc, rows, written, shown);
    return true;
}

static const char *title_of(const struct doc_figure *figure)
{
    const struct ap_figure_info *info = figure->title ? NULL : ap_catalogue_find(ap_text_of(figure->path));
    return figure->title ? figure->title : info && info->title ? ap_figure_text(info->title) : figure->path;
}

/* Of "sync.to_host.idle_us": is "sync.to_host.count" 0? What stands right below the topic ("sync.count") is always told. */
static bool is_of_nothing(struct doc *doc, const char *path)
{
    const char *first = strchr(path, '.'), *last = strrchr(path, '.');
    const struct ap_value *of =
        first == last ? NULL : ap_value_below(&doc->model->root, (struct ap_text){ path, (size_t)(last - path) });
    return ap_integer_member(of, "count", -1) == 0;
}

bool ap_doc_figures(struct doc *doc, const char *title, const struct doc_figure *figures, size_t count, bool skips_nothing)
{
    const struct doc_backend *to = doc->backend;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        const struct ap_value *value = ap_doc_at(doc, figures[i].path);
        if (!value || (skips_nothing && is_of_nothing(doc, figures[i].path)) || (to->has_room && !to->has_room(doc)))
            continue;
        if (!any) {
            write_heading(doc, title);
            to->figures(doc);
        }
        any = true;
        to->figure_row(doc, title_of(&figures[i]), figures[i].path, value);
    }
    if (any)
        to->grid_end(doc);
    return any;
}
