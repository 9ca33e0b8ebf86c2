/* SPDX-License-Identifier: MIT */
#include "md_document.h"

#include <string.h>

#include "md_text.h"
#include "option_names.h"

#include "poison.h"

const struct ap_md_form *ap_md_form(size_t i)
{
    static const struct ap_md_form forms[] = {
#define AP_BRIEF_LEVEL(its_findings, its_percent, its_weight) \
    { .findings = (its_findings), .percent = (its_percent), .weight = (its_weight) },
#include "md_brief.def"
    };
    return i < AP_COUNT_OF(forms) ? &forms[i] : NULL;
}

static bool is_of(const char *wanted, struct ap_text heading)
{
    return !wanted || ap_text_starts_with(heading, wanted);
}

static struct ap_md_part part_of(const struct ap_md_form *form, const char *section, struct ap_text heading)
{
    static const struct {
        int weight;
        const char *section, *heading;
        size_t rows;
    } parts[] = {
#define AP_BRIEF(its_weight, its_section, its_heading, its_rows) \
    { .weight = (its_weight), .section = (its_section), .heading = (its_heading), .rows = (its_rows) },
#include "md_brief.def"
    };
    for (size_t i = 0; i < AP_COUNT_OF(parts); i++) {
        if (strcmp(parts[i].section, section) != 0 || !is_of(parts[i].heading, heading))
            continue;
        size_t rows = parts[i].rows * form->percent / 100;
        return (struct ap_md_part){ .is_kept = parts[i].weight >= form->weight,
                                    .rows = parts[i].rows && !rows ? 1 : rows,
                                    .items = parts[i].rows };
    }
    return (struct ap_md_part){ .is_kept = false };
}

/* ---- what the short form keeps ---- */

static struct md *md_of(struct doc *doc)
{
    return (struct md *)doc;
}

/* The one way to what is written: the title of a section stands before the first part of it that is kept. */
static struct ap_out *out_of(struct doc *doc)
{
    struct md *md = md_of(doc);
    struct md_section *section = md->section_count ? &md->sections[md->section_count - 1] : NULL;
    if (!md->form || !section)
        return &md->out;
    if (!md->part.is_kept || md->row_is_left_out)
        return &md->left_out;
    if (!section->is_shown)
        ap_out_format(&md->out, "\n## %s\n", section->title);
    section->is_shown = true;
    return &md->out;
}

/* A heading is told by its first words. */
static void begin_part(struct md *md, struct ap_text words)
{
    md->heading_begins = false;
    md->part = part_of(md->form, md->sections[md->section_count - 1].title, words);
    ap_out_string(out_of(&md->doc), "\n### ");
}

/* For text within a block. */
static struct ap_out *text_out(struct doc *doc)
{
    md_of(doc)->cell_is_empty = false;
    if (md_of(doc)->heading_begins)
        begin_part(md_of(doc), AP_TEXT(" "));
    return out_of(doc);
}

/* Texts of the report have no line break, so where lines are only counted they need not be made. */
static bool counts_only(struct doc *doc, const struct ap_out *out)
{
    return md_of(doc)->only_lines != NULL || out == &md_of(doc)->left_out;
}

static bool is_unread(struct doc *doc)
{
    return counts_only(doc, text_out(doc));
}

/* A row or an item is to come: may it be written? */
static void count_row(struct md *md, size_t most)
{
    md->rows++;
    md->most_rows = md->form && md->section_count ? most : 0;
    md->row_is_left_out = md->most_rows && md->rows > md->most_rows;
}

static void begin_rows_of(struct md *md)
{
    md->rows = md->most_rows = 0;
}

/* Behind a list or a table that was cut. */
static void tell_rows_left_out(struct md *md, const char *before)
{
    size_t count = md->most_rows && md->rows > md->most_rows ? md->rows - md->most_rows : 0;
    md->row_is_left_out = false;
    if (count)
        ap_out_format(out_of(&md->doc), "%s%zu more: `" AP_OPTION_FULL "`.\n", before, count);
}

/* What went there since the last section belongs to that. */
static void end_section(struct md *md)
{
    struct ap_error error;
    if (ap_out_finish(&md->left_out, &error) == AP_OK && md->section_count)
        md->sections[md->section_count - 1].lines += md->lines_left_out - md->lines_told;
    md->lines_told = md->lines_left_out;
}

