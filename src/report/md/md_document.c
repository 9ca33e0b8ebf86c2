/* SPDX-License-Identifier: MIT */
#include "md_document.h"

#include "md_text.h"

#include "poison.h"

static struct ap_out *out_of(struct doc *doc)
{
    return &((struct md *)doc)->out;
}

/* For text within a block. */
static struct ap_out *text_out(struct doc *doc)
{
    ((struct md *)doc)->cell_is_empty = false;
    return out_of(doc);
}

/* ---- blocks ---- */

static void write_section(struct doc *doc, const char *title)
{
    ap_out_format(out_of(doc), "\n## %s\n", title);
}

static void begin(struct doc *doc, enum doc_block block, int64_t number)
{
    static const char *const marks[] = {
        [DOC_HEADING] = "\n### ",   [DOC_PARAGRAPH] = "\n", [DOC_ALERT] = "\n> ", [DOC_LIST] = "\n",
        [DOC_NUMBERED_LIST] = "\n", [DOC_ITEM] = "- ",      [DOC_ROW] = "|",      [DOC_CELL] = " ",
    };
    if (block == DOC_NUMBERED_ITEM)
        ap_out_format(out_of(doc), "%d. ", (int)number);
    for (int64_t i = 0; block == DOC_ITEM && i < number; i++)
        ap_out_string(out_of(doc), "  ");
    if (block != DOC_NUMBERED_ITEM)
        ap_out_string(out_of(doc), marks[block]);
    ((struct md *)doc)->cell_is_empty = block == DOC_CELL;
}

static void end(struct doc *doc, enum doc_block block)
{
    if (block == DOC_CELL)
        ap_out_string(out_of(doc), ((struct md *)doc)->cell_is_empty ? "|" : " |");
    else if (block != DOC_LIST && block != DOC_NUMBERED_LIST)
        ap_out_char(out_of(doc), '\n');
}

static void write_code_block(struct doc *doc, const char *language, struct ap_text text)
{
    ap_out_format(out_of(doc), "\n```%s\n", language);
    ap_out_text(out_of(doc), text); /* of our own writing, without names of the input */
    ap_out_string(out_of(doc), "```\n");
}

/* ---- text ---- */

/* Literals of ours are written in the same marks. */
static void say(struct doc *doc, struct ap_text literal)
{
    if (literal.bytes)
        ap_out_text(text_out(doc), literal);
}

static void write_name(struct doc *doc, struct ap_text name, bool is_cut)
{
    ap_md_name(text_out(doc), name, is_cut);
}

static void write_prose(struct doc *doc, struct ap_text text)
{
    ap_md_prose(text_out(doc), text);
}

static void write_figure(struct doc *doc, struct ap_text text)
{
    struct ap_out *out = text_out(doc);
    for (size_t i = 0; i < text.bytes; i++)
        if (text.data[i] == '<' || text.data[i] == '>')
            ap_out_string(out, text.data[i] == '<' ? "&lt;" : "&gt;");
        else
            ap_out_char(out, text.data[i]);
}

/* ---- tables ---- */

static void write_head(struct ap_out *out, const struct doc_column *columns, size_t count, const bool *used)
{
    ap_out_string(out, "\n|");
    for (size_t i = 0; i < count; i++)
        if (!used || used[i])
            ap_out_format(out, " %s |", columns[i].title);
    ap_out_string(out, "\n|");
    for (size_t i = 0; i < count; i++)
        if (!used || used[i])
            ap_out_string(out, ap_doc_is_text(&columns[i]) ? " :--- |" : " ---: |");
    ap_out_char(out, '\n');
}

static void begin_grid(struct doc *doc, const struct doc_column *columns, size_t count)
{
    write_head(out_of(doc), columns, count, NULL);
}

static void end_grid(struct doc *doc)
{
    (void)doc;
}

static void begin_figures(struct doc *doc)
{
    ap_out_string(out_of(doc), "\n| Figure | Value | Path |\n| :--- | ---: | :--- |\n");
}

static void write_figure_row(struct doc *doc, const char *title, const char *path, const struct ap_value *value)
{
    ap_out_format(out_of(doc), "| %s | ", title);
    ap_doc_value(doc, value, ap_text_of(path), FORM_FULL);
    ap_out_format(out_of(doc), " | `%s` |\n", path);
}

static void write_caption(struct doc *doc, const struct doc_rows *rows, size_t shown)
{
    ap_doc_begin(doc, DOC_PARAGRAPH);
    ap_out_format(out_of(doc), "Rows of `%s`%s", rows->path, rows->remark ? rows->remark : "");
    if (rows->limit && shown > rows->limit) {
        ap_doc_say(doc, "; the first ");
        ap_doc_integer(doc, (int64_t)rows->limit);
        ap_doc_say(doc, " of ");
        ap_doc_integer(doc, (int64_t)shown);
    }
    ap_doc_say(doc, ".");
    ap_doc_end(doc, DOC_PARAGRAPH);
}

static void begin_rows(struct doc *doc, const struct doc_rows *rows, const bool *used, size_t shown)
{
    write_caption(doc, rows, shown);
    write_head(out_of(doc), rows->columns, rows->column_count, used);
}

static void write_row(struct doc *doc, const struct doc_rows *rows, const bool *used, const struct ap_value *row)
{
    ap_doc_begin(doc, DOC_ROW);
    for (size_t i = 0; i < rows->column_count; i++) {
        const struct doc_column *column = &rows->columns[i];
        if (!used[i])
            continue;
        const char *name = column->key ? column->key : column->from ? column->from : rows->path;
        ap_doc_begin(doc, DOC_CELL);
        if (ap_doc_is_row_key(column))
            ap_doc_text(doc, DOC_NAME, row->key);
        else
            ap_doc_value(doc, ap_doc_row_value(doc, column, row), ap_text_of(name), column->form);
        ap_doc_end(doc, DOC_CELL);
    }
    ap_doc_end(doc, DOC_ROW);
}

void ap_md_init(struct md *md, const struct ap_model *model, struct ap_sink sink)
{
    static const struct doc_backend backend = {
        .section = write_section,
        .begin = begin,
        .end = end,
        .say = say,
        .name = write_name,
        .prose = write_prose,
        .figure = write_figure,
        .code = write_code_block,
        .grid = begin_grid,
        .grid_end = end_grid,
        .figures = begin_figures,
        .figure_row = write_figure_row,
        .rows = begin_rows,
        .row = write_row,
    };
    md->doc = (struct doc){ .backend = &backend, .model = model };
    ap_out_init(&md->out, sink);
}
