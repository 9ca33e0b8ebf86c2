/* SPDX-License-Identifier: MIT
 * change_select.h - the rows that a change is about, as parts of the tasks of a replay graph. */
#ifndef AP_CHANGE_SELECT_H
#define AP_CHANGE_SELECT_H

#include "change.h"
#include "facts.h"
#include "replay_run.h"

#define AP_CHOSEN 1u       /* device: the row itself */
#define AP_CHOSEN_CAUSE 2u /* device: what launched it lies in a host row that is chosen */
#define AP_CHOSEN_START 4u /* host: begins within such a row */

struct ap_selection {
    struct ap_gate *gate;
    int64_t *covered_ns; /* by task: of the host, how much of it lies in rows that are chosen */
    uint8_t *chosen;     /* by task: set of the above */
    size_t count;
    uint64_t row_count;
    int64_t profiler_ns;        /* what the profiler takes for the rows of the host that lie in chosen ones */
    int64_t host_ns, device_ns; /* work of the tasks, as far as it is chosen; of devices, the rows themselves */
};

/** Nodes of the autograd engine, and what made them: found where somebody first asks, and kept for the next change. */
struct ap_made_nodes {
    struct ap_made_node {
        uint32_t producer, row;
    } * list;
    size_t count, capacity;
    bool are_found;
};

/** @selection may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_selection_find(struct ap_selection *selection, const struct ap_facts *facts,
                                               const struct ap_replay_graph *graph, struct ap_made_nodes *nodes,
                                               const struct ap_change *change, struct ap_error *reterr);
void ap_selection_release(struct ap_selection *selection);

/** Device time of the rows that @change is about, and of those of them that @phase launched. Both 0 where it is about others
 *  than rows of devices. */
AP_MUST_CHECK enum ap_status ap_change_device_time(const struct ap_facts *facts, const struct ap_change *change,
                                                   enum ap_phase phase, int64_t *ret_all_ns, int64_t *ret_phase_ns,
                                                   struct ap_error *reterr);

/** About what the profiler takes for a row of the host: less than a microsecond, of PyTorch 2 on processors of its years. */
int64_t ap_profiler_row_ns(const struct ap_trace *trace, uint32_t row);

/** What a host task can lose: work that lies in chosen rows. */
static inline int64_t ap_selection_work_ns(const struct ap_selection *selection, const struct ap_replay_graph *graph,
                                           uint32_t task)
{
    int64_t work_ns = ap_task_work_ns(graph, &graph->tasks[task]), covered_ns = selection->covered_ns[task];
    return covered_ns < work_ns ? covered_ns : work_ns;
}

#endif
