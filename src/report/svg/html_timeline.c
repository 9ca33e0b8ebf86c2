/* SPDX-License-Identifier: MIT
 * Over time: what the devices did and why they did nothing, and the rows of threads and streams around one place. */
#include <string.h>

#include "picture_links.h"
#include "html_pictures.h"
#include "kernel_name.h"
#include "visible_text.h"

#include "poison.h"

#define LEFT 46.0
#define STRIP_TOP 8.0
#define STRIP_BOTTOM 128.0
#define MOST_PARTS 32
#define MOST_BINS 400

/* ---- the strip ---- */

struct strip {
    const struct html_time_part *parts[MOST_PARTS];
    int64_t sum_ns[MOST_PARTS];
    size_t part_count, bin_count;
    const struct ap_value *bins;
    int64_t start_ns, bin_ns, range_ns;
    double below[MOST_BINS]; /* where each bin is filled up to */
};

/* A part is drawn by what the split calls it: its id is a class of the style. */
static const struct html_time_part *part_of(struct ap_text id)
{
    for (size_t i = 0; i < ap_html_time_part_count; i++)
        if (ap_text_is(id, ap_html_time_parts[i].id))
            return &ap_html_time_parts[i];
    return NULL;
}

static void measure_strip(struct strip *strip, const struct ap_value *of)
{
    strip->bins = ap_value_member(of, "bins");
    strip->start_ns = ap_integer_member(of, "start_us", 0);
    strip->bin_ns = ap_integer_member(of, "bin_us", 0);
    for (const struct ap_value *name = ap_value_first(ap_value_member(of, "columns"));
         name && strip->part_count < MOST_PARTS; name = name->next)
        strip->parts[strip->part_count++] = part_of(ap_value_text(name));
    for (const struct ap_value *bin = ap_value_first(strip->bins); bin && strip->bin_count < MOST_BINS; bin = bin->next) {
        size_t part = 0;
        for (const struct ap_value *ns = ap_value_first(bin); ns && part < strip->part_count; ns = ns->next, part++)
            strip->sum_ns[part] = ap_html_sum(strip->sum_ns[part], ap_value_integer(ns, 0));
        strip->below[strip->bin_count++] = STRIP_BOTTOM;
    }
}

static const struct ap_value *nth(const struct ap_value *list, size_t index)
{
    const struct ap_value *at = ap_value_first(list);
    while (at && index--)
        at = at->next;
    return at;
}

/* One outline for all bins of a part. */
static void draw_part(struct html *html, struct strip *strip, size_t part)
{
    double width = (SVG_WIDTH - LEFT) / (double)strip->bin_count;
    size_t i = 0;
    ap_html_format(html, "<path class=\"%s\" d=\"", strip->parts[part]->id);
    for (const struct ap_value *bin = ap_value_first(strip->bins); bin && i < strip->bin_count; bin = bin->next, i++) {
        double height = (STRIP_BOTTOM - STRIP_TOP) * (double)ap_value_integer(nth(bin, part), 0) / (double)strip->bin_ns;
        if (height < 0.05 || !ap_html_has_room(html, 6000))
            continue;
        ap_svg_step(html, "M", LEFT + width * (double)i);
        ap_svg_step(html, " ", strip->below[i]);
        ap_svg_step(html, "v-", height);
        ap_svg_step(html, "h", width);
        ap_svg_step(html, "v", height);
        ap_html_string(html, "z");
        strip->below[i] -= height;
    }
    ap_html_string(html, "\"><title>");
    ap_html_string(html, strip->parts[part]->is_cause ? "idle: " : "");
    ap_html_string(html, strip->parts[part]->label);
    ap_html_string(html, ": ");
    ap_html_time(html, strip->sum_ns[part]);
    ap_html_string(html, " in all</title></path>\n");
}

void ap_html_time_part_label(struct html *html, const struct html_time_part *part)
{
    if (!part->is_cause) {
        ap_html_string(html, part->label);
        return;
    }
    for (const char *c = part->id; *c; c++)
        ap_out_char(&html->out, *c == '_' ? ' ' : *c);
}

