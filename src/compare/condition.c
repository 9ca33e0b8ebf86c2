/* SPDX-License-Identifier: MIT */
#include "condition.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "metric_names.h"
#include "metric_path.h"
#include "near_name.h"
#include "quantity.h"
#include "value_text.h"

#include "poison.h"

#define SHOWN(text) (int)((text).bytes > 120 ? 120 : (text).bytes), (text).data

static const char *const severities[] = { "info", "low", "medium", "high", "critical" };
static const char *const operators[] = { "<", "<=", ">", ">=" };

/* ---- reading ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static struct ap_text trimmed(struct ap_text text)
{
    while (text.bytes && is_space(text.data[0])) {
        text.data++;
        text.bytes--;
    }
    while (text.bytes && is_space(text.data[text.bytes - 1]))
        text.bytes--;
    return text;
}

/* Cut @bytes off the front of *rest. */
static struct ap_text cut(struct ap_text *rest, size_t bytes)
{
    struct ap_text front = { rest->data, bytes };
    *rest = (struct ap_text){ rest->data + bytes, rest->bytes - bytes };
    *rest = trimmed(*rest);
    return front;
}

static enum ap_status fail(struct ap_text condition, const char *expected, struct ap_error *reterr)
{
    return ap_fail(reterr, AP_ERROR_USAGE, "--fail-on '%.*s': %s", SHOWN(condition), expected);
}

static bool take_operator(struct ap_text *rest, enum ap_operator *ret_op)
{
    if (!rest->bytes || (rest->data[0] != '<' && rest->data[0] != '>'))
        return false;
    bool equal = rest->bytes > 1 && rest->data[1] == '=';
    *ret_op = (enum ap_operator)((rest->data[0] == '>' ? AP_OPERATOR_greater : AP_OPERATOR_less) + equal);
    (void)cut(rest, 1 + (size_t)equal);
    return true;
}

static enum ap_status apply_unit(struct ap_condition *condition, struct ap_text unit, struct ap_error *reterr)
{
    const char *expected = ap_quantity_apply_unit(ap_metric_name_unit(condition->metric), unit, &condition->number);
    return expected ? fail(condition->text, expected, reterr) : AP_OK;
}

static enum ap_status parse_limit(struct ap_condition *condition, struct ap_text rest, bool has_baseline,
                                  struct ap_error *reterr)
{
    bool minus = false;
    condition->kind = AP_CONDITION_figure;
    if (rest.bytes && (rest.data[0] == '+' || rest.data[0] == '-')) {
        condition->kind = AP_CONDITION_change;
        minus = rest.data[0] == '-';
        (void)cut(&rest, 1);
    }
    if (!ap_quantity_take_number(&rest, &condition->number))
        return fail(condition->text, "a number of at most 15 digits was expected behind the comparison", reterr);
    if (condition->kind == AP_CONDITION_change && ap_text_is(rest, "%")) {
        condition->in_percent = true;
        condition->number /= 100;
    } else {
        AP_TRY(apply_unit(condition, rest, reterr));
    }
    if (condition->kind == AP_CONDITION_change && !has_baseline)
        return fail(condition->text, "a sign makes it a change from the baseline: give --baseline FILE as well", reterr);
    condition->number = minus ? -condition->number : condition->number;
    return AP_OK;
}

static enum ap_status fail_unknown(const struct ap_condition *condition, struct ap_error *reterr)
{
    struct ap_near_names near = { .count = 0 };
    char told[300];
    for (size_t i = 0; i < ap_metric_name_count; i++)
        ap_near_names_offer(&near, condition->metric, ap_text_of(ap_metric_names[i]));
    ap_near_names_write(&near, told, sizeof(told));
    return ap_fail(reterr, AP_ERROR_USAGE,
                   "--fail-on '%.*s': no figure (--list-metrics names them all) and no severity (low, medium, high, critical) is called "
                   "%.*s%s",
                   SHOWN(condition->text), SHOWN(condition->metric), told);
}

