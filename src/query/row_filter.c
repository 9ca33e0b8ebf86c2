/* SPDX-License-Identifier: MIT */
#include "row_filter.h"

#include <string.h>

#include "quantity.h"

#include "poison.h"

/* ---- reading ---- */

struct words {
    const char *text; /* all of it, for messages */
    const char *at;
    size_t open; /* parentheses */
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

/* All up to a space, or to the end of the parentheses that it stands in: those of its own belong to it. */
static void pass_value(struct words *words)
{
    for (size_t own = 0; *words->at && !is_space(*words->at); words->at++) {
        if (*words->at == ')' && !own && words->open)
            return;
        own += *words->at == '(';
        own -= *words->at == ')' && own;
    }
}

/* A value in quotation marks, or without spaces. */
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
    pass_value(words);
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

/* ---- "and", "or" and parentheses ---- */

/* What waits for its right side. */
struct waiting {
    enum { AND, OR, PARENTHESIS } signs[2 * AP_FILTER_MAX_TERMS];
    size_t count;
};

static void close_last(struct ap_row_filter *filter, struct waiting *waiting)
{
    filter->steps[filter->step_count++] = waiting->signs[--waiting->count] == AND ? AP_FILTER_and : AP_FILTER_or;
}

static bool waits(const struct waiting *waiting, bool for_or)
{
    return waiting->count && (waiting->signs[waiting->count - 1] == AND || (for_or && waiting->signs[waiting->count - 1] == OR));
}

static enum ap_status take_opened(struct words *words, struct waiting *waiting, struct ap_error *reterr)
{
    for (skip_spaces(words); *words->at == '('; skip_spaces(words)) {
        if (words->open == AP_FILTER_MAX_TERMS)
            return ap_fail(reterr, AP_ERROR_USAGE, "--where has more than %d parentheses in each other", AP_FILTER_MAX_TERMS);
        waiting->signs[waiting->count++] = PARENTHESIS;
        words->open++;
        words->at++;
    }
    return AP_OK;
}

static void take_closed(struct words *words, struct ap_row_filter *filter, struct waiting *waiting)
{
    for (skip_spaces(words); *words->at == ')' && words->open; skip_spaces(words)) {
        while (waits(waiting, true))
            close_last(filter, waiting);
        waiting->count--;
        words->open--;
        words->at++;
    }
}

static enum ap_status take_connective(struct words *words, struct ap_row_filter *filter, struct waiting *waiting, struct ap_error *reterr)
{
    struct words before = *words;
    struct ap_text word = take_word(words);
    for (size_t i = 0; i < word.bytes; i++)
        if (word.data[i] == '(')
            word.bytes = i;
    bool is_or = ap_text_is(word, "or");
    if (!is_or && !ap_text_is(word, "and"))
        return fail(&before, before.open ? "\"and\", \"or\" or ')' was expected" : "\"and\" or \"or\" was expected", reterr);
    words->at = word.data + word.bytes;
    while (waits(waiting, is_or))
        close_last(filter, waiting);
    waiting->signs[waiting->count++] = is_or ? OR : AND;
    return AP_OK;
}

enum ap_status ap_row_filter_parse(const char *where, struct ap_row_filter *ret_filter, struct ap_error *reterr)
{
    struct words words = { where, where, 0 };
    struct waiting waiting = { .count = 0 };
    memset(ret_filter, 0, sizeof(*ret_filter));
    if (!where)
        return AP_OK;
    for (;;) {
        if (ret_filter->count == AP_FILTER_MAX_TERMS)
            return ap_fail(reterr, AP_ERROR_USAGE, "--where has more than %d comparisons", AP_FILTER_MAX_TERMS);
        AP_TRY(take_opened(&words, &waiting, reterr));
        AP_TRY(take_term(&words, &ret_filter->terms[ret_filter->count++], reterr));
        ret_filter->steps[ret_filter->step_count++] = AP_FILTER_compare;
        take_closed(&words, ret_filter, &waiting);
        if (!*words.at)
            break;
        AP_TRY(take_connective(&words, ret_filter, &waiting, reterr));
    }
    if (words.open)
        return fail(&words, "')' was expected", reterr);
    while (waiting.count)
        close_last(ret_filter, &waiting);
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
    bool held[AP_FILTER_MAX_TERMS + 1] = { true };
    size_t count = 0, term = 0;
    for (size_t i = 0; i < filter->step_count; i++) {
        if (filter->steps[i] == AP_FILTER_compare) {
            held[count++] = holds(&filter->terms[term++], row);
            continue;
        }
        bool right = held[--count];
        held[count - 1] = filter->steps[i] == AP_FILTER_and ? held[count - 1] && right : held[count - 1] || right;
    }
    return held[0];
}
