/* SPDX-License-Identifier: MIT
 * The pictures of the HTML report as files of SVG, each with its title, sentence and legend on a ground of its own, with its
 * style inside, so that any page can show it: they are drawn by the same code, one kind after the other.
 *
 * The markup of a figure is ours: text of the input is in it with < and & as references (html_text.c), so every tag found
 * here is one that chart_svg.c wrote. Drawings are taken over as they are; what HTML lays out (sentence, headings, legend)
 * is laid out here by the count of characters. All is gone through twice: first for the height alone. */
#include <string.h>

#include "chart_svg.h"
#include "html_assets.h"
#include "html_pictures.h"
#include "report.h"

#include "poison.h"

#define MARGIN 20
#define LINE_HEIGHT 17
#define LINE_CHARACTERS 150
#define CHARACTER 7 /* of a legend, rather too wide than too narrow */
#define KEY_WIDTH 16
#define KEY_GAP 22

struct drawing {
    struct ap_out *out; /* NULL = only measure */
    int y;              /* how far it has come */
};

/* ---- markup ---- */

static size_t find(struct ap_text text, const char *mark)
{
    size_t bytes = strlen(mark);
    for (size_t at = 0; at + bytes <= text.bytes; at++)
        if (text.data[at] == mark[0] && memcmp(text.data + at, mark, bytes) == 0)
            return at;
    return text.bytes;
}

static void skip(struct ap_text *text, size_t bytes)
{
    bytes = bytes < text->bytes ? bytes : text->bytes;
    *text = (struct ap_text){ text->data + bytes, text->bytes - bytes };
}

/* What stands before @mark, or all; go on behind it. */
static struct ap_text take(struct ap_text *text, const char *mark)
{
    struct ap_text before = { text->data, find(*text, mark) };
    skip(text, before.bytes + strlen(mark));
    return before;
}

/* What stands between two marks further on. */
static struct ap_text take_between(struct ap_text *text, const char *first, const char *last)
{
    (void)take(text, first);
    return take(text, last);
}

/* A character, or a reference such as &lt;. */
static size_t unit_bytes(struct ap_text text, size_t at)
{
    size_t end = at + 1;
    if (text.data[at] == '&')
        while (end < text.bytes && text.data[end - 1] != ';')
            end++;
    else
        while (end < text.bytes && ((unsigned char)text.data[end] & 0xC0) == 0x80)
            end++;
    return end - at;
}

static size_t tag_bytes(struct ap_text text, size_t at)
{
    size_t end = at;
    while (end < text.bytes && text.data[end] != '>')
        end++;
    return (end < text.bytes ? end + 1 : end) - at;
}

static size_t count_characters(struct ap_text text)
{
    size_t count = 0;
    for (size_t at = 0; at < text.bytes;) {
        bool tag = text.data[at] == '<';
        count += !tag;
        at += tag ? tag_bytes(text, at) : unit_bytes(text, at);
    }
    return count;
}

/* Where the line that begins at @at ends: behind its last word that fits, or within a word that fits no line. */
static size_t line_end(struct ap_text text, size_t at)
{
    size_t behind_word = 0;
    for (size_t count = 0; at < text.bytes;) {
        if (text.data[at] == '<') {
            at += tag_bytes(text, at);
            continue;
        }
        if (count++ == LINE_CHARACTERS)
            return behind_word ? behind_word : at;
        bool blank = text.data[at] == ' ';
        at += unit_bytes(text, at);
        behind_word = blank ? at : behind_word;
    }
    return text.bytes;
}

/* ---- writing ---- */

static void put(const struct drawing *drawing, struct ap_text text)
{
    if (drawing->out)
        ap_out_text(drawing->out, text);
}

static void put_string(const struct drawing *drawing, const char *literal)
{
    put(drawing, ap_text_of(literal));
}

static void put_without_tags(const struct drawing *drawing, struct ap_text text)
{
    for (size_t at = 0; at < text.bytes;) {
        bool tag = text.data[at] == '<';
        size_t bytes = tag ? tag_bytes(text, at) : unit_bytes(text, at);
        if (!tag)
            put(drawing, (struct ap_text){ text.data + at, bytes });
        at += bytes;
    }
}

static void begin_text(const struct drawing *drawing, const char *class, int x)
{
    if (drawing->out)
        ap_out_format(drawing->out, "<text class=\"%s\" x=\"%d\" y=\"%d\">", class, x, drawing->y);
}

