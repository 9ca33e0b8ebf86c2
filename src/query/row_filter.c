/* SPDX-License-Identifier: MIT */
#include "row_filter.h"

#include <string.h>

#include "poison.h"

/* Which columns there are is known with the rows. */
static bool find_column(struct ap_text path, struct ap_expr_name *ret_name)
{
    enum ap_unit unit = ap_catalogue_key_unit(path);
    ret_name->unit = unit == AP_UNIT_bool ? AP_UNIT_number : unit; /* a yes or no is compared as the text that it is */
    return true;
}

static const struct ap_expr_language language = {
    .noun = "column",
    .features = AP_EXPR_AND | AP_EXPR_OR | AP_EXPR_TEXTS,
    .tests = AP_TESTS_OF_ORDER | AP_TESTS_OF_EQUALITY | AP_TEST_BIT(contains) | AP_TEST_BIT(like),
    .most = AP_EXPR_MAX,
    .find = find_column,
};

enum ap_status ap_row_filter_parse(const char *where, struct ap_row_filter *ret_filter, struct ap_error *reterr)
{
    struct ap_expr_mistake mistake;
    ret_filter->expr = (struct ap_expr){ .comparison_count = 0 };
    if (!where || ap_expr_parse(ap_text_of(where), &language, &ret_filter->room, &ret_filter->expr, &mistake))
        return AP_OK;
    return ap_refuse(reterr, AP_SETTING_WHERE, "'%.200s', character %zu: %s", where, mistake.at + 1, mistake.message);
}

bool ap_row_filter_keeps(const struct ap_row_filter *filter, const struct ap_value *row)
{
    return ap_expr_evaluate(&filter->expr, row) == AP_TRUE;
}
