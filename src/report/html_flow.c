/* SPDX-License-Identifier: MIT
 * Markdown as the sections write it, into HTML: libcmark does the text, with raw HTML off; headings make sections that
 * fold; the few tables that are not rows of the model are taken apart here, which is safe because no text of the input
 * brings a bar or begins a line (see md_text.c). */
#include <string.h>

#include <cmark.h>

#include "html.h"

#include "poison.h"

enum ap_status ap_html_take_prose(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    (void)reterr;
    struct html *html = self;
    size_t room = HTML_PROSE_BYTES - html->prose_bytes;
    html->prose_was_cut |= bytes > room;
    bytes = bytes < room ? bytes : room;
    memcpy(html->prose + html->prose_bytes, data, bytes);
    html->prose_bytes += bytes;
    return AP_OK;
}

/* What the sections wrote: it stays valid until they go on. */
static struct ap_text take(struct html *html)
{
    (void)!ap_out_finish(&html->md.out, NULL);
    struct ap_text text = { html->prose, html->prose_bytes };
    while (html->prose_was_cut && text.bytes && text.data[text.bytes - 1] != '\n')
        text.bytes--; /* a code span without its end would not be one */
    html->prose_bytes = 0;
    return text;
}

static bool begins(struct ap_text text, const char *with)
{
    return ap_text_starts_with(text, with);
}

static void render(struct html *html, struct ap_text markdown)
{
    if (!markdown.bytes || !ap_html_has_room(html, 6 * (uint64_t)markdown.bytes))
        return;
    char *text = cmark_markdown_to_html(markdown.data, markdown.bytes, CMARK_OPT_SAFE | CMARK_OPT_VALIDATE_UTF8);
    if (!text)
        return;
    ap_out_string(&html->out, text);
    ap_mem_free_foreign(text);
}

/* A letter before it keeps the text from being a list, a heading or a rule; it and the paragraph around are left out. */
static void render_in_line(struct html *html, struct ap_text markdown)
{
    static const char before[] = "<p>x", after[] = "</p>\n";
    if (!markdown.bytes || markdown.bytes > HTML_PROSE_BYTES || !ap_html_has_room(html, 6 * (uint64_t)markdown.bytes))
        return;
    html->line[0] = 'x';
    memcpy(html->line + 1, markdown.data, markdown.bytes);
    char *text = cmark_markdown_to_html(html->line, markdown.bytes + 1, CMARK_OPT_SAFE | CMARK_OPT_VALIDATE_UTF8);
    if (!text)
        return;
    struct ap_text inner = ap_text_of(text);
    size_t tags = sizeof(before) - 1 + sizeof(after) - 1;
    if (begins(inner, before) && inner.bytes > tags)
        inner = (struct ap_text){ inner.data + sizeof(before) - 1, inner.bytes - tags };
    ap_out_text(&html->out, inner);
    ap_mem_free_foreign(text);
}

/* ---- tables ---- */

static struct ap_text trim(struct ap_text text)
{
    while (text.bytes && text.data[0] == ' ')
        text = (struct ap_text){ text.data + 1, text.bytes - 1 };
    while (text.bytes && text.data[text.bytes - 1] == ' ')
        text.bytes--;
    return text;
}

static struct ap_text line_of(struct ap_text text)
{
    const char *end = text.bytes ? memchr(text.data, '\n', text.bytes) : NULL;
    return (struct ap_text){ text.data, end ? (size_t)(end - text.data) + 1 : text.bytes };
}

static struct ap_text behind(struct ap_text text, size_t bytes)
{
    return (struct ap_text){ text.data + bytes, text.bytes - bytes };
}

#define MOST_CELLS 24

/* "| a | b |\n" */
static size_t split_row(struct ap_text line, struct ap_text *cells)
{
    size_t count = 0;
    line = trim((struct ap_text){ line.data, line.bytes - (line.data[line.bytes - 1] == '\n') });
    line = behind(line, line.bytes > 0);
    while (line.bytes && count < MOST_CELLS) {
        const char *bar = memchr(line.data, '|', line.bytes);
        size_t bytes = bar ? (size_t)(bar - line.data) : line.bytes;
        cells[count++] = trim((struct ap_text){ line.data, bytes });
        line = behind(line, bar ? bytes + 1 : bytes);
    }
    return count;
}