static void draw_line(struct drawing *drawing, const char *class, struct ap_text text)
{
    drawing->y += LINE_HEIGHT;
    begin_text(drawing, class, MARGIN);
    put_without_tags(drawing, text);
    put_string(drawing, "</text>\n");
}

static void draw_lines(struct drawing *drawing, struct ap_text text)
{
    for (size_t at = 0, end; at < text.bytes; at = end) {
        end = line_end(text, at);
        draw_line(drawing, "says", (struct ap_text){ text.data + at, end - at });
    }
}

/* ---- the parts ---- */

/* "205" or "205.5", as chart_svg.c writes it: rounded up. */
static int read_height(struct ap_text text)
{
    int height = 0;
    for (size_t i = 0; i < text.bytes && height < 100000; i++) {
        if (text.data[i] == '.')
            return height + 1;
        height = height * 10 + (text.data[i] - '0');
    }
    return height;
}

static void draw_chart(struct drawing *drawing, struct ap_text *rest)
{
    (void)take_between(rest, "viewBox=\"0 0 ", " ");
    int height = read_height(take(rest, "\""));
    struct ap_text shapes = take_between(rest, ">\n", "</svg>");
    drawing->y += 12;
    if (drawing->out)
        ap_out_format(drawing->out, "<g transform=\"translate(%d %d)\">\n", MARGIN, drawing->y);
    put(drawing, shapes);
    put_string(drawing, "</g>\n");
    drawing->y += height;
}

/* The tags of a legend's words, in SVG. */
static void put_label(const struct drawing *drawing, struct ap_text label)
{
    static const char *const tags[][2] = { { "<b>", "<tspan class=\"strong\">" },
                                           { "</b>", "</tspan>" },
                                           { "<span class=\"muted\">", "<tspan class=\"muted\">" },
                                           { "</span>", "</tspan>" } };
    for (size_t at = 0; at < label.bytes;) {
        bool tag = label.data[at] == '<';
        struct ap_text part = { label.data + at, tag ? tag_bytes(label, at) : unit_bytes(label, at) };
        at += part.bytes;
        if (!tag)
            put(drawing, part);
        for (size_t i = 0; tag && i < AP_COUNT_OF(tags); i++)
            if (ap_text_is(part, tags[i][0]))
                put_string(drawing, tags[i][1]);
    }
}

static void draw_legend(struct drawing *drawing, struct ap_text items)
{
    int x = MARGIN;
    drawing->y += LINE_HEIGHT + 5;
    while (find(items, "<li>") < items.bytes) {
        struct ap_text item = take_between(&items, "<li>", "</li>"), class = take_between(&item, "<rect class=\"", "\"");
        (void)take(&item, "</svg>");
        int width = KEY_WIDTH + CHARACTER * (int)count_characters(item);
        if (x > MARGIN && x + width > MARGIN + (int)SVG_WIDTH) {
            x = MARGIN;
            drawing->y += LINE_HEIGHT;
        }
        put_string(drawing, "<rect class=\"");
        put(drawing, class);
        if (drawing->out)
            ap_out_format(drawing->out, "\" x=\"%d\" y=\"%d\" width=\"10\" height=\"10\"/>", x, drawing->y - 9);
        begin_text(drawing, "", x + KEY_WIDTH);
        put_label(drawing, item);
        put_string(drawing, "</text>\n");
        x += width + KEY_GAP;
    }
}

/* Behind the sentence: drawings, headings and legends; tables are for pages. */
static void draw_parts(struct drawing *drawing, struct ap_text rest)
{
    while (find(rest, "<") < rest.bytes) {
        skip(&rest, find(rest, "<"));
        if (ap_text_starts_with(rest, "<svg ")) {
            draw_chart(drawing, &rest);
        } else if (ap_text_starts_with(rest, "<ul ")) {
            draw_legend(drawing, take(&rest, "</ul>"));
        } else if (ap_text_starts_with(rest, "<h4>")) {
            drawing->y += 8;
            draw_line(drawing, "heading", take_between(&rest, "<h4>", "</h4>"));
        } else {
            (void)take(&rest, ap_text_starts_with(rest, "<details>") ? "</details>" : ">");
        }
    }
}

