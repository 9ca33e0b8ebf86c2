/* SPDX-License-Identifier: MIT
 * finding_level.h - how bad a finding or a warning is for who reads it. */
#ifndef AP_FINDING_LEVEL_H
#define AP_FINDING_LEVEL_H

#include "base.h"
#include "severity.h"

/** AP_SEVERITY_info for a word that is none. */
enum ap_severity ap_severity_of(struct ap_text word);

/** A finding that only informs. */
bool ap_finding_is_remark(const struct ap_value *finding);
/** Does the warning say that figures may be far off: a cut or broken input, or an error? */
bool ap_warning_is_alert(const struct ap_value *warning);

#endif
