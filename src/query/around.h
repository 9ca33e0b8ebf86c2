/* SPDX-License-Identifier: MIT
 * around.h - what stands around one row of a trace: what launched it, what it launched, what ran beside it, its stack, its
 * step. */
#ifndef AP_AROUND_H
#define AP_AROUND_H

#include "out.h"
#include "trace_rows.h"

#define AP_AROUND_MAX_ROWS 1000 /* longest list that is made */

/** Append the members of an answer to @to. */
AP_MUST_CHECK enum ap_status ap_around_row(struct ap_trace_rows *rows, uint32_t row, uint64_t limit, struct ap_model *model,
                                           struct ap_value *to, struct ap_error *reterr);

/** The same for a span of time that no row of the trace has: its step, and what ran during it. */
AP_MUST_CHECK enum ap_status ap_around_span(struct ap_trace_rows *rows, int64_t start_ns, int64_t dur_ns, uint64_t limit,
                                            struct ap_model *model, struct ap_value *to, struct ap_error *reterr);

/** The row that a place in the report (start_us, dur_us, pid, tid) stands for; AP_NO_ROW = none. */
uint32_t ap_row_at_place(const struct ap_trace *trace, const struct ap_value *place);
/** @value or the first object in it, or in a list in it, that has a place; NULL = none. */
const struct ap_value *ap_place_in(const struct ap_value *value);

/** A key as words, and a colon. */
void ap_title_write(struct ap_out *out, struct ap_text key);
/** What an object tells, below a title that ends its line here: a line for each member. */
void ap_facts_write_text(struct ap_out *out, const struct ap_value *object);
/** An answer as text. */
void ap_around_write_text(struct ap_out *out, const struct ap_value *answer, unsigned width);

#endif
