/* SPDX-License-Identifier: MIT
 * section_verdict.c - what bounds the run, the symptoms, the findings that weigh most. */
#include "sections.h"

#include "poison.h"

/* The host is busy enough for the symptom, and its line would seem to contradict itself. */
static bool is_busy_gpu(const struct ap_value *symptom)
{
    double value = 0, threshold = 0;
    return ap_text_is(ap_text_member(symptom, "id"), "high-cpu-low-gpu") &&
           ap_value_number(ap_value_member(symptom, "value"), &value) &&
           ap_value_number(ap_value_member(symptom, "threshold"), &threshold) && value > threshold;
}

static bool is_evaluated(const struct ap_value *symptom)
{
    const struct ap_value *present = ap_value_member(symptom, "present");
    return present && present->type == AP_VALUE_BOOL;
}

/* The figure, and what it is a share of. */
static const char *told_figure(const struct ap_value *symptom)
{
    static const struct {
        const char *id, *told;
    } all[] = {
        { "high-cpu-low-gpu", "the host is in operators for {F value} of the recording" },
        { "low-gpu-utilization", "the GPU is busy for {F value} of the time from its first to its last work" },
        { "large-gpu-gaps", "gaps of more than 100 us are {F value} of the time from the first to the last GPU work" },
        { "high-allocation-time", "taking memory from the driver and giving it back is {F value} of the recording" },
    };
    struct ap_text id = ap_text_member(symptom, "id");
    for (size_t i = 0; i < AP_COUNT_OF(all); i++)
        if (ap_text_is(id, all[i].id))
            return all[i].told;
    return "{F value}";
}

static void write_symptom(struct doc *doc, const struct ap_value *symptom)
{
    bool is_present = ap_integer_member(symptom, "present", 0);
    ap_doc_begin(doc, DOC_ITEM);
    ap_doc_tell(doc, symptom, is_present ? "{p title}: **yes**, " : "{p title}: no, ");
    ap_doc_tell(doc, symptom, told_figure(symptom));
    ap_doc_tell(doc, symptom, " (threshold {F threshold})");
    if (!is_present && is_busy_gpu(symptom))
        ap_doc_say(doc, ", but the GPU is busy half of its time or more");
    ap_doc_end(doc, DOC_ITEM);
}

/* Where GPU work fills little of what is judged, its utilization would seem to contradict the verdict. */
static void write_short_window(struct doc *doc)
{
    int64_t window_ns = ap_value_integer(ap_doc_at(doc, "gpu.window_us"), -1);
    int64_t judged_ns = ap_value_integer(ap_doc_at(doc, "split.judged.dur_us"), -1);
    bool told = false;
    for (const struct ap_value *row = ap_value_first(ap_doc_at(doc, "symptoms")); row; row = row->next)
        told |= ap_text_is(ap_text_member(row, "id"), "low-gpu-utilization") && is_evaluated(row);
    if (told && window_ns >= 0 && window_ns < judged_ns - judged_ns / 5)
        ap_doc_paragraph(
            doc, NULL,
            "Utilization and gaps are those of the GPU's own window, first to last work, {r gpu.window_us}; the "
            "verdict is about {r split.judged.dur_us}, and counts the time before and after as idle.");
}

/* What of the window is unknown counts as idle in it. */
static void write_unknown_window(struct doc *doc)
{
    int64_t unknown_ns = ap_value_integer(ap_doc_at(doc, "split.window.idle_causes.not_recorded_us"), 0);
    int64_t window_ns = ap_value_integer(ap_doc_at(doc, "split.window.dur_us"), -1);
    if (ap_doc_known(doc, "gpu.utilization_ratio") && window_ns > 0 && unknown_ns > window_ns / 20)
        ap_doc_paragraph(
            doc, NULL,
            !ap_doc_true(doc, "trace.recorded.operators") && !ap_doc_true(doc, "trace.recorded.runtime")
                ? "The figures of idle time below count {r split.window.idle_causes.not_recorded_us} in which no device "
                  "works: nothing of the host was recorded that would tell why."
                : "The figures of utilization and idle time below count {r split.window.idle_causes.not_recorded_us} as "
                  "idle of which nothing is known: what the device did then was launched before the recording.");
}

/* The first from @row on that can be told: of a trace of the host alone most are about devices. */
static const struct ap_value *evaluated_from(const struct ap_value *row)
{
    while (row && !is_evaluated(row))
        row = row->next;
    return row;
}

