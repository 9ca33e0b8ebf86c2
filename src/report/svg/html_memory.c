/* SPDX-License-Identifier: MIT
 * Memory over time with its peak and who owns it. */
#include "html_pictures.h"
#include "html_bands.h"

#include "poison.h"

#define LEFT 80.0
#define MOST_DEVICES 4
#define MOST_OWNERS 8
#define MOST_CATEGORIES 16

/* ---- curves ---- */

/* What of a list of points is drawn: along the time where every point has one and they rise, else by number. */
struct curve {
    const struct ap_value *points;
    const char *time_key, *used_key, *held_key;
    size_t count;
    bool by_time, has_held;
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
        const struct ap_value *time = ap_value_member(point, curve->time_key);
        int64_t used = ap_integer_member(point, curve->used_key, 0), held = ap_integer_member(point, curve->held_key, 0);
        int64_t at_ns = ap_value_integer(time, 0);
        curve->has_held |= held > 0;
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
    double share = curve->by_time ? ((double)ap_integer_member(point, curve->time_key, 0) - (double)curve->start_ns) /
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
        const struct ap_value *level = ap_value_member(point, key);
        if (!level || level->type != AP_VALUE_BYTES)
            continue;
        double next_y = y_of(curve, level->as.integer);
        ap_svg_step(html, any ? "H" : "M", x_of(curve, point, i));
        if (!any)
            ap_svg_step(html, " ", filled ? curve->bottom : next_y);
        ap_svg_step(html, "V", next_y);
        any = true;
    }
    if (!any)
        ap_html_string(html, "M0 0");
    else if (filled) {
        ap_svg_step(html, "V", curve->bottom);
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
    ap_svg_step(html, "<circle class=\"peak\" r=\"4\" cx=\"", x);
    ap_svg_step(html, "\" cy=\"", y);
    ap_html_string(html, "\"/>\n");
    ap_svg_text(html, left ? "peak e" : "peak", left ? x - 8 : x + 8, y - 5 < 12 ? 12 : y - 5);
    ap_html_string(html, "peak ");
    ap_html_bytes(html, curve->peak_bytes);
    ap_svg_text_end(html);
}

static struct ap_band_places places_of(const struct curve *curve)
{
    struct ap_band_places places = { .peak = curve->peak,
                                     .bottom = curve->bottom,
                                     .per_byte = (curve->bottom - curve->top) / (double)curve->top_bytes };
    for (const struct ap_value *point = ap_value_first(curve->points); point && places.count < AP_MOST_BAND_POINTS;
         point = point->next, places.count++)
        places.x[places.count] = x_of(curve, point, places.count);
    return places;
}

/* What is stretched where the reader zooms, and then what is written over it and stays. */
static void draw_curve(struct html *html, const char *id, const struct curve *curve, const struct ap_value *of)
{
    const struct ap_value *bands = ap_value_member(of, "bands");
    struct ap_band_places places = places_of(curve);
    int64_t range_ns = ap_html_less(curve->end_ns, curve->start_ns);
    ap_svg_begin(html, id, "curve", curve->bottom + 24);
    ap_html_string(html, "<g class=\"zoomed\">\n");
    bool stacked = ap_draw_bands(html, bands, &places);
    if (!stacked)
        draw_levels(html, curve, curve->used_key, "area", true);
    else
        ap_put_allocations(html, ap_value_member(of, "allocations"), &places);
    if (stacked) /* what lasts too shortly to be seen as an area */
        draw_levels(html, curve, curve->used_key, "outline used", false);
    draw_levels(html, curve, curve->held_key, "outline", false);
    draw_peak(html, curve);
    ap_html_string(html, "</g>\n");
    ap_svg_rect(html, "cover", 0, 0, LEFT, curve->bottom + 24);
    ap_svg_rect(html, "cover", 0, curve->bottom, SVG_WIDTH, 24);
    ap_html_format(html, "<g class=\"bytes\" data-v=\"%lld\" data-d=\"%.0f %.0f\">", (long long)curve->top_bytes, curve->top,
                   curve->bottom);
    ap_axis_y(html, curve->top_bytes, true, LEFT, curve->top, curve->bottom);
    ap_html_string(html, "</g>\n");
    if (curve->by_time) {
        ap_html_format(html, "<g class=\"axis\" data-v=\"%lld\">", (long long)range_ns);
        ap_axis_time(html, range_ns, LEFT, SVG_WIDTH, curve->top, curve->bottom);
        ap_html_string(html, "</g>\n");
    }
    ap_svg_end(html);
    ap_legend_begin(html);
    if (stacked)
        ap_legend_bands(html, bands, &places);
    ap_legend_entry(html, "requested",
                    stacked                                                      ? "all of it"
                    : ap_text_is(ap_text_of(curve->used_key), "requested_bytes") ? "requested and in use"
                                                                                 : "allocated");
    if (curve->has_held)
        ap_legend_entry(html, "reserved", "reserved from the driver");
    ap_legend_end(html);
}

