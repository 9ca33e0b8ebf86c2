/* SPDX-License-Identifier: MIT
 * html_document.c - what the sections say: headings make sections that fold. A block for which there is no room is left
 * out whole. */
#include <string.h>

#include "html.h"

#include "poison.h"

#define MOST_ROWS 200    /* of a table */
#define BLOCK_BYTES 8000 /* of a block without its texts, which find room of their own */

static struct html *html_of(struct doc *doc)
{
    return (struct html *)doc;
}

/* ---- sections ---- */

void ap_html_section_end(struct html *html)
{
    if (html->was_cut)
        ap_html_string(html,
                       "<p class=\"cut\">The rest is left out to keep this file small: the Markdown report has all.</p>\n");
    if (html->section_is_open)
        ap_html_string(html, "</details></section>\n");
    html->section_is_open = html->was_cut = false;
}

static void begin_section(struct doc *doc, const char *title)
{
    struct html *html = html_of(doc);
    ap_html_section_end(html);
    ap_html_gather(html, "", title);
    ap_html_string(html, "<section class=\"s\" id=\"");
    ap_html_slug(html, ap_text_of(title));
    ap_html_format(html, "\"><details%s><summary><h2>%s</h2>", html->opens_sections ? " open=\"\"" : "", title);
    ap_html_section_figures(html, title);
    ap_html_string(html, "</summary>\n");
    html->section_is_open = true;
}

/* ---- lists ---- */

static void close_item(struct html *html)
{
    ap_html_format(html, "</li>\n</%s>\n", html->list_tag);
    html->item_count--;
}

/* Items that are indented more than the one before them begin a list within it. */
static void begin_item(struct html *html, int64_t depth)
{
    const int64_t *depths = html->depths;
    while (html->item_count > 1 && depths[html->item_count - 1] > depth && depths[html->item_count - 2] >= depth)
        close_item(html);
    if (html->item_count && (depths[html->item_count - 1] >= depth || html->item_count == HTML_MAX_DEPTH)) {
        ap_html_string(html, "</li>\n<li>");
    } else {
        ap_html_format(html, "%s<%s>\n<li>", html->item_count ? "\n" : "", html->list_tag);
        html->item_count++;
    }
    html->depths[html->item_count - 1] = depth;
}

/* ---- blocks ---- */

static void begin_cell(struct html *html)
{
    ap_html_string(html, ap_doc_is_text(html->grid_column++) ? "<td>" : "<td class=\"r\">");
}

static void begin(struct doc *doc, enum doc_block block, int64_t number)
{
    struct html *html = html_of(doc);
    if (block == DOC_LIST || block == DOC_NUMBERED_LIST) {
        html->list_tag = block == DOC_LIST ? "ul" : "ol";
        return;
    }
    if (block != DOC_CELL)
        html->skips = !ap_html_has_room(html, BLOCK_BYTES);
    html->was_cut |= html->skips;
    if (html->skips)
        return;
    switch (block) {
    case DOC_HEADING: ap_html_string(html, "<h3>"); break;
    case DOC_PARAGRAPH: ap_html_string(html, "<p>"); break;
    case DOC_ALERT: ap_html_string(html, "<blockquote>\n<p>"); break;
    case DOC_ITEM: begin_item(html, number); break;
    case DOC_NUMBERED_ITEM: begin_item(html, 0); break;
    case DOC_ROW:
        html->grid_column = html->grid;
        ap_html_string(html, "<tr>");
        break;
    case DOC_CELL: begin_cell(html); break;
    default: break;
    }
}

static void end(struct doc *doc, enum doc_block block)
{
    static const char *const tags[] = {
        [DOC_HEADING] = "</h3>\n", [DOC_PARAGRAPH] = "</p>\n", [DOC_ALERT] = "</p>\n</blockquote>\n",
        [DOC_ROW] = "</tr>\n",     [DOC_CELL] = "</td>",
    };
    struct html *html = html_of(doc);
    while ((block == DOC_LIST || block == DOC_NUMBERED_LIST) && html->item_count)
        close_item(html);
    if (!html->skips && block < AP_COUNT_OF(tags) && tags[block])
        ap_html_string(html, tags[block]);
    html->skips = html->skips && block == DOC_CELL;
}

