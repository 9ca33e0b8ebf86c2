/* SPDX-License-Identifier: MIT
 * Judging: conditions against the values of a tree. */
#include <string.h>

#include "expr.h"

#include "poison.h"

bool ap_test_holds(enum ap_test test, double value, double limit)
{
    switch (test) {
    case AP_TEST_less: return value < limit;
    case AP_TEST_less_equal: return value <= limit;
    case AP_TEST_greater: return value > limit;
    case AP_TEST_greater_equal: return value >= limit;
    case AP_TEST_equal: return value == limit;
    case AP_TEST_not_equal: return value != limit;
    case AP_TEST_is_true: return value != 0;
    case AP_TEST_is_false: return value == 0;
    default: return false;
    }
}

/* ---- texts ---- */

static bool contains(struct ap_text text, struct ap_text part)
{
    for (size_t at = 0; at + part.bytes <= text.bytes; at++) {
        size_t i = 0;
        while (i < part.bytes && ap_folded(text.data[at + i]) == ap_folded(part.data[i]))
            i++;
        if (i == part.bytes)
            return true;
    }
    return false;
}

/* "*" takes as little as it can, and more where what follows does not fit. */
static bool is_like(struct ap_text text, struct ap_text pattern)
{
    size_t at = 0, i = 0, star = SIZE_MAX, star_at = 0;
    while (at < text.bytes) {
        if (i < pattern.bytes && pattern.data[i] == '*') {
            star = i++;
            star_at = at;
        } else if (i < pattern.bytes && (pattern.data[i] == '?' || pattern.data[i] == text.data[at])) {
            i++;
            at++;
        } else if (star != SIZE_MAX) {
            i = star + 1;
            at = ++star_at;
        } else {
            return false;
        }
    }
    while (i < pattern.bytes && pattern.data[i] == '*')
        i++;
    return i == pattern.bytes;
}

/* One of "a|b*", of which the second is the beginning of a text. */
static bool is_one_of(struct ap_text text, struct ap_text choices)
{
    struct ap_text wanted;
    while (text.bytes && ap_text_next_part(&choices, '|', &wanted)) {
        bool beginning = wanted.data[wanted.bytes - 1] == '*';
        if (beginning ? text.bytes >= wanted.bytes - 1 && memcmp(text.data, wanted.data, wanted.bytes - 1) == 0
                      : ap_text_equal(text, wanted))
            return true;
    }
    return false;
}

static bool text_holds(enum ap_test test, struct ap_text text, struct ap_text wanted)
{
    switch (test) {
    case AP_TEST_equal: return ap_text_equal(text, wanted);
    case AP_TEST_not_equal: return !ap_text_equal(text, wanted);
    case AP_TEST_contains: return contains(text, wanted);
    case AP_TEST_like: return is_like(text, wanted);
    case AP_TEST_is_one_of: return is_one_of(text, wanted);
    default: return false;
    }
}

/* ---- values ---- */

static bool value_holds(const struct ap_comparison *comparison, const struct ap_value *value, double limit)
{
    double number;
    if (value->type == AP_VALUE_TEXT || value->type == AP_VALUE_LITERAL)
        return text_holds(comparison->test, value->as.text, comparison->text);
    if (value->type == AP_VALUE_BOOL && comparison->text.data)
        return text_holds(comparison->test, ap_text_of(value->as.integer ? "true" : "false"), comparison->text);
    if (!ap_value_number(value, &number))
        return false;
    if (comparison->text.data && !comparison->has_limit)
        return comparison->test == AP_TEST_not_equal; /* a number is no text */
    return ap_test_holds(comparison->test, number, limit);
}

static bool is_known(const struct ap_comparison *comparison, const struct ap_value *value)
{
    double number;
    if (!value || value->type == AP_VALUE_NULL)
        return false;
    return ap_value_number(value, &number) ? number == number : !comparison->figure;
}

bool ap_comparison_number(const struct ap_comparison *comparison, const struct ap_value *root, double *ret_number)
{
    double other = 1;
    if (comparison->other_path.data && !ap_value_number(ap_value_below(root, comparison->other_path), &other))
        return false;
    *ret_number = other * comparison->limit;
    return true;
}

enum ap_truth ap_comparison_test(const struct ap_comparison *comparison, const struct ap_value *root)
{
    double limit;
    const struct ap_value *value = ap_value_below(root, comparison->path);
    bool known = is_known(comparison, value);
    if (comparison->test == AP_TEST_is_known || comparison->test == AP_TEST_is_unknown)
        return known == (comparison->test == AP_TEST_is_known) ? AP_TRUE : AP_FALSE;
    if (!known || !ap_comparison_number(comparison, root, &limit))
        return AP_UNKNOWN;
    if (value->type != AP_VALUE_LIST)
        return value_holds(comparison, value, limit) ? AP_TRUE : AP_FALSE;
    for (const struct ap_value *element = ap_value_first(value); element; element = element->next)
        if (value_holds(comparison, element, limit))
            return AP_TRUE;
    return AP_FALSE;
}

enum ap_truth ap_expr_evaluate(const struct ap_expr *expr, const struct ap_value *root)
{
    enum ap_truth stack[AP_EXPR_MAX + 1] = { AP_TRUE };
    size_t used = 0, next = 0;
    for (size_t i = 0; i < expr->step_count; i++) {
        if (expr->steps[i] == AP_STEP_compare) {
            stack[used++] = ap_comparison_test(&expr->comparisons[next++], root);
            continue;
        }
        enum ap_truth right = stack[--used], left = stack[used - 1];
        bool both = expr->steps[i] == AP_STEP_and;
        stack[used - 1] = (left < right) == both ? left : right;
    }
    return stack[0];
}
