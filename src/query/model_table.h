/* SPDX-License-Identifier: MIT
 * model_table.h - the lists of a report as tables, by their path: "gpu.kernels". Lists on the way are entered:
 * "memory.replay.devices.owners" has the owners of all devices. */
#ifndef AP_MODEL_TABLE_H
#define AP_MODEL_TABLE_H

#include "row_source.h"

struct ap_model_row {
    const struct ap_value *value;
    struct ap_text id; /* "gpu.kernels[3]" */
};

struct ap_model_table {
    struct ap_gate *gate;
    struct ap_arena arena;
    struct ap_model_row *rows;
    size_t count, capacity;
    const char *path;
};

/** @path is borrowed. An object is a table of one row, what is null one of none. AP_ERROR_USAGE where the report has no such
 * thing.
 *  @table may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_model_table_init(struct ap_model_table *table, struct ap_gate *gate,
                                                 const struct ap_value *root, const char *path, struct ap_error *reterr);
/** The tables that there are: of the report, and @row_tables, names of those of rows, ended by NULL. */
AP_MUST_CHECK enum ap_status ap_model_tables_list(struct ap_model_table *table, struct ap_gate *gate,
                                                  const struct ap_value *root, const char *const *row_tables,
                                                  struct ap_error *reterr);
void ap_model_table_release(struct ap_model_table *table);
/** The rows of the list; borrows @table. */
struct ap_row_source ap_model_table_source(struct ap_model_table *table);

/** The value of a row by its id, or NULL. */
const struct ap_value *ap_model_row_find(const struct ap_value *root, const char *id);

#endif
