/* SPDX-License-Identifier: MIT
 * Conditions: comparisons joined by and, or and parentheses, kept in postfix order (shunting-yard), so that neither
 * reading nor judging recurses. */
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

/* ---- words ---- */

struct words {
    struct ap_text rest;
    struct ap_place place;
    struct ap_error *reterr;
};

/* What an error message shows of a word. */
#define SHOWN(word) (int)((word).bytes > 80 ? 80 : (word).bytes), (word).data

static void skip_space(struct words *words)
{
    while (words->rest.bytes && memchr(" \t\r\n", words->rest.data[0], 4)) {
        words->place.line += words->rest.data[0] == '\n';
        words->rest.data++;
        words->rest.bytes--;
    }
}

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '%';
}

/* Length of the next word: letters and digits, an operator, or one other character; 0 at the end. */
static size_t word_bytes(const struct words *words)
{
    struct ap_text rest = words->rest;
    if (!rest.bytes)
        return 0;
    if (memchr("<>!=", rest.data[0], 4))
        return rest.bytes > 1 && rest.data[1] == '=' ? 2 : 1;
    size_t bytes = 0;
    while (bytes < rest.bytes && is_word_char(rest.data[bytes]))
        bytes++;
    return bytes ? bytes : 1;
}

static struct ap_text peek(struct words *words)
{
    skip_space(words);
    return (struct ap_text){ words->rest.data, word_bytes(words) };
}

static struct ap_text take(struct words *words)
{
    struct ap_text word = peek(words);
    words->rest.data += word.bytes;
    words->rest.bytes -= word.bytes;
    return word;
}

static bool take_if(struct words *words, const char *expected)
{
    if (!ap_text_is(peek(words), expected))
        return false;
    (void)take(words);
    return true;
}

static enum ap_status unexpected(struct words *words, struct ap_text word, const char *expected)
{
    if (!word.bytes)
        return ap_fail_in_rubric(words->reterr, words->place, "the condition ends where %s was expected", expected);
    return ap_fail_in_rubric(words->reterr, words->place, "met \"%.*s\" where %s was expected", SHOWN(word), expected);
}

/* ---- numbers ---- */

static const struct {
    const char *name;
    enum ap_unit unit;
    double scale;
} units[] = {
    { "%", AP_UNIT_ratio, 0.01 },       { "ns", AP_UNIT_time, 1 },           { "us", AP_UNIT_time, 1e3 },
    { "ms", AP_UNIT_time, 1e6 },        { "s", AP_UNIT_time, 1e9 },          { "B", AP_UNIT_bytes, 1 },
    { "KiB", AP_UNIT_bytes, 1024 },     { "MiB", AP_UNIT_bytes, 1048576 },   { "GiB", AP_UNIT_bytes, 1073741824.0 },
    { "kB", AP_UNIT_bytes, 1e3 },       { "MB", AP_UNIT_bytes, 1e6 },        { "GB", AP_UNIT_bytes, 1e9 },
};

/* Digits with at most one point; the rest of the word is the unit. Never through the locale. */
static bool split_number(struct ap_text word, double *ret_number, struct ap_text *ret_unit)
{
    uint64_t digits = 0;
    double scale = 1;
    size_t at = 0, count = 0;
    bool point = false;
    for (; at < word.bytes; at++) {
        char c = word.data[at];
        if (c == '.' && !point && count) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9')
            break;
        if (++count > 15) /* what a double holds exactly */
            return false;
        digits = digits * 10 + (uint64_t)(c - '0');
        if (point)
            scale *= 10;
    }
    *ret_number = (double)digits / scale;
    *ret_unit = (struct ap_text){ word.data + at, word.bytes - at };
    return count > 0 && word.data[at - 1] != '.';
}

static const char *unit_examples(enum ap_unit unit)
{
    switch (unit) {
    case AP_UNIT_time: return "a time such as 10 us, 1.5 ms or 2 s";
    case AP_UNIT_bytes: return "a size such as 64 KiB or 1 GiB";
    case AP_UNIT_ratio: return "a share such as 30 % or 0.3";
    case AP_UNIT_count:
    case AP_UNIT_number: return "a number without unit";
    case AP_UNIT_bool: break;
    }
    return "\"is true\" or \"is false\"";
}

static enum ap_status wrong_unit(struct words *words, const struct ap_metric *metric, struct ap_text met)
{
    return ap_fail_in_rubric(words->reterr, words->place, "%s is a %s, so %s was expected, not \"%.*s\"", metric->path,
                             ap_unit_name(metric->unit), unit_examples(metric->unit), SHOWN(met));
}

static bool is_plain(enum ap_unit unit)
{
    return unit == AP_UNIT_count || unit == AP_UNIT_number || unit == AP_UNIT_ratio;
}

static enum ap_status apply_unit(struct words *words, const struct ap_metric *metric, struct ap_text name, double number,
                                 double *ret_limit)
{
    for (size_t i = 0; i < AP_COUNT_OF(units); i++)
        if (ap_text_is(name, units[i].name)) {
            if (units[i].unit != metric->unit)
                return wrong_unit(words, metric, name);
            /* 30 / 100 is the double nearest to 0.3, 30 * 0.01 is not */
            *ret_limit = units[i].scale < 1 ? number / 100 : number * units[i].scale;
            return AP_OK;
        }
    return wrong_unit(words, metric, name);
}

