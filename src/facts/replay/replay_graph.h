/* SPDX-License-Identifier: MIT
 * replay_graph.h - the recorded window as a graph: pieces of work of host threads and devices, and for each piece what it
 * waits for and how long after that it began. What the critical path asks of a trace (path_index.h) is what the edges are
 * made of.
 *
 *   host     --work--|launch|--work--|sync....|--work--
 *                    \                        /
 *   stream            '-lag->[kernel][kernel]'
 *
 * A thread is cut where something hangs on it: at launches, at the ends of calls that block or found a queue full, where
 * another thread goes on, at the bounds of steps. Its pieces follow one another without a hole, so that the time between
 * calls is work, too. Of threads that only ask whether work is done, or have only Python frames, there are none, but of the
 * one that drives the run. */
#ifndef AP_REPLAY_GRAPH_H
#define AP_REPLAY_GRAPH_H

#include "call_kind.h"
#include "path_index.h"
#include "steps.h"

#define AP_NO_TASK UINT32_MAX

/** Why a piece of work waits for another one. */
enum ap_replay_edge_type {
#define AP_REPLAY_EDGE(id) AP_REPLAY_EDGE_##id,
#include "replay_edge.def"
#undef AP_REPLAY_EDGE
    AP_REPLAY_EDGE_COUNT_
};

/** The id in replay_edge.def, which is a key of the report. */
const char *ap_replay_edge_name(enum ap_replay_edge_type type);

/** The end of @from is where @to begins, a lag later; of a launch, hand-over or queue, its start. There are up to twice as
 *  many as rows, so they are small. */
struct ap_replay_edge {
    int32_t lag; /* see ap_replay_lag_ns() */
    uint32_t from : 28;
    uint32_t type : 4;
    uint32_t to : 28;
    uint32_t is_far : 1;
};
/** A graph of more pieces is refused. */
#define AP_REPLAY_TASKS_MAX ((UINT32_C(1) << 28) - 1)

static inline bool ap_replay_edge_is_at_start(const struct ap_replay_edge *edge)
{
    return edge->type == AP_REPLAY_EDGE_launch || edge->type == AP_REPLAY_EDGE_handover ||
           edge->type == AP_REPLAY_EDGE_queue;
}

/** In order of their starts: no edge leads back. There are about as many as rows, so they are small. */
struct ap_task {
    int64_t start_ns; /* as recorded */
    uint32_t dur;     /* likewise, in ns; AP_LONG_TASK = as @of tells */
    union {
        uint32_t work;   /* host: ns that it takes by itself, without the wait in it */
        uint32_t launch; /* device: the task that begins with its launch; AP_NO_TASK = not in the trace */
        uint32_t number; /* of a long one: in long_tasks */
    } of;
    uint32_t row; /* device: of the trace. Host: the call that begins it; AP_NO_ROW = none */
    uint32_t track : 26;
    uint32_t order : 4; /* among those of one time */
    uint32_t is_device : 1;
    uint32_t was_queued : 1; /* when the recording began: its stream has work with a launch only later */
};
/** A trace with more is not replayed. */
#define AP_REPLAY_TRACKS_MAX ((UINT32_C(1) << 26) - 1)

/** One that takes this long, or longer: 4 s. */
#define AP_LONG_TASK UINT32_MAX
struct ap_long_task {
    int64_t dur_ns, work_ns;
    uint32_t launch; /* of a device */
};

struct ap_replay_graph {
    struct ap_gate *gate;
    struct ap_task *tasks;
    size_t count, capacity;
    struct ap_long_task *long_tasks;
    size_t long_task_count, long_task_capacity;
    struct ap_replay_edge *edges; /* by the task they lead to, in the order of the tasks */
    size_t edge_count, edge_capacity;
    int64_t *far_lags_ns; /* those that 32 bits do not hold */
    size_t far_lag_count, far_lag_capacity;
    uint64_t edges_by_type[AP_REPLAY_EDGE_COUNT_];
    uint64_t backward_edge_count; /* left out: what was waited for began later, by the clocks of the file */
    uint32_t *thread_tasks;       /* tasks of the host, track by track, in order of time */
    size_t thread_task_count;
    size_t *first_of_thread; /* by track; those of track i end at first_of_thread[i + 1] */
    size_t track_count;
    uint32_t *step_start, *step_end; /* by step: the task of the thread of the steps that begins there */
    size_t step_count;
    int64_t unexplained_ns;       /* devices without work that no edge explains, where it is longer than any overhead */
    int64_t start_ns;             /* of the first piece */
    int64_t stretch_ns, whole_ns; /* it is of so much of the whole recording */
};

/** As recorded. */
static inline int64_t ap_task_end_ns(const struct ap_replay_graph *graph, const struct ap_task *task)
{
    return task->start_ns + (task->dur == AP_LONG_TASK ? graph->long_tasks[task->of.number].dur_ns : task->dur);
}

/** What it takes by itself: work of a device never waits. */
static inline int64_t ap_task_work_ns(const struct ap_replay_graph *graph, const struct ap_task *task)
{
    if (task->dur == AP_LONG_TASK)
        return graph->long_tasks[task->of.number].work_ns;
    return task->is_device ? task->dur : task->of.work;
}

/** AP_NO_TASK of the host, too. */
static inline uint32_t ap_task_launch(const struct ap_replay_graph *graph, const struct ap_task *task)
{
    if (!task->is_device)
        return AP_NO_TASK;
    return task->dur == AP_LONG_TASK ? graph->long_tasks[task->of.number].launch : task->of.launch;
}

/** Negative where clocks or streams overlap. */
static inline int64_t ap_replay_lag_ns(const struct ap_replay_graph *graph, const struct ap_replay_edge *edge)
{
    return edge->is_far ? graph->far_lags_ns[(uint32_t)edge->lag] : edge->lag;
}

/** Makes the graph. @main_track: the thread that drives the run; AP_NO_ROW = none. The graph borrows nothing.
 *  @graph may be released after a failure too. There must be at most AP_REPLAY_TRACKS_MAX threads and streams. */
AP_MUST_CHECK enum ap_status ap_replay_graph_init(struct ap_replay_graph *graph, const struct ap_trace *trace,
                                                  const struct ap_row_order *order, const struct ap_path_index *index,
                                                  const struct ap_call_kinds *calls, const struct ap_steps *steps,
                                                  uint32_t main_track, struct ap_gate *gate, struct ap_error *reterr);
/** A zeroed one is fine. */
void ap_replay_graph_release(struct ap_replay_graph *graph);

#endif
