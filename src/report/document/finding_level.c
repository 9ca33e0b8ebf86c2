/* SPDX-License-Identifier: MIT */
#include "finding_level.h"

#include "document.h"

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

bool ap_warning_is_alert(const struct ap_value *warning)
{
    struct ap_text code = ap_text_member(warning, "code");
    return ap_text_is(code, "input-cut") || ap_text_is(code, "salvaged") || ap_text_is(code, "stray-in-time") ||
           ap_text_is(ap_text_member(warning, "severity"), "error");
}
