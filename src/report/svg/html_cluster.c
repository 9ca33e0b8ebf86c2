/* SPDX-License-Identifier: MIT
 * A run of many ranks: ranks by figure and by step as heat maps, and who came when to the collectives with most waiting. */
#include "html_pictures.h"

#include "poison.h"

#define LEFT 150.0
#define TOP 34.0
#define ROW 18.0
#define MOST_ROWS 40
#define MOST_COLUMNS 60
#define SHADES 6
#define ARRIVALS_SHOWN 4
#define ARRIVAL_ROWS 24

/* ---- heat maps: a row for each rank, the darker the further its value is above the middle of its column ---- */

static const struct {
    const char *key, *title;
} figures[] = {
    { "late_us", "own lateness" }, { "inherited_us", "inherited" },   { "waited_us", "waited" },
    { "caused_us", "caused" },     { "compute_us", "compute" },       { "communication_us", "collectives" },
    { "copy_us", "copies" },       { "data_loading_us", "data" },     { "synchronization_us", "ran dry" },
    { "allocation_us", "alloc" },  { "garbage_collection_us", "GC" }, { "compilation_us", "compiling" },
    { "python_us", "Python" },     { "operators_us", "operators" },   { "launch_us", "launches" },
};

struct heat {
    const struct ap_value *ranks; /* the list */
    size_t rows, columns;
    const struct ap_value *(*cell)(const struct ap_value *rank, size_t column);
    int64_t least[MOST_COLUMNS], most[MOST_COLUMNS];
};

static const struct ap_value *figure_of(const struct ap_value *rank, size_t column)
{
    return ap_value_member(rank, figures[column].key);
}

static const struct ap_value *step_of(const struct ap_value *rank, size_t column)
{
    const struct ap_value *step = ap_value_first(ap_value_member(rank, "steps_us"));
    for (; step && column; column--)
        step = step->next;
    return step;
}

static void measure(struct heat *heat, size_t columns)
{
    heat->columns = columns < MOST_COLUMNS ? columns : MOST_COLUMNS;
    heat->rows = 0;
    const struct ap_value *rank = ap_value_first(heat->ranks);
    for (; rank && heat->rows < MOST_ROWS; rank = rank->next, heat->rows++)
        for (size_t i = 0; i < heat->columns; i++) {
            int64_t value = ap_value_integer(heat->cell(rank, i), 0);
            heat->least[i] = !heat->rows || value < heat->least[i] ? value : heat->least[i];
            heat->most[i] = !heat->rows || value > heat->most[i] ? value : heat->most[i];
        }
}

/* Columns whose spread is small beside the step are all alike. */
static int shade_of(int64_t value, int64_t least, int64_t most, int64_t step_ns)
{
    int64_t range = ap_html_less(most, least);
    if (range <= 0 || range < step_ns / 100)
        return 0;
    int shade = (int)((double)ap_html_less(value, least) / (double)range * (SHADES - 1) + 0.5);
    return shade < 0 ? 0 : shade < SHADES ? shade : SHADES - 1;
}

static void draw_cell(struct html *html, const struct heat *heat, const struct ap_value *rank, size_t column, double y)
{
    static const char *const shades[SHADES] = { "heat0", "heat1", "heat2", "heat3", "heat4", "heat5" };
    double width = (SVG_WIDTH - LEFT) / (double)heat->columns;
    int64_t step_ns = ap_value_integer(ap_html_at(html, "cluster.rank_time_us"), 0);
    int64_t count = ap_value_integer(ap_html_at(html, "cluster.rank_count"), 1);
    const struct ap_value *value = heat->cell(rank, column);
    if (!value || value->type == AP_VALUE_NULL)
        return;
    int shade = shade_of(value->as.integer, heat->least[column], heat->most[column],
                         heat->cell == figure_of && count > 0 ? step_ns / count : heat->most[column]);
    ap_svg_rect_open(html, shades[shade], LEFT + width * (double)column, y, width - 1, ROW - 1);
    ap_html_tell(html, rank, "Rank {v rank}: ");
    if (heat->cell == figure_of) {
        ap_html_string(html, figures[column].title);
        ap_html_string(html, " ");
    }
    ap_html_time(html, value->as.integer);
    ap_svg_rect_close(html);
}

static void draw_rows(struct html *html, const struct heat *heat)
{
    const struct ap_value *rank = ap_value_first(heat->ranks);
    for (size_t row = 0; row < heat->rows && ap_html_has_room(html, 8000); row++, rank = rank->next) {
        double y = TOP + ROW * (double)row;
        ap_svg_label(html, "small e", LEFT - 8, y + 13, rank, "rank {v rank}");
        for (size_t i = 0; i < heat->columns; i++)
            draw_cell(html, heat, rank, i, y);
    }
}

static void write_shown(struct html *html, const struct heat *heat)
{
    int64_t left_out = ap_value_integer(ap_html_at(html, "cluster.rank_count"), 0) - (int64_t)heat->rows;
    if (left_out > 0)
        ap_html_format(html, " The %zu oddest ranks are shown, %lld more are left out.", heat->rows, (long long)left_out);
}