static void draw_strip(struct html *html, struct strip *strip, bool has_gpu)
{
    ap_svg_begin(html, "utilization", "", STRIP_BOTTOM + 22);
    for (int i = 0; i <= 2; i++) {
        double y = STRIP_BOTTOM - (STRIP_BOTTOM - STRIP_TOP) * i / 2;
        ap_svg_text(html, "small e", LEFT - 6, y + 4);
        ap_html_format(html, "%d %%", i * 50);
        ap_svg_text_end(html);
    }
    ap_axis_time(html, strip->range_ns, LEFT, SVG_WIDTH, STRIP_TOP, STRIP_BOTTOM);
    for (size_t part = 0; part < strip->part_count; part++)
        if (strip->parts[part] && strip->sum_ns[part] > 0)
            draw_part(html, strip, part);
    ap_mark_findings(html, &(struct ap_marked_stretch){ .start_ns = strip->start_ns,
                                                        .dur_ns = strip->range_ns,
                                                        .left = LEFT,
                                                        .right = SVG_WIDTH,
                                                        .top = STRIP_TOP - 4,
                                                        .bottom = STRIP_BOTTOM });
    ap_svg_end(html);
    ap_legend_begin(html);
    for (size_t part = 0; part < strip->part_count; part++) {
        if (!strip->parts[part] || strip->sum_ns[part] <= 0)
            continue;
        ap_legend_item(html, strip->parts[part]->id, strip->parts[part]->is_cause && has_gpu ? "idle: " : "");
        ap_html_time_part_label(html, strip->parts[part]);
        ap_legend_time(html, strip->sum_ns[part], 0);
    }
    ap_legend_end(html);
}

void ap_html_utilization(struct html *html)
{
    struct strip strip = { .part_count = 0 };
    int64_t work_ns = 0, all_ns = 0;
    bool has_gpu = ap_text_is(ap_value_text(ap_html_at(html, "split.basis")), "gpu");
    measure_strip(&strip, ap_html_at(html, "pictures.utilization"));
    if (strip.bin_count < 2 || strip.bin_ns <= 0 || strip.bin_ns > INT64_MAX / MOST_BINS)
        return;
    strip.range_ns = strip.bin_ns * (int64_t)strip.bin_count;
    for (size_t part = 0; part < strip.part_count; part++) {
        all_ns = ap_html_sum(all_ns, strip.sum_ns[part]);
        work_ns = ap_html_sum(work_ns, strip.parts[part] && !strip.parts[part]->is_cause ? strip.sum_ns[part] : 0);
    }
    ap_figure_begin(html, "utilization", has_gpu ? "GPU utilization over time" : "Main thread over time");
    if (has_gpu) {
        ap_html_string(html, "GPU work at the bottom, above it why the GPU did nothing. Work fills ");
        ap_html_share(html, all_ns > 0 ? (double)work_ns / (double)all_ns : 0);
        ap_html_string(html, " of ");
        ap_html_time(html, all_ns);
        ap_html_string(html, "; each column is ");
    } else {
        ap_svg_without_gpu(html);
        ap_html_string(html, "what the main thread did; each column is ");
    }
    ap_html_time(html, strip.bin_ns);
    ap_html_string(html, ".");
    ap_figure_body(html);
    draw_strip(html, &strip, has_gpu);
    ap_figure_end(html);
}

/* ---- the timeline ---- */

#define BAR_HEIGHT 17.0
#define LANE_HEAD 18.0
#define MOST_LANES 32
#define MOST_BARS 900
#define LEAST_LABEL 38.0
#define NAMES_ROOM 60000 /* more are not begun */

struct timeline {
    const struct ap_value *of;
    int64_t start_ns, dur_ns;
    double lane_y[MOST_LANES];
    int64_t lane_depth[MOST_LANES];
    size_t lane_count;
    double height;
};

static double x_at(const struct timeline *timeline, double ns)
{
    double share = (ns - (double)timeline->start_ns) / (double)timeline->dur_ns;
    return SVG_WIDTH * (share < 0 ? 0 : share > 1 ? 1 : share);
}

static void place_lanes(struct timeline *timeline)
{
    timeline->height = 4;
    for (const struct ap_value *lane = ap_value_first(ap_value_member(timeline->of, "lanes"));
         lane && timeline->lane_count < MOST_LANES; lane = lane->next) {
        int64_t depth = ap_integer_member(lane, "depth", 1);
        depth = depth < 1 ? 1 : depth > 20 ? 20 : depth;
        timeline->lane_depth[timeline->lane_count] = depth;
        timeline->lane_y[timeline->lane_count++] = timeline->height + LANE_HEAD;
        timeline->height += LANE_HEAD + BAR_HEIGHT * (double)depth + 6;
    }
}

