/* SPDX-License-Identifier: MIT
 * What habits take of devices: the work that was launched in their time, and how long all devices stood still meanwhile. */
#include "device_gaps.h"
#include "habits.h"
#include "sort.h"

#include "poison.h"

#define MASK_SAVES 0.8 /* of attention: half of the arithmetic, and no mask is read; cuDNN on an H100 saved 0.71 and 0.80 */
#define FORM_SAVES 0.9 /* of what is written out: kernels that move bytes, of eight passes one is left; RMSNorm on an H100 */

/* A launch: when, and how much GPU work all launches up to it bring. */
struct launch {
    int64_t at_ns, sum_ns;
};

struct launches {
    struct launch *list;
    size_t count;
};

/* Numbers of links, by launch. */
static inline bool launched_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_facts *facts = context;
    const int64_t *start_ns = facts->trace->events.start_ns;
    AP_SMALLER_FIRST(start_ns[ap_launch_at(&facts->links, a)], start_ns[ap_launch_at(&facts->links, b)]);
    return a < b;
}

static void add_up(struct launches *launches, const struct ap_facts *facts, const uint32_t *order, bool *overflowed)
{
    const struct ap_events *events = &facts->trace->events;
    int64_t sum_ns = 0;
    for (size_t i = 0; i < launches->count; i++) {
        struct ap_device_row row = ap_device_row_at(&facts->links, order[i]);
        sum_ns = ap_add_sat(sum_ns, events->dur_ns[row.row], overflowed);
        launches->list[i] = (struct launch){ events->start_ns[row.launch], sum_ns };
    }
}

static enum ap_status read_launches(struct launches *launches, const struct ap_facts *facts, bool *overflowed,
                                    struct ap_error *reterr)
{
    struct ap_gate *gate = facts->gate;
    uint32_t *order;
    AP_TRY(AP_ALLOC(gate, order, facts->links.count, reterr));
    for (size_t i = 0; i < facts->links.count; i++)
        if (ap_launch_at(&facts->links, i) != AP_NO_ROW)
            order[launches->count++] = (uint32_t)i;
    enum ap_status status = ap_sort_list(gate, order, launches->count, launched_before, facts, reterr);
    AP_AND_THEN(status, AP_ALLOC(gate, launches->list, facts->links.count, reterr));
    if (status == AP_OK)
        add_up(launches, facts, order, overflowed);
    AP_FREE(gate, order, facts->links.count);
    return status;
}

/* Of all that was launched before the time. */
static int64_t work_before(const struct launches *launches, int64_t at_ns)
{
    size_t before = 0;
    AP_BISECT(before, launches->count, at, launches->list[at].at_ns < at_ns);
    return before ? launches->list[before - 1].sum_ns : 0;
}

/* The share that could go, as on the host where no other is known. */
static double share_that_goes(const struct ap_habits *habits, const struct ap_habit *habit)
{
    double share = habit->total_ns > 0 ? (double)habit->saves_ns / (double)habit->total_ns : 0;
    if (habit == &habits->of[AP_HABIT_written_out])
        return FORM_SAVES;
    if (habit == &habits->of[AP_HABIT_square_mask])
        return MASK_SAVES;
    return share < 1 ? share : 1;
}

static bool has_known_time(const struct ap_habit *habit)
{
    return habit->has_time && habit->time.count && !habit->time.unknown && !habit->time.failed;
}

static bool any_has_known_time(const struct ap_habits *habits)
{
    for (size_t i = 0; i < AP_HABIT_COUNT_; i++)
        if (has_known_time(&habits->of[i]))
            return true;
    return false;
}

static void add_work(struct ap_habits *habits, struct ap_habit *habit, const struct launches *launches)
{
    for (size_t i = 0; i < habit->time.count; i++) {
        const struct ap_stretch *stretch = &habit->time.list[i];
        int64_t work_ns = work_before(launches, stretch->end_ns) - work_before(launches, stretch->start_ns);
        habit->work_ns = ap_add_sat(habit->work_ns, work_ns, &habits->overflowed);
    }
    habit->work_saves_ns = ap_share_of(habit->work_ns, share_that_goes(habits, habit));
}

/* Of the gap, what lies in the habit's time, and at which stretch of that the next gap is to be sought. Both are in order of
 * time. */
