/* SPDX-License-Identifier: MIT
 * change_host.c - the verbs that change who does the work of the host: fewer launches, other processes. */
#include "change_apply.h"

#include "poison.h"

/* ---- fewer kernels ---- */

struct stream_run {
    uint32_t first; /* task of the kernel that stays */
    uint32_t last;  /* of the one that stood last */
    int64_t count;  /* kernels of the run so far; 0 = none */
};

/* From the launch before to this one the host had nothing to do but this one. */
static void drop_launch(struct ap_applying *applying, const struct stream_run *run, uint32_t task)
{
    const struct ap_replay_graph *graph = applying->graph;
    const struct ap_task *tasks = graph->tasks;
    uint32_t before = ap_task_launch(graph, &tasks[run->last]), launch = ap_task_launch(graph, &tasks[task]);
    if (launch != AP_NO_TASK && before != AP_NO_TASK && launch != before && tasks[launch].track == tasks[before].track)
        applying->edit->work_ns[before] = 0;
}

static void fuse(struct ap_applying *applying, struct stream_run *run, uint32_t task)
{
    struct ap_replay_edit *edit = applying->edit;
    if (run->count == applying->change->number || !run->count) {
        *run = (struct stream_run){ task, task, 1 };
        return;
    }
    run->count++;
    drop_launch(applying, run, task);
    run->last = task;
    if (edit->work_ns[task] > edit->work_ns[run->first])
        edit->work_ns[run->first] = edit->work_ns[task];
    edit->work_ns[task] = 0;
    edit->flags[task] |= AP_TASK_GONE;
}

/* Neighbors on a stream; what stands between two of them ends the run. */
enum ap_status ap_change_fused(struct ap_applying *applying, uint64_t *ret_rows, struct ap_error *reterr)
{
    const struct ap_replay_graph *graph = applying->graph;
    struct stream_run *runs;
    *ret_rows = 0;
    AP_TRY(AP_ALLOC_CLEARED(graph->gate, runs, graph->track_count, reterr));
    for (uint32_t i = 0; i < graph->count; i++) {
        struct stream_run *run = &runs[graph->tasks[i].track];
        if (!graph->tasks[i].is_device || applying->edit->flags[i] & AP_TASK_GONE)
            continue;
        bool chosen = applying->selection->chosen[i] & (AP_CHOSEN | AP_CHOSEN_CAUSE);
        *ret_rows += chosen;
        if (chosen)
            fuse(applying, run, i);
        else
            run->count = 0;
    }
    AP_FREE(graph->gate, runs, graph->track_count);
    return AP_OK;
}

/* ---- one launch ---- */

/* By task of the host: whether it begins with a launch of chosen work, or with one of other work. */
#define LAUNCHES_CHOSEN 1u
#define LAUNCHES_OTHER 2u
#define WAITS 4u /* for a device, another thread, or begins a step: what is launched behind it is another graph */

static void mark_launches(const struct ap_applying *applying, uint8_t *marks)
{
    const struct ap_replay_graph *graph = applying->graph;
    for (uint32_t i = 0; i < graph->count; i++) {
        uint32_t launch = ap_task_launch(graph, &graph->tasks[i]);
        if (launch != AP_NO_TASK)
            marks[launch] |=
                applying->selection->chosen[i] & (AP_CHOSEN | AP_CHOSEN_CAUSE) ? LAUNCHES_CHOSEN : LAUNCHES_OTHER;
    }
    for (size_t i = 0; i < graph->edge_count; i++)
        if (graph->edges[i].type == AP_REPLAY_EDGE_synchronization || graph->edges[i].type == AP_REPLAY_EDGE_handover)
            marks[graph->edges[i].to] |= WAITS;
    for (size_t i = 0; i < graph->step_count; i++)
        if (graph->step_start[i] != AP_NO_TASK)
            marks[graph->step_start[i]] |= WAITS;
}

