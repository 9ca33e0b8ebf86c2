/* SPDX-License-Identifier: MIT
 * chart_svg.h - pictures in the HTML report: a figure with its sentence, shapes, axes, legends. Shapes take their colors
 * by class, never by style, and a class is always a word of ours. */
#ifndef AP_CHART_SVG_H
#define AP_CHART_SVG_H

#include "html.h"

/** All drawings are as wide as this, in units of their own. */
#define SVG_WIDTH 1000.0

/** A figure from its heading to where the sentence goes that says the same in words: write it, then ap_figure_body. @id: a
 *  word of ours. */
void ap_figure_begin(struct html *html, const char *id, const char *title);
/** End of the sentence; the drawing follows. */
void ap_figure_body(struct html *html);
void ap_figure_end(struct html *html);

/** @kind: more classes, or "". The drawing is described by the figure's heading and sentence. */
void ap_svg_begin(struct html *html, const char *id, const char *kind, double height);
void ap_svg_end(struct html *html);
void ap_svg_rect(struct html *html, const char *class, double x, double y, double width, double height);
/** The same, left open for ap_svg_title. */
void ap_svg_rect_open(struct html *html, const char *class, double x, double y, double width, double height);
void ap_svg_rect_close(struct html *html);
/** With a title from a template of ap_html_tell. */
void ap_svg_rect_told(struct html *html, const char *class, double x, double y, double width, double height,
                      const struct ap_value *of, const char *template);
/** An attribute with two decimals, from 0: of what the page's script zooms, where one decimal would show as gaps. */
void ap_svg_position(struct html *html, const char *name, double number);
void ap_svg_line(struct html *html, const char *class, double x1, double y1, double x2, double y2);
/** A step of a path: a letter and a number. */
void ap_svg_step(struct html *html, const char *letter, double number);
/** Left open: write the text, then ap_svg_text_end. */
void ap_svg_text(struct html *html, const char *class, double x, double y);
void ap_svg_text_end(struct html *html);
/** The same with a template of ap_html_tell. */
void ap_svg_label(struct html *html, const char *class, double x, double y, const struct ap_value *of, const char *template);

/** As much of @text as @width has room for. */
void ap_svg_fitting(struct html *html, const char *class, double x, double y, struct ap_text text, double width);
/** How many code points of @text, an ellipsis among them, fit into @width, for ap_html_text: rather too few than too
 *  many. */
size_t ap_label_room(struct ap_text text, double width);

/** Horizontal lines with times or sizes at the left, from 0 at @bottom to @top_value at @top. */
void ap_axis_y(struct html *html, int64_t top_value, bool of_bytes, double left, double top, double bottom);
/** Marks below the drawing with times since its start, from 0 at @left to @range_ns at @right. */
void ap_axis_time(struct html *html, int64_t range_ns, double left, double right, double top, double bottom);

/** A list of items; ap_legend_end closes it. */
void ap_legend_begin(struct html *html);
/** Left open: more may be written behind the label, then ap_legend_item_end. */
void ap_legend_item(struct html *html, const char *class, const char *label);
void ap_legend_item_end(struct html *html);
void ap_legend_end(struct html *html);
/** An item that says no more than its label. */
void ap_legend_entry(struct html *html, const char *class, const char *label);
/** The end of one that says how long it is, and what share of the whole; 0 = no share. */
void ap_legend_time(struct html *html, int64_t ns, int64_t whole_ns);

/** The beginning of a caption: of what no work was recorded. */
void ap_svg_without_gpu(struct html *html);

/** A table of the figures behind the drawing, folded; @titles end with NULL. */
void ap_figures_begin(struct html *html, const char *const *titles);
void ap_figures_end(struct html *html);

#endif
