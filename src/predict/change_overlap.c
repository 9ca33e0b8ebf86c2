/* SPDX-License-Identifier: MIT
 * change_overlap.c - work that would run beside all else: copies, and collectives, which can begin no sooner than there is
 * something to send, and run one behind the other.
 *
 *   now      [ backward          ][c1][c2][c3]           all of them where they were waited for
 *   then     [ backward          ]                       each begins when its part of the gradients is there;
 *                  [c1]  [c2]    [c3]                    the last one when all are: what is left over the step waits for */
#include "change_apply.h"

#include "poison.h"

/* Collectives that would begin no further apart than this have no work of their own between them. */
#define TOGETHER_NS 20000

static bool is_chosen(const struct ap_applying *applying, uint32_t task)
{
    return applying->graph->tasks[task].is_device && applying->selection->chosen[task] & AP_CHOSEN;
}

static bool is_collective(const struct ap_applying *applying, uint32_t task)
{
    return is_chosen(applying, task) &&
           ap_kernel_is_communication(&applying->facts->families, applying->facts->trace, applying->graph->tasks[task].row);
}

/* What waited for it waits for what it waited for. */
static void take_away(struct ap_applying *applying, uint32_t task)
{
    applying->edit->work_ns[task] = 0;
    applying->edit->flags[task] |= AP_TASK_GONE;
}

/* ---- collectives ---- */

/* Those of one step, in the order of the device. */
struct group {
    size_t first, end; /* into tasks */
};

struct first {
    int64_t work_ns, backward_ns; /* INT64_MAX = there is none */
};

struct pipeline {
    struct ap_applying *applying;
    uint32_t *tasks; /* collectives */
    int64_t *work_ns;
    int64_t *ready_ns; /* when each could begin, were there no other */
    size_t count;
    int64_t *done_ns;    /* by task of the host: when all is done that was launched up to there, collectives aside */
    struct first *first; /* by step, and of what comes behind the last one */
    struct ap_replay_times times; /* without collectives */
};

/* The task that stands for when the work was asked for. */
static uint32_t cause_of(const struct ap_replay_graph *graph, uint32_t task)
{
    uint32_t launch = ap_task_launch(graph, &graph->tasks[task]);
    return launch == AP_NO_TASK ? task : launch;
}

static size_t step_of(const struct pipeline *pipeline, uint32_t task)
{
    const struct ap_replay_graph *graph = pipeline->applying->graph;
    return ap_step_after(&pipeline->applying->facts->steps, graph->tasks[cause_of(graph, task)].start_ns);
}

static bool is_same_step(const struct pipeline *pipeline, size_t a, size_t b)
{
    return step_of(pipeline, pipeline->tasks[a]) == step_of(pipeline, pipeline->tasks[b]);
}

/* The last of each step stays in the replay, without work: it begins when all of its step could. */
static enum ap_status play_without(struct pipeline *pipeline, struct ap_error *reterr)
{
    struct ap_applying *applying = pipeline->applying;
    for (size_t i = 0; i < pipeline->count; i++) {
        bool is_last = i + 1 == pipeline->count || !is_same_step(pipeline, i + 1, i);
        pipeline->work_ns[i] = applying->edit->work_ns[pipeline->tasks[i]];
        take_away(applying, pipeline->tasks[i]);
        if (is_last)
            applying->edit->flags[pipeline->tasks[i]] &= (uint8_t)~AP_TASK_GONE;
    }
    return ap_replay_run(applying->graph, applying->edit, &pipeline->times, reterr);
}

static int64_t end_of(const struct pipeline *pipeline, uint32_t task)
{
    return ap_replay_end_ns(pipeline->applying->graph, pipeline->applying->edit, &pipeline->times, task);
}

