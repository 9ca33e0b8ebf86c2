/* SPDX-License-Identifier: MIT
 * html_compute.c - operators against the roofline of the device, and their time
 * against what they reach of it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "family_class.h"
#include "html_pictures.h"

#include "poison.h"

#define HEIGHT 330.0
#define LEFT 60.0
#define TOP 16.0
#define BOTTOM 300.0
#define MOST_POINTS 200
#define LABEL_HEIGHT 12.0
#define LEAST_LABEL 40.0

static const struct {
    const char *kind, *label;
} kinds[] = {
    { "GEMM", "GEMM" },
    { "convolution", "convolution" },
    { "attention", "attention" },
    { "mixture of experts", "mixture of experts" },
    { "elementwise", "elementwise" },
    { "copy", "copy" },
    { "normalization", "normalization" },
    { "", "others, such as softmax, reduction and indexing" },
};

static double real(const struct ap_value *object, const char *key)
{
    double number;
    return ap_value_number(ap_value_member(object, key), &number) && number > 0 ? number : 0;
}

#define CLASS_BYTES 64

/* The color of its kind, with an outline that is seen on any ground. */
static const char *shape_of(const struct ap_value *row, char class[CLASS_BYTES])
{
    (void)snprintf(class, CLASS_BYTES, "point %s", ap_family_class(ap_text_member(row, "kind")));
    return class;
}

static const char *class_of(const struct ap_value *row)
{
    return ap_family_class(ap_text_member(row, "kind"));
}

/* Of the kinds that are drawn. */
static void write_kinds(struct html *html, bool (*is_drawn)(const struct ap_value *row))
{
    const struct ap_value *first = ap_value_first(ap_html_at(html, "compute.operators"));
    ap_legend_begin(html);
    for (size_t i = 0; i < AP_COUNT_OF(kinds); i++) {
        const char *class = ap_family_class(ap_text_of(kinds[i].kind));
        const struct ap_value *row = first;
        while (row && (!is_drawn(row) || strcmp(class_of(row), class) != 0))
            row = row->next;
        if (row)
            ap_legend_entry(html, class, kinds[i].label);
    }
    ap_legend_end(html);
}

static void write_title(struct html *html, const struct ap_value *row)
{
    ap_html_text(html, ap_text_member(row, "operator"), 100);
    ap_html_string(html, " ");
    ap_html_text(html, ap_text_member(row, "dims"), 100);
    ap_html_tell(html, row, ": {v total_dur_us}, {v roofline_ratio} of the roofline");
}

/* ---- roofline ---- */

struct axes {
    double gb_s;                    /* of the device */
    double least_x, most_x;         /* powers of two of operations for a byte */
    double least_tflop_s, most_log; /* powers of ten of TFLOP/s, at the bottom and at the top */
};

static bool is_point(const struct ap_value *row)
{
    return real(row, "flops_per_byte") > 0 && real(row, "tflop_s") > 0;
}

static double x_of(const struct axes *axes, double flops_per_byte)
{
    double at = (log2(flops_per_byte) - axes->least_x) / (axes->most_x - axes->least_x);
    return LEFT + fmin(fmax(at, 0), 1) * (SVG_WIDTH - LEFT - 10);
}

static double y_of(const struct axes *axes, double tflop_s)
{
    double at = (log10(tflop_s) - axes->least_tflop_s) / (axes->most_log - axes->least_tflop_s);
    return BOTTOM - fmin(fmax(at, 0), 1) * (BOTTOM - TOP);
}

static bool is_rate(const struct ap_value *rate)
{
    return real(rate, "tflop_s") > 0;
}

/* As far as the operators reach, and the roofs above them. */
static bool read_axes(const struct html *html, struct axes *ret_axes)
{
    const struct ap_value *device = ap_html_at(html, "compute.device");
    double gb_s = real(device, "gb_s"), least_x = 1e300, most_x = 0, least_y = 1e300, most_y = 0;
    for (const struct ap_value *rate = ap_value_first(ap_value_member(device, "rates")); rate; rate = rate->next)
        most_y = fmax(most_y, real(rate, "tflop_s"));
    if (gb_s <= 0 || most_y <= 0)
        return false;
    for (const struct ap_value *row = ap_value_first(ap_html_at(html, "compute.operators")); row; row = row->next)
        if (is_point(row)) {
            least_x = fmin(least_x, real(row, "flops_per_byte"));
            most_x = fmax(most_x, real(row, "flops_per_byte"));
            least_y = fmin(least_y, real(row, "tflop_s"));
            most_y = fmax(most_y, real(row, "tflop_s"));
        }
    if (most_x <= 0)
        return false;
    *ret_axes = (struct axes){ .gb_s = gb_s,
                               .least_x = fmax(floor(log2(least_x)) - 1, -20),
                               .most_x = fmin(ceil(log2(fmax(most_x, most_y * 1e3 / gb_s))) + 1, 40),
                               .least_tflop_s = floor(fmax(log10(least_y), log10(most_y) - 6)),
                               .most_log = log10(most_y) + 0.2 };
    return true;
}

/* The memory's slope up to the rate, and the rate from there on. */
static void draw_roof(struct html *html, const struct axes *axes, const struct ap_value *rate)
{
    double tflop_s = real(rate, "tflop_s"), ridge = tflop_s * 1e3 / axes->gb_s;
    double least = exp2(axes->least_x), lowest = pow(10, axes->least_tflop_s) * 1e3 / axes->gb_s;
    if (!is_rate(rate))
        return;
    least = fmax(least, lowest);
    ap_svg_line(html, "grid", x_of(axes, least), y_of(axes, least * axes->gb_s / 1e3), x_of(axes, ridge),
                y_of(axes, tflop_s));
    ap_svg_line(html, "grid", x_of(axes, ridge), y_of(axes, tflop_s), SVG_WIDTH - 10, y_of(axes, tflop_s));
}