/* Of a thread: from each launch of chosen work to the next one there is no host work. */
static uint64_t join_launches(struct ap_applying *applying, const uint8_t *marks, uint32_t track)
{
    const struct ap_replay_graph *graph = applying->graph;
    uint64_t launches = 0;
    size_t behind = SIZE_MAX; /* the last launch of the run; SIZE_MAX = there is no run */
    for (size_t i = graph->first_of_thread[track]; i < graph->first_of_thread[track + 1]; i++) {
        uint32_t task = graph->thread_tasks[i];
        if (marks[task] & (WAITS | LAUNCHES_OTHER))
            behind = SIZE_MAX;
        if (!(marks[task] & LAUNCHES_CHOSEN) || marks[task] & LAUNCHES_OTHER)
            continue;
        launches++;
        for (size_t j = behind; j < i; j++)
            applying->edit->work_ns[graph->thread_tasks[j]] = 0;
        behind = i;
    }
    return launches;
}

enum ap_status ap_change_graph(struct ap_applying *applying, uint64_t *ret_rows, struct ap_error *reterr)
{
    const struct ap_replay_graph *graph = applying->graph;
    uint8_t *marks;
    *ret_rows = 0;
    AP_TRY(AP_ALLOC_CLEARED(graph->gate, marks, graph->count, reterr));
    mark_launches(applying, marks);
    for (uint32_t track = 0; track < graph->track_count; track++)
        *ret_rows += join_launches(applying, marks, track);
    AP_FREE(graph->gate, marks, graph->count);
    return AP_OK;
}

/* ---- other processes ---- */

int64_t ap_change_steps_ns(const struct ap_replay_times *times)
{
    bool overflowed = false;
    int64_t sum_ns = 0;
    for (size_t i = 0; i < times->step_count; i++)
        sum_ns = ap_add_sat(sum_ns, ap_replay_step_ns(times, i, true), &overflowed);
    return times->step_count ? sum_ns : times->window_ns;
}

/* With so much of the loader left in the loop. */
static enum ap_status run_with(struct ap_applying *applying, int64_t wait_ns, int64_t made_ns, int64_t *ret_ns,
                               struct ap_error *reterr)
{
    struct ap_replay_edit edit;
    struct ap_replay_times times;
    struct ap_applying tried = *applying;
    enum ap_status status = ap_replay_edit_init(&edit, applying->graph, reterr);
    for (size_t i = 0; i < edit.count && status == AP_OK; i++) {
        edit.work_ns[i] = applying->edit->work_ns[i];
        edit.flags[i] = applying->edit->flags[i];
    }
    tried.edit = &edit;
    if (status == AP_OK) {
        ap_change_shrink(&tried, made_ns - wait_ns, made_ns, 0, true);
        status = ap_replay_run(applying->graph, &edit, &times, reterr);
        if (status == AP_OK)
            *ret_ns = ap_change_steps_ns(&times);
        ap_replay_times_release(&times);
    }
    ap_replay_edit_release(&edit);
    return status;
}

/* Waits that the device hides do not make the run longer: a few tries come near the wait that does. */
#define TRIES 4

/* Taking a batch from another process takes time as well. */
#define TAKE_NS 150000

/* Of the host alone the loop needs the cores too. A batch that is made in less than this is hardly worth a process: such
 * loops came out slower where they were tried. */
#define LIGHT_BATCH_NS (10 * TAKE_NS)

/* N processes make batches while the loop does the rest: the run takes no less than they do, and waits for what they are too
 * slow for. */
enum ap_status ap_change_workers(struct ap_applying *applying, uint64_t *ret_rows, struct ap_error *reterr)
{
    int64_t made_ns = applying->selection->host_ns, least_ns, wait_ns, now_ns;
    uint64_t batches = applying->selection->row_count;
    bool of_host_alone = applying->graph->thread_task_count == applying->graph->count;
    if (made_ns <= 0 || (of_host_alone && (uint64_t)(made_ns / LIGHT_BATCH_NS) < batches)) {
        *ret_rows = 0;
        return AP_OK;
    }
    wait_ns = batches < (uint64_t)(made_ns / TAKE_NS) ? (int64_t)batches * TAKE_NS : made_ns;
    least_ns = made_ns / applying->change->number;
    for (int i = 0; i < TRIES; i++) {
        AP_TRY(run_with(applying, wait_ns, made_ns, &now_ns, reterr));
        if (now_ns >= least_ns)
            break;
        wait_ns += least_ns - now_ns < made_ns - wait_ns ? least_ns - now_ns : made_ns - wait_ns;
    }
    ap_change_shrink(applying, made_ns - wait_ns, made_ns, 0, true);
    return AP_OK;
}
