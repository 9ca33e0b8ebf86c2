/* SPDX-License-Identifier: MIT
 * Files of other profilers: what takes most, as bars - operators of a session, layers of an engine, compiled functions. */
#include "html_pictures.h"

#include "poison.h"

#define TOP 4.0
#define ROW 36.0
#define BAR 14.0
#define MOST_BARS 12

/* In the order in which a report is asked for them: the first that it has is drawn. */
static const struct profile_bars {
    const char *path, *time, *title, *label, *says;
    const char *odd_key, *odd_label; /* a bool that marks rows; NULL = none does */
} kinds[] = {
    { "onnxruntime.operators", "total_us", "Operators by time", "{t operator} on {t provider}, {v total_us}",
      "Time of nodes on the host, by operator and provider.", NULL, NULL },
    { "tensorrt.layers.rows", "mean_us", "Layers by time", "{t name}, {v mean_us}", "Mean time of each layer in a query.",
      "is_reformat", "only changes the layout" },
    { "compile_log.functions", "total_us", "Compilations by time", "{t function}, {v total_us}, {v count} compilations",
      "Time of all compilations of a function.", NULL, NULL },
};

static int64_t time_of(const struct profile_bars *bars, const struct ap_value *row)
{
    return ap_integer_member(row, bars->time, 0);
}

static bool is_odd(const struct profile_bars *bars, const struct ap_value *row)
{
    return bars->odd_key && ap_integer_member(row, bars->odd_key, 0) > 0;
}

/* Rows come with the longest first. */
static size_t draw(struct html *html, const struct profile_bars *bars, const struct ap_value *first, size_t count)
{
    double longest = (double)time_of(bars, first);
    size_t odd = 0, i = 0;
    for (const struct ap_value *row = first; i < count && ap_html_has_room(html, 8000); row = row->next, i++) {
        double y = TOP + ROW * (double)i, width = SVG_WIDTH * (double)time_of(bars, row) / longest;
        ap_svg_label(html, "small", 0, y + 12, row, bars->label);
        ap_svg_rect(html, is_odd(bars, row) ? "cold" : "steady", 0, y + 17, width < 1 ? 1 : width, BAR);
        odd += is_odd(bars, row);
    }
    return odd;
}

static void draw_figure(struct html *html, const struct profile_bars *bars, const struct ap_value *first)
{
    size_t count = 0;
    for (const struct ap_value *row = first; row && count < MOST_BARS && time_of(bars, row) > 0; row = row->next)
        count++;
    if (!count)
        return;
    ap_figure_begin(html, "profile-bars", bars->title);
    ap_html_format(html, "%s The longest %zu are drawn.", bars->says, count);
    ap_figure_body(html);
    ap_svg_begin(html, "profile-bars", "", TOP + ROW * (double)count);
    size_t odd = draw(html, bars, first, count);
    ap_svg_end(html);
    ap_legend_begin(html);
    ap_legend_entry(html, "steady", "time");
    if (odd)
        ap_legend_entry(html, "cold", bars->odd_label);
    ap_legend_end(html);
    ap_figure_end(html);
}

void ap_html_profile(struct html *html)
{
    for (size_t i = 0; i < AP_COUNT_OF(kinds); i++) {
        const struct ap_value *first = ap_value_first(ap_html_at(html, kinds[i].path));
        if (!first)
            continue;
        draw_figure(html, &kinds[i], first);
        return;
    }
}
