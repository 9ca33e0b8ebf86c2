/* SPDX-License-Identifier: MIT
 * html_compute.c - operators against the roofline of the device, and their time
 * against what they reach of it. */
#include <math.h>

#include "family_class.h"
#include "html_pictures.h"

#include "poison.h"

#define HEIGHT 330.0
#define LEFT 60.0
#define TOP 16.0
#define BOTTOM 300.0
#define LEAST_INTENSITY (-4.0) /* of powers of two: operations for a byte */
#define MOST_INTENSITY 14.0
#define MOST_POINTS 200
#define KINDS 7

static const char *const kinds[KINDS] = { "GEMM",        "convolution", "attention",    "mixture of experts",
                                          "elementwise", "copy",        "normalization" };

static const struct ap_value *member(const struct ap_value *object, const char *key)
{
    return ap_value_member(object, key);
}

static double real(const struct ap_value *object, const char *key)
{
    double number;
    return ap_value_number(member(object, key), &number) && number > 0 ? number : 0;
}

static const char *class_of(const struct ap_value *row)
{
    return ap_family_class(ap_value_text(member(row, "kind")));
}

static void write_kinds(struct html *html)
{
    ap_legend_begin(html);
    for (size_t i = 0; i < KINDS; i++)
        ap_legend_entry(html, ap_family_class(ap_text_of(kinds[i])), kinds[i]);
    ap_legend_entry(html, ap_family_class(AP_TEXT("")), "softmax, reduction, indexing");
    ap_legend_end(html);
}

static void write_title(struct html *html, const struct ap_value *row)
{
    ap_html_text(html, ap_value_text(member(row, "operator")), 100);
    ap_html_string(html, " ");
    ap_html_text(html, ap_value_text(member(row, "dims")), 100);
    ap_html_tell(html, row, ": {v total_dur_us}, {v roofline_ratio} of the roofline");
}

/* ---- roofline ---- */

struct axes {
    double gb_s, most_tflop_s; /* of the device */
    double least;              /* of powers of ten of TFLOP/s, at the bottom */
};

static double x_of(double flops_per_byte)
{
    double at = (log2(flops_per_byte) - LEAST_INTENSITY) / (MOST_INTENSITY - LEAST_INTENSITY);
    return LEFT + fmin(fmax(at, 0), 1) * (SVG_WIDTH - LEFT - 10);
}

static double y_of(const struct axes *axes, double tflop_s)
{
    double most = log10(axes->most_tflop_s) + 0.3, at = (log10(tflop_s) - axes->least) / (most - axes->least);
    return BOTTOM - fmin(fmax(at, 0), 1) * (BOTTOM - TOP);
}

static bool read_axes(const struct html *html, struct axes *ret_axes)
{
    const struct ap_value *device = ap_html_at(html, "compute.device");
    struct axes axes = { .gb_s = real(device, "gb_s") };
    for (const struct ap_value *rate = ap_value_first(member(device, "rates")); rate; rate = rate->next)
        if (!ap_text_is(ap_value_text(member(rate, "type")), "int8"))
            axes.most_tflop_s = fmax(axes.most_tflop_s, real(rate, "tflop_s"));
    axes.least = log10(fmax(axes.most_tflop_s, 1)) - 6;
    *ret_axes = axes;
    return axes.gb_s > 0 && axes.most_tflop_s > 0;
}

/* The memory's slope up to the rate, and the rate from there on. */
static void draw_roof(struct html *html, const struct axes *axes, const struct ap_value *rate)
{
    double tflop_s = real(rate, "tflop_s"), ridge = tflop_s * 1e3 / axes->gb_s;
    double least = exp2(LEAST_INTENSITY);
    if (tflop_s <= 0)
        return;
    ap_svg_line(html, "grid", x_of(least), y_of(axes, least * axes->gb_s / 1e3), x_of(ridge), y_of(axes, tflop_s));
    ap_svg_line(html, "grid", x_of(ridge), y_of(axes, tflop_s), SVG_WIDTH - 10, y_of(axes, tflop_s));
    ap_svg_label(html, "small e", SVG_WIDTH - 12, y_of(axes, tflop_s) - 4, rate, "{v type}");
}

