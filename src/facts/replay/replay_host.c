/* SPDX-License-Identifier: MIT
 * replay_host.c - host threads as tasks: cut where something hangs on them, and linked to what they wait for. */
#include "replay_build.h"
#include "sort.h"

#include "poison.h"

/* A thread that is at rest for longer than this was let go by somebody when it goes on. */
#define LONG_HOLE_NS 100000

static enum ap_status add_mark(struct ap_replay_build *build, struct ap_mark mark, struct ap_error *reterr)
{
    AP_TRY_ADD(build->gate, build->marks, build->mark_count, build->mark_capacity, reterr, mark);
    return AP_OK;
}

/* --------------------------------------------------------------------------------------------------------- marks */

static bool is_host_row(const struct ap_trace *trace, uint32_t row)
{
    return ap_row_is_of(trace, row, AP_HOST_KINDS) && trace->events.dur_ns[row] >= 0;
}

/* A thread that asks again and again whether work is done, or stands in a frame, goes on to the end of the recording,
 * whatever
 * becomes of the run: that is no work of its own. */
static bool is_work(const struct ap_replay_build *build, uint32_t row)
{
    enum ap_event_kind kind = ap_row_kind(build->trace->events.tag[row]);
    bool queries = kind == AP_KIND_runtime && ap_call_kind_of(build->calls, build->trace, row) == AP_CALL_query;
    return !queries && kind != AP_KIND_python;
}

/* First start and last end of each thread; of others than the driving one, of work. */
static enum ap_status mark_bounds(struct ap_replay_build *build, struct ap_error *reterr)
{
    const struct ap_trace *trace = build->trace;
    for (uint32_t track = 0; track < build->order->track_count; track++) {
        int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;
        for (size_t i = build->order->track_start[track]; i < build->order->track_start[track + 1]; i++) {
            uint32_t row = build->order->rows[i];
            if (!is_host_row(trace, row) || (track != build->main_track && !is_work(build, row)))
                continue;
            start_ns = trace->events.start_ns[row] < start_ns ? trace->events.start_ns[row] : start_ns;
            end_ns = ap_row_end_ns(trace, row) > end_ns ? ap_row_end_ns(trace, row) : end_ns;
        }
        if (end_ns == INT64_MIN)
            continue;
        enum ap_mark_kind begin = track == build->main_track ? AP_MARK_main_begin : AP_MARK_begin;
        AP_TRY(add_mark(build, (struct ap_mark){ start_ns, track, AP_NO_ROW, 0, (uint8_t)begin }, reterr));
        AP_TRY(add_mark(build, (struct ap_mark){ end_ns, track, AP_NO_ROW, 0, AP_MARK_end }, reterr));
    }
    return AP_OK;
}

static enum ap_status mark_launches(struct ap_replay_build *build, struct ap_error *reterr)
{
    const struct ap_trace *trace = build->trace;
    for (uint32_t work = 0; work < build->index->work_count; work++) {
        uint32_t launch = ap_path_work(build->index, work).launch;
        if (ap_replay_is_launched(build, work))
            AP_TRY(add_mark(build,
                            (struct ap_mark){ trace->events.start_ns[launch], trace->events.track[launch], launch, work,
                                              AP_MARK_launch },
                            reterr));
    }
    return AP_OK;
}

/* A call within one that blocks belongs to it. */
static enum ap_status mark_calls(struct ap_replay_build *build, struct ap_error *reterr)
{
    const struct ap_path_rows *blocking = &build->index->blocking;
    for (uint32_t track = 0; track < build->index->track_count; track++) {
        int64_t covered_ns = INT64_MIN;
        size_t end = ap_path_first(build->index, blocking, track + 1);
        for (size_t i = ap_path_first(build->index, blocking, track); i < end; i++) {
            uint32_t row = blocking->rows[i];
            int64_t end_ns = ap_row_end_ns(build->trace, row);
            if (end_ns <= covered_ns)
                continue;
            covered_ns = end_ns;
            AP_TRY(add_mark(build,
                            (struct ap_mark){ build->trace->events.start_ns[row], track, row, (uint32_t)i, AP_MARK_call },
                            reterr));
            AP_TRY(add_mark(build, (struct ap_mark){ end_ns, track, row, (uint32_t)i, AP_MARK_call_end }, reterr));
        }
    }
    return AP_OK;
}

