/* SPDX-License-Identifier: MIT
 * change_apply.c - the verbs that make work shorter or take it away. */
#include "change_apply.h"

#include "collective.h"
#include "sort.h"

#include "poison.h"

static ap_change_verb_fn *const functions[] = {
#define AP_CHANGE_VERB(id, number, limit) ap_change_##id,
#include "change_verb.def"
#undef AP_CHANGE_VERB
};

static int64_t host_work_ns(const struct ap_replay_graph *graph, const struct ap_replay_edit *edit)
{
    bool overflowed = false;
    int64_t sum_ns = 0;
    for (size_t i = 0; i < graph->count; i++)
        sum_ns = graph->tasks[i].is_device ? sum_ns : ap_add_sat(sum_ns, edit->work_ns[i], &overflowed);
    return sum_ns;
}

/* Of rows that take hardly more than the profiler does, a part is left in any case. */
#define PROFILER_PERCENT 75

static int64_t quiet_ns(const struct ap_selection *selection, int64_t lost_ns, int64_t own_ns)
{
    int64_t most_ns = ap_part_of(selection->host_ns, PROFILER_PERCENT, 100);
    return lost_ns - ap_part_of(lost_ns, own_ns < most_ns ? own_ns : most_ns, selection->host_ns);
}

/* What went has the profiler's own work in it, as much as the chosen rows; where only so much of a thread goes, up to twice
 * as much as its other rows. */
static void note_loss(const struct ap_applying *applying, int64_t before_ns)
{
    const struct ap_selection *selection = applying->selection;
    struct ap_replay_edit *edit = applying->edit;
    int64_t lost_ns = before_ns - host_work_ns(applying->graph, edit), own_ns = selection->profiler_ns;
    bool overflowed = false;
    int64_t most_ns = applying->change->verb == AP_CHANGE_less ? ap_add_sat(own_ns, own_ns, &overflowed) : own_ns;
    if (lost_ns <= 0)
        return;
    edit->lost_ns = ap_add_sat(edit->lost_ns, lost_ns, &overflowed);
    edit->quiet_lost_ns = ap_add_sat(edit->quiet_lost_ns, quiet_ns(selection, lost_ns, own_ns), &overflowed);
    edit->least_lost_ns = ap_add_sat(edit->least_lost_ns, quiet_ns(selection, lost_ns, most_ns), &overflowed);
}

enum ap_status ap_change_apply(const struct ap_facts *facts, const struct ap_replay_graph *graph,
                               const struct ap_batch_cost *batch, struct ap_made_nodes *nodes,
                               const struct ap_change *change, struct ap_replay_edit *edit, uint64_t *ret_rows,
                               struct ap_error *reterr)
{
    struct ap_selection selection;
    struct ap_applying applying = { facts, graph, change, &selection, edit, batch };
    enum ap_status status = ap_selection_find(&selection, facts, graph, nodes, change, reterr);
    uint64_t rows = selection.row_count;
    int64_t before_ns = host_work_ns(graph, edit);
    if (status == AP_OK && (rows || change->verb == AP_CHANGE_times))
        status = functions[change->verb](&applying, &rows, reterr);
    if (status == AP_OK)
        note_loss(&applying, before_ns);
    ap_selection_release(&selection);
    if (status == AP_OK)
        *ret_rows = rows;
    return status;
}

/* ---- shorter ---- */

/* Work that an earlier change has made shorter loses its part of what is left. */
static void shrink_task(struct ap_replay_edit *edit, const struct ap_replay_graph *graph, uint32_t task, int64_t loss_ns)
{
    int64_t work_ns = ap_task_work_ns(graph, &graph->tasks[task]);
    if (loss_ns > 0 && work_ns > 0)
        edit->work_ns[task] -= ap_part_of(edit->work_ns[task], loss_ns < work_ns ? loss_ns : work_ns, work_ns);
}

void ap_change_shrink(struct ap_applying *applying, int64_t part, int64_t whole, unsigned of_devices, bool of_host)
{
    const struct ap_replay_graph *graph = applying->graph;
    for (uint32_t i = 0; i < graph->count; i++) {
        int64_t ns = 0;
        if (graph->tasks[i].is_device)
            ns = applying->selection->chosen[i] & of_devices ? ap_task_work_ns(graph, &graph->tasks[i]) : 0;
        else if (of_host)
            ns = ap_selection_work_ns(applying->selection, graph, i);
        shrink_task(applying->edit, graph, i, ap_part_of(ns, part, whole));
    }
}

