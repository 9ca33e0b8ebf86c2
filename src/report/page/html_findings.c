/* SPDX-License-Identifier: MIT
 * What was found, as cards: how bad, what it could save, what was measured, why, what to do, how to see that it worked. */
#include <string.h>

#include "html_findings.h"
#include "finding_level.h"
#include "picture_links.h"

#include "poison.h"

#define CARD_BYTES 60000
#define MOST_PLACES 5

/* Becomes a class, so only what is known does. */
static const char *severity_of(const struct ap_value *finding)
{
    return ap_severity_names[ap_severity_of(ap_text_member(finding, "severity"))];
}

static bool is_time(const struct ap_value *value)
{
    return value && value->type == AP_VALUE_TIME_NS;
}

static bool is_size(const struct ap_value *value)
{
    return value && value->type == AP_VALUE_BYTES;
}

/* What a share is of, in words. */
static void write_whole(struct html *html, struct ap_text path)
{
    static const struct {
        const char *path, *words;
    } wholes[] = {
#define AP_GAIN_WHOLE(id, path, words) { path, words },
#include "gain_whole.def"
#undef AP_GAIN_WHOLE
    };
    ap_html_string(html, " of ");
    for (size_t i = 0; i < AP_COUNT_OF(wholes); i++)
        if (ap_text_is(path, wholes[i].path)) {
            ap_html_string(html, wholes[i].words);
            return;
        }
    ap_html_name(html, path);
}

/* "saves at most 352 ms and 1.2 GiB, 33 % of trace.window_us" */
static void write_savings(struct html *html, const struct ap_value *finding)
{
    const struct ap_value *time = ap_value_member(finding, "saves_us"), *bytes = ap_value_member(finding, "saves_bytes");
    const struct ap_value *gain = ap_value_member(finding, "gain"), *share = ap_value_member(gain, "share_ratio");
    if (!is_time(time) && !is_size(bytes))
        return;
    ap_html_string(html, "<span class=\"gain\">saves at most <b>");
    if (is_time(time))
        ap_html_value(html, time);
    if (is_time(time) && is_size(bytes))
        ap_html_string(html, "</b> and <b>");
    if (is_size(bytes))
        ap_html_value(html, bytes);
    ap_html_string(html, "</b>");
    if (share && share->type == AP_VALUE_RATIO)
        ap_html_tell(html, gain, ", {v share_ratio}");
    if (share && share->type == AP_VALUE_RATIO)
        write_whole(html, ap_text_member(gain, "whole"));
    ap_html_string(html, "</span>");
}

static void write_tag(struct html *html, const struct ap_value *finding, const char *key, const char *template)
{
    if (ap_text_member(finding, key).bytes)
        ap_html_tell(html, finding, template);
}

/* Where the report begins: what to do first, where, what for. */
void ap_html_first_finding(struct html *html)
{
    const struct ap_value *finding = ap_value_first(ap_html_at(html, "findings"));
    while (finding && ap_finding_is_remark(finding))
        finding = finding->next;
    if (!finding) {
        ap_html_format(html, "<div class=\"first\"><p>%s</p></div>\n", ap_nothing_found(&html->doc.model->root));
        return;
    }
    ap_html_format(html, "<div class=\"first %s\"><p><span class=\"sev\">%s</span> <a href=\"#finding-1\">",
                   severity_of(finding), severity_of(finding));
    ap_html_tell(html, finding, "{p title}</a>");
    if (ap_finding_where(finding).bytes) {
        ap_html_string(html, " in ");
        ap_html_name(html, ap_finding_where(finding));
    }
    ap_html_string(html, " ");
    write_savings(html, finding);
    ap_html_string(html, "</p>\n");
    write_tag(html, finding, "action", "<p><b>What to do:</b> {p action}</p>\n");
    ap_html_string(html, "</div>\n");
}

/* The first is open: what to do is read without a click. */
static void write_head(struct html *html, const struct ap_value *finding, int rank)
{
    const char *severity = severity_of(finding);
    ap_html_format(html,
                   "<article class=\"card %s\" id=\"finding-%d\" aria-labelledby=\"finding-%d-title\">\n"
                   "<details%s><summary><span class=\"sev\">%s</span> <h3 id=\"finding-%d-title\">%d. ",
                   severity, rank, rank, rank == 1 ? " open=\"\"" : "", severity, rank, rank);
    ap_html_tell(html, finding, "{p title}</h3></summary>\n<p class=\"sub\">");
    write_savings(html, finding);
    ap_html_tell(html, finding, " <span>{t confidence} confidence</span>");
    write_tag(html, finding, "bottleneck", " <span>{t bottleneck}</span>");
    if (!ap_text_is(ap_text_member(finding, "hardware"), "any"))
        write_tag(html, finding, "hardware", " <span>on {t hardware}</span>");
    ap_html_string(html, "</p>\n");
}

