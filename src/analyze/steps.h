/* SPDX-License-Identifier: MIT
 * steps.h - the steps of the training or inference loop: found once, before the passes that count or split by step. */
#ifndef AP_STEPS_H
#define AP_STEPS_H

#include "row_order.h"

struct ap_step {
    int64_t start_ns, end_ns;
    uint32_t row;  /* that marks it */
    bool cold;     /* a leading one of more than 1.5 medians of the others */
    bool cut;      /* the recording ends or begins within it */
};

#define AP_STEP_FAMILY_BYTES 120

/** In order of time; steps of one list do not overlap. */
struct ap_steps {
    struct ap_gate *gate;
    struct ap_step *steps;
    size_t count, capacity;
    const char *source; /* what marks them: "ProfilerStep", ...; NULL where there are none */
    char family[AP_STEP_FAMILY_BYTES]; /* annotations: their name, "N" for numbers where those differ; else "" */
    bool periods;                      /* a step lasts from the start of its row to the start of the next one */
    size_t overlapping_count;          /* rows left out because an earlier one covers more than half of them */
};

/** @order must hold annotations, operators and runtime calls. */
AP_MUST_CHECK enum ap_status ap_steps_init(struct ap_steps *steps, const struct ap_trace *trace,
                                           const struct ap_row_order *order, struct ap_gate *gate,
                                           struct ap_error *reterr);
void ap_steps_release(struct ap_steps *steps);

/** Number of the step that holds the time, or steps->count. */
size_t ap_step_at(const struct ap_steps *steps, int64_t at_ns);

static inline bool ap_step_is_steady(const struct ap_step *step)
{
    return !step->cold && !step->cut;
}

/** As recorded: a row that begins within the step before it has lost that part in start_ns, but not here. */
static inline int64_t ap_step_dur_ns(const struct ap_steps *steps, const struct ap_trace *trace, size_t index)
{
    const struct ap_step *step = &steps->steps[index];
    return steps->periods ? step->end_ns - step->start_ns : trace->events.dur_ns[step->row];
}

#endif
