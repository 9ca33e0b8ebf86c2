/* SPDX-License-Identifier: MIT
 * severity.h - how much a finding matters. */
#ifndef AP_SEVERITY_H
#define AP_SEVERITY_H

#include "base.h"

enum ap_severity {
#define AP_SEVERITY(name) AP_SEVERITY_##name,
#include "severity.def"
#undef AP_SEVERITY
    AP_SEVERITY_COUNT_
};

extern const char *const ap_severity_names[AP_SEVERITY_COUNT_];
/** Its place among them, 0 to 4; -1 for any other text. */
int ap_severity_rank(struct ap_text severity);
/** "high, critical": the names from one on, for messages. */
const char *ap_severity_list(enum ap_severity from);

#endif