static enum ap_status mark_returns(struct ap_replay_build *build, struct ap_error *reterr)
{
    const struct ap_trace *trace = build->trace;
    for (uint32_t i = 0; i < build->return_count; i++) {
        uint32_t call = build->returns[i].call;
        AP_TRY(add_mark(build,
                        (struct ap_mark){ ap_row_end_ns(trace, call), trace->events.track[call], call, i, AP_MARK_return },
                        reterr));
    }
    return AP_OK;
}

static enum ap_status mark_steps(struct ap_replay_build *build, struct ap_error *reterr)
{
    for (uint32_t i = 0; i < build->steps->count; i++) {
        const struct ap_step *step = &build->steps->steps[i];
        uint32_t track = build->trace->events.track[step->row];
        AP_TRY(add_mark(build, (struct ap_mark){ step->start_ns, track, AP_NO_ROW, i, AP_MARK_step_start }, reterr));
        AP_TRY(add_mark(build, (struct ap_mark){ step->end_ns, track, AP_NO_ROW, i, AP_MARK_step_end }, reterr));
    }
    return AP_OK;
}

/* --------------------------------------------------------------------------------------------------------- turns */

/* The hole of the driving thread that holds the row, by the number of the row of activity behind it; SIZE_MAX where that
 * thread was active meanwhile. */
static size_t hole_around(const struct ap_replay_build *build, uint32_t row)
{
    const struct ap_trace *trace = build->trace;
    const struct ap_path_rows *activity = &build->index->activity;
    size_t first = ap_path_first(build->index, activity, build->main_track), behind = first;
    size_t end = ap_path_first(build->index, activity, build->main_track + 1);
    AP_BISECT(behind, end, at, trace->events.start_ns[activity->rows[at]] < trace->events.start_ns[row]);
    if (behind > first && ap_row_end_ns(trace, activity->rows[behind - 1]) > trace->events.start_ns[row])
        return SIZE_MAX;
    if (behind < end && trace->events.start_ns[activity->rows[behind]] < ap_row_end_ns(trace, row))
        return SIZE_MAX;
    return behind;
}

/* The driving thread is cut where the turn begins: what it was about to do then, or had done, let the other thread go on. */
static enum ap_status mark_turn(struct ap_replay_build *build, uint32_t track, int64_t start_ns, int64_t end_ns,
                                int64_t back_ns, struct ap_error *reterr)
{
    uint32_t turn = (uint32_t)build->turn_count, main_track = build->main_track;
    AP_TRY_ADD(build->gate, build->turns, build->turn_count, build->turn_capacity, reterr,
               (struct ap_turn){ AP_NO_TASK, AP_NO_TASK, AP_NO_TASK, AP_NO_TASK });
    if (start_ns >= build->main_start_ns && start_ns <= build->main_end_ns)
        AP_TRY(add_mark(build, (struct ap_mark){ start_ns, main_track, AP_NO_ROW, turn, AP_MARK_let_go }, reterr));
    if (back_ns != INT64_MAX)
        AP_TRY(add_mark(build, (struct ap_mark){ back_ns, main_track, AP_NO_ROW, turn, AP_MARK_turn_back }, reterr));
    AP_TRY(add_mark(build, (struct ap_mark){ start_ns, track, AP_NO_ROW, turn, AP_MARK_turn }, reterr));
    return add_mark(build, (struct ap_mark){ end_ns, track, AP_NO_ROW, turn, AP_MARK_turn_end }, reterr);
}

/* A turn while it is gathered: rows of one thread that follow one another. */
struct gathered {
    uint32_t track;
    size_t hole; /* SIZE_MAX = the driving thread does not wait for it */
    int64_t start_ns, end_ns;
    bool open;
};

static enum ap_status close_turn(struct ap_replay_build *build, struct gathered *turn, struct ap_error *reterr)
{
    const struct ap_path_rows *activity = &build->index->activity;
    int64_t back_ns = INT64_MAX;
    if (!turn->open)
        return AP_OK;
    turn->open = false;
    if (turn->hole < ap_path_first(build->index, activity, build->main_track + 1))
        back_ns = build->trace->events.start_ns[activity->rows[turn->hole]];
    return mark_turn(build, turn->track, turn->start_ns, turn->end_ns, back_ns, reterr);
}

