/* SPDX-License-Identifier: MIT
 * row_filter.h - which rows of a table are asked for, in a language of src/expr.
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
#ifndef AP_ROW_FILTER_H
#define AP_ROW_FILTER_H

#include "expr.h"

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

#endif