static const char *class_of_kind(struct ap_text kind)
{
    static const char *const kinds[] = { "operator",      "python", "runtime", "annotation", "kernel",
                                         "communication", "memcpy", "memset",  "engine" };
    for (size_t i = 0; i < AP_COUNT_OF(kinds); i++)
        if (ap_text_is(kind, kinds[i]))
            return kinds[i];
    return "idle";
}

static const char *class_of(const struct ap_value *bar)
{
    return class_of_kind(ap_text_member(bar, "kind"));
}

static bool is_kernel(const char *bar_class)
{
    return strcmp(bar_class, "kernel") == 0 || strcmp(bar_class, "communication") == 0;
}

/* What stands on a bar: of a kernel its short name, of a path its last part. */
static struct ap_text label_of(struct ap_text name, const char *bar_class)
{
    return is_kernel(bar_class) ? ap_kernel_short_name(name) : ap_short_label(name);
}

/* Text that can be read on the bar; NULL = none can. */
static const char *label_class(const char *bar_class)
{
    if (strcmp(bar_class, "memset") == 0 || strcmp(bar_class, "memcpy") == 0)
        return NULL;
    return is_kernel(bar_class) ? "gin" : "tin";
}

static void draw_lanes(struct html *html, const struct timeline *timeline)
{
    const struct ap_value *lane = ap_value_first(ap_value_member(timeline->of, "lanes"));
    for (size_t i = 0; i < timeline->lane_count; i++, lane = lane->next) {
        ap_svg_rect(html, "lane", 0, timeline->lane_y[i], SVG_WIDTH, BAR_HEIGHT * (double)timeline->lane_depth[i]);
        ap_svg_text(html, "small", 0, timeline->lane_y[i] - 5);
        ap_html_string(html, ap_text_is(ap_text_member(lane, "side"), "gpu") ? "GPU: " : "host: ");
        if (ap_text_member(lane, "name").bytes)
            ap_html_text(html, ap_text_member(lane, "name"), 60);
        else
            ap_html_value(html, ap_value_member(lane, "tid"));
        ap_svg_text_end(html);
    }
}

static void draw_bar(struct html *html, const struct timeline *timeline, const struct ap_value *bar)
{
    int64_t lane = ap_integer_member(bar, "lane", -1), depth = ap_integer_member(bar, "depth", 0);
    int64_t start_ns = ap_integer_member(bar, "start_us", 0), dur_ns = ap_integer_member(bar, "dur_us", 0);
    if (lane < 0 || lane >= (int64_t)timeline->lane_count || depth < 0 || depth >= timeline->lane_depth[lane])
        return;
    double x = x_at(timeline, (double)start_ns), width = x_at(timeline, (double)start_ns + (double)dur_ns) - x;
    double y = timeline->lane_y[lane] + BAR_HEIGHT * (double)depth;
    struct ap_text name = ap_text_member(bar, "name"), label = label_of(name, class_of(bar));
    ap_html_string(html, "<g class=\"b\"");
    if (is_kernel(class_of(bar)) && label.bytes < name.bytes) {
        ap_html_string(html, " data-n=\"");
        ap_html_text(html, label, 60);
        ap_html_string(html, "\"");
    }
    ap_html_string(html, "><title>");
    ap_html_text(html, name, 160);
    ap_html_tell(html, bar, ": {v dur_us}, starts after ");
    ap_html_time(html, ap_html_less(start_ns, timeline->start_ns));
    ap_html_format(html, width < 3 ? "</title><rect class=\"%s\"" : "</title><rect class=\"cell %s\"", class_of(bar));
    ap_svg_position(html, "x", x);
    ap_svg_position(html, "width", width < 0.5 ? 0.5 : width);
    ap_svg_position(html, "y", y);
    ap_html_format(html, " height=\"%.0f\"/>", BAR_HEIGHT);
    if (width >= LEAST_LABEL && label_class(class_of(bar)))
        ap_svg_fitting(html, label_class(class_of(bar)), x + 3, y + 12.5, label, width - 6);
    ap_html_string(html, "</g>\n");
}

