/* SPDX-License-Identifier: MIT */
#include "replay_graph.h"

#include <string.h>

#include "replay_build.h"
#include "sort.h"

#include "poison.h"

const char *ap_replay_edge_name(enum ap_replay_edge_type type)
{
    static const char *const names[] = {
#define AP_REPLAY_EDGE(id) #id,
#include "replay_edge.def"
#undef AP_REPLAY_EDGE
    };
    return names[type];
}

/* --------------------------------------------------------------------------------------------- times of the tasks */

enum ap_status ap_replay_set_times(struct ap_replay_build *build, struct ap_task *task, int64_t dur_ns, uint32_t launch,
                                   struct ap_error *reterr)
{
    struct ap_replay_graph *graph = build->graph;
    task->dur = dur_ns < AP_LONG_TASK ? (uint32_t)dur_ns : AP_LONG_TASK;
    if (task->is_device)
        task->of.launch = launch;
    else
        task->of.work = task->dur;
    if (task->dur != AP_LONG_TASK)
        return AP_OK;
    task->of.number = (uint32_t)graph->long_task_count;
    AP_TRY_ADD(build->gate, graph->long_tasks, graph->long_task_count, graph->long_task_capacity, reterr,
               (struct ap_long_task){ dur_ns, dur_ns, launch });
    return AP_OK;
}

void ap_replay_limit_work(struct ap_replay_graph *graph, struct ap_task *task, int64_t most_ns)
{
    most_ns = most_ns > 0 ? most_ns : 0;
    if (ap_task_work_ns(graph, task) <= most_ns)
        return;
    if (task->dur == AP_LONG_TASK)
        graph->long_tasks[task->of.number].work_ns = most_ns;
    else
        task->of.work = (uint32_t)most_ns;
}

/* ------------------------------------------------------------------------------------------- from making to order */

/* Of one time, devices come last: what begins with its launch waits for it. Else as they were made, which is in order of
 * each thread. */
static bool task_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_task *x = (const struct ap_task *)context + a, *y = (const struct ap_task *)context + b;
    AP_SMALLER_FIRST(x->start_ns, y->start_ns);
    AP_SMALLER_FIRST(x->order, y->order);
    return a < b;
}

static void renumber(uint32_t *task, const uint32_t *number)
{
    if (*task != AP_NO_TASK)
        *task = number[*task];
}

/* Edges that would lead back are left out and counted. */
static void keep_forward_edges(struct ap_replay_graph *graph)
{
    size_t kept = 0;
    for (size_t i = 0; i < graph->edge_count; i++) {
        struct ap_replay_edge edge = graph->edges[i];
        if (edge.from >= edge.to) {
            graph->backward_edge_count++;
            continue;
        }
        graph->edges_by_type[edge.type]++;
        graph->edges[kept++] = edge;
    }
    graph->edge_count = kept;
}

/* Each to its place, and @place is used up: a copy of all would be the largest thing that a replay needs. */
#define DEFINE_MOVE(name, type)                                  \
    static void name(type *items, uint32_t *place, size_t count) \
    {                                                            \
        for (uint32_t i = 0; i < count; i++) {                   \
            while (place[i] != i) {                              \
                uint32_t at = place[i];                          \
                type item = items[at];                           \
                items[at] = items[i];                            \
                items[i] = item;                                 \
                place[i] = place[at];                            \
                place[at] = at;                                  \
            }                                                    \
        }                                                        \
    }

DEFINE_MOVE(move_edges, struct ap_replay_edge)
DEFINE_MOVE(move_tasks, struct ap_task)

/* Those that lead to one task stay in their order. @first: cleared, of each task and one more. */
static void place_edges(const struct ap_replay_graph *graph, uint32_t *first, uint32_t *place)
{
    for (size_t i = 0; i < graph->edge_count; i++)
        first[graph->edges[i].to + 1]++;
    for (size_t i = 0; i < graph->count; i++)
        first[i + 1] += first[i];
    for (size_t i = 0; i < graph->edge_count; i++)
        place[i] = first[graph->edges[i].to]++;
}

