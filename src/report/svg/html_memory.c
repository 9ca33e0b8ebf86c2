/* SPDX-License-Identifier: MIT
 * Memory over time with its peak and who owns it, and the segments that the allocator holds. */
#include "html_pictures.h"

#include "poison.h"

#define LEFT 80.0
#define MOST_DEVICES 4
#define MOST_SEGMENTS 128
#define MOST_OWNERS 8
#define MOST_CATEGORIES 16
#define MAP_LEFT 150.0

static const struct ap_value *member(const struct ap_value *object, const char *key)
{
    return ap_value_member(object, key);
}

static int64_t integer(const struct ap_value *object, const char *key)
{
    return ap_value_integer(member(object, key), 0);
}

/* ---- curves ---- */

/* What of a list of points is drawn: along the time where every point has one and they rise, else by number. */
struct curve {
    const struct ap_value *points;
    const char *time_key, *used_key, *held_key;
    size_t count;
    bool by_time;
    int64_t start_ns, end_ns, top_bytes;
    size_t peak;
    int64_t peak_bytes;
    double top, bottom;
};

static void measure(struct curve *curve)
{
    int64_t last_ns = INT64_MIN;
    curve->by_time = true;
    curve->peak_bytes = -1;
    for (const struct ap_value *point = ap_value_first(curve->points); point; point = point->next, curve->count++) {
        const struct ap_value *time = member(point, curve->time_key);
        int64_t used = integer(point, curve->used_key), held = integer(point, curve->held_key);
        int64_t at_ns = ap_value_integer(time, 0);
        curve->by_time &= time && time->type == AP_VALUE_TIME_NS && at_ns >= last_ns;
        last_ns = at_ns;
        curve->start_ns = curve->count ? curve->start_ns : at_ns;
        curve->end_ns = at_ns;
        curve->top_bytes = used > curve->top_bytes ? used : curve->top_bytes;
        curve->top_bytes = held > curve->top_bytes ? held : curve->top_bytes;
        if (used > curve->peak_bytes) {
            curve->peak_bytes = used;
            curve->peak = curve->count;
        }
    }
    curve->by_time &= curve->end_ns > curve->start_ns;
}

static double x_of(const struct curve *curve, const struct ap_value *point, size_t index)
{
    double share = curve->by_time ? ((double)integer(point, curve->time_key) - (double)curve->start_ns) /
                                        ((double)curve->end_ns - (double)curve->start_ns)
                                  : (double)index / (double)(curve->count - 1);
    return LEFT + (SVG_WIDTH - LEFT) * share;
}

static double y_of(const struct curve *curve, int64_t bytes)
{
    return curve->bottom - (curve->bottom - curve->top) * (double)bytes / (double)curve->top_bytes;
}

/* Levels hold until the next point. */
static void draw_levels(struct html *html, const struct curve *curve, const char *key, const char *class, bool filled)
{
    size_t i = 0;
    bool any = false;
    ap_html_format(html, "<path class=\"%s\" d=\"", class);
    for (const struct ap_value *point = ap_value_first(curve->points); point; point = point->next, i++) {
        const struct ap_value *level = member(point, key);
        if (!level || level->type != AP_VALUE_BYTES)
            continue;
        double next_y = y_of(curve, level->as.integer);
        ap_html_string(html, any ? "H" : "M");
        ap_html_number(html, x_of(curve, point, i));
        if (!any) {
            ap_html_string(html, " ");
            ap_html_number(html, filled ? curve->bottom : next_y);
        }
        ap_html_string(html, "V");
        ap_html_number(html, next_y);
        any = true;
    }
    if (!any)
        ap_html_string(html, "M0 0");
    else if (filled) {
        ap_html_string(html, "V");
        ap_html_number(html, curve->bottom);
        ap_html_string(html, "Z");
    }
    ap_html_string(html, "\"/>\n");
}

static void draw_peak(struct html *html, const struct curve *curve)
{
    const struct ap_value *point = ap_value_first(curve->points);
    for (size_t i = 0; i < curve->peak; i++)
        point = point->next;
    double x = x_of(curve, point, curve->peak), y = y_of(curve, curve->peak_bytes);
    bool left = x > SVG_WIDTH - 170;
    ap_html_string(html, "<circle class=\"peak\" r=\"4\" cx=\"");
    ap_html_number(html, x);
    ap_html_string(html, "\" cy=\"");
    ap_html_number(html, y);
    ap_html_string(html, "\"/>\n");
    ap_svg_text(html, left ? "peak e" : "peak", left ? x - 8 : x + 8, y - 5 < 12 ? 12 : y - 5);
    ap_html_string(html, "peak ");
    ap_html_bytes(html, curve->peak_bytes);
    ap_svg_text_end(html);
}

