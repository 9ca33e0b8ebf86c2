/* SPDX-License-Identifier: MIT
 * engine_steps.h - the steps of an inference engine, by its annotations, with the GPU work that was launched in each. */
#ifndef AP_ENGINE_STEPS_H
#define AP_ENGINE_STEPS_H

#include "engine_step.h"
#include "facts.h"

struct ap_engine_step {
    struct ap_engine_step_name told;        /* by its annotation and those within it that are of steps too */
    uint32_t row;                           /* the annotation */
    int64_t start_ns, end_ns;               /* of it, on the host */
    int64_t device_start_ns, device_end_ns; /* first start and last end of its GPU work; AP_START_UNKNOWN = it has none */
    int64_t device_ns;                      /* union of it on each device */
    int64_t work_ns, graph_ns;              /* sum of its rows; of those that a graph launch brought */
    int64_t queued_ns; /* its work was queued and none of it ran: it waited for steps before it, recorded or not */
    uint32_t device_rows, graph_launches;
    int64_t step_ns; /* from the end of the step before, on the device where it has work there, to its own end: what an
                          answer waits for its next token. Of the first one from its start, less queued_ns */
    int64_t gap_ns;  /* from the end of the GPU work of the step before to the start of its own, where that comes later */
    bool is_first;   /* of the recording, or behind a rest: no request was there */
};

/** In order of time, those of one thread. */
struct ap_engine_steps {
    struct ap_gate *gate;
    struct ap_engine_step *steps;
    size_t count, capacity;
    size_t elsewhere; /* steps of other threads, left out */
    const char *engine;
    bool overflowed;
};

/** The facts must hold order, names, tree and links. Without steps where no annotation is of one. @steps may be released
 *  after a failure too. */
AP_MUST_CHECK enum ap_status ap_engine_steps_init(struct ap_engine_steps *steps, const struct ap_facts *facts,
                                                  struct ap_gate *gate, struct ap_error *reterr);
/** Only what annotations tell, and when: told, row, start_ns and end_ns of each. */
AP_MUST_CHECK enum ap_status ap_engine_steps_told(struct ap_engine_steps *steps, const struct ap_facts *facts,
                                                  struct ap_gate *gate, struct ap_error *reterr);
void ap_engine_steps_release(struct ap_engine_steps *steps);

/** Number of the step in whose annotation the time is, or steps->count. */
size_t ap_engine_step_at(const struct ap_engine_steps *steps, int64_t at_ns);

#endif