/* The autograd engine works while the driving thread waits: what lies in one hole of it is one turn. Whether that waits for
 * any other thread is not recorded. */
static enum ap_status mark_turns_of(struct ap_replay_build *build, uint32_t track, struct ap_error *reterr)
{
    const struct ap_path_rows *activity = &build->index->activity;
    struct gathered turn = { .track = track };
    size_t end = ap_path_first(build->index, activity, track + 1);
    for (size_t i = ap_path_first(build->index, activity, track); i < end; i++) {
        uint32_t row = activity->rows[i];
        if (!is_work(build, row))
            continue;
        size_t hole = ap_row_set_has(&build->index->backward, track) ? hole_around(build, row) : SIZE_MAX;
        int64_t start_ns = build->trace->events.start_ns[row];
        if (turn.open && (hole != turn.hole || start_ns - turn.end_ns > LONG_HOLE_NS))
            AP_TRY(close_turn(build, &turn, reterr));
        if (!turn.open)
            turn = (struct gathered){ track, hole, start_ns, start_ns, true };
        turn.end_ns = ap_row_end_ns(build->trace, row);
    }
    return close_turn(build, &turn, reterr);
}

static void find_main(struct ap_replay_build *build)
{
    build->main_start_ns = INT64_MAX;
    build->main_end_ns = INT64_MIN;
    for (size_t i = 0; i < build->mark_count; i++) {
        const struct ap_mark *mark = &build->marks[i];
        if (mark->track == build->main_track && mark->kind == AP_MARK_main_begin)
            build->main_start_ns = mark->ns;
        if (mark->track == build->main_track && mark->kind == AP_MARK_end)
            build->main_end_ns = mark->ns;
    }
}

static enum ap_status mark_turns(struct ap_replay_build *build, struct ap_error *reterr)
{
    if (build->main_track == AP_NO_ROW)
        return AP_OK;
    find_main(build);
    for (uint32_t track = 0; track < build->index->track_count; track++)
        if (track != build->main_track)
            AP_TRY(mark_turns_of(build, track, reterr));
    return AP_OK;
}

/* --------------------------------------------------------------------------------------------------------- tasks */

static bool mark_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_mark *x = (const struct ap_mark *)context + a, *y = (const struct ap_mark *)context + b;
    AP_SMALLER_FIRST(x->track, y->track);
    AP_SMALLER_FIRST(x->ns, y->ns);
    AP_SMALLER_FIRST(x->kind, y->kind);
    AP_SMALLER_FIRST(x->row, y->row);
    return a < b;
}

static void note_task(struct ap_replay_build *build, const struct ap_mark *mark, uint32_t task)
{
    switch (mark->kind) {
    case AP_MARK_launch: build->task_of_launch[mark->other] = task; break;
    case AP_MARK_return: build->returns[mark->other].task = task; break;
    case AP_MARK_step_start: build->graph->step_start[mark->other] = task; break;
    case AP_MARK_step_end: build->graph->step_end[mark->other] = task; break;
    case AP_MARK_turn_back: build->turns[mark->other].back = task; break;
    case AP_MARK_turn_end: build->turns[mark->other].end = task; break;
    case AP_MARK_let_go: build->turns[mark->other].let_go = task; break;
    case AP_MARK_turn: build->turns[mark->other].begin = task; break;
    default: break;
    }
}

/* What a graph launches begins with one task. */
static bool is_same_launch(const struct ap_mark *a, const struct ap_mark *b)
{
    return a->kind == AP_MARK_launch && b->kind == AP_MARK_launch && a->row == b->row;
}

/* About as many as there will be: arrays that grow hold more than they need. */
static enum ap_status reserve(struct ap_replay_build *build, struct ap_error *reterr)
{
    struct ap_replay_graph *graph = build->graph;
    size_t marks = build->mark_order_count, works = build->index->work_count;
    AP_TRY(AP_RESERVE(build->gate, graph->tasks, graph->capacity, marks + works, reterr));
    return AP_RESERVE(build->gate, graph->edges, graph->edge_capacity, marks + 2 * works, reterr);
}

/* While the marks of a thread are gone through: what it launched so far. */
struct launched {
    uint32_t last, latest; /* work: launched last; that ended last */
};