/* Slower than it was: a factor below one. */
static void stretch(struct ap_applying *applying, int64_t factor)
{
    const struct ap_replay_graph *graph = applying->graph;
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct ap_task *task = &graph->tasks[i];
        bool device = task->is_device;
        int64_t ns =
            device && applying->selection->chosen[i] & (AP_CHOSEN | AP_CHOSEN_CAUSE) ? ap_task_work_ns(graph, task) : 0;
        bool overflowed = false;
        if (!device)
            ns = ap_selection_work_ns(applying->selection, graph, i);
        for (int64_t times = 1000 / factor; ns > 0 && times > 1; times--)
            applying->edit->work_ns[i] = ap_add_sat(applying->edit->work_ns[i], ns, &overflowed);
    }
}

enum ap_status ap_change_speedup(struct ap_applying *applying, uint64_t *ret_rows, struct ap_error *reterr)
{
    int64_t factor = applying->change->number;
    (void)ret_rows;
    (void)reterr;
    if (factor >= 1000)
        ap_change_shrink(applying, factor - 1000, factor, AP_CHOSEN | AP_CHOSEN_CAUSE, true);
    else
        stretch(applying, factor);
    return AP_OK;
}

enum ap_status ap_change_hostfree(struct ap_applying *applying, uint64_t *ret_rows, struct ap_error *reterr)
{
    (void)ret_rows;
    (void)reterr;
    ap_change_shrink(applying, 1, 1, 0, true);
    return AP_OK;
}

enum ap_status ap_change_less(struct ap_applying *applying, uint64_t *ret_rows, struct ap_error *reterr)
{
    struct ap_selection *selection = applying->selection;
    const struct ap_replay_graph *graph = applying->graph;
    int64_t whole_ns = selection->host_ns + selection->device_ns;
    int64_t part_ns = ap_part_of(applying->change->number, graph->stretch_ns, graph->whole_ns);
    (void)reterr;
    if (whole_ns <= 0)
        *ret_rows = 0;
    else
        ap_change_shrink(applying, part_ns < whole_ns ? part_ns : whole_ns, whole_ns, AP_CHOSEN, true);
    return AP_OK;
}

/* ---- gone ---- */

/* The piece of the thread before the task, which its edges name. */
static bool is_wholly_chosen(const struct ap_applying *applying, uint32_t task)
{
    const struct ap_task *piece = &applying->graph->tasks[task];
    int64_t dur_ns = ap_task_end_ns(applying->graph, piece) - piece->start_ns;
    return dur_ns > 0 ? applying->selection->covered_ns[task] >= dur_ns
                      : applying->selection->chosen[task] & AP_CHOSEN_START;
}

/* What follows a call that is wholly chosen does not wait. */
static void unblock(struct ap_applying *applying)
{
    const struct ap_replay_graph *graph = applying->graph;
    for (size_t i = 0; i < graph->edge_count; i++) {
        const struct ap_replay_edge *edge = &graph->edges[i];
        if (edge->type == AP_REPLAY_EDGE_thread && is_wholly_chosen(applying, edge->from))
            applying->edit->flags[edge->to] |= AP_TASK_NO_SYNC;
    }
}

enum ap_status ap_change_gone(struct ap_applying *applying, uint64_t *ret_rows, struct ap_error *reterr)
{
    (void)ret_rows;
    (void)reterr;
    ap_change_shrink(applying, 1, 1, AP_CHOSEN | AP_CHOSEN_CAUSE, true);
    unblock(applying);
    for (uint32_t i = 0; i < applying->graph->count; i++)
        if (applying->graph->tasks[i].is_device && applying->selection->chosen[i] & (AP_CHOSEN | AP_CHOSEN_CAUSE))
            applying->edit->flags[i] |= AP_TASK_GONE;
    return AP_OK;
}

/* ---- beside all else ---- */

static uint64_t count_devices(const struct ap_applying *applying)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < applying->graph->count; i++)
        count += applying->graph->tasks[i].is_device && applying->selection->chosen[i] & AP_CHOSEN;
    return count;
}

enum ap_status ap_change_nowait(struct ap_applying *applying, uint64_t *ret_rows, struct ap_error *reterr)
{
    (void)reterr;
    *ret_rows = count_devices(applying);
    for (uint32_t i = 0; i < applying->graph->count; i++)
        if (applying->graph->tasks[i].is_device && applying->selection->chosen[i] & AP_CHOSEN)
            applying->edit->flags[i] |= AP_TASK_NO_WAIT;
    return AP_OK;
}

