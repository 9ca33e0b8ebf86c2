/* SPDX-License-Identifier: MIT
 * html_contents.c - what stands where in the page, and what a folded section tells of itself. */
#include <stdio.h>
#include <string.h>

#include "html.h"

#include "poison.h"

#define MOST_SECTION_FIGURES 2

void ap_html_gather(struct html *html, const char *id, const char *title)
{
    struct html_contents *to = html->gathers;
    if (!to || to->count == HTML_MAX_PARTS)
        return;
    struct html_part *part = &to->parts[to->count++];
    *part = (struct html_part){ .title = title };
    (void)snprintf(part->id, sizeof(part->id), "%s", id);
}

void ap_html_gather_height(struct html *html, double height)
{
    struct html_contents *to = html->gathers;
    if (to && to->count && to->parts[to->count - 1].height <= 0)
        to->parts[to->count - 1].height = height;
}

const struct html_part *ap_html_find_picture(const struct html *html, const char *id)
{
    const struct html_contents *in = html->contents;
    for (size_t i = 0; in && i < in->count; i++)
        if (in->parts[i].id[0] && strcmp(in->parts[i].id, id) == 0)
            return &in->parts[i];
    return NULL;
}

/* How many a list has counts as a figure, too. */
static bool tells_something(const struct ap_value *value)
{
    if (value && value->type == AP_VALUE_LIST)
        return ap_value_count(value) > 0;
    bool is_zero = value && (value->type == AP_VALUE_COUNT || value->type == AP_VALUE_TIME_NS) && value->as.integer == 0;
    return value && value->type != AP_VALUE_NULL && !is_zero;
}

/* "2 steps", "1 step" */
static void write_words(struct html *html, const struct ap_value *value, const char *words)
{
    size_t bytes = strlen(words);
    bool is_one = value->type == AP_VALUE_COUNT && value->as.integer == 1 && words[bytes - 1] == 's';
    ap_html_format(html, "</b> %.*s", (int)(bytes - is_one), words);
}

void ap_html_section_figures(struct html *html, const char *title)
{
    static const struct {
        const char *title, *path, *words;
    } rows[] = {
#define AP_SECTION_FIGURE(title, path, words) { title, path, words },
#define AP_SECTION_COUNT AP_SECTION_FIGURE
#include "section_figures.def"
#undef AP_SECTION_FIGURE
#undef AP_SECTION_COUNT
    };
    int shown = 0;
    for (size_t i = 0; i < AP_COUNT_OF(rows) && shown < MOST_SECTION_FIGURES; i++) {
        const struct ap_value *value = ap_html_at(html, rows[i].path);
        if (strcmp(rows[i].title, title) != 0 || !tells_something(value))
            continue;
        ap_html_string(html, shown++ ? ", <b>" : " <span class=\"main\"><b>");
        if (value->type == AP_VALUE_LIST)
            ap_html_count(html, (int64_t)ap_value_count(value));
        else
            ap_html_measure(html, value, ap_text_of(rows[i].path));
        write_words(html, value, rows[i].words);
    }
    if (shown)
        ap_html_string(html, "</span>");
}
