/* SPDX-License-Identifier: MIT
 * trace_tables.h - the rows of a trace as tables: operators, kernels, launches, copies, synchronisations, collectives,
 * steps. */
#ifndef AP_TRACE_TABLES_H
#define AP_TRACE_TABLES_H

#include "collective_rows.h"
#include "copies.h"
#include "row_source.h"
#include "trace_rows.h"
#include "waits.h"

struct ap_trace_table {
    const struct ap_trace_rows *view;
    uint32_t *rows; /* what the table is of, by its own numbers: rows of the trace, places in links, ... */
    size_t count, capacity;
    size_t device_count; /* of copies: behind them are rows of the host */
    struct ap_copies copies;
    struct ap_waits waits;
    struct ap_collective_rows collectives;
};

/** Names, ended by NULL. */
extern const char *const ap_trace_table_names[];
/** Is it the name of a table of rows of the trace? */
bool ap_is_trace_table(const char *name);

/** @table may be released after a failure too; it borrows the view. */
AP_MUST_CHECK enum ap_status ap_trace_table_init(struct ap_trace_table *table, const struct ap_trace_rows *view,
                                                 const char *name, struct ap_row_source *ret_source,
                                                 struct ap_error *reterr);
void ap_trace_table_release(struct ap_trace_table *table);

#endif
