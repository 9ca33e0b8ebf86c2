/* SPDX-License-Identifier: MIT
 * How text becomes inert in CommonMark and in GitHub's dialect at once.
 *
 * Code spans are the only place where neither dialect looks for links, autolinks, mentions, issue numbers, formulas,
 * emoji or HTML: backslashes would not do, since GitHub looks for the latter in the text that comes out of the parser.
 * Two characters do not fit in: a back-tick would end the span (and cmark gives up on fences longer than 80), a bar
 * would end a table cell, where even the backslash that saves it is read differently by the two. So a span is closed
 * before them, they are written as character references, which both dialects read as plain text, and a new span is
 * opened: a|b is `a`&#124;`b`. */
#include <string.h>

#include "code_point.h"
#include "md_text.h"
#include "prose_words.h"

#include "poison.h"

static bool breaks_code(char c)
{
    return c == '`' || c == '|';
}

static void write_reference(struct ap_out *out, char c)
{
    ap_out_format(out, "&#%d;", (int)c);
}

/* Code points that a span shows as they are or as \u{...}. @text has no back-tick and no bar. */
static void write_visible(struct ap_out *out, struct ap_text text)
{
    for (size_t at = 0; at < text.bytes;) {
        uint32_t code_point = ap_code_point_next(text, &at);
        char utf8[4];
        if (ap_code_point_is_hidden(code_point))
            ap_out_format(out, "\\u{%x}", (unsigned)code_point);
        else
            ap_out_text(out, (struct ap_text){ utf8, ap_code_point_encode(code_point, utf8) });
    }
}

/* One span around @text, which is neither empty nor holds a back-tick or a bar. */
static void write_span(struct ap_out *out, struct ap_text text, bool ellipsis)
{
    /* a renderer takes one space off both ends if both have one */
    bool pad = ap_code_is_padded(text) && !ellipsis;
    /* two spans without anything between would read as one longer fence */
    if (out->used_bytes && out->buffer[out->used_bytes - 1] == '`')
        ap_out_char(out, ' ');
    ap_out_string(out, pad ? "` " : "`");
    write_visible(out, text);
    ap_out_string(out, ellipsis ? "…" : "");
    ap_out_string(out, pad ? " `" : "`");
}

void ap_md_name(struct ap_out *out, struct ap_text text, bool is_cut)
{
    if (text.bytes == 0)
        ap_out_string(out, "(empty)");
    size_t at = 0;
    while (at < text.bytes) {
        size_t end = at;
        while (end < text.bytes && !breaks_code(text.data[end]))
            end++;
        if (end > at)
            write_span(out, (struct ap_text){ text.data + at, end - at }, is_cut && end == text.bytes);
        for (at = end; at < text.bytes && breaks_code(text.data[at]); at++)
            write_reference(out, text.data[at]);
    }
    if (is_cut && text.bytes && breaks_code(text.data[text.bytes - 1]))
        ap_out_string(out, "…");
}

/* ---- prose ---- */

static bool is_letter_or_digit(char c)
{
    return ap_is_digit(c) || ap_is_letter(c);
}

/* Punctuation that no dialect reads as markup within a line; the other signs are written as references. */
static bool is_plain_sign(char c)
{
    return memchr(" .,;:()'\"%+-=/?", c, 15) != NULL;
}

static void write_text(struct ap_out *out, struct ap_text text)
{
    for (size_t at = 0; at < text.bytes;) {
        size_t start = at;
        uint32_t code_point = ap_code_point_next(text, &at);
        char utf8[4];
        if (code_point < 0x80 && !is_letter_or_digit(text.data[start]) && !is_plain_sign(text.data[start]))
            write_reference(out, text.data[start]);
        else
            ap_out_text(out, (struct ap_text){ utf8, ap_code_point_encode(code_point, utf8) });
    }
}

static void take_part(void *out, bool is_code, struct ap_text part)
{
    if (is_code)
        ap_md_name(out, part, false);
    else
        write_text(out, part);
}

void ap_md_prose(struct ap_out *out, struct ap_text text)
{
    ap_prose_words(text, take_part, out);
}