void ap_html_cluster_ranks(struct html *html)
{
    struct heat heat = { .ranks = ap_html_at(html, "cluster.ranks"), .cell = figure_of };
    measure(&heat, AP_COUNT_OF(figures));
    if (heat.rows < 2)
        return;
    double width = (SVG_WIDTH - LEFT) / (double)heat.columns;
    ap_figure_begin(html, "rank-heat", "Ranks by figure");
    ap_html_string(html,
                   "Each column for itself: the darker, the more of it a rank has than the others; columns that differ by "
                   "less than 1 % of the time are plain.");
    write_shown(html, &heat);
    ap_figure_body(html);
    ap_svg_begin(html, "rank-heat", "", TOP + ROW * (double)heat.rows + 4);
    for (size_t i = 0; i < heat.columns; i++) {
        ap_svg_text(html, "small m", LEFT + width * ((double)i + 0.5), i % 2 ? 12 : 26);
        ap_html_string(html, figures[i].title);
        ap_svg_text_end(html);
    }
    draw_rows(html, &heat);
    ap_svg_end(html);
    ap_figure_end(html);
}

void ap_html_cluster_steps(struct html *html)
{
    struct heat heat = { .ranks = ap_html_at(html, "cluster.ranks"), .cell = step_of };
    int64_t steps = ap_value_integer(ap_html_at(html, "cluster.steps.count"), 0);
    measure(&heat, steps > 0 ? (size_t)steps : 0);
    if (heat.rows < 2 || !heat.columns)
        return;
    double width = (SVG_WIDTH - LEFT) / (double)heat.columns;
    ap_figure_begin(html, "rank-steps", "Step times by rank");
    ap_html_tell(html, NULL,
                 "Of the steps that all ranks have recorded, {v cluster.steps.p50_us} in the middle: each column for "
                 "itself, the darker the longer.");
    write_shown(html, &heat);
    ap_figure_body(html);
    ap_svg_begin(html, "rank-steps", "", TOP + ROW * (double)heat.rows + 4);
    int64_t first = ap_value_integer(ap_html_at(html, "cluster.steps.first"), 0);
    for (size_t i = 0; i < heat.columns; i += 1 + heat.columns / 16) {
        ap_svg_text(html, "small m", LEFT + width * ((double)i + 0.5), 26);
        ap_html_format(html, "%lld", (long long)(first + (int64_t)i));
        ap_svg_text_end(html);
    }
    draw_rows(html, &heat);
    ap_svg_end(html);
    ap_figure_end(html);
}

/* ---- arrivals ---- */

static int64_t latest_arrival(const struct ap_value *worst)
{
    int64_t latest_ns = 0;
    for (size_t i = 0; worst && i < ARRIVALS_SHOWN; worst = worst->next, i++)
        for (const struct ap_value *it = ap_value_first(ap_value_member(worst, "arrivals")); it; it = it->next) {
            int64_t after_ns = ap_value_integer(ap_value_member(it, "after_first_us"), 0);
            latest_ns = after_ns > latest_ns ? after_ns : latest_ns;
        }
    return latest_ns;
}

/* From arrival to the common end: the first bar is the longest. */
static double draw_arrivals(struct html *html, const struct ap_value *worst, int64_t range_ns, double y)
{
    const struct ap_value *it = ap_value_first(ap_value_member(worst, "arrivals"));
    double scale = (SVG_WIDTH - LEFT - 90) / (double)range_ns;
    ap_svg_label(html, "small", 0, y + 12, worst, "{t operation}, {v waited_us} of waiting");
    y += ROW;
    for (size_t row = 0; it && row < ARRIVAL_ROWS && ap_html_has_room(html, 2000); it = it->next, row++, y += ROW - 4) {
        double x = LEFT + scale * (double)ap_value_integer(ap_value_member(it, "after_first_us"), 0);
        bool is_last =
            ap_value_integer(ap_value_member(it, "rank"), -1) == ap_value_integer(ap_value_member(worst, "last_rank"), -2);
        ap_svg_label(html, "small e", LEFT - 8, y + 10, it, "rank {v rank}");
        ap_svg_rect_open(html, is_last ? "cold" : "exposed_communication", x, y + 1, 8, ROW - 6);
        ap_html_tell(html, it, "Rank {v rank} came {v after_first_us} after the first; it was in it for {v dur_us}");
        ap_svg_rect_close(html);
        ap_svg_line(html, "grid", x + 8, y + ROW / 2 - 2, LEFT + scale * (double)range_ns + 8, y + ROW / 2 - 2);
    }
    return y + 8;
}

static double height_of(const struct ap_value *worst)
{
    double height = 30;
    for (size_t i = 0; worst && i < ARRIVALS_SHOWN; worst = worst->next, i++) {
        size_t rows = 0;
        for (const struct ap_value *it = ap_value_first(ap_value_member(worst, "arrivals")); it; it = it->next)
            rows++;
        height += ROW + 8 + (ROW - 4) * (double)(rows < ARRIVAL_ROWS ? rows : ARRIVAL_ROWS);
    }
    return height;
}

void ap_html_cluster_arrivals(struct html *html)
{
    const struct ap_value *worst = ap_value_first(ap_html_at(html, "cluster.worst"));
    int64_t range_ns = latest_arrival(worst);
    double height = height_of(worst), y = 6;
    if (range_ns <= 0)
        return;
    ap_figure_begin(html, "rank-arrivals", "Who came when to the collectives with most waiting");
    ap_html_string(html,
                   "Counted from the rank that came first, from durations, so that no clocks are compared; the last one is "
                   "marked, and the lines go on to when it came.");
    ap_figure_body(html);
    ap_svg_begin(html, "rank-arrivals", "", height);
    for (size_t i = 0; worst && i < ARRIVALS_SHOWN; worst = worst->next, i++)
        y = draw_arrivals(html, worst, range_ns, y);
    ap_axis_time(html, range_ns, LEFT, SVG_WIDTH - 90, 6, height - 20);
    ap_svg_end(html);
    ap_figure_end(html);
}
