/* SPDX-License-Identifier: MIT */
#include "chart_svg.h"

#include <stdio.h>
#include <string.h>

#include "code_point.h"
#include "picture_links.h"

#include "poison.h"

void ap_figure_begin(struct html *html, const char *id, const char *title)
{
    (void)snprintf(html->figure_id, sizeof(html->figure_id), "%s", id);
    ap_html_gather(html, id, title);
    ap_html_format(html,
                   "<figure id=\"%s\" role=\"group\" aria-labelledby=\"%s-title\">\n<h3 id=\"%s-title\">%s</h3>\n"
                   "<figcaption id=\"%s-says\">",
                   id, id, id, title, id);
}

void ap_figure_body(struct html *html)
{
    ap_html_string(html, "</figcaption>\n");
    ap_link_findings(html, html->figure_id);
}

void ap_figure_end(struct html *html)
{
    ap_html_string(html, "</figure>\n");
}

/* A drawing that is wider than a narrow screen scrolls in its box, which the keyboard has to reach. */
static void begin_box(struct html *html, const char *id, bool scrolls)
{
    ap_html_string(html, "<div class=\"scroll\"");
    if (scrolls)
        ap_html_format(html, " role=\"region\" tabindex=\"0\" aria-labelledby=\"%s-title\"", id);
    ap_html_string(html, ">");
}

void ap_svg_begin(struct html *html, const char *id, const char *kind, double height)
{
    begin_box(html, id, strcmp(kind, "fit") != 0);
    ap_html_gather_height(html, height);
    ap_html_format(html,
                   "<svg class=\"chart %s\" id=\"%s-drawing\" role=\"img\" aria-labelledby=\"%s-title %s-says\" "
                   "viewBox=\"0 0 ",
                   kind, id, id, id);
    ap_html_number(html, SVG_WIDTH);
    ap_html_string(html, " ");
    ap_html_number(html, height);
    ap_html_string(html, "\">\n");
}

void ap_svg_end(struct html *html)
{
    ap_html_string(html, "</svg></div>\n");
}

static void write_number(struct html *html, const char *name, double number)
{
    ap_html_format(html, " %s=\"", name);
    ap_html_number(html, number);
    ap_html_string(html, "\"");
}

void ap_svg_position(struct html *html, const char *name, double number)
{
    long long hundredths = number > 0 && number < 1e12 ? (long long)(number * 100 + 0.5) : 0;
    ap_html_format(html, " %s=\"%lld.%02lld\"", name, hundredths / 100, hundredths % 100);
}

static void write_rect(struct html *html, const char *class, double x, double y, double width, double height)
{
    ap_html_format(html, "<rect class=\"%s\"", class);
    write_number(html, "x", x);
    write_number(html, "y", y);
    write_number(html, "width", width > 0 ? width : 0);
    write_number(html, "height", height > 0 ? height : 0);
}

void ap_svg_rect(struct html *html, const char *class, double x, double y, double width, double height)
{
    write_rect(html, class, x, y, width, height);
    ap_html_string(html, "/>\n");
}

void ap_svg_rect_open(struct html *html, const char *class, double x, double y, double width, double height)
{
    write_rect(html, class, x, y, width, height);
    ap_html_string(html, "><title>");
}

void ap_svg_rect_close(struct html *html)
{
    ap_html_string(html, "</title></rect>\n");
}

void ap_svg_rect_told(struct html *html, const char *class, double x, double y, double width, double height,
                      const struct ap_value *of, const char *template)
{
    ap_svg_rect_open(html, class, x, y, width, height);
    ap_html_tell(html, of, template);
    ap_svg_rect_close(html);
}

void ap_svg_step(struct html *html, const char *letter, double number)
{
    ap_html_string(html, letter);
    ap_html_number(html, number);
}

void ap_svg_line(struct html *html, const char *class, double x1, double y1, double x2, double y2)
{
    ap_html_format(html, "<line class=\"%s\"", class);
    write_number(html, "x1", x1);
    write_number(html, "y1", y1);
    write_number(html, "x2", x2);
    write_number(html, "y2", y2);
    ap_html_string(html, "/>\n");
}

void ap_svg_text(struct html *html, const char *class, double x, double y)
{
    ap_html_format(html, "<text class=\"%s\"", class);
    write_number(html, "x", x);
    write_number(html, "y", y);
    ap_html_string(html, ">");
}

void ap_svg_text_end(struct html *html)
{
    ap_html_string(html, "</text>\n");
}

/* In units of the drawing, of the widest font that browsers take for such a label. */
static double letter_width(uint32_t letter)
{
    const double narrow = 4.8, usual = 7.1, capital = 8.4, wide = 11.3;
    if (letter >= 0x80)
        return wide;
    if (strchr(" !\"'(),-./:;I[\\]fijlrt|", (int)letter))
        return narrow;
    if (strchr("#%+<=>@MWmw~", (int)letter))
        return wide;
    return letter >= 'A' && letter <= 'Z' ? capital : usual;
}