/* A form that is too long already is not gone through to its end. */
static void count_lines(struct md *md)
{
    struct ap_error error;
    if (md->only_lines && ap_out_finish(&md->out, &error) == AP_OK)
        md->brief.is_too_long = *md->only_lines > AP_MD_BRIEF_LINES;
}

/* ---- blocks ---- */

static void write_section(struct doc *doc, const char *title)
{
    struct md *md = md_of(doc);
    if (!md->form) {
        ap_out_format(&md->out, "\n## %s\n", title);
        return;
    }
    end_section(md);
    count_lines(md);
    if (md->section_count < AP_MD_BRIEF_SECTIONS)
        md->section_count++;
    md->sections[md->section_count - 1] = (struct md_section){ .title = title };
    md->part = part_of(md->form, title, AP_TEXT(""));
}

static void begin(struct doc *doc, enum doc_block block, int64_t number)
{
    static const char *const marks[] = {
        [DOC_HEADING] = "\n### ",   [DOC_PARAGRAPH] = "\n", [DOC_ALERT] = "\n> ", [DOC_LIST] = "\n",
        [DOC_NUMBERED_LIST] = "\n", [DOC_ITEM] = "- ",      [DOC_ROW] = "|",      [DOC_CELL] = " ",
    };
    if (block == DOC_HEADING && md_of(doc)->form && md_of(doc)->section_count) {
        md_of(doc)->heading_begins = true;
        return;
    }
    if (block == DOC_LIST || block == DOC_NUMBERED_LIST)
        begin_rows_of(md_of(doc));
    if (block == DOC_ITEM || block == DOC_NUMBERED_ITEM || block == DOC_ROW)
        count_row(md_of(doc), block == DOC_ROW ? md_of(doc)->part.rows : md_of(doc)->part.items);
    if (block == DOC_NUMBERED_ITEM)
        ap_out_format(out_of(doc), "%d. ", (int)number);
    for (int64_t i = 0; block == DOC_ITEM && i < number; i++)
        ap_out_string(out_of(doc), "  ");
    if (block != DOC_NUMBERED_ITEM)
        ap_out_string(out_of(doc), marks[block]);
    md_of(doc)->cell_is_empty = block == DOC_CELL;
}

static void end(struct doc *doc, enum doc_block block)
{
    if (block == DOC_CELL)
        ap_out_string(out_of(doc), md_of(doc)->cell_is_empty ? "|" : " |");
    else if (block == DOC_LIST || block == DOC_NUMBERED_LIST)
        tell_rows_left_out(md_of(doc), "- ");
    else
        ap_out_char(block == DOC_HEADING ? text_out(doc) : out_of(doc), '\n');
    if (block == DOC_ITEM || block == DOC_NUMBERED_ITEM || block == DOC_ROW)
        md_of(doc)->row_is_left_out = false;
}

static void write_code_block(struct doc *doc, const char *language, struct ap_text text)
{
    struct ap_out *out = doc->brief ? &md_of(doc)->left_out : out_of(doc);
    ap_out_format(out, "\n```%s\n", language);
    ap_out_text(out, text); /* of our own writing, without names of the input */
    ap_out_string(out, "```\n");
}

/* ---- text ---- */