static enum ap_status parse_one(struct ap_text text, bool has_baseline, struct ap_condition *condition, struct ap_error *reterr)
{
    *condition = (struct ap_condition){ .text = trimmed(text) };
    struct ap_text rest = condition->text;
    if (!rest.bytes)
        return fail(condition->text, "a severity (low, medium, high, critical) or a condition such as 'steps.p50_us > 150ms' "
                                     "was expected", reterr);
    for (int i = 1; i < (int)AP_COUNT_OF(severities); i++)
        if (ap_text_is(rest, severities[i])) {
            condition->severity = i;
            return AP_OK;
        }
    size_t bytes = 0;
    while (bytes < rest.bytes && !is_space(rest.data[bytes]) && rest.data[bytes] != '<' && rest.data[bytes] != '>')
        bytes++;
    condition->metric = cut(&rest, bytes);
    if (!ap_metric_name_is_known(condition->metric))
        return fail_unknown(condition, reterr);
    if (!take_operator(&rest, &condition->op))
        return fail(condition->text, "<, <=, > or >= was expected behind the figure", reterr);
    return parse_limit(condition, rest, has_baseline, reterr);
}

enum ap_status ap_conditions_parse(const char *const *texts, size_t count, bool has_baseline,
                                   struct ap_conditions *ret_conditions, struct ap_error *reterr)
{
    ret_conditions->count = 0;
    for (size_t i = 0; i < count; i++)
        for (const char *text = texts[i]; text;) {
            const char *comma = strchr(text, ',');
            struct ap_text one = { text, comma ? (size_t)(comma - text) : strlen(text) };
            if (ret_conditions->count == AP_CONDITIONS_MAX)
                return ap_fail(reterr, AP_ERROR_USAGE, "--fail-on has more than %d conditions", AP_CONDITIONS_MAX);
            AP_TRY(parse_one(one, has_baseline, &ret_conditions->conditions[ret_conditions->count], reterr));
            ret_conditions->count++;
            text = comma ? comma + 1 : NULL;
        }
    return AP_OK;
}

/* ---- judging ---- */

/* A figure as it stands in the model. */
struct figure {
    bool known;
    double number;
    struct ap_value value; /* key and type tell the unit */
};

static struct figure figure_of(const struct ap_value *root, struct ap_text metric)
{
    struct figure figure = { .known = false };
    const struct ap_value *value = root ? ap_metric_fold(root, metric) : NULL;
    figure.known = value && ap_value_number(value, &figure.number);
    if (figure.known)
        figure.value = *value;
    return figure;
}

static struct ap_value with_number(const struct figure *unit, double number)
{
    struct ap_value value = unit->value;
    if (!(fabs(number) < 9e18)) {
        value.type = AP_VALUE_NUMBER;
        value.as.number = number;
        return value;
    }
    bool whole = value.type == AP_VALUE_BYTES || value.type == AP_VALUE_TIME_NS;
    if (value.type == AP_VALUE_COUNT && number != (double)(int64_t)number)
        value.type = AP_VALUE_NUMBER;
    if (value.type == AP_VALUE_RATIO || value.type == AP_VALUE_NUMBER)
        value.as.number = number;
    else
        value.as.integer = (int64_t)(whole ? round(number) : number);
    return value;
}

static void add_figure(struct ap_model *model, struct ap_value *row, const char *key, bool known, const struct ap_value *value)
{
    switch (known ? value->type : AP_VALUE_NULL) {
    case AP_VALUE_BOOL:
    case AP_VALUE_COUNT: ap_add_count(model, row, key, value->as.integer); break;
    case AP_VALUE_BYTES: ap_add_bytes(model, row, key, value->as.integer); break;
    case AP_VALUE_TIME_NS: ap_add_time(model, row, key, value->as.integer); break;
    case AP_VALUE_RATIO: ap_add_ratio(model, row, key, value->as.number); break;
    case AP_VALUE_NUMBER: ap_add_number(model, row, key, value->as.number); break;
    default: ap_add_null(model, row, key); break;
    }
}

static bool holds(enum ap_operator op, double value, double limit)
{
    switch (op) {
    case AP_OPERATOR_less: return value < limit;
    case AP_OPERATOR_less_equal: return value <= limit;
    case AP_OPERATOR_greater: return value > limit;
    case AP_OPERATOR_greater_equal: return value >= limit;
    }
    return false;
}

/* ---- a change and the noise ---- */

