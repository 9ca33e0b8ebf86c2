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
 * time. Nor is a long wait of the host there: with nothing to wait for it would be over at once. What the host did before
 * its first row, while devices worked off what they had, nobody knows; nor when, where the clocks of both differ. */
#include "idle.h"

#include <string.h>

#include "gap_names.h"
#include "recording_cost.h"
#include "rows_of.h"
#include "sort.h"

#include "poison.h"

#define LAUNCH_NS 30000 /* a launch on its way takes less; the same bound as Holistic Trace Analysis has by default */

#define EDGE_LEAST_NS 1000000 /* shorter waits are beside the point */
#define EDGE_BUSY_SHARE 100   /* of the time with work, at most one part in this many lies before such a wait */

struct piece {
    int64_t start_ns, end_ns;
};

/* In order of time, and apart. A gap may have as many as there are rows: these are asked about some at a time. */
#define PIECES_AT_ONCE 65536
struct pieces {
    struct piece *list;
    size_t count, capacity;
};

/* How far a thread was asked: gaps come in order of time. */
struct asked {
    uint32_t at;   /* in the order of rows: the next one that may open */
    uint32_t open; /* innermost before that; AP_NO_ROW = none */
};

/* Collectives of any thread, by start. */
struct waits {
    uint32_t *rows;
    size_t count, capacity, at;
    bool are_listed;
};

/* Time that follows on and has one cause, however many rows of the host lie in it. */
struct credited {
    enum ap_idle_cause cause;
    int64_t start_ns, end_ns; /* no time: nothing is open */
};

/* The gap that is judged. */
struct judged {
    struct ap_gap gap;
    struct ap_gap_detail *detail; /* NULL = it is none of the longest */
    int64_t host_end_ns;          /* until then the host had not called yet */
    int64_t sync_end_ns;          /* until here the time is due to the wait that was open when the gap began */
    bool at_edge;                 /* hardly any work ran before: its wait in the queue may be one for work of before */
    struct credited credited;     /* of it, and not yet added */
    int64_t host_ns;              /* of it, what the host did by itself, and launches */
};

