/* SPDX-License-Identifier: MIT
 * replay_build.h - a replay graph while it is made. Private to src/facts/replay. */
#ifndef AP_REPLAY_BUILD_H
#define AP_REPLAY_BUILD_H

#include "replay_graph.h"

/** Where a thread is cut. Of those at one time the first ones here come first, on whichever thread: so what lets another
 *  piece go stands before it. */
enum ap_mark_kind {
    AP_MARK_call_end, /* a call that blocked has returned */
    AP_MARK_return,   /* a launch that found the queue full has */
    AP_MARK_step_end,
    AP_MARK_turn_end,  /* another thread has done its turn ... */
    AP_MARK_turn_back, /* ... and the driving one goes on */
    AP_MARK_main_begin,
    AP_MARK_step_start,
    AP_MARK_let_go, /* the driving thread lets another one take its turn ... */
    AP_MARK_begin,  /* of another thread */
    AP_MARK_turn,   /* ... which begins it */
    AP_MARK_launch,
    AP_MARK_call,   /* one that may block */
    AP_MARK_end,    /* of the thread */
    AP_MARK_COUNT_, /* work of devices comes behind them all */
};

struct ap_mark {
    int64_t ns;
    uint32_t track;
    uint32_t row;   /* launch, call, call_end, return: the call */
    uint32_t other; /* call_end: number among the blocking calls; return, steps, turns: number of it */
    uint8_t kind;
};

/** Where a call that may have blocked has returned. */
struct ap_call_end {
    int64_t ns;
    uint32_t task;    /* that begins there */
    uint32_t awaited; /* work */
    bool waited;      /* for it; false = it had ended before the call */
};

/** What another thread does at a stretch. Tasks: AP_NO_TASK = there is none. */
struct ap_turn {
    uint32_t let_go, back; /* of the thread that drives the run: where the turn begins, and where it goes on behind it */
    uint32_t begin, end;   /* of the other thread; the task at the end begins there */
};

/** A launch that waited for a place in the queue. */
struct ap_return {
    uint32_t call;    /* row */
    uint32_t started; /* work: with its start a place was free */
    uint32_t task;    /* that begins where the call has returned */
    int64_t usual_ns; /* what such a call takes by itself */
};

struct ap_replay_build {
    struct ap_replay_graph *graph;
    struct ap_gate *gate;
    const struct ap_trace *trace;
    const struct ap_steps *steps;
    const struct ap_row_order *order;
    const struct ap_call_kinds *calls;
    uint32_t main_track;
    int64_t main_start_ns, main_end_ns;
    const struct ap_path_index *index;
    struct ap_mark *marks;
    size_t mark_count, mark_capacity;
    uint32_t *mark_order; /* marks by track, time and kind */
    size_t mark_order_count;
    struct ap_call_end *call_ends; /* in their order */
    size_t call_end_count, call_end_capacity;
    struct ap_turn *turns;
    size_t turn_count, turn_capacity;
    struct ap_return *returns;
    size_t return_count, return_capacity;
    uint32_t *task_of_launch; /* by place in index->work: the task that begins with the launch of it */
    uint32_t first_of_work;   /* the task of the first work; those of the others follow in their order */
    uint32_t *told_wait;      /* likewise: work of another stream that it waits for, told by the calls of the host. NULL = of
                                 none */
};

/** Whether the call that launched the work is in the trace, on a host thread. */
static inline bool ap_replay_is_launched(const struct ap_replay_build *build, uint32_t work)
{
    const struct ap_trace *trace = build->trace;
    uint32_t launch = ap_path_work(build->index, work).launch;
    return launch != AP_NO_ROW && trace->events.start_ns[launch] != AP_START_UNKNOWN &&
           ap_row_is_of(trace, launch, AP_HOST_KINDS) && trace->events.dur_ns[launch] >= 0;
}

/** The work's own task, once device tasks stand. */
static inline uint32_t ap_replay_task_of_work(const struct ap_replay_build *build, uint32_t work)
{
    return build->first_of_work + work;
}

/** Finds the waits of streams that only the calls of the host tell of. */
AP_MUST_CHECK enum ap_status ap_replay_find_waits(struct ap_replay_build *build, struct ap_error *reterr);
/** Finds the launches that met a full queue, before threads are cut, and links them, once device tasks stand. */
AP_MUST_CHECK enum ap_status ap_replay_find_returns(struct ap_replay_build *build, struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_replay_link_returns(struct ap_replay_build *build, struct ap_error *reterr);
/** Cuts the threads and appends their tasks, in order of thread, then time. Marks are given back. */
AP_MUST_CHECK enum ap_status ap_replay_add_host(struct ap_replay_build *build, struct ap_error *reterr);
void ap_replay_forget_marks(struct ap_replay_build *build);
/** Edges of calls that block and of threads that take turns; device tasks must stand. Numbers of tasks are those of their
 *  making. */
AP_MUST_CHECK enum ap_status ap_replay_link_host(struct ap_replay_build *build, struct ap_error *reterr);
/** Appends device work, with its edges. */
AP_MUST_CHECK enum ap_status ap_replay_add_device(struct ap_replay_build *build, struct ap_error *reterr);

/** How long the task takes, by itself and on the whole. @launch: of a device; of the host AP_NO_TASK. */
AP_MUST_CHECK enum ap_status ap_replay_set_times(struct ap_replay_build *build, struct ap_task *task, int64_t dur_ns,
                                                 uint32_t launch, struct ap_error *reterr);
/** A task of the host takes no more than this by itself; 0 at least. */
void ap_replay_limit_work(struct ap_replay_graph *graph, struct ap_task *task, int64_t most_ns);

AP_MUST_CHECK static inline enum ap_status ap_replay_add_edge(struct ap_replay_build *build, uint32_t from, uint32_t to,
                                                              enum ap_replay_edge_type type, int64_t lag_ns,
                                                              struct ap_error *reterr)
{
    struct ap_replay_graph *graph = build->graph;
    struct ap_replay_edge edge = { .lag = (int32_t)lag_ns };
    edge.from = from & AP_REPLAY_TASKS_MAX;
    edge.to = to & AP_REPLAY_TASKS_MAX;
    edge.type = type & 0xfu;
    if (AP_UNLIKELY(edge.lag != lag_ns)) {
        edge.lag = (int32_t)(uint32_t)graph->far_lag_count;
        edge.is_far = true;
        AP_TRY_ADD(build->gate, graph->far_lags_ns, graph->far_lag_count, graph->far_lag_capacity, reterr, lag_ns);
    }
    AP_TRY_ADD(build->gate, graph->edges, graph->edge_count, graph->edge_capacity, reterr, edge);
    return AP_OK;
}

#endif
