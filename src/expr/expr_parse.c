/* SPDX-License-Identifier: MIT
 * Reading: comparisons joined by and, or and parentheses, put into postfix order (shunting-yard). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "expr.h"

#include "poison.h"

enum { STEP_parenthesis = AP_STEP_or + 1 };

struct parser {
    const struct ap_expr_language *language;
    const char *start, *at, *end;
    size_t open; /* parentheses */
    struct ap_expr_room *room;
    struct ap_expr *expr;
    struct ap_expr_mistake *mistake;
    uint8_t waiting[2 * AP_EXPR_MAX]; /* for their right side */
    size_t waiting_count;
};

/* What an error message shows of a word. */
#define SHOWN(word) (int)((word).bytes > 80 ? 80 : (word).bytes), (word).data

AP_PRINTF(2, 3) static bool fail(struct parser *parser, const char *format, ...)
{
    va_list arguments;
    parser->mistake->at = (size_t)(parser->at - parser->start);
    va_start(arguments, format);
    (void)vsnprintf(parser->mistake->message, sizeof(parser->mistake->message), format, arguments);
    va_end(arguments);
    return false;
}

/* ---- words ---- */

static bool is_letter(char c)
{
    return ap_is_letter(c) || c == '_';
}

static void skip_space(struct parser *parser)
{
    while (parser->at < parser->end && ap_is_space(*parser->at))
        parser->at++;
}

static bool is_next(const struct parser *parser, const char *signs)
{
    return parser->at < parser->end && memchr(signs, *parser->at, strlen(signs));
}

static bool has(const struct parser *parser, unsigned feature)
{
    return parser->language->features & feature;
}

#define STOPS_OF_NAME "=!<>~"
#define STOPS_OF_NUMBER "=!<>~()*"
#define STOPS_OF_TEXT ""

/* Letters, digits, "_" and "."; a bit for each byte. */
static const uint32_t of_paths[8] = { [1] = 0x03ff4000, [2] = 0x87fffffe, [3] = 0x07fffffe };

/* All up to a space, to one of @stops, or to the end of the parentheses that it stands in; its own belong to it. */
static struct ap_text word_up_to(struct parser *parser, const char *stops)
{
    skip_space(parser);
    const char *at = parser->at;
    for (size_t own = 0; at < parser->end; at++) {
        unsigned char byte = (unsigned char)*at;
        if (of_paths[byte >> 5] >> (byte & 31) & 1) /* as most are: no stop */
            continue;
        if (ap_is_space(*at) || (*at && strchr(stops, *at)))
            break;
        if (*at == ')' && !own && parser->open)
            break;
        own += *at == '(';
        own -= *at == ')' && own;
    }
    return (struct ap_text){ parser->at, (size_t)(at - parser->at) };
}

static bool unexpected(struct parser *parser, const char *expected)
{
    struct ap_text met = { parser->at, 0 };
    while (met.data + met.bytes < parser->end && !ap_is_space(met.data[met.bytes]))
        met.bytes++;
    if (!met.bytes)
        return fail(parser, "the condition ends where %s was expected", expected);
    return fail(parser, "met \"%.*s\" where %s was expected", SHOWN(met), expected);
}

/* AP_STEP_and, AP_STEP_or, or AP_STEP_compare where @word joins nothing. */
static unsigned joint_of(const struct parser *parser, struct ap_text word)
{
    return has(parser, AP_EXPR_AND) && ap_text_is(word, "and") ? AP_STEP_and
           : has(parser, AP_EXPR_OR) && ap_text_is(word, "or") ? AP_STEP_or
                                                               : AP_STEP_compare;
}

/* ---- names ---- */

void ap_expr_tell_unknown(const struct ap_expr_language *language, struct ap_text name, char *to, size_t capacity)
{
    struct ap_near_names near = { .count = 0 };
    char told[300];
    if (language->offer)
        language->offer(name, &near);
    ap_near_names_write(&near, told, sizeof(told));
    (void)snprintf(to, capacity, "no %s is called \"%.*s\"%s%s", language->noun, SHOWN(name), language->unknown, told);
}

