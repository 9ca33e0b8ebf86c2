/* SPDX-License-Identifier: MIT */
#include "track_findings.h"

#include "model_build.h"

#include "poison.h"

static enum ap_status track_finding(struct ap_overlay *overlay, const struct ap_value *finding, struct ap_error *reterr)
{
    enum { SEVERITY = 1 };
    static const char *const told[] = { "rule_id", [SEVERITY] = "severity", "confidence", "observation" };
    struct ap_overlay_word words[AP_COUNT_OF(told)];
    struct ap_text title = ap_text_member(finding, "title");
    int64_t saves_ns = ap_integer_member(finding, "saves_us", -1);
    for (size_t i = 0; i < AP_COUNT_OF(told); i++)
        words[i] = (struct ap_overlay_word){ told[i], ap_text_member(finding, told[i]) };
    const struct ap_value *place = ap_value_first(ap_value_member(finding, "places"));
    if (!place && ap_text_is(words[SEVERITY].text, "info"))
        return AP_OK; /* a remark on the recording: the report has it */
    if (!place)
        return ap_overlay_add_everywhere(overlay, AP_OVERLAY_findings, title, words, AP_COUNT_OF(words), saves_ns, reterr);
    for (; place; place = place->next)
        AP_TRY(ap_overlay_add(overlay, AP_OVERLAY_findings, ap_integer_member(place, "start_us", INT64_MIN),
                              ap_integer_member(place, "dur_us", -1), title, words, AP_COUNT_OF(words), saves_ns, reterr));
    return AP_OK;
}

enum ap_status ap_track_findings(struct ap_overlay *overlay, const struct ap_value *root, struct ap_error *reterr)
{
    const struct ap_value *finding = ap_value_first(ap_value_member(root, "findings"));
    for (; overlay && finding; finding = finding->next)
        AP_TRY(track_finding(overlay, finding, reterr));
    return AP_OK;
}