/* Conditions are exact; what the comparison makes of the same figure is said with them. NULL where it says nothing. */
static const struct ap_value *compared(const struct ap_value *root, struct ap_text metric)
{
    static const char *const step_times[] = { "steps.p50_us", "steps.mean_us", "steps.steady.p50_us", "steps.steady.mean_us" };
    static const char *const lists[] = { "comparison.figures", "comparison.memory" };
    for (size_t i = 0; i < AP_COUNT_OF(step_times); i++)
        if (ap_text_is(metric, step_times[i]))
            return ap_value_at(root, "comparison.steps");
    for (size_t i = 0; i < AP_COUNT_OF(lists); i++)
        for (const struct ap_value *row = ap_value_first(ap_value_at(root, lists[i])); row; row = row->next)
            if (ap_text_equal(ap_value_text(ap_value_member(row, "metric")), metric))
                return row;
    return NULL;
}

static void tell_steps(const struct ap_value *steps, struct ap_text change, char *text, size_t bytes)
{
    char p[AP_VALUE_TEXT_BYTES];
    double p_value = 1, level = 0;
    (void)ap_value_number(ap_value_member(steps, "level"), &level);
    if (!ap_value_number(ap_value_member(steps, "p_value"), &p_value)) {
        (void)snprintf(text, bytes, "; too few steps to tell it from noise");
        return;
    }
    (void)ap_format_value(ap_value_member(steps, "p_value"), p, sizeof(p));
    const char *judged = !ap_text_is(change, "no change") ? "beyond the noise"
                         : p_value > level                ? "within the noise"
                                                          : "too small to be called a change";
    (void)snprintf(text, bytes, "; %s (p %s%s)", judged, *p == '<' ? "< " : "= ", *p == '<' ? p + 1 : p);
}

static void tell_noise(const struct ap_value *row, char *text, size_t bytes)
{
    struct ap_text change = ap_value_text(ap_value_member(row, "change"));
    size_t used = strlen(text);
    if (ap_value_member(row, "level"))
        tell_steps(row, change, text + used, bytes - used);
    else if (change.bytes)
        (void)snprintf(text + used, bytes - used, "; the comparison calls it %.*s", SHOWN(change));
}

/* ---- the sentence ---- */

/* All digits, for figures that are told apart by the last ones. */
static void write_exact(const struct ap_value *value, char *text, size_t bytes)
{
    double number = 0;
    if (value->type == AP_VALUE_TIME_NS)
        (void)snprintf(text, bytes, "%.3f us", (double)value->as.integer / 1000);
    else if (value->type == AP_VALUE_BYTES)
        (void)snprintf(text, bytes, "%lld B", (long long)value->as.integer);
    else if (value->type == AP_VALUE_RATIO)
        (void)snprintf(text, bytes, "%.9g %%", value->as.number * 100);
    else if (ap_value_number(value, &number))
        (void)snprintf(text, bytes, "%.12g", number);
}

/* Texts of the @count values; exact ones where rounded ones would make two of them the same. */
static void write_apart(const struct ap_value *const *values, size_t count, char (*texts)[AP_VALUE_TEXT_BYTES])
{
    bool alike = false;
    for (size_t i = 0; i < count; i++) {
        double first = 0, other = 0;
        (void)ap_format_value(values[i], texts[i], sizeof(texts[i]));
        (void)ap_value_number(values[0], &first);
        (void)ap_value_number(values[i], &other);
        alike |= first != other && strcmp(texts[0], texts[i]) == 0;
    }
    for (size_t i = 0; alike && i < count; i++)
        write_exact(values[i], texts[i], sizeof(texts[i]));
}

/* What @text says of a figure. */
static void tell(const struct ap_condition *condition, const struct figure *now, const struct figure *before, double limit,
                 char *text, size_t bytes)
{
    char texts[3][AP_VALUE_TEXT_BYTES];
    bool change = condition->kind == AP_CONDITION_change;
    struct ap_value limit_value = with_number(now, limit), before_value = with_number(now, before->number);
    const struct ap_value *const values[] = { &now->value, &limit_value, &before_value };
    write_apart(values, change ? 3 : 2, texts);
    int used = snprintf(text, bytes, "%.*s is %s", SHOWN(condition->metric), texts[0]);
    if (change)
        used += snprintf(text + used, bytes - (size_t)used, ", it was %s", texts[2]);
    if (change && before->number > 0)
        used += snprintf(text + used, bytes - (size_t)used, " (%+.1f %%)", (now->number / before->number - 1) * 100);
    (void)snprintf(text + used, bytes - (size_t)used, "; the condition is %s %s", operators[condition->op], texts[1]);
}

