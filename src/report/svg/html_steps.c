/* SPDX-License-Identifier: MIT
 * The time of the run and of its steps: what it went into, how long each step took. */
#include <stdio.h>

#include "html_pictures.h"

#include "poison.h"

#define LEFT 70.0
#define RIGHT (SVG_WIDTH - 100) /* of the bars; percentiles are named behind it */
#define MOST_STEPS 400
#define KEY_BYTES 64

const struct html_time_part ap_html_time_parts[] = {
    { "compute", "Compute kernels", false },
    { "memset", "Memset", false },
    { "exposed_communication", "Communication, not hidden", false },
    { "exposed_memcpy", "Copies, not hidden", false },
#define AP_IDLE_CAUSE(id, sentence) { #id, sentence, true },
#include "idle_cause.def"
#undef AP_IDLE_CAUSE
};
const size_t ap_html_time_part_count = AP_COUNT_OF(ap_html_time_parts);

/* Of an object of "split" (window, steady, judged, a step). */
static int64_t time_part_ns(const struct ap_value *of, const struct html_time_part *part)
{
    char key[KEY_BYTES];
    const struct ap_value *causes = ap_value_member(of, "idle_causes");
    if (!causes || causes->type != AP_VALUE_OBJECT)
        causes = ap_value_member(of, "host_states");
    (void)snprintf(key, sizeof(key), "%s_us", part->id);
    return ap_integer_member(part->is_cause ? causes : of, key, 0);
}

static int64_t dur_of(const struct ap_value *of)
{
    return ap_integer_member(of, "dur_us", 0);
}

/* One bar of all parts from left to right. */
static void draw_parts(struct html *html, const struct ap_value *of, double left, double y, double width, double height)
{
    double whole = (double)dur_of(of), x = left;
    for (size_t i = 0; i < ap_html_time_part_count; i++) {
        const struct html_time_part *part = &ap_html_time_parts[i];
        int64_t ns = time_part_ns(of, part);
        double part_width = whole > 0 ? (double)ns / whole * width : 0;
        if (part_width < 0.05)
            continue;
        ap_svg_rect_open(html, part->id, x, y, part_width, height);
        ap_html_string(html, part->label);
        ap_html_string(html, ": ");
        ap_html_time(html, ns);
        ap_html_string(html, ", ");
        ap_html_share(html, (double)ns / whole);
        ap_svg_rect_close(html);
        x += part_width;
    }
}

/* ---- the split of the judged part ---- */

static void write_largest(struct html *html, const struct ap_value *judged)
{
    size_t largest = 0;
    for (size_t i = 1; i < ap_html_time_part_count; i++)
        if (time_part_ns(judged, &ap_html_time_parts[i]) > time_part_ns(judged, &ap_html_time_parts[largest]))
            largest = i;
    int64_t ns = time_part_ns(judged, &ap_html_time_parts[largest]);
    ap_html_string(html, ". Most of it: ");
    ap_html_string(html, ap_html_time_parts[largest].label);
    ap_html_string(html, ", ");
    ap_html_time(html, ns);
    ap_html_string(html, " (");
    ap_html_share(html, (double)ns / (double)dur_of(judged));
    ap_html_string(html, "). ");
}

#define LEAST_NAMED 0.01 /* share of a part that is named; the others are in the table of the section */

static void write_split_legend(struct html *html, const struct ap_value *judged, bool has_gpu)
{
    int64_t small_ns = 0;
    ap_legend_begin(html);
    for (size_t i = 0; i < ap_html_time_part_count; i++) {
        int64_t ns = time_part_ns(judged, &ap_html_time_parts[i]);
        if ((double)ns < LEAST_NAMED * (double)dur_of(judged)) {
            small_ns += ns > 0 ? ns : 0;
            continue;
        }
        ap_legend_item(html, ap_html_time_parts[i].id, ap_html_time_parts[i].is_cause && has_gpu ? "idle: " : "");
        ap_html_string(html, ap_html_time_parts[i].label);
        ap_legend_time(html, ns, dur_of(judged));
    }
    if (small_ns) {
        ap_html_string(html, "<li>others, each below 1 %:");
        ap_legend_time(html, small_ns, dur_of(judged));
    }
    ap_legend_end(html);
}