static void draw_all(struct drawing *drawing, struct ap_text title, struct ap_text says, struct ap_text rest)
{
    drawing->y = MARGIN;
    drawing->y += 14;
    begin_text(drawing, "title", MARGIN);
    put(drawing, title);
    put_string(drawing, "</text>\n");
    drawing->y += 4;
    draw_lines(drawing, says);
    draw_parts(drawing, rest);
    drawing->y += MARGIN;
}

/* ---- a file ---- */

static bool next_figure(struct ap_text *markup, struct ap_text *ret_figure, struct ap_text *ret_id)
{
    if (find(*markup, "<figure id=\"") == markup->bytes)
        return false;
    *ret_figure = take_between(markup, "<figure id=\"", "</figure>");
    struct ap_text rest = *ret_figure;
    *ret_id = take(&rest, "\"");
    return true;
}

static void write_head(struct drawing *drawing, struct ap_text title, struct ap_text says, int height)
{
    const int width = (int)SVG_WIDTH + 2 * MARGIN;
    ap_out_format(drawing->out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" "
                  "aria-labelledby=\"title says\">\n<title id=\"title\">",
                  width, height, width, height);
    put(drawing, title);
    put_string(drawing, "</title>\n<desc id=\"says\">");
    put_without_tags(drawing, says);
    put_string(drawing, "</desc>\n<style>\n");
    put(drawing, (struct ap_text){ (const char *)ap_picture_style, ap_picture_style_bytes });
    ap_out_format(drawing->out, "</style>\n<rect class=\"page\" x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n",
                  width - 1, height - 1);
}

static void write_figure(struct ap_out *out, struct ap_text figure)
{
    struct drawing measured = { .out = NULL }, drawing = { .out = out };
    (void)take(&figure, "<h3 ");
    struct ap_text title = take_between(&figure, ">", "</h3>");
    (void)take(&figure, "<figcaption ");
    struct ap_text says = take_between(&figure, ">", "</figcaption>");
    draw_all(&measured, title, says, figure);
    write_head(&drawing, title, says, measured.y);
    draw_all(&drawing, title, says, figure);
    put_string(&drawing, "</svg>\n");
}

/* ---- all of them ---- */

struct markup {
    struct ap_gate *gate;
    char *data;
    size_t bytes, capacity;
};

static enum ap_status collect(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    struct markup *markup = self;
    AP_TRY(ap_mem_reserve(markup->gate, (void **)&markup->data, &markup->capacity, markup->bytes + bytes, 1, reterr));
    memcpy(markup->data + markup->bytes, data, bytes);
    markup->bytes += bytes;
    return AP_OK;
}

#define NAME_BYTES 64

static enum ap_status give(const struct ap_picture_taker *taker, struct ap_text figure, struct ap_text id,
                           struct ap_error *reterr)
{
    char name[NAME_BYTES] = "";
    struct ap_out out;
    if (id.bytes >= sizeof(name))
        return AP_OK; /* ids are ours, and short */
    memcpy(name, id.data, id.bytes);
    AP_TRY(taker->begin(taker->self, name, reterr));
    ap_out_init(&out, (struct ap_sink){ taker->write, taker->self });
    write_figure(&out, figure);
    AP_TRY(ap_out_finish(&out, reterr));
    return taker->end(taker->self, reterr);
}

/* All figures of one kind. */
static enum ap_status write_kind(struct html *html, size_t kind, struct markup *markup, const struct ap_picture_taker *taker,
                                 struct ap_error *reterr)
{
    struct ap_text figure, id;
    markup->bytes = 0;
    ap_html_picture(html, kind);
    AP_TRY(ap_out_finish(&html->out, reterr));
    struct ap_text rest = { markup->data, markup->bytes };
    while (next_figure(&rest, &figure, &id))
        AP_TRY(give(taker, figure, id, reterr));
    return AP_OK;
}

enum ap_status ap_write_pictures(const struct ap_model *model, const struct ap_picture_taker *taker, struct ap_error *reterr)
{
    struct markup markup = { .gate = model->arena.gate };
    struct html html;
    enum ap_status status = AP_OK;
    ap_html_init(&html, model, (struct ap_sink){ collect, &markup });
    for (size_t i = 0; i < ap_html_picture_count && status == AP_OK; i++)
        status = write_kind(&html, i, &markup, taker, reterr);
    ap_mem_free(markup.gate, markup.data, markup.capacity);
    return status;
}