static enum ap_status order_edges(struct ap_replay_graph *graph, struct ap_error *reterr)
{
    uint32_t *first, *place;
    size_t in_order = 1;
    while (in_order < graph->edge_count && graph->edges[in_order - 1].to <= graph->edges[in_order].to)
        in_order++;
    if (in_order >= graph->edge_count)
        return AP_OK;
    if (graph->edge_count > UINT32_MAX)
        return ap_fail(reterr, AP_ERROR_LIMIT,
                       "more than 4,294,967,295 dependencies: ask about a shorter stretch of the trace");
    AP_TRY(AP_ALLOC_CLEARED(graph->gate, first, graph->count + 1, reterr));
    enum ap_status status = AP_ALLOC(graph->gate, place, graph->edge_count, reterr);
    if (status == AP_OK) {
        place_edges(graph, first, place);
        move_edges(graph->edges, place, graph->edge_count);
        AP_FREE(graph->gate, place, graph->edge_count);
    }
    AP_FREE(graph->gate, first, graph->count + 1);
    return status;
}

static void renumber_all(struct ap_replay_graph *graph, const uint32_t *number)
{
    for (size_t i = 0; i < graph->count; i++)
        if (graph->tasks[i].is_device && graph->tasks[i].dur != AP_LONG_TASK)
            renumber(&graph->tasks[i].of.launch, number);
    for (size_t i = 0; i < graph->long_task_count; i++)
        renumber(&graph->long_tasks[i].launch, number);
    for (size_t i = 0; i < graph->step_count; i++) {
        renumber(&graph->step_start[i], number);
        renumber(&graph->step_end[i], number);
    }
    for (size_t i = 0; i < graph->thread_task_count; i++)
        graph->thread_tasks[i] = number[i];
    for (size_t i = 0; i < graph->edge_count; i++) {
        graph->edges[i].from = number[graph->edges[i].from] & AP_REPLAY_TASKS_MAX;
        graph->edges[i].to = number[graph->edges[i].to] & AP_REPLAY_TASKS_MAX;
    }
}

/* The numbers of the tasks behind ordering, by those of their making. */
static enum ap_status number_tasks(const struct ap_replay_graph *graph, uint32_t **ret_number, uint32_t **ret_spare,
                                   struct ap_error *reterr)
{
    uint32_t *order, *number;
    size_t count;
    AP_TRY(ap_top_indices(graph->gate, (uint32_t)graph->count, 0, task_before, graph->tasks, &order, &count, reterr));
    enum ap_status status = AP_ALLOC(graph->gate, number, count, reterr);
    if (status != AP_OK) {
        AP_FREE(graph->gate, order, count);
        return status;
    }
    for (size_t i = 0; i < count; i++)
        number[order[i]] = (uint32_t)i;
    *ret_number = number;
    *ret_spare = order;
    return AP_OK;
}

static enum ap_status move_all(struct ap_replay_graph *graph, struct ap_error *reterr)
{
    uint32_t *number, *spare;
    AP_TRY(number_tasks(graph, &number, &spare, reterr));
    memcpy(spare, number, graph->count * sizeof(number[0]));
    move_tasks(graph->tasks, spare, graph->count);
    AP_FREE(graph->gate, spare, graph->count);
    renumber_all(graph, number);
    AP_FREE(graph->gate, number, graph->count);
    return AP_OK;
}

static enum ap_status order_tasks(struct ap_replay_graph *graph, struct ap_error *reterr)
{
    size_t in_order = 1;
    if (graph->count > AP_REPLAY_TASKS_MAX)
        return ap_fail(reterr, AP_ERROR_LIMIT,
                       "more than 268,435,455 pieces of work to replay: ask about a shorter stretch of "
                       "the trace");
    while (in_order < graph->count && task_before(graph->tasks, (uint32_t)in_order - 1, (uint32_t)in_order))
        in_order++;
    if (in_order < graph->count)
        AP_TRY(move_all(graph, reterr));
    keep_forward_edges(graph);
    return order_edges(graph, reterr);
}

/* ----------------------------------------------------------------------------------------------------- the graph */

/* Before tasks are put in order: those of the host come first, thread by thread. */
static enum ap_status list_threads(struct ap_replay_graph *graph, struct ap_error *reterr)
{
    AP_TRY(AP_ALLOC_CLEARED(graph->gate, graph->first_of_thread, graph->track_count + 1, reterr));
    graph->thread_task_count = graph->count;
    if (graph->count)
        AP_TRY(AP_ALLOC(graph->gate, graph->thread_tasks, graph->count, reterr));
    for (size_t i = 0; i < graph->count; i++)
        graph->first_of_thread[graph->tasks[i].track + 1]++;
    for (uint32_t i = 0; i < graph->count; i++)
        graph->thread_tasks[i] = i;
    for (size_t i = 0; i < graph->track_count; i++)
        graph->first_of_thread[i + 1] += graph->first_of_thread[i];
    return AP_OK;
}

