/* SPDX-License-Identifier: MIT
 * html_prediction.c - the step as it is and as it would be, one lane each, and the findings that make the difference. */
#include "html_pictures.h"

#include "poison.h"

#define LEFT 170.0
#define RIGHT (SVG_WIDTH - 110)
#define LANE 26.0
#define MOST_LANES 8

static int64_t time_of(const struct ap_value *prediction, const char *key)
{
    return ap_value_integer(ap_value_member(prediction, key), 0);
}

struct lanes {
    int64_t longest_ns;
    double y;
};

static double x_of(const struct lanes *lanes, int64_t ns)
{
    return LEFT + (RIGHT - LEFT) * (double)ns / (double)lanes->longest_ns;
}

static void name_lane(struct html *html, const struct lanes *lanes, struct ap_text name)
{
    ap_svg_text(html, "small", 0, lanes->y + 14);
    ap_html_text(html, name, 26);
    ap_svg_text_end(html);
}

/* The lane of a step; where it is predicted, its range lies over the end of the bar. */
static void draw_lane(struct html *html, struct lanes *lanes, struct ap_text name, const struct ap_value *prediction,
                      const char *key)
{
    int64_t ns = time_of(prediction, key);
    bool after = ap_text_is(ap_text_of(key), "after_us");
    name_lane(html, lanes, name);
    ap_svg_rect_open(html, after ? "steady" : "reserved", LEFT, lanes->y, x_of(lanes, ns) - LEFT, 20);
    ap_html_time(html, ns);
    ap_svg_rect_close(html);
    if (after) {
        double low = x_of(lanes, time_of(prediction, "after_low_us")),
               high = x_of(lanes, time_of(prediction, "after_high_us"));
        ap_svg_rect_open(html, "peak", low, lanes->y + 7, high - low > 1 ? high - low : 1, 6);
        ap_html_time(html, time_of(prediction, "after_low_us"));
        ap_html_string(html, " to ");
        ap_html_time(html, time_of(prediction, "after_high_us"));
        ap_svg_rect_close(html);
    }
    ap_svg_label(html, "small", RIGHT + 6, lanes->y + 14, prediction, after ? "{v after_us}" : "{v before_us}");
    lanes->y += LANE;
}

/* What is drawn: of what was asked for, else of findings. */
struct drawn {
    const struct ap_value *list, *together;
    const char *name;
};

static struct drawn find_drawn(const struct html *html)
{
    struct drawn drawn = { ap_html_at(html, "prediction.what_if"), ap_html_at(html, "prediction.what_if_together"),
                           "change" };
    if (!ap_value_first(drawn.list))
        drawn = (struct drawn){ ap_html_at(html, "prediction.findings"), ap_html_at(html, "prediction.findings_together"),
                                "rule_id" };
    return drawn;
}

static const struct ap_value *prediction_of(const struct ap_value *row)
{
    const struct ap_value *prediction = ap_value_member(row, "prediction");
    return prediction && prediction->type == AP_VALUE_OBJECT ? prediction : NULL;
}

static void write_row(struct html *html, struct ap_text name, const struct ap_value *prediction)
{
    ap_html_string(html, "<tr><th scope=\"row\">");
    ap_html_text(html, name, 60);
    ap_html_tell(html, prediction, "</th>{c before_us}{c after_us}{c after_low_us}{c after_high_us}{c gain_us}</tr>\n");
}

static void write_table(struct html *html, const struct drawn *drawn)
{
    static const char *const titles[] = { "Change", "Step now", "Step then", "From", "To", "Gain", NULL };
    ap_figures_begin(html, titles);
    for (const struct ap_value *row = ap_value_first(drawn->list); row && ap_html_has_room(html, 3000); row = row->next)
        if (prediction_of(row))
            write_row(html, ap_value_text(ap_value_member(row, drawn->name)), prediction_of(row));
    if (drawn->together && drawn->together->type == AP_VALUE_OBJECT)
        write_row(html, AP_TEXT("together"), drawn->together);
    ap_figures_end(html);
}

static int64_t longest_of(int64_t longest_ns, const struct ap_value *prediction)
{
    static const char *const keys[] = { "before_us", "after_us", "after_high_us" };
    for (size_t i = 0; i < AP_COUNT_OF(keys); i++)
        longest_ns = time_of(prediction, keys[i]) > longest_ns ? time_of(prediction, keys[i]) : longest_ns;
    return longest_ns;
}

static void draw_all(struct html *html, const struct drawn *drawn, struct lanes *lanes)
{
    size_t count = 0;
    for (const struct ap_value *row = ap_value_first(drawn->list); row && count < MOST_LANES; row = row->next) {
        if (!prediction_of(row) || !ap_html_has_room(html, 3000))
            continue;
        if (!count++)
            draw_lane(html, lanes, AP_TEXT("now"), prediction_of(row), "before_us");
        draw_lane(html, lanes, ap_value_text(ap_value_member(row, drawn->name)), prediction_of(row), "after_us");
    }
    if (drawn->together && drawn->together->type == AP_VALUE_OBJECT)
        draw_lane(html, lanes, AP_TEXT("together"), drawn->together, "after_us");
}

void ap_html_prediction(struct html *html)
{
    struct drawn drawn = find_drawn(html);
    struct lanes lanes = { .longest_ns = 0 };
    size_t count = 0;
    for (const struct ap_value *row = ap_value_first(drawn.list); row && count < MOST_LANES; row = row->next)
        if (prediction_of(row)) {
            lanes.longest_ns = longest_of(lanes.longest_ns, prediction_of(row));
            count++;
        }
    if (!count || lanes.longest_ns <= 0)
        return;
    bool together = drawn.together && drawn.together->type == AP_VALUE_OBJECT;
    ap_figure_begin(html, "prediction", "What changes would gain");
    ap_html_string(html,
                   "A step now, and with each change: the recording replayed with it. The thin bar is the range in which "
                   "the steps lie.");
    ap_figure_body(html);
    ap_svg_begin(html, "prediction", "", LANE * (double)(count + 1 + together));
    draw_all(html, &drawn, &lanes);
    ap_svg_end(html);
    write_table(html, &drawn);
    ap_figure_end(html);
}
