/* SPDX-License-Identifier: MIT
 * How text becomes inert in HTML: five characters become references, and what a reader would not see is written out. One
 * form serves between tags and in quoted attributes; texts of the input are written nowhere else, above all not into
 * scripts, styles, or the names of anything. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code_point.h"
#include "html.h"
#include "prose_words.h"
#include "value_text.h"

#include "poison.h"

#define NAME_LIMIT 100 /* code points */
#define TEXT_LIMIT 60

void ap_html_string(struct html *html, const char *literal)
{
    ap_out_string(&html->out, literal);
}

void ap_html_format(struct html *html, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    ap_out_string(&html->out, text);
}

static void write_code_point(struct ap_out *out, uint32_t code_point)
{
    char utf8[4];
    switch (code_point) {
    case '&': ap_out_string(out, "&amp;"); return;
    case '<': ap_out_string(out, "&lt;"); return;
    case '>': ap_out_string(out, "&gt;"); return;
    case '"': ap_out_string(out, "&quot;"); return;
    case '\'': ap_out_string(out, "&#39;"); return;
    default: break;
    }
    if (ap_code_point_is_hidden(code_point)) /* among them all that XML has no place for */
        ap_out_format(out, "\\u{%x}", (unsigned)code_point);
    else
        ap_out_text(out, (struct ap_text){ utf8, ap_code_point_encode(code_point, utf8) });
}

/* Bytes from @at on that stand in HTML as they are, which most do: at most @most. */
static size_t plain_bytes(struct ap_text text, size_t at, size_t most)
{
    size_t end = text.bytes - at < most ? text.bytes : at + most, start = at;
    while (at < end && text.data[at] >= ' ' && text.data[at] < 0x7f && text.data[at] != '&' && text.data[at] != '<' &&
           text.data[at] != '>' && text.data[at] != '"' && text.data[at] != '\'')
        at++;
    return at - start;
}

static size_t write_plain(struct html *html, struct ap_text text, size_t at, size_t most)
{
    size_t bytes = plain_bytes(text, at, most);
    ap_out_text(&html->out, (struct ap_text){ text.data + at, bytes });
    return bytes;
}

void ap_html_text(struct html *html, struct ap_text text, size_t most)
{
    size_t shown = 0;
    for (size_t at = 0; at < text.bytes; shown++) {
        size_t plain = shown + 1 < most ? write_plain(html, text, at, most - 1 - shown) : 0; /* the last one may be cut */
        at += plain;
        shown += plain;
        if (at == text.bytes)
            return;
        uint32_t code_point = ap_code_point_next(text, &at);
        if (shown + 1 >= most && at < text.bytes) {
            ap_out_string(&html->out, "…");
            return;
        }
        write_code_point(&html->out, code_point);
    }
}

void ap_html_plain(struct html *html, struct ap_text text)
{
    if (!ap_html_has_room(html, 8 * (uint64_t)text.bytes))
        return;
    for (size_t at = 0; at < text.bytes;) {
        size_t plain = write_plain(html, text, at, text.bytes);
        at += plain;
        if (at == text.bytes)
            return;
        uint32_t code_point = ap_code_point_next(text, &at);
        if (code_point == '\'')
            ap_out_char(&html->out, '\'');
        else
            write_code_point(&html->out, code_point);
    }
}

void ap_html_code(struct html *html, struct ap_text text, bool cut)
{
    if (!text.bytes) {
        ap_html_string(html, "(empty)");
        return;
    }
    ap_html_string(html, "<code>");
    ap_html_plain(html, text);
    ap_html_string(html, cut ? "…</code>" : "</code>");
}

static void take_part(void *html, bool is_code, struct ap_text part)
{
    if (is_code)
        ap_html_code(html, part, false);
    else
        ap_html_plain(html, part);
}

void ap_html_prose(struct html *html, struct ap_text text)
{
    if (ap_html_has_room(html, 16 * (uint64_t)text.bytes))
        ap_prose_words(text, take_part, html);
}

void ap_html_name(struct html *html, struct ap_text name)
{
    ap_html_string(html, "<code>");
    if (name.bytes)
        ap_html_text(html, name, NAME_LIMIT);
    else
        ap_html_string(html, "(empty)");
    ap_html_string(html, "</code>");
}

/* printf would write the decimal point of the locale. */
void ap_html_number(struct html *html, double number)
{
    double size = fabs(number) < 1e12 ? number : 0;
    long long tenths = llround(size * 10);
    if (tenths < 0)
        ap_out_char(&html->out, '-');
    ap_out_integer(&html->out, llabs(tenths) / 10);
    if (tenths % 10) {
        ap_out_char(&html->out, '.');
        ap_out_char(&html->out, (char)('0' + llabs(tenths) % 10));
    }
}

