/* SPDX-License-Identifier: MIT
 * analyze.h - from a trace to the parts of the report that are about it: cpu, trace, steps, split and on to symptoms. */
#ifndef AP_ANALYZE_H
#define AP_ANALYZE_H

#include "memory_join.h"
#include "model_build.h"
#include "overlay.h"
#include "trace.h"

struct ap_analyze_options {
    const char *path;      /* stands in the report as it is */
    uint64_t top_n;        /* bound of lists; 0 = all */
    uint64_t bytes_read;   /* of the decompressed input */
    bool compressed;
    bool two_threads;      /* passes that do not need each other may run side by side */
    const char *phase;     /* what the report is to be about: one of the names of phases, or NULL for all */
    const struct ap_memory_join *join; /* of the snapshot of the same run; NULL = none was given */
    bool with_pictures;    /* add "pictures" */
    /** With pictures: called once all else is in the model, to add "findings", of which the first says what the timeline
     *  shows; NULL = nobody judges. */
    enum ap_status (*judge)(void *judge_self, struct ap_error *reterr);
    void *judge_self;
    struct ap_overlay *overlay; /* receives spans to be drawn; NULL = nobody wants them */
};

/** Append the parts to the root of @model, in the order of the report. Oddities found on the way go to @notes. The
 *  trace is used up: what reading needed and analysis does not is given back. */
AP_MUST_CHECK enum ap_status ap_analyze_trace(struct ap_trace *trace, const struct ap_analyze_options *options,
                                              struct ap_notes *notes, struct ap_model *model, struct ap_error *reterr);

/** The same parts where no trace was given: null. */
void ap_analyze_no_trace(struct ap_model *model);

#endif