enum ap_status ap_change_async(struct ap_applying *applying, uint64_t *ret_rows, struct ap_error *reterr)
{
    const struct ap_replay_graph *graph = applying->graph;
    (void)reterr;
    *ret_rows = count_devices(applying);
    for (size_t i = 0; i < graph->edge_count; i++) {
        const struct ap_replay_edge *edge = &graph->edges[i];
        if (edge->type == AP_REPLAY_EDGE_synchronization && applying->selection->chosen[edge->from] & AP_CHOSEN)
            applying->edit->flags[edge->to] |= AP_TASK_NO_SYNC;
    }
    return AP_OK;
}

/* ---- rows against the fastest of their like ---- */

struct likes {
    const struct ap_applying *applying;
    const uint32_t *tasks;
};

static uint32_t row_of(const struct likes *likes, uint32_t at)
{
    return likes->applying->graph->tasks[likes->tasks[at]].row;
}

/* Of what is no collective, none. */
static struct ap_collective collective_of(const struct likes *likes, uint32_t at)
{
    const struct ap_collective *collective = ap_row_collective(likes->applying->facts->trace, row_of(likes, at));
    return collective ? *collective : (struct ap_collective){ .in_elements = -1 };
}

static uint32_t name_of(const struct likes *likes, uint32_t at)
{
    return likes->applying->facts->trace->events.name[row_of(likes, at)];
}

static int64_t dur_of(const struct likes *likes, uint32_t at)
{
    const struct ap_replay_graph *graph = likes->applying->graph;
    return ap_task_work_ns(graph, &graph->tasks[likes->tasks[at]]);
}

/* Of one name, group and type: what can be compared. */
static bool are_alike(const struct likes *likes, uint32_t a, uint32_t b)
{
    struct ap_collective one = collective_of(likes, a), other = collective_of(likes, b);
    return name_of(likes, a) == name_of(likes, b) && one.group_name.id == other.group_name.id &&
           one.dtype.id == other.dtype.id;
}

/* Those that are alike, by size, the shortest first. */
static bool like_before(const void *context, uint32_t a, uint32_t b)
{
    const struct likes *likes = context;
    struct ap_collective one = collective_of(likes, a), other = collective_of(likes, b);
    AP_SMALLER_FIRST(name_of(likes, a), name_of(likes, b));
    AP_SMALLER_FIRST(one.group_name.id, other.group_name.id);
    AP_SMALLER_FIRST(one.dtype.id, other.dtype.id);
    AP_SMALLER_FIRST(one.in_elements, other.in_elements);
    AP_SMALLER_FIRST(dur_of(likes, a), dur_of(likes, b));
    return a < b;
}

/* Transfers of one size differ by so much of the shortest; what goes beyond is a wait for other ranks. */
#define UNLIKE_PERCENT 15

/* Those of one size, the shortest first. Where most are hardly longer than @shortest_ns, they are transfers that differ as
 * transfers do; else most of them waited, and only so much is known to be transfer. */
static void speed_up_like(struct ap_applying *applying, const struct likes *likes, const uint32_t *order, size_t count,
                          int64_t shortest_ns)
{
    int64_t factor = applying->change->number, most_ns = shortest_ns + ap_part_of(shortest_ns, UNLIKE_PERCENT, 100);
    if (dur_of(likes, order[count / 2]) > most_ns)
        most_ns = shortest_ns;
    for (size_t i = 0; i < count; i++) {
        int64_t moves_ns = dur_of(likes, order[i]) < most_ns ? dur_of(likes, order[i]) : most_ns;
        shrink_task(applying->edit, applying->graph, likes->tasks[order[i]], ap_part_of(moves_ns, factor - 1000, factor));
    }
}

/* A rank that always comes late in one place makes all of that size long: within a group other sizes tell as well. */
static void speed_up_alike(struct ap_applying *applying, const struct likes *likes, const uint32_t *order, size_t count,
                           struct ap_collective_time *times)
{
    bool told = collective_of(likes, order[0]).group_name.id;
    for (size_t i = 0; i < count; i++) {
        struct ap_collective collective = collective_of(likes, order[i]);
        times[i] = (struct ap_collective_time){ .bytes = collective.in_elements, .dur_ns = dur_of(likes, order[i]) };
    }
    ap_collective_find_bounds(times, count);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && times[end].bytes == times[first].bytes;)
            end++;
        speed_up_like(applying, likes, order + first, end - first, told ? times[first].bound_ns : times[first].dur_ns);
    }
}

static void speed_up_likes(struct ap_applying *applying, const struct likes *likes, const uint32_t *order, size_t count,
                           struct ap_collective_time *times)
{
    for (size_t first = 0, end; first < count && applying->change->number >= 1000; first = end) {
        for (end = first + 1; end < count && are_alike(likes, order[first], order[end]);)
            end++;
        speed_up_alike(applying, likes, order + first, end - first, times);
    }
}