static void judge_figure(const struct ap_condition *condition, struct ap_model *model, struct ap_value *row,
                         const struct ap_value *root_before)
{
    char text[700];
    struct figure now = figure_of(&model->root, condition->metric), before = figure_of(root_before, condition->metric);
    bool change = condition->kind == AP_CONDITION_change, known = now.known && (before.known || !change);
    double limit = !change                 ? condition->number
                   : condition->in_percent ? before.number + fabs(before.number) * condition->number
                                           : before.number + condition->number;
    if (!known)
        (void)snprintf(text, sizeof(text), "%.*s is not known in %s: the condition cannot be judged", SHOWN(condition->metric),
                       now.known ? "the baseline" : "this report");
    else
        tell(condition, &now, &before, limit, text, sizeof(text));
    const struct ap_value *noise = known && change ? compared(&model->root, condition->metric) : NULL;
    tell_noise(noise, text, sizeof(text));
    struct ap_value limit_value = with_number(&now, limit), before_value = with_number(now.known ? &now : &before, before.number);
    ap_add_text(model, row, "metric", condition->metric);
    add_figure(model, row, "before", before.known && change, &before_value);
    add_figure(model, row, "value", now.known, &now.value);
    add_figure(model, row, "limit", known, &limit_value);
    ap_add_known_bool(model, row, "held", known, holds(condition->op, now.number, limit));
    struct ap_text judged = ap_value_text(ap_value_member(noise, "change"));
    ap_add_known_text(model, row, "change", judged.bytes > 0, judged);
    ap_add_string(model, row, "text", text);
}

static int rank_of(struct ap_text severity)
{
    for (int i = 0; i < (int)AP_COUNT_OF(severities); i++)
        if (ap_text_is(severity, severities[i]))
            return i;
    return -1;
}

static void judge_severity(const struct ap_condition *condition, struct ap_model *model, struct ap_value *row)
{
    char text[500];
    int64_t count = 0;
    struct ap_text worst = { "", 0 };
    const struct ap_value *finding = ap_value_first(ap_value_member(&model->root, "findings"));
    for (; finding; finding = finding->next) {
        if (rank_of(ap_value_text(ap_value_member(finding, "severity"))) < condition->severity)
            continue;
        if (!count++)
            worst = ap_value_text(ap_value_member(finding, "title"));
    }
    if (count)
        (void)snprintf(text, sizeof(text), "%lld finding%s of severity %s%s: %.*s%s", (long long)count, count == 1 ? "" : "s",
                       severities[condition->severity], condition->severity < 4 ? " or worse" : "", SHOWN(worst),
                       count > 1 ? ", ..." : "");
    else
        (void)snprintf(text, sizeof(text), "no finding of severity %s%s", severities[condition->severity],
                       condition->severity < 4 ? " or worse" : "");
    ap_add_null(model, row, "metric");
    ap_add_null(model, row, "before");
    ap_add_count(model, row, "value", count);
    ap_add_null(model, row, "limit");
    ap_add_bool(model, row, "held", count > 0);
    ap_add_null(model, row, "change");
    ap_add_string(model, row, "text", text);
}

void ap_conditions_judge(const struct ap_conditions *conditions, struct ap_model *model, const struct ap_value *before)
{
    static const char *const kinds[] = { "severity", "figure", "change" };
    struct ap_value *list = ap_add_list(model, &model->root, "conditions");
    for (size_t i = 0; i < conditions->count; i++) {
        const struct ap_condition *condition = &conditions->conditions[i];
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_text(model, row, "condition", condition->text);
        ap_add_string(model, row, "kind", kinds[condition->kind]);
        if (condition->kind == AP_CONDITION_severity)
            judge_severity(condition, model, row);
        else
            judge_figure(condition, model, row, before);
    }
}
