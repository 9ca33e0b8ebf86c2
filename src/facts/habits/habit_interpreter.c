/* SPDX-License-Identifier: MIT
 * The loop's thread is ready to go on, but another thread of Python holds the interpreter: right before or behind an
 * operator, where Python has nothing to do but to take the interpreter's lock, nothing begins or ends for long, while the
 * other thread's frames go on. A wait for a lock of the program's or for a queue has no operator in its call. Where that is
 * sure, operators that are short but for a few that stand still meanwhile wait as well: the two threads are in each
 * other's way. */
#include "habits.h"
#include "nest.h"
#include "sort.h"

#include "poison.h"

#define LEAST_GAP_NS INT64_C(1000000) /* a thread is asked to give the interpreter up after 5 ms */
#define LEAST_FRAMES 2                /* that begin on the other thread meanwhile */
#define LEAST_SURE 4                  /* stretches beside operators, where those within them count */
#define SHORT_ONES 8                  /* of an operator's calls one in so many stands still */

struct held {
    int64_t start_ns, end_ns;
    uint32_t within; /* kind of the operator that it lies in; AP_PAIR_NONE = beside one */
    uint32_t row;    /* of the other thread, meanwhile; AP_NO_ROW = none */
};

/* Of one operator with one set of shapes: how many there are, and of them stand still. */
struct calls {
    uint32_t all, still;
};

struct search {
    struct ap_habits *habits;
    const struct ap_facts *facts;
    const struct ap_trace *trace;
    struct ap_nest nest; /* id = is it an operator? */
    size_t operators;    /* that are open */
    int64_t last_ns;     /* that a row began or ended; INT64_MIN = none yet */
    bool was_operator;   /* which ended then */
    struct held *held;
    size_t held_count, held_capacity;
    struct ap_pair_map kinds; /* of operators that stand still: names and shapes */
    struct calls *calls;      /* by kind */
    size_t calls_count, calls_capacity;
};

static uint32_t shapes_of(const struct search *search, uint32_t row)
{
    const struct ap_op_detail *op = ap_row_op(search->trace, row);
    return op ? op->signature.id : 0;
}

static enum ap_status note_still(struct search *search, uint32_t row, uint32_t *ret_kind, struct ap_error *reterr)
{
    AP_TRY(ap_pair_map_add(&search->kinds, search->trace->events.name[row], shapes_of(search, row), ret_kind, reterr));
    if (*ret_kind == search->calls_count)
        AP_TRY_ADD(search->habits->gate, search->calls, search->calls_count, search->calls_capacity, reterr,
                   (struct calls){ 0, 0 });
    search->calls[*ret_kind].still++;
    return AP_OK;
}

static enum ap_status at_boundary(struct search *search, int64_t now_ns, bool is_operator, struct ap_error *reterr)
{
    int64_t start_ns = search->last_ns;
    bool beside_operator = search->was_operator || is_operator;
    const struct ap_nest_row *top = ap_nest_top(&search->nest);
    struct held held = { start_ns, now_ns, AP_PAIR_NONE, AP_NO_ROW };
    search->last_ns = now_ns > start_ns ? now_ns : start_ns;
    if (start_ns == INT64_MIN || now_ns <= start_ns || now_ns - start_ns < LEAST_GAP_NS || !top)
        return AP_OK;
    if (search->operators ? !top->id : !beside_operator)
        return AP_OK;
    if (search->operators)
        AP_TRY(note_still(search, top->row, &held.within, reterr));
    AP_TRY_ADD(search->habits->gate, search->held, search->held_count, search->held_capacity, reterr, held);
    return AP_OK;
}

static enum ap_status close_row(void *context, const struct ap_nest_row *closed, struct ap_error *reterr)
{
    struct search *search = context;
    AP_TRY(at_boundary(search, closed->end_ns, false, reterr));
    search->operators -= closed->id;
    search->was_operator = closed->id;
    return AP_OK;
}

/* Stretches beside operators, in a frame of Python, and in operators. */
static enum ap_status find_held(struct search *search, struct ap_error *reterr)
{
    const struct ap_row_order *order = &search->facts->order;
    uint32_t track = search->facts->main_track;
    search->nest.now_ns = INT64_MIN;
    for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++) {
        uint32_t row = order->rows[at];
        bool is_operator = ap_row_is_of(search->trace, row, 1u << AP_KIND_operator);
        if (!is_operator && !ap_row_is_of(search->trace, row, 1u << AP_KIND_python))
            continue;
        int64_t start_ns = search->trace->events.start_ns[row];
        AP_TRY(ap_nest_advance(&search->nest, start_ns, close_row, search, reterr));
        AP_TRY(at_boundary(search, start_ns, is_operator, reterr));
        search->was_operator = false;
        search->operators += is_operator;
        AP_TRY(ap_nest_push(&search->nest, search->trace, row, is_operator, 0, reterr));
    }
    return ap_nest_advance(&search->nest, INT64_MAX, close_row, search, reterr);
}

