/* SPDX-License-Identifier: MIT */
#include "finding_marks.h"

#include "chart_svg.h"
#include "finding_level.h"

#include "poison.h"

#define LEAST_WIDTH 2.0
#define MOST_PLACES 100 /* of a finding */
#define MOST_MARKED 20  /* findings */

bool ap_place_is_within(const struct ap_value *place, int64_t start_ns, int64_t dur_ns)
{
    const struct ap_value *at = ap_value_member(place, "start_us");
    int64_t from_ns = ap_value_integer(at, 0);
    int64_t to_ns = ap_html_sum(from_ns, ap_integer_member(place, "dur_us", 0));
    return at && at->type == AP_VALUE_TIME_NS && from_ns < ap_html_sum(start_ns, dur_ns) && to_ns > start_ns;
}

static double x_at(const struct ap_marked_stretch *in, int64_t ns)
{
    double share = (double)ap_html_less(ns, in->start_ns) / (double)in->dur_ns;
    if (!in->beyond)
        share = share < 0 ? 0 : share > 1 ? 1 : share;
    return in->left + (in->right - in->left) * share;
}

static void draw_place(struct html *html, const struct ap_marked_stretch *in, const struct ap_value *place)
{
    int64_t start_ns = ap_integer_member(place, "start_us", 0);
    double x = x_at(in, start_ns);
    double width = x_at(in, ap_html_sum(start_ns, ap_integer_member(place, "dur_us", 0))) - x;
    ap_html_string(html, "<rect class=\"placemark\"");
    ap_svg_position(html, "x", x);
    ap_svg_position(html, "y", in->top);
    ap_svg_position(html, "width", width < LEAST_WIDTH ? LEAST_WIDTH : width);
    ap_svg_position(html, "height", in->bottom - in->top);
    ap_html_string(html, "/>\n");
}

static void mark_finding(struct html *html, const struct ap_marked_stretch *in, const struct ap_value *finding, int rank)
{
    int drawn = 0;
    const struct ap_value *place = ap_value_first(ap_value_member(finding, "places"));
    for (; place && drawn < MOST_PLACES && ap_html_has_room(html, 2000); place = place->next) {
        const struct ap_value *at = ap_value_member(place, "start_us");
        if (!at || at->type != AP_VALUE_TIME_NS || (!in->beyond && !ap_place_is_within(place, in->start_ns, in->dur_ns)))
            continue;
        if (!drawn++)
            ap_html_format(html, "<g class=\"marks hidden\" data-d=\"%d\">\n", rank);
        draw_place(html, in, place);
    }
    if (drawn)
        ap_html_string(html, "</g>\n");
}

void ap_mark_findings(struct html *html, const struct ap_marked_stretch *stretch)
{
    const struct ap_value *finding = ap_value_first(ap_html_at(html, "findings"));
    int rank = 0;
    if (!html->contents || stretch->dur_ns <= 0)
        return;
    for (; finding && rank < MOST_MARKED; finding = finding->next)
        if (!ap_finding_is_remark(finding))
            mark_finding(html, stretch, finding, ++rank);
}
