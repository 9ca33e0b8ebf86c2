/* SPDX-License-Identifier: MIT
 * What habits take of devices: the work that was launched in their time, and how long all devices stood still meanwhile. */
#include "device_gaps.h"
#include "habits.h"
#include "sort.h"

#include "poison.h"

#define MASK_SAVES 0.7 /* of attention: half of the arithmetic, and no mask is read; cuDNN on an H100 */
#define FORM_SAVES 0.9 /* of what is written out: kernels that move bytes, of eight passes one is left; RMSNorm on an H100 */

/* A launch: when, and how much GPU work all launches up to it bring. */
struct launch {
    int64_t at_ns, sum_ns;
};

static int by_time(const void *left, const void *right)
{
    const struct launch *a = left, *b = right;
    AP_BY_SMALLER(a->at_ns, b->at_ns);
    AP_BY_SMALLER(a->sum_ns, b->sum_ns);
    return 0;
}

static size_t read_launches(const struct ap_facts *facts, struct launch *launches, bool *overflowed)
{
    const struct ap_events *events = &facts->trace->events;
    size_t count = 0;
    for (size_t i = 0; i < facts->links.count; i++) {
        const struct ap_device_row *row = &facts->links.rows[i];
        if (row->launch != AP_NO_ROW)
            launches[count++] = (struct launch){ events->start_ns[row->launch], events->dur_ns[row->row] };
    }
    ap_sort(launches, count, sizeof(launches[0]), by_time);
    for (size_t i = 1; i < count; i++)
        launches[i].sum_ns = ap_add_sat(launches[i - 1].sum_ns, launches[i].sum_ns, overflowed);
    return count;
}

/* Of all that was launched before the time. */
static int64_t work_before(const struct launch *launches, size_t count, int64_t at_ns)
{
    size_t before = 0;
    AP_BISECT(before, count, at, launches[at].at_ns < at_ns);
    return before ? launches[before - 1].sum_ns : 0;
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

static void add_work(struct ap_habits *habits, struct ap_habit *habit, const struct launch *launches, size_t count)
{
    for (size_t i = 0; i < habit->time.count; i++) {
        const struct ap_stretch *stretch = &habit->time.list[i];
        int64_t work_ns = work_before(launches, count, stretch->end_ns) - work_before(launches, count, stretch->start_ns);
        habit->work_ns = ap_add_sat(habit->work_ns, work_ns, &habits->overflowed);
    }
    habit->work_saves_ns = ap_share_of(habit->work_ns, share_that_goes(habits, habit));
}

/* Both lists are in order of time. */
static void add_idle(struct ap_habits *habits, struct ap_habit *habit, struct ap_gap_walk walk)
{
    const struct ap_stretches *time = &habit->time;
    struct ap_gap gap;
    size_t at = 0;
    while (ap_gap_next(&walk, &gap)) {
        while (at < time->count && time->list[at].end_ns <= gap.start_ns)
            at++;
        for (size_t i = at; i < time->count && time->list[i].start_ns < gap.end_ns; i++) {
            int64_t from_ns = time->list[i].start_ns > gap.start_ns ? time->list[i].start_ns : gap.start_ns;
            int64_t to_ns = time->list[i].end_ns < gap.end_ns ? time->list[i].end_ns : gap.end_ns;
            habit->device_ns = ap_add_sat(habit->device_ns, to_ns - from_ns, &habits->overflowed);
            at = i;
        }
    }
}

static void add_devices(struct ap_habits *habits, struct ap_habit *habit, const struct launch *launches, size_t count,
                        struct ap_gap_walk walk)
{
    habit->has_device = true;
    (void)ap_stretches_length_ns(&habit->time); /* puts them in order: each launch counts once */
    add_work(habits, habit, launches, count);
    habit->device_ns = ap_add_sat(habit->device_ns, habit->work_ns, &habits->overflowed);
    add_idle(habits, habit, walk);
    habit->device_saves_ns = ap_share_of(habit->device_ns, share_that_goes(habits, habit));
}

enum ap_status ap_habits_of_devices(struct ap_habits *habits, const struct ap_facts *facts, struct ap_error *reterr)
{
    struct ap_merged_work merged;
    struct launch *launches = NULL;
    size_t capacity = 0;
    if (!facts->links.count || !any_has_known_time(habits))
        return AP_OK;
    AP_TRY(AP_RESERVE(habits->gate, launches, capacity, facts->links.count, reterr));
    size_t count = read_launches(facts, launches, &habits->overflowed);
    enum ap_status status = ap_merged_work_init(&merged, facts->trace, &facts->links, habits->gate, reterr);
    int64_t first_ns = status == AP_OK ? facts->trace->events.start_ns[ap_merged_work_at(&merged, 0)->row] : 0;
    for (size_t i = 0; i < AP_HABIT_COUNT_ && status == AP_OK; i++)
        if (has_known_time(&habits->of[i])) /* up to the last work */
            add_devices(habits, &habits->of[i], launches, count,
                        (struct ap_gap_walk){ .merged = &merged, .busy_to_ns = first_ns, .end_ns = INT64_MIN });
    ap_merged_work_release(&merged);
    AP_FREE(habits->gate, launches, capacity);
    return status;
}
