/* SPDX-License-Identifier: MIT
 * section_findings.c - what was found, how sure it is, and what could not be judged. */
#include "sections.h"

#include "poison.h"

/* Values of a closed list of ours; what else a tree may hold is shown as a name. */
void ap_part_level(struct doc *doc, struct ap_text level, bool capital)
{
    static const char *const levels[] = { "critical", "high", "medium", "low", "info", "loss", "error" };
    for (size_t i = 0; i < AP_COUNT_OF(levels); i++)
        if (ap_text_is(level, levels[i])) {
            char first = capital ? (char)(levels[i][0] - 'a' + 'A') : levels[i][0];
            ap_doc_text(doc, DOC_PROSE, (struct ap_text){ &first, 1 });
            ap_doc_say(doc, levels[i] + 1);
            return;
        }
    ap_doc_text(doc, DOC_NAME, level);
}

void ap_part_savings(struct doc *doc, const struct ap_value *finding, const char *before)
{
    const struct ap_value *time = ap_value_member(finding, "saves_us"), *bytes = ap_value_member(finding, "saves_bytes");
    bool has_time = time && time->type == AP_VALUE_TIME_NS && ap_value_integer(time, 0) > 0;
    if (has_time) {
        ap_doc_say(doc, before);
        ap_doc_rounded(doc, time);
        if (ap_text_is(ap_text_at(finding, "gain.whole"), "cluster.rank_time_us"))
            ap_doc_say(doc, " of all ranks together");
    }
    if (bytes && bytes->type == AP_VALUE_BYTES && ap_value_integer(bytes, 0) > 0) {
        ap_doc_say(doc, has_time ? " and " : before);
        ap_doc_rounded(doc, bytes);
    }
}

/* ---- the points of a finding ---- */

