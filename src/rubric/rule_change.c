/* SPDX-License-Identifier: MIT
 * rule_change.c - what a replay would change to see what taking away the cause of a finding gains: the line of its rule,
 * with figures of the report in it. */
#include <inttypes.h>
#include <stdio.h>

#include "rule.h"

#include "poison.h"

#define CHANGE_MAX_BYTES 500

#define NUMBER_MAX_BYTES 40
#define ANY_NS 1000000 /* where only the rows matter, not what they lose */

/* Times as people read them: to a thousandth of a millisecond, of short ones to the last digit. */
static size_t write_number(int64_t number, bool is_time, char *to)
{
    if (!is_time)
        return (size_t)snprintf(to, NUMBER_MAX_BYTES, "%" PRId64, number);
    if (number < 1000000)
        return (size_t)snprintf(to, NUMBER_MAX_BYTES, "%" PRId64 ".%03dus", number / 1000, (int)(number % 1000));
    return (size_t)snprintf(to, NUMBER_MAX_BYTES, "%" PRId64 ".%03dms", number / 1000000, (int)(number / 1000 % 1000));
}

/* False where it is not known. */
static bool find_figure(const struct ap_value *root, struct ap_text path, int64_t *ret_number, bool *ret_is_time)
{
    const struct ap_figure_info *figure = ap_figure_find(path);
    const struct ap_value *value = figure ? ap_figure_value(root, figure) : NULL;
    if (!value || (value->type != AP_VALUE_TIME_NS && value->type != AP_VALUE_COUNT))
        return false;
    *ret_number = value->as.integer;
    *ret_is_time = value->type == AP_VALUE_TIME_NS;
    return true;
}

/* The end of the placeholder that begins at @at; SIZE_MAX = it has none. */
static size_t end_of_placeholder(struct ap_text text, size_t at)
{
    while (at < text.bytes && text.data[at] != '}')
        at++;
    return at < text.bytes ? at : SIZE_MAX;
}

static bool fill_change(const struct ap_rule *rule, const struct ap_value *root, int64_t saving_ns, char *to, size_t *used)
{
    for (size_t at = 0; at < rule->change.bytes; at++) {
        if (*used + NUMBER_MAX_BYTES > CHANGE_MAX_BYTES)
            return false;
        if (rule->change.data[at] != '{') {
            to[(*used)++] = rule->change.data[at];
            continue;
        }
        size_t end = end_of_placeholder(rule->change, at);
        struct ap_text path = { rule->change.data + at + 1, end == SIZE_MAX ? 0 : end - at - 1 };
        int64_t number = saving_ns;
        bool is_time = true;
        if (!ap_text_is(path, "saving") && !find_figure(root, path, &number, &is_time))
            return false;
        if (number <= 0)
            return false;
        *used += write_number(number, is_time, to + *used);
        at = end;
    }
    return true;
}

bool ap_rule_change_check(struct ap_text change, struct ap_text *ret_unknown)
{
    for (size_t at = 0; at < change.bytes; at++) {
        if (change.data[at] != '{')
            continue;
        size_t end = end_of_placeholder(change, at);
        *ret_unknown = (struct ap_text){ change.data + at + 1, (end == SIZE_MAX ? change.bytes : end) - at - 1 };
        bool is_saving = ap_text_is(*ret_unknown, "saving");
        const struct ap_figure_info *figure = is_saving || end == SIZE_MAX ? NULL : ap_figure_find(*ret_unknown);
        if (!is_saving && (!figure || (figure->unit != AP_UNIT_time && figure->unit != AP_UNIT_count)))
            return false;
        at = end;
    }
    return true;
}

void ap_rule_add_change(const struct ap_rule *rule, const struct ap_value *root, int64_t saving_ns, struct ap_model *model,
                        struct ap_value *finding)
{
    char text[CHANGE_MAX_BYTES];
    size_t used = 0;
    bool known = rule->change.bytes && fill_change(rule, root, saving_ns, text, &used);
    ap_add_known_text(model, finding, "change", known, (struct ap_text){ text, used });
}

enum ap_status ap_rule_gain(const struct ap_rule *rule, const struct ap_value *root, int64_t saving_ns,
                            const struct ap_judge_options *options, struct ap_gain *ret_gain, struct ap_error *reterr)
{
    char text[CHANGE_MAX_BYTES];
    size_t used = 0;
    *ret_gain = (struct ap_gain){ .known = false };
    if (!options->gain || !rule->change.bytes || !fill_change(rule, root, saving_ns, text, &used))
        return AP_OK;
    return options->gain(options->gain_context, (struct ap_text){ text, used }, &ret_gain->known, &ret_gain->step_ratio,
                         &ret_gain->window_ns, reterr);
}

enum ap_status ap_rule_phase_share(const struct ap_rule *rule, const struct ap_value *root,
                                   const struct ap_judge_options *options, bool *ret_known, double *ret_ratio,
                                   struct ap_error *reterr)
{
    char text[CHANGE_MAX_BYTES];
    size_t used = 0;
    *ret_known = false;
    if (!options->phase || !options->phase_share || rule->phases || !rule->change.bytes ||
        !fill_change(rule, root, ANY_NS, text, &used))
        return AP_OK;
    return options->phase_share(options->phase_context, (struct ap_text){ text, used }, ap_text_of(options->phase),
                                ret_known, ret_ratio, reterr);
}
