/* SPDX-License-Identifier: MIT
 * rule_model.h - figures for one rule of the rubric, and what it says of them.
 *
 *     struct ap_model model;
 *     ap_model_init(&model, &gate);
 *     put_artifacts(&model);
 *     put_figure(&model, ap_figure_find(ap_text_of("gpu.idle_us")), 5e6);   times in nanoseconds
 *     if (fires(&model, rule, &evaluated)) ... */
#ifndef AP_RULE_MODEL_H
#define AP_RULE_MODEL_H

#include "rule.h"
#include "tree.h"

/** The figure's value, of its own type. */
TREE_UNUSED static void put_figure(struct ap_model *model, const struct ap_figure_info *figure, double number)
{
    static const enum ap_value_type types[] = { AP_VALUE_COUNT, AP_VALUE_BYTES,  AP_VALUE_TIME_NS,
                                                AP_VALUE_RATIO, AP_VALUE_NUMBER, AP_VALUE_BOOL };
    enum ap_value_type type = types[figure->unit];
    if (type == AP_VALUE_RATIO || type == AP_VALUE_NUMBER)
        put_double(model, ap_figure_text(figure->path), type, number);
    else
        put_integer(model, ap_figure_text(figure->path), type, (int64_t)number);
}

/** A recording in which every artifact that a report can show is there. */
TREE_UNUSED static void put_artifacts(struct ap_model *model)
{
    static const char *const recorded[] = {
        "trace.recorded.gpu",       "trace.recorded.runtime", "trace.recorded.shapes",
        "trace.recorded.stacks",    "trace.recorded.memory",  "trace.complete",
        "memory.recorded.history",  "memory.recorded.stacks", "memory.recorded.requested_sizes",
        "memory.recorded.settings", "memory.recorded.blocks"
    };
    for (size_t i = 0; i < AP_COUNT_OF(recorded); i++)
        put_bool(model, recorded[i], true);
    put_count(model, "cpu.operator_summary.events", 100000);
    put_count(model, "steps.count", 5);
}

/** Whether @rule, applied alone, gives a finding, and whether it could be judged at all. */
TREE_UNUSED static bool fires(struct ap_model *model, const struct ap_rule *rule, bool *ret_evaluated)
{
    struct ap_error error;
    struct ap_rubric alone = { .first = NULL };
    struct ap_rule copy = *rule;
    copy.next = NULL;
    alone.first = alone.last = &copy;
    alone.rule_count = 1;
    if (ap_rubric_apply(&alone, NULL, model, &error) != AP_OK)
        return false;
    *ret_evaluated = ap_value_count(ap_value_at(&model->root, "not_evaluated")) == 0;
    return ap_value_count(ap_value_at(&model->root, "findings")) == 1;
}

#endif
