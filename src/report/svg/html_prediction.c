/* SPDX-License-Identifier: MIT
 * html_prediction.c - the step as it is and as it would be, one lane each, and the findings that make the difference. */
#include <string.h>

#include "finding_level.h"
#include "html_pictures.h"

#include "poison.h"

#define LANE 42.0
#define BAR_TOP 16.0 /* below the name */
#define MOST_LANES 8

struct lanes {
    int64_t longest_ns;
    double y;
};

static double x_of(const struct lanes *lanes, int64_t ns)
{
    return SVG_WIDTH * (double)ns / (double)lanes->longest_ns;
}

/* The number of a finding in the list of all; 0 = of a remark. */
static int rank_of(const struct html *html, struct ap_text rule_id)
{
    int rank = 0;
    const struct ap_value *finding = ap_value_first(ap_html_at(html, "findings"));
    for (; finding; finding = finding->next) {
        rank += !ap_finding_is_remark(finding);
        if (ap_text_equal(ap_text_member(finding, "rule_id"), rule_id))
            return ap_finding_is_remark(finding) ? 0 : rank;
    }
    return 0;
}

/* What a lane is of, above its bar. @row: of the list; NULL = a lane of @name. */
static void name_lane(struct html *html, const struct lanes *lanes, const struct ap_value *row, struct ap_text name,
                      int64_t ns)
{
    int rank = row ? rank_of(html, ap_text_member(row, "rule_id")) : 0;
    ap_svg_text(html, "", 0, lanes->y + 11);
    if (rank)
        ap_html_format(html, "%d. ", rank);
    ap_html_text(html, name, 100);
    ap_html_string(html, ": ");
    ap_html_time(html, ns);
    ap_svg_text_end(html);
}

/* The lane of a step; where it is predicted, its range lies over the end of the bar. */
static void draw_lane(struct html *html, struct lanes *lanes, const struct ap_value *row, struct ap_text name,
                      const struct ap_value *prediction, const char *key)
{
    int64_t ns = ap_integer_member(prediction, key, 0);
    bool after = ap_text_is(ap_text_of(key), "after_us");
    double y = lanes->y + BAR_TOP;
    name_lane(html, lanes, row, name, ns);
    ap_svg_rect_open(html, after ? "steady" : "reserved", 0, y, x_of(lanes, ns), 18);
    ap_html_time(html, ns);
    ap_svg_rect_close(html);
    if (after) {
        double low = x_of(lanes, ap_integer_member(prediction, "after_low_us", 0)),
               high = x_of(lanes, ap_integer_member(prediction, "after_high_us", 0));
        ap_svg_rect_open(html, "peak", low, y + 6, high - low > 1 ? high - low : 1, 6);
        ap_html_time(html, ap_integer_member(prediction, "after_low_us", 0));
        ap_html_string(html, " to ");
        ap_html_time(html, ap_integer_member(prediction, "after_high_us", 0));
        ap_svg_rect_close(html);
    }
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
                                "title" };
    return drawn;
}

static const struct ap_value *prediction_of(const struct ap_value *row)
{
    const struct ap_value *prediction = ap_value_member(row, "prediction");
    return prediction && prediction->type == AP_VALUE_OBJECT ? prediction : NULL;
}

#define LEAST_GAIN 1000 /* one of so many */

bool ap_prediction_gains(const struct ap_value *prediction)
{
    return ap_integer_member(prediction, "gain_us", 0) > ap_integer_member(prediction, "before_us", 0) / LEAST_GAIN;
}

/* A finding whose change moves nothing in the replay is no lane; of what was asked for, each is. */

static bool is_lane(const struct drawn *drawn, const struct ap_value *row)
{
    const struct ap_value *prediction = prediction_of(row);
    return prediction && (strcmp(drawn->name, "change") == 0 || ap_prediction_gains(prediction));
}

static bool has_together(const struct drawn *drawn)
{
    return drawn->together && drawn->together->type == AP_VALUE_OBJECT;
}