static double y_of_rate(const struct axes *axes, const struct ap_value *rate)
{
    return y_of(axes, real(rate, "tflop_s"));
}

/* Rates whose lines lie close share a label. */
static void label_roofs(struct html *html, const struct axes *axes, const struct ap_value *first)
{
    for (const struct ap_value *rate = first, *next; rate; rate = next) {
        next = rate->next;
        if (!is_rate(rate))
            continue;
        ap_svg_text(html, "small e", SVG_WIDTH - 12, y_of_rate(axes, rate) - 3);
        ap_html_tell(html, rate, "{v type}");
        for (; next && is_rate(next) && fabs(y_of_rate(axes, rate) - y_of_rate(axes, next)) < LABEL_HEIGHT;
             next = next->next)
            ap_html_tell(html, next, ", {v type}");
        ap_svg_text_end(html);
    }
}

static void draw_roofs(struct html *html, const struct axes *axes)
{
    const struct ap_value *first = ap_value_first(ap_html_at(html, "compute.device.rates"));
    for (const struct ap_value *rate = first; rate; rate = rate->next)
        draw_roof(html, axes, rate);
    label_roofs(html, axes, first);
}

static void label_power(struct html *html, const char *class, double x, double y, double power)
{
    ap_svg_text(html, class, x, y);
    ap_html_format(html, power < 1 ? "1/%.0f" : "%.0f", power < 1 ? 1 / power : power);
    ap_svg_text_end(html);
}

/* Each power of ten at the left; below, each second or fourth power of two. */
static void draw_axes(struct html *html, const struct axes *axes)
{
    double step = axes->most_x - axes->least_x > 14 ? 4 : 2;
    for (double at = axes->least_tflop_s; at <= axes->most_log; at++)
        label_power(html, "small e", LEFT - 6, y_of(axes, pow(10, at)) + 4, pow(10, at));
    for (double at = ceil(axes->least_x / step) * step; x_of(axes, exp2(at)) < SVG_WIDTH - 30; at += step)
        if (x_of(axes, exp2(at)) > LEFT + 12) /* not below the number at the left */
            label_power(html, "small m", x_of(axes, exp2(at)), BOTTOM + 14, exp2(at));
    ap_svg_line(html, "grid", LEFT, BOTTOM, SVG_WIDTH - 10, BOTTOM);
    ap_svg_label(html, "small", LEFT, TOP - 6, NULL, "TFLOP/s");
    ap_svg_label(html, "small e", SVG_WIDTH - 12, BOTTOM + 28, NULL, "operations for each byte moved");
}

static void draw_point(struct html *html, const struct axes *axes, const struct ap_value *row)
{
    double x = x_of(axes, real(row, "flops_per_byte")), y = y_of(axes, real(row, "tflop_s"));
    char class[CLASS_BYTES];
    ap_svg_rect_open(html, shape_of(row, class), x - 5, y - 5, 10, 10);
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

void ap_html_roofline(struct html *html)
{
    struct axes axes;
    if (!read_axes(html, &axes))
        return;
    ap_figure_begin(html, "roofline", "Operators under the roofline of the device");
    ap_html_tell(html, ap_html_at(html, "compute"),
                 "Each square is an operator with its shapes: the farther below its line, the more a better kernel could "
                 "gain. The lines are what the device can do at most: {v device.gb_s} GB/s on the slope, the rates of its "
                 "types above. Known of {v coverage.known_ratio} of the time of compute kernels.");
    ap_figure_body(html);
    ap_svg_begin(html, "roofline", "", HEIGHT);
    draw_axes(html, &axes);
    draw_roofs(html, &axes);
    draw_points(html, &axes);
    ap_svg_end(html);
    write_kinds(html, is_point);
    ap_figure_end(html);
}

/* ---- time against efficiency ---- */

static int64_t ns_of(const struct ap_value *row)
{
    return real(row, "roofline_ratio") > 0 ? ap_integer_member(row, "total_dur_us", 0) : 0;
}

static bool is_bar(const struct ap_value *row)
{
    return ns_of(row) > 0;
}

static void draw_bars(struct html *html, const struct ap_value *first, int64_t whole_ns)
{
    double x = 0;
    for (const struct ap_value *row = first; row && ap_html_has_room(html, 2000); row = row->next) {
        double width = (double)ns_of(row) / (double)whole_ns * SVG_WIDTH, ratio = fmin(real(row, "roofline_ratio"), 1.2);
        double height = ratio / 1.2 * (BOTTOM - TOP);
        if (width < 0.5)
            continue;
        char class[CLASS_BYTES];
        ap_svg_rect_open(html, shape_of(row, class), x, BOTTOM - height, width, height);
        write_title(html, row);
        ap_svg_rect_close(html);
        if (width >= LEAST_LABEL)
            ap_svg_fitting(html, "tin", x + 4, BOTTOM - 6, ap_text_member(row, "operator"), width - 8);
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
    ap_html_string(html, "Each bar is an operator: as wide as its time, as high as the share of the roofline that it "
                         "reaches. The room above a wide bar is what a better kernel could save.");
    ap_figure_body(html);
    ap_svg_begin(html, "efficiency", "", HEIGHT);
    draw_bars(html, first, whole_ns);
    ap_svg_line(html, "grid", 0, full, SVG_WIDTH, full);
    ap_svg_label(html, "small", 0, full - 4, NULL, "100 % of the roofline");
    ap_svg_end(html);
    write_kinds(html, is_bar);
    ap_figure_end(html);
}
