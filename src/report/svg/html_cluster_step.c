/* SPDX-License-Identifier: MIT
 * The step in which a late rank was latest, beside the same step of a rank in the middle: two lanes on one axis. */
#include "html_pictures.h"

#include "poison.h"

#define LEFT 110.0
#define LANE 34.0
#define GAP 10.0
#define TOP 6.0

/* By cluster.step.pieces.spent; colors are those of the causes of idle time. */
static const struct {
    const char *spent, *class, *title;
} kinds[] = {
    { "compute", "compute", "kernels" },
    { "copy", "exposed_memcpy", "copies" },
    { "communication", "exposed_communication", "collectives" },
    { "data_loading", "data_loading", "waiting for a batch" },
    { "synchronization", "synchronization", "ran dry at a synchronization" },
    { "allocation", "allocation", "memory of the driver" },
    { "garbage_collection", "host_autograd", "garbage collection" },
    { "compilation", "host_optimizer", "compiling" },
    { "driver_call", "driver_call", "other calls of the driver" },
    { "launch", "launch_overhead", "waiting for launches" },
    { "queue", "queue_wait", "queued" },
    { "python", "host_python", "Python" },
    { "operators", "host_operator", "operators" },
    { "untraced", "untraced", "nothing recorded" },
};

static size_t kind_of(const struct ap_value *piece)
{
    struct ap_text spent = ap_text_member(piece, "spent");
    size_t kind = 0;
    while (kind + 1 < AP_COUNT_OF(kinds) && !ap_text_is(spent, kinds[kind].spent))
        kind++;
    return kind;
}

static void draw_piece(struct html *html, const struct ap_value *piece, double y, double scale)
{
    size_t kind = kind_of(piece);
    double x = LEFT + scale * (double)ap_integer_member(piece, "start_us", 0);
    double width = scale * (double)ap_integer_member(piece, "dur_us", 0);
    ap_svg_rect_open(html, kinds[kind].class, x, y, width, LANE);
    ap_html_string(html, kinds[kind].title);
    ap_html_tell(html, piece, " on rank {v rank}, {v dur_us} from {v start_us} on");
    if (ap_value_member(piece, "operation")->type != AP_VALUE_NULL)
        ap_html_tell(html, piece, ": {t operation}");
    ap_svg_rect_close(html);
}

static void write_legend(struct html *html, const struct ap_value *pieces)
{
    bool is_there[AP_COUNT_OF(kinds)] = { false };
    for (const struct ap_value *piece = ap_value_first(pieces); piece; piece = piece->next)
        is_there[kind_of(piece)] = true;
    ap_legend_begin(html);
    for (size_t i = 0; i < AP_COUNT_OF(kinds); i++)
        if (is_there[i])
            ap_legend_entry(html, kinds[i].class, kinds[i].title);
    ap_legend_end(html);
}

void ap_html_cluster_step(struct html *html)
{
    const struct ap_value *step = ap_html_at(html, "cluster.step"), *pieces = ap_value_member(step, "pieces");
    int64_t late_ns = ap_integer_member(step, "late_step_us", 0);
    int64_t other_ns = ap_integer_member(step, "other_step_us", 0);
    int64_t late_rank = ap_integer_member(step, "late_rank", 0);
    int64_t range_ns = late_ns > other_ns ? late_ns : other_ns;
    if (!ap_value_first(pieces) || range_ns <= 0)
        return;
    double scale = (SVG_WIDTH - LEFT - 20) / (double)range_ns, height = TOP + 2 * LANE + GAP + 34;
    ap_figure_begin(html, "rank-step", "A late step beside another rank's");
    ap_html_tell(
        html, step,
        "Step {v number}, in which rank {v late_rank} was {v late_us} late by itself, and the same step of rank "
        "{v other_rank}, each from its own start. Between two collectives the sums are known, not the order; blank is "
        "what is shorter than a 200th of the step.");
    ap_figure_body(html);
    write_legend(html, pieces);
    ap_svg_begin(html, "rank-step", "", height);
    ap_svg_label(html, "small e", LEFT - 8, TOP + LANE / 2 + 4, step, "rank {v late_rank}, late");
    ap_svg_label(html, "small e", LEFT - 8, TOP + LANE + GAP + LANE / 2 + 4, step, "rank {v other_rank}");
    for (const struct ap_value *piece = ap_value_first(pieces); piece && ap_html_has_room(html, 2000); piece = piece->next) {
        bool is_late = ap_integer_member(piece, "rank", -1) == late_rank;
        draw_piece(html, piece, is_late ? TOP : TOP + LANE + GAP, scale);
    }
    ap_axis_time(html, range_ns, LEFT, SVG_WIDTH - 20, TOP, height - 26);
    ap_svg_end(html);
    ap_figure_end(html);
}
