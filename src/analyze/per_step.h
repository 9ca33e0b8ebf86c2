/* SPDX-License-Identifier: MIT
 * per_step.h - which moments count for figures per step: those in steady steps, neither cold nor cut; in any step where
 * none is steady. */
#ifndef AP_PER_STEP_H
#define AP_PER_STEP_H

#include "steps.h"

struct ap_per_step {
    const struct ap_steps *steps;
    size_t count; /* of the steps that count; 0 = there are no steps */
    bool every;   /* none is steady */
};

static inline struct ap_per_step ap_per_step_of(const struct ap_steps *steps)
{
    struct ap_per_step per_step = { .steps = steps };
    for (size_t i = 0; i < steps->count; i++)
        per_step.count += ap_step_is_steady(&steps->steps[i]);
    per_step.every = !per_step.count;
    per_step.count = per_step.count ? per_step.count : steps->count;
    return per_step;
}

static inline bool ap_per_step_has(const struct ap_per_step *per_step, int64_t at_ns)
{
    size_t low = 0, high = per_step->steps->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (per_step->steps->steps[middle].start_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    const struct ap_step *step = low ? &per_step->steps->steps[low - 1] : NULL;
    return step && at_ns < step->end_ns && (per_step->every || ap_step_is_steady(step));
}

#endif