static bool take_name(struct parser *parser, const char *stops, struct ap_expr_name *ret_name)
{
    char told[sizeof(parser->mistake->message)];
    struct ap_text word = word_up_to(parser, stops);
    *ret_name = (struct ap_expr_name){ .path = word };
    if (!word.bytes || !parser->language->find(word, ret_name)) {
        (void)snprintf(told, sizeof(told), "a %s", parser->language->noun);
        if (!word.bytes || joint_of(parser, word) != AP_STEP_compare)
            return unexpected(parser, told);
        ap_expr_tell_unknown(parser->language, word, told, sizeof(told));
        return fail(parser, "%s", told);
    }
    parser->at += word.bytes;
    return true;
}

/* ---- how to compare ---- */

static const struct {
    enum ap_test test;
    const char *text;
} spellings[] = {
#define AP_TEST(id, text) { AP_TEST_##id, text },
#define AP_TEST_ALSO(id, text) { AP_TEST_##id, text },
#include "test.def"
#undef AP_TEST
#undef AP_TEST_ALSO
};

const char *ap_test_name(enum ap_test test)
{
    return spellings[test].text; /* the first ones stand in the order of the enum */
}

/* Bytes of the text that are this spelling, a space of which stands for any number of them; 0 = it is not there. */
static size_t bytes_of(const struct parser *parser, const char *spelling)
{
    const char *at = parser->at;
    bool word = is_letter(*spelling);
    for (; *spelling; spelling++) {
        if (at == parser->end || (*spelling == ' ' ? !ap_is_space(*at) : *at != *spelling))
            return 0;
        for (at++; *spelling == ' ' && at < parser->end && ap_is_space(*at);)
            at++;
    }
    return word && at < parser->end && (is_letter(*at) || ap_is_digit(*at)) ? 0 : (size_t)(at - parser->at);
}

/* "<, <= or is known" */
static bool unexpected_test(struct parser *parser)
{
    char expected[200];
    uint32_t tests = parser->language->tests;
    for (size_t i = 0, used = 0; i < AP_TEST_COUNT_; i++) {
        const char *before = used == 0 ? "" : tests >> i == 1 ? " or " : ", ";
        if (tests >> i & 1)
            used += (size_t)snprintf(expected + used, sizeof(expected) - used, "%s%s", before, spellings[i].text);
    }
    return unexpected(parser, expected);
}

static bool take_test(struct parser *parser, enum ap_test *ret_test)
{
    size_t longest = 0;
    skip_space(parser);
    for (size_t i = 0; i < AP_COUNT_OF(spellings); i++) {
        size_t bytes = parser->language->tests >> spellings[i].test & 1 ? bytes_of(parser, spellings[i].text) : 0;
        *ret_test = bytes > longest ? spellings[i].test : *ret_test;
        longest = bytes > longest ? bytes : longest;
    }
    parser->at += longest;
    return longest ? true : unexpected_test(parser);
}

/* ---- what to compare with ---- */

#define NUMBER "a number of at most 15 digits"

static bool wrong_unit(struct parser *parser, const struct ap_expr_name *name, struct ap_text met)
{
    parser->at = met.data;
    return fail(parser, "%.*s is a %s, so %s was expected, not \"%.*s\"", SHOWN(name->path), ap_unit_name(name->unit),
                ap_unit_examples(name->unit), SHOWN(met));
}

/* With its sign and its unit, which may stand behind it where values are no texts. */
static bool take_quantity(struct parser *parser, const struct ap_expr_name *name, struct ap_comparison *comparison)
{
    double number;
    bool minus = is_next(parser, "-");
    comparison->is_change = has(parser, AP_EXPR_CHANGES) && is_next(parser, "+-");
    parser->at += minus || comparison->is_change;
    struct ap_text word = word_up_to(parser, STOPS_OF_NUMBER), unit = word;
    if (!ap_unit_take_number(&unit, &number))
        return unexpected(parser, word.bytes ? NUMBER : ap_unit_examples(name->unit));
    parser->at += word.bytes;
    if (!unit.bytes && !has(parser, AP_EXPR_TEXTS)) {
        struct ap_text behind = word_up_to(parser, STOPS_OF_NUMBER);
        unit = ap_unit_is_name(behind) ? behind : unit;
        parser->at += unit.bytes;
    }
    comparison->in_percent = comparison->is_change && ap_text_is(unit, "%");
    enum ap_unit wanted = comparison->in_percent ? AP_UNIT_ratio : name->unit;
    bool is_plain_time = !unit.bytes && wanted == AP_UNIT_time;
    if ((!unit.bytes && parser->language->with_unit >> wanted & 1) ||
        !ap_unit_apply(wanted, is_plain_time ? AP_TEXT("us") : unit, &number))
        return wrong_unit(parser, name, unit.bytes ? unit : word);
    comparison->limit = minus ? -number : number;
    comparison->has_limit = true;
    return true;
}