struct attribution {
    struct ap_split *split;
    const struct ap_idle_input *input;
    const struct ap_trace *trace;
    struct ap_host_states states;
    struct ap_gap_names names;
    struct asked *threads; /* by track; NULL = no row tells what the host did */
    struct judged now;
    struct pieces for_main;     /* of the gap: what its thread recorded nothing about */
    struct pieces for_any;      /* what the main thread recorded nothing about either */
    struct waits waits;         /* that may be what those are due to */
    struct ap_step_cursor step; /* where the last credit went */
    int64_t host_start_ns;      /* before it no row tells what the host did */
    bool is_plain; /* nothing was captured, no thread stood still, and nobody wants the pieces: rows tell causes alone */
    struct ap_recording_cost cost;
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

/* The host is late where it called after the gap had begun. Work of which only the operator is known was launched by that
 * one's end. Work without either in a trace that has calls was launched before the recording, so it was queued. */
static struct feeding feeding_of(const struct attribution *a, const struct ap_gap *gap)
{
    struct feeding feeding = { a->input->main_track, AP_NO_ROW, gap->end_ns, gap->end_ns };
    if (gap->work == AP_NO_ROW)
        return feeding;
    uint32_t op = ap_op_at(a->input->links, gap->work);
    feeding.launch = ap_launch_at(a->input->links, gap->work);
    if (feeding.launch != AP_NO_ROW) {
        feeding.track = a->trace->events.track[feeding.launch];
        feeding.host_end_ns = within(a->trace->events.start_ns[feeding.launch], gap);
        feeding.call_end_ns = within(ap_row_end_ns(a->trace, feeding.launch), gap);
    } else if (op != AP_NO_ROW && a->trace->events.start_ns[op] < gap->end_ns) {
        feeding.track = a->trace->events.track[op];
        feeding.host_end_ns = feeding.call_end_ns = within(ap_row_end_ns(a->trace, op), gap);
    } else if (a->input->links->linked_count && ap_links_tell_launches(a->input->links)) {
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

/* Where a part sums up what a gap is due to, and beyond the causes what of it is not the program's. */
#define RECORDING AP_IDLE_CAUSE_COUNT_
#define OFF_CORE (AP_IDLE_CAUSE_COUNT_ + 1)
static int64_t *sum_of(struct ap_split_part *part, unsigned cause)
{
    return cause == RECORDING ? &part->recording_ns : cause == OFF_CORE ? &part->off_core_ns : &part->cause_ns[cause];
}

static void credit_steps(struct attribution *a, unsigned cause, int64_t start_ns, int64_t end_ns)
{
    const struct ap_steps *steps = a->input->steps;
    size_t i = ap_step_cursor_after(&a->step, start_ns);
    if (i < steps->count && ap_step_holds(&steps->steps[i], start_ns, end_ns)) {
        *sum_of(&a->split->steps[i], cause) += end_ns - start_ns;
        return;
    }
    for (; i < steps->count && steps->steps[i].start_ns < end_ns; i++) {
        int64_t from_ns = steps->steps[i].start_ns > start_ns ? steps->steps[i].start_ns : start_ns;
        int64_t to_ns = steps->steps[i].end_ns < end_ns ? steps->steps[i].end_ns : end_ns;
        *sum_of(&a->split->steps[i], cause) += to_ns > from_ns ? to_ns - from_ns : 0;
    }
}

static void add_credited(struct attribution *a)
{
    struct ap_split *split = a->split;
    enum ap_idle_cause cause = a->now.credited.cause;
    int64_t start_ns = a->now.credited.start_ns, end_ns = a->now.credited.end_ns;
    if (end_ns <= start_ns)
        return;
    if (ap_gap_in_window(split, &a->now.gap))
        split->window.cause_ns[cause] += end_ns - start_ns;
    if (split->bins)
        ap_time_bins_add_cause(split->bins, cause, start_ns, end_ns);
    if (split->has_gpu && !split->of_cause[cause].unknown)
        ap_stretches_add(&split->of_cause[cause], split->gate, start_ns, end_ns);
    credit_steps(a, cause, start_ns, end_ns);
    if (a->now.detail)
        a->now.detail->cause_ns[cause] += end_ns - start_ns;
    if (ap_idle_is_of_host(cause))
        a->now.host_ns += end_ns - start_ns;
}

static void name_gap(struct attribution *a, enum ap_idle_cause cause, uint32_t row, int64_t dur_ns)
{
    struct ap_gap_detail *details = a->split->details;
    ap_gap_names_add(&a->names, details, (uint32_t)(a->now.detail - details), cause, row, dur_ns);
}

static void credit(struct attribution *a, enum ap_idle_cause cause, int64_t start_ns, int64_t end_ns, uint32_t row)
{
    struct credited *credited = &a->now.credited;
    if (end_ns <= start_ns)
        return;
    if (credited->cause != cause || credited->end_ns != start_ns) {
        add_credited(a);
        *credited = (struct credited){ cause, start_ns, start_ns };
    }
    credited->end_ns = end_ns;
    keep_piece(a, cause, start_ns, end_ns, row);
    if (a->now.detail && row != AP_NO_ROW)
        name_gap(a, cause, row, end_ns - start_ns);
}

/* @row is a wait for the device that was open when the gap began. */
static void note_wait(struct attribution *a, uint32_t row)
{
    struct judged *now = &a->now;
    int64_t blocked_ns = a->trace->events.dur_ns[row], room_ns = now->host_end_ns - now->gap.start_ns;
    now->sync_end_ns = now->gap.start_ns + (blocked_ns < room_ns ? blocked_ns : room_ns);
    if (now->detail) {
        now->detail->host_row[AP_IDLE_synchronization] = row;
        now->detail->host_row_ns[AP_IDLE_synchronization] = blocked_ns;
    }
}

/* Of a part of the gap that is the host's, what its thread did not run; few recordings tell of any. */
static void credit_off_core(struct attribution *a, uint32_t row, int64_t start_ns, int64_t end_ns)
{
    uint32_t track = row == AP_NO_ROW ? a->input->main_track : a->trace->events.track[row];
    int64_t off_ns = end_ns > start_ns ? ap_off_core_within_ns(&a->split->off_core, track, start_ns, end_ns) : 0;
    if (ap_gap_in_window(a->split, &a->now.gap))
        a->split->window.off_core_ns += off_ns;
    credit_steps(a, OFF_CORE, end_ns - off_ns, end_ns);
    a->now.host_ns -= off_ns;
}

/* The host was in @row (AP_NO_ROW = nothing recorded) for a part of the gap in which it captured nothing. */
static void credit_own_work(struct attribution *a, uint32_t row, int64_t start_ns, int64_t end_ns)
{
    enum ap_idle_cause cause = row == AP_NO_ROW ? AP_IDLE_untraced : (enum ap_idle_cause)a->states.state[row];
    if (row == AP_NO_ROW && start_ns < a->host_start_ns) {
        int64_t told_ns = a->host_start_ns < end_ns ? a->host_start_ns : end_ns;
        credit(a, AP_IDLE_not_recorded, start_ns, told_ns, AP_NO_ROW);
        start_ns = told_ns;
    }
    if (cause == AP_IDLE_synchronization && a->now.at_edge && end_ns - start_ns >= EDGE_LEAST_NS)
        cause = AP_IDLE_not_recorded;
    if (cause == AP_IDLE_synchronization && a->trace->events.start_ns[row] <= a->now.gap.start_ns)
        note_wait(a, row);
    if (cause != AP_IDLE_data_loading && start_ns < a->now.sync_end_ns) {
        int64_t sync_end_ns = a->now.sync_end_ns < end_ns ? a->now.sync_end_ns : end_ns;
        credit(a, AP_IDLE_synchronization, start_ns, sync_end_ns, row);
        start_ns = sync_end_ns;
    }
    if (a->split->off_core.count && ap_idle_is_of_host(cause))
        credit_off_core(a, row, start_ns, end_ns);
    credit(a, cause, start_ns, end_ns, row);
}

/* While a graph is captured devices wait for its end, whatever the host does. */
static void credit_captures(struct attribution *a, uint32_t row, int64_t start_ns, int64_t end_ns)
{
    const struct ap_captures *captures = &a->split->captures;
    while (start_ns < end_ns) {
        const struct ap_stretch *capture = ap_capture_after(captures, start_ns);
        int64_t from_ns = capture && capture->start_ns < end_ns ? capture->start_ns : end_ns;
        int64_t to_ns = capture && capture->end_ns < end_ns ? capture->end_ns : end_ns;
        if (from_ns > start_ns)
            credit_own_work(a, row, start_ns, from_ns);
        else
            from_ns = start_ns;
        credit(a, AP_IDLE_driver_call, from_ns, to_ns, captures->row);
        start_ns = to_ns;
    }
}

static void credit_host(struct attribution *a, uint32_t row, int64_t start_ns, int64_t end_ns)
{
    if (a->split->captures.time.count)
        credit_captures(a, row, start_ns, end_ns);
    else
        credit_own_work(a, row, start_ns, end_ns);
}

/* From the call on. Work that does not start soon after it waits for something on the device. */
static void credit_device(struct attribution *a, const struct feeding *feeding)
{
    int64_t end_ns = a->now.gap.end_ns;
    int64_t launched_ns = end_ns - feeding->call_end_ns > LAUNCH_NS ? feeding->call_end_ns + LAUNCH_NS : end_ns;
    bool loads = feeding->launch != AP_NO_ROW && a->states.state[feeding->launch] == AP_IDLE_driver_call;
    if (a->split->off_core.count && feeding->launch != AP_NO_ROW && !loads)
        credit_off_core(a, feeding->launch, feeding->host_end_ns, launched_ns);
    credit(a, loads ? AP_IDLE_driver_call : AP_IDLE_launch_overhead, feeding->host_end_ns, launched_ns, feeding->launch);
    bool at_edge = a->now.at_edge && end_ns - launched_ns >= EDGE_LEAST_NS;
    credit(a, at_edge ? AP_IDLE_not_recorded : AP_IDLE_queue_wait, launched_ns, end_ns, AP_NO_ROW);
}

/* ---------------------------------------------------------------------------------------------------- asking a thread */

static enum ap_status leave_over(struct pieces *to, struct ap_gate *gate, int64_t start_ns, int64_t end_ns,
                                 struct ap_error *reterr)
{
    struct piece *last = to->count ? &to->list[to->count - 1] : NULL;
    if (last && last->end_ns == start_ns) {
        last->end_ns = end_ns;
        return AP_OK;
    }
    AP_TRY_ADD(gate, to->list, to->count, to->capacity, reterr, (struct piece){ start_ns, end_ns });
    return AP_OK;
}

/* Most rows only go on with what is credited already. */
static bool goes_on(const struct attribution *a, enum ap_idle_cause cause, int64_t start_ns)
{
    const struct judged *now = &a->now;
    return a->is_plain && now->credited.cause == cause && now->credited.end_ns == start_ns && start_ns >= now->sync_end_ns &&
           cause != AP_IDLE_synchronization && cause != AP_IDLE_untraced;
}

/* From @start_ns to @end_ns @row was the innermost open one. */
static enum ap_status answer(struct attribution *a, uint32_t row, int64_t start_ns, int64_t end_ns, struct pieces *leftover,
                             struct ap_error *reterr)
{
    enum ap_idle_cause cause = row == AP_NO_ROW ? AP_IDLE_untraced : (enum ap_idle_cause)a->states.state[row];
    if (cause == AP_IDLE_untraced)
        return leave_over(leftover, a->split->gate, start_ns, end_ns, reterr);
    if (!goes_on(a, cause, start_ns)) {
        credit_host(a, row, start_ns, end_ns);
        return AP_OK;
    }
    a->now.credited.end_ns = end_ns;
    if (a->now.detail)
        name_gap(a, cause, row, end_ns - start_ns);
    return AP_OK;
}

/* What was open, innermost first, up to the start of the next row. What has ended by @from_ns is not asked for again. */
static enum ap_status answer_until(struct attribution *a, struct asked *asked, int64_t from_ns, int64_t next_ns,
                                   struct pieces *leftover, struct ap_error *reterr)
{
    const struct ap_host_tree *tree = a->input->tree;
    while (asked->open != AP_NO_ROW && ap_row_end_ns(a->trace, asked->open) <= from_ns)
        asked->open = ap_host_parent(tree, asked->open);
    for (uint32_t row = asked->open; from_ns < next_ns;) {
        int64_t end_ns = row == AP_NO_ROW ? next_ns : ap_row_end_ns(a->trace, row);
        end_ns = end_ns < next_ns ? end_ns : next_ns;
        if (end_ns > from_ns) {
            AP_TRY(answer(a, row, from_ns, end_ns, leftover, reterr));
            from_ns = end_ns;
        }
        row = row == AP_NO_ROW ? row : ap_host_parent(tree, row);
    }
    return AP_OK;
}

/* Where the next row of the host begins on the track. */
static int64_t next_start_ns(const struct attribution *a, uint32_t track, struct asked *asked)
{
    const struct ap_row_order *order = a->input->order;
    while (asked->at < order->track_start[track + 1] && !ap_row_is_of(a->trace, order->rows[asked->at], AP_HOST_KINDS))
        asked->at++;
    return asked->at < order->track_start[track + 1] ? a->trace->events.start_ns[order->rows[asked->at]] : INT64_MAX;
}

/* What the thread did from @start_ns to @end_ns, which goes on from there where the leftover is as much as is kept at once;
 * no thread is asked for what lies before that again. */
static enum ap_status ask_thread(struct attribution *a, uint32_t track, int64_t *start_ns, int64_t end_ns,
                                 struct pieces *leftover, struct ap_error *reterr)
{
    int64_t now_ns = *start_ns;
    if (!a->threads) {
        *start_ns = end_ns;
        return answer(a, AP_NO_ROW, now_ns, end_ns, leftover, reterr);
    }
    struct asked *asked = &a->threads[track];
    for (int64_t next_ns = next_start_ns(a, track, asked); now_ns < end_ns && leftover->count < PIECES_AT_ONCE;) {
        for (; next_ns <= now_ns; next_ns = next_start_ns(a, track, asked))
            asked->open = a->input->order->rows[asked->at++];
        int64_t until_ns = next_ns < end_ns ? next_ns : end_ns;
        AP_TRY(answer_until(a, asked, now_ns, until_ns, leftover, reterr));
        now_ns = until_ns;
    }
    *start_ns = now_ns;
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------ collectives of any thread */

static inline bool earlier_wait(const void *context, uint32_t x, uint32_t y)
{
    const struct ap_events *events = context;
    AP_SMALLER_FIRST(events->start_ns[x], events->start_ns[y]);
    AP_SMALLER_FIRST(events->track[x], events->track[y]);
    AP_LARGER_FIRST(events->dur_ns[x], events->dur_ns[y]);
    return x < y;
}

static enum ap_status list_waits(struct attribution *a, struct ap_error *reterr)
{
    const struct ap_row_order *order = a->input->order;
    struct waits *waits = &a->waits;
    waits->are_listed = true;
    for (size_t i = 0; i < order->count; i++) {
        uint32_t row = order->rows[i];
        if (ap_row_is_of(a->trace, row, AP_HOST_KINDS) && a->states.state[row] == AP_IDLE_communication_wait)
            AP_TRY_ADD(a->split->gate, waits->rows, waits->count, waits->capacity, reterr, row);
    }
    return ap_sort_list(a->split->gate, waits->rows, waits->count, earlier_wait, &a->trace->events, reterr);
}

/* Where neither thread has anything recorded, a collective that runs on a third one is what they wait for. */
static enum ap_status ask_collectives(struct attribution *a, int64_t start_ns, int64_t end_ns, struct ap_error *reterr)
{
    struct waits *waits = &a->waits;
    if (!waits->are_listed)
        AP_TRY(list_waits(a, reterr));
    while (start_ns < end_ns) {
        while (waits->at < waits->count && ap_row_end_ns(a->trace, waits->rows[waits->at]) <= start_ns)
            waits->at++;
        uint32_t row = waits->at < waits->count ? waits->rows[waits->at] : AP_NO_ROW;
        int64_t from_ns = row == AP_NO_ROW ? INT64_MAX : a->trace->events.start_ns[row];
        int64_t to_ns = from_ns > start_ns ? from_ns : ap_row_end_ns(a->trace, row);
        to_ns = to_ns < end_ns ? to_ns : end_ns;
        credit_host(a, from_ns > start_ns ? AP_NO_ROW : row, start_ns, to_ns);
        start_ns = to_ns;
    }
    return AP_OK;
}

/* ----------------------------------------------------------------------------------------------------- gap by gap */

static enum ap_status ask_of_any(struct attribution *a, struct ap_error *reterr)
{
    for (size_t i = 0; i < a->for_any.count; i++)
        AP_TRY(ask_collectives(a, a->for_any.list[i].start_ns, a->for_any.list[i].end_ns, reterr));
    a->for_any.count = 0;
    return AP_OK;
}

static enum ap_status ask_of_main(struct attribution *a, struct ap_error *reterr)
{
    for (size_t i = 0; i < a->for_main.count; i++)
        for (int64_t from_ns = a->for_main.list[i].start_ns, end_ns = a->for_main.list[i].end_ns; from_ns < end_ns;) {
            AP_TRY(ask_thread(a, a->input->main_track, &from_ns, end_ns, &a->for_any, reterr));
            if (a->for_any.count >= PIECES_AT_ONCE)
                AP_TRY(ask_of_any(a, reterr));
        }
    a->for_main.count = 0;
    return AP_OK;
}

static enum ap_status ask_all(struct attribution *a, uint32_t track, struct ap_error *reterr)
{
    struct pieces *leftover = track == a->input->main_track ? &a->for_any : &a->for_main;
    int64_t end_ns = a->now.host_end_ns;
    for (int64_t from_ns = a->now.gap.start_ns; from_ns < end_ns;) {
        AP_TRY(ask_thread(a, track, &from_ns, end_ns, leftover, reterr));
        if (a->for_main.count)
            AP_TRY(ask_of_main(a, reterr));
        if (a->for_any.count && (from_ns >= end_ns || a->for_any.count >= PIECES_AT_ONCE))
            AP_TRY(ask_of_any(a, reterr));
    }
    return AP_OK;
}

/* What of the gap would have been spared without the recording. */
static void credit_recording(struct attribution *a, const struct feeding *feeding)
{
    const struct ap_gap *gap = &a->now.gap;
    ap_recording_cost_sum(&a->cost, feeding->track, a->input->main_track, feeding->host_end_ns);
    int64_t saved_ns = ap_recording_cost_take(&a->cost, gap->end_ns - gap->start_ns);
    saved_ns = saved_ns < a->now.host_ns ? saved_ns : a->now.host_ns;
    if (ap_gap_in_window(a->split, gap))
        a->split->window.recording_ns += saved_ns;
    credit_steps(a, RECORDING, gap->end_ns - saved_ns, gap->end_ns);
}

/* Before gaps at the edge hardly any work ran. The union of all classes is the last one: differences are taken later. */
static enum ap_status judge_gaps(struct attribution *a, struct ap_gap_walk *walk, const struct ap_long_gap *longest,
                                 struct ap_error *reterr)
{
    int64_t busy_ns = a->split->window.class_ns[AP_SPLIT_CLASS_COUNT_ - 1], before_ns = 0, from_ns = a->split->start_ns;
    size_t next_long = 0;
    bool at_edge = true;
    for (struct ap_gap gap; ap_gap_next(walk, &gap); from_ns = gap.end_ns) {
        bool is_long = next_long < a->split->detail_count && longest[next_long].gap.number == gap.number;
        struct feeding feeding = feeding_of(a, &gap);
        before_ns += gap.start_ns > from_ns ? gap.start_ns - from_ns : 0;
        at_edge = at_edge && before_ns <= busy_ns / EDGE_BUSY_SHARE;
        a->now = (struct judged){ .gap = gap,
                                  .detail = is_long ? &a->split->details[longest[next_long].rank] : NULL,
                                  .host_end_ns = feeding.host_end_ns,
                                  .sync_end_ns = gap.start_ns,
                                  .at_edge = at_edge };
        next_long += is_long;
        if (ap_links_clocks_differ(a->input->links)) {
            credit(a, AP_IDLE_not_recorded, gap.start_ns, gap.end_ns, AP_NO_ROW);
            add_credited(a);
            continue;
        }
        credit_device(a, &feeding);
        if (feeding.host_end_ns > gap.start_ns)
            AP_TRY(ask_all(a, feeding.track, reterr));
        add_credited(a);
        if (feeding.host_end_ns > gap.start_ns)
            credit_recording(a, &feeding);
    }
    return AP_OK;
}

/* Batches are made in many small rows: the wait around them says more. */
#define CLIMB_MAX 64
static void name_data_waits(struct attribution *a)
{
    for (size_t i = 0; i < a->split->detail_count; i++) {
        uint32_t *row = &a->split->details[i].host_row[AP_IDLE_data_loading];
        for (int climbed = 0; *row != AP_NO_ROW && climbed < CLIMB_MAX; climbed++) {
            uint32_t around = ap_host_parent(a->input->tree, *row);
            if (around == AP_NO_ROW || a->states.state[around] != AP_IDLE_data_loading)
                break;
            *row = around;
        }
        a->split->details[i].host_row_ns[AP_IDLE_data_loading] = a->split->details[i].cause_ns[AP_IDLE_data_loading];
    }
}

/* A launch in which the thread stood still loads nothing, however long it took. */
static void mend_launches(struct attribution *a)
{
    const struct ap_off_core *off = &a->split->off_core;
    for (size_t i = 0; ap_off_core_is_all(off) && i < off->count; i++)
        if (off->pieces[i].row != AP_NO_ROW && a->states.state[off->pieces[i].row] == AP_IDLE_driver_call)
            a->states.state[off->pieces[i].row] = AP_IDLE_launch_overhead;
}

static enum ap_status attribute(struct attribution *a, struct ap_gap_walk *walk, const struct ap_long_gap *longest,
                                struct ap_error *reterr)
{
    const struct ap_row_order *order = a->input->order;
    AP_TRY(ap_host_states_init(&a->states, a->trace, order, a->input->tree, a->split->gate, reterr));
    AP_TRY(ap_off_core_init(&a->split->off_core, a->trace, order, a->input->tree, &a->states, a->split->gate, reterr));
    AP_TRY(ap_captures_init(&a->split->captures, a->trace, order, a->input->links, a->split->gate, reterr));
    mend_launches(a);
    a->is_plain = !a->split->captures.time.count && !a->split->off_core.count && !a->split->pieces;
    if (ap_has_rows_of(a->trace, AP_HOST_KINDS))
        AP_TRY(AP_ALLOC(a->split->gate, a->threads, order->track_count, reterr));
    for (size_t track = 0; track < order->track_count && a->threads; track++)
        a->threads[track] = (struct asked){ order->track_start[track], AP_NO_ROW };
    if (a->cost.edge_ns)
        AP_TRY(AP_ALLOC(a->split->gate, a->cost.next, order->track_count, reterr));
    if (a->cost.next)
        memcpy(a->cost.next, order->track_start, order->track_count * sizeof(order->track_start[0]));
    AP_TRY(judge_gaps(a, walk, longest, reterr));
    name_data_waits(a);
    return AP_OK;
}

static int64_t host_start_ns(const struct ap_trace *trace)
{
    int64_t first_ns = INT64_MAX;
    for (struct ap_rows_of at = ap_rows_of(trace, AP_HOST_KINDS); ap_rows_of_next(&at);) {
        int64_t start_ns = trace->events.start_ns[at.row];
        first_ns = start_ns != AP_START_UNKNOWN && start_ns < first_ns ? start_ns : first_ns;
    }
    return first_ns;
}

enum ap_status ap_idle_attribute(struct ap_split *split, const struct ap_idle_input *input, struct ap_gap_walk walk,
                                 const struct ap_long_gap *longest, struct ap_error *reterr)
{
    struct attribution a = { .split = split,
                             .input = input,
                             .trace = input->trace,
                             .names = { .gate = split->gate, .trace = input->trace, .tree = input->tree },
                             .step = { input->steps, 0 },
                             .host_start_ns = host_start_ns(input->trace),
                             .cost = { input->trace, input->order, &a.states,
                                       ap_recording_edge_ns(input->trace, input->order), .until_ns = walk.busy_to_ns } };
    split->knows_recording = a.cost.edge_ns > 0;
    if (!input->order->track_count)
        return AP_OK;
    enum ap_status status = attribute(&a, &walk, longest, reterr);
    if (status == AP_OK && a.names.failed)
        status = ap_fail_memory(split->gate, reterr);
    AP_AND_THEN(status, ap_gap_names_keep(&a.names, AP_IDLE_host_python, AP_NAMED_NS, split, reterr));
    ap_gap_names_release(&a.names);
    ap_host_states_release(&a.states);
    AP_FREE(split->gate, a.threads, input->order->track_count);
    AP_FREE(split->gate, a.cost.next, input->order->track_count);
    AP_FREE(split->gate, a.for_main.list, a.for_main.capacity);
    AP_FREE(split->gate, a.for_any.list, a.for_any.capacity);
    AP_FREE(split->gate, a.waits.rows, a.waits.capacity);
    return status;
}
