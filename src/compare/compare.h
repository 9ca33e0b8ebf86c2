/* SPDX-License-Identifier: MIT
 * compare.h - what changed between two reports, and whether that is more than noise. Knows the model alone: either side may
 * be an analysis of now or a report that was read back. compare(x, x) finds no change; exchanging the sides turns every
 * difference around. */
#ifndef AP_COMPARE_H
#define AP_COMPARE_H

#include "mem.h"
#include "model_build.h"

struct ap_compare_options {
    const char *path; /* of the baseline, as the user wrote it */
    const char *kind; /* "report", "trace" or "snapshot" */
    uint64_t top_n;   /* longest list; 0 = all */
};

/** Append "comparison" to the root of @model: what is different there from @before. */
AP_MUST_CHECK enum ap_status ap_compare(struct ap_model *model, const struct ap_value *before,
                                        const struct ap_compare_options *options, struct ap_error *reterr);

#endif
