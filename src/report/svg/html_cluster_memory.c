/* SPDX-License-Identifier: MIT
 * Memory of the ranks of a run as a heat map: a row for each rank, the darker the more of it a rank has than the others. */
#include "html_pictures.h"

#include "poison.h"

#define LEFT 150.0
#define TOP 34.0
#define ROW 18.0
#define MOST_ROWS 40
#define SHADES 6
#define PLAIN_PART 50 /* columns that differ by less than a fiftieth of the highest peak are plain */

static const struct {
    const char *key, *title;
} figures[] = {
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

struct column {
    int64_t least, most;
};

static size_t measure(const struct ap_value *rank, struct column columns[AP_COUNT_OF(figures)])
{
    size_t rows = 0;
    for (; rank && rows < MOST_ROWS; rank = rank->next, rows++)
        for (size_t i = 0; i < AP_COUNT_OF(figures); i++) {
            int64_t value = ap_value_integer(ap_value_member(rank, figures[i].key), 0);
            columns[i].least = !rows || value < columns[i].least ? value : columns[i].least;
            columns[i].most = !rows || value > columns[i].most ? value : columns[i].most;
        }
    return rows;
}

static int shade_of(int64_t value, const struct column *column, int64_t peak_bytes)
{
    int64_t range = ap_html_less(column->most, column->least);
    if (range <= 0 || range < peak_bytes / PLAIN_PART)
        return 0;
    return (int)((double)ap_html_less(value, column->least) / (double)range * (SHADES - 1) + 0.5);
}

static void draw_row(struct html *html, const struct ap_value *rank, const struct column *columns, double y)
{
    static const char *const shades[SHADES] = { "heat0", "heat1", "heat2", "heat3", "heat4", "heat5" };
    double width = (SVG_WIDTH - LEFT) / (double)AP_COUNT_OF(figures);
    ap_svg_label(html, "small e", LEFT - 8, y + 13, rank, "rank {v rank}");
    for (size_t i = 0; i < AP_COUNT_OF(figures); i++) {
        const struct ap_value *value = ap_value_member(rank, figures[i].key);
        if (!value || value->type == AP_VALUE_NULL)
            continue;
        int shade = shade_of(value->as.integer, &columns[i], columns[0].most);
        ap_svg_rect_open(html,
                         shades[shade < 0        ? 0
                                : shade < SHADES ? shade
                                                 : SHADES - 1],
                         LEFT + width * (double)i, y, width - 1, ROW - 1);
        ap_html_tell(html, rank, "Rank {v rank}: ");
        ap_html_string(html, figures[i].title);
        ap_html_string(html, " ");
        ap_html_bytes(html, value->as.integer);
        ap_svg_rect_close(html);
    }
}

void ap_html_cluster_memory(struct html *html)
{
    const struct ap_value *rank = ap_value_first(ap_html_at(html, "cluster.memory.ranks"));
    struct column columns[AP_COUNT_OF(figures)];
    size_t rows = measure(rank, columns);
    double width = (SVG_WIDTH - LEFT) / (double)AP_COUNT_OF(figures), y = TOP;
    if (rows < 2)
        return;
    ap_figure_begin(html, "rank-memory", "Memory of the ranks");
    ap_html_string(html,
                   "Each column for itself: the darker, the more of it a rank has than the others; columns that differ by "
                   "less than 2 % of the highest peak are plain.");
    if (ap_value_integer(ap_html_at(html, "cluster.memory.rank_count"), 0) > (int64_t)rows)
        ap_html_string(html, " Those with the highest peaks are shown, the others are left out.");
    ap_figure_body(html);
    ap_svg_begin(html, "rank-memory", "", TOP + ROW * (double)rows + 4);
    for (size_t i = 0; i < AP_COUNT_OF(figures); i++) {
        ap_svg_text(html, "small m", LEFT + width * ((double)i + 0.5), i % 2 ? 12 : 26);
        ap_html_string(html, figures[i].title);
        ap_svg_text_end(html);
    }
    for (size_t i = 0; i < rows && ap_html_has_room(html, 8000); i++, rank = rank->next, y += ROW)
        draw_row(html, rank, columns, y);
    ap_svg_end(html);
    ap_figure_end(html);
}