static bool is_plain(enum ap_unit unit)
{
    return unit == AP_UNIT_count || unit == AP_UNIT_number;
}

/* "gpu.busy_us * 0.5" */
static bool take_other(struct parser *parser, const struct ap_expr_name *name, struct ap_comparison *comparison)
{
    struct ap_expr_name other;
    if (!take_name(parser, STOPS_OF_NUMBER, &other))
        return false;
    if (name->unit != other.unit && !(is_plain(name->unit) && is_plain(other.unit)))
        return fail(parser, "%.*s is a %s and %.*s is a %s: they cannot be compared", SHOWN(name->path),
                    ap_unit_name(name->unit), SHOWN(other.path), ap_unit_name(other.unit));
    comparison->other_path = other.path;
    comparison->other = other.figure;
    comparison->has_limit = true;
    comparison->limit = 1;
    skip_space(parser);
    if (!is_next(parser, "*"))
        return true;
    parser->at++;
    struct ap_text word = word_up_to(parser, STOPS_OF_NUMBER), rest = word;
    if (!ap_unit_take_number(&rest, &comparison->limit) || rest.bytes)
        return unexpected(parser, "a factor such as 0.5");
    parser->at += word.bytes;
    return true;
}

static bool take_number(struct parser *parser, const struct ap_expr_name *name, struct ap_comparison *comparison)
{
    skip_space(parser);
    bool is_name = has(parser, AP_EXPR_FIGURES) && parser->at < parser->end && is_letter(*parser->at);
    return is_name ? take_other(parser, name, comparison) : take_quantity(parser, name, comparison);
}

static bool take_quoted(struct parser *parser, struct ap_comparison *comparison)
{
    const char *start = parser->at + 1, *end = memchr(start, *parser->at, (size_t)(parser->end - start));
    if (!end)
        return fail(parser, "the quotation mark is never closed");
    if (AP_TESTS_OF_ORDER >> comparison->test & 1)
        return unexpected(parser, NUMBER);
    comparison->text = (struct ap_text){ start, (size_t)(end - start) };
    parser->at = end + 1;
    return true;
}

/* A text, which may be a number as well. */
static bool take_text(struct parser *parser, const struct ap_expr_name *name, struct ap_comparison *comparison)
{
    struct ap_text word = word_up_to(parser, STOPS_OF_TEXT);
    if (is_next(parser, "'\""))
        return take_quoted(parser, comparison);
    if (!word.bytes)
        return unexpected(parser, "a value (one with spaces in quotation marks)");
    comparison->text = word;
    if (!take_quantity(parser, name, comparison) && AP_TESTS_OF_ORDER >> comparison->test & 1)
        return false;
    comparison->has_limit = comparison->has_limit && parser->at == word.data + word.bytes;
    if (ap_text_is(word, "null"))
        comparison->test = comparison->test == AP_TEST_equal ? AP_TEST_is_unknown : AP_TEST_is_known;
    parser->at = word.data + word.bytes;
    return true;
}

/* "GEMM|convolution layout", up to what joins it with the next comparison. */
static bool take_choices(struct parser *parser, struct ap_comparison *comparison)
{
    struct ap_text word = word_up_to(parser, STOPS_OF_TEXT), all = { parser->at, 0 }, choice;
    for (; word.bytes && joint_of(parser, word) == AP_STEP_compare; word = word_up_to(parser, STOPS_OF_TEXT)) {
        parser->at += word.bytes;
        all.bytes = (size_t)(parser->at - all.data);
    }
    comparison->text = all;
    while (ap_text_next_part(&all, '|', &choice))
        if (!choice.bytes) {
            parser->at = choice.data;
            return unexpected(parser, "a text");
        }
    return true;
}