void ap_html_split(struct html *html)
{
    const struct ap_value *judged = ap_html_at(html, "split.judged");
    bool has_gpu = ap_text_is(ap_value_text(ap_html_at(html, "split.basis")), "gpu");
    if (dur_of(judged) <= 0)
        return;
    ap_figure_begin(html, "split", "Where the time goes");
    if (!has_gpu)
        ap_svg_without_gpu(html);
    ap_html_string(html, has_gpu ? "Each instant of the " : "what the main thread did in the ");
    ap_html_text(html, ap_text_member(judged, "part"), 40);
    ap_html_string(html, ", ");
    ap_html_time(html, dur_of(judged));
    if (has_gpu)
        ap_html_tell(
            html, judged,
            ap_value_integer(ap_value_at(judged, "idle_causes.not_recorded_us"), 0)
                ? ", counts once. For {v idle_causes.not_recorded_ratio} of it what the GPU did is not recorded; with "
                  "that it shows no work for {v idle_ratio}. The colors say why."
                : ", counts once. The GPU is idle for {v idle_ratio} of it; the colors say why.");
    else
        write_largest(html, judged);
    ap_figure_body(html);
    ap_svg_begin(html, "split", "fit", 44);
    draw_parts(html, judged, 0, 2, SVG_WIDTH, 40);
    ap_svg_end(html);
    write_split_legend(html, judged, has_gpu);
    ap_figure_end(html);
}

/* ---- the parts of each step ---- */

static void draw_step(struct html *html, const struct ap_value *step, int64_t longest_ns, double y)
{
    double width = (SVG_WIDTH - 250) * (double)dur_of(step) / (double)longest_ns;
    ap_svg_text(html, "small", 0, y + 14);
    ap_html_text(html, ap_text_member(step, "name"), 24);
    ap_svg_text_end(html);
    draw_parts(html, step, 170, y, width, 20);
    ap_svg_label(html, "small", 170 + width + 6, y + 14, step, "{v dur_us}");
}

#define MOST_BARS 24

static bool any_step_has(const struct ap_value *step, size_t count, const struct html_time_part *part)
{
    for (size_t i = 0; i < count; i++, step = step->next)
        if (time_part_ns(step, part) > 0)
            return true;
    return false;
}

static void write_step_legend(struct html *html, const struct ap_value *first, size_t count)
{
    bool has_gpu = ap_text_is(ap_value_text(ap_html_at(html, "split.basis")), "gpu");
    ap_legend_begin(html);
    for (size_t i = 0; i < ap_html_time_part_count; i++) {
        const struct html_time_part *part = &ap_html_time_parts[i];
        if (!any_step_has(first, count, part))
            continue;
        ap_legend_item(html, part->id, part->is_cause && has_gpu ? "idle: " : "");
        ap_html_time_part_label(html, part);
        ap_legend_item_end(html);
    }
    ap_legend_end(html);
}

void ap_html_step_parts(struct html *html)
{
    static const char *const titles[] = { "Step", "Duration", "Compute", "Communication", "Copies", "Idle", NULL };
    const struct ap_value *steps = ap_html_at(html, "split.steps"), *step;
    size_t count = 0;
    int64_t longest_ns = 0;
    for (step = ap_value_first(steps); step && count < MOST_BARS; step = step->next, count++)
        longest_ns = dur_of(step) > longest_ns ? dur_of(step) : longest_ns;
    if (count < 2 || longest_ns <= 0)
        return;
    ap_figure_begin(html, "step-parts", "What each step is made of");
    ap_html_format(html, "The first %zu steps, each bar as long as its step.", count);
    ap_figure_body(html);
    ap_svg_begin(html, "step-parts", "", 26.0 * (double)count);
    step = ap_value_first(steps);
    for (size_t i = 0; i < count && ap_html_has_room(html, 10000); i++, step = step->next)
        draw_step(html, step, longest_ns, 26.0 * (double)i);
    ap_svg_end(html);
    write_step_legend(html, ap_value_first(steps), count);
    ap_figures_begin(html, titles);
    step = ap_value_first(steps);
    for (size_t i = 0; i < count && ap_html_has_room(html, 3000); i++, step = step->next)
        ap_html_tell(html, step,
                     "<tr><th scope=\"row\">{n name}</th>{c dur_us}{c compute_us}{c exposed_communication_us}"
                     "{c exposed_memcpy_us}{c idle_us}</tr>\n");
    ap_figures_end(html);
    ap_figure_end(html);
}

/* ---- step times ---- */

struct step_chart {
    const struct ap_value *rows;
    size_t count;
    int64_t top_ns;
    double top, bottom;
};

static bool is_true(const struct ap_value *row, const char *key)
{
    return ap_integer_member(row, key, 0) == 1;
}

static const struct {
    const char *class, *label;
} step_kinds[] = { { "steady", "steady" }, { "cold", "cold: warm-up" }, { "cutoff", "cut by the recording" } };

static size_t kind_of_step(const struct ap_value *row)
{
    return is_true(row, "cut") ? 2 : is_true(row, "cold") ? 1 : 0;
}

static bool any_step_is(const struct step_chart *chart, size_t kind)
{
    const struct ap_value *row = ap_value_first(chart->rows);
    for (size_t i = 0; row && i < chart->count; row = row->next, i++)
        if (kind_of_step(row) == kind)
            return true;
    return false;
}

