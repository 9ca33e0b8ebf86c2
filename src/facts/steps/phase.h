/* SPDX-License-Identifier: MIT
 * phase.h - which part of a step a row belongs to: forward, backward, optimizer, ... Host rows by their own name or that of
 * the rows around them (phase_names.def); operators that nothing marks are forward up to the last backward row of their
 * step, and inference in a trace without backward. GPU work belongs to the part that launched it. */
#ifndef AP_PHASE_H
#define AP_PHASE_H

#include "kernel_family.h"
#include "links.h"
#include "row_set.h"
#include "steps.h"

enum ap_phase {
#define AP_STEP_PHASE(name) AP_PHASE_##name,
#define AP_STEP_PHASE_NAMED(name)
#define AP_STEP_PHASE_FOUND(name) AP_PHASE_##name,
#include "step_phase.def"
#undef AP_STEP_PHASE
#undef AP_STEP_PHASE_NAMED
#undef AP_STEP_PHASE_FOUND
    AP_PHASE_COUNT_
};

/** As the report names it: "data_loading". */
const char *ap_phase_name(enum ap_phase phase);

struct ap_phases {
    struct ap_gate *gate;
    uint8_t *of_row; /* by row: the phase of host rows */
    size_t count;
    bool has_backward;
    struct ap_row_set backward_tracks; /* those that have backward rows */
    const struct ap_kernel_families *families;
};

/** @phases may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_phases_init(struct ap_phases *phases, const struct ap_trace *trace,
                                            const struct ap_row_order *order, const struct ap_host_tree *tree,
                                            const struct ap_steps *steps, const struct ap_kernel_families *families,
                                            struct ap_gate *gate, struct ap_error *reterr);
void ap_phases_release(struct ap_phases *phases);

static inline enum ap_phase ap_phase_of_row(const struct ap_phases *phases, uint32_t row)
{
    return (enum ap_phase)phases->of_row[row];
}

/** The host row that a row of GPU work is attributed to: its launch, or its operator where the launch is not known or not
 *  within the operator; AP_NO_ROW where neither is in the trace. */
uint32_t ap_work_cause(const struct ap_trace *trace, struct ap_device_row linked);

/** The phase that a row of GPU work belongs to: that of its launch, but a communication kernel is communication whoever
 *  launched it. */
enum ap_phase ap_phase_of_work(const struct ap_phases *phases, const struct ap_trace *trace, struct ap_device_row linked);

#endif
