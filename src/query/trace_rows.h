/* SPDX-License-Identifier: MIT
 * trace_rows.h - what questions about the rows of a trace share: the facts about it, names and ids of rows. */
#ifndef AP_TRACE_ROWS_H
#define AP_TRACE_ROWS_H

#include "facts.h"
#include "host_chain.h"
#include "model_build.h"

#define AP_ROW_ID_BYTES 40

/** The facts about a trace that was kept, and who asked for its calls. */
struct ap_trace_rows {
    const struct ap_facts *facts; /* NULL = nobody asked for rows yet */
    struct ap_host_chains chains;
};

/** @facts live longer. Nothing is left behind on failure. */
AP_MUST_CHECK enum ap_status ap_trace_rows_init(struct ap_trace_rows *rows, const struct ap_facts *facts,
                                                struct ap_error *reterr);
/** A zeroed one is fine. */
void ap_trace_rows_release(struct ap_trace_rows *rows);

/** Add @key: the id of the row, null for AP_NO_ROW. */
void ap_add_row_id(struct ap_model *model, struct ap_value *to, const char *key, uint32_t row);
/** Add @key: the name of the row, null for AP_NO_ROW. */
void ap_add_row_name(const struct ap_trace_rows *rows, struct ap_model *model, struct ap_value *to, const char *key,
                     uint32_t row);
/** Add "step": the number of the step that holds the time, from 0 on; null where there is none. */
void ap_add_step_of(const struct ap_trace_rows *rows, struct ap_model *model, struct ap_value *to, int64_t at_ns);

static inline bool ap_row_is_placed(const struct ap_trace *trace, uint32_t row)
{
    return trace->events.start_ns[row] != AP_START_UNKNOWN && trace->events.dur_ns[row] >= 0;
}

#endif
