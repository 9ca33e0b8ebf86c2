/* SPDX-License-Identifier: MIT
 * rank_name.h - the rank that the name of a file tells, for files whose content does not. */
#ifndef AP_RANK_NAME_H
#define AP_RANK_NAME_H

#include "base.h"

struct ap_rank_pattern;

/** An extended regular expression whose first group is the rank; NULL = the usual names: rank3, rank_3, rank-3, worker3,
 *  r3, and a number at the end. AP_ERROR_USAGE where it is none, or has no group. */
AP_MUST_CHECK enum ap_status ap_rank_pattern_new(const char *expression, struct ap_rank_pattern **ret_pattern,
                                                 struct ap_error *reterr);
/** NULL is fine. */
void ap_rank_pattern_free(struct ap_rank_pattern *pattern);

/** -1 where the name tells no rank. The last part of @path is looked at first, then the folder that it stands in; but a
 *  folder that says "rank" counts before a bare number: rank_3/trace_0.json is of rank 3. */
int64_t ap_rank_of_path(const struct ap_rank_pattern *pattern, const char *path);

#endif
