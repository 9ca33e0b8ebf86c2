/* SPDX-License-Identifier: MIT
 * row_filter.h - which rows of a table are asked for: --where.
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

#include "model_build.h"

#define AP_FILTER_MAX_TERMS 32
#define AP_FILTER_MAX_FIELD 96

enum ap_filter_op {
    AP_FILTER_equal,
    AP_FILTER_not_equal,
    AP_FILTER_less,
    AP_FILTER_less_equal,
    AP_FILTER_greater,
    AP_FILTER_greater_equal,
    AP_FILTER_contains,
    AP_FILTER_like
};

struct ap_filter_term {
    char field[AP_FILTER_MAX_FIELD];
    enum ap_filter_op op;
    struct ap_text value; /* without its quotes */
    bool quoted, has_number;
    double number;        /* in the unit of the model */
};

/** In postfix order. */
enum ap_filter_step { AP_FILTER_compare /* the next term */, AP_FILTER_and, AP_FILTER_or };

/** {0} keeps every row. */
struct ap_row_filter {
    struct ap_filter_term terms[AP_FILTER_MAX_TERMS];
    size_t count;
    enum ap_filter_step steps[2 * AP_FILTER_MAX_TERMS];
    size_t step_count;
};

/** @where: borrowed; NULL = every row. AP_ERROR_USAGE says what was expected. */
AP_MUST_CHECK enum ap_status ap_row_filter_parse(const char *where, struct ap_row_filter *ret_filter, struct ap_error *reterr);
bool ap_row_filter_keeps(const struct ap_row_filter *filter, const struct ap_value *row);

#endif
