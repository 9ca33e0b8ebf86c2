/* SPDX-License-Identifier: MIT
 * picture_svg.h - a figure of the HTML report as a file of SVG: title, sentence, drawing and legend on a ground of its own,
 * with its style inside, so that it can be shown by any page. Private to src/report. */
#ifndef AP_PICTURE_SVG_H
#define AP_PICTURE_SVG_H

#include "out.h"

/** Take the next figure off the front of @markup, which chart_svg.c wrote; its id in *ret_id. False = there is none. */
bool ap_picture_next(struct ap_text *markup, struct ap_text *ret_figure, struct ap_text *ret_id);
void ap_picture_write(struct ap_out *out, struct ap_text figure);

#endif