static void write_words(struct html *html, const struct ap_value *value)
{
    if (value->type == AP_VALUE_TEXT) {
        ap_html_prose(html, value->as.text);
        return;
    }
    const char *before = "";
    for (const struct ap_value *part = ap_value_first(value); part; part = part->next) {
        struct ap_text text = part->type == AP_VALUE_OBJECT ? ap_text_member(part, "name") : ap_value_text(part);
        if (!text.bytes)
            continue;
        ap_html_string(html, before);
        ap_html_prose(html, text);
        before = "; ";
    }
}

static bool has_words(const struct ap_value *value)
{
    if (!value || value->type == AP_VALUE_TEXT)
        return value && value->as.text.bytes;
    for (const struct ap_value *part = ap_value_first(value); part; part = part->next)
        if (ap_value_text(part).bytes || ap_text_member(part, "name").bytes)
            return true;
    return false;
}

/* What was measured without the threshold, which stands with the evidence. */
static struct ap_text without_threshold(const struct ap_value *finding, struct ap_text observation)
{
    static const char before[] = " Threshold: ";
    struct ap_text source = ap_text_member(finding, "threshold_source");
    size_t end = source.bytes + sizeof(before) - 1 + 1;
    if (!source.bytes || observation.bytes <= end)
        return observation;
    const char *at = observation.data + observation.bytes - end;
    if (memcmp(at, before, sizeof(before) - 1) != 0 || memcmp(at + sizeof(before) - 1, source.data, source.bytes) != 0)
        return observation;
    return (struct ap_text){ observation.data, observation.bytes - end };
}

static void write_point(struct html *html, const struct ap_value *finding, const char *key, const char *label)
{
    const struct ap_value *value = ap_value_member(finding, key);
    if (!has_words(value))
        return;
    ap_html_format(html, "<dt>%s</dt><dd>", label);
    if (strcmp(key, "observation") == 0 && value->type == AP_VALUE_TEXT)
        ap_html_prose(html, without_threshold(finding, value->as.text));
    else
        write_words(html, value);
    ap_html_string(html, "</dd>\n");
}

/* "`train.py:3 step` 25 MiB, ...": of time, bytes and count one is known. */
static void write_affected(struct html *html, const struct ap_value *finding)
{
    static const char *const amounts[] = { "us", "bytes", "count" };
    const struct ap_value *first = ap_value_first(ap_value_member(finding, "affected"));
    for (const struct ap_value *row = first; row; row = row->next) {
        ap_html_string(html, row == first ? "<dt>Most by</dt><dd>" : ", ");
        ap_html_name(html, ap_text_member(row, "name"));
        for (size_t i = 0; i < AP_COUNT_OF(amounts); i++) {
            const struct ap_value *amount = ap_value_member(row, amounts[i]);
            if (!amount || amount->type == AP_VALUE_NULL)
                continue;
            ap_html_string(html, " ");
            ap_html_value(html, amount);
            if (amount->type == AP_VALUE_COUNT)
                ap_html_string(html, ap_value_integer(amount, 0) == 1 ? " time" : " times");
        }
    }
    if (first)
        ap_html_string(html, "</dd>\n");
}

static void write_points(struct html *html, const struct ap_value *finding)
{
    static const char *const points[][2] = {
        { "observation", "Measured" },    { "hypothesis", "Why, probably" }, { "action", "What to do" },
        { "trade_off", "What it costs" }, { "validation", "How to verify" }, { "missing", "Missing to be sure" },
    };
    ap_html_string(html, "<dl>\n");
    for (size_t i = 0; i < AP_COUNT_OF(points); i++) {
        write_point(html, finding, points[i][0], points[i][1]);
        if (i == 0)
            write_affected(html, finding);
    }
    ap_html_string(html, "</dl>\n");
}

static void write_evidence(struct html *html, const struct ap_value *finding)
{
    const struct ap_value *evidence = ap_value_first(ap_value_member(finding, "evidence"));
    bool any = false;
    for (; evidence; evidence = evidence->next) {
        struct ap_text figure = ap_text_member(evidence, "metric");
        if (!ap_evidence_is_told(evidence))
            continue;
        if (!any)
            ap_html_string(
                html, "<div class=\"t\" tabindex=\"0\"><table>\n<thead><tr><th scope=\"col\">Path</th><th scope=\"col\" "
                      "class=\"r\">Measured</th><th scope=\"col\" class=\"r\">Threshold</th></tr></thead>\n<tbody>\n");
        any = true;
        ap_html_string(html, "<tr><th scope=\"row\">");
        ap_html_name(html, figure);
        ap_html_string(html, "</th><td class=\"r\">");
        ap_html_measure(html, ap_value_member(evidence, "value"), figure);
        ap_html_string(html, "</td><td class=\"r\">");
        ap_html_measure(html, ap_value_member(evidence, "threshold"), figure);
        ap_html_string(html, "</td></tr>\n");
    }
    if (any)
        ap_html_string(html, "</tbody></table></div>\n");
    write_tag(html, finding, "threshold_source", "<p>Threshold: {p threshold_source}.</p>\n");
    ap_html_tell(html, finding, "<p>Rule {n rule_id}; the gain is a share of {n gain.whole}.</p>\n");
}