static enum ap_status start_build(struct ap_replay_build *build, struct ap_error *reterr)
{
    struct ap_replay_graph *graph = build->graph;
    size_t works = build->index->work_count;
    if (graph->step_count) {
        AP_TRY(AP_ALLOC(build->gate, graph->step_start, graph->step_count, reterr));
        AP_TRY(AP_ALLOC(build->gate, graph->step_end, graph->step_count, reterr));
    }
    for (size_t i = 0; i < graph->step_count; i++)
        graph->step_start[i] = graph->step_end[i] = AP_NO_TASK;
    if (works)
        AP_TRY(AP_ALLOC(build->gate, build->task_of_launch, works, reterr));
    for (size_t i = 0; i < works; i++)
        build->task_of_launch[i] = AP_NO_TASK;
    return AP_OK;
}

static void release_build(struct ap_replay_build *build)
{
    AP_FREE(build->gate, build->task_of_launch, build->index->work_count);
    AP_FREE(build->gate, build->told_wait, build->index->work_count);
    ap_replay_forget_marks(build);
    AP_FREE(build->gate, build->call_ends, build->call_end_capacity);
    AP_FREE(build->gate, build->turns, build->turn_capacity);
    AP_FREE(build->gate, build->returns, build->return_capacity);
    *build = (struct ap_replay_build){ .graph = build->graph, .gate = build->gate, .index = build->index };
}

static enum ap_status make(struct ap_replay_build *build, struct ap_error *reterr)
{
    AP_TRY(start_build(build, reterr));
    AP_TRY(ap_replay_find_waits(build, reterr));
    AP_TRY(ap_replay_find_returns(build, reterr));
    AP_TRY(ap_replay_add_host(build, reterr));
    AP_TRY(list_threads(build->graph, reterr));
    AP_TRY(ap_replay_add_device(build, reterr));
    AP_TRY(ap_replay_link_host(build, reterr));
    AP_TRY(ap_replay_link_returns(build, reterr));
    release_build(build); /* so that it does not stand beside the copy that is in order */
    return order_tasks(build->graph, reterr);
}

enum ap_status ap_replay_graph_init(struct ap_replay_graph *graph, const struct ap_trace *trace,
                                    const struct ap_row_order *order, const struct ap_path_index *index,
                                    const struct ap_call_kinds *calls, const struct ap_steps *steps, uint32_t main_track,
                                    struct ap_gate *gate, struct ap_error *reterr)
{
    *graph = (struct ap_replay_graph){ .gate = gate };
    if (!trace->has_window)
        return AP_OK;
    graph->stretch_ns = graph->whole_ns = trace->window_end_ns - trace->window_start_ns;
    struct ap_replay_build build = { .graph = graph,
                                     .gate = gate,
                                     .trace = trace,
                                     .steps = steps,
                                     .order = order,
                                     .calls = calls,
                                     .index = index,
                                     .main_track = main_track };
    graph->step_count = steps->count;
    graph->track_count = order->track_count;
    enum ap_status status = make(&build, reterr);
    graph->start_ns = graph->count ? graph->tasks[0].start_ns : trace->window_start_ns;
    release_build(&build);
    return status;
}

void ap_replay_graph_release(struct ap_replay_graph *graph)
{
    AP_FREE(graph->gate, graph->tasks, graph->capacity);
    AP_FREE(graph->gate, graph->long_tasks, graph->long_task_capacity);
    AP_FREE(graph->gate, graph->edges, graph->edge_capacity);
    AP_FREE(graph->gate, graph->far_lags_ns, graph->far_lag_capacity);
    AP_FREE(graph->gate, graph->thread_tasks, graph->thread_task_count);
    if (graph->first_of_thread)
        AP_FREE(graph->gate, graph->first_of_thread, graph->track_count + 1);
    AP_FREE(graph->gate, graph->step_start, graph->step_count);
    AP_FREE(graph->gate, graph->step_end, graph->step_count);
    *graph = (struct ap_replay_graph){ .gate = NULL };
}
