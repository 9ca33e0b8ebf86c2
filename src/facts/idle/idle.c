/* SPDX-License-Identifier: MIT
 * idle.c - the cause of each instant in which no device worked.
 *
 * The row of work that ends a gap names the thread that was to feed the device. Until that thread makes the call, the gap
 * is due to what it does; where nothing is recorded on it, to what the main thread does. From the call to the start of the
 * work it is launch overhead, and a wait in the queue where it takes long. A gap that begins while the thread waits for the
 * device is due to the wait as far as the thread would have called earlier without it: by the time that it was blocked.
 *
 * A recording may begin while the queue of a device is full. Calls stand in it from its first instant on, work only from
 * where that of before is done: a long wait in the queue before which hardly anything ran is not recorded, which is no idle
 * time. */
#include "idle.h"

#include <string.h>

#include "gap_names.h"
#include "sort.h"

#include "poison.h"

#define LAUNCH_NS 30000 /* a launch on its way takes less; the same bound as Holistic Trace Analysis has by default */

#define EDGE_LEAST_NS 1000000 /* shorter waits are beside the point */
#define EDGE_BUSY_SHARE 100   /* of the time with work, at most one part in this many lies before such a wait */

struct piece {
    int64_t start_ns, end_ns;
    uint32_t gap;
};

struct pieces {
    struct piece *list;
    size_t count, capacity;
};

static void release_pieces(struct pieces *pieces, struct ap_gate *gate)
{
    AP_FREE(gate, pieces->list, pieces->capacity);
    *pieces = (struct pieces){ NULL, 0, 0 };
}

struct attribution {
    struct ap_split *split;
    const struct ap_trace *trace;
    const struct ap_row_order *order;
    const struct ap_host_tree *tree;
    const struct ap_links *links;
    const struct ap_steps *steps;
    uint32_t main_track;
    struct ap_host_states states;
    struct ap_gap_names names;
    uint32_t edge_count;  /* of the first gaps: those whose waits in the queue may be waits for work of before */
    int64_t *host_end_ns; /* by gap: until then the host had not called yet */
    uint32_t *asked;      /* the gaps that threads are asked for up to there, by track, then time */
    size_t asked_count;
    struct pieces for_main;     /* what their threads recorded nothing about */
    struct pieces for_any;      /* what the main thread recorded nothing about either */
    struct ap_step_cursor step; /* where the last credit went */
};

/* How the device was fed at the end of a gap. */
struct feeding {
    uint32_t track, launch; /* the call, AP_NO_ROW = not known; and the thread that made it */
    int64_t host_end_ns;    /* until here the host had not called yet */
    int64_t call_end_ns;    /* the launch was on its way from here on at the latest */
};

static int64_t within(int64_t at_ns, const struct ap_gap *gap)
{
    return at_ns < gap->start_ns ? gap->start_ns : at_ns > gap->end_ns ? gap->end_ns : at_ns;
}

/* The host is late where it called after the gap had begun. Work without a call in a trace that has calls was launched
 * before the recording, so it was queued. */
static struct feeding feeding_of(const struct attribution *a, const struct ap_gap *gap)
{
    struct feeding feeding = { a->main_track, AP_NO_ROW, gap->end_ns, gap->end_ns };
    if (gap->work == AP_NO_ROW)
        return feeding;
    feeding.launch = a->links->rows[gap->work].launch;
    if (feeding.launch != AP_NO_ROW) {
        feeding.track = a->trace->events.track[feeding.launch];
        feeding.host_end_ns = within(a->trace->events.start_ns[feeding.launch], gap);
        feeding.call_end_ns = within(ap_row_end_ns(a->trace, feeding.launch), gap);
    } else if (a->links->linked_count) {
        feeding.host_end_ns = feeding.call_end_ns = gap->start_ns;
    }
    return feeding;
}

/* -------------------------------------------------------------------------------------------------------- crediting */

