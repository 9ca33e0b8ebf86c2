/* SPDX-License-Identifier: MIT
 * truth_writer.h - truth.json: what was planted in a recording, and what it cost. */
#ifndef HARNESS_TRUTH_WRITER_H
#define HARNESS_TRUTH_WRITER_H

#include "base.h"

struct harness_truth {
    const char *cause;
    bool planted;          /* false: the healthy twin */
    const char *twin;      /* name of the other directory */
    const char *recording; /* "gpu", "model" */
    const char *made_by;
    const char *const
        *accept;      /* rules that name the cause, the most fitting first; ends with NULL; none on a healthy twin */
    const char *unit; /* "us", "bytes" */
    bool cost_known;
    int64_t planted_cost;
    const char *note;
};

AP_MUST_CHECK enum ap_status harness_truth_write(const struct harness_truth *truth, const char *path,
                                                 struct ap_error *reterr);

#endif
