/* SPDX-License-Identifier: MIT */
#include "condition.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "catalogue.h"
#include "figure_path.h"
#include "severity.h"
#include "value_text.h"

#include "poison.h"

#define ONLY_NEW "new:"
#define SHOWN(text) (int)((text).bytes > 120 ? 120 : (text).bytes), (text).data

/* ---- reading ---- */

static bool find_figure(struct ap_text path, struct ap_expr_name *ret_name)
{
    ret_name->unit = ap_catalogue_unit(path);
    return ap_catalogue_has_number(path);
}

static void offer_figures(struct ap_text wanted, struct ap_near_names *near)
{
    for (size_t i = 0; i < ap_figure_count; i++)
        if (ap_figures[i].is_number && !ap_figures[i].is_member)
            ap_near_names_offer(near, wanted, ap_text_of(ap_figure_text(ap_figures[i].path)));
}

static enum ap_status parse_figure(struct ap_condition *condition, struct ap_error *reterr)
{
    char unknown[120];
    const struct ap_expr_language language = {
        .noun = "figure",
        .unknown = unknown,
        .features = AP_EXPR_CHANGES,
        .with_unit = AP_UNIT_BIT(time),
        .tests = AP_TESTS_OF_ORDER,
        .most = 1,
        .find = find_figure,
        .offer = offer_figures,
    };
    struct ap_expr_room room;
    struct ap_expr expr;
    struct ap_expr_mistake mistake;
    (void)snprintf(unknown, sizeof(unknown), ", and no severity (%s)", ap_severity_list(AP_SEVERITY_low));
    if (!ap_expr_parse(condition->text, &language, &room, &expr, &mistake))
        return ap_advise(reterr, AP_ADVICE_LIST_FIGURES,
                         ap_refuse(reterr, AP_SETTING_FAIL_ON, "'%.*s', character %zu: %s", SHOWN(condition->text),
                                   mistake.at + 1, mistake.message));
    condition->figure = room.comparisons[0];
    condition->kind = condition->figure.is_change ? AP_CONDITION_change : AP_CONDITION_figure;
    return AP_OK;
}

static enum ap_status parse_one(struct ap_text text, bool has_baseline, struct ap_condition *condition,
                                struct ap_error *reterr)
{
    bool only_new = ap_text_starts_with(text, ONLY_NEW);
    size_t skipped = only_new ? sizeof(ONLY_NEW) - 1 : 0;
    struct ap_text severity = { text.data + skipped, text.bytes - skipped };
    *condition = (struct ap_condition){ .text = text, .severity = ap_severity_rank(severity), .only_new = only_new };
    if (condition->severity > AP_SEVERITY_info)
        return AP_OK;
    if (!text.bytes)
        return ap_refuse(reterr, AP_SETTING_FAIL_ON,
                         "a severity (%s) or a condition such as 'steps.p50_us > 150ms' was expected",
                         ap_severity_list(AP_SEVERITY_low));
    AP_TRY(parse_figure(condition, reterr));
    if (condition->kind == AP_CONDITION_change && !has_baseline)
        return ap_advise(
            reterr, AP_ADVICE_GIVE_BASELINE,
            ap_refuse(reterr, AP_SETTING_FAIL_ON, "'%.*s': a sign makes it a change from the baseline", SHOWN(text)));
    return AP_OK;
}

