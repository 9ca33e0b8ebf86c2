/* SPDX-License-Identifier: MIT
 * finding_level.h - how bad a finding or a warning is for who reads it. */
#ifndef AP_FINDING_LEVEL_H
#define AP_FINDING_LEVEL_H

#include "analyze_profile/model.h"
#include "severity.h"

/** Remarks that a report shows; the JSON has all. */
#define AP_REMARKS_SHOWN 3

/** AP_SEVERITY_info for a word that is none. */
enum ap_severity ap_severity_of(struct ap_text word);

/** A finding that only informs. */
bool ap_finding_is_remark(const struct ap_value *finding);
/** The sentence in place of findings where there are none. */
const char *ap_nothing_found(const struct ap_value *root);
/** Says any of them, remarks aside, what it could save? */
bool ap_findings_save(const struct ap_value *findings);
/** Those that are shown, remarks on the run before remarks on its recording; the number of all. What to record next time
 *  has a section of its own, and what it says is no remark, too. */
size_t ap_finding_remarks(const struct ap_value *root, const struct ap_value *ret_remarks[AP_REMARKS_SHOWN]);
/** Does the warning say that figures may be far off: a cut or broken input, or an error? */
bool ap_warning_is_alert(const struct ap_value *warning);

/** A comparison of a measured value with a limit, and not which recordings the rule is for, or that a figure is known. */
bool ap_evidence_is_told(const struct ap_value *evidence);

/** The line, operator, kernel (by its short name) or place that it is about first; no text where none is known. */
struct ap_text ap_finding_where(const struct ap_value *finding);

#endif