static void write_place(struct html *html, const struct ap_value *place)
{
    ap_html_tell(html, place, ap_text_member(place, "name").bytes ? "<li>{n name} at <code>" : "<li>at <code>");
    ap_out_microseconds(&html->out,
                        ap_value_member(place, "start_us")->as.integer); /* as the trace has it, to be searched for */
    ap_html_tell(html, place, "</code> us for {v dur_us}, tid ");
    const struct ap_value *tid = ap_value_member(place, "tid");
    if (tid && tid->type == AP_VALUE_COUNT)
        ap_html_format(html, "%lld", (long long)tid->as.integer);
    else
        ap_html_value(html, tid);
    ap_html_string(html, "</li>\n");
}

static void write_places(struct html *html, const struct ap_value *finding)
{
    int shown = 0;
    for (const struct ap_value *place = ap_value_first(ap_value_member(finding, "places")); place; place = place->next) {
        if (!is_time(ap_value_member(place, "start_us")) || shown == MOST_PLACES)
            continue;
        ap_html_string(html, shown++ ? "" : "<p>In the trace:</p><ul>\n");
        write_place(html, place);
    }
    if (shown)
        ap_html_string(html, "</ul>\n");
}

static void write_command(struct html *html, const struct ap_value *finding)
{
    struct ap_text command = ap_text_member(finding, "verify_command");
    if (!command.bytes)
        return;
    ap_html_string(html, "<p>To see whether it worked:</p>\n<pre><code>");
    ap_html_text(html, command, 2000);
    ap_html_string(html, "</code></pre>\n");
}

/* ---- the pictures that show it, as they stand below, smaller: of a folded card the first alone ---- */

#define VIEW_HEIGHT 420.0 /* of a picture that is higher its upper part */

static void write_view(struct html *html, const struct html_part *picture, bool is_drawn)
{
    ap_html_format(html, "<a href=\"#%s\">", picture->id);
    if (is_drawn && picture->height > 0) {
        ap_html_string(html, "<svg class=\"view\" aria-hidden=\"true\" viewBox=\"0 0 1000 ");
        ap_html_number(html, picture->height < VIEW_HEIGHT ? picture->height : VIEW_HEIGHT);
        ap_html_format(html, "\"><use href=\"#%s-drawing\" width=\"1000\" height=\"", picture->id);
        ap_html_number(html, picture->height);
        ap_html_string(html, "\"/></svg>");
    }
    ap_html_format(html, "%s</a>\n", picture->title);
}

static void write_views(struct html *html, const struct ap_value *finding, int rank)
{
    const struct html_part *pictures[AP_MOST_LINKED_PICTURES];
    size_t count = rank <= AP_MOST_LINKED_FINDINGS ? ap_pictures_of_finding(html, finding, pictures) : 0;
    for (size_t i = 0; i < count; i++) {
        ap_html_string(html, i ? "" : "<div class=\"views\">\n");
        write_view(html, pictures[i], i == 0 || rank == 1);
    }
    if (count)
        ap_html_string(html, "</div>\n");
}

static void write_card(struct html *html, const struct ap_value *finding, int rank)
{
    write_head(html, finding, rank);
    write_views(html, finding, rank);
    write_points(html, finding);
    ap_html_string(html, "<details><summary>Evidence, places, command</summary>\n");
    write_evidence(html, finding);
    write_places(html, finding);
    write_command(html, finding);
    ap_html_string(html, "</details>\n</details>\n</article>\n");
}

static void write_remark(struct html *html, const struct ap_value *finding)
{
    ap_html_tell(html, finding, "<li><b>{p title}</b> ({n rule_id}): {p observation} <b>What to do:</b> {p action}</li>\n");
}

/* @open: nothing else was found, so they are all that there is to do. */
static void write_remarks(struct html *html, bool open)
{
    const struct ap_value *remarks[AP_REMARKS_SHOWN];
    size_t count = ap_finding_remarks(&html->doc.model->root, remarks);
    if (!count)
        return;
    ap_html_format(html, "<details class=\"also\"%s><summary>Also noted (%zu)</summary>\n<ul>\n", open ? " open=\"\"" : "",
                   count < AP_REMARKS_SHOWN ? count : AP_REMARKS_SHOWN);
    for (size_t i = 0; i < count && i < AP_REMARKS_SHOWN; i++)
        write_remark(html, remarks[i]);
    ap_html_string(html, "</ul></details>\n");
}