static void keep_piece(const struct attribution *a, enum ap_idle_cause cause, int64_t start_ns, int64_t end_ns, uint32_t row)
{
    struct ap_idle_pieces *pieces = a->split->pieces;
    uint8_t host = row == AP_NO_ROW ? AP_IDLE_untraced : a->states.state[row];
    if (!pieces || pieces->is_short)
        return;
    pieces->is_short = AP_RESERVE(pieces->gate, pieces->list, pieces->capacity, pieces->count + 1, NULL) != AP_OK;
    if (!pieces->is_short)
        pieces->list[pieces->count++] = (struct ap_idle_piece){ start_ns, end_ns, row, (uint8_t)cause, host };
}

static void credit(struct attribution *a, uint32_t gap_index, enum ap_idle_cause cause, int64_t start_ns, int64_t end_ns,
                   uint32_t row)
{
    const struct ap_gap *gap = &a->split->gaps[gap_index];
    if (end_ns <= start_ns)
        return;
    if (ap_gap_in_window(a->split, gap))
        a->split->window.cause_ns[cause] += end_ns - start_ns;
    ap_time_bins_add_cause(a->split->bins, cause, start_ns, end_ns);
    keep_piece(a, cause, start_ns, end_ns, row);
    if (a->split->has_gpu)
        ap_stretches_add(&a->split->of_cause[cause], a->split->gate, start_ns, end_ns);
    for (size_t i = ap_step_cursor_after(&a->step, start_ns); i < a->steps->count && a->steps->steps[i].start_ns < end_ns;
         i++) {
        int64_t from_ns = a->steps->steps[i].start_ns > start_ns ? a->steps->steps[i].start_ns : start_ns;
        int64_t to_ns = a->steps->steps[i].end_ns < end_ns ? a->steps->steps[i].end_ns : end_ns;
        a->split->steps[i].cause_ns[cause] += to_ns > from_ns ? to_ns - from_ns : 0;
    }
    if (!gap->detail)
        return;
    struct ap_gap_detail *detail = &a->split->details[gap->detail - 1];
    detail->cause_ns[cause] += end_ns - start_ns;
    if (row != AP_NO_ROW)
        ap_gap_names_add(&a->names, a->split->details, gap->detail - 1, cause, row, end_ns - start_ns);
}

/* @row is a wait for the device that was open when the gap began. */
static void note_wait(struct attribution *a, struct ap_gap *gap, uint32_t row)
{
    int64_t blocked_ns = a->trace->events.dur_ns[row], room_ns = a->host_end_ns[gap - a->split->gaps] - gap->start_ns;
    gap->sync_end_ns = gap->start_ns + (blocked_ns < room_ns ? blocked_ns : room_ns);
    if (gap->detail) {
        a->split->details[gap->detail - 1].host_row[AP_IDLE_synchronization] = row;
        a->split->details[gap->detail - 1].host_row_ns[AP_IDLE_synchronization] = blocked_ns;
    }
}

/* The host was in @row (AP_NO_ROW = nothing recorded) for a part of the gap. */
static void credit_host(struct attribution *a, uint32_t gap_index, uint32_t row, int64_t start_ns, int64_t end_ns)
{
    struct ap_gap *gap = &a->split->gaps[gap_index];
    enum ap_idle_cause cause = row == AP_NO_ROW ? AP_IDLE_untraced : (enum ap_idle_cause)a->states.state[row];
    if (cause == AP_IDLE_synchronization && a->trace->events.start_ns[row] <= gap->start_ns)
        note_wait(a, gap, row);
    if (cause != AP_IDLE_data_loading && start_ns < gap->sync_end_ns) {
        int64_t sync_end_ns = gap->sync_end_ns < end_ns ? gap->sync_end_ns : end_ns;
        credit(a, gap_index, AP_IDLE_synchronization, start_ns, sync_end_ns, row);
        start_ns = sync_end_ns;
    }
    credit(a, gap_index, cause, start_ns, end_ns, row);
}