static bool take_comparison(struct parser *parser, struct ap_comparison *comparison)
{
    struct ap_expr_name name;
    *comparison = (struct ap_comparison){ .test = AP_TEST_equal };
    if (!take_name(parser, STOPS_OF_NAME, &name))
        return false;
    comparison->path = name.path;
    comparison->figure = name.figure;
    skip_space(parser);
    struct ap_text test = { parser->at, 0 };
    if (!take_test(parser, &comparison->test))
        return false;
    test.bytes = (size_t)(parser->at - test.data);
    bool is_state = AP_TESTS_OF_STATE >> comparison->test & 1, is_bool = name.unit == AP_UNIT_bool;
    if (is_state && (is_bool || comparison->test < AP_TEST_is_true))
        return true;
    if (is_state || is_bool)
        return wrong_unit(parser, &name, test);
    if (comparison->test == AP_TEST_is_one_of)
        return take_choices(parser, comparison);
    return (has(parser, AP_EXPR_TEXTS) ? take_text : take_number)(parser, &name, comparison);
}

/* ---- joining ---- */

/* What binds at least as tightly as @step, down to the last parenthesis, has its right side. */
static void close_down_to(struct parser *parser, unsigned step)
{
    for (; parser->waiting_count && parser->waiting[parser->waiting_count - 1] <= step; parser->waiting_count--)
        parser->room->steps[parser->expr->step_count++] = parser->waiting[parser->waiting_count - 1];
}

static bool take_opened(struct parser *parser)
{
    for (skip_space(parser); has(parser, AP_EXPR_OR) && is_next(parser, "("); skip_space(parser)) {
        if (parser->open == parser->language->most)
            return fail(parser, "more than %zu parentheses in each other", parser->language->most);
        parser->waiting[parser->waiting_count++] = STEP_parenthesis;
        parser->open++;
        parser->at++;
    }
    return true;
}

static void take_closed(struct parser *parser)
{
    for (skip_space(parser); parser->open && is_next(parser, ")"); skip_space(parser)) {
        close_down_to(parser, AP_STEP_or);
        parser->waiting_count--;
        parser->open--;
        parser->at++;
    }
}

static bool take_joint(struct parser *parser)
{
    struct ap_text word = word_up_to(parser, STOPS_OF_NUMBER);
    unsigned step = joint_of(parser, word);
    if (step == AP_STEP_compare)
        return unexpected(parser, parser->open               ? "\"and\", \"or\" or \")\""
                                  : has(parser, AP_EXPR_OR)  ? "\"and\", \"or\" or the end of the condition"
                                  : has(parser, AP_EXPR_AND) ? "\"and\" or the end of the condition"
                                                             : "the end of the condition");
    close_down_to(parser, step);
    parser->waiting[parser->waiting_count++] = (uint8_t)step;
    parser->at += word.bytes;
    return true;
}

bool ap_expr_parse(struct ap_text text, const struct ap_expr_language *language, struct ap_expr_room *room,
                   struct ap_expr *ret_expr, struct ap_expr_mistake *ret_mistake)
{
    struct parser parser = { .language = language, .start = text.data, .at = text.data, .room = room, .expr = ret_expr };
    *ret_expr = (struct ap_expr){ .comparisons = room->comparisons, .steps = room->steps };
    parser.mistake = ret_mistake;
    /* what ends too early ends in its last line, not behind it */
    while (text.bytes && ap_is_space(text.data[text.bytes - 1]))
        text.bytes--;
    parser.end = text.data + text.bytes;
    do {
        if (!take_opened(&parser))
            return false;
        if (ret_expr->comparison_count == language->most)
            return fail(&parser, "more than %zu comparisons in one condition", language->most);
        if (!take_comparison(&parser, &room->comparisons[ret_expr->comparison_count]))
            return false;
        ret_expr->comparison_count++;
        room->steps[ret_expr->step_count++] = AP_STEP_compare;
        take_closed(&parser);
    } while ((parser.open || parser.at < parser.end) && take_joint(&parser));
    close_down_to(&parser, AP_STEP_or);
    return parser.at == parser.end && !parser.open;
}

bool ap_expr_keep(struct ap_arena *arena, struct ap_expr *expr)
{
    size_t bytes = expr->comparison_count * sizeof(*expr->comparisons);
    struct ap_comparison *comparisons = ap_arena_alloc(arena, bytes + expr->step_count);
    if (!comparisons)
        return false;
    uint8_t *steps = (uint8_t *)comparisons + bytes;
    memcpy(comparisons, expr->comparisons, bytes);
    memcpy(steps, expr->steps, expr->step_count);
    expr->comparisons = comparisons;
    expr->steps = steps;
    return true;
}
