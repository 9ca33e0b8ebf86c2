/* SPDX-License-Identifier: MIT
 * What was found, how sure it is, what could not be judged, and what was wrong with the input. */
#include <inttypes.h>

#include "headline.h"
#include "md.h"

#include "poison.h"

static struct ap_text text_of(const struct ap_value *object, const char *key)
{
    return ap_value_text(ap_value_member(object, key));
}

static bool is_info(const struct ap_value *finding)
{
    return ap_text_is(text_of(finding, "severity"), "info");
}

/* Values of a closed list of ours; what else a tree may hold is shown as a name. */
static void write_level(struct md *md, struct ap_text level, bool capital)
{
    static const char *const levels[] = { "critical", "high", "medium", "low", "info", "loss", "error" };
    for (size_t i = 0; i < AP_COUNT_OF(levels); i++)
        if (ap_text_is(level, levels[i])) {
            ap_out_char(&md->out, capital ? (char)(levels[i][0] - 'a' + 'A') : levels[i][0]);
            ap_md_string(md, levels[i] + 1);
            return;
        }
    ap_md_name(md, level);
}

/* ---- alerts ---- */

static void write_warning_alert(struct md *md, const struct ap_value *warning)
{
    ap_md_string(md, "\n> **WARNING:** ");
    ap_md_whole_name(md, text_of(warning, "input"));
    ap_md_string(md, ": ");
    ap_md_prose(md, text_of(warning, "message"));
    ap_md_string(md, ".\n");
}

void ap_md_alerts(struct md *md)
{
    size_t loss = 0;
    bool cut_told = false;
    const struct ap_value *warnings = ap_md_at(md, "warnings");
    for (const struct ap_value *warning = ap_value_first(warnings); warning; warning = warning->next) {
        if (ap_headline_is_alert(warning)) {
            write_warning_alert(md, warning);
            cut_told = true;
        } else {
            loss += ap_text_is(text_of(warning, "severity"), "loss");
        }
    }
    if (!cut_told && ap_md_false(md, "trace.complete"))
        ap_md_string(md, "\n> **WARNING:** the trace ends before it is complete. All totals are lower bounds.\n");
    if (!cut_told && ap_md_false(md, "memory.complete"))
        ap_md_string(md, "\n> **WARNING:** the memory snapshot is not complete. All totals are lower bounds.\n");
    if (loss)
        ap_md_string(md, "\n> Some records of the input could not be used: see [Data quality](#data-quality).\n");
}

/* ---- verdict ---- */

static void write_savings(struct md *md, const struct ap_value *finding, const char *before)
{
    const struct ap_value *time = ap_value_member(finding, "saves_us");
    const struct ap_value *bytes = ap_value_member(finding, "saves_bytes");
    bool any = false;
    if (time && time->type == AP_VALUE_TIME_NS && ap_value_integer(time, 0) > 0) {
        ap_md_string(md, before);
        ap_md_rounded(md, time);
        any = true;
    }
    if (bytes && bytes->type == AP_VALUE_BYTES && ap_value_integer(bytes, 0) > 0) {
        ap_md_string(md, any ? " and " : before);
        ap_md_rounded(md, bytes);
    }
}

static void write_headline(struct md *md, const struct ap_value *finding)
{
    ap_md_string(md, "**");
    write_level(md, text_of(finding, "severity"), true);
    ap_md_string(md, ":** ");
    ap_md_prose(md, text_of(finding, "title"));
    write_savings(md, finding, "; fixing it saves at most ");
    ap_md_string(md, ".\n");
}

static void write_left_out(struct md *md)
{
    int64_t count = ap_value_integer(ap_md_at(md, "findings_left_out"), 0);
    if (count <= 0)
        return;
    ap_out_char(&md->out, '\n');
    ap_md_integer(md, count);
    ap_md_string(md, count == 1 ? " more finding is" : " more findings are");
    ap_md_string(md, " left out: of another domain or phase than the one asked for.\n");
}

