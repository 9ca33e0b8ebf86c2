/* SPDX-License-Identifier: MIT
 * condition.h - what makes a run fail, in a language of src/expr. A severity that findings reach, or a figure against a
 * limit:
 *
 *     high    new:high    steps.p50_us > +5%    memory.replay.devices.peak_reserved_bytes > 40GiB
 *     gpu.utilization_ratio < 80%
 *
 * With "new:" findings count that the baseline does not have at that severity; without a baseline none does. A sign before
 * the number makes it a change from the baseline: in per cent of it, or in the unit of the figure. Times take
 * ns, us, ms or s; sizes K, M, G, T (powers of 1,000) and Ki, Mi, Gi, Ti (of 1,024), with or without B; ratios % or a plain
 * number; all else a plain number, or one with K, M, G, T. A figure's name is its path in the JSON report; lists are folded
 * by maximum. */
#ifndef AP_CONDITION_H
#define AP_CONDITION_H

#include "expr.h"

#define AP_CONDITIONS_MAX 64

enum ap_condition_kind { AP_CONDITION_severity, AP_CONDITION_figure, AP_CONDITION_change };

struct ap_condition {
    struct ap_text text; /* as given, without the spaces around */
    enum ap_condition_kind kind;
    int severity;                /* its rank, for that kind */
    bool only_new;               /* for that kind: of findings that the baseline lacks */
    struct ap_comparison figure; /* else; its limit in per cent is a share of the baseline */
};

struct ap_conditions {
    struct ap_condition conditions[AP_CONDITIONS_MAX];
    size_t count;
};

/** Read what stands in @texts, each one condition or several with commas between. Text is borrowed. AP_ERROR_USAGE says what
 *  is wrong and what was expected; @has_baseline: changes can be asked for. */
AP_MUST_CHECK enum ap_status ap_conditions_parse(const char *const *texts, size_t count, bool has_baseline,
                                                 struct ap_conditions *ret_conditions, struct ap_error *reterr);

/** Append "conditions" to the root of @model. @before: root of the baseline, or NULL. */
void ap_conditions_judge(const struct ap_conditions *conditions, struct ap_model *model, const struct ap_value *before);

#endif