static void draw_curve(struct html *html, const char *id, const struct curve *curve)
{
    ap_svg_begin(html, id, "", curve->bottom + 24);
    ap_axis_y(html, curve->top_bytes, true, LEFT, curve->top, curve->bottom);
    if (curve->by_time)
        ap_axis_time(html, ap_html_less(curve->end_ns, curve->start_ns), LEFT, SVG_WIDTH, curve->top, curve->bottom);
    draw_levels(html, curve, curve->used_key, "area", true);
    draw_levels(html, curve, curve->held_key, "outline", false);
    draw_peak(html, curve);
    ap_svg_end(html);
    ap_legend_begin(html);
    ap_legend_entry(html, "requested",
                    ap_text_is(ap_text_of(curve->used_key), "requested_bytes") ? "requested and in use" : "allocated");
    ap_legend_entry(html, "reserved", "reserved from the driver");
    ap_legend_end(html);
}

static void write_curve_sentence(struct html *html, const struct curve *curve)
{
    const struct ap_value *first = ap_value_first(curve->points), *last = first;
    while (last && last->next)
        last = last->next;
    ap_html_string(html, "From ");
    ap_html_value(html, member(first, curve->used_key));
    ap_html_string(html, " to ");
    ap_html_value(html, member(last, curve->used_key));
    ap_html_string(html, ", at most ");
    ap_html_bytes(html, curve->peak_bytes);
    if (curve->by_time) {
        ap_html_string(html, " after ");
        const struct ap_value *point = first;
        for (size_t i = 0; i < curve->peak; i++)
            point = point->next;
        ap_html_time(html, ap_html_less(integer(point, curve->time_key), curve->start_ns));
        ap_html_string(html, " of ");
        ap_html_time(html, ap_html_less(curve->end_ns, curve->start_ns));
    } else {
        ap_html_string(html, ", in order of the recorded entries");
    }
    ap_html_string(html, ". ");
}

/* ---- owners of the peak ---- */

static void draw_owners(struct html *html, const struct ap_value *device)
{
    static const char *const classes[] = { "t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7" };
    int64_t whole = integer(device, "requested_bytes");
    double x = 0;
    size_t i = 0;
    if (whole <= 0)
        return;
    ap_html_string(
        html, "<div class=\"scroll\"><svg class=\"chart fit\" role=\"img\" aria-label=\"Parts of the memory in use; the "
              "figures follow\" viewBox=\"0 0 1000 28\">\n");
    for (const struct ap_value *row = ap_value_first(member(device, "by_category")); row && i < MOST_CATEGORIES;
         row = row->next, i++) {
        double width = (double)integer(row, "requested_bytes") / (double)whole * SVG_WIDTH;
        if (width < 0.1)
            continue;
        ap_svg_rect_open(html, classes[i % AP_COUNT_OF(classes)], x, 2, width, 24);
        ap_html_tell(html, row, "{v category}: {v requested_bytes}");
        ap_svg_rect_close(html);
        x += width;
    }
    ap_svg_end(html);
    ap_legend_begin(html);
    i = 0;
    for (const struct ap_value *row = ap_value_first(member(device, "by_category")); row && i < MOST_CATEGORIES;
         row = row->next, i++) {
        if (integer(row, "requested_bytes") <= 0)
            continue;
        ap_legend_item(html, classes[i % AP_COUNT_OF(classes)], "");
        ap_html_tell(html, row, "{v category} <b>{v share_ratio}</b> <span class=\"muted\">{v requested_bytes}</span>");
        ap_legend_item_end(html);
    }
    ap_legend_end(html);
}

