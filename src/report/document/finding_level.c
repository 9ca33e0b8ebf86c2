/* SPDX-License-Identifier: MIT */
#include "finding_level.h"

#include "document.h"
#include "kernel_name.h"

#include "poison.h"

enum ap_severity ap_severity_of(struct ap_text word)
{
    int rank = ap_severity_rank(word);
    return rank < 0 ? AP_SEVERITY_info : (enum ap_severity)rank;
}

bool ap_finding_is_remark(const struct ap_value *finding)
{
    return ap_text_is(ap_text_member(finding, "severity"), "info");
}

const char *ap_nothing_found(const struct ap_value *root)
{
    const struct ap_value *events = ap_value_at(root, "trace.events.total");
    if (ap_value_integer(ap_value_at(root, "cluster.rank_count"), 0) > 1)
        return "Nothing above threshold between the ranks. What all of them do alike, the report on one of them tells.";
    return events && !ap_value_integer(events, 0) ? "The trace has no events: nothing could be judged."
                                                  : "Nothing above threshold.";
}

bool ap_findings_save(const struct ap_value *findings)
{
    const struct ap_value *finding = ap_value_first(findings);
    double share = 0;
    while (finding && (ap_finding_is_remark(finding) || !ap_value_number(ap_value_at(finding, "gain.share_ratio"), &share)))
        finding = finding->next;
    return finding;
}

static bool has(const struct ap_value *row, const char *key)
{
    const struct ap_value *value = ap_value_member(row, key);
    return value && value->type != AP_VALUE_NULL;
}

bool ap_evidence_is_told(const struct ap_value *evidence)
{
    return has(evidence, "value") && has(evidence, "threshold") &&
           !ap_text_starts_with(ap_text_member(evidence, "metric"), "trace.recorded.");
}

static bool is_told_elsewhere(const struct ap_value *root, const struct ap_value *finding)
{
    const struct ap_value *reason = ap_value_first(ap_value_at(root, "capture.reasons"));
    while (reason && !ap_text_equal(ap_text_member(reason, "remark"), ap_text_member(finding, "rule_id")))
        reason = reason->next;
    return reason;
}

size_t ap_finding_remarks(const struct ap_value *root, const struct ap_value *ret_remarks[AP_REMARKS_SHOWN])
{
    size_t count = 0;
    for (int of_recording = 0; of_recording < 2; of_recording++)
        for (const struct ap_value *finding = ap_value_first(ap_value_member(root, "findings")); finding;
             finding = finding->next) {
            if (!ap_finding_is_remark(finding) || is_told_elsewhere(root, finding) ||
                ap_text_is(ap_text_member(finding, "domain"), "quality") != of_recording)
                continue;
            if (count < AP_REMARKS_SHOWN)
                ret_remarks[count] = finding;
            count++;
        }
    return count;
}

bool ap_warning_is_alert(const struct ap_value *warning)
{
    struct ap_text code = ap_text_member(warning, "code");
    return ap_text_is(code, "input-cut") || ap_text_is(code, "salvaged") || ap_text_is(code, "stray-in-time") ||
           ap_text_is(code, "inputs-apart") || ap_text_is(ap_text_member(warning, "severity"), "error");
}

struct ap_text ap_finding_where(const struct ap_value *finding)
{
    return ap_kernel_short_name(ap_text_member(ap_value_first(ap_value_member(finding, "affected")), "name"));
}
