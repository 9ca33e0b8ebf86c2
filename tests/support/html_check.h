/* SPDX-License-Identifier: MIT
 * html_check.h - reads HTML as strictly as no browser does: every tag is closed in order, every attribute quoted and known,
 * no text holds a bare "<". So what it accepts means one thing to every browser. */
#ifndef AP_HTML_CHECK_H
#define AP_HTML_CHECK_H

#include <stdio.h>
#include <string.h>

#include "base.h"

struct html_counts {
    size_t tags, scripts, styles, tables, figures, shapes;
    uint64_t shape; /* of the tags and attribute names in order, those of text formatting aside */
};

struct html_reading {
    const char *at, *end;
    struct ap_text open[64];
    size_t depth;
    struct html_counts *counts;
    char *why;
    size_t why_bytes;
};

static bool html_fail(struct html_reading *in, const char *why)
{
    int left = in->end - in->at < 60 ? (int)(in->end - in->at) : 60;
    (void)snprintf(in->why, in->why_bytes, "%s at: %.*s", why, left, in->at);
    return false;
}

static bool html_is_one_of(struct ap_text word, const char *const *words)
{
    for (; *words; words++)
        if (word.bytes && **words == *word.data && ap_text_is(word, *words))
            return true;
    return false;
}

static struct ap_text html_word(struct html_reading *in)
{
    const char *start = in->at;
    while (in->at < in->end && ((*in->at >= 'a' && *in->at <= 'z') || (*in->at >= 'A' && *in->at <= 'Z') || *in->at == '-' ||
                                (*in->at >= '0' && *in->at <= '9')))
        in->at++;
    return (struct ap_text){ start, (size_t)(in->at - start) };
}

static void html_mix(struct html_reading *in, struct ap_text word)
{
    static const char *const formatting[] = { "code", "b", "strong", "em", "p", "br", NULL };
    if (html_is_one_of(word, formatting))
        return;
    for (size_t i = 0; i < word.bytes; i++)
        in->counts->shape = (in->counts->shape ^ (unsigned char)word.data[i]) * 1099511628211u;
}

static bool html_attribute(struct html_reading *in)
{
    static const char *const known[] = { "lang",
                                         "charset",
                                         "http-equiv",
                                         "content",
                                         "name",
                                         "rel",
                                         "href",
                                         "id",
                                         "class",
                                         "role",
                                         "open",
                                         "scope",
                                         "tabindex",
                                         "title",
                                         "viewBox",
                                         "x",
                                         "y",
                                         "x1",
                                         "x2",
                                         "y1",
                                         "y2",
                                         "cx",
                                         "cy",
                                         "r",
                                         "d",
                                         "width",
                                         "height",
                                         "data-v",
                                         "data-d",
                                         "data-n",
                                         "aria-labelledby",
                                         "aria-label",
                                         "aria-hidden",
                                         NULL };
    struct ap_text name = html_word(in);
    if (!html_is_one_of(name, known))
        return html_fail(in, "an unknown attribute");
    html_mix(in, name);
    if (in->end - in->at < 2 || in->at[0] != '=' || in->at[1] != '"')
        return html_fail(in, "an attribute without quotes");
    const char *value = in->at += 2;
    while (in->at < in->end && *in->at != '"' && *in->at != '<')
        in->at++;
    if (in->at == in->end || *in->at != '"')
        return html_fail(in, "an attribute that does not end");
    if (ap_text_is(name, "href") && *value != '#' && strncmp(value, "data:,\"", 7) != 0)
        return html_fail(in, "a link out of the page");
    in->at++;
    return true;
}

static void html_skip_text(struct html_reading *in)
{
    const char *tag = memchr(in->at, '<', (size_t)(in->end - in->at));
    in->at = tag ? tag : in->end;
}

static bool html_raw(struct html_reading *in, const char *closing)
{
    for (html_skip_text(in); in->at < in->end && strncmp(in->at, closing, strlen(closing)) != 0; html_skip_text(in))
        in->at++;
    return in->at < in->end || html_fail(in, "raw text that does not end");
}

static bool html_open(struct html_reading *in)
{
    static const char *const empty[] = { "meta", "link", "br", "hr", NULL };
    static const char *const known[] = {
        "html",    "head",   "meta",    "link",   "title",      "style",   "script",     "body", "header", "main", "nav",
        "section", "footer", "article", "figure", "figcaption", "details", "summary",    "div",  "span",   "p",    "a",
        "b",       "strong", "em",      "code",   "pre",        "h1",      "h2",         "h3",   "h4",     "ul",   "ol",
        "li",      "dl",     "dt",      "dd",     "table",      "thead",   "tbody",      "tr",   "th",     "td",   "svg",
        "g",       "rect",   "path",    "line",   "circle",     "text",    "blockquote", "br",   "use",    NULL
    };
    in->at++;
    struct ap_text tag = html_word(in);
    if (!html_is_one_of(tag, known))
        return html_fail(in, "an unknown element");
    html_mix(in, tag);
    while (in->at < in->end && *in->at == ' ') {
        in->at++;
        if (in->at < in->end && *in->at == '/')
            break;
        if (!html_attribute(in))
            return false;
    }
    bool closed = in->at < in->end && *in->at == '/';
    in->at += closed;
    if (in->at == in->end || *in->at != '>')
        return html_fail(in, "a tag that does not end");
    in->at++;
    in->counts->tags++;
    in->counts->scripts += ap_text_is(tag, "script");
    in->counts->styles += ap_text_is(tag, "style");
    in->counts->tables += ap_text_is(tag, "table");
    in->counts->figures += ap_text_is(tag, "figure");
    in->counts->shapes += ap_text_is(tag, "rect") || ap_text_is(tag, "path");
    if (closed || html_is_one_of(tag, empty))
        return true;
    if (in->depth == AP_COUNT_OF(in->open))
        return html_fail(in, "nested too deep");
    in->open[in->depth++] = tag;
    if (ap_text_is(tag, "script") || ap_text_is(tag, "style"))
        return html_raw(in, ap_text_is(tag, "script") ? "</script>" : "</style>");
    return true;
}

static bool html_close(struct html_reading *in)
{
    in->at += 2;
    struct ap_text tag = html_word(in);
    if (!in->depth || !ap_text_equal(in->open[in->depth - 1], tag) || in->at == in->end || *in->at != '>')
        return html_fail(in, "an end tag out of order");
    in->depth--;
    in->at++;
    return true;
}

/** True where @text is such HTML; else @why says what is wrong. */
static inline bool html_is_strict(const char *text, size_t bytes, struct html_counts *counts, char *why, size_t why_bytes)
{
    static const char doctype[] = "<!DOCTYPE html>\n";
    struct html_reading in = { .at = text, .end = text + bytes, .counts = counts, .why = why, .why_bytes = why_bytes };
    *counts = (struct html_counts){ .shape = 14695981039346656037u };
    if (bytes < sizeof(doctype) || strncmp(text, doctype, sizeof(doctype) - 1) != 0)
        return html_fail(&in, "no document type");
    for (in.at += sizeof(doctype) - 1; in.at < in.end;) {
        if (*in.at != '<')
            html_skip_text(&in);
        else if (in.at + 1 < in.end && in.at[1] == '/' ? !html_close(&in) : !html_open(&in))
            return false;
    }
    return in.depth == 0 || html_fail(&in, "elements that are not closed");
}

#endif