static void write_curve_sentence(struct html *html, const struct curve *curve)
{
    const struct ap_value *first = ap_value_first(curve->points), *last = first;
    while (last && last->next)
        last = last->next;
    ap_html_string(html, "From ");
    ap_html_value(html, ap_value_member(first, curve->used_key));
    ap_html_string(html, " to ");
    ap_html_value(html, ap_value_member(last, curve->used_key));
    ap_html_string(html, ", at most ");
    ap_html_bytes(html, curve->peak_bytes);
    if (curve->by_time) {
        ap_html_string(html, " after ");
        const struct ap_value *point = first;
        for (size_t i = 0; i < curve->peak; i++)
            point = point->next;
        ap_html_time(html, ap_html_less(ap_integer_member(point, curve->time_key, 0), curve->start_ns));
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
    int64_t whole = ap_integer_member(device, "requested_bytes", 0);
    double x = 0;
    size_t i = 0;
    for (const struct ap_value *row = ap_value_first(ap_value_member(device, "by_category")); row && i < MOST_CATEGORIES;
         row = row->next, i++) {
        double width = (double)ap_integer_member(row, "requested_bytes", 0) / (double)whole * SVG_WIDTH;
        if (width < 0.1)
            continue;
        ap_svg_rect_told(html, ap_memory_owner_class(ap_text_member(row, "category")), x, 2, width, 24, row,
                         "{v category}: {v requested_bytes}");
        x += width;
    }
}

static void write_owner_legend(struct html *html, const struct ap_value *device)
{
    size_t i = 0;
    ap_legend_begin(html);
    for (const struct ap_value *row = ap_value_first(ap_value_member(device, "by_category")); row && i < MOST_CATEGORIES;
         row = row->next, i++) {
        if (ap_integer_member(row, "requested_bytes", 0) <= 0)
            continue;
        ap_legend_item(html, ap_memory_owner_class(ap_text_member(row, "category")), "");
        ap_html_tell(html, row, "{v category} <b>{v share_ratio}</b> <span class=\"muted\">{v requested_bytes}</span>");
        ap_legend_item_end(html);
    }
    ap_legend_end(html);
}

static void write_owner_rows(struct html *html, const struct ap_value *device)
{
    static const char *const titles[] = { "Allocated by", "Requested", "Share", "Allocations", NULL };
    const struct ap_value *row = ap_value_first(ap_value_member(device, "by_frame"));
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
    while (row && ap_integer_member(row, "device", -1) != device)
        row = row->next;
    return row;
}

/* The device that the report is about. */
static const struct ap_value *main_owners(const struct html *html)
{
    const struct ap_value *device = owners_of(html, ap_value_integer(ap_html_at(html, "memory.peak.device"), -1));
    return ap_integer_member(device, "requested_bytes", 0) > 0 ? device : NULL;
}

static bool is_at_peak(const struct ap_value *device)
{
    return ap_text_is(ap_text_member(device, "at"), "peak");
}

static void write_owners(struct html *html, const struct ap_value *device)
{
    if (!device || device == main_owners(html) || ap_integer_member(device, "requested_bytes", 0) <= 0)
        return;
    ap_html_string(html,
                   is_at_peak(device) ? "<h4>Who owns the peak</h4>\n" : "<h4>Who owns what is in use at the end</h4>\n");
    ap_html_string(
        html, "<div class=\"scroll\"><svg class=\"chart fit\" role=\"img\" aria-label=\"Parts of the memory in use; the "
              "figures follow\" viewBox=\"0 0 1000 28\">\n");
    draw_owners(html, device);
    ap_svg_end(html);
    write_owner_legend(html, device);
    write_owner_rows(html, device);
}

/* "Most by `train.py:3 step` 2 GiB." */
static void write_first_owner(struct html *html, const struct ap_value *device)
{
    const struct ap_value *first = ap_value_first(ap_value_member(device, "by_frame")), *owner = first;
    while (owner && !ap_text_member(owner, "frame").bytes)
        owner = owner->next;
    if (owner)
        ap_html_tell(html, owner,
                     owner == first ? " Most by {n frame}, {v requested_bytes}."
                                    : " Of what has a stack most by {n frame}, {v requested_bytes}.");
}

void ap_html_memory_owners(struct html *html)
{
    const struct ap_value *device = main_owners(html);
    if (!device)
        return;
    ap_figure_begin(html, "memory-owners",
                    is_at_peak(device) ? "Who owns the peak of memory" : "Who owns the memory in use");
    ap_html_tell(html, device, "{v requested_bytes} requested and in use");
    if (is_at_peak(device))
        ap_html_string(html, " at the peak");
    ap_html_tell(html, device, ", device {v device}, by what it is for.");
    write_first_owner(html, device);
    ap_figure_body(html);
    ap_svg_begin(html, "memory-owners", "fit", 28);
    draw_owners(html, device);
    ap_svg_end(html);
    write_owner_legend(html, device);
    write_owner_rows(html, device);
    ap_figure_end(html);
}

/* ---- the figures ---- */

static void write_device(struct html *html, const struct ap_value *row, int number)
{
    char id[] = "memory-0";
    struct curve curve = { .points = ap_value_member(row, "points"),
                           .time_key = "time_us",
                           .used_key = "requested_bytes",
                           .held_key = "reserved_bytes",
                           .top = 14,
                           .bottom = 220 };
    const struct ap_value *owners = owners_of(html, ap_integer_member(row, "device", -1));
    id[7] = (char)('0' + number);
    measure(&curve);
    if (curve.count < 2 || curve.top_bytes <= 0)
        return;
    ap_figure_begin(html, id, "Memory over time");
    ap_html_string(html, "Device ");
    ap_html_count(html, ap_integer_member(row, "device", 0));
    ap_html_string(html, ", replayed from the allocator's history. ");
    write_curve_sentence(html, &curve);
    if (ap_value_first(ap_value_member(row, "bands")))
        ap_html_string(html, "Stacked by what it is for; the legend tells what each had at the peak.");
    if (html->contents && ap_value_member(row, "allocations"))
        ap_html_string(html, " Point at an allocation for its size, stack and life.");
    ap_figure_body(html);
    draw_curve(html, id, &curve, row);
    write_owners(html, owners);
    ap_figure_end(html);
}

void ap_html_memory(struct html *html)
{
    const struct ap_value *row = ap_value_first(ap_html_at(html, "memory.timeline.devices"));
    for (int i = 0; row && i < MOST_DEVICES && ap_html_has_room(html, 30000); row = row->next, i++)
        write_device(html, row, i);
}

static struct curve trace_curve(const struct ap_value *row)
{
    struct curve curve = { .points = ap_value_member(row, "timeline"),
                           .time_key = "at_us",
                           .used_key = "allocated_bytes",
                           .held_key = "reserved_bytes",
                           .top = 14,
                           .bottom = 200 };
    measure(&curve);
    return curve;
}

/* Beside gigabytes on a GPU a few bytes of the host tell nothing. */
#define LEAST_PART 1000

static int64_t least_peak(const struct ap_value *row)
{
    int64_t most = 0;
    for (int i = 0; row && i < MOST_DEVICES; row = row->next, i++) {
        struct curve curve = trace_curve(row);
        most = curve.peak_bytes > most ? curve.peak_bytes : most;
    }
    return most / LEAST_PART;
}

void ap_html_trace_memory(struct html *html)
{
    const struct ap_value *row = ap_value_first(ap_html_at(html, "trace_memory.devices"));
    int64_t least = least_peak(row);
    for (int i = 0; row && i < MOST_DEVICES && ap_html_has_room(html, 20000); row = row->next, i++) {
        char id[] = "trace-memory-0";
        bool on_host = ap_text_is(ap_text_member(row, "device_type"), "cpu");
        struct curve curve = trace_curve(row);
        id[13] = (char)('0' + i);
        if (curve.count < 2 || curve.top_bytes <= 0 || curve.peak_bytes < least)
            continue;
        ap_figure_begin(html, id, on_host ? "Memory of the host over time" : "Memory over time in the trace");
        ap_html_tell(html, row, on_host ? "{v device_type}. " : "{v device_type} {v device_id}. ");
        write_curve_sentence(html, &curve);
        if (ap_integer_member(row, "relative", 0))
            ap_html_string(html, "The trace tells no totals: sizes count from its first event.");
        ap_figure_body(html);
        draw_curve(html, id, &curve, NULL);
        ap_figure_end(html);
    }
}