static void write_points(struct doc *doc, const struct ap_value *finding)
{
    static const struct {
        const char *key, *template;
    } points[] = {
        { "observation", "**Observation:** {p observation}" },
        { "hypothesis", "**Hypothesis:** {p hypothesis}" },
        { "action", "**Action:** {p action}" },
        { "trade_off", "**Trade-off:** {p trade_off}" },
        { "validation", "**Validation:** {p validation}" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(points); i++)
        if (ap_text_member(finding, points[i].key).bytes)
            ap_doc_item(doc, finding, points[i].template);
}

static void write_missing(struct doc *doc, const struct ap_value *finding)
{
    const struct ap_value *first = ap_value_first(ap_value_member(finding, "missing"));
    if (!first)
        return;
    ap_doc_begin(doc, DOC_ITEM);
    ap_doc_say(doc, "**Missing to be sure:** ");
    for (const struct ap_value *missing = first; missing; missing = missing->next) {
        ap_doc_say(doc, missing == first ? "" : "; ");
        ap_doc_text(doc, DOC_PROSE, ap_value_text(missing));
    }
    ap_doc_end(doc, DOC_ITEM);
}

/* What the gain is a share of, and how much that is. */
static void write_whole(struct doc *doc, const struct ap_value *finding)
{
#define AP_GAIN_WHOLE(id, path, words)                               \
    if (ap_text_is(ap_text_at(finding, "gain.whole"), path)) {       \
        ap_doc_tell(doc, NULL, words " ({r " path "}, `" path "`)"); \
        return;                                                      \
    }
#include "gain_whole.def"
#undef AP_GAIN_WHOLE
    ap_doc_tell(doc, finding, "{n gain.whole}");
}

/* The bound by Amdahl's law. */
static void write_gain(struct doc *doc, const struct ap_value *finding)
{
    const struct ap_value *share = ap_value_at(finding, "gain.share_ratio");
    const struct ap_value *bound = ap_value_at(finding, "gain.speedup_bound_ratio");
    if (!share || share->type == AP_VALUE_NULL)
        return;
    ap_doc_begin(doc, DOC_ITEM);
    ap_doc_tell(doc, finding, "**Gain:** at most {F gain.share_ratio} of ");
    write_whole(doc, finding);
    if (ap_integer_at(finding, "gain.by_replay", 0))
        ap_doc_say(doc, ", by the replay, with what the cause delays");
    if (bound && bound->type != AP_VALUE_NULL) {
        ap_doc_say(doc, ": the run becomes at most ");
        ap_doc_value(doc, bound, AP_TEXT("speedup_bound_ratio"), FORM_FULL);
        ap_doc_say(doc, " as fast");
    }
    ap_doc_end(doc, DOC_ITEM);
}

/* What was replayed for the finding: of several changes the one that its program can make. */
static const struct ap_value *replayed_for(struct doc *doc, const struct ap_value *finding)
{
    const struct ap_value *row = ap_value_first(ap_doc_at(doc, "prediction.findings"));
    while (row && !ap_text_equal(ap_text_member(row, "rule_id"), ap_text_member(finding, "rule_id")))
        row = row->next;
    return row ? row : finding;
}

/* Steps count until all is done that they launched, which may be long after the host has gone on. */
#define LATE_RATIO 1.1

static bool is_of_window(struct doc *doc, const struct ap_value *prediction)
{
    double before = 0, all = 0;
    bool is_longer = ap_value_number(ap_value_member(prediction, "before_us"), &before) &&
                     ap_value_number(ap_doc_at(doc, "steps.steady.total_us"), &all) && before > all;
    return is_longer || !ap_value_integer(ap_doc_at(doc, "steps.count"), 0);
}

/* Of a window of which less than half is known a share says nothing, and it is no surprise that the rest stays. */
static bool is_mostly_unknown(struct doc *doc, const struct ap_value *prediction)
{
    int64_t before_ns = ap_integer_member(prediction, "before_us", 0);
    return is_of_window(doc, prediction) && ap_value_integer(ap_doc_at(doc, "verdict.known_us"), before_ns) < before_ns / 2;
}

static const char *told_before(struct doc *doc, const struct ap_value *prediction)
{
    double before = 0, mean = 0;
    if (is_of_window(doc, prediction))
        return "**Predicted:** the window of {r before_us}";
    bool late = ap_value_number(ap_value_member(prediction, "before_us"), &before) &&
                ap_value_number(ap_doc_at(doc, "steps.steady.mean_us"), &mean) && before > LATE_RATIO * mean;
    return late ? "**Predicted:** a step of {r before_us} (until all that it launched is done)"
                : "**Predicted:** a step of {r before_us}";
}

/* Less than half of what the finding could save at most. */
static bool is_far_below_bound(const struct ap_value *finding, const struct ap_value *prediction)
{
    double share = 0, gain = 0;
    return ap_value_number(ap_value_at(finding, "gain.share_ratio"), &share) &&
           ap_value_number(ap_value_member(prediction, "gain_ratio"), &gain) && share > 2 * (gain > 0 ? gain : 0);
}

/* Collectives that take longer than all that could run beside them. */
static bool hides_itself(struct doc *doc, const struct ap_value *finding)
{
    return ap_text_is(ap_text_member(finding, "bottleneck"), "communication") &&
           ap_text_is(ap_value_text(ap_doc_at(doc, "verdict.bound")), "communication-bound");
}

/* What the change makes no shorter has no share that goes; of little that goes two rounded times look the same. */
static void write_prediction(struct doc *doc, const struct ap_value *finding)
{
    const struct ap_value *prediction = ap_value_member(finding, "prediction");
    if (!prediction || prediction->type != AP_VALUE_OBJECT)
        return;
    ap_doc_begin(doc, DOC_ITEM);
    ap_doc_tell(doc, prediction, told_before(doc, prediction));
    int64_t gain_ns = ap_integer_member(prediction, "gain_us", 0);
    int64_t before_ns = ap_integer_member(prediction, "before_us", 0);
    bool unknown = is_mostly_unknown(doc, prediction);
    ap_doc_tell(doc, prediction,
                gain_ns > 0 && unknown                     ? " gets {r gain_us} shorter"
                : gain_ns > 0 && gain_ns < before_ns / 100 ? " gets {r gain_us} shorter, {F gain_ratio}"
                : gain_ns > 0  ? " takes {r after_us}, {F gain_ratio} less (range: {r after_low_us} to {r after_high_us})"
                : gain_ns == 0 ? " takes as long"
                               : " takes {r after_us} (range: {r after_low_us} to {r after_high_us})");
    ap_doc_tell(doc, replayed_for(doc, finding), ", replayed with {w change}");
    if (!unknown && is_far_below_bound(finding, prediction))
        ap_doc_say(doc, hides_itself(doc, finding) ? ": far below the bound, as there is too little to hide it behind"
                                                   : ": far below the bound, as something else limits it then");
    ap_doc_tell(doc, prediction, "[. Not in it: {p limit}]");
    ap_doc_end(doc, DOC_ITEM);
}

/* Time, bytes or a number of times. */
static const char *amount_of(const struct ap_value *cause)
{
    const struct ap_value *time = ap_value_member(cause, "us"), *bytes = ap_value_member(cause, "bytes"),
                          *count = ap_value_member(cause, "count");
    if (time && time->type == AP_VALUE_TIME_NS)
        return "{n name} {r us}";
    if (bytes && bytes->type == AP_VALUE_BYTES)
        return "{n name} {r bytes}";
    if (count && count->type == AP_VALUE_COUNT)
        return count->as.integer == 1 ? "{n name} 1 time" : "{n name} {f count} times";
    return "{n name} ";
}

static void write_causes(struct doc *doc, const struct ap_value *finding)
{
    const struct ap_value *first = ap_value_first(ap_value_member(finding, "affected"));
    if (!first)
        return;
    ap_doc_begin(doc, DOC_ITEM);
    for (const struct ap_value *cause = first; cause; cause = cause->next) {
        ap_doc_say(doc, cause == first ? "**Affected:** " : ", ");
        ap_doc_tell(doc, cause, amount_of(cause));
    }
    ap_doc_end(doc, DOC_ITEM);
}

/* The start as the trace has it, to be searched for. */
static void write_places(struct doc *doc, const struct ap_value *finding)
{
    const struct ap_value *place = ap_value_first(ap_value_member(finding, "places"));
    const struct ap_value *start = ap_value_member(place, "start_us");
    if (!start || start->type != AP_VALUE_TIME_NS)
        return;
    ap_doc_item(doc, place,
                ap_text_member(place, "name").bytes
                    ? "**In the trace:** {n name} at {t start_us} us for {r dur_us}, tid {i tid}"
                    : "**In the trace:** at {t start_us} us for {r dur_us}, tid {i tid}");
}

static void write_evidence(struct doc *doc, const struct ap_value *finding)
{
    static const struct doc_column columns[] = { NAME(NULL, "Path"), NUMBER(NULL, "Measured"), NUMBER(NULL, "Threshold") };
    static const char *const keys[] = { "value", "threshold" };
    const struct ap_value *evidence = ap_value_first(ap_value_member(finding, "evidence"));
    if (!evidence)
        return;
    doc->backend->grid(doc, COUNTED(columns));
    for (; evidence; evidence = evidence->next) {
        if (!ap_evidence_is_told(evidence))
            continue;
        ap_doc_begin(doc, DOC_ROW);
        ap_doc_cell(doc, evidence, "{n metric}");
        for (size_t i = 0; i < AP_COUNT_OF(keys); i++) {
            ap_doc_begin(doc, DOC_CELL);
            ap_doc_value(doc, ap_value_member(evidence, keys[i]), ap_text_member(evidence, "metric"), FORM_FULL);
            ap_doc_end(doc, DOC_CELL);
        }
        ap_doc_end(doc, DOC_ROW);
    }
    doc->backend->grid_end(doc);
}

/* ---- findings ---- */

static void write_title(struct doc *doc, const struct ap_value *finding, int rank)
{
    ap_doc_begin(doc, DOC_HEADING);
    ap_doc_integer(doc, rank);
    ap_doc_tell(doc, finding, ". {p title}");
    ap_doc_end(doc, DOC_HEADING);
    ap_doc_begin(doc, DOC_PARAGRAPH);
    ap_doc_say(doc, "**");
    ap_part_level(doc, ap_text_member(finding, "severity"), true);
    ap_doc_say(doc, "** severity, ");
    ap_part_level(doc, ap_text_member(finding, "confidence"), false);
    ap_doc_tell(doc, finding, " confidence, {p bottleneck}");
    ap_part_savings(doc, finding, ", saves at most ");
    ap_doc_tell(doc, finding, ". Rule {n rule_id}, holds for {p hardware}");
    ap_doc_say(doc, ap_text_is(ap_text_member(finding, "hardware"), "any") ? " hardware." : ".");
    ap_doc_end(doc, DOC_PARAGRAPH);
}

static void write_finding(struct doc *doc, const struct ap_value *finding, int rank)
{
    write_title(doc, finding, rank);
    ap_doc_begin(doc, DOC_LIST);
    write_points(doc, finding);
    write_missing(doc, finding);
    write_gain(doc, finding);
    write_prediction(doc, finding);
    write_causes(doc, finding);
    write_places(doc, finding);
    ap_doc_end(doc, DOC_LIST);
    write_evidence(doc, finding);
    if (ap_text_member(finding, "verify_command").bytes)
        ap_doc_paragraph(doc, finding, "**Verify:** {w verify_command}");
}

/* Behind those that the short form tells whole. */
static void write_in_a_line(struct doc *doc, const struct ap_value *finding, int rank)
{
    ap_doc_begin_at(doc, DOC_NUMBERED_ITEM, rank);
    ap_doc_tell(doc, finding, "**{p title}** (");
    ap_part_level(doc, ap_text_member(finding, "severity"), false);
    ap_part_savings(doc, finding, ", saves at most ");
    ap_doc_tell(doc, finding, "; {n rule_id}): {p action}");
    ap_doc_end(doc, DOC_NUMBERED_ITEM);
}

/* What only informs: one line each, the rest is in the JSON. */
static void write_remarks(struct doc *doc)
{
    const struct ap_value *remarks[AP_REMARKS_SHOWN];
    size_t count = ap_finding_remarks(&doc->model->root, remarks),
           shown = count < AP_REMARKS_SHOWN ? count : AP_REMARKS_SHOWN;
    if (!count)
        return;
    doc->backend->section(doc, "Also noted");
    ap_doc_begin(doc, DOC_LIST);
    for (size_t i = 0; i < shown; i++)
        ap_doc_item(doc, remarks[i], "**{p title}** ({n rule_id}, {p bottleneck}): {p observation} **Action:** {p action}");
    ap_doc_end(doc, DOC_LIST);
    if (count == shown)
        return;
    ap_doc_begin(doc, DOC_PARAGRAPH);
    ap_doc_integer(doc, (int64_t)(count - shown));
    ap_doc_say(doc, " more in `findings` of the JSON report.");
    ap_doc_end(doc, DOC_PARAGRAPH);
}

static void write_fine(struct doc *doc)
{
    const struct ap_value *fine = ap_value_first(ap_doc_at(doc, "fine"));
    if (!fine)
        return;
    doc->backend->section(doc, "Looked at, and fine");
    ap_doc_begin(doc, DOC_LIST);
    for (; fine; fine = fine->next)
        ap_doc_item(doc, fine, "**{p title}:** {p text} ({n metric})");
    ap_doc_end(doc, DOC_LIST);
}

/* Of steps before the steady ones, and what lies between steps, the verdict says nothing. */
#define WINDOWS_DIFFER 0.95

static void write_windows(struct doc *doc, const struct ap_value *findings)
{
    double judged = 0, window = 0;
    bool known = ap_findings_save(findings) && ap_value_number(ap_doc_at(doc, "split.judged.dur_us"), &judged) &&
                 ap_value_number(ap_doc_at(doc, "trace.window_us"), &window);
    if (!known || judged >= WINDOWS_DIFFER * window)
        return;
    ap_doc_paragraph(
        doc, NULL,
        "The verdict is of the {p split.judged.part}, {r split.judged.dur_us}, and so are gains that are shares of "
        "the judged part; the others are of the whole recording, {r trace.window_us}.");
}

void ap_section_findings(struct doc *doc)
{
    const struct ap_value *findings = ap_doc_at(doc, "findings");
    int rank = 0;
    for (const struct ap_value *finding = ap_value_first(findings); finding; finding = finding->next) {
        if (ap_finding_is_remark(finding))
            continue;
        if (rank == 0) {
            doc->backend->section(doc, "Action plan");
            if (ap_value_first(ap_doc_at(doc, "comparison.largest.time")))
                ap_doc_paragraph(doc, NULL, "What changed stands first.");
            if (ap_findings_save(findings))
                ap_doc_paragraph(doc, NULL, "Most promising first; savings are upper bounds, and overlap.");
            write_windows(doc, findings);
        }
        bool in_a_line = doc->brief && (size_t)rank >= doc->brief->findings;
        if (in_a_line && (size_t)rank == doc->brief->findings) {
            ap_doc_heading(doc, "The others");
            ap_doc_begin(doc, DOC_NUMBERED_LIST);
        }
        (in_a_line ? write_in_a_line : write_finding)(doc, finding, ++rank);
    }
    if (doc->brief && (size_t)rank > doc->brief->findings)
        ap_doc_end(doc, DOC_NUMBERED_LIST);
    write_fine(doc);
    write_remarks(doc);
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

/* Most rules lack what rules before them lacked: the first artifacts are known without a look at those. */
struct told {
    struct ap_text artifacts[32];
    size_t count;
};

static bool was_told(struct told *told, const struct ap_value *rules, const struct ap_value *until, struct ap_text artifact)
{
    for (size_t i = 0; i < told->count; i++)
        if (ap_text_equal(told->artifacts[i], artifact))
            return true;
    if (told->count < AP_COUNT_OF(told->artifacts)) {
        told->artifacts[told->count++] = artifact;
        return false;
    }
    for (const struct ap_value *rule = ap_value_first(rules); rule != until; rule = rule->next)
        if (names_artifact(rule, artifact))
            return true;
    return false;
}

/* The JSON report lists all of them. */
#define MOST_RULE_NAMES 6

static void write_artifact(struct doc *doc, const struct ap_value *from, struct ap_text artifact)
{
    int64_t count = 0;
    ap_doc_begin(doc, DOC_ITEM);
    ap_doc_say(doc, "For ");
    for (const struct ap_value *rule = from; rule; rule = rule->next) {
        if (!names_artifact(rule, artifact) || count++ >= MOST_RULE_NAMES)
            continue;
        ap_doc_say(doc, count > 1 ? ", " : "");
        ap_doc_tell(doc, rule, "{n rule_id}");
    }
    if (count > MOST_RULE_NAMES) {
        ap_doc_say(doc, " and ");
        ap_doc_integer(doc, count - MOST_RULE_NAMES);
        ap_doc_say(doc, " more");
    }
    ap_doc_say(doc, ": ");
    ap_doc_text(doc, DOC_PROSE, artifact);
    ap_doc_say(doc, ".");
    ap_doc_end(doc, DOC_ITEM);
}

void ap_section_not_evaluated(struct doc *doc)
{
    const struct ap_value *rules = ap_doc_at(doc, "not_evaluated");
    if (!ap_value_first(rules))
        return;
    doc->backend->section(doc, "Rules not evaluated");
    ap_doc_paragraph(
        doc, NULL, "Each line names rules and what they lack in this input; `not_evaluated` of the JSON report names all.");
    ap_doc_begin(doc, DOC_LIST);
    struct told told = { .count = 0 };
    for (const struct ap_value *rule = ap_value_first(rules); rule; rule = rule->next) {
        const struct ap_value *missing = ap_value_first(ap_value_member(rule, "missing"));
        for (; missing; missing = missing->next)
            if (!was_told(&told, rules, rule, ap_value_text(missing)))
                write_artifact(doc, rule, ap_value_text(missing));
    }
    ap_doc_end(doc, DOC_LIST);
}
