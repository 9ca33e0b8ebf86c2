/* SPDX-License-Identifier: MIT
 * query.h - questions to a report: one of its tables, the rows behind it, what stands around one of them. Sees the model and
 * what was kept of the inputs. */
#ifndef AP_QUERY_H
#define AP_QUERY_H

#include "analyze_profile/analyze_profile.h"
#include "memory_rows.h"
#include "out.h"
#include "trace_rows.h"

/** What is asked; the views are made when a question first needs them. */
struct ap_query {
    struct ap_gate *gate;
    const struct ap_value *root;
    const struct ap_facts *facts;       /* about the trace; NULL = none were kept */
    const struct ap_snapshot *snapshot; /* likewise */
    enum ap_words words;
    struct ap_redaction *redaction; /* of what comes from these two: the report has its own behind it; NULL = none */
    struct ap_trace_rows rows;
    struct ap_memory_view memory_view;
};

/** Releases the views that questions made; the query may be asked again and makes them anew. */
void ap_query_release(struct ap_query *query);
/** Writes the rows that are asked for of a table of the trace, the snapshot or the report. AP_ERROR_USAGE where there is
 *  no such table. */
AP_MUST_CHECK enum ap_status ap_query_table(struct ap_query *query, const struct ap_table_query *table, struct ap_sink sink,
                                            struct ap_error *reterr);
/** Writes what stands around a row, allocation, step, figure or finding, as text or JSON; CSV is AP_ERROR_USAGE. */
AP_MUST_CHECK enum ap_status ap_query_around(struct ap_query *query, const struct ap_around_query *around,
                                             struct ap_sink sink, struct ap_error *reterr);

#endif
