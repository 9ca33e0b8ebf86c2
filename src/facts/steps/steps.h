/* SPDX-License-Identifier: MIT
 * steps.h - the steps of the training or inference loop: found once, before the passes that count or split by step. */
#ifndef AP_STEPS_H
#define AP_STEPS_H

#include "row_order.h"

struct ap_step {
    int64_t start_ns, end_ns;
    uint32_t row; /* that marks it */
    bool cold;    /* a leading one of more than 1.5 medians of the others */
    bool cut;     /* the recording ends or begins within it */
};

#define AP_STEP_FAMILY_BYTES 120

/** In order of time; steps of one list do not overlap. */
struct ap_steps {
    struct ap_gate *gate;
    struct ap_step *steps;
    size_t count, capacity;
    const char *source;                /* what marks them: "ProfilerStep", ...; NULL where there are none */
    char family[AP_STEP_FAMILY_BYTES]; /* annotations: their name, "N" for numbers where those differ; else "" */
    bool periods;                      /* a step lasts from the start of its row to the start of the next one */
    size_t overlapping_count;          /* rows left out because an earlier one covers more than half of them */
};

/** @order must hold annotations, operators and runtime calls. */
AP_MUST_CHECK enum ap_status ap_steps_init(struct ap_steps *steps, const struct ap_trace *trace,
                                           const struct ap_row_order *order, struct ap_gate *gate, struct ap_error *reterr);
void ap_steps_release(struct ap_steps *steps);

/** Number of the first step that ends after the time, or steps->count. */
size_t ap_step_after(const struct ap_steps *steps, int64_t at_ns);
/** Number of the step that holds the time, or steps->count. */
size_t ap_step_at(const struct ap_steps *steps, int64_t at_ns);

/** For questions about times that mostly lie in the step of the question before: { steps, 0 } to begin with. */
struct ap_step_cursor {
    const struct ap_steps *steps;
    size_t after; /* the answer to the last question */
};

/** Like ap_step_after. */
static inline size_t ap_step_cursor_after(struct ap_step_cursor *cursor, int64_t at_ns)
{
    const struct ap_step *steps = cursor->steps->steps;
    size_t count = cursor->steps->count, after = cursor->after;
    if ((after < count && steps[after].end_ns <= at_ns) || (after && steps[after - 1].end_ns > at_ns))
        cursor->after = ap_step_after(cursor->steps, at_ns);
    return cursor->after;
}

/** Like ap_step_at. */
static inline size_t ap_step_cursor_at(struct ap_step_cursor *cursor, int64_t at_ns)
{
    size_t after = ap_step_cursor_after(cursor, at_ns);
    return after < cursor->steps->count && cursor->steps->steps[after].start_ns <= at_ns ? after : cursor->steps->count;
}

/** All of a stretch lies in it: as steps lie apart, none of it in another one. */
static inline bool ap_step_holds(const struct ap_step *step, int64_t start_ns, int64_t end_ns)
{
    return step->start_ns <= start_ns && end_ns <= step->end_ns;
}

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