static bool is_point(const struct ap_value *row)
{
    return real(row, "flops_per_byte") > 0 && real(row, "tflop_s") > 0;
}

static void draw_point(struct html *html, const struct axes *axes, const struct ap_value *row)
{
    double x = x_of(real(row, "flops_per_byte")), y = y_of(axes, real(row, "tflop_s"));
    ap_svg_rect_open(html, class_of(row), x - 5, y - 5, 10, 10);
    write_title(html, row);
    ap_svg_rect_close(html);
}

static void draw_points(struct html *html, const struct axes *axes)
{
    const struct ap_value *row = ap_value_first(ap_html_at(html, "compute.operators"));
    for (int i = 0; row && i < MOST_POINTS && ap_html_has_room(html, 2000); row = row->next, i++)
        if (is_point(row))
            draw_point(html, axes, row);
}

static bool has_points(const struct html *html)
{
    const struct ap_value *row = ap_value_first(ap_html_at(html, "compute.operators"));
    while (row && !is_point(row))
        row = row->next;
    return row;
}

void ap_html_roofline(struct html *html)
{
    struct axes axes;
    if (!read_axes(html, &axes) || !has_points(html))
        return;
    ap_figure_begin(html, "roofline", "Operators under the roofline of the device");
    ap_html_tell(html, ap_html_at(html, "compute"),
                 "Each square is an operator with its shapes: to the right those "
                 "that compute more for each byte, higher those "
                 "that compute faster; lines are what the device can do at most "
                 "({v device.gb_s} GB/s, and its rates). Known is "
                 "{v coverage.known_ratio} of the time of compute kernels.");
    ap_figure_body(html);
    ap_svg_begin(html, "roofline", "", HEIGHT);
    for (const struct ap_value *rate = ap_value_first(ap_html_at(html, "compute.device.rates")); rate; rate = rate->next)
        draw_roof(html, &axes, rate);
    draw_points(html, &axes);
    ap_svg_label(html, "small", LEFT, BOTTOM + 22, NULL, "operations for a byte: more to the right, doubling");
    ap_svg_end(html);
    write_kinds(html);
    ap_figure_end(html);
}

/* ---- time against efficiency ---- */

static int64_t ns_of(const struct ap_value *row)
{
    return real(row, "roofline_ratio") > 0 ? ap_value_integer(member(row, "total_dur_us"), 0) : 0;
}

static void draw_bars(struct html *html, const struct ap_value *first, int64_t whole_ns)
{
    double x = 0;
    for (const struct ap_value *row = first; row && ap_html_has_room(html, 2000); row = row->next) {
        double width = (double)ns_of(row) / (double)whole_ns * SVG_WIDTH, ratio = fmin(real(row, "roofline_ratio"), 1.2);
        double height = ratio / 1.2 * (BOTTOM - TOP);
        if (width < 0.5)
            continue;
        ap_svg_rect_open(html, class_of(row), x, BOTTOM - height, width, height);
        write_title(html, row);
        ap_svg_rect_close(html);
        x += width;
    }
}

void ap_html_efficiency(struct html *html)
{
    const struct ap_value *first = ap_value_first(ap_html_at(html, "compute.operators"));
    double full = BOTTOM - (BOTTOM - TOP) / 1.2;
    int64_t whole_ns = 0;
    for (const struct ap_value *row = first; row; row = row->next)
        whole_ns = ap_html_sum(whole_ns, ns_of(row));
    if (whole_ns <= 0)
        return;
    ap_figure_begin(html, "efficiency", "Time of operators against what they reach");
    ap_html_string(html, "As wide as the time, as high as the share of the "
                         "roofline: the room above a wide and low bar is what "
                         "better kernels could win. Those first that lose most.");
    ap_figure_body(html);
    ap_svg_begin(html, "efficiency", "", HEIGHT);
    draw_bars(html, first, whole_ns);
    ap_svg_line(html, "grid", 0, full, SVG_WIDTH, full);
    ap_svg_label(html, "small", 0, full - 4, NULL, "100 % of the roofline");
    ap_svg_end(html);
    write_kinds(html);
    ap_figure_end(html);
}
