/* SPDX-License-Identifier: MIT
 * compared_runs.h - the runs that a report is compared with, and those that stand beside its own. */
#ifndef AP_COMPARED_RUNS_H
#define AP_COMPARED_RUNS_H

#include "analyze_profile/analyze_profile.h"
#include "compare.h"

struct ap_compared_runs {
    struct ap_gate *gate;
    struct opened_run *opened; /* those before, then those beside the report's own */
    struct ap_compare_run *runs;
    size_t before_count, more_count, room;
};

/** Read all that the request names; *path tells which one is at work. *ret_held_bytes stay in use beside what @gate counts.
 *  @runs may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_compared_runs_open(struct ap_compared_runs *runs, const struct ap_request *request,
                                                   struct ap_gate *gate, const char **path, uint64_t *ret_held_bytes,
                                                   struct ap_error *reterr);
/** The run that stands for the baseline; NULL where there is none. */
const struct ap_value *ap_compared_runs_root(const struct ap_compared_runs *runs);
/** A zeroed one is fine. */
void ap_compared_runs_release(struct ap_compared_runs *runs);

#endif
