/* SPDX-License-Identifier: MIT
 * picture_links.c - findings and pictures are linked by the figures that both are about: picture_shows.def. */
#include "picture_links.h"

#include <string.h>

#include "chart_svg.h"
#include "finding_level.h"
#include "html_pictures.h"

#include "poison.h"

enum shows { SHOWS_FIGURES, SHOWS_PLACES, SHOWS_GAIN };

static const struct link {
    const char *picture, *path;
    enum shows shows;
} links[] = {
#define AP_SHOWS(picture, path) { picture, path, SHOWS_FIGURES },
#define AP_SHOWS_PLACES(picture, path) { picture, path, SHOWS_PLACES },
#define AP_SHOWS_GAIN(picture) { picture, "", SHOWS_GAIN },
#include "picture_shows.def"
#undef AP_SHOWS
#undef AP_SHOWS_PLACES
#undef AP_SHOWS_GAIN
};

#define LEAST_WIDTH 2.0
#define MOST_PLACES 100 /* of a finding */
#define MOST_MARKED 20  /* findings */

static bool is_within(const struct ap_value *place, int64_t start_ns, int64_t dur_ns)
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
        if (!at || at->type != AP_VALUE_TIME_NS || (!in->beyond && !is_within(place, in->start_ns, in->dur_ns)))
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

/* "sync" is the beginning of "sync.count", and not of "syncs". */
static bool is_below(struct ap_text path, const char *beginning)
{
    size_t bytes = strlen(beginning);
    return path.bytes >= bytes && memcmp(path.data, beginning, bytes) == 0 &&
           (path.bytes == bytes || path.data[bytes] == '.' || path.data[bytes] == '(');
}

static bool has_evidence(const struct ap_value *finding, const char *path)
{
    const struct ap_value *evidence = ap_value_first(ap_value_member(finding, "evidence"));
    for (; evidence; evidence = evidence->next) {
        const struct ap_value *value = ap_value_member(evidence, "value");
        if (value && value->type != AP_VALUE_NULL && is_below(ap_text_member(evidence, "metric"), path))
            return true;
    }
    return false;
}

static bool has_place_within(const struct html *html, const struct ap_value *finding, const char *path)
{
    const struct ap_value *stretch = ap_html_at(html, path);
    int64_t start_ns = ap_integer_member(stretch, "start_us", 0);
    int64_t dur_ns = ap_integer_member(stretch, "dur_us", 0);
    const struct ap_value *place = ap_value_first(ap_value_member(finding, "places"));
    while (place && !is_within(place, start_ns, dur_ns))
        place = place->next;
    return place;
}

static bool shows(const struct html *html, const struct link *link, const struct ap_value *finding)
{
    switch (link->shows) {
    case SHOWS_FIGURES: return has_evidence(finding, link->path);
    case SHOWS_PLACES: return has_place_within(html, finding, link->path);
    case SHOWS_GAIN: return ap_prediction_gains(ap_value_member(finding, "prediction"));
    }
    return false;
}

size_t ap_pictures_of_finding(const struct html *html, const struct ap_value *finding,
                              const struct html_part *ret_pictures[AP_MOST_LINKED_PICTURES])
{
    size_t count = 0;
    for (size_t i = 0; i < AP_COUNT_OF(links) && count < AP_MOST_LINKED_PICTURES; i++) {
        const struct html_part *picture = ap_html_find_picture(html, links[i].picture);
        bool is_new = picture && shows(html, &links[i], finding);
        for (size_t k = 0; k < count; k++)
            is_new &= ret_pictures[k] != picture;
        if (is_new)
            ret_pictures[count++] = picture;
    }
    return count;
}

static bool is_of(const struct html *html, const char *picture_id, const struct ap_value *finding)
{
    const struct html_part *pictures[AP_MOST_LINKED_PICTURES];
    size_t count = ap_pictures_of_finding(html, finding, pictures);
    for (size_t i = 0; i < count; i++)
        if (strcmp(pictures[i]->id, picture_id) == 0)
            return true;
    return false;
}

static const struct ap_value *next_shown(const struct html *html, const char *picture_id, const struct ap_value *finding,
                                         int *rank)
{
    for (; finding && *rank < AP_MOST_LINKED_FINDINGS; finding = finding->next) {
        if (ap_finding_is_remark(finding))
            continue;
        ++*rank;
        if (is_of(html, picture_id, finding))
            return finding;
    }
    return NULL;
}

/* One with its title, several by number: their titles stand in the list of all. */
void ap_link_findings(struct html *html, const char *picture_id)
{
    int rank = 0;
    const struct ap_value *finding = NULL, *next;
    if (html->contents)
        finding = next_shown(html, picture_id, ap_value_first(ap_html_at(html, "findings")), &rank);
    if (!finding)
        return;
    ap_html_format(html, "<p class=\"shows\">Shows finding <a href=\"#finding-%d\"", rank);
    int first = rank;
    next = next_shown(html, picture_id, finding->next, &rank);
    ap_html_tell(html, finding, next ? " title=\"{t title}\">" : ">");
    ap_html_format(html, next ? "%d" : "%d. ", first);
    ap_html_tell(html, finding, next ? "</a>" : "{p title}</a>");
    for (; next; next = next_shown(html, picture_id, next->next, &rank)) {
        ap_html_format(html, ", <a href=\"#finding-%d\"", rank);
        ap_html_tell(html, next, " title=\"{t title}\">");
        ap_html_format(html, "%d</a>", rank);
    }
    ap_html_string(html, "</p>\n");
}