static int64_t end_of(const struct ap_replay_build *build, uint32_t work)
{
    return work == AP_NO_WORK ? INT64_MAX : ap_work_end_ns(build->index, work);
}

static void note_launch(const struct ap_replay_build *build, struct launched *launched, uint32_t work)
{
    launched->last = work;
    if (launched->latest == AP_NO_WORK || end_of(build, work) >= end_of(build, launched->latest))
        launched->latest = work;
}

/* What a call would have waited for that found all work done: the last that its thread had launched. An event may have been
 * recorded long before. */
static uint32_t done_before(const struct ap_replay_build *build, const struct launched *launched, uint32_t call)
{
    struct ap_text name = ap_row_name(build->trace, call);
    int64_t start_ns = build->trace->events.start_ns[call];
    if (ap_text_contains_folded(name, "event"))
        return AP_NO_WORK;
    if (end_of(build, launched->latest) <= start_ns)
        return launched->latest;
    return end_of(build, launched->last) <= start_ns ? launched->last : AP_NO_WORK;
}

/* Of a call that may have blocked; AP_NO_WORK = it waited for none. */
static struct ap_call_end end_of_call(const struct ap_replay_build *build, const struct ap_mark *mark, uint32_t task,
                                      const struct launched *launched)
{
    uint32_t awaited = ap_path_awaited(build->index, mark->other, mark->ns);
    uint32_t copy = build->index->blocking_copy[mark->other];
    if (copy != AP_NO_WORK && ap_work_end_ns(build->index, copy) > mark->ns)
        awaited = copy; /* it ends a little later than its call, and is waited for all the same */
    return awaited == AP_NO_WORK ? (struct ap_call_end){ mark->ns, task, done_before(build, launched, mark->row), false }
                                 : (struct ap_call_end){ mark->ns, task, awaited, true };
}

static enum ap_status note_mark(struct ap_replay_build *build, const struct ap_mark *mark, uint32_t task,
                                struct launched *launched, struct ap_error *reterr)
{
    note_task(build, mark, task);
    if (mark->kind == AP_MARK_launch)
        note_launch(build, launched, mark->other);
    if (mark->kind == AP_MARK_call_end)
        AP_TRY_ADD(build->gate, build->call_ends, build->call_end_count, build->call_end_capacity, reterr,
                   end_of_call(build, mark, task, launched));
    return AP_OK;
}

static struct ap_task task_at(const struct ap_mark *mark)
{
    bool calls = mark->kind == AP_MARK_launch || mark->kind == AP_MARK_call;
    return (struct ap_task){ .start_ns = mark->ns,
                             .row = calls ? mark->row : AP_NO_ROW,
                             .track = mark->track & AP_REPLAY_TRACKS_MAX,
                             .order = mark->kind & 0xfu };
}

static enum ap_status cut_threads(struct ap_replay_build *build, struct ap_error *reterr)
{
    struct ap_replay_graph *graph = build->graph;
    struct launched launched = { AP_NO_WORK, AP_NO_WORK };
    const struct ap_mark *last = NULL;
    AP_TRY(reserve(build, reterr));
    for (size_t i = 0; i < build->mark_order_count; i++) {
        const struct ap_mark *mark = &build->marks[build->mark_order[i]];
        bool follows = last && last->track == mark->track;
        uint32_t task = (uint32_t)graph->count;
        if (!follows)
            launched = (struct launched){ AP_NO_WORK, AP_NO_WORK };
        if (follows && is_same_launch(last, mark)) {
            AP_TRY(note_mark(build, mark, task - 1, &launched, reterr));
            continue;
        }
        AP_TRY_ADD(build->gate, graph->tasks, graph->count, graph->capacity, reterr, task_at(mark));
        if (follows) {
            struct ap_task *before = &graph->tasks[task - 1];
            AP_TRY(ap_replay_set_times(build, before, mark->ns - before->start_ns, AP_NO_TASK, reterr));
            AP_TRY(ap_replay_add_edge(build, task - 1, task, AP_REPLAY_EDGE_thread, 0, reterr));
        }
        AP_TRY(note_mark(build, mark, task, &launched, reterr));
        last = mark;
    }
    return AP_OK;
}