static void draw_steps(struct html *html, const struct step_chart *chart)
{
    double slot = (RIGHT - LEFT) / (double)chart->count;
    size_t i = 0;
    for (const struct ap_value *row = ap_value_first(chart->rows); row && i < chart->count && ap_html_has_room(html, 2000);
         row = row->next, i++) {
        double height = (chart->bottom - chart->top) * (double)dur_of(row) / (double)chart->top_ns;
        ap_svg_rect_open(html, step_kinds[kind_of_step(row)].class, LEFT + slot * (double)i + slot * 0.08,
                         chart->bottom - height, slot * 0.84, height);
        ap_html_text(html, ap_text_member(row, "name"), 60);
        ap_html_tell(html, row, ": {v dur_us}");
        ap_html_string(html, is_true(row, "cut") ? ", cut" : is_true(row, "cold") ? ", cold" : "");
        ap_svg_rect_close(html);
    }
}

static const struct {
    const char *key, *label;
} percentiles[] = { { "p50_us", "median" }, { "p90_us", "p90" }, { "p95_us", "p95" }, { "p99_us", "p99" } };

/* Labels of lines that lie close are pushed apart, upward, and then all down as far as the highest would leave the chart. */
static void draw_percentiles(struct html *html, const struct step_chart *chart, const struct ap_value *steady)
{
    double label_y = chart->bottom + 20, at[AP_COUNT_OF(percentiles)] = { 0 };
    for (size_t i = 0; i < AP_COUNT_OF(percentiles); i++) {
        const struct ap_value *value = ap_value_member(steady, percentiles[i].key);
        if (!value || value->type != AP_VALUE_TIME_NS)
            continue;
        double y = chart->bottom - (chart->bottom - chart->top) * (double)value->as.integer / (double)chart->top_ns;
        ap_svg_line(html, "rule", LEFT, y, RIGHT, y);
        label_y = y < label_y - 12 ? y : label_y - 12;
        at[i] = label_y;
    }
    double down = label_y < chart->top ? chart->top - label_y : 0;
    for (size_t i = 0; i < AP_COUNT_OF(percentiles); i++) {
        const struct ap_value *value = ap_value_member(steady, percentiles[i].key);
        if (!value || value->type != AP_VALUE_TIME_NS)
            continue;
        ap_svg_text(html, "small", RIGHT + 6, at[i] + down + 4);
        ap_html_format(html, "%s ", percentiles[i].label);
        ap_html_value(html, value);
        ap_svg_text_end(html);
    }
}

static void write_step_sentence(struct html *html, const struct step_chart *chart, const struct ap_value *steady)
{
    ap_html_count(html, ap_value_integer(ap_html_at(html, "steps.count"), 0));
    ap_html_string(html, " steps");
    if ((int64_t)chart->count < ap_value_integer(ap_html_at(html, "steps.count"), 0))
        ap_html_format(html, ", the first %zu are drawn", chart->count);
    ap_html_string(html, ". Steady ones: ");
    const char *before = "";
    for (size_t i = 0; i < AP_COUNT_OF(percentiles); i++) {
        const struct ap_value *value = ap_value_member(steady, percentiles[i].key);
        if (!value || value->type != AP_VALUE_TIME_NS)
            continue;
        ap_html_format(html, "%s%s ", before, percentiles[i].label);
        ap_html_value(html, value);
        before = ", ";
    }
    ap_html_string(html, *before ? "." : "too few for percentiles.");
}

void ap_html_steps(struct html *html)
{
    const struct ap_value *steady = ap_html_at(html, "steps.steady");
    struct step_chart chart = { .rows = ap_html_at(html, "pictures.steps"), .top = 10, .bottom = 190 };
    if (!ap_value_first(chart.rows))
        chart.rows = ap_html_at(html, "steps.rows");
    for (const struct ap_value *row = ap_value_first(chart.rows); row && chart.count < MOST_STEPS;
         row = row->next, chart.count++)
        chart.top_ns = dur_of(row) > chart.top_ns ? dur_of(row) : chart.top_ns;
    if (chart.count < 2 || chart.top_ns <= 0)
        return;
    ap_figure_begin(html, "steps-chart", "Step times");
    write_step_sentence(html, &chart, steady);
    ap_figure_body(html);
    ap_svg_begin(html, "steps-chart", "", 205);
    ap_axis_y(html, chart.top_ns, false, LEFT, chart.top, chart.bottom);
    draw_steps(html, &chart);
    draw_percentiles(html, &chart, steady);
    ap_svg_end(html);
    ap_legend_begin(html);
    for (size_t i = 0; i < AP_COUNT_OF(step_kinds); i++)
        if (any_step_is(&chart, i))
            ap_legend_entry(html, step_kinds[i].class, step_kinds[i].label);
    ap_legend_end(html);
    ap_figure_end(html);
}