static int64_t common_ns(const struct ap_stretches *time, const struct ap_gap *gap, size_t *at)
{
    int64_t sum_ns = 0;
    while (*at < time->count && time->list[*at].end_ns <= gap->start_ns)
        ++*at;
    for (size_t i = *at; i < time->count && time->list[i].start_ns < gap->end_ns; i++) {
        int64_t from_ns = time->list[i].start_ns > gap->start_ns ? time->list[i].start_ns : gap->start_ns;
        int64_t to_ns = time->list[i].end_ns < gap->end_ns ? time->list[i].end_ns : gap->end_ns;
        sum_ns += to_ns - from_ns; /* at most the gap: stretches lie apart */
        *at = i;
    }
    return sum_ns;
}

/* Cuts off what of the gap lies before the end of the first capture in it: with fewer operators in it a graph is captured
 * sooner, but once. False = nothing is left. */
static bool next_outside_captures(const struct ap_captures *captures, struct ap_gap *rest, struct ap_gap *ret_gap)
{
    const struct ap_stretch *capture = ap_capture_after(captures, rest->start_ns);
    if (rest->start_ns >= rest->end_ns)
        return false;
    *ret_gap = *rest;
    if (capture && capture->start_ns < rest->end_ns) {
        ret_gap->end_ns = capture->start_ns > rest->start_ns ? capture->start_ns : rest->start_ns;
        rest->start_ns = capture->end_ns;
    } else {
        rest->start_ns = rest->end_ns;
    }
    return true;
}

static void add_idle(struct ap_habits *habits, const struct ap_captures *captures, struct ap_habit **timed, size_t count,
                     struct ap_gap_walk walk)
{
    size_t at[AP_HABIT_COUNT_] = { 0 };
    struct ap_gap gap, part;
    while (ap_gap_next(&walk, &gap))
        while (next_outside_captures(captures, &gap, &part))
            for (size_t i = 0; i < count && part.end_ns > part.start_ns; i++) {
                int64_t idle_ns = common_ns(&timed[i]->time, &part, &at[i]);
                timed[i]->device_ns = ap_add_sat(timed[i]->device_ns, idle_ns, &habits->overflowed);
            }
}

static void add_devices(struct ap_habits *habits, const struct ap_captures *captures, const struct launches *launches,
                        struct ap_gap_walk walk)
{
    struct ap_habit *timed[AP_HABIT_COUNT_];
    size_t count = 0;
    for (size_t i = 0; i < AP_HABIT_COUNT_; i++) {
        if (!has_known_time(&habits->of[i]))
            continue;
        struct ap_habit *habit = timed[count++] = &habits->of[i];
        habit->has_device = true;
        (void)ap_stretches_length_ns(&habit->time); /* puts them in order: each launch counts once */
        add_work(habits, habit, launches);
        habit->device_ns = ap_add_sat(habit->device_ns, habit->work_ns, &habits->overflowed);
    }
    add_idle(habits, captures, timed, count, walk);
    for (size_t i = 0; i < count; i++)
        timed[i]->device_saves_ns = ap_share_of(timed[i]->device_ns, share_that_goes(habits, timed[i]));
}

enum ap_status ap_habits_of_devices(struct ap_habits *habits, const struct ap_facts *facts, struct ap_error *reterr)
{
    struct ap_merged_work merged;
    struct launches launches = { NULL, 0 };
    if (!facts->links.count || !any_has_known_time(habits))
        return AP_OK;
    enum ap_status status = read_launches(&launches, facts, &habits->overflowed, reterr);
    if (status == AP_OK) {
        status = ap_merged_work_init(&merged, facts->trace, &facts->links, habits->gate, reterr);
        if (status == AP_OK) {
            int64_t first_ns = facts->trace->events.start_ns[facts->links.row[ap_merged_work_at(&merged, 0)]];
            add_devices(habits, &facts->split.captures, &launches, /* up to the last work */
                        (struct ap_gap_walk){ .merged = &merged, .busy_to_ns = first_ns, .end_ns = INT64_MIN });
        }
        ap_merged_work_release(&merged);
    }
    AP_FREE(facts->gate, launches.list, facts->links.count);
    return status;
}