static void write_headlines(struct md *md, const struct ap_value *findings)
{
    int64_t count = 0;
    for (const struct ap_value *finding = ap_value_first(findings); finding; finding = finding->next)
        count += !is_info(finding);
    ap_md_string(md, "\n");
    if (count == 0) {
        ap_md_string(md, "Nothing above threshold.\n");
        write_left_out(md);
        return;
    }
    ap_md_integer(md, count);
    ap_md_string(md, count == 1 ? " finding above its threshold:\n\n"
                                : " findings above their thresholds, the weightiest first:\n\n");
    int shown = 0;
    for (const struct ap_value *finding = ap_value_first(findings); finding && shown < 3; finding = finding->next)
        if (!is_info(finding)) {
            ap_out_format(&md->out, "%d. ", ++shown);
            write_headline(md, finding);
        }
    write_left_out(md);
}

void ap_md_verdict(struct md *md)
{
    const struct ap_value *findings = ap_md_at(md, "findings");
    bool has_findings = findings && findings->type == AP_VALUE_LIST;
    if (!has_findings && !ap_md_known(md, "verdict"))
        return;
    ap_md_string(md, "\n## Verdict\n");
    ap_md_bound(md);
    ap_md_memory_bound(md);
    if (has_findings)
        write_headlines(md, findings);
}

/* ---- findings ---- */

static void write_point(struct md *md, const struct ap_value *finding, const char *key, const char *label)
{
    struct ap_text text = text_of(finding, key);
    if (!text.bytes)
        return;
    ap_md_string(md, "- **");
    ap_md_string(md, label);
    ap_md_string(md, ":** ");
    ap_md_prose(md, text);
    ap_out_char(&md->out, '\n');
}

static void write_missing(struct md *md, const struct ap_value *finding)
{
    const struct ap_value *missing = ap_value_first(ap_value_member(finding, "missing"));
    if (!missing)
        return;
    ap_md_string(md, "- **Missing to be sure:** ");
    for (; missing; missing = missing->next) {
        ap_md_prose(md, ap_value_text(missing));
        ap_md_string(md, missing->next ? "; " : "\n");
    }
}

static void write_evidence(struct md *md, const struct ap_value *finding)
{
    const struct ap_value *evidence = ap_value_first(ap_value_member(finding, "evidence"));
    if (!evidence)
        return;
    ap_md_string(md, "\n| Metric | Measured | Threshold |\n| :--- | ---: | ---: |\n");
    for (; evidence; evidence = evidence->next) {
        struct ap_text metric = text_of(evidence, "metric");
        const struct ap_value *value = ap_value_member(evidence, "value");
        if (!value || value->type == AP_VALUE_NULL)
            continue; /* one side of an "or", which did not decide */
        ap_md_string(md, "| ");
        ap_md_name(md, metric);
        ap_md_string(md, " | ");
        ap_md_value(md, value, metric, MD_FULL);
        ap_md_string(md, " | ");
        ap_md_value(md, ap_value_member(evidence, "threshold"), metric, MD_FULL);
        ap_md_string(md, " |\n");
    }
}

/* The bound by Amdahl's law. */
static void write_gain(struct md *md, const struct ap_value *finding)
{
    const struct ap_value *gain = ap_value_member(finding, "gain");
    const struct ap_value *share = ap_value_member(gain, "share_ratio"), *bound = ap_value_member(gain, "speedup_bound_ratio");
    if (!share || share->type == AP_VALUE_NULL)
        return;
    ap_md_string(md, "- **Gain:** at most ");
    ap_md_value(md, share, AP_TEXT("share_ratio"), MD_FULL);
    ap_md_string(md, " of ");
    ap_md_name(md, text_of(gain, "whole"));
    if (bound && bound->type != AP_VALUE_NULL) {
        ap_md_string(md, ": the run becomes at most ");
        ap_md_value(md, bound, AP_TEXT("before_over_after"), MD_FULL);
        ap_md_string(md, " as fast");
    }
    ap_md_string(md, "\n");
}