void ap_replay_forget_marks(struct ap_replay_build *build)
{
    AP_FREE(build->gate, build->marks, build->mark_capacity);
    AP_FREE(build->gate, build->mark_order, build->mark_order_count);
    build->marks = NULL;
    build->mark_order = NULL;
    build->mark_count = build->mark_capacity = build->mark_order_count = 0;
}

enum ap_status ap_replay_add_host(struct ap_replay_build *build, struct ap_error *reterr)
{
    AP_TRY(mark_bounds(build, reterr));
    AP_TRY(mark_launches(build, reterr));
    AP_TRY(mark_calls(build, reterr));
    AP_TRY(mark_returns(build, reterr));
    AP_TRY(mark_steps(build, reterr));
    AP_TRY(mark_turns(build, reterr));
    AP_TRY(ap_top_indices(build->gate, (uint32_t)build->mark_count, 0, mark_before, build->marks, &build->mark_order,
                          &build->mark_order_count, reterr));
    AP_TRY(cut_threads(build, reterr));
    ap_replay_forget_marks(build);
    return AP_OK;
}

/* --------------------------------------------------------------------------------------------------------- links */

static enum ap_status link_call(struct ap_replay_build *build, const struct ap_call_end *end, struct ap_error *reterr)
{
    struct ap_task *call = build->graph->tasks + end->task - 1;
    if (end->awaited == AP_NO_WORK)
        return AP_OK;
    int64_t lag_ns = end->waited ? end->ns - ap_work_end_ns(build->index, end->awaited) : 0;
    if (end->waited)
        ap_replay_limit_work(build->graph, call, lag_ns);
    return ap_replay_add_edge(build, ap_replay_task_of_work(build, end->awaited), end->task, AP_REPLAY_EDGE_synchronization,
                              lag_ns, reterr);
}

static enum ap_status link_calls(struct ap_replay_build *build, struct ap_error *reterr)
{
    for (size_t i = 0; i < build->call_end_count; i++)
        AP_TRY(link_call(build, &build->call_ends[i], reterr));
    return AP_OK;
}

/* Before its turn a thread waits; a thread that begins with one begins when it is let go. */
static enum ap_status link_turn_begin(struct ap_replay_build *build, const struct ap_turn *turn, struct ap_error *reterr)
{
    struct ap_task *tasks = build->graph->tasks;
    uint32_t before = turn->begin - 1;
    AP_TRY(ap_replay_add_edge(build, turn->let_go, turn->begin, AP_REPLAY_EDGE_handover, 0, reterr));
    if (!turn->begin || tasks[before].track != tasks[turn->begin].track)
        return AP_OK;
    ap_replay_limit_work(build->graph, &tasks[before], 0);
    return tasks[before].start_ns == tasks[turn->begin].start_ns
               ? ap_replay_add_edge(build, turn->let_go, before, AP_REPLAY_EDGE_handover, 0, reterr)
               : AP_OK;
}

/* The driving thread goes on when the turn is done; of one whose rows begin there, nothing before waited. */
static enum ap_status link_turn_end(struct ap_replay_build *build, const struct ap_turn *turn, struct ap_error *reterr)
{
    struct ap_task *tasks = build->graph->tasks;
    int64_t lag_ns = tasks[turn->back].start_ns - tasks[turn->end].start_ns;
    bool is_first = !turn->back || tasks[turn->back - 1].track != tasks[turn->back].track;
    if (!is_first)
        ap_replay_limit_work(build->graph, &tasks[turn->back - 1], lag_ns);
    return ap_replay_add_edge(build, turn->end, turn->back, AP_REPLAY_EDGE_handover, lag_ns, reterr);
}

static enum ap_status link_turns(struct ap_replay_build *build, struct ap_error *reterr)
{
    for (size_t i = 0; i < build->turn_count; i++) {
        const struct ap_turn *turn = &build->turns[i];
        if (turn->let_go != AP_NO_TASK)
            AP_TRY(link_turn_begin(build, turn, reterr));
        if (turn->back != AP_NO_TASK)
            AP_TRY(link_turn_end(build, turn, reterr));
    }
    return AP_OK;
}

enum ap_status ap_replay_link_host(struct ap_replay_build *build, struct ap_error *reterr)
{
    AP_TRY(link_calls(build, reterr));
    return link_turns(build, reterr);
}
