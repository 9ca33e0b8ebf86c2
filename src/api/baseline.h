/* SPDX-License-Identifier: MIT
 * baseline.h - what a report is compared with: a report that is read back, or a trace or snapshot that is analyzed too. */
#ifndef AP_BASELINE_H
#define AP_BASELINE_H

#include "analyze_profile/analyze_profile.h"
#include "model_build.h"

struct ap_baseline {
    const char *kind;         /* "report", "trace", "snapshot" */
    struct ap_model model;    /* of a report that was read back */
    struct ap_report *report; /* else the analysis */
};

/** Read @path: a run of either side. Memory of a report that is read back comes from @gate; an analysis has the same bound
 *  of its own, and *ret_held_bytes of it stay in use. Nothing is left behind on failure. */
AP_MUST_CHECK enum ap_status ap_baseline_open(struct ap_baseline *baseline, const struct ap_request *request,
                                              const char *path, struct ap_gate *gate, uint64_t *ret_held_bytes,
                                              struct ap_error *reterr);
/** The tree to compare with, borrowed from @baseline. */
const struct ap_value *ap_baseline_root(const struct ap_baseline *baseline);
/** A zeroed one is fine. */
void ap_baseline_close(struct ap_baseline *baseline);

#endif
