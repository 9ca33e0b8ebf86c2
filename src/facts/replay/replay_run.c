/* SPDX-License-Identifier: MIT */
#include "replay_run.h"

#include "sort.h"

#include "poison.h"

enum ap_status ap_replay_edit_init(struct ap_replay_edit *edit, const struct ap_replay_graph *graph, struct ap_error *reterr)
{
    *edit = (struct ap_replay_edit){ .gate = graph->gate, .count = graph->count, .samples = 1000 };
    if (!graph->count)
        return AP_OK;
    AP_TRY(AP_ALLOC(edit->gate, edit->work_ns, edit->count, reterr));
    AP_TRY(AP_ALLOC_CLEARED(edit->gate, edit->flags, edit->count, reterr));
    for (size_t i = 0; i < edit->count; i++)
        edit->work_ns[i] = ap_task_work_ns(graph, &graph->tasks[i]);
    return AP_OK;
}

void ap_replay_edit_release(struct ap_replay_edit *edit)
{
    AP_FREE(edit->gate, edit->work_ns, edit->count);
    AP_FREE(edit->gate, edit->flags, edit->count);
    *edit = (struct ap_replay_edit){ .gate = edit->gate };
}

/* --------------------------------------------------------------------------------------------------------- replay */

static bool is_ignored(const struct ap_replay_edge *edge, unsigned flags)
{
    switch (edge->type) {
    case AP_REPLAY_EDGE_launch: return flags & AP_TASK_GONE;
    case AP_REPLAY_EDGE_synchronization: return flags & AP_TASK_NO_SYNC;
    case AP_REPLAY_EDGE_handover: return flags & AP_TASK_NO_TURN;
    case AP_REPLAY_EDGE_event_wait:
    case AP_REPLAY_EDGE_inferred_wait: return flags & AP_TASK_NO_WAIT;
    default: return false;
    }
}

static int64_t release_ns(const struct ap_replay_graph *graph, const struct ap_replay_edit *edit,
                          const struct ap_replay_times *times, const struct ap_replay_edge *edge, unsigned flags)
{
    bool overflowed = false;
    int64_t ns =
        ap_replay_edge_is_at_start(edge) ? times->start_ns[edge->from] : ap_replay_end_ns(graph, edit, times, edge->from);
    int64_t lag_ns = ap_replay_lag_ns(graph, edge);
    return flags & AP_TASK_GONE && lag_ns > 0 ? ns : ap_add_sat(ns, lag_ns, &overflowed);
}

static void play(const struct ap_replay_graph *graph, const struct ap_replay_edit *edit, struct ap_replay_times *times)
{
    size_t edge = 0;
    for (uint32_t i = 0; i < graph->count; i++) {
        unsigned flags = edit ? edit->flags[i] : 0;
        int64_t start_ns = INT64_MIN;
        bool had_edges = edge < graph->edge_count && graph->edges[edge].to == i;
        for (; edge < graph->edge_count && graph->edges[edge].to == i; edge++) {
            bool ignored = flags && is_ignored(&graph->edges[edge], flags);
            int64_t ns = ignored ? INT64_MIN : release_ns(graph, edit, times, &graph->edges[edge], flags);
            start_ns = ns > start_ns ? ns : start_ns;
        }
        if (start_ns == INT64_MIN)
            start_ns = had_edges ? graph->start_ns : graph->tasks[i].start_ns;
        times->start_ns[i] = start_ns;
    }
}

/* ---------------------------------------------------------------------------------------------------------- steps */

/* Without a replay as it was recorded. */
static int64_t start_of(const struct ap_replay_graph *graph, const struct ap_replay_times *times, uint32_t task)
{
    return times->start_ns ? times->start_ns[task] : graph->tasks[task].start_ns;
}

static int64_t end_of(const struct ap_replay_graph *graph, const struct ap_replay_edit *edit,
                      const struct ap_replay_times *times, uint32_t task)
{
    return times->start_ns ? ap_replay_end_ns(graph, edit, times, task) : ap_task_end_ns(graph, &graph->tasks[task]);
}

static int64_t step_bound_ns(const struct ap_replay_graph *graph, const struct ap_replay_times *times, uint32_t task)
{
    return task == AP_NO_TASK ? INT64_MIN : start_of(graph, times, task);
}

static int64_t recorded_start_ns(const struct ap_replay_graph *graph, size_t step)
{
    return graph->step_start[step] == AP_NO_TASK ? INT64_MAX : graph->tasks[graph->step_start[step]].start_ns;
}

/* Device work is of the step that launched it, or, where that is not known, that it ran in; what was queued when the
 * recording began is of none. Tasks come in order of time. */
