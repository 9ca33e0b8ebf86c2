/* SPDX-License-Identifier: MIT
 * row_pick.h - the rows of a source that a filter keeps, by a key, and the first of them.
 *
 * Which rows of a table are asked for stands in a language of src/expr:
 *
 *     name contains gemm and (dur_us > 1ms or tid = 7)
 *
 * "and" binds closer than "or", parentheses closer than both. A comparison is a column, an operator and a value:
 *
 *     =  !=             text as it is, or a number
 *     <  <=  >  >=      a number: 150us, 2ms, 1.5MiB, 5%, 12; without a unit in that of the JSON report
 *     contains  ~       part of a text, whatever the case; of a list: of one of its texts
 *     like              the whole text, "*" for any part of it and "?" for any character
 *
 * Values with spaces stand in ' or ". true, false and null are values as well; what is not known is equal to null alone. */
#ifndef AP_ROW_PICK_H
#define AP_ROW_PICK_H

#include "expr.h"
#include "row_source.h"

/** {0} keeps every row. */
struct ap_row_filter {
    struct ap_expr expr;
    struct ap_expr_room room; /* what the expression points to */
};

/** @where: borrowed; NULL = every row. AP_ERROR_USAGE says what was expected. */
AP_MUST_CHECK enum ap_status ap_row_filter_parse(const char *where, struct ap_row_filter *ret_filter,
                                                 struct ap_error *reterr);
/** Is the row one that is asked for? */
bool ap_row_filter_keeps(const struct ap_row_filter *filter, const struct ap_value *row);

/** Rows that are made at once: what is made for them is given back together. */
#define AP_ROWS_AT_ONCE 256

struct ap_picked_rows {
    struct ap_gate *gate;
    uint32_t *rows; /* indices into the source */
    size_t count, capacity;
    uint64_t matched; /* that the filter keeps; count may be less */
};

/** Is this what @sort below takes? AP_ERROR_USAGE where not. */
AP_MUST_CHECK enum ap_status ap_row_sort_check(const char *sort, struct ap_error *reterr);

/** @sort: a column, ":asc" or ":desc" behind it; NULL = the order of the source. @limit: 0 = all. The rows may be released
 * after a failure too. AP_ERROR_USAGE where a column is in no row. */
AP_MUST_CHECK enum ap_status ap_rows_pick(const struct ap_row_source *source, const struct ap_row_filter *filter,
                                          const char *sort, uint64_t limit, struct ap_picked_rows *rows,
                                          struct ap_error *reterr);
void ap_picked_rows_release(struct ap_picked_rows *rows);

/** Call @see for each picked row, in order, with the row. */
typedef enum ap_status ap_see_row(void *self, const struct ap_value *row, struct ap_error *reterr);
/** Hands the rows to @see in their order; its first failure ends it and is returned. */
AP_MUST_CHECK enum ap_status ap_rows_see(const struct ap_row_source *source, const struct ap_picked_rows *rows,
                                         ap_see_row *see, void *self, struct ap_error *reterr);

#endif
