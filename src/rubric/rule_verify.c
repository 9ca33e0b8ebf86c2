/* SPDX-License-Identifier: MIT
 * The command that shows whether a change helped: this program on a new recording, with the options of this run, and the
 * figure to look at. */
#include <stdio.h>
#include <string.h>

#include "option_names.h"
#include "rule.h"
#include "value_text.h"

#include "poison.h"

static const struct {
    const char *wanted;   /* of the figure, once the condition no longer holds; a limit follows */
    const char *tendency; /* where the limit only keeps small amounts out */
} tests[AP_TEST_COUNT_] = {
    [AP_TEST_less] = { "should be at least", "should rise" },
    [AP_TEST_less_equal] = { "should be above", "should rise" },
    [AP_TEST_greater] = { "should be at most", "should fall" },
    [AP_TEST_greater_equal] = { "should be below", "should fall" },
    [AP_TEST_equal] = { "should not be", NULL },
    [AP_TEST_not_equal] = { "should be", NULL },
    [AP_TEST_is_unknown] = { "should be known", NULL },
    [AP_TEST_is_true] = { "should be no", NULL },
    [AP_TEST_is_false] = { "should be yes", NULL },
};

static const struct ap_comparison *comparison_of(const struct ap_rule *rule, const struct ap_figure_info *figure)
{
    for (size_t i = 0; i < rule->when.comparison_count; i++)
        if (rule->when.comparisons[i].figure == figure && tests[rule->when.comparisons[i].test].wanted)
            return &rule->when.comparisons[i];
    return NULL;
}

/* Of the figures between back-ticks in the validation the first one that the condition compares, else the first one; without
 * any the first one of the condition. */
static const struct ap_figure_info *figure_to_look_at(const struct ap_rule *rule)
{
    struct ap_text text = rule->texts[AP_TEXT_validation];
    const char *at = text.data, *end = text.data + text.bytes;
    const struct ap_figure_info *first = NULL;
    for (;;) {
        const char *open = at < end ? memchr(at, '`', (size_t)(end - at)) : NULL;
        const char *close = open && open + 1 < end ? memchr(open + 1, '`', (size_t)(end - open - 1)) : NULL;
        if (!close)
            return first ? first : rule->when.comparisons[0].figure;
        const struct ap_figure_info *figure = ap_figure_find((struct ap_text){ open + 1, (size_t)(close - open - 1) });
        if (figure && comparison_of(rule, figure))
            return figure;
        first = first ? first : figure;
        at = close + 1;
    }
}

/* A share has a limit that means something; amounts grow with the recording. */
static void format_wanted(const struct ap_comparison *comparison, const struct ap_value *root, char *to, size_t capacity)
{
    struct ap_value threshold;
    char limit[AP_VALUE_TEXT_BYTES];
    const char *tendency = tests[comparison->test].tendency;
    if (tendency && comparison->figure->unit != AP_UNIT_ratio) {
        (void)snprintf(to, capacity, "%s", tendency);
    } else if (comparison->test <= AP_TEST_not_equal && ap_comparison_limit(comparison, root, &threshold)) {
        (void)ap_format_value(&threshold, limit, sizeof(limit));
        (void)snprintf(to, capacity, "%s %s", tests[comparison->test].wanted, limit);
    } else {
        (void)snprintf(to, capacity, "%s", tests[comparison->test].wanted);
    }
}

/* "gpu.idle_us is 45 ms here and should fall" */
static void format_aim(const struct ap_rule *rule, const struct ap_value *root, char *to, size_t capacity)
{
    char value[AP_VALUE_TEXT_BYTES], wanted[AP_VALUE_TEXT_BYTES + 24];
    const struct ap_figure_info *figure = figure_to_look_at(rule);
    const struct ap_comparison *comparison = comparison_of(rule, figure);
    (void)ap_format_value(ap_value_at(root, ap_figure_text(figure->path)), value, sizeof(value));
    if (!comparison) {
        (void)snprintf(to, capacity, "compare %s, %s here", ap_figure_text(figure->path), value);
        return;
    }
    format_wanted(comparison, root, wanted, sizeof(wanted));
    (void)snprintf(to, capacity, "%s is %s here and %s", ap_figure_text(figure->path), value, wanted);
}

static bool names_part(const struct ap_rule *rule, bool memory)
{
    for (size_t i = 0; i < rule->when.comparison_count; i++)
        if ((strncmp(ap_figure_text(rule->when.comparisons[i].figure->path), "memory.", 7) == 0) == memory)
            return true;
    return false;
}

void ap_rule_add_command(const struct ap_rule *rule, const struct ap_judge_options *options, struct ap_model *model,
                         struct ap_value *finding)
{
    char aim[400];
    bool of_profile = ap_rule_is_of_profile(rule);
    const char *path = ap_figure_text(rule->when.comparisons[0].figure->path);
    bool of_run = strncmp(path, "cluster.", 8) == 0 || strncmp(path, "hang.", 5) == 0;
    format_aim(rule, &model->root, aim, sizeof(aim));
    const char *parts[] = {
        "analyze_profile",
        of_run                    ? " NEW_FOLDER"
        : of_profile              ? " NEW_PROFILE"
        : names_part(rule, false) ? " " AP_OPTION_CPU_TRACE " NEW_TRACE.json.gz"
                                  : "",
        names_part(rule, true) && !of_run ? " " AP_OPTION_MEMORY_JSON " NEW_SNAPSHOT.json" : "",
        " " AP_OPTION_JSON_OUT " new.json",
    };
    struct ap_text more = options->more_options;
    size_t bytes = more.bytes + strlen(aim) + sizeof("  # ");
    for (size_t i = 0; i < AP_COUNT_OF(parts); i++)
        bytes += strlen(parts[i]);
    char *command = ap_arena_alloc(&model->arena, bytes);
    size_t used = 0;
    if (!command) {
        model->failed = true;
        return;
    }
    for (size_t i = 0; i < AP_COUNT_OF(parts); i++)
        used += (size_t)snprintf(command + used, bytes - used, "%s", parts[i]);
    if (more.bytes)
        memcpy(command + used, more.data, more.bytes);
    used += more.bytes;
    used += (size_t)snprintf(command + used, bytes - used, "  # %s", aim);
    ap_add_text(model, finding, "verify_command", (struct ap_text){ command, used });
}
