/* SPDX-License-Identifier: MIT
 * analyzed.h - a trace from its facts to the report, for tests that look at parts of the report. */
#ifndef ANALYZED_H
#define ANALYZED_H

#include "analyze.h"

/** Adds the parts of @trace to @model, on one thread; then what @judge adds, where it is not NULL; then the pictures. */
AP_MUST_CHECK static inline enum ap_status analyze_and_draw(struct ap_trace *trace, const struct ap_part_options *options,
                                                            void (*judge)(void *self), void *self, struct ap_notes *notes,
                                                            struct ap_model *model, struct ap_error *reterr)
{
    struct ap_facts facts;
    enum ap_status status = ap_facts_init(&facts, trace, true, reterr);
    if (status == AP_OK)
        status = ap_analyze_trace(&facts, options, false, notes, model, reterr);
    if (status == AP_OK && judge)
        judge(self);
    if (status == AP_OK)
        status = ap_analyze_pictures(&facts, options, notes, model, reterr);
    ap_facts_release(&facts);
    return status;
}

/** The same without pictures. */
AP_MUST_CHECK static inline enum ap_status analyze_trace(struct ap_trace *trace, const struct ap_part_options *options,
                                                         struct ap_notes *notes, struct ap_model *model,
                                                         struct ap_error *reterr)
{
    struct ap_facts facts;
    enum ap_status status = ap_facts_init(&facts, trace, false, reterr);
    if (status == AP_OK)
        status = ap_analyze_trace(&facts, options, false, notes, model, reterr);
    ap_facts_release(&facts);
    return status;
}

#endif
