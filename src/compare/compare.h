/* SPDX-License-Identifier: MIT
 * compare.h - what changed between two reports, and whether that is more than noise. Knows the model alone: either side may
 * be an analysis of now or a report that was read back. compare(x, x) finds no change; exchanging the sides turns every
 * difference around. Of one run a side no time is called better or worse: steps of one run are no independent samples, so it
 * differs at most. With several runs a side the values that are tested are runs. */
#ifndef AP_COMPARE_H
#define AP_COMPARE_H

#include "mem.h"
#include "model_build.h"

/** One run of a side. */
struct ap_compare_run {
    const char *path, *kind;     /* as the user wrote it; "report", "trace" or "snapshot" */
    const struct ap_value *root; /* borrowed */
};

#define AP_COMPARE_MAX_RUNS 64 /* of a side */

struct ap_compare_options {
    const struct ap_compare_run *before; /* at least one */
    size_t before_count;
    const struct ap_compare_run *more; /* runs beside that of the report */
    size_t more_count;
    const char *after_path; /* of the report's own input */
    uint64_t top_n;         /* longest list; 0 = all */
};

/** The run whose median steady step is the middle one: it stands for its side where only one can. The first of those that
 *  tell no step where none does. */
size_t ap_compare_middle(const struct ap_compare_run *runs, size_t count);

/** Append "comparison" to the root of @model: what is different there from the runs before. */
AP_MUST_CHECK enum ap_status ap_compare(struct ap_model *model, const struct ap_compare_options *options,
                                        struct ap_error *reterr);

#endif