static void count_calls(struct search *search)
{
    const struct ap_row_order *order = &search->facts->order;
    uint32_t track = search->facts->main_track;
    for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++) {
        uint32_t row = order->rows[at];
        if (!ap_row_is_of(search->trace, row, 1u << AP_KIND_operator))
            continue;
        uint32_t kind = ap_pair_map_find(&search->kinds, search->trace->events.name[row], shapes_of(search, row));
        if (kind != AP_PAIR_NONE)
            search->calls[kind].all++;
    }
}

/* Those within operators count beside enough that are sure. */
static void tell_held(struct search *search)
{
    size_t sure = 0;
    for (size_t i = 0; i < search->held_count; i++)
        sure += search->held[i].within == AP_PAIR_NONE && search->held[i].row != AP_NO_ROW;
    if (sure >= LEAST_SURE)
        count_calls(search);
    for (size_t i = 0; i < search->held_count; i++) {
        const struct held *held = &search->held[i];
        const struct calls *calls = held->within == AP_PAIR_NONE ? NULL : &search->calls[held->within];
        if (held->row == AP_NO_ROW || (calls && calls->still > calls->all / SHORT_ONES))
            continue;
        int64_t dur_ns = held->end_ns - held->start_ns;
        ap_habit_add_time(search->habits, AP_HABIT_interpreter_held, held->start_ns, held->end_ns);
        (void)ap_habit_add_in_pieces(search->habits, AP_HABIT_interpreter_held, held->row, dur_ns, dur_ns);
    }
}

/* One of the same process, where it begins frames while the interpreter is held. A stretch counts for one thread. */
static void look_at_thread(struct search *search, size_t track)
{
    const struct ap_row_order *order = &search->facts->order;
    size_t now = 0, before = search->held_count, frames = 0;
    for (size_t i = order->track_start[track]; i < order->track_start[track + 1]; i++) {
        uint32_t row = order->rows[i];
        int64_t start_ns = search->trace->events.start_ns[row];
        if (!ap_row_is_of(search->trace, row, 1u << AP_KIND_python))
            continue;
        AP_SEEK(now, search->held_count, at, search->held[at].end_ns <= start_ns);
        if (now == search->held_count)
            return;
        if (start_ns < search->held[now].start_ns)
            continue;
        frames = now == before ? frames + 1 : 1;
        before = now;
        if (frames == LEAST_FRAMES && search->held[now].row == AP_NO_ROW)
            search->held[now].row = row;
    }
}

/* Another thread of the process. */
static bool is_beside(const struct search *search, size_t track)
{
    const struct ap_track *tracks = search->trace->tracks;
    uint32_t main = search->facts->main_track;
    return track != main && tracks[track].pid.id == tracks[main].pid.id;
}

static bool has_python_beside(const struct search *search)
{
    const struct ap_row_order *order = &search->facts->order;
    for (size_t track = 0; track < order->track_count; track++)
        for (size_t i = order->track_start[track]; i < order->track_start[track + 1] && is_beside(search, track); i++)
            if (ap_row_is_of(search->trace, order->rows[i], 1u << AP_KIND_python))
                return true;
    return false;
}

static enum ap_status search_threads(struct search *search, struct ap_error *reterr)
{
    if (!has_python_beside(search))
        return AP_OK;
    AP_TRY(find_held(search, reterr));
    for (size_t track = 0; search->held_count && track < search->facts->order.track_count; track++)
        if (is_beside(search, track))
            look_at_thread(search, track);
    tell_held(search);
    return AP_OK;
}

enum ap_status ap_habits_of_interpreter(struct ap_habits *habits, const struct ap_facts *facts, struct ap_error *reterr)
{
    struct search search = { .habits = habits,
                             .facts = facts,
                             .trace = facts->trace,
                             .nest = { .gate = habits->gate },
                             .last_ns = INT64_MIN,
                             .kinds = { .gate = habits->gate } };
    if (facts->main_track == AP_NO_ROW)
        return AP_OK;
    enum ap_status status = search_threads(&search, reterr);
    ap_nest_release(&search.nest);
    ap_pair_map_release(&search.kinds);
    AP_FREE(habits->gate, search.calls, search.calls_capacity);
    AP_FREE(habits->gate, search.held, search.held_capacity);
    return status;
}