static void write_owner_rows(struct html *html, const struct ap_value *device)
{
    static const char *const titles[] = { "Allocated by", "Requested", "Share", "Allocations", NULL };
    const struct ap_value *row = ap_value_first(member(device, "by_frame"));
    if (!row)
        return;
    ap_figures_begin(html, titles);
    for (int i = 0; row && i < MOST_OWNERS && ap_html_has_room(html, 3000); row = row->next, i++) {
        ap_html_string(html, "<tr><th scope=\"row\">");
        ap_html_tell(html, row, ap_text_member(row, "frame").bytes ? "{n frame}" : "no stack");
        ap_html_tell(
            html, row,
            "</th>{c requested_bytes}<td class=\"r\">{v share_ratio}</td><td class=\"r\">{v allocations}</td></tr>\n");
    }
    ap_figures_end(html);
}

static const struct ap_value *owners_of(const struct html *html, int64_t device)
{
    const struct ap_value *row = ap_value_first(ap_html_at(html, "memory.peak.devices"));
    while (row && ap_value_integer(member(row, "device"), -1) != device)
        row = row->next;
    return row;
}

static void write_owners(struct html *html, const struct ap_value *device)
{
    if (!device)
        return;
    bool peak = ap_text_is(ap_text_member(device, "at"), "peak");
    ap_html_string(html, peak ? "<h4>Who owns the peak</h4>\n" : "<h4>Who owns what is in use at the end</h4>\n");
    draw_owners(html, device);
    write_owner_rows(html, device);
}

/* ---- the figures ---- */

static void write_device(struct html *html, const struct ap_value *row, int number)
{
    char id[] = "memory-0";
    struct curve curve = { .points = member(row, "points"),
                           .time_key = "time_us",
                           .used_key = "requested_bytes",
                           .held_key = "reserved_bytes",
                           .top = 14,
                           .bottom = 220 };
    const struct ap_value *owners = owners_of(html, ap_value_integer(member(row, "device"), -1));
    id[7] = (char)('0' + number);
    measure(&curve);
    if (curve.count < 2 || curve.top_bytes <= 0)
        return;
    ap_figure_begin(html, id, "Memory over time");
    ap_html_string(html, "Device ");
    ap_html_count(html, ap_value_integer(member(row, "device"), 0));
    ap_html_string(html, ", replayed from the allocator's history. ");
    write_curve_sentence(html, &curve);
    ap_figure_body(html);
    draw_curve(html, id, &curve);
    write_owners(html, owners);
    ap_figure_end(html);
}

void ap_html_memory(struct html *html)
{
    const struct ap_value *row = ap_value_first(ap_html_at(html, "memory.timeline.devices"));
    bool any = row;
    for (int i = 0; row && i < MOST_DEVICES && ap_html_has_room(html, 30000); row = row->next, i++)
        write_device(html, row, i);
    const struct ap_value *owners = ap_value_first(ap_html_at(html, "memory.peak.devices"));
    if (any || !owners || integer(owners, "requested_bytes") <= 0)
        return;
    ap_figure_begin(html, "memory-owners", "Memory in use");
    ap_html_tell(html, owners, "{v requested_bytes} in use; no history tells how it came to that.");
    ap_figure_body(html);
    write_owners(html, owners);
    ap_figure_end(html);
}

void ap_html_trace_memory(struct html *html)
{
    const struct ap_value *row = ap_value_first(ap_html_at(html, "trace_memory.devices"));
    for (int i = 0; row && i < MOST_DEVICES && ap_html_has_room(html, 20000); row = row->next, i++) {
        char id[] = "trace-memory-0";
        struct curve curve = { .points = member(row, "timeline"),
                               .time_key = "at_us",
                               .used_key = "allocated_bytes",
                               .held_key = "reserved_bytes",
                               .top = 14,
                               .bottom = 200 };
        id[13] = (char)('0' + i);
        measure(&curve);
        if (curve.count < 2 || curve.top_bytes <= 0)
            continue;
        ap_figure_begin(html, id, "Memory over time in the trace");
        ap_html_tell(html, row, "{v device_type} {v device_id}. ");
        write_curve_sentence(html, &curve);
        if (ap_value_integer(member(row, "relative"), 0))
            ap_html_string(html, "The trace tells no totals: sizes count from its first event.");
        ap_figure_body(html);
        draw_curve(html, id, &curve);
        ap_figure_end(html);
    }
}

/* ---- segments ---- */

