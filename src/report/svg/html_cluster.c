/* SPDX-License-Identifier: MIT
 * A run of many ranks: times by figure and by step and memory as heat maps, and who came when to the collectives with most
 * waiting. */
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

/* ---- heat maps: a row for each rank, the darker the further its value is above the least of its column ---- */

struct heat_figure {
    const char *key, *title;
};

static const struct heat_figure figures[] = {
    { "late_us", "own lateness" }, { "inherited_us", "inherited" },   { "waited_us", "waited" },
    { "caused_us", "caused" },     { "compute_us", "compute" },       { "communication_us", "collectives" },
    { "copy_us", "copies" },       { "data_loading_us", "data" },     { "synchronization_us", "ran dry" },
    { "allocation_us", "alloc" },  { "garbage_collection_us", "GC" }, { "compilation_us", "compiling" },
    { "python_us", "Python" },     { "operators_us", "operators" },   { "launch_us", "launches" },
};

static const struct heat_figure memory_figures[] = {
    { "peak_bytes", "peak" },
    { "peak_reserved_bytes", "reserved" },
    { "split_bytes", "between blocks" },
    { "parameters_bytes", "parameters" },
    { "gradients_bytes", "gradients" },
    { "optimizer_state_bytes", "state" },
    { "activations_bytes", "activations" },
    { "temporaries_bytes", "temporaries" },
    { "unknown_bytes", "unknown" },
};

struct heat {
    const struct ap_value *ranks;      /* the list */
    const struct heat_figure *figures; /* of the columns; NULL = they are steps */
    size_t rows, columns;
    int64_t plain; /* columns whose spread is less are all alike; -1 = less than a hundredth of its most */
    int64_t least[MOST_COLUMNS], most[MOST_COLUMNS];
};

static const struct ap_value *cell_of(const struct heat *heat, const struct ap_value *rank, size_t column)
{
    if (heat->figures)
        return ap_value_member(rank, heat->figures[column].key);
    const struct ap_value *step = ap_value_first(ap_value_member(rank, "steps_us"));
    for (; step && column; column--)
        step = step->next;
    return step;
}

static struct heat measure(const struct ap_value *ranks, const struct heat_figure *of, size_t columns)
{
    struct heat heat = {
        .ranks = ranks, .figures = of, .columns = columns < MOST_COLUMNS ? columns : MOST_COLUMNS, .plain = -1
    };
    const struct ap_value *rank = ap_value_first(ranks);
    for (; rank && heat.rows < MOST_ROWS; rank = rank->next, heat.rows++)
        for (size_t i = 0; i < heat.columns; i++) {
            int64_t value = ap_value_integer(cell_of(&heat, rank, i), 0);
            heat.least[i] = !heat.rows || value < heat.least[i] ? value : heat.least[i];
            heat.most[i] = !heat.rows || value > heat.most[i] ? value : heat.most[i];
        }
    return heat;
}

static int shade_of(const struct heat *heat, size_t column, int64_t value)
{
    int64_t least = heat->least[column], most = heat->most[column], range = ap_html_less(most, least);
    if (range <= 0 || range < (heat->plain < 0 ? most / 100 : heat->plain))
        return 0;
    int shade = (int)((double)ap_html_less(value, least) / (double)range * (SHADES - 1) + 0.5);
    return shade < 0 ? 0 : shade < SHADES ? shade : SHADES - 1;
}

static double column_width(const struct heat *heat)
{
    return (SVG_WIDTH - LEFT) / (double)heat->columns;
}

static void draw_cell(struct html *html, const struct heat *heat, const struct ap_value *rank, size_t column, double y)
{
    static const char *const shades[SHADES] = { "heat0", "heat1", "heat2", "heat3", "heat4", "heat5" };
    double width = column_width(heat);
    const struct ap_value *value = cell_of(heat, rank, column);
    if (!value || value->type == AP_VALUE_NULL)
        return;
    ap_svg_rect_open(html, shades[shade_of(heat, column, value->as.integer)], LEFT + width * (double)column, y, width - 1,
                     ROW - 1);
    ap_html_tell(html, rank, "Rank {v rank}: ");
    if (heat->figures)
        ap_html_format(html, "%s ", heat->figures[column].title);
    ap_html_value(html, value);
    ap_svg_rect_close(html);
}