static void write_row(struct html *html, struct ap_text name, const struct ap_value *prediction)
{
    ap_html_string(html, "<tr><th scope=\"row\">");
    ap_html_text(html, name, 60);
    ap_html_tell(html, prediction, "</th>{c before_us}{c after_us}{c after_low_us}{c after_high_us}{c gain_us}</tr>\n");
}

static void write_table(struct html *html, const struct drawn *drawn)
{
    static const char *const titles[] = { "Change", "Now", "Then", "From", "To", "Gain", NULL };
    ap_figures_begin(html, titles);
    for (const struct ap_value *row = ap_value_first(drawn->list); row && ap_html_has_room(html, 3000); row = row->next)
        if (prediction_of(row))
            write_row(html, ap_text_member(row, drawn->name), prediction_of(row));
    if (has_together(drawn))
        write_row(html, AP_TEXT("together"), drawn->together);
    ap_figures_end(html);
}

static int64_t longest_of(int64_t longest_ns, const struct ap_value *prediction)
{
    static const char *const keys[] = { "before_us", "after_us", "after_high_us" };
    for (size_t i = 0; i < AP_COUNT_OF(keys); i++)
        longest_ns =
            ap_integer_member(prediction, keys[i], 0) > longest_ns ? ap_integer_member(prediction, keys[i], 0) : longest_ns;
    return longest_ns;
}

static void draw_all(struct html *html, const struct drawn *drawn, struct lanes *lanes)
{
    size_t count = 0;
    for (const struct ap_value *row = ap_value_first(drawn->list); row && count < MOST_LANES; row = row->next) {
        if (!is_lane(drawn, row) || !ap_html_has_room(html, 3000))
            continue;
        if (!count++)
            draw_lane(html, lanes, NULL, AP_TEXT("as recorded"), prediction_of(row), "before_us");
        draw_lane(html, lanes, row, ap_text_member(row, drawn->name), prediction_of(row), "after_us");
    }
    if (has_together(drawn))
        draw_lane(html, lanes, NULL,
                  strcmp(drawn->name, "change") == 0 ? AP_TEXT("together") : AP_TEXT("together, three findings at most"),
                  drawn->together, "after_us");
}

static void write_sentence(struct html *html, const struct drawn *drawn, size_t still)
{
    bool of_steps = ap_value_integer(ap_html_at(html, "prediction.replay.steps"), 0) > 0;
    ap_html_string(html, of_steps ? "A step" : "The window");
    ap_html_string(html, strcmp(drawn->name, "change") == 0 ? " as recorded, and replayed with each change."
                                                            : " as recorded, and replayed without the cause of a finding.");
    ap_html_string(html, " The thin bar is the likely range.");
    if (still)
        ap_html_format(html, " %zu that change%s nothing there %s left out.", still, still == 1 ? "s" : "",
                       still == 1 ? "is" : "are");
}

void ap_html_prediction(struct html *html)
{
    struct drawn drawn = find_drawn(html);
    struct lanes lanes = { .longest_ns = 0 };
    size_t count = 0, still = 0;
    for (const struct ap_value *row = ap_value_first(drawn.list); row && count < MOST_LANES; row = row->next) {
        still += prediction_of(row) && !is_lane(&drawn, row);
        if (is_lane(&drawn, row)) {
            lanes.longest_ns = longest_of(lanes.longest_ns, prediction_of(row));
            count++;
        }
    }
    if (!count || lanes.longest_ns <= 0)
        return;
    ap_figure_begin(html, "prediction", "What changes would gain");
    write_sentence(html, &drawn, still);
    ap_figure_body(html);
    ap_svg_begin(html, "prediction", "", LANE * (double)(count + 1 + has_together(&drawn)));
    draw_all(html, &drawn, &lanes);
    ap_svg_end(html);
    write_table(html, &drawn);
    ap_figure_end(html);
}