size_t ap_label_room(struct ap_text text, double width)
{
    const double ellipsis = letter_width(0x2026);
    size_t fits = 0, with_ellipsis = 1;
    double used = 0;
    for (size_t at = 0; at < text.bytes; fits++) {
        used += letter_width(ap_code_point_next(text, &at));
        if (used > width)
            return with_ellipsis;
        with_ellipsis += used + ellipsis <= width;
    }
    return fits + 1;
}

void ap_svg_label(struct html *html, const char *class, double x, double y, const struct ap_value *of, const char *template)
{
    ap_svg_text(html, class, x, y);
    ap_html_tell(html, of, template);
    ap_svg_text_end(html);
}

void ap_svg_fitting(struct html *html, const char *class, double x, double y, struct ap_text text, double width)
{
    ap_svg_text(html, class, x, y);
    ap_html_text(html, text, ap_label_room(text, width));
    ap_svg_text_end(html);
}

/* ---- axes ---- */

static int64_t axis_step(int64_t range, int most, bool of_bytes)
{
    static const int64_t decimal[] = { 2, 5, 10 };
    int64_t step = 1;
    for (size_t i = 0; range / step > most && step < INT64_MAX / 10; i++) {
        if (of_bytes)
            step *= 2;
        else
            step = step / (i % 3 == 0 ? 1 : decimal[i % 3 - 1]) * decimal[i % 3];
    }
    return step;
}

static void write_amount(struct html *html, int64_t value, bool of_bytes)
{
    if (value == 0)
        ap_html_string(html, "0");
    else if (of_bytes)
        ap_html_bytes(html, value);
    else
        ap_html_time(html, value);
}

void ap_axis_y(struct html *html, int64_t top_value, bool of_bytes, double left, double top, double bottom)
{
    int64_t step = axis_step(top_value, 5, of_bytes);
    for (int64_t value = 0; value <= top_value && value >= 0; value += step) {
        double y = bottom - (bottom - top) * (double)value / (double)(top_value > 0 ? top_value : 1);
        ap_svg_line(html, "grid", left, y, SVG_WIDTH, y);
        ap_svg_text(html, "small e", left - 6, y + 4);
        write_amount(html, value, of_bytes);
        ap_svg_text_end(html);
        if (value > INT64_MAX - step)
            break;
    }
}

void ap_axis_time(struct html *html, int64_t range_ns, double left, double right, double top, double bottom)
{
    int64_t step = axis_step(range_ns, 8, false);
    for (int64_t value = 0; range_ns > 0 && value <= range_ns; value += step) {
        double x = left + (right - left) * (double)value / (double)range_ns;
        ap_svg_line(html, "grid", x, top, x, bottom + 4);
        if (x < right - 20 || value == 0) {
            ap_svg_text(html, value ? "small m" : "small", x, bottom + 17);
            write_amount(html, value, false);
            ap_svg_text_end(html);
        }
        if (value > INT64_MAX - step)
            break;
    }
}

/* ---- legends and tables ---- */

void ap_legend_begin(struct html *html)
{
    ap_html_string(html, "<ul class=\"legend\">\n");
}

void ap_legend_item(struct html *html, const char *class, const char *label)
{
    ap_html_format(
        html,
        "<li><svg class=\"key\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"%s\" width=\"10\" height=\"10\"/>"
        "</svg>%s",
        class, label);
}

void ap_legend_item_end(struct html *html)
{
    ap_html_string(html, "</li>\n");
}

void ap_legend_end(struct html *html)
{
    ap_html_string(html, "</ul>\n");
}

void ap_legend_entry(struct html *html, const char *class, const char *label)
{
    ap_legend_item(html, class, label);
    ap_legend_item_end(html);
}

void ap_legend_time(struct html *html, int64_t ns, int64_t whole_ns)
{
    if (whole_ns > 0) {
        ap_html_string(html, " <b>");
        ap_html_share(html, (double)ns / (double)whole_ns);
        ap_html_string(html, "</b>");
    }
    ap_html_string(html, " <span class=\"muted\">");
    ap_html_time(html, ns);
    ap_html_string(html, "</span>");
    ap_legend_item_end(html);
}

void ap_svg_without_gpu(struct html *html)
{
    bool has_other = ap_value_integer(ap_html_at(html, "trace.recorded.accelerator"), 0) != 0;
    ap_html_string(html, has_other ? "Of an accelerator, not of a GPU, work was recorded: " : "No GPU work was recorded: ");
}

void ap_figures_begin(struct html *html, const char *const *titles)
{
    ap_html_string(html, "<details><summary>The figures as a table</summary><div class=\"t\" tabindex=\"0\"><table "
                         "class=\"sort\"><thead><tr>");
    for (size_t i = 0; titles[i]; i++)
        ap_html_format(html, "<th scope=\"col\"%s>%s</th>", i ? " class=\"r\"" : "", titles[i]);
    ap_html_string(html, "</tr></thead><tbody>\n");
}

void ap_figures_end(struct html *html)
{
    ap_html_string(html, "</tbody></table></div></details>\n");
}
