/* SPDX-License-Identifier: MIT
 * known_table.h - what is known of tables before any input is read: their names and columns. It
 * is made from src/catalogue. */
#ifndef AP_KNOWN_TABLE_H
#define AP_KNOWN_TABLE_H

#include "analyze_profile/analyze_profile.h"
#include "base.h"

struct ap_known_table {
    const char *name;    /* "*" in it stands for any key */
    const char *columns; /* as they are written, blanks between; "x.*": more below x; "*": the input chooses the keys */
};

extern const struct ap_known_table ap_row_tables[]; /* rows of the inputs; the tests hold them against what is made */
extern const size_t ap_row_table_count;
extern const struct ap_known_table ap_report_tables[]; /* lists and objects of the report */
extern const size_t ap_report_table_count;

/** NULL where no report has it. */
const struct ap_known_table *ap_known_table_find(const char *name);

/** Does every report have this column of the table, be it with a value or without? False also where that is up to the input.
 */
bool ap_known_table_has(const char *table, struct ap_text column);

/** Names of columns that stand with characters of @between between them, taken off the front of *rest; false at the end. */
bool ap_known_column_next(const char **rest, const char *between, struct ap_text *ret_column);

/** Could this question be answered? AP_ERROR_USAGE where no input would make it right: no such table, no such column, a
 * mistake in what rows or order are asked for. */
AP_MUST_CHECK enum ap_status ap_known_table_check(const struct ap_table_query *query, struct ap_error *reterr);

#endif
