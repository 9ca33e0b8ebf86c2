/* SPDX-License-Identifier: MIT */
#include "change.h"

#include <stdio.h>
#include <string.h>

#include "poison.h"

enum number_kind { NUMBER_NONE, NUMBER_FACTOR, NUMBER_COUNT, NUMBER_TIME };

static const struct {
    const char *word, *limit;
    enum number_kind number;
} verbs[] = {
#define AP_CHANGE_VERB(id, number, limit) { #id, limit, NUMBER_##number },
#include "change_verb.def"
#undef AP_CHANGE_VERB
};

static const char *const columns[] = {
#define AP_CHANGE_COLUMN(id) #id,
#include "change_column.def"
#undef AP_CHANGE_COLUMN
};

#define VERBS \
    "speedup K, gone, hostfree, less TIME, async, pinned, overlapped, nowait, bandwidth K, fused N, graph, workers N, \
batch times K"

const char *ap_change_verb_limit(enum ap_change_verb verb)
{
    return verbs[verb].limit;
}

const char *ap_change_column_name(enum ap_change_column column)
{
    return columns[column];
}

/* ---- the condition ---- */

static size_t column_named(struct ap_text name)
{
    size_t i = 0;
    while (i < AP_CHANGE_COLUMN_COUNT_ && !ap_text_is(name, columns[i]))
        i++;
    return i;
}

static bool find_column(struct ap_text path, struct ap_expr_name *ret_name)
{
    size_t column = column_named(path);
    ret_name->unit = column == AP_CHANGE_COLUMN_dur_us ? AP_UNIT_time : AP_UNIT_number;
    return column < AP_CHANGE_COLUMN_COUNT_;
}

static void offer_columns(struct ap_text wanted, struct ap_near_names *near)
{
    for (size_t i = 0; i < AP_CHANGE_COLUMN_COUNT_; i++)
        ap_near_names_offer(near, wanted, ap_text_of(columns[i]));
}

static const struct ap_expr_language language = {
    .noun = "column",
    .unknown = "; there are"
#define AP_CHANGE_COLUMN(id) " " #id
#include "change_column.def"
#undef AP_CHANGE_COLUMN
    ,
    .features = AP_EXPR_AND | AP_EXPR_OR | AP_EXPR_TEXTS,
    .tests = AP_TESTS_OF_ORDER | AP_TESTS_OF_EQUALITY | AP_TEST_BIT(contains) | AP_TEST_BIT(like) | AP_TEST_BIT(is_one_of),
    .most = AP_EXPR_MAX,
    .find = find_column,
    .offer = offer_columns,
};

/* ---- the verb ---- */

static bool fail(struct ap_expr_mistake *mistake, size_t at, const char *expected)
{
    mistake->at = at;
    (void)snprintf(mistake->message, sizeof(mistake->message), "%s", expected);
    return false;
}

/* Where the last word that is a verb begins; the verb in *ret_verb. SIZE_MAX = there is none among the last three words. */
static size_t find_verb(struct ap_text text, enum ap_change_verb *ret_verb, size_t *ret_behind)
{
    size_t end = text.bytes;
    for (int words = 0; words < 3 && end; words++) {
        while (end && ap_is_space(text.data[end - 1]))
            end--;
        size_t start = end;
        while (start && !ap_is_space(text.data[start - 1]))
            start--;
        for (size_t i = 0; i < AP_CHANGE_VERB_COUNT_; i++)
            if (ap_text_is((struct ap_text){ text.data + start, end - start }, verbs[i].word)) {
                *ret_verb = (enum ap_change_verb)i;
                *ret_behind = end;
                return start;
            }
        end = start;
    }
    return SIZE_MAX;
}

/* A factor is kept in thousandths. */
static bool parse_number(struct ap_text rest, enum number_kind kind, int64_t *ret_number)
{
    double number;
    rest = ap_text_trim(rest);
    if (kind == NUMBER_NONE || !ap_unit_take_number(&rest, &number))
        return kind == NUMBER_NONE && !rest.bytes;
    rest = ap_text_trim(rest);
    if (kind == NUMBER_TIME && (!rest.bytes || !ap_unit_apply(AP_UNIT_time, rest, &number)))
        return false;
    if (kind != NUMBER_TIME && rest.bytes)
        return false;
    double scaled = kind == NUMBER_FACTOR ? number * 1000 : number;
    double least = kind == NUMBER_TIME ? 0 : 1, most = kind == NUMBER_TIME ? 9e15 : 1e9;
    if (scaled < least || scaled > most || (kind == NUMBER_COUNT && scaled != (double)(int64_t)scaled))
        return false;
    *ret_number = (int64_t)(scaled + 0.5);
    return true;
}

static const char *const expected_number[] = {
    [NUMBER_NONE] = "nothing stands behind this verb",
    [NUMBER_FACTOR] = "a factor of 0.001 or more was expected behind the verb, as in \"speedup 2\"",
    [NUMBER_COUNT] = "a whole number of 1 or more was expected behind the verb, as in \"workers 4\"",
    [NUMBER_TIME] = "a time with its unit was expected behind the verb, as in \"less 12ms\"",
};

bool ap_change_parse(struct ap_text text, struct ap_change *ret_change, struct ap_expr_mistake *ret_mistake)
{
    size_t behind = 0, at;
    *ret_change = (struct ap_change){ .text = ap_text_trim(text), .verb = AP_CHANGE_gone };
    at = find_verb(text, &ret_change->verb, &behind);
    if (at == SIZE_MAX)
        return fail(ret_mistake, text.bytes, "a condition and what is to change were expected, one of: " VERBS);
    enum number_kind kind = verbs[ret_change->verb].number;
    if (!parse_number((struct ap_text){ text.data + behind, text.bytes - behind }, kind, &ret_change->number))
        return fail(ret_mistake, behind, expected_number[kind]);
    struct ap_text condition = ap_text_trim((struct ap_text){ text.data, at });
    if (ret_change->verb == AP_CHANGE_times) {
        if (!ap_text_is(condition, "batch"))
            return fail(ret_mistake, 0, "the word \"batch\" was expected before this verb, as in: batch times 2");
        condition = AP_TEXT("loader like *"); /* of the host, what grows with it */
    }
    if (!condition.bytes)
        return fail(ret_mistake, at, "a condition was expected before the verb, as in: kernel ~ gemm");
    if (!ap_expr_parse(condition, &language, &ret_change->room, &ret_change->expr, ret_mistake))
        return false;
    for (size_t i = 0; i < ret_change->expr.comparison_count; i++)
        ret_change->columns |= UINT32_C(1) << column_named(ret_change->expr.comparisons[i].path);
    return true;
}
