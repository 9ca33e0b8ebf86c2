/* SPDX-License-Identifier: MIT
 * Runs with several batch sizes: the throughput of each, and the knee. */
#include "html_pictures.h"

#include "poison.h"

#define LEFT 10.0
#define TOP 24.0
#define BOTTOM 190.0
#define HEIGHT 212.0
#define MOST_BARS 64
#define LABEL_WIDTH 90.0

struct series_chart {
    const struct ap_value *points;
    size_t count;
    double best, slot; /* samples a second; width of a bar with its space */
    int64_t knee;      /* a batch; -1 = none was found */
};

static double rate_of(const struct ap_value *point)
{
    double rate = 0;
    return ap_value_number(ap_value_member(point, "samples_per_s"), &rate) && rate > 0 ? rate : 0;
}

static bool is_knee(const struct series_chart *chart, const struct ap_value *point)
{
    return ap_integer_member(point, "batch", -1) == chart->knee && chart->knee >= 0;
}

static bool read_points(struct html *html, struct series_chart *chart)
{
    *chart = (struct series_chart){ .points = ap_html_at(html, "series.points"), .knee = -1 };
    if (ap_value_integer(ap_html_at(html, "series.knee.is_largest"), 0) == 0)
        chart->knee = ap_value_integer(ap_html_at(html, "series.knee.batch"), -1);
    const struct ap_value *point = ap_value_first(chart->points);
    for (; point && chart->count < MOST_BARS; point = point->next, chart->count++)
        chart->best = rate_of(point) > chart->best ? rate_of(point) : chart->best;
    chart->slot = chart->count ? (SVG_WIDTH - 2 * LEFT) / (double)chart->count : 0;
    return chart->count >= 2 && chart->best > 0;
}

static void write_labels(struct html *html, const struct ap_value *point, double middle, double top)
{
    ap_svg_label(html, "small m", middle, top - 6, point, "{v samples_per_s}");
    ap_svg_label(html, "small m", middle, BOTTOM + 16, point, "{v batch}");
}

static void draw_bars(struct html *html, const struct series_chart *chart)
{
    size_t every = chart->slot < LABEL_WIDTH ? (size_t)(LABEL_WIDTH / chart->slot) + 1 : 1, i = 0;
    const struct ap_value *point = ap_value_first(chart->points);
    for (; point && i < chart->count && ap_html_has_room(html, 2000); point = point->next, i++) {
        double left = LEFT + chart->slot * (double)i, height = (BOTTOM - TOP) * rate_of(point) / chart->best;
        ap_svg_rect_told(html, is_knee(chart, point) ? "cold" : "steady", left + chart->slot * 0.15, BOTTOM - height,
                         chart->slot * 0.7, height, point, "Batch {v batch}: {v samples_per_s}, a batch takes {v step_us}");
        if (i % every == 0)
            write_labels(html, point, left + chart->slot / 2, BOTTOM - height);
    }
    ap_svg_line(html, "grid", LEFT, BOTTOM, SVG_WIDTH - LEFT, BOTTOM);
}

void ap_html_series(struct html *html)
{
    struct series_chart chart;
    if (!read_points(html, &chart))
        return;
    ap_figure_begin(html, "series-chart", "Throughput against the batch size");
    ap_html_format(html, "Samples a second of %zu runs, by their batch.", chart.count);
    ap_figure_body(html);
    ap_svg_begin(html, "series-chart", "", HEIGHT);
    draw_bars(html, &chart);
    ap_svg_end(html);
    ap_legend_begin(html);
    ap_legend_entry(html, "steady", "throughput");
    if (chart.knee >= 0)
        ap_legend_entry(html, "cold", "the knee");
    ap_legend_end(html);
    ap_figure_end(html);
}