static void write_places(struct md *md, const struct ap_value *finding)
{
    const struct ap_value *place = ap_value_first(ap_value_member(finding, "places"));
    const struct ap_value *start = ap_value_member(place, "start_us");
    if (!start || start->type != AP_VALUE_TIME_NS)
        return;
    ap_md_string(md, "- **In the trace:** ");
    if (text_of(place, "name").bytes) {
        ap_md_name(md, text_of(place, "name"));
        ap_out_char(&md->out, ' ');
    }
    ap_md_string(md, "at `");
    ap_out_microseconds(&md->out, start->as.integer); /* as the trace has it, to be searched for */
    ap_md_string(md, "` us for ");
    ap_md_rounded(md, ap_value_member(place, "dur_us"));
    ap_md_string(md, ", thread ");
    ap_md_value(md, ap_value_member(place, "tid"), AP_TEXT("tid"), MD_ID);
    ap_md_string(md, "\n");
}

/* Time, bytes or a number of times. */
static void write_amount(struct md *md, const struct ap_value *cause)
{
    const struct ap_value *time = ap_value_member(cause, "us"), *bytes = ap_value_member(cause, "bytes"),
                          *count = ap_value_member(cause, "count");
    ap_out_char(&md->out, ' ');
    if (time && time->type == AP_VALUE_TIME_NS)
        ap_md_rounded(md, time);
    else if (bytes && bytes->type == AP_VALUE_BYTES)
        ap_md_rounded(md, bytes);
    else if (count && count->type == AP_VALUE_COUNT)
        ap_out_format(&md->out, "%" PRId64 "%s", count->as.integer, count->as.integer == 1 ? " time" : " times");
}

static void write_causes(struct md *md, const struct ap_value *finding)
{
    const struct ap_value *first = ap_value_first(ap_value_member(finding, "affected"));
    for (const struct ap_value *cause = first; cause; cause = cause->next) {
        ap_md_string(md, cause == first ? "- **Affected:** " : ", ");
        ap_md_name(md, text_of(cause, "name"));
        write_amount(md, cause);
    }
    if (first)
        ap_out_char(&md->out, '\n');
}

static void write_command(struct md *md, const struct ap_value *finding)
{
    struct ap_text command = text_of(finding, "verify_command");
    if (!command.bytes)
        return;
    ap_md_string(md, "\n**Verify:** ");
    ap_md_whole_name(md, command);
    ap_out_char(&md->out, '\n');
}

static void write_finding(struct md *md, const struct ap_value *finding, int rank)
{
    ap_out_format(&md->out, "\n### %d. ", rank);
    ap_md_prose(md, text_of(finding, "title"));
    ap_md_string(md, "\n\n**");
    write_level(md, text_of(finding, "severity"), true);
    ap_md_string(md, "** severity, ");
    write_level(md, text_of(finding, "confidence"), false);
    ap_md_string(md, " confidence, ");
    ap_md_prose(md, text_of(finding, "bottleneck"));
    write_savings(md, finding, ", saves at most ");
    ap_md_string(md, ". Rule ");
    ap_md_name(md, text_of(finding, "rule_id"));
    ap_md_string(md, ", holds for ");
    ap_md_prose(md, text_of(finding, "hardware"));
    ap_md_string(md, ap_text_is(text_of(finding, "hardware"), "any") ? " hardware.\n\n" : ".\n\n");
    write_point(md, finding, "observation", "Observation");
    write_point(md, finding, "hypothesis", "Hypothesis");
    write_point(md, finding, "action", "Action");
    write_point(md, finding, "trade_off", "Trade-off");
    write_point(md, finding, "validation", "Validation");
    write_missing(md, finding);
    write_gain(md, finding);
    write_causes(md, finding);
    write_places(md, finding);
    write_evidence(md, finding);
    write_command(md, finding);
}

