/* SPDX-License-Identifier: MIT
 * What habits take of devices: the work that was launched in their time, and how long all devices stood still meanwhile. */
#include "device_gaps.h"
#include "habits.h"

#include "poison.h"

static bool has_known_time(const struct ap_habit *habit)
{
    return habit->has_time && habit->time.count && !habit->time.unknown && !habit->time.failed;
}

static void add_work(struct ap_habits *habits, struct ap_habit *habit, const struct ap_facts *facts)
{
    const struct ap_events *events = &facts->trace->events;
    for (size_t i = 0; i < facts->links.count; i++) {
        const struct ap_device_row *work = &facts->links.rows[i];
        if (work->launch != AP_NO_ROW && ap_stretches_has(&habit->time, events->start_ns[work->launch]))
            habit->device_ns = ap_add_sat(habit->device_ns, events->dur_ns[work->row], &habits->overflowed);
    }
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

enum ap_status ap_habits_of_devices(struct ap_habits *habits, const struct ap_facts *facts, struct ap_error *reterr)
{
    struct ap_merged_work merged;
    int64_t first_ns = 0;
    if (!facts->links.count)
        return AP_OK;
    enum ap_status status = ap_merged_work_init(&merged, facts->trace, &facts->links, habits->gate, reterr);
    if (status == AP_OK)
        first_ns = facts->trace->events.start_ns[ap_merged_work_at(&merged, 0)->row];
    for (size_t i = 0; i < AP_HABIT_COUNT_ && status == AP_OK; i++) {
        struct ap_habit *habit = &habits->of[i];
        if (!has_known_time(habit))
            continue;
        habit->has_device = true;
        (void)ap_stretches_length_ns(&habit->time); /* puts them in order */
        add_work(habits, habit, facts);
        add_idle(habits, habit,
                 (struct ap_gap_walk){
                     .merged = &merged, .busy_to_ns = first_ns, .end_ns = INT64_MIN }); /* up to the last work */
        habit->device_saves_ns =
            habit->total_ns > 0 ? ap_share_of(habit->device_ns, (double)habit->saves_ns / (double)habit->total_ns) : 0;
    }
    ap_merged_work_release(&merged);
    return status;
}
