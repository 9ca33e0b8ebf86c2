/* SPDX-License-Identifier: MIT
 * What habits cost on devices: the GPU work that was launched while the host was in them. */
#include "habits.h"
#include "sort.h"

#include "poison.h"

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
    return share < 1 ? share : 1;
}

static void add_device_time(struct ap_habits *habits, struct ap_habit *habit, const struct launch *launches, size_t count)
{
    (void)ap_stretches_length_ns(&habit->time); /* puts them in order: each launch counts once */
    for (size_t i = 0; i < habit->time.count; i++) {
        const struct ap_stretch *stretch = &habit->time.list[i];
        int64_t work_ns = work_before(launches, count, stretch->end_ns) - work_before(launches, count, stretch->start_ns);
        habit->device_ns = ap_add_sat(habit->device_ns, work_ns, &habits->overflowed);
    }
    habit->has_device = !habit->time.unknown;
    habit->device_saves_ns = ap_share_of(habit->device_ns, share_that_goes(habits, habit));
}

enum ap_status ap_habits_on_devices(struct ap_habits *habits, const struct ap_facts *facts, struct ap_error *reterr)
{
    struct launch *launches = NULL;
    size_t capacity = 0;
    if (!facts->links.linked_count)
        return AP_OK;
    AP_TRY(AP_RESERVE(habits->gate, launches, capacity, facts->links.count, reterr));
    size_t count = read_launches(facts, launches, &habits->overflowed);
    for (size_t i = 0; i < AP_HABIT_COUNT_; i++)
        if (habits->of[i].has_time)
            add_device_time(habits, &habits->of[i], launches, count);
    AP_FREE(habits->gate, launches, capacity);
    return AP_OK;
}
