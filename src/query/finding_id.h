/* SPDX-License-Identifier: MIT
 * finding_id.h - the names of a finding, the same wherever one is asked for: finding:2 by its rank, from 1 on, findings[1]
 * by its place in the report, from 0 on, and its rule, with finding: before it or without. */
#ifndef AP_FINDING_ID_H
#define AP_FINDING_ID_H

#include "base.h"

/** NULL where the report has no such finding, or @root is NULL. */
const struct ap_value *ap_finding_named(const struct ap_value *root, const char *id);

/** Is it a finding by its rank or place, which only a report can tell? */
bool ap_finding_is_numbered(const char *id);
/** What may be the name of a rule, without "finding:". */
const char *ap_finding_rule(const char *id);
/** Could it be the name of a finding in some report? */
bool ap_finding_is_name(const char *id);

#endif