/* Behind the bars as an area. */
static void draw_gap(struct html *html, const struct timeline *timeline)
{
    const struct ap_value *gap = ap_value_member(timeline->of, "gap");
    double start_ns = (double)ap_integer_member(gap, "start_us", 0), dur_ns = (double)ap_integer_member(gap, "dur_us", 0);
    if (dur_ns <= 0)
        return;
    double x = x_at(timeline, start_ns), width = x_at(timeline, start_ns + dur_ns) - x;
    ap_svg_rect_told(html, "gapmark", x, 0, width, timeline->height, gap, "the gap: no device works for {v dur_us}");
}

static void draw_finding(struct html *html, const struct timeline *timeline)
{
    const struct ap_value *finding = ap_value_member(timeline->of, "finding");
    double start_ns = (double)ap_integer_member(finding, "start_us", 0),
           dur_ns = (double)ap_integer_member(finding, "dur_us", 0);
    if (dur_ns <= 0)
        return;
    double x = x_at(timeline, start_ns), width = x_at(timeline, start_ns + dur_ns) - x;
    ap_svg_rect(html, "findmark", x, 1, width < 2 ? 2 : width, timeline->height - 1);
}

/* Where the writer of a page has room: rows that the script draws where the reader zooms. One line for each name: its class,
 * the name, what stands on the bar. */
static void put_more_rows(struct html *html, const struct timeline *timeline)
{
    const struct ap_value *more = ap_value_member(timeline->of, "more"),
                          *name = ap_value_first(ap_value_member(more, "names")),
                          *kind = ap_value_first(ap_value_member(more, "kinds"));
    struct ap_text rows = ap_text_member(more, "rows");
    if (!html->contents || !rows.bytes || !ap_html_has_room(html, rows.bytes + NAMES_ROOM))
        return;
    ap_html_format(html, "<g class=\"more\" data-d=\"%lld %lld",
                   (long long)ap_html_less(ap_integer_member(more, "start_us", 0), timeline->start_ns),
                   (long long)ap_integer_member(more, "dur_us", 0));
    for (size_t i = 0; i < timeline->lane_count; i++)
        ap_html_format(html, " %.0f", timeline->lane_y[i]);
    ap_html_string(html, "\" data-n=\"");
    for (; name && kind && ap_html_has_room(html, rows.bytes + 3000); name = name->next, kind = kind->next) {
        const char *bar_class = class_of_kind(ap_value_text(kind));
        struct ap_text label = label_of(ap_value_text(name), bar_class);
        ap_html_format(html, "%s\t", bar_class);
        ap_html_text(html, ap_value_text(name), 160);
        ap_html_string(html, "\t");
        ap_html_text(html, label, 60);
        ap_html_string(html, "\n");
    }
    ap_html_string(html, "\" data-v=\"");
    ap_html_text(html, rows, rows.bytes);
    ap_html_string(html, "\"></g>\n");
}

static const struct ap_value *outlined_finding(const struct html *html, const struct timeline *timeline)
{
    struct ap_text rule_id = ap_text_member(ap_value_member(timeline->of, "finding"), "rule_id");
    const struct ap_value *finding = ap_value_first(ap_html_at(html, "findings"));
    while (finding && !ap_text_equal(ap_text_member(finding, "rule_id"), rule_id))
        finding = finding->next;
    return finding;
}

static void write_subject(struct html *html, const struct timeline *timeline)
{
    const struct ap_value *finding = outlined_finding(html, timeline);
    ap_html_string(html, "Threads of the host, and streams of the GPU below them: ");
    ap_html_text(html, ap_text_member(timeline->of, "about"), 60);
    ap_html_string(html, ", ");
    ap_html_time(html, timeline->dur_ns);
    ap_html_string(html, ".");
    if (ap_text_member(ap_value_member(timeline->of, "finding"), "rule_id").bytes)
        ap_html_tell(html, finding ? finding : ap_value_member(timeline->of, "finding"),
                     finding ? " Outlined: {p title}." : " Outlined: {n rule_id}.");
}

static void write_left_out(struct html *html, const struct timeline *timeline)
{
    int64_t left_out = ap_integer_member(timeline->of, "left_out", 0);
    if (ap_integer_member(timeline->of, "lanes_left_out", 0))
        ap_html_format(html, " Of more than %d threads and streams those with the longest rows are shown.", MOST_LANES);
    if (html->contents)
        ap_html_string(html, " Zoom in for short rows, and out for the rest of the recording.");
    else if (left_out > 0) {
        ap_html_string(html, " Short rows left out: ");
        ap_html_count(html, left_out);
        ap_html_string(html, ".");
    }
}