static enum ap_status leave_over(struct pieces *to, struct ap_gate *gate, uint32_t gap, int64_t start_ns, int64_t end_ns,
                                 struct ap_error *reterr)
{
    struct piece *last = to->count ? &to->list[to->count - 1] : NULL;
    if (last && last->gap == gap && last->end_ns == start_ns) {
        last->end_ns = end_ns;
        return AP_OK;
    }
    AP_TRY_ADD(gate, to->list, to->count, to->capacity, reterr, (struct piece){ start_ns, end_ns, gap });
    return AP_OK;
}

/* ---------------------------------------------------------------------------------------------------- asking a thread */

/* Walks the pieces while the thread's time goes by in order. */
struct questions {
    struct attribution *a;
    const uint32_t *gaps; /* each is a piece; NULL = the pieces stand in the list */
    const struct piece *pieces;
    size_t count, at;
    struct pieces *leftover; /* what nothing is recorded about goes there; NULL = that is its cause */
    struct piece now;        /* number @at */
};

static inline struct piece piece_at(const struct questions *questions, size_t i)
{
    if (!questions->gaps)
        return questions->pieces[i];
    uint32_t gap = questions->gaps[i];
    return (struct piece){ questions->a->split->gaps[gap].start_ns, questions->a->host_end_ns[gap], gap };
}

static inline void go_to(struct questions *questions, size_t at)
{
    questions->at = at;
    if (at < questions->count)
        questions->now = piece_at(questions, at);
}

/* From @start_ns to @end_ns @row was the innermost open one. */
static enum ap_status answer(struct questions *questions, uint32_t row, int64_t start_ns, int64_t end_ns,
                             struct ap_error *reterr)
{
    while (questions->at < questions->count && questions->now.end_ns <= start_ns)
        go_to(questions, questions->at + 1);
    while (questions->at < questions->count && questions->now.start_ns < end_ns) {
        const struct piece *piece = &questions->now;
        int64_t from_ns = piece->start_ns > start_ns ? piece->start_ns : start_ns;
        int64_t to_ns = piece->end_ns < end_ns ? piece->end_ns : end_ns;
        bool nothing = row == AP_NO_ROW || questions->a->states.state[row] == AP_IDLE_untraced;
        if (nothing && questions->leftover)
            AP_TRY(leave_over(questions->leftover, questions->a->split->gate, piece->gap, from_ns, to_ns, reterr));
        else
            credit_host(questions->a, piece->gap, row, from_ns, to_ns);
        if (piece->end_ns > end_ns)
            break;
        go_to(questions, questions->at + 1);
    }
    return AP_OK;
}

/* Is none of the time before @at_ns asked for any more? */
static inline bool none_before(const struct questions *questions, int64_t at_ns)
{
    return questions->at == questions->count || at_ns <= questions->now.start_ns;
}

/* What was open, innermost first, from @from_ns up to the start of the next row. */
static enum ap_status answer_until(struct questions *questions, uint32_t row, int64_t from_ns, int64_t next_ns,
                                   struct ap_error *reterr)
{
    const struct attribution *a = questions->a;
    for (; row != AP_NO_ROW && from_ns < next_ns; row = a->tree->parent[row]) {
        int64_t end_ns = ap_row_end_ns(a->trace, row);
        end_ns = end_ns < next_ns ? end_ns : next_ns;
        if (end_ns <= from_ns)
            continue;
        AP_TRY(answer(questions, row, from_ns, end_ns, reterr));
        from_ns = end_ns;
    }
    return from_ns < next_ns ? answer(questions, AP_NO_ROW, from_ns, next_ns, reterr) : AP_OK;
}

static enum ap_status ask_thread(struct attribution *a, uint32_t track, const uint32_t *gaps, const struct piece *pieces,
                                 size_t count, struct ap_error *reterr)
{
    struct questions questions = { .a = a,
                                   .gaps = gaps,
                                   .pieces = pieces,
                                   .count = count,
                                   .leftover = track == a->main_track ? &a->for_any : &a->for_main };
    go_to(&questions, 0);
    uint32_t open = AP_NO_ROW;
    int64_t now_ns = INT64_MIN;
    for (size_t i = a->order->track_start[track]; i < a->order->track_start[track + 1]; i++) {
        uint32_t row = a->order->rows[i];
        if (!ap_row_is_of(a->trace, row, AP_HOST_KINDS))
            continue;
        int64_t start_ns = a->trace->events.start_ns[row];
        if (!none_before(&questions, start_ns))
            AP_TRY(answer_until(&questions, open, now_ns, start_ns, reterr));
        now_ns = start_ns;
        open = row;
    }
    return answer_until(&questions, open, now_ns, INT64_MAX, reterr);
}

