/* SPDX-License-Identifier: MIT
 * host_state.h - what the host does while a row is the innermost open one of its thread, in the classes of
 * idle_cause.def. */
#ifndef AP_HOST_STATE_H
#define AP_HOST_STATE_H

#include "host_tree.h"

enum ap_idle_cause {
#define AP_IDLE_CAUSE(id, sentence) AP_IDLE_##id,
#include "idle_cause.def"
#undef AP_IDLE_CAUSE
    AP_IDLE_CAUSE_COUNT_
};

/** The id in idle_cause.def, which is a key of the report. */
const char *ap_idle_cause_name(enum ap_idle_cause cause);
/** Its sentence in idle_cause.def. */
const char *ap_idle_cause_meaning(enum ap_idle_cause cause);

/** The host's own work, and launches: what a device waits for while neither batches nor other devices are the cause. */
#define AP_IDLE_OF_HOST                                                                                                     \
    (1u << AP_IDLE_host_python | 1u << AP_IDLE_host_autograd | 1u << AP_IDLE_host_optimizer | 1u << AP_IDLE_host_operator | \
     1u << AP_IDLE_untraced | 1u << AP_IDLE_launch_overhead)
static inline bool ap_idle_is_of_host(enum ap_idle_cause cause)
{
    return AP_IDLE_OF_HOST >> cause & 1;
}

struct ap_host_states {
    struct ap_gate *gate;
    uint8_t *state; /* enum ap_idle_cause by row; only of host rows that are placed in time */
    size_t count;
};

/** A row that tells nothing itself has the state of the row around it. @states may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_host_states_init(struct ap_host_states *states, const struct ap_trace *trace,
                                                 const struct ap_row_order *order, const struct ap_host_tree *tree,
                                                 struct ap_gate *gate, struct ap_error *reterr);
void ap_host_states_release(struct ap_host_states *states);

#endif