static void write_timeline_sentence(struct html *html, const struct timeline *timeline)
{
    const struct ap_value *gap = ap_value_member(timeline->of, "gap");
    write_subject(html, timeline);
    if (ap_value_member(gap, "dur_us")) {
        const struct html_time_part *cause = part_of(ap_text_member(gap, "cause"));
        ap_html_tell(html, gap, " Shaded: no device works for {v dur_us}, most of it because ");
        ap_html_string(html, cause ? cause->label : "of an unknown cause");
        ap_html_string(html, ".");
    }
    write_left_out(html, timeline);
}

static bool has_kind(const struct timeline *timeline, const char *kind)
{
    for (const struct ap_value *bar = ap_value_first(ap_value_member(timeline->of, "bars")); bar; bar = bar->next)
        if (ap_text_is(ap_text_member(bar, "kind"), kind))
            return true;
    return false;
}

static void write_timeline_legend(struct html *html, const struct timeline *timeline)
{
    static const char *const entries[][2] = {
        { "operator", "operator" },     { "python", "Python" }, { "runtime", "runtime call" },
        { "annotation", "annotation" }, { "kernel", "kernel" }, { "communication", "collective" },
        { "memcpy", "copy" },           { "memset", "memset" },
    };
    ap_legend_begin(html);
    for (size_t i = 0; i < AP_COUNT_OF(entries); i++)
        if (has_kind(timeline, entries[i][0]))
            ap_legend_entry(html, entries[i][0], entries[i][1]);
    ap_legend_end(html);
}

static void write_longest_bars(struct html *html, const struct timeline *timeline)
{
    static const char *const titles[] = { "Row", "Starts after", "Lasts", NULL };
    const struct ap_value *bar = ap_value_first(ap_value_member(timeline->of, "bars"));
    ap_figures_begin(html, titles);
    for (int i = 0; bar && i < 20 && ap_html_has_room(html, 3000); bar = bar->next, i++) {
        int64_t start_ns = ap_integer_member(bar, "start_us", 0);
        ap_html_tell(html, bar, "<tr><th scope=\"row\">{n name}");
        ap_html_format(html, "</th><td class=\"r\" data-v=\"%lld\">", (long long)start_ns);
        ap_html_time(html, ap_html_less(start_ns, timeline->start_ns));
        ap_html_tell(html, bar, "</td>{c dur_us}</tr>\n");
    }
    ap_figures_end(html);
}

void ap_html_timeline(struct html *html)
{
    struct timeline timeline = { .of = ap_html_at(html, "pictures.timeline") };
    timeline.start_ns = ap_integer_member(timeline.of, "start_us", 0);
    timeline.dur_ns = ap_integer_member(timeline.of, "dur_us", 0);
    place_lanes(&timeline);
    if (timeline.dur_ns <= 0 || !timeline.lane_count)
        return;
    ap_figure_begin(html, "timeline", "Timeline");
    write_timeline_sentence(html, &timeline);
    ap_figure_body(html);
    ap_svg_begin(html, "timeline", "timeline", timeline.height + 22);
    draw_lanes(html, &timeline);
    draw_gap(html, &timeline);
    ap_html_format(html, "<g class=\"axis\" data-v=\"%lld\">", (long long)timeline.dur_ns);
    ap_axis_time(html, timeline.dur_ns, 0, SVG_WIDTH, 4, timeline.height);
    ap_html_string(html, "</g>\n");
    const struct ap_value *bar = ap_value_first(ap_value_member(timeline.of, "bars"));
    for (int i = 0; bar && i < MOST_BARS && ap_html_has_room(html, 12000); bar = bar->next, i++)
        draw_bar(html, &timeline, bar);
    put_more_rows(html, &timeline);
    draw_finding(html, &timeline);
    ap_mark_findings(html, &(struct ap_marked_stretch){ .start_ns = timeline.start_ns,
                                                        .dur_ns = timeline.dur_ns,
                                                        .right = SVG_WIDTH,
                                                        .top = 1,
                                                        .bottom = timeline.height,
                                                        .beyond = true });
    ap_svg_end(html);
    write_timeline_legend(html, &timeline);
    write_longest_bars(html, &timeline);
    ap_figure_end(html);
}