static void write_row(struct html *html, struct ap_text line, const bool *right, bool head)
{
    struct ap_text cells[MOST_CELLS];
    size_t count = split_row(line, cells);
    ap_html_string(html, "<tr>");
    for (size_t i = 0; i < count; i++) {
        ap_html_string(html, head ? "<th scope=\"col\"" : "<td");
        ap_html_string(html, right[i] ? " class=\"r\">" : ">");
        render_in_line(html, cells[i]);
        ap_html_string(html, head ? "</th>" : "</td>");
    }
    ap_html_string(html, "</tr>\n");
}

static void write_table(struct html *html, struct ap_text table)
{
    struct ap_text head = line_of(table), rule = line_of(behind(table, head.bytes)), cells[MOST_CELLS];
    struct ap_text rows = behind(table, head.bytes + rule.bytes);
    bool right[MOST_CELLS] = { false };
    size_t count = rule.bytes ? split_row(rule, cells) : 0;
    for (size_t i = 0; i < count; i++)
        right[i] = cells[i].bytes && cells[i].data[cells[i].bytes - 1] == ':';
    ap_html_string(html, "<div class=\"t\" tabindex=\"0\"><table>\n<thead>");
    write_row(html, head, right, true);
    ap_html_string(html, "</thead>\n<tbody>\n");
    for (struct ap_text line = line_of(rows); line.bytes && ap_html_has_room(html, 6 * (uint64_t)line.bytes + 2000);
         rows = behind(rows, line.bytes), line = line_of(rows))
        write_row(html, line, right, false);
    ap_html_string(html, "</tbody></table></div>\n");
}

/* ---- sections ---- */

void ap_html_flow_end(struct html *html)
{
    ap_html_flow(html);
    if (html->section_is_open)
        ap_html_string(html, "</details></section>\n");
    html->section_is_open = false;
}

static struct ap_text title_of(struct ap_text line, size_t marks)
{
    line = behind(line, marks);
    return trim((struct ap_text){ line.data, line.bytes - (line.bytes && line.data[line.bytes - 1] == '\n') });
}

static void open_section(struct html *html, struct ap_text line)
{
    struct ap_text title = title_of(line, 3);
    if (html->section_is_open)
        ap_html_string(html, "</details></section>\n");
    ap_html_string(html, "<section class=\"s\" id=\"");
    ap_html_slug(html, title);
    ap_html_string(html, html->opens_sections ? "\"><details open=\"\"><summary><h2>" : "\"><details><summary><h2>");
    render_in_line(html, title);
    ap_html_string(html, "</h2></summary>\n");
    html->section_is_open = true;
}

enum block { BLOCK_TEXT, BLOCK_SECTION, BLOCK_HEADING, BLOCK_TABLE };

static enum block block_of(struct ap_text line)
{
    return begins(line, "## ")    ? BLOCK_SECTION
           : begins(line, "### ") ? BLOCK_HEADING
           : begins(line, "|")    ? BLOCK_TABLE
                                  : BLOCK_TEXT;
}

static void write_block(struct html *html, enum block block, struct ap_text text)
{
    switch (block) {
    case BLOCK_TEXT:
        render(html, text);
        break;
    case BLOCK_SECTION:
        open_section(html, text);
        break;
    case BLOCK_TABLE:
        write_table(html, text);
        break;
    case BLOCK_HEADING:
        ap_html_string(html, "<h3>");
        render_in_line(html, title_of(text, 4));
        ap_html_string(html, "</h3>\n");
        break;
    }
}

/* Lines of one kind; a heading is one line. */
static size_t block_bytes(struct ap_text text)
{
    enum block block = block_of(line_of(text));
    size_t bytes = line_of(text).bytes;
    if (block == BLOCK_SECTION || block == BLOCK_HEADING)
        return bytes;
    while (bytes < text.bytes && block_of(line_of(behind(text, bytes))) == block)
        bytes += line_of(behind(text, bytes)).bytes;
    return bytes;
}

void ap_html_flow(struct html *html)
{
    struct ap_text text = take(html);
    while (text.bytes) {
        size_t bytes = block_bytes(text);
        write_block(html, block_of(line_of(text)), (struct ap_text){ text.data, bytes });
        text = behind(text, bytes);
    }
    if (html->prose_was_cut)
        ap_html_string(html,
                       "<p class=\"cut\">The rest is left out to keep this file small: the Markdown report has all.</p>\n");
    html->prose_was_cut = false;
}

void ap_html_flow_inline(struct html *html)
{
    render_in_line(html, take(html));
    html->prose_was_cut = false;
}

void ap_html_prose(struct html *html, struct ap_text text)
{
    ap_md_prose(&html->md, text);
    ap_html_flow_inline(html);
}
