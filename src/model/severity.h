/* SPDX-License-Identifier: MIT
 * severity.h - how much a finding matters, and how sure it is. */
#ifndef AP_SEVERITY_H
#define AP_SEVERITY_H

#include "base.h"

enum ap_severity {
#define AP_SEVERITY(name) AP_SEVERITY_##name,
#include "severity.def"
#undef AP_SEVERITY
    AP_SEVERITY_COUNT_
};

enum ap_confidence { AP_CONFIDENCE_low, AP_CONFIDENCE_medium, AP_CONFIDENCE_high };

extern const char *const ap_confidence_names[3];
extern const char *const ap_severity_names[AP_SEVERITY_COUNT_];
/** Its place among them, 0 to 4; -1 for any other text. */
int ap_severity_rank(struct ap_text severity);
/** "high, critical": the names from one on, for messages. */
const char *ap_severity_list(enum ap_severity from);

#endif
