/* SPDX-License-Identifier: MIT
 * name_pattern.h - the small patterns of the .def tables, compiled: a list of entries, each with alternatives separated by
 * '|'; "text" equal, "text*" begins with, "*text" ends with, "*text*" contains, "one*two" begins and ends with, and so on.
 * Hundreds of patterns are tried on every distinct name of a trace, so most are ruled out by the pairs of letters that they
 * need. */
#ifndef AP_NAME_PATTERN_H
#define AP_NAME_PATTERN_H

#include "mem.h"

struct ap_name_patterns {
    struct ap_gate *gate;
    struct ap_name_pattern *patterns;
    size_t count, capacity;
};

/** @entries: one text of alternatives each; borrowed. */
AP_MUST_CHECK enum ap_status ap_name_patterns_init(struct ap_name_patterns *set, struct ap_gate *gate,
                                                   const char *const *entries, size_t entry_count, struct ap_error *reterr);
void ap_name_patterns_release(struct ap_name_patterns *set);

/** Number of the first entry that matches; entry_count where none does. */
size_t ap_name_patterns_first(const struct ap_name_patterns *set, struct ap_text name, size_t entry_count);

/** One bit for each of up to 64 entries that match. */
uint64_t ap_name_patterns_all(const struct ap_name_patterns *set, struct ap_text name);

#endif