enum ap_status ap_change_bandwidth(struct ap_applying *applying, uint64_t *ret_rows, struct ap_error *reterr)
{
    const struct ap_replay_graph *graph = applying->graph;
    size_t count = (size_t)count_devices(applying), used = 0, ordered = 0;
    uint32_t *tasks, *order = NULL;
    struct ap_collective_time *times = NULL;
    *ret_rows = count;
    if (!count)
        return AP_OK;
    AP_TRY(AP_ALLOC(graph->gate, tasks, count, reterr));
    for (uint32_t i = 0; i < graph->count; i++)
        if (graph->tasks[i].is_device && applying->selection->chosen[i] & AP_CHOSEN)
            tasks[used++] = i;
    struct likes likes = { applying, tasks };
    enum ap_status status = ap_top_indices(graph->gate, (uint32_t)used, 0, like_before, &likes, &order, &ordered, reterr);
    AP_AND_THEN(status, AP_ALLOC(graph->gate, times, count, reterr));
    if (status == AP_OK)
        speed_up_likes(applying, &likes, order, ordered, times);
    AP_FREE(graph->gate, times, count);
    AP_FREE(graph->gate, order, ordered);
    AP_FREE(graph->gate, tasks, count);
    return status;
}

/* ---- pinned copies ---- */

/* Copies of one direction: bytes and time of those that are pinned. */
struct rate {
    int64_t bytes, ns;
};

static bool is_pageable(struct ap_text name)
{
    return ap_text_contains_folded(name, "pageable");
}

/* "HtoD" to 0, "DtoH" to 1; 2 = another direction, which pinning does not change. */
static size_t direction_of(struct ap_text name)
{
    return ap_text_contains_folded(name, "htod") || ap_text_contains_folded(name, "hosttodevice")   ? 0
           : ap_text_contains_folded(name, "dtoh") || ap_text_contains_folded(name, "devicetohost") ? 1
                                                                                                    : 2;
}

static void find_rates(const struct ap_applying *applying, struct rate *rates)
{
    const struct ap_trace *trace = applying->facts->trace;
    bool overflowed = false;
    for (uint32_t i = 0; i < applying->graph->count; i++) {
        const struct ap_task *task = &applying->graph->tasks[i];
        if (!task->is_device || !ap_row_is_of(trace, task->row, 1u << AP_KIND_memcpy))
            continue;
        struct ap_text name = ap_row_name(trace, task->row);
        struct rate *rate = &rates[direction_of(name)];
        int64_t bytes = ap_row_bytes(trace, task->row);
        if (is_pageable(name) || bytes <= 0)
            continue;
        rate->bytes = ap_add_sat(rate->bytes, bytes, &overflowed);
        rate->ns = ap_add_sat(rate->ns, ap_task_work_ns(applying->graph, task), &overflowed);
    }
}

/* Where the recording has no pinned copy: what PCI Express of the device's years moves, 3.0, 4.0 or 5.0 with 16 lanes, of
 * which a copy reaches some three quarters. In bytes per us. */
static int64_t link_rate(const struct ap_trace *trace)
{
    int64_t major = trace->device_count ? trace->devices[0].compute_major : -1;
    return major >= 9 ? 48000 : major == 8 ? 24000 : 12000;
}

static int64_t pinned_ns(const struct ap_trace *trace, const struct rate *rate, int64_t bytes)
{
    int64_t per_us = link_rate(trace);
    if (rate->bytes > 0 && bytes <= rate->bytes)
        return ap_part_of(rate->ns, bytes, rate->bytes);
    return bytes / per_us * 1000 + bytes % per_us * 1000 / per_us;
}

/* As fast as pinned copies of the recording went. */
enum ap_status ap_change_pinned(struct ap_applying *applying, uint64_t *ret_rows, struct ap_error *reterr)
{
    const struct ap_trace *trace = applying->facts->trace;
    struct rate rates[3] = { { 0, 0 } };
    find_rates(applying, rates);
    for (uint32_t i = 0; i < applying->graph->count; i++) {
        const struct ap_task *task = &applying->graph->tasks[i];
        if (!task->is_device || !(applying->selection->chosen[i] & AP_CHOSEN) || !is_pageable(ap_row_name(trace, task->row)))
            continue;
        const struct rate *rate = &rates[direction_of(ap_row_name(trace, task->row))];
        int64_t bytes = ap_row_bytes(trace, task->row);
        if (bytes > 0)
            shrink_task(applying->edit, applying->graph, i,
                        ap_task_work_ns(applying->graph, task) - pinned_ns(trace, rate, bytes));
    }
    return ap_change_async(applying, ret_rows, reterr);
}
