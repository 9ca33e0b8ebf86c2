/* SPDX-License-Identifier: MIT
 * metric_names.h - the names of all figures that a report can have: paths in the JSON report without the places in lists. The
 * table is made from references/report-schema.json. */
#ifndef AP_METRIC_NAMES_H
#define AP_METRIC_NAMES_H

#include "base.h"

extern const char *const ap_metric_names[]; /* in order of memcmp; "*" stands for any key */
extern const char *const ap_metric_meanings[]; /* a sentence for each; "" where the schema has none */
extern const size_t ap_metric_name_count;

/** Key by key; a "*" of the pattern is any key. */
bool ap_metric_name_matches(struct ap_text name, const char *pattern);
bool ap_metric_name_is_known(struct ap_text name);

enum ap_metric_unit { AP_METRIC_TIME, AP_METRIC_SIZE, AP_METRIC_RATIO, AP_METRIC_NUMBER };
/** Told by the end of the name, or of what it stands in. */
enum ap_metric_unit ap_metric_name_unit(struct ap_text name);

#endif