static void add_device_ends(const struct ap_replay_graph *graph, const struct ap_replay_edit *edit,
                            struct ap_replay_times *times)
{
    size_t low = 0;
    int64_t from_ns = INT64_MAX, to_ns = INT64_MIN; /* causes between them are of the step before low */
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct ap_task *task = &graph->tasks[i];
        if (!task->is_device || (edit && edit->flags[i] & AP_TASK_GONE))
            continue;
        uint32_t launch = ap_task_launch(graph, task);
        int64_t cause_ns = graph->tasks[launch == AP_NO_TASK ? i : launch].start_ns;
        if (cause_ns < from_ns || cause_ns >= to_ns) {
            AP_SEEK(low, graph->step_count, at, recorded_start_ns(graph, at) <= cause_ns);
            from_ns = low ? recorded_start_ns(graph, low - 1) : INT64_MIN;
            to_ns = low < graph->step_count ? recorded_start_ns(graph, low) : INT64_MAX;
        }
        int64_t *done_ns = low && !task->was_queued ? &times->steps[low - 1].done_ns : &times->before_done_ns;
        int64_t end_ns = end_of(graph, edit, times, i);
        if (end_ns > *done_ns)
            *done_ns = end_ns;
    }
}

static void find_steps(const struct ap_replay_graph *graph, const struct ap_replay_edit *edit, struct ap_replay_times *times)
{
    for (size_t i = 0; i < graph->step_count; i++) {
        int64_t end_ns = step_bound_ns(graph, times, graph->step_end[i]);
        times->steps[i] = (struct ap_replayed_step){ step_bound_ns(graph, times, graph->step_start[i]), end_ns };
    }
    add_device_ends(graph, edit, times);
}

static void find_window(const struct ap_replay_graph *graph, const struct ap_replay_edit *edit,
                        struct ap_replay_times *times)
{
    int64_t start_ns = INT64_MAX, end_ns = INT64_MIN, device_end_ns = INT64_MIN;
    for (uint32_t i = 0; i < graph->count; i++) {
        if (edit && edit->flags[i] & AP_TASK_GONE)
            continue;
        int64_t task_start_ns = start_of(graph, times, i), task_end_ns = end_of(graph, edit, times, i);
        start_ns = task_start_ns < start_ns ? task_start_ns : start_ns;
        end_ns = task_end_ns > end_ns ? task_end_ns : end_ns;
        if (graph->tasks[i].is_device && task_end_ns > device_end_ns)
            device_end_ns = task_end_ns;
    }
    times->window_ns = end_ns > start_ns ? end_ns - start_ns : 0;
    times->device_ns = device_end_ns > start_ns ? device_end_ns - start_ns : 0;
}

static enum ap_status times_init(struct ap_replay_times *times, const struct ap_replay_graph *graph, struct ap_error *reterr)
{
    *times = (struct ap_replay_times){ .gate = graph->gate, .step_count = graph->step_count, .before_done_ns = INT64_MIN };
    return graph->step_count ? AP_ALLOC(times->gate, times->steps, times->step_count, reterr) : AP_OK;
}

enum ap_status ap_replay_run(const struct ap_replay_graph *graph, const struct ap_replay_edit *edit,
                             struct ap_replay_times *times, struct ap_error *reterr)
{
    AP_TRY(times_init(times, graph, reterr));
    times->count = graph->count;
    if (graph->count)
        AP_TRY(AP_ALLOC(times->gate, times->start_ns, times->count, reterr));
    play(graph, edit, times);
    find_steps(graph, edit, times);
    find_window(graph, edit, times);
    return AP_OK;
}

enum ap_status ap_replay_recorded(const struct ap_replay_graph *graph, struct ap_replay_times *times,
                                  struct ap_error *reterr)
{
    AP_TRY(times_init(times, graph, reterr));
    find_steps(graph, NULL, times);
    find_window(graph, NULL, times);
    return AP_OK;
}

void ap_replay_times_forget_tasks(struct ap_replay_times *times)
{
    AP_FREE(times->gate, times->start_ns, times->count);
    times->start_ns = NULL;
    times->count = 0;
}

void ap_replay_times_release(struct ap_replay_times *times)
{
    ap_replay_times_forget_tasks(times);
    AP_FREE(times->gate, times->steps, times->step_count);
    *times = (struct ap_replay_times){ .gate = times->gate };
}

int64_t ap_replay_step_ns(const struct ap_replay_times *times, size_t step, bool follows)
{
    int64_t from_ns = times->steps[step].start_ns;
    int64_t done_ns = !step ? times->before_done_ns : follows ? times->steps[step - 1].done_ns : INT64_MIN;
    if (done_ns > from_ns)
        from_ns = done_ns;
    return times->steps[step].done_ns > from_ns ? times->steps[step].done_ns - from_ns : 0;
}
