/* SPDX-License-Identifier: MIT
 * trace_view.h - a trace that was kept, with what questions about its rows need: order, host tree, links, steps, phases. */
#ifndef AP_TRACE_VIEW_H
#define AP_TRACE_VIEW_H

#include "host_chain.h"
#include "kernel_family.h"
#include "links.h"
#include "model_build.h"
#include "phase.h"
#include "steps.h"

#define AP_ROW_ID_BYTES 40

struct ap_trace_view {
    struct ap_gate *gate;
    const struct ap_trace *trace; /* NULL = there is no view yet */
    struct ap_row_order order;
    struct ap_host_tree tree;
    struct ap_links links;
    struct ap_steps steps;
    struct ap_kernel_families families;
    struct ap_phases phases;
    struct ap_host_chains chains;
};

/** @trace was analysed, and lives longer. Nothing is left behind on failure. */
AP_MUST_CHECK enum ap_status ap_trace_view_init(struct ap_trace_view *view, const struct ap_trace *trace, struct ap_gate *gate,
                                                struct ap_error *reterr);
/** A zeroed one is fine. */
void ap_trace_view_release(struct ap_trace_view *view);

/** "row:1234": the number of the row among the events of the file that have a duration, in order of the file, from 0 on. */
void ap_row_id_format(uint32_t row, char to[AP_ROW_ID_BYTES]);
/** Add @key: the id of the row, null for AP_NO_ROW. */
void ap_add_row_id(struct ap_model *model, struct ap_value *to, const char *key, uint32_t row);
/** Add @key: the name of the row, null for AP_NO_ROW. */
void ap_add_row_name(const struct ap_trace_view *view, struct ap_model *model, struct ap_value *to, const char *key, uint32_t row);
/** Add "step": the number of the step that holds the time, from 0 on; null where there is none. */
void ap_add_step_of(const struct ap_trace_view *view, struct ap_model *model, struct ap_value *to, int64_t at_ns);

static inline bool ap_row_is_placed(const struct ap_trace *trace, uint32_t row)
{
    return trace->events.start_ns[row] != AP_START_UNKNOWN && trace->events.dur_ns[row] >= 0;
}

#endif