/* ------------------------------------------------------------------------------------------------- pieces by thread */

/* From the call on. Work that does not start soon after it waits for something on the device. */
static void credit_device(struct attribution *a, uint32_t gap, const struct feeding *feeding)
{
    int64_t end_ns = a->split->gaps[gap].end_ns;
    int64_t launched_ns = end_ns - feeding->call_end_ns > LAUNCH_NS ? feeding->call_end_ns + LAUNCH_NS : end_ns;
    bool loads = feeding->launch != AP_NO_ROW && a->states.state[feeding->launch] == AP_IDLE_driver_call;
    credit(a, gap, loads ? AP_IDLE_driver_call : AP_IDLE_launch_overhead, feeding->host_end_ns, launched_ns,
           feeding->launch);
    bool at_edge = gap < a->edge_count && end_ns - launched_ns >= EDGE_LEAST_NS;
    credit(a, gap, at_edge ? AP_IDLE_not_recorded : AP_IDLE_queue_wait, launched_ns, end_ns, AP_NO_ROW);
}

/* Gaps before which hardly any work ran. The union of all classes is the last one: differences are taken later. */
static uint32_t count_edge_gaps(const struct ap_split *split)
{
    int64_t busy_ns = split->window.class_ns[AP_SPLIT_CLASS_COUNT_ - 1], before_ns = 0;
    for (uint32_t i = 0; i < split->gap_count; i++) {
        int64_t from_ns = i ? split->gaps[i - 1].end_ns : split->start_ns;
        before_ns += split->gaps[i].start_ns > from_ns ? split->gaps[i].start_ns - from_ns : 0;
        if (before_ns > busy_ns / EDGE_BUSY_SHARE)
            return i;
    }
    return (uint32_t)split->gap_count;
}

/* The host's part of each gap, counted by the thread that is to be asked, in starts[track + 1]. */
static void find_feeding(struct attribution *a, size_t *starts)
{
    for (uint32_t i = 0; i < a->split->gap_count; i++) {
        struct feeding feeding = feeding_of(a, &a->split->gaps[i]);
        credit_device(a, i, &feeding);
        a->host_end_ns[i] = feeding.host_end_ns;
        starts[feeding.track + 1] += feeding.host_end_ns > a->split->gaps[i].start_ns;
    }
}

static enum ap_status group_gaps(struct attribution *a, size_t *starts, struct ap_error *reterr)
{
    const struct ap_split *split = a->split;
    size_t track_count = a->order->track_count;
    for (size_t track = 0; track < track_count; track++)
        starts[track + 1] += starts[track];
    if (!starts[track_count])
        return AP_OK;
    AP_TRY(AP_ALLOC(split->gate, a->asked, starts[track_count], reterr));
    a->asked_count = starts[track_count];
    for (uint32_t i = 0; i < split->gap_count; i++)
        if (a->host_end_ns[i] > split->gaps[i].start_ns)
            a->asked[starts[feeding_of(a, &split->gaps[i]).track]++] = i;
    memmove(starts + 1, starts, track_count * sizeof(starts[0]));
    starts[0] = 0;
    return AP_OK;
}

static inline bool earlier_piece(const void *context, uint32_t x, uint32_t y)
{
    const struct piece *pieces = context;
    return pieces[x].start_ns != pieces[y].start_ns ? pieces[x].start_ns < pieces[y].start_ns : x < y;
}

static bool are_in_order(const struct pieces *pieces)
{
    for (size_t i = 1; i < pieces->count; i++)
        if (pieces->list[i].start_ns < pieces->list[i - 1].start_ns)
            return false;
    return true;
}

