/* SPDX-License-Identifier: MIT
 * document_rows.c - which rows and columns a table has, and what stands in a cell. */
#include <assert.h>
#include <string.h>

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

bool ap_doc_row_is_shown(const struct doc_rows *rows, const struct ap_value *row)
{
    return !rows->nonzero || ap_value_integer(ap_value_member(row, rows->nonzero), 1) != 0;
}

/* A column that no row has is one that this kind of input does not know. */
static bool is_used(struct doc *doc, const struct doc_column *column, const struct ap_value *rows)
{
    if (ap_doc_is_row_key(column))
        return true;
    for (const struct ap_value *row = ap_value_first(rows); row; row = row->next)
        if (ap_doc_row_value(doc, column, row))
            return true;
    return false;
}

size_t ap_doc_measure_rows(struct doc *doc, const struct doc_rows *rows, bool used[DOC_MAX_COLUMNS])
{
    const struct ap_value *list = ap_doc_at(doc, rows->path);
    size_t shown = 0;
    assert(rows->column_count <= DOC_MAX_COLUMNS);
    for (const struct ap_value *row = ap_value_first(list); row; row = row->next)
        shown += ap_doc_row_is_shown(rows, row);
    for (size_t i = 0; shown && i < rows->column_count; i++)
        used[i] = is_used(doc, &rows->columns[i], list);
    doc->beside = NULL;
    return shown;
}