/* By task of the host: when all is done that was launched up to there, collectives aside. */
static void find_done(struct pipeline *pipeline)
{
    const struct ap_replay_graph *graph = pipeline->applying->graph;
    int64_t latest_ns = INT64_MIN;
    for (uint32_t i = 0; i < graph->count; i++)
        pipeline->done_ns[i] = INT64_MIN;
    for (uint32_t i = 0; i < graph->count; i++) {
        uint32_t cause = cause_of(graph, i);
        if (!graph->tasks[i].is_device || is_collective(pipeline->applying, i))
            continue;
        int64_t end_ns = end_of(pipeline, i);
        if (end_ns > pipeline->done_ns[cause])
            pipeline->done_ns[cause] = end_ns;
    }
    for (uint32_t i = 0; i < graph->count; i++) {
        latest_ns = pipeline->done_ns[i] > latest_ns ? pipeline->done_ns[i] : latest_ns;
        pipeline->done_ns[i] = latest_ns;
    }
}

/* A collective waits for what its caller had launched before it, whether or not that is recorded; but not for what had not
 * ended when it began. */
static void find_ready(struct pipeline *pipeline)
{
    const struct ap_replay_graph *graph = pipeline->applying->graph;
    int64_t ended_ns = INT64_MIN;
    uint32_t task = 0;
    for (size_t i = 0; i < pipeline->count; i++) {
        uint32_t collective = pipeline->tasks[i];
        for (; task < collective; task++)
            if (graph->tasks[task].is_device &&
                ap_task_end_ns(graph, &graph->tasks[task]) <= graph->tasks[collective].start_ns &&
                !is_collective(pipeline->applying, task) && end_of(pipeline, task) > ended_ns)
                ended_ns = end_of(pipeline, task);
        int64_t start_ns = pipeline->times.start_ns[collective], done_ns = pipeline->done_ns[cause_of(graph, collective)];
        done_ns = done_ns < ended_ns ? done_ns : ended_ns;
        pipeline->ready_ns[i] = start_ns > done_ns ? start_ns : done_ns;
    }
}

static void note_first(int64_t *first_ns, int64_t ns)
{
    *first_ns = ns < *first_ns ? ns : *first_ns;
}

/* When the work of each step begins on the device, and when that of its backward pass. */
static void find_first(struct pipeline *pipeline)
{
    const struct ap_applying *applying = pipeline->applying;
    const struct ap_replay_graph *graph = applying->graph;
    struct ap_step_cursor cursor = { &applying->facts->steps, 0 };
    for (size_t step = 0; step <= applying->facts->steps.count; step++)
        pipeline->first[step] = (struct first){ INT64_MAX, INT64_MAX };
    for (uint32_t i = 0; i < graph->count; i++) {
        uint32_t launch = ap_task_launch(graph, &graph->tasks[i]);
        if (launch == AP_NO_TASK || is_collective(applying, i))
            continue;
        struct first *first = &pipeline->first[ap_step_cursor_after(&cursor, graph->tasks[cause_of(graph, i)].start_ns)];
        note_first(&first->work_ns, pipeline->times.start_ns[i]);
        if (ap_phase_of_row(&applying->facts->phases, graph->tasks[launch].row) == AP_PHASE_backward)
            note_first(&first->backward_ns, pipeline->times.start_ns[i]);
    }
}

/* From when on there is something to send in a step: its backward pass; where none is known, two thirds of what comes
 * before the last collective, which is what a backward pass takes of the two. */
static int64_t sends_from_ns(const struct pipeline *pipeline, const struct group *group)
{
    const struct first *first = &pipeline->first[step_of(pipeline, pipeline->tasks[group->first])];
    int64_t end_ns = pipeline->ready_ns[group->end - 1];
    if (first->backward_ns < end_ns)
        return first->backward_ns;
    return first->work_ns < end_ns ? first->work_ns + (end_ns - first->work_ns) / 3 : end_ns;
}

/* Those that would begin together had nothing between them, though their parts were there one after the other: they share
 * the time before, from the one that began last or from the start of the backward pass on, by what they take. */
static void spread(struct pipeline *pipeline, const struct group *group, int64_t from_ns)
{
    int64_t to_ns = pipeline->ready_ns[group->end - 1], all_ns = 0, so_far_ns = 0;
    bool overflowed = false;
    for (size_t i = group->first; i < group->end; i++)
        all_ns = ap_add_sat(all_ns, pipeline->work_ns[i], &overflowed);
    for (size_t i = group->first; i < group->end && from_ns < to_ns && all_ns > 0; i++) {
        so_far_ns = ap_add_sat(so_far_ns, pipeline->work_ns[i], &overflowed);
        pipeline->ready_ns[i] = from_ns + ap_part_of(to_ns - from_ns, so_far_ns, all_ns);
    }
}

