/* SPDX-License-Identifier: MIT
 * The two languages of a rule: its conditions, and what the rows of a list have to say. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rule.h"

#include "poison.h"

#define FILE_NAME_SHOWN 300

enum ap_status ap_fail_in_rubric(struct ap_error *reterr, struct ap_place place, const char *format, ...)
{
    char message[440];
    size_t name_bytes = strlen(place.file);
    const char *name = name_bytes > FILE_NAME_SHOWN ? place.file + (name_bytes - FILE_NAME_SHOWN) : place.file;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    return ap_fail(reterr, AP_ERROR_USAGE, "%s:%d: %s", name, place.line, message);
}

/* ---- names ---- */

static bool find_figure(struct ap_text path, struct ap_expr_name *ret_name)
{
    const struct ap_figure_info *figure = ap_figure_find(path);
    if (figure)
        *ret_name = (struct ap_expr_name){ ap_text_of(ap_figure_text(figure->path)), figure->unit, figure };
    return figure;
}

static void offer_figures(struct ap_text wanted, struct ap_near_names *near)
{
    for (size_t i = 0; i < ap_figure_count; i++)
        if (ap_figures[i].words)
            ap_near_names_offer(near, wanted, ap_text_of(ap_figure_text(ap_figures[i].path)));
}

static bool find_key(struct ap_text path, struct ap_expr_name *ret_name)
{
    enum ap_unit unit = ap_catalogue_key_unit(path);
    ret_name->unit = unit == AP_UNIT_bool ? AP_UNIT_number : unit; /* a yes or no is compared as the text that it is */
    return ap_text_is_path(path);
}

/* ---- the languages ---- */

static const struct ap_expr_language when = {
    .noun = "figure",
    .unknown = ": expected a path that src/catalogue lets rules name",
    .features = AP_EXPR_AND | AP_EXPR_OR | AP_EXPR_FIGURES,
    .with_unit = AP_UNIT_BIT(time) | AP_UNIT_BIT(bytes),
    .tests = AP_TESTS_OF_ORDER | AP_TESTS_OF_EQUALITY | AP_TESTS_OF_STATE,
    .most = 16,
    .find = find_figure,
    .offer = offer_figures,
};

static const struct ap_expr_language where = {
    .noun = "member of a row",
    .unknown = ": expected small letters, digits, \"_\" and \".\"",
    .features = AP_EXPR_AND,
    .tests = AP_TEST_BIT(is_one_of) | AP_TEST_BIT(less) | AP_TEST_BIT(greater),
    .most = 3,
    .find = find_key,
};

static enum ap_status parse(struct ap_text text, const struct ap_expr_language *language, struct ap_place place,
                            struct ap_arena *arena, struct ap_expr *ret_expr, struct ap_error *reterr)
{
    struct ap_expr_room room;
    struct ap_expr_mistake mistake;
    if (!ap_expr_parse(text, language, &room, ret_expr, &mistake)) {
        for (size_t i = 0; i < mistake.at; i++)
            place.line += text.data[i] == '\n';
        return ap_fail_in_rubric(reterr, place, "%s", mistake.message);
    }
    return ap_expr_keep(arena, ret_expr) ? AP_OK : ap_fail_memory(arena->gate, reterr);
}

enum ap_status ap_when_parse(struct ap_text text, struct ap_place place, struct ap_arena *arena, struct ap_expr *ret_when,
                             struct ap_error *reterr)
{
    return parse(text, &when, place, arena, ret_when, reterr);
}

enum ap_status ap_where_parse(struct ap_text text, struct ap_place place, struct ap_arena *arena, struct ap_expr *ret_where,
                              struct ap_error *reterr)
{
    return parse(text, &where, place, arena, ret_where, reterr);
}

enum ap_status ap_fail_unknown_figure(struct ap_error *reterr, struct ap_place place, struct ap_text path)
{
    char told[400];
    ap_expr_tell_unknown(&when, path, told, sizeof(told));
    return ap_fail_in_rubric(reterr, place, "%s", told);
}

/* ---- limits ---- */

static enum ap_value_type type_of_unit(enum ap_unit unit)
{
    static const enum ap_value_type types[] = { AP_VALUE_COUNT, AP_VALUE_BYTES,  AP_VALUE_TIME_NS,
                                                AP_VALUE_RATIO, AP_VALUE_NUMBER, AP_VALUE_BOOL };
    return types[unit];
}

/* The value with which this figure can be told; integers are rounded up. */
static struct ap_value value_of_unit(const struct ap_figure_info *figure, double number)
{
    const char *path = ap_figure_text(figure->path), *last = strrchr(path, '.');
    struct ap_value value = { .type = type_of_unit(figure->unit), .key = ap_text_of(last ? last + 1 : path) };
    if (figure->unit == AP_UNIT_count && number != (double)(int64_t)number)
        value.type = AP_VALUE_NUMBER; /* more than 1.5 of something */
    if (value.type == AP_VALUE_RATIO || value.type == AP_VALUE_NUMBER)
        value.as.number = number;
    else
        value.as.integer = (int64_t)number;
    return value;
}

bool ap_comparison_limit(const struct ap_comparison *comparison, const struct ap_value *root, struct ap_value *ret_limit)
{
    double limit;
    switch (comparison->test) {
    case AP_TEST_is_known:
    case AP_TEST_is_unknown: return false;
    case AP_TEST_is_true:
    case AP_TEST_is_false: *ret_limit = value_of_unit(comparison->figure, comparison->test == AP_TEST_is_true); return true;
    default:
        if (!ap_comparison_number(comparison, root, &limit) || !(limit > -9e18 && limit < 9e18))
            return false;
        *ret_limit = value_of_unit(comparison->figure, limit);
        return true;
    }
}