/* Literals of ours are written in the same marks. */
static void say(struct doc *doc, struct ap_text literal)
{
    if (md_of(doc)->heading_begins)
        begin_part(md_of(doc), literal);
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

static void write_head(struct doc *doc, const struct doc_column *columns, size_t count, const bool *used)
{
    struct ap_out *out = out_of(doc);
    if (counts_only(doc, out)) {
        ap_out_string(out, "\n\n\n");
        return;
    }
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
    begin_rows_of(md_of(doc));
    write_head(doc, columns, count, NULL);
}

static void end_grid(struct doc *doc)
{
    tell_rows_left_out(md_of(doc), "\n");
}

static void begin_figures(struct doc *doc)
{
    begin_rows_of(md_of(doc));
    ap_out_string(out_of(doc), "\n| Figure | Value | Path |\n| :--- | ---: | :--- |\n");
}

static void write_figure_row(struct doc *doc, const char *title, const char *path, const struct ap_value *value)
{
    count_row(md_of(doc), md_of(doc)->part.rows);
    if (counts_only(doc, out_of(doc))) {
        ap_out_char(out_of(doc), '\n');
    } else {
        ap_out_format(out_of(doc), "| %s | ", title);
        ap_doc_value(doc, value, ap_text_of(path), FORM_FULL);
        ap_out_format(out_of(doc), " | `%s` |\n", path);
    }
    md_of(doc)->row_is_left_out = false;
}

static void write_caption(struct doc *doc, const struct doc_rows *rows, size_t shown)
{
    size_t in_whole = rows->limit && rows->limit < shown ? rows->limit : shown, limit = in_whole;
    if (md_of(doc)->form && md_of(doc)->part.rows && md_of(doc)->part.rows < limit)
        limit = md_of(doc)->part.rows;
    ap_doc_begin(doc, DOC_PARAGRAPH);
    ap_out_format(out_of(doc), "Rows of `%s`%s", rows->path, rows->remark ? rows->remark : "");
    if (limit < shown) {
        ap_doc_say(doc, "; the first ");
        ap_doc_integer(doc, (int64_t)limit);
        ap_doc_say(doc, " of ");
        ap_doc_integer(doc, (int64_t)shown);
    }
    ap_doc_say(doc, limit < in_whole ? "; more: `" AP_OPTION_FULL "`." : ".");
    ap_doc_end(doc, DOC_PARAGRAPH);
}

static void begin_rows(struct doc *doc, const struct doc_rows *rows, const bool *used, size_t shown)
{
    begin_rows_of(md_of(doc));
    write_caption(doc, rows, shown);
    write_head(doc, rows->columns, rows->column_count, used);
}

static void write_row(struct doc *doc, const struct doc_rows *rows, const bool *used, const struct ap_value *row)
{
    ap_doc_begin(doc, DOC_ROW);
    for (size_t i = 0; i < rows->column_count && !counts_only(doc, out_of(doc)); i++) {
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

/* ---- the end ---- */

#define FEW_LINES 4 /* a section of less, that a sentence or two fill, is not missed */

static void name_sections(struct md *md, bool shown, const char *before)
{
    bool any = false;
    for (size_t i = 0; i < md->section_count; i++) {
        const struct md_section *section = &md->sections[i];
        if (section->is_shown != shown || !section->lines || (!shown && section->lines <= FEW_LINES))
            continue;
        ap_out_format(&md->out, "%s%s", any ? ", " : before, section->title);
        any = true;
    }
    ap_out_string(&md->out, any ? ".\n" : "");
}

static void tell_left_out(struct md *md)
{
    end_section(md);
    if (!md->lines_left_out)
        return;
    ap_out_format(&md->out,
                  "\n## The whole report\n\n"
                  "`" AP_OPTION_FULL "` adds %llu lines, `" AP_OPTION_OUTPUT " report.html` pictures, `" AP_OPTION_TABLE
                  " NAME` has all rows of a table, and `" AP_OPTION_OUTPUT " report.json` every figure.\n",
                  (unsigned long long)md->lines_left_out);
    name_sections(md, true, "\nMore in it of: ");
    name_sections(md, false, "\nOnly there: ");
}

enum ap_status ap_md_count_lines(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    size_t lines = 0;
    (void)reterr;
    for (size_t i = 0; i < bytes; i++)
        lines += data[i] == '\n';
    *(uint64_t *)self += lines;
    return AP_OK;
}

enum ap_status ap_md_finish(struct md *md, struct ap_error *reterr)
{
    if (md->form)
        tell_left_out(md);
    return ap_out_finish(&md->out, reterr);
}

void ap_md_init(struct md *md, const struct ap_model *model, const struct ap_md_form *form, struct ap_sink sink)
{
    static const struct doc_backend backend = {
        .section = write_section,
        .begin = begin,
        .end = end,
        .is_unread = is_unread,
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
    md->doc = (struct doc){ .backend = &backend, .model = model, .brief = form ? &md->brief : NULL, .top = &md->top };
    md->top = NULL;
    md->form = form;
    md->brief = (struct doc_brief){ .findings = form ? form->findings : 0 };
    md->lines_left_out = md->lines_told = md->section_count = md->rows = md->most_rows = 0;
    md->heading_begins = md->row_is_left_out = false;
    md->only_lines = NULL;
    ap_out_init(&md->out, sink);
    ap_out_init(&md->left_out, (struct ap_sink){ ap_md_count_lines, &md->lines_left_out });
}