/* What only informs: one line each, the rest is in the JSON. */
static void write_remarks(struct md *md, const struct ap_value *findings)
{
    bool any = false;
    for (const struct ap_value *finding = ap_value_first(findings); finding; finding = finding->next) {
        if (!is_info(finding))
            continue;
        ap_md_string(md, any ? "" : "\n## Also noted\n\n");
        any = true;
        ap_md_string(md, "- **");
        ap_md_prose(md, text_of(finding, "title"));
        ap_md_string(md, "** (");
        ap_md_name(md, text_of(finding, "rule_id"));
        ap_md_string(md, ", ");
        ap_md_prose(md, text_of(finding, "bottleneck"));
        ap_md_string(md, "): ");
        ap_md_prose(md, text_of(finding, "observation"));
        ap_md_string(md, " **Action:** ");
        ap_md_prose(md, text_of(finding, "action"));
        ap_out_char(&md->out, '\n');
    }
}

void ap_md_findings(struct md *md)
{
    const struct ap_value *findings = ap_md_at(md, "findings");
    int rank = 0;
    for (const struct ap_value *finding = ap_value_first(findings); finding; finding = finding->next) {
        if (is_info(finding))
            continue;
        if (rank == 0)
            ap_md_string(md, "\n## Action plan\n\n"
                             "Ranked by what each could save; the figures are upper bounds and overlap.\n");
        write_finding(md, finding, ++rank);
    }
    write_remarks(md, findings);
}

/* ---- rules without their inputs ---- */

static bool names_artifact(const struct ap_value *rule, struct ap_text artifact)
{
    const struct ap_value *missing = ap_value_first(ap_value_member(rule, "missing"));
    for (; missing; missing = missing->next)
        if (ap_text_equal(ap_value_text(missing), artifact))
            return true;
    return false;
}

static bool seen_before(const struct ap_value *rules, const struct ap_value *until, struct ap_text artifact)
{
    for (const struct ap_value *rule = ap_value_first(rules); rule != until; rule = rule->next)
        if (names_artifact(rule, artifact))
            return true;
    return false;
}

/* The JSON report lists all of them. */
#define MOST_RULE_NAMES 6

static void write_artifact(struct md *md, const struct ap_value *from, struct ap_text artifact)
{
    int64_t count = 0;
    ap_md_string(md, "- For ");
    for (const struct ap_value *rule = from; rule; rule = rule->next) {
        if (!names_artifact(rule, artifact) || count++ >= MOST_RULE_NAMES)
            continue;
        ap_md_string(md, count > 1 ? ", " : "");
        ap_md_name(md, text_of(rule, "rule_id"));
    }
    if (count > MOST_RULE_NAMES) {
        ap_md_string(md, " and ");
        ap_md_integer(md, count - MOST_RULE_NAMES);
        ap_md_string(md, " more");
    }
    ap_md_string(md, ": ");
    ap_md_prose(md, artifact);
    ap_md_string(md, ".\n");
}

void ap_md_not_evaluated(struct md *md)
{
    const struct ap_value *rules = ap_md_at(md, "not_evaluated");
    if (!ap_value_first(rules))
        return;
    ap_md_string(md, "\n## Rules not evaluated\n\n"
                     "Each line names rules and what they lack in this input; `not_evaluated` of the JSON report names all.\n\n");
    for (const struct ap_value *rule = ap_value_first(rules); rule; rule = rule->next) {
        const struct ap_value *missing = ap_value_first(ap_value_member(rule, "missing"));
        for (; missing; missing = missing->next)
            if (!seen_before(rules, rule, ap_value_text(missing)))
                write_artifact(md, rule, ap_value_text(missing));
    }
}

/* ---- data quality ---- */

void ap_md_warnings(struct md *md)
{
    static const struct md_column columns[] = {
        MD_COLUMN("code", "Code", MD_NAME),
        MD_COLUMN("severity", "Severity", MD_NAME),
        MD_COLUMN("count", "Count", MD_FIGURE),
        MD_COLUMN("first_byte_offset", "First at byte", MD_FIGURE),
        MD_COLUMN("input", "Input", MD_NAME),
        MD_COLUMN("message", "Meaning", MD_PROSE),
    };
    static const struct md_table table = {
        .path = "warnings",
        .remark = ": everything odd that reading survived",
        MD_COLUMNS(columns),
    };
    ap_md_string(md, "\n## Data quality\n");
    if (!ap_md_table(md, NULL, &table))
        ap_md_string(md, "\nNothing odd was met in the input.\n");
}