static int64_t largest_segment(const struct ap_value *segments, size_t *ret_count)
{
    int64_t largest = 0;
    *ret_count = 0;
    for (const struct ap_value *row = ap_value_first(segments); row && *ret_count < MOST_SEGMENTS;
         row = row->next, ++*ret_count)
        largest = integer(row, "reserved_bytes") > largest ? integer(row, "reserved_bytes") : largest;
    return largest;
}

static void draw_part(struct html *html, const char *class, double *x, double y, double width, double height)
{
    if (width >= 0.1)
        ap_svg_rect(html, class, *x, y, width, height);
    *x += width;
}

static void draw_segment(struct html *html, const struct ap_value *segment, double scale, double y, double height)
{
    double x = MAP_LEFT;
    int64_t used = 0;
    ap_html_string(html, "<g>");
    for (const struct ap_value *run = ap_value_first(member(segment, "runs")); run && ap_html_has_room(html, 2000);
         run = run->next) {
        int64_t allocated = integer(run, "allocated_bytes"), pending = integer(run, "pending_free_bytes");
        used = ap_html_sum(used, allocated);
        draw_part(html, "alloc", &x, y, (double)allocated * scale, height);
        draw_part(html, "pending", &x, y, (double)pending * scale, height);
        draw_part(html, "free", &x, y, ((double)integer(run, "bytes") - (double)allocated - (double)pending) * scale,
                  height);
    }
    ap_html_tell(html, segment, "<title>{v segment_type}: ");
    ap_html_bytes(html, used);
    ap_html_tell(html, segment, " allocated of {v reserved_bytes}</title></g>\n");
}

static bool same_label(const struct ap_value *a, const struct ap_value *b)
{
    return a && b && integer(a, "reserved_bytes") == integer(b, "reserved_bytes") &&
           ap_text_equal(ap_value_text(member(a, "segment_type")), ap_value_text(member(b, "segment_type")));
}

/* The first of each kind is named; the labels need more room than thin segments have. */
static void name_segments(struct html *html, const struct ap_value *segment, size_t count, double height, double pitch)
{
    const struct ap_value *named = NULL;
    double free_y = 0;
    for (size_t i = 0; i < count && ap_html_has_room(html, 3000); i++, segment = segment->next) {
        double y = 2 + pitch * (double)i;
        if (y < free_y || (same_label(segment, named) && pitch < 13))
            continue;
        ap_svg_label(html, "small e", MAP_LEFT - 8, y + height / 2 + 4, segment, "{v segment_type} {v reserved_bytes}");
        free_y = y + 13;
        named = segment;
    }
}

void ap_html_segments(struct html *html)
{
    const struct ap_value *segments = ap_html_at(html, "memory.segment_map.segments"), *segment = ap_value_first(segments);
    size_t count;
    int64_t largest = largest_segment(segments, &count);
    double height = count > 40 ? 5 : 14, pitch = height + (count > 40 ? 1.5 : 4);
    if (!count || largest <= 0)
        return;
    ap_figure_begin(html, "segment-map", "Segments of the allocator");
    int64_t all = ap_value_integer(ap_html_at(html, "memory.summary.segments"), (int64_t)count);
    if (all > (int64_t)count)
        ap_html_format(html, "The largest %zu of ", count);
    ap_html_count(html, all);
    ap_html_tell(html, NULL,
                 " segments, largest first: each is a piece of memory taken from the driver, as long as it is large. Of "
                 "{v memory.totals.reserved_bytes} reserved {v memory.totals.allocated_bytes} are allocated.");
    ap_figure_body(html);
    ap_svg_begin(html, "segment-map", "", pitch * (double)count + 6);
    name_segments(html, segment, count, height, pitch);
    for (size_t i = 0; i < count && ap_html_has_room(html, 3000); i++, segment = segment->next) {
        double y = 2 + pitch * (double)i;
        ap_svg_rect(html, "lane", MAP_LEFT, y,
                    (SVG_WIDTH - MAP_LEFT) * (double)integer(segment, "reserved_bytes") / (double)largest, height);
        draw_segment(html, segment, (SVG_WIDTH - MAP_LEFT) / (double)largest, y, height);
    }
    ap_svg_end(html);
    ap_legend_begin(html);
    ap_legend_entry(html, "alloc", "allocated");
    ap_legend_entry(html, "pending", "freed, waits for a stream");
    ap_legend_entry(html, "free", "free");
    ap_legend_end(html);
    ap_figure_end(html);
}