static void spread_all(struct pipeline *pipeline, const struct group *step)
{
    int64_t from_ns = sends_from_ns(pipeline, step);
    for (size_t first = step->first; first < step->end;) {
        struct group together = { first, first + 1 };
        while (together.end < step->end &&
               pipeline->ready_ns[together.end] - pipeline->ready_ns[together.end - 1] <= TOGETHER_NS)
            together.end++;
        int64_t ready_ns = pipeline->ready_ns[together.end - 1];
        if (together.end - first > 1)
            spread(pipeline, &together, from_ns);
        from_ns = ready_ns > from_ns ? ready_ns : from_ns;
        first = together.end;
    }
}

/* One behind the other; the last one of the step takes what is left when the step waits for it. */
static void run_behind(struct pipeline *pipeline, const struct group *step)
{
    int64_t end_ns = INT64_MIN, waits_ns = pipeline->times.start_ns[pipeline->tasks[step->end - 1]];
    bool overflowed = false;
    for (size_t i = step->first; i < step->end; i++) {
        int64_t start_ns = pipeline->ready_ns[i] > end_ns ? pipeline->ready_ns[i] : end_ns;
        end_ns = ap_add_sat(start_ns, pipeline->work_ns[i], &overflowed);
    }
    pipeline->applying->edit->work_ns[pipeline->tasks[step->end - 1]] = end_ns > waits_ns ? end_ns - waits_ns : 0;
}

static void place(struct pipeline *pipeline)
{
    for (struct group step = { 0, 0 }; step.first < pipeline->count; step.first = step.end) {
        step.end = step.first + 1;
        while (step.end < pipeline->count && is_same_step(pipeline, step.end, step.first))
            step.end++;
        spread_all(pipeline, &step);
        run_behind(pipeline, &step);
    }
}

static enum ap_status overlap_collectives(struct pipeline *pipeline, struct ap_error *reterr)
{
    const struct ap_applying *applying = pipeline->applying;
    struct ap_gate *gate = applying->graph->gate;
    size_t most = pipeline->count;
    AP_TRY(AP_ALLOC(gate, pipeline->tasks, most, reterr));
    AP_TRY(AP_ALLOC(gate, pipeline->work_ns, most, reterr));
    AP_TRY(AP_ALLOC(gate, pipeline->ready_ns, most, reterr));
    AP_TRY(AP_ALLOC(gate, pipeline->done_ns, applying->graph->count, reterr));
    AP_TRY(AP_ALLOC(gate, pipeline->first, applying->facts->steps.count + 1, reterr));
    pipeline->count = 0;
    for (uint32_t i = 0; i < applying->graph->count; i++)
        if (is_collective(applying, i))
            pipeline->tasks[pipeline->count++] = i;
    AP_TRY(play_without(pipeline, reterr));
    find_done(pipeline);
    find_ready(pipeline);
    find_first(pipeline);
    place(pipeline);
    return AP_OK;
}

enum ap_status ap_change_overlapped(struct ap_applying *applying, uint64_t *ret_rows, struct ap_error *reterr)
{
    struct pipeline pipeline = { .applying = applying, .times = { .gate = applying->graph->gate } };
    struct ap_gate *gate = applying->graph->gate;
    enum ap_status status = AP_OK;
    *ret_rows = 0;
    for (uint32_t i = 0; i < applying->graph->count; i++) {
        *ret_rows += is_chosen(applying, i);
        pipeline.count += is_collective(applying, i);
        if (is_chosen(applying, i) && !is_collective(applying, i))
            take_away(applying, i);
    }
    size_t most = pipeline.count;
    if (most)
        status = overlap_collectives(&pipeline, reterr);
    AP_FREE(gate, pipeline.tasks, most);
    AP_FREE(gate, pipeline.work_ns, most);
    AP_FREE(gate, pipeline.ready_ns, most);
    AP_FREE(gate, pipeline.first, applying->facts->steps.count + 1);
    AP_FREE(gate, pipeline.done_ns, applying->graph->count);
    ap_replay_times_release(&pipeline.times);
    return status;
}