/* What threads left over, in order of time: gaps do not overlap, so neither do they. Each thread's are in order already. */
static enum ap_status put_in_order(struct attribution *a, struct pieces *pieces, struct ap_error *reterr)
{
    struct ap_gate *gate = a->split->gate;
    size_t count = pieces->count, bytes = 2 * count * sizeof(uint32_t);
    if (are_in_order(pieces))
        return AP_OK;
    uint32_t *sequence = ap_mem_resize(gate, NULL, 0, bytes);
    struct piece *list = sequence ? ap_mem_resize(gate, NULL, 0, count * sizeof(list[0])) : NULL;
    if (list) {
        for (size_t i = 0; i < count; i++)
            sequence[i] = (uint32_t)i;
        ap_sort_indices(sequence, count, sequence + count, earlier_piece, pieces->list);
        for (size_t i = 0; i < count; i++)
            list[i] = pieces->list[sequence[i]];
        release_pieces(pieces, gate);
        *pieces = (struct pieces){ list, count, count };
    }
    ap_mem_free(gate, sequence, bytes);
    return list ? AP_OK : ap_fail_memory(gate, reterr);
}

/* Of what other threads left over; what the main thread left over it need not be asked for again. */
static enum ap_status ask_main(struct attribution *a, struct ap_error *reterr)
{
    if (!a->for_main.count)
        return AP_OK;
    AP_TRY(put_in_order(a, &a->for_main, reterr));
    AP_TRY(ask_thread(a, a->main_track, NULL, a->for_main.list, a->for_main.count, reterr));
    release_pieces(&a->for_main, a->split->gate);
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------ collectives of any thread */

struct waits {
    const struct ap_trace *trace;
    uint32_t *rows;
    size_t count, capacity;
};

static bool earlier_wait(const void *context, uint32_t x, uint32_t y)
{
    const struct waits *waits = context;
    int64_t x_ns = waits->trace->events.start_ns[waits->rows[x]], y_ns = waits->trace->events.start_ns[waits->rows[y]];
    return x_ns != y_ns ? x_ns < y_ns : x < y;
}

static enum ap_status list_waits(struct attribution *a, struct waits *waits, struct ap_error *reterr)
{
    for (size_t i = 0; i < a->order->count; i++) {
        uint32_t row = a->order->rows[i];
        if (!ap_row_is_of(a->trace, row, AP_HOST_KINDS) || a->states.state[row] != AP_IDLE_communication_wait)
            continue;
        AP_TRY_ADD(a->split->gate, waits->rows, waits->count, waits->capacity, reterr, row);
    }
    return AP_OK;
}

/* Where neither thread has anything recorded, a collective that runs on a third one is what they wait for. */
static enum ap_status answer_waits(struct attribution *a, const struct waits *waits, const uint32_t *sequence,
                                   struct ap_error *reterr)
{
    struct questions questions = { .a = a, .pieces = a->for_any.list, .count = a->for_any.count };
    go_to(&questions, 0);
    int64_t now_ns = INT64_MIN;
    for (size_t i = 0; i < waits->count; i++) {
        uint32_t row = waits->rows[sequence[i]];
        int64_t start_ns = a->trace->events.start_ns[row], end_ns = ap_row_end_ns(a->trace, row);
        if (end_ns <= now_ns)
            continue;
        if (start_ns > now_ns)
            AP_TRY(answer(&questions, AP_NO_ROW, now_ns, start_ns, reterr));
        AP_TRY(answer(&questions, row, start_ns > now_ns ? start_ns : now_ns, end_ns, reterr));
        now_ns = end_ns;
    }
    return answer(&questions, AP_NO_ROW, now_ns, INT64_MAX, reterr);
}

static enum ap_status ask_collectives(struct attribution *a, struct ap_error *reterr)
{
    struct waits waits = { .trace = a->trace };
    uint32_t *sequence = NULL;
    size_t count = 0;
    if (!a->for_any.count)
        return AP_OK;
    AP_TRY(put_in_order(a, &a->for_any, reterr));
    enum ap_status status = list_waits(a, &waits, reterr);
    AP_AND_THEN(status,
                ap_top_indices(a->split->gate, (uint32_t)waits.count, 0, earlier_wait, &waits, &sequence, &count, reterr));
    AP_AND_THEN(status, answer_waits(a, &waits, sequence, reterr));
    AP_FREE(a->split->gate, sequence, count);
    AP_FREE(a->split->gate, waits.rows, waits.capacity);
    return status;
}

/* @starts: cleared, of each track and one more. */
static enum ap_status ask_threads(struct attribution *a, size_t *starts, struct ap_error *reterr)
{
    a->edge_count = count_edge_gaps(a->split);
    find_feeding(a, starts);
    enum ap_status status = group_gaps(a, starts, reterr);
    for (uint32_t track = 0; track < a->order->track_count && status == AP_OK; track++)
        if (starts[track] < starts[track + 1])
            status = ask_thread(a, track, a->asked + starts[track], NULL, starts[track + 1] - starts[track], reterr);
    AP_FREE(a->split->gate, a->asked, a->asked_count);
    return status;
}

static enum ap_status ask_all(struct attribution *a, struct ap_error *reterr)
{
    struct ap_gate *gate = a->split->gate;
    size_t starts_bytes = (a->order->track_count + 1) * sizeof(size_t), end_bytes = a->split->gap_count * sizeof(int64_t);
    if (!a->split->gap_count)
        return AP_OK;
    size_t *starts = ap_mem_cleared(gate, starts_bytes);
    a->host_end_ns = starts ? ap_mem_resize(gate, NULL, 0, end_bytes) : NULL;
    enum ap_status status = a->host_end_ns ? ask_threads(a, starts, reterr) : ap_fail_memory(gate, reterr);
    ap_mem_free(gate, starts, starts_bytes);
    AP_AND_THEN(status, ask_main(a, reterr));
    AP_AND_THEN(status, ask_collectives(a, reterr));
    ap_mem_free(gate, a->host_end_ns, end_bytes);
    return status;
}

/* Batches are made in many small rows: the wait around them says more. */
#define CLIMB_MAX 64
static void name_data_waits(struct attribution *a)
{
    for (size_t i = 0; i < a->split->detail_count; i++) {
        uint32_t *row = &a->split->details[i].host_row[AP_IDLE_data_loading];
        for (int climbed = 0; *row != AP_NO_ROW && climbed < CLIMB_MAX; climbed++) {
            uint32_t around = a->tree->parent[*row];
            if (around == AP_NO_ROW || a->states.state[around] != AP_IDLE_data_loading)
                break;
            *row = around;
        }
        a->split->details[i].host_row_ns[AP_IDLE_data_loading] = a->split->details[i].cause_ns[AP_IDLE_data_loading];
    }
}

enum ap_status ap_idle_attribute(struct ap_split *split, const struct ap_trace *trace, const struct ap_row_order *order,
                                 const struct ap_host_tree *tree, const struct ap_links *links, const struct ap_steps *steps,
                                 uint32_t main_track, struct ap_error *reterr)
{
    struct attribution a = { .split = split,
                             .trace = trace,
                             .order = order,
                             .tree = tree,
                             .links = links,
                             .steps = steps,
                             .main_track = main_track,
                             .names = { .gate = split->gate, .trace = trace, .tree = tree, .map = { .gate = split->gate } },
                             .step = { steps, 0 } };
    if (!order->track_count)
        return AP_OK;
    enum ap_status status = ap_host_states_init(&a.states, trace, order, tree, split->gate, reterr);
    if (status == AP_OK) {
        status = ask_all(&a, reterr);
        name_data_waits(&a);
    }
    if (status == AP_OK && a.names.failed)
        status = ap_fail_memory(split->gate, reterr);
    ap_gap_names_release(&a.names);
    ap_host_states_release(&a.states);
    release_pieces(&a.for_main, split->gate);
    release_pieces(&a.for_any, split->gate);
    return status;
}
