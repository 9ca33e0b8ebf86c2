/* SPDX-License-Identifier: MIT
 * per_step.h - which moments count for figures per step: those in steady steps, neither cold nor cut; in any step where
 * none is steady. */
#ifndef AP_PER_STEP_H
#define AP_PER_STEP_H

#include "steps.h"

struct ap_per_step {
    const struct ap_steps *steps;
    struct ap_step_cursor last; /* that was asked for */
    size_t count;               /* of the steps that count; 0 = there are no steps */
    bool every;                 /* none is steady */
};

static inline struct ap_per_step ap_per_step_of(const struct ap_steps *steps)
{
    struct ap_per_step per_step = { .steps = steps, .last = { steps, 0 } };
    for (size_t i = 0; i < steps->count; i++)
        per_step.count += ap_step_is_steady(&steps->steps[i]);
    per_step.every = !per_step.count;
    per_step.count = per_step.count ? per_step.count : steps->count;
    return per_step;
}

/** Does the step of this number, steps->count for none, count? */
static inline bool ap_per_step_counts(const struct ap_per_step *per_step, size_t step)
{
    return step < per_step->steps->count && (per_step->every || ap_step_is_steady(&per_step->steps->steps[step]));
}

static inline bool ap_per_step_has(struct ap_per_step *per_step, int64_t at_ns)
{
    return ap_per_step_counts(per_step, ap_step_cursor_at(&per_step->last, at_ns));
}

#endif