static void write_bound(struct doc *doc)
{
    if (ap_doc_known(doc, "hang"))
        ap_doc_paragraph(doc, ap_doc_at(doc, "hang"),
                         ap_value_first(ap_doc_at(doc, "hang.causes"))
                             ? "**Hang**: {p sentence}[ {p action}] Confidence: {p confidence}."
                             : "**No hang found**: {p sentence} Confidence: {p confidence}.");
    if (ap_doc_known(doc, "verdict"))
        ap_doc_paragraph(doc, ap_doc_at(doc, "verdict"), "**{p bound}**: {p sentence} (confidence {p confidence}).");
    else if (ap_value_integer(ap_doc_at(doc, "trace.recorded.accelerator"), 0))
        ap_doc_paragraph(doc, ap_doc_at(doc, "accelerator"),
                         "What bounds the run is not judged: the device is an accelerator whose rows may stand for waits as "
                         "well as for work. [Those that are no waits by their names cover {F working_ratio} of its window. ]"
                         "What they show stands in its section below.");
    if (ap_doc_known(doc, "profile.verdict"))
        ap_doc_paragraph(doc, ap_doc_at(doc, "profile"), "**{p verdict}**: {p sentence} (confidence {p confidence}).");
    if (ap_doc_known(doc, "cluster.verdict"))
        ap_doc_paragraph(doc, ap_doc_at(doc, "cluster.verdict"), "**{p kind}**: {p sentence}.");
    if (ap_doc_known(doc, "cluster.memory.sentence"))
        ap_doc_paragraph(doc, ap_doc_at(doc, "cluster.memory"), "**Memory of the ranks**: {p sentence}.");
    const struct ap_value *symptom = evaluated_from(ap_value_first(ap_doc_at(doc, "symptoms")));
    if (symptom)
        ap_doc_begin(doc, DOC_LIST);
    for (const struct ap_value *row = symptom; row; row = evaluated_from(row->next))
        write_symptom(doc, row);
    if (symptom)
        ap_doc_end(doc, DOC_LIST);
    write_short_window(doc);
    write_unknown_window(doc);
}

/* ---- findings in a line each ---- */

static void write_headline(struct doc *doc, const struct ap_value *finding, int rank)
{
    ap_doc_begin_at(doc, DOC_NUMBERED_ITEM, rank);
    ap_doc_say(doc, "**");
    ap_part_level(doc, ap_text_member(finding, "severity"), true);
    ap_doc_tell(doc, finding, ":** {p title}");
    ap_part_savings(doc, finding, "; fixing it saves at most ");
    ap_doc_say(doc, ".");
    ap_doc_end(doc, DOC_NUMBERED_ITEM);
}

static void write_left_out(struct doc *doc)
{
    int64_t count = ap_value_integer(ap_doc_at(doc, "findings_left_out"), 0);
    if (count > 0)
        ap_doc_paragraph(doc, NULL,
                         count == 1
                             ? "{f findings_left_out} more finding is left out: of another domain or phase than the one "
                               "asked for."
                             : "{f findings_left_out} more findings are left out: of another domain or phase than the "
                               "one asked for.");
}

#define HEADLINES_MOST 3

static void write_headlines(struct doc *doc, int64_t count)
{
    const struct ap_value *finding = ap_value_first(ap_doc_at(doc, "findings"));
    ap_doc_begin(doc, DOC_PARAGRAPH);
    ap_doc_integer(doc, count);
    bool compares = ap_doc_known(doc, "comparison"), all = count <= HEADLINES_MOST;
    ap_doc_say(doc, count == 1 ? " finding above its threshold:"
                    : compares ? (all ? " findings above their thresholds, what changed first:"
                                      : " findings above their thresholds, of which the first three are:")
                    : all      ? " findings above their thresholds, the weightiest first:"
                               : " findings above their thresholds, of which the three weightiest are:");
    ap_doc_end(doc, DOC_PARAGRAPH);
    ap_doc_begin(doc, DOC_NUMBERED_LIST);
    for (int shown = 0; finding && shown < HEADLINES_MOST; finding = finding->next)
        if (!ap_finding_is_remark(finding))
            write_headline(doc, finding, ++shown);
    ap_doc_end(doc, DOC_NUMBERED_LIST);
}

void ap_section_verdict(struct doc *doc)
{
    const struct ap_value *findings = ap_doc_at(doc, "findings");
    bool has_findings = findings && findings->type == AP_VALUE_LIST;
    int64_t count = 0;
    if (!has_findings && !ap_doc_known(doc, "verdict") && !ap_doc_known(doc, "hang") && !ap_doc_known(doc, "profile"))
        return;
    doc->backend->section(doc, "Verdict");
    write_bound(doc);
    ap_part_memory_bound(doc);
    if (!has_findings)
        return;
    for (const struct ap_value *finding = ap_value_first(findings); finding; finding = finding->next)
        count += !ap_finding_is_remark(finding);
    if (count)
        write_headlines(doc, count);
    else
        ap_doc_paragraph(doc, NULL, ap_nothing_found(&doc->model->root));
    write_left_out(doc);
}
