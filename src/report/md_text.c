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
#include "md.h"

#include "poison.h"

#define NAME_LIMIT 100 /* code points */

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

static bool only_spaces(struct ap_text text)
{
    for (size_t i = 0; i < text.bytes; i++)
        if (text.data[i] != ' ')
            return false;
    return true;
}

/* One span around @text, which is neither empty nor holds a back-tick or a bar. */
static void write_span(struct ap_out *out, struct ap_text text, bool ellipsis)
{
    /* a renderer takes one space off both ends if both have one */
    bool pad = text.data[0] == ' ' && text.data[text.bytes - 1] == ' ' && !only_spaces(text) && !ellipsis;
    /* two spans without anything between would read as one longer fence */
    if (out->used_bytes && out->buffer[out->used_bytes - 1] == '`')
        ap_out_char(out, ' ');
    ap_out_string(out, pad ? "` " : "`");
    write_visible(out, text);
    ap_out_string(out, ellipsis ? "…" : "");
    ap_out_string(out, pad ? " `" : "`");
}

static void write_code(struct ap_out *out, struct ap_text text, bool ellipsis)
{
    if (text.bytes == 0)
        ap_out_string(out, "(empty)");
    size_t at = 0;
    while (at < text.bytes) {
        size_t end = at;
        while (end < text.bytes && !breaks_code(text.data[end]))
            end++;
        if (end > at)
            write_span(out, (struct ap_text){ text.data + at, end - at }, ellipsis && end == text.bytes);
        for (at = end; at < text.bytes && breaks_code(text.data[at]); at++)
            write_reference(out, text.data[at]);
    }
    if (ellipsis && text.bytes && breaks_code(text.data[text.bytes - 1]))
        ap_out_string(out, "…");
}

void ap_md_whole_name(struct md *md, struct ap_text name)
{
    write_code(&md->out, name, false);
}

void ap_md_name(struct md *md, struct ap_text name)
{
    size_t at = 0;
    for (int shown = 0; at < name.bytes && shown < NAME_LIMIT; shown++)
        (void)ap_code_point_next(name, &at);
    write_code(&md->out, (struct ap_text){ name.data, at }, at < name.bytes);
}

/* ---- prose ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static bool is_letter_or_digit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Punctuation that no dialect reads as markup within a line; the other signs are written as references. */
static bool is_plain_sign(char c)
{
    return memchr(".,;:()'\"%+-=/?", c, 14) != NULL;
}

/* GitHub links what may be a commit. */
static bool looks_like_hash(struct ap_text word)
{
    size_t digits = 0, letters = 0;
    for (size_t i = 0; i < word.bytes; i++) {
        char c = word.data[i];
        digits += c >= '0' && c <= '9';
        letters += (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    }
    return digits && letters && digits + letters >= 7 && digits + letters == word.bytes;
}

/* Would some dialect make more of this word than text, after parsing? Then it has to be code. */
static bool needs_code(struct ap_text word)
{
    size_t colons = 0;
    for (size_t at = 0; at < word.bytes;) {
        size_t start = at;
        uint32_t code_point = ap_code_point_next(word, &at);
        if (ap_code_point_is_hidden(code_point) || (at == start + 1 && strchr("@#$_\\", word.data[start])))
            return true;
        colons += code_point == ':';
    }
    return colons > 1 || looks_like_hash(word) || ap_text_contains_folded(word, "://") ||
           ap_text_contains_folded(word, "www") /* a full stop may follow */ || ap_text_contains_folded(word, "gh-");
}

static void write_word_as_text(struct ap_out *out, struct ap_text word)
{
    for (size_t at = 0; at < word.bytes;) {
        size_t start = at;
        uint32_t code_point = ap_code_point_next(word, &at);
        char utf8[4];
        if (code_point < 0x80 && !is_letter_or_digit(word.data[start]) && !is_plain_sign(word.data[start]))
            write_reference(out, word.data[start]);
        else
            ap_out_text(out, (struct ap_text){ utf8, ap_code_point_encode(code_point, utf8) });
    }
}

static bool has_open_parenthesis(struct ap_text word, size_t first, size_t last)
{
    size_t open = 0;
    for (size_t i = first; i < last; i++) {
        open += word.data[i] == '(';
        open -= open && word.data[i] == ')';
    }
    return open > 0;
}

/* (some_name), becomes (`some_name`), */
static void write_word(struct ap_out *out, struct ap_text word)
{
    if (!needs_code(word)) {
        write_word_as_text(out, word);
        return;
    }
    size_t first = 0, last = word.bytes;
    while (first < last && memchr("(\"'", word.data[first], 3))
        first++;
    while (last > first && memchr(".,;:?)\"'", word.data[last - 1], 8))
        last--;
    /* calls keep their parentheses: torch.cuda.empty_cache() */
    while (last < word.bytes && word.data[last] == ')' && has_open_parenthesis(word, first, last))
        last++;
    if (last == first) {
        first = 0;
        last = word.bytes;
    }
    write_word_as_text(out, (struct ap_text){ word.data, first });
    write_code(out, (struct ap_text){ word.data + first, last - first }, false);
    write_word_as_text(out, (struct ap_text){ word.data + last, word.bytes - last });
}

static size_t run_of_backticks(struct ap_text text, size_t at)
{
    size_t end = at;
    while (end < text.bytes && text.data[end] == '`')
        end++;
    return end - at;
}

/* Start of the fence that closes one of @fence back-ticks opened before @at; text.bytes where there is none. */
static size_t closing_fence(struct ap_text text, size_t at, size_t fence)
{
    while (at < text.bytes) {
        size_t run = run_of_backticks(text, at);
        if (run == fence)
            return at;
        at += run ? run : 1;
    }
    return text.bytes;
}

/* A span or, where nothing closes it, back-ticks as text. Returns where to go on. */
static size_t write_backticks(struct ap_out *out, struct ap_text text, size_t at)
{
    size_t fence = run_of_backticks(text, at);
    size_t inner = at + fence, end = closing_fence(text, inner, fence);
    if (end == text.bytes || end == inner) {
        for (size_t i = 0; i < fence; i++)
            write_reference(out, '`');
        return inner;
    }
    struct ap_text code = { text.data + inner, end - inner };
    if (code.bytes > 2 && code.data[0] == ' ' && code.data[code.bytes - 1] == ' ' && !only_spaces(code))
        code = (struct ap_text){ code.data + 1, code.bytes - 2 };
    write_code(out, code, false);
    return end + fence;
}

void ap_md_prose(struct md *md, struct ap_text text)
{
    for (size_t at = 0; at < text.bytes;) {
        if (text.data[at] == '`') {
            at = write_backticks(&md->out, text, at);
            continue;
        }
        size_t end = at;
        bool space = is_space(text.data[at]);
        while (end < text.bytes && text.data[end] != '`' && is_space(text.data[end]) == space)
            end++;
        if (space)
            ap_out_char(&md->out, ' ');
        else
            write_word(&md->out, (struct ap_text){ text.data + at, end - at });
        at = end;
    }
}