enum ap_status ap_conditions_parse(const char *const *texts, size_t count, bool has_baseline,
                                   struct ap_conditions *ret_conditions, struct ap_error *reterr)
{
    ret_conditions->count = 0;
    for (size_t i = 0; i < count; i++) {
        struct ap_text one, rest = ap_text_of(texts[i]);
        while (ap_text_next_part(&rest, ',', &one)) {
            if (ret_conditions->count == AP_CONDITIONS_MAX)
                return ap_refuse(reterr, AP_SETTING_FAIL_ON, "more than %d conditions", AP_CONDITIONS_MAX);
            AP_TRY(parse_one(one, has_baseline, &ret_conditions->conditions[ret_conditions->count], reterr));
            ret_conditions->count++;
        }
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

static struct figure figure_of(const struct ap_value *root, struct ap_text path)
{
    struct figure figure = { .known = false };
    const struct ap_value *value = root ? ap_figure_fold(root, path) : NULL;
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

/* ---- a change and the noise ---- */

/* Conditions are exact; what the comparison makes of the same figure is said with them. NULL where it says nothing. */
static const struct ap_value *compared(const struct ap_value *root, struct ap_text figure)
{
    static const char *const step_times[] = { "steps.p50_us", "steps.mean_us", "steps.steady.p50_us",
                                              "steps.steady.mean_us" };
    static const char *const lists[] = { "comparison.figures", "comparison.memory" };
    for (size_t i = 0; i < AP_COUNT_OF(step_times); i++)
        if (ap_text_is(figure, step_times[i]))
            return ap_value_at(root, "comparison.steps");
    for (size_t i = 0; i < AP_COUNT_OF(lists); i++)
        for (const struct ap_value *row = ap_value_first(ap_value_at(root, lists[i])); row; row = row->next)
            if (ap_text_equal(ap_text_member(row, "metric"), figure))
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
    struct ap_text change = ap_text_member(row, "change");
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
    int used = snprintf(text, bytes, "%.*s is %s", SHOWN(condition->figure.path), texts[0]);
    if (change)
        used += snprintf(text + used, bytes - (size_t)used, ", it was %s", texts[2]);
    if (change && before->number > 0)
        used += snprintf(text + used, bytes - (size_t)used, " (%+.1f %%)", (now->number / before->number - 1) * 100);
    (void)snprintf(text + used, bytes - (size_t)used, "; the condition is %s %s", ap_test_name(condition->figure.test),
                   texts[1]);
}

static void judge_figure(const struct ap_condition *condition, struct ap_model *model, struct ap_value *row,
                         const struct ap_value *root_before)
{
    char text[700];
    struct figure now = figure_of(&model->root, condition->figure.path),
                  before = figure_of(root_before, condition->figure.path);
    bool change = condition->kind == AP_CONDITION_change, known = now.known && (before.known || !change);
    double limit = !change                        ? condition->figure.limit
                   : condition->figure.in_percent ? before.number + fabs(before.number) * condition->figure.limit
                                                  : before.number + condition->figure.limit;
    if (!known)
        (void)snprintf(text, sizeof(text), "%.*s is not known in %s: the condition cannot be judged",
                       SHOWN(condition->figure.path), now.known ? "the baseline" : "this report");
    else
        tell(condition, &now, &before, limit, text, sizeof(text));
    const struct ap_value *noise = known && change ? compared(&model->root, condition->figure.path) : NULL;
    tell_noise(noise, text, sizeof(text));
    struct ap_value limit_value = with_number(&now, limit),
                    before_value = with_number(now.known ? &now : &before, before.number);
    ap_add_text(model, row, "metric", condition->figure.path);
    ap_add_figure(model, row, "before", before.known && change ? &before_value : NULL);
    ap_add_figure(model, row, "value", now.known ? &now.value : NULL);
    ap_add_figure(model, row, "limit", known ? &limit_value : NULL);
    ap_add_known_bool(model, row, "held", known, ap_test_holds(condition->figure.test, now.number, limit));
    struct ap_text judged = ap_text_member(noise, "change");
    ap_add_known_text(model, row, "change", judged.bytes > 0, judged);
    ap_add_string(model, row, "text", text);
}

/* Does the baseline have it, as severe as the condition asks? */
static bool was_there(const struct ap_condition *condition, const struct ap_value *finding, const struct ap_value *before)
{
    struct ap_text rule = ap_text_member(finding, "rule_id");
    for (const struct ap_value *old = ap_value_first(ap_value_member(before, "findings")); old; old = old->next)
        if (ap_text_equal(ap_text_member(old, "rule_id"), rule) &&
            ap_severity_rank(ap_text_member(old, "severity")) >= condition->severity)
            return true;
    return false;
}

static void judge_severity(const struct ap_condition *condition, struct ap_model *model, struct ap_value *row,
                           const struct ap_value *before)
{
    const char *kind = condition->only_new ? "new finding" : "finding";
    char text[500];
    int64_t count = 0;
    struct ap_text worst = { "", 0 };
    const struct ap_value *finding = ap_value_first(ap_value_member(&model->root, "findings"));
    for (; finding; finding = finding->next) {
        if (ap_severity_rank(ap_text_member(finding, "severity")) < condition->severity)
            continue;
        if (condition->only_new && (!before || was_there(condition, finding, before)))
            continue;
        if (!count++)
            worst = ap_text_member(finding, "title");
    }
    if (count)
        (void)snprintf(text, sizeof(text), "%lld %s%s of severity %s%s: %.*s%s", (long long)count, kind,
                       count == 1 ? "" : "s", ap_severity_names[condition->severity],
                       condition->severity < AP_SEVERITY_critical ? " or worse" : "", SHOWN(worst),
                       count > 1 ? ", ..." : "");
    else
        (void)snprintf(text, sizeof(text), "no %s of severity %s%s%s", kind, ap_severity_names[condition->severity],
                       condition->severity < AP_SEVERITY_critical ? " or worse" : "",
                       condition->only_new && !before ? ": there is no baseline, so this is the first run" : "");
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
            judge_severity(condition, model, row, before);
        else
            judge_figure(condition, model, row, before);
    }
}
