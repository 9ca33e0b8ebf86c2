/* SPDX-License-Identifier: MIT
 * The loop's thread is ready to go on, but another thread of Python holds the interpreter: right before or behind an
 * operator, where Python has nothing to do but to take the interpreter's lock, nothing begins or ends for long, while the
 * other thread's frames go on. A wait for a lock of the program's or for a queue has no operator in its call. */
#include "habits.h"
#include "nest.h"
#include "sort.h"

#include "poison.h"

#define LEAST_GAP_NS INT64_C(1000000) /* a thread is asked to give the interpreter up after 5 ms */
#define LEAST_FRAMES 2                /* that begin on the other thread meanwhile */

struct held {
    int64_t start_ns, end_ns;
    bool is_told;
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
};

static enum ap_status at_boundary(struct search *search, int64_t now_ns, bool is_operator, struct ap_error *reterr)
{
    int64_t start_ns = search->last_ns;
    bool beside_operator = search->was_operator || is_operator;
    search->last_ns = now_ns > start_ns ? now_ns : start_ns;
    if (start_ns == INT64_MIN || now_ns <= start_ns || now_ns - start_ns < LEAST_GAP_NS || search->operators ||
        !beside_operator || !ap_nest_top(&search->nest))
        return AP_OK;
    AP_TRY_ADD(search->habits->gate, search->held, search->held_count, search->held_capacity, reterr,
               (struct held){ start_ns, now_ns, false });
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

/* Stretches beside operators, in a frame of Python. */
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
        struct ap_nest_row open = { .end_ns = ap_row_end_ns(search->trace, row), .row = row, .id = is_operator };
        AP_TRY(ap_nest_push(&search->nest, open, reterr));
    }
    return ap_nest_advance(&search->nest, INT64_MAX, close_row, search, reterr);
}

static void tell_held(struct search *search, struct held *held, uint32_t row)
{
    int64_t dur_ns = held->end_ns - held->start_ns;
    held->is_told = true;
    ap_habit_add_time(search->habits, AP_HABIT_interpreter_held, held->start_ns, held->end_ns);
    (void)ap_habit_add_in_pieces(search->habits, AP_HABIT_interpreter_held, row, dur_ns, dur_ns);
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
        if (frames == LEAST_FRAMES && !search->held[now].is_told)
            tell_held(search, &search->held[now], row);
    }
}

static enum ap_status search_threads(struct search *search, struct ap_error *reterr)
{
    const struct ap_track *tracks = search->trace->tracks;
    uint32_t main = search->facts->main_track;
    AP_TRY(find_held(search, reterr));
    for (size_t track = 0; search->held_count && track < search->facts->order.track_count; track++)
        if (track != main && tracks[track].pid.id == tracks[main].pid.id)
            look_at_thread(search, track);
    return AP_OK;
}

enum ap_status ap_habits_of_interpreter(struct ap_habits *habits, const struct ap_facts *facts, struct ap_error *reterr)
{
    struct search search = {
        .habits = habits, .facts = facts, .trace = facts->trace, .nest = { .gate = habits->gate }, .last_ns = INT64_MIN
    };
    if (facts->main_track == AP_NO_ROW)
        return AP_OK;
    enum ap_status status = search_threads(&search, reterr);
    ap_nest_release(&search.nest);
    AP_FREE(habits->gate, search.held, search.held_capacity);
    return status;
}