static bool is_unit(struct ap_text word)
{
    for (size_t i = 0; i < AP_COUNT_OF(units); i++)
        if (ap_text_is(word, units[i].name))
            return true;
    return false;
}

static enum ap_status parse_limit(struct words *words, struct ap_comparison *comparison)
{
    const struct ap_metric *metric = comparison->metric;
    struct ap_text word = take(words), unit;
    double number;
    if (!word.bytes)
        return unexpected(words, word, unit_examples(metric->unit));
    if (!split_number(word, &number, &unit))
        return unexpected(words, word, "a metric or a number of at most 15 digits");
    if (!unit.bytes && is_unit(peek(words)))
        unit = take(words);
    if (unit.bytes)
        return apply_unit(words, metric, unit, number, &comparison->limit);
    if (!is_plain(metric->unit))
        return wrong_unit(words, metric, word);
    comparison->limit = number;
    return AP_OK;
}

static enum ap_status parse_other(struct words *words, struct ap_comparison *comparison)
{
    const struct ap_metric *metric = comparison->metric, *other = comparison->other;
    bool both_plain = metric->unit != AP_UNIT_ratio && other->unit != AP_UNIT_ratio && is_plain(metric->unit) && is_plain(other->unit);
    if (metric->unit != other->unit && !both_plain)
        return ap_fail_in_rubric(words->reterr, words->place, "%s is a %s and %s is a %s: they cannot be compared",
                                 metric->path, ap_unit_name(metric->unit), other->path, ap_unit_name(other->unit));
    comparison->limit = 1;
    if (!take_if(words, "*"))
        return AP_OK;
    struct ap_text factor = take(words), unit;
    if (!factor.bytes || !split_number(factor, &comparison->limit, &unit) || unit.bytes)
        return unexpected(words, factor, "a factor such as 0.5");
    return AP_OK;
}

/* ---- comparisons ---- */

static enum ap_status parse_is(struct words *words, struct ap_comparison *comparison)
{
    static const struct {
        const char *word;
        enum ap_test test;
    } states[] = { { "known", AP_TEST_is_known },
                   { "unknown", AP_TEST_is_unknown },
                   { "true", AP_TEST_is_true },
                   { "false", AP_TEST_is_false } };
    struct ap_text word = take(words);
    for (size_t i = 0; i < AP_COUNT_OF(states); i++)
        if (ap_text_is(word, states[i].word)) {
            comparison->test = states[i].test;
            if (states[i].test < AP_TEST_is_true || comparison->metric->unit == AP_UNIT_bool)
                return AP_OK;
            return ap_fail_in_rubric(words->reterr, words->place, "%s is a %s and never true or false: compare it with %s",
                                     comparison->metric->path, ap_unit_name(comparison->metric->unit),
                                     unit_examples(comparison->metric->unit));
        }
    return unexpected(words, word, "known, unknown, true or false");
}

static enum ap_status parse_comparison(struct words *words, struct ap_comparison *comparison)
{
    static const char *const operators[] = { "<", "<=", ">", ">=", "=", "!=" };
    struct ap_text path = take(words);
    *comparison = (struct ap_comparison){ .metric = ap_metric_find(path) };
    if (!path.bytes || !is_word_char(path.data[0]))
        return unexpected(words, path, "a metric");
    if (!comparison->metric)
        return ap_fail_in_rubric(words->reterr, words->place,
                                 "no metric is called \"%.*s\": expected a path that src/model/metrics.def lists", SHOWN(path));
    if (take_if(words, "is"))
        return parse_is(words, comparison);
    struct ap_text word = take(words);
    for (size_t i = 0; i < AP_COUNT_OF(operators); i++)
        if (ap_text_is(word, operators[i])) {
            comparison->test = (enum ap_test)i;
            if (comparison->metric->unit == AP_UNIT_bool)
                return wrong_unit(words, comparison->metric, word);
            comparison->other = ap_metric_find(peek(words));
            if (!comparison->other)
                return parse_limit(words, comparison);
            (void)take(words);
            return parse_other(words, comparison);
        }
    return unexpected(words, word, "is, <, <=, >, >=, = or !=");
}

/* ---- joining ---- */

enum pending { PENDING_or, PENDING_and, PENDING_parenthesis };

struct joiner {
    struct words words;
    struct ap_expr *expr;
    enum pending pending[AP_EXPR_MAX_STEPS];
    size_t pending_count, depth;
};

static void add_step(struct joiner *joiner, enum ap_expr_step step)
{
    joiner->expr->steps[joiner->expr->step_count++] = (uint8_t)step;
}

/* Move what binds at least as tightly as @from into the expression, down to the last parenthesis. */
static void flush_pending(struct joiner *joiner, enum pending from)
{
    while (joiner->pending_count) {
        enum pending top = joiner->pending[joiner->pending_count - 1];
        if (top == PENDING_parenthesis || top < from)
            return;
        add_step(joiner, top == PENDING_and ? AP_STEP_and : AP_STEP_or);
        joiner->pending_count--;
    }
}