static void draw_heat(struct html *html, const char *id, const struct heat *heat)
{
    int64_t first = ap_value_integer(ap_html_at(html, "cluster.steps.first"), 0);
    size_t every = heat->figures ? 1 : 1 + heat->columns / 16;
    ap_figure_body(html);
    ap_svg_begin(html, id, "", TOP + ROW * (double)heat->rows + 4);
    for (size_t i = 0; i < heat->columns; i += every) {
        ap_svg_text(html, "small m", LEFT + column_width(heat) * ((double)i + 0.5), heat->figures && i % 2 ? 12 : 26);
        if (heat->figures)
            ap_html_string(html, heat->figures[i].title);
        else
            ap_html_format(html, "%lld", (long long)(first + (int64_t)i));
        ap_svg_text_end(html);
    }
    const struct ap_value *rank = ap_value_first(heat->ranks);
    for (size_t row = 0; row < heat->rows && ap_html_has_room(html, 8000); row++, rank = rank->next) {
        double y = TOP + ROW * (double)row;
        ap_svg_label(html, "small e", LEFT - 8, y + 13, rank, "rank {v rank}");
        for (size_t i = 0; i < heat->columns; i++)
            draw_cell(html, heat, rank, i, y);
    }
    ap_svg_end(html);
    ap_figure_end(html);
}

static void write_shown(struct html *html, const struct heat *heat)
{
    int64_t left_out = ap_value_integer(ap_html_at(html, "cluster.rank_count"), 0) - (int64_t)heat->rows;
    if (left_out > 0)
        ap_html_format(html, " The %zu oddest ranks are shown, %lld more are left out.", heat->rows, (long long)left_out);
}

void ap_html_cluster_ranks(struct html *html)
{
    struct heat heat = measure(ap_html_at(html, "cluster.ranks"), figures, AP_COUNT_OF(figures));
    int64_t count = ap_value_integer(ap_html_at(html, "cluster.rank_count"), 1);
    if (heat.rows < 2)
        return;
    if (count > 0)
        heat.plain = ap_value_integer(ap_html_at(html, "cluster.rank_time_us"), 0) / count / 100;
    ap_figure_begin(html, "rank-heat", "Ranks by figure");
    ap_html_string(html,
                   "Each column for itself: the darker, the more of it a rank has than the others; columns that differ by "
                   "less than 1 % of the time are plain.");
    write_shown(html, &heat);
    draw_heat(html, "rank-heat", &heat);
}

void ap_html_cluster_steps(struct html *html)
{
    int64_t steps = ap_value_integer(ap_html_at(html, "cluster.steps.count"), 0);
    struct heat heat = measure(ap_html_at(html, "cluster.ranks"), NULL, steps > 0 ? (size_t)steps : 0);
    if (heat.rows < 2 || !heat.columns)
        return;
    ap_figure_begin(html, "rank-steps", "Step times by rank");
    ap_html_tell(html, NULL,
                 "Of the steps that all ranks have recorded, {v cluster.steps.p50_us} in the middle: each column for "
                 "itself, the darker the longer.");
    write_shown(html, &heat);
    draw_heat(html, "rank-steps", &heat);
}

void ap_html_cluster_memory(struct html *html)
{
    struct heat heat = measure(ap_html_at(html, "cluster.memory.ranks"), memory_figures, AP_COUNT_OF(memory_figures));
    if (heat.rows < 2)
        return;
    heat.plain = heat.most[0] / 50; /* of the highest peak */
    ap_figure_begin(html, "rank-memory", "Memory of the ranks");
    ap_html_string(html,
                   "Each column for itself: the darker, the more of it a rank has than the others; columns that differ by "
                   "less than 2 % of the highest peak are plain.");
    if (ap_value_integer(ap_html_at(html, "cluster.memory.rank_count"), 0) > (int64_t)heat.rows)
        ap_html_string(html, " Those with the highest peaks are shown, the others are left out.");
    draw_heat(html, "rank-memory", &heat);
}

/* ---- arrivals ---- */

static int64_t latest_arrival(const struct ap_value *worst)
{
    int64_t latest_ns = 0;
    for (size_t i = 0; worst && i < ARRIVALS_SHOWN; worst = worst->next, i++)
        for (const struct ap_value *it = ap_value_first(ap_value_member(worst, "arrivals")); it; it = it->next) {
            int64_t after_ns = ap_integer_member(it, "after_first_us", 0);
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
        double x = LEFT + scale * (double)ap_integer_member(it, "after_first_us", 0);
        bool is_last = ap_integer_member(it, "rank", -1) == ap_integer_member(worst, "last_rank", -2);
        ap_svg_label(html, "small e", LEFT - 8, y + 10, it, "rank {v rank}");
        ap_svg_rect_told(html, is_last ? "cold" : "exposed_communication", x, y + 1, 8, ROW - 6, it,
                         "Rank {v rank} came {v after_first_us} after the first; it was in it for {v dur_us}");
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