static void write_fine(struct html *html)
{
    const struct ap_value *fine = ap_value_first(ap_html_at(html, "fine"));
    if (!fine)
        return;
    ap_html_format(html, "<details class=\"also\"><summary>Looked at, and fine (%zu)</summary>\n<ul>\n",
                   ap_value_count(ap_html_at(html, "fine")));
    for (; fine; fine = fine->next)
        ap_html_tell(html, fine, "<li><b>{p title}:</b> {p text} ({n metric})</li>\n");
    ap_html_string(html, "</ul></details>\n");
}

/* ---- all of them at a glance ---- */

#define BAR_WIDTH 100.0
#define MOST_LINES 40

static double share_of(const struct ap_value *finding)
{
    const struct ap_value *share = ap_value_member(ap_value_member(finding, "gain"), "share_ratio");
    return share && share->type == AP_VALUE_RATIO ? share->as.number : 0;
}

/* Beside the title: on what, and the saving as a bar that is full at the whole. */
static void write_line(struct html *html, const struct ap_value *finding, int rank)
{
    const char *severity = severity_of(finding);
    const struct ap_value *time = ap_value_member(finding, "saves_us"), *bytes = ap_value_member(finding, "saves_bytes");
    double share = share_of(finding);
    ap_html_format(html, "<tr class=\"%s\"><td><span class=\"sev\">%s</span></td><td><a href=\"#finding-%d\">", severity,
                   severity, rank);
    ap_html_tell(html, finding, "{p title}</a></td><td>");
    if (ap_finding_where(finding).bytes)
        ap_html_name(html, ap_finding_where(finding));
    else
        ap_html_string(html, "<span class=\"muted\">the run as a whole</span>");
    ap_html_string(html, "</td><td class=\"bar\">");
    if (share > 0) {
        ap_html_string(html, "<svg class=\"bar\" viewBox=\"0 0 100 6\" aria-hidden=\"true\">"
                             "<rect class=\"lane\" width=\"100\" height=\"6\"></rect><rect class=\"saved\" width=\"");
        ap_html_number(html, (share < 1 ? share : 1) * BAR_WIDTH);
        ap_html_string(html, "\" height=\"6\"></rect></svg>");
    }
    ap_html_string(html, "</td><td class=\"r\">");
    if (is_time(time) || is_size(bytes))
        ap_html_value(html, is_time(time) ? time : bytes);
    ap_html_string(html, "</td></tr>\n");
}

static void write_overview(struct html *html, const struct ap_value *findings)
{
    int rank = 0;
    for (const struct ap_value *finding = ap_value_first(findings); finding; finding = finding->next) {
        if (ap_finding_is_remark(finding) || rank == MOST_LINES)
            continue;
        if (!rank)
            ap_html_format(html,
                           "<div class=\"t\" tabindex=\"0\"><table class=\"plan\">\n<thead><tr><th "
                           "scope=\"col\">Severity</th><th scope=\"col\">Finding</th><th scope=\"col\">Where</th><th "
                           "scope=\"col\"></th><th scope=\"col\" class=\"r\">%s</th></tr></thead>\n<tbody>\n",
                           ap_findings_save(findings) ? "Saves at most" : "");
        write_line(html, finding, ++rank);
    }
    if (rank)
        ap_html_string(html, "</tbody></table></div>\n");
}

void ap_html_findings(struct html *html)
{
    const struct ap_value *findings = ap_html_at(html, "findings");
    int rank = 0, left_out = 0;
    ap_html_string(html,
                   "<section id=\"findings\" aria-labelledby=\"findings-title\"><h2 id=\"findings-title\">Findings</h2>\n");
    write_overview(html, findings);
    for (const struct ap_value *finding = ap_value_first(findings); finding; finding = finding->next) {
        if (ap_finding_is_remark(finding))
            continue;
        if (rank == 0 && ap_findings_save(findings))
            ap_html_string(html, "<p class=\"say\">Most promising first; savings are upper bounds, and overlap.</p>\n");
        if (ap_html_has_room(html, CARD_BYTES))
            write_card(html, finding, ++rank);
        else
            left_out++;
    }
    if (left_out)
        ap_html_format(html, "<p class=\"cut\">%d more are left out to keep this file small: the JSON report has all.</p>\n",
                       left_out);
    if (!rank)
        ap_html_format(html, "<p class=\"say\">%s</p>\n", ap_nothing_found(&html->doc.model->root));
    write_remarks(html, !rank);
    write_fine(html);
    ap_html_string(html, "</section>\n");
}
