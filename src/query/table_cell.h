/* SPDX-License-Identifier: MIT
 * table_cell.h - one value as a cell: for people on a terminal, and for spreadsheets. */
#ifndef AP_TABLE_CELL_H
#define AP_TABLE_CELL_H

#include "out.h"

/** Columns of a terminal that the value takes. */
size_t ap_cell_columns(const struct ap_value *value);
/** With a readable unit, cut to @max_columns (0 = all); starts in microseconds as the trace has them. */
void ap_cell_write_text(struct ap_out *out, const struct ap_value *value, size_t max_columns);

/** As JSON writes it, without quotation marks; null is empty, lists and objects are JSON. What a spreadsheet would take for
 * a formula begins with an apostrophe. */
AP_MUST_CHECK enum ap_status ap_cell_write_csv(struct ap_out *out, const struct ap_value *value, struct ap_error *reterr);

#endif