void ap_html_value(struct html *html, const struct ap_value *value)
{
    char text[AP_VALUE_TEXT_BYTES];
    switch (value ? value->type : AP_VALUE_NULL) {
    case AP_VALUE_NULL:
    case AP_VALUE_LIST:
    case AP_VALUE_OBJECT: ap_html_string(html, "–"); return;
    case AP_VALUE_TEXT:
    case AP_VALUE_LITERAL: ap_html_text(html, value->as.text, NAME_LIMIT); return;
    default: break;
    }
    size_t bytes = ap_format_value(value, text, sizeof(text));
    ap_html_text(html, (struct ap_text){ text, bytes }, sizeof(text));
}

void ap_html_measure(struct html *html, const struct ap_value *value, struct ap_text figure)
{
    if (!value) {
        ap_html_string(html, "–");
        return;
    }
    struct ap_value named = *value;
    named.key = figure;
    ap_html_value(html, &named);
}

static void tell_value(struct html *html, const struct ap_value *value, char letter)
{
    switch (letter) {
    case 'n': ap_html_name(html, ap_value_text(value)); break;
    case 't': ap_html_text(html, ap_value_text(value), TEXT_LIMIT); break;
    case 'p': ap_html_prose(html, ap_value_text(value)); break;
    case 'c':
        ap_html_format(html, "<td class=\"r\" data-v=\"%lld\">", (long long)ap_value_integer(value, 0));
        ap_html_value(html, value);
        ap_html_string(html, "</td>");
        break;
    default: ap_html_value(html, value); break;
    }
}

void ap_html_tell(struct html *html, const struct ap_value *of, const char *template)
{
    of = of ? of : &html->model->root;
    while (*template) {
        char path[DOC_PATH_BYTES];
        size_t bytes = strcspn(template, "{");
        const char *placeholder = template + bytes;
        ap_out_text(&html->out, (struct ap_text){ template, bytes });
        if (!*placeholder)
            return;
        template = ap_template_path(placeholder, path);
        tell_value(html, ap_value_at(of, path), placeholder[1]);
    }
}

static void write_as(struct html *html, enum ap_value_type type, int64_t integer)
{
    struct ap_value value = { .type = type, .as = { .integer = integer } };
    ap_html_value(html, &value);
}

void ap_html_count(struct html *html, int64_t count)
{
    write_as(html, AP_VALUE_COUNT, count);
}

void ap_html_time(struct html *html, int64_t ns)
{
    write_as(html, AP_VALUE_TIME_NS, ns);
}

void ap_html_bytes(struct html *html, int64_t bytes)
{
    write_as(html, AP_VALUE_BYTES, bytes);
}

void ap_html_share(struct html *html, double ratio)
{
    struct ap_value value = { .type = AP_VALUE_RATIO, .as = { .number = ratio } };
    ap_html_value(html, &value);
}

void ap_html_slug(struct html *html, struct ap_text text)
{
    bool gap = false, any = false;
    for (size_t i = 0; i < text.bytes; i++) {
        char c = ap_folded(text.data[i]);
        if ((c >= 'a' && c <= 'z') || ap_is_digit(c)) {
            if (gap && any)
                ap_out_char(&html->out, '-');
            ap_out_char(&html->out, c);
            gap = false;
            any = true;
        } else {
            gap = true;
        }
    }
}

bool ap_html_has_room(const struct html *html, uint64_t bytes)
{
    return html->sunk_bytes + html->out.used_bytes + bytes <= html->limit_bytes;
}

void ap_html_limit(struct html *html, uint64_t bytes)
{
    uint64_t end = html->sunk_bytes + html->out.used_bytes + bytes;
    uint64_t most = HTML_MAX_BYTES - HTML_END_BYTES;
    html->limit_bytes = end < most ? end : most;
}

int64_t ap_html_sum(int64_t a, int64_t b)
{
    bool overflowed = false;
    return ap_add_sat(a, b, &overflowed);
}

int64_t ap_html_less(int64_t a, int64_t b)
{
    return b == INT64_MIN ? ap_html_sum(ap_html_sum(a, INT64_MAX), 1) : ap_html_sum(a, -b);
}

const struct ap_value *ap_html_at(const struct html *html, const char *path)
{
    return ap_doc_at(&html->doc, path);
}

bool ap_html_known(const struct html *html, const char *path)
{
    return ap_doc_known(&html->doc, path);
}