static void write_code_block(struct doc *doc, const char *language, struct ap_text text)
{
    struct html *html = html_of(doc);
    ap_html_format(html, "<pre><code class=\"language-%s\">", language);
    for (size_t at = 0, end; at < text.bytes; at = end + 1) {
        for (end = at; end < text.bytes && text.data[end] != '\n';)
            end++;
        ap_html_plain(html, (struct ap_text){ text.data + at, end - at });
        ap_html_string(html, "\n");
    }
    ap_html_string(html, "</code></pre>\n");
}

/* ---- text ---- */

static void toggle(struct html *html, bool *is_open, const char *tag)
{
    ap_html_format(html, *is_open ? "</%s>" : "<%s>", tag);
    *is_open = !*is_open;
}

static size_t write_mark(struct html *html, struct ap_text at)
{
    if (at.data[0] == '`') {
        toggle(html, &html->is_code, "code");
        return 1;
    }
    if (at.bytes > 1 && at.data[1] == '*') {
        toggle(html, &html->is_strong, "strong");
        return 2;
    }
    toggle(html, &html->is_stressed, "em");
    return 1;
}

/* "[words](#place)" */
static size_t write_link(struct html *html, struct ap_text at)
{
    const char *words = at.data + 1, *place = strstr(at.data, "](") + 2, *end = strchr(place, ')');
    ap_html_format(html, "<a href=\"%.*s\">%.*s</a>", (int)(end - place), place, (int)(place - 2 - words), words);
    return (size_t)(end + 1 - at.data);
}

static void say(struct doc *doc, struct ap_text literal)
{
    struct html *html = html_of(doc);
    for (size_t at = 0, bytes; at < literal.bytes && !html->skips; at += bytes) {
        struct ap_text rest = { literal.data + at, literal.bytes - at };
        for (bytes = 0; bytes < rest.bytes && (html->is_code ? rest.data[bytes] != '`' : !strchr("`*[", rest.data[bytes]));)
            bytes++;
        if (bytes)
            ap_html_plain(html, (struct ap_text){ rest.data, bytes });
        else
            bytes = rest.data[0] == '[' ? write_link(html, rest) : write_mark(html, rest);
    }
}

static void write_name(struct doc *doc, struct ap_text name, bool is_cut)
{
    if (!html_of(doc)->skips)
        ap_html_code(html_of(doc), name, is_cut);
}

static void write_prose(struct doc *doc, struct ap_text text)
{
    if (!html_of(doc)->skips)
        ap_html_prose(html_of(doc), text);
}

static void write_figure(struct doc *doc, struct ap_text text)
{
    if (!html_of(doc)->skips)
        ap_html_plain(html_of(doc), text);
}

/* ---- tables that are written cell by cell ---- */

static void begin_grid(struct doc *doc, const struct doc_column *columns, size_t count)
{
    struct html *html = html_of(doc);
    html->grid = columns;
    ap_html_string(html, "<div class=\"t\" tabindex=\"0\"><table>\n<thead><tr>");
    for (size_t i = 0; i < count; i++)
        ap_html_format(html, "<th scope=\"col\"%s>%s</th>", ap_doc_is_text(&columns[i]) ? "" : " class=\"r\"",
                       columns[i].title);
    ap_html_string(html, "</tr>\n</thead>\n<tbody>\n");
}

static void end_grid(struct doc *doc)
{
    ap_html_string(html_of(doc), "</tbody></table></div>\n");
}

/* ---- a writer ---- */

static enum ap_status count_bytes(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    struct html *html = self;
    html->sunk_bytes += bytes;
    return html->sink.write(html->sink.self, data, bytes, reterr);
}

void ap_html_init(struct html *html, const struct ap_model *model, struct ap_sink sink)
{
    static const struct doc_backend backend = {
        .section = begin_section,
        .begin = begin,
        .end = end,
        .say = say,
        .name = write_name,
        .prose = write_prose,
        .figure = write_figure,
        .code = write_code_block,
        .grid = begin_grid,
        .grid_end = end_grid,
        .has_room = ap_html_has_room_for_row,
        .figures = ap_html_figures,
        .figure_row = ap_html_figure_row,
        .rows = ap_html_rows,
        .row = ap_html_row,
        .rows_end = ap_html_rows_end,
        .most_rows = MOST_ROWS,
    };
    *html = (struct html){ .doc = { .backend = &backend, .model = model, .top = &html->top },
                           .model = model,
                           .gate = model->arena.gate,
                           .sink = sink,
                           .limit_bytes = HTML_MAX_BYTES };
    ap_out_init(&html->out, (struct ap_sink){ count_bytes, html });
}