static enum ap_status add_comparison(struct joiner *joiner)
{
    struct ap_expr *expr = joiner->expr;
    while (take_if(&joiner->words, "(")) {
        if (++joiner->depth > AP_EXPR_MAX_DEPTH)
            return ap_fail_in_rubric(joiner->words.reterr, joiner->words.place,
                                     "more than %d parentheses in each other", AP_EXPR_MAX_DEPTH);
        joiner->pending[joiner->pending_count++] = PENDING_parenthesis;
    }
    if (expr->comparison_count == AP_EXPR_MAX_COMPARISONS)
        return ap_fail_in_rubric(joiner->words.reterr, joiner->words.place,
                                 "more than %d comparisons in one condition: make two rules", AP_EXPR_MAX_COMPARISONS);
    AP_TRY(parse_comparison(&joiner->words, &expr->comparisons[expr->comparison_count]));
    expr->comparison_count++;
    add_step(joiner, AP_STEP_compare);
    while (joiner->depth && take_if(&joiner->words, ")")) {
        flush_pending(joiner, PENDING_or);
        joiner->pending_count--;
        joiner->depth--;
    }
    return AP_OK;
}

enum ap_status ap_expr_parse(struct ap_text text, struct ap_place place, struct ap_expr *ret_expr,
                             struct ap_error *reterr)
{
    *ret_expr = (struct ap_expr){ .comparison_count = 0 };
    struct joiner joiner = { .words = { text, place, reterr }, .expr = ret_expr };
    /* a condition that ends too early ends in its last line, not behind it */
    while (joiner.words.rest.bytes && memchr(" \t\r\n", text.data[joiner.words.rest.bytes - 1], 4))
        joiner.words.rest.bytes--;
    for (;;) {
        AP_TRY(add_comparison(&joiner));
        struct ap_text word = take(&joiner.words);
        if (!word.bytes)
            break;
        bool both = ap_text_is(word, "and");
        if (!both && !ap_text_is(word, "or"))
            return unexpected(&joiner.words, word, joiner.depth ? "and, or or \")\"" : "and, or or the end of the condition");
        flush_pending(&joiner, both ? PENDING_and : PENDING_or);
        joiner.pending[joiner.pending_count++] = both ? PENDING_and : PENDING_or;
    }
    if (joiner.depth)
        return unexpected(&joiner.words, (struct ap_text){ "", 0 }, "\")\"");
    flush_pending(&joiner, PENDING_or);
    return AP_OK;
}

/* ---- judging ---- */

static enum ap_value_type type_of_unit(enum ap_unit unit)
{
    static const enum ap_value_type types[] = { AP_VALUE_COUNT, AP_VALUE_BYTES,  AP_VALUE_TIME_NS,
                                                AP_VALUE_RATIO, AP_VALUE_NUMBER, AP_VALUE_BOOL };
    return types[unit];
}

static bool limit_of(const struct ap_comparison *comparison, const struct ap_value *root, double *ret_limit)
{
    *ret_limit = comparison->limit;
    if (!comparison->other)
        return true;
    double other;
    if (!ap_value_number(ap_metric_value(root, comparison->other), &other))
        return false;
    *ret_limit = other * comparison->limit;
    return true;
}

/* The value with which a figure of this metric can be told; integers are rounded up. */
static struct ap_value value_of_unit(const struct ap_metric *metric, double number)
{
    const char *last = strrchr(metric->path, '.');
    struct ap_value value = { .type = type_of_unit(metric->unit), .key = ap_text_of(last ? last + 1 : metric->path) };
    if (metric->unit == AP_UNIT_count && number != (double)(int64_t)number)
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
    case AP_TEST_is_false:
        *ret_limit = value_of_unit(comparison->metric, comparison->test == AP_TEST_is_true);
        return true;
    default:
        if (!limit_of(comparison, root, &limit) || !(limit > -9e18 && limit < 9e18))
            return false;
        *ret_limit = value_of_unit(comparison->metric, limit);
        return true;
    }
}

static bool holds(enum ap_test test, double value, double limit)
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
    case AP_TEST_is_known:
    case AP_TEST_is_unknown: break;
    }
    return false;
}

enum ap_truth ap_comparison_test(const struct ap_comparison *comparison, const struct ap_value *root)
{
    double value, limit;
    bool known = ap_value_number(ap_metric_value(root, comparison->metric), &value) && value == value;
    if (comparison->test == AP_TEST_is_known || comparison->test == AP_TEST_is_unknown)
        return known == (comparison->test == AP_TEST_is_known) ? AP_TRUE : AP_FALSE;
    if (!known || !limit_of(comparison, root, &limit))
        return AP_UNKNOWN;
    return holds(comparison->test, value, limit) ? AP_TRUE : AP_FALSE;
}

enum ap_truth ap_expr_evaluate(const struct ap_expr *expr, const struct ap_value *root)
{
    enum ap_truth stack[AP_EXPR_MAX_STEPS + 1];
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
    return used ? stack[0] : AP_FALSE;
}
