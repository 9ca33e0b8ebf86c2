/* SPDX-License-Identifier: MIT */
#include "row_filter.h"

#include <string.h>

#include "quantity.h"

#include "poison.h"

/* ---- reading ---- */

struct words {
    const char *text; /* all of it, for messages */
    const char *at;
};

static enum ap_status fail(const struct words *words, const char *expected, struct ap_error *reterr)
{
    return ap_fail(reterr, AP_ERROR_USAGE, "--where '%.200s': %s%s%.60s", words->text, expected, *words->at ? " at: " : " at its end",
                   words->at);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_spaces(struct words *words)
{
    while (is_space(*words->at))
        words->at++;
}

static bool is_operator_sign(char c)
{
    return c && strchr("=!<>~", c);
}

/* A run of characters that are neither spaces nor signs. */
static struct ap_text take_word(struct words *words)
{
    const char *start = words->at;
    while (*words->at && !is_space(*words->at) && !is_operator_sign(*words->at))
        words->at++;
    return (struct ap_text){ start, (size_t)(words->at - start) };
}

static const struct {
    const char *sign;
    enum ap_filter_op op;
} operators[] = {
    /* the longer ones first */
    { "==", AP_FILTER_equal },      { "!=", AP_FILTER_not_equal }, { "<=", AP_FILTER_less_equal },
    { ">=", AP_FILTER_greater_equal }, { "=", AP_FILTER_equal },   { "<", AP_FILTER_less },
    { ">", AP_FILTER_greater },     { "~", AP_FILTER_contains },
};

static bool take_operator(struct words *words, enum ap_filter_op *ret_op)
{
    for (size_t i = 0; i < AP_COUNT_OF(operators); i++)
        if (strncmp(words->at, operators[i].sign, strlen(operators[i].sign)) == 0) {
            words->at += strlen(operators[i].sign);
            *ret_op = operators[i].op;
            return true;
        }
    struct words after = *words;
    struct ap_text word = take_word(&after);
    if (!ap_text_is(word, "contains") && !ap_text_is(word, "like"))
        return false;
    *ret_op = ap_text_is(word, "like") ? AP_FILTER_like : AP_FILTER_contains;
    *words = after;
    return true;
}

/* A value in quotation marks, or all up to a space; a unit may stand behind a space: "5 %". */
static bool take_value(struct words *words, struct ap_filter_term *term)
{
    char quote = *words->at;
    const char *start = words->at;
    if (quote == '\'' || quote == '"') {
        const char *end = strchr(start + 1, quote);
        if (!end)
            return false;
        term->value = (struct ap_text){ start + 1, (size_t)(end - start - 1) };
        term->quoted = true;
        words->at = end + 1;
        return true;
    }
    while (*words->at && !is_space(*words->at))
        words->at++;
    term->value = (struct ap_text){ start, (size_t)(words->at - start) };
    return term->value.bytes > 0;
}

/* The number that the value is, in the unit of the model. A plain one has the unit that the report writes. */
static bool read_number(struct ap_filter_term *term)
{
    struct ap_text rest = term->value, field = ap_text_of(term->field);
    bool minus = rest.bytes && rest.data[0] == '-';
    rest.data += minus;
    rest.bytes -= minus;
    if (!ap_quantity_take_number(&rest, &term->number))
        return false;
    enum ap_metric_unit unit = ap_metric_name_unit(field);
    if (unit == AP_METRIC_TIME && !rest.bytes)
        rest = AP_TEXT("us");
    term->number = minus ? -term->number : term->number;
    return !ap_quantity_apply_unit(unit, rest, &term->number);
}

static bool needs_number(enum ap_filter_op op)
{
    return op >= AP_FILTER_less && op <= AP_FILTER_greater_equal;
}

static enum ap_status take_term(struct words *words, struct ap_filter_term *term, struct ap_error *reterr)
{
    struct words before = *words;
    struct ap_text field = take_word(words);
    if (!field.bytes || field.bytes >= sizeof(term->field))
        return fail(&before, "the name of a column was expected", reterr);
    memcpy(term->field, field.data, field.bytes);
    skip_spaces(words);
    if (!take_operator(words, &term->op))
        return fail(words, "=, !=, <, <=, >, >=, contains or like was expected", reterr);
    skip_spaces(words);
    before = *words;
    if (!take_value(words, term))
        return fail(&before, "a value was expected, one with spaces in quotation marks", reterr);
    term->has_number = !term->quoted && read_number(term);
    if (needs_number(term->op) && !term->has_number)
        return fail(&before, "a number of at most 15 digits was expected, such as 12, 150us, 2ms, 1.5MiB or 5%", reterr);
    return AP_OK;
}

enum ap_status ap_row_filter_parse(const char *where, struct ap_row_filter *ret_filter, struct ap_error *reterr)
{
    struct words words = { where, where };
    memset(ret_filter, 0, sizeof(*ret_filter));
    if (!where)
        return AP_OK;
    for (bool more = true; more;) {
        if (ret_filter->count == AP_FILTER_MAX_TERMS)
            return ap_fail(reterr, AP_ERROR_USAGE, "--where has more than %d comparisons", AP_FILTER_MAX_TERMS);
        struct ap_filter_term *term = &ret_filter->terms[ret_filter->count++];
        skip_spaces(&words);
        if (ret_filter->count > 1) {
            struct words before = words;
            struct ap_text word = take_word(&words);
            term->begins_group = ap_text_is(word, "or");
            if (!term->begins_group && !ap_text_is(word, "and"))
                return fail(&before, "\"and\" or \"or\" was expected", reterr);
            skip_spaces(&words);
        }
        AP_TRY(take_term(&words, term, reterr));
        skip_spaces(&words);
        more = *words.at != '\0';
    }
    return AP_OK;
}

/* ---- judging ---- */

static char folded(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool contains(struct ap_text text, struct ap_text part)
{
    for (size_t at = 0; at + part.bytes <= text.bytes; at++) {
        size_t i = 0;
        while (i < part.bytes && folded(text.data[at + i]) == folded(part.data[i]))
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

static bool text_holds(const struct ap_filter_term *term, struct ap_text text)
{
    switch (term->op) {
    case AP_FILTER_equal: return ap_text_equal(text, term->value);
    case AP_FILTER_not_equal: return !ap_text_equal(text, term->value);
    case AP_FILTER_contains: return contains(text, term->value);
    case AP_FILTER_like: return is_like(text, term->value);
    case AP_FILTER_less:
    case AP_FILTER_less_equal:
    case AP_FILTER_greater:
    case AP_FILTER_greater_equal: break;
    }
    return false;
}

static bool number_holds(const struct ap_filter_term *term, double number)
{
    switch (term->op) {
    case AP_FILTER_equal: return number == term->number;
    case AP_FILTER_not_equal: return number != term->number;
    case AP_FILTER_less: return number < term->number;
    case AP_FILTER_less_equal: return number <= term->number;
    case AP_FILTER_greater: return number > term->number;
    case AP_FILTER_greater_equal: return number >= term->number;
    case AP_FILTER_contains:
    case AP_FILTER_like: break;
    }
    return false;
}

static bool value_holds(const struct ap_filter_term *term, const struct ap_value *value)
{
    double number;
    if (value->type == AP_VALUE_TEXT || value->type == AP_VALUE_LITERAL)
        return text_holds(term, value->as.text);
    if (value->type == AP_VALUE_BOOL)
        return text_holds(term, ap_text_of(value->as.integer ? "true" : "false"));
    if (!ap_value_number(value, &number))
        return false;
    return term->has_number ? number_holds(term, number) : term->op == AP_FILTER_not_equal;
}

static bool holds(const struct ap_filter_term *term, const struct ap_value *row)
{
    const struct ap_value *value = ap_value_at(row, term->field);
    bool unknown = !value || value->type == AP_VALUE_NULL;
    if (!term->quoted && ap_text_is(term->value, "null"))
        return unknown == (term->op == AP_FILTER_equal);
    if (unknown)
        return false;
    if (value->type != AP_VALUE_LIST)
        return value_holds(term, value);
    for (const struct ap_value *element = ap_value_first(value); element; element = element->next)
        if (value_holds(term, element))
            return true;
    return false;
}

bool ap_row_filter_keeps(const struct ap_row_filter *filter, const struct ap_value *row)
{
    bool kept = true;
    for (size_t i = 0; i < filter->count; i++) {
        if (filter->terms[i].begins_group) {
            if (kept)
                return true;
            kept = true;
        }
        kept = kept && holds(&filter->terms[i], row);
    }
    return kept;
}
