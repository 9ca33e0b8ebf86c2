/* SPDX-License-Identifier: MIT
 * late_moving.c - lateness that is not there in every step: it moves from rank to rank, or one rank pauses now and then. */
#include "run_judging.h"

#include "quantile.h"
#include "sort.h"

#include "poison.h"

#define MOVING_SHARE 0.6  /* of the steps, for what moves from rank to rank */
#define MOVING_FLOORS 3   /* what moves is the largest of many: noise has a largest one too */
#define CHANCE_TIMES 1.1  /* as long as usual: so much equal kernels vary, and shapes may not have been recorded */
#define PAUSING_SHARE 0.7 /* of the lateness of the latest, which is one rank's */
#define SMALL_PART 4      /* of the largest pause: what is smaller is the noise beside it */
#define PAUSING_FLOORS 3  /* in the mean of the steps */
#define BUSY_FLOORS 10    /* the same where processes share the cores of a host */

/* The latest rank of a step, and the one after it. */
struct latest {
    uint32_t rank;
    int64_t late_ns, second_ns;
};

static struct latest latest_of(const struct ap_judging *judging, size_t step)
{
    struct latest latest = { .late_ns = ap_late_in(judging, step, 0) };
    for (uint32_t i = 1; i < judging->delays->rank_count; i++) {
        int64_t late_ns = ap_late_in(judging, step, i);
        if (late_ns > latest.late_ns) {
            latest.second_ns = latest.late_ns;
            latest.late_ns = late_ns;
            latest.rank = i;
        } else if (late_ns > latest.second_ns) {
            latest.second_ns = late_ns;
        }
    }
    return latest;
}

/* ---------------------------------------------------------------------------------------------------------- moving */

static int64_t spent_in(const struct ap_judging *judging, size_t rank, int64_t number, int class)
{
    const struct ap_rank_step *step = ap_view_step(ap_view_rank(judging->view, rank), number);
    return step ? step->spent_ns[class] : 0;
}

int64_t ap_more_in(const struct ap_judging *judging, size_t rank, int64_t number, int class)
{
    const struct ap_delays *delays = judging->delays;
    size_t count = 0;
    for (size_t i = 0; i < delays->rank_count; i++)
        if (ap_same_role(delays, i, rank))
            judging->values[count++] = spent_in(judging, i, number, class);
    ap_sort(judging->values, count, sizeof(judging->values[0]), ap_by_int64);
    int64_t more_ns = spent_in(judging, rank, number, class) - judging->values[(count - 1) / 2];
    return more_ns > 0 ? more_ns : 0;
}

/* So many times as long as on the middle one take the kernels of a rank that has the work of others in the step; 0 = it has
 * other work. */
static double times_of_step(const struct ap_judging *judging, size_t rank, int64_t number)
{
    const struct ap_rank_step *mine = ap_view_step(ap_view_rank(judging->view, rank), number);
    size_t count = 0, alike = 0;
    for (size_t i = 0; i < judging->delays->rank_count && mine; i++) {
        const struct ap_rank_step *step = ap_view_step(ap_view_rank(judging->view, i), number);
        if (!step || !ap_same_role(judging->delays, i, rank))
            continue;
        alike += i != rank && step->work == mine->work;
        judging->values[count++] = step->kernel_ns;
    }
    if (!alike)
        return 0;
    ap_sort(judging->values, count, sizeof(judging->values[0]), ap_by_int64);
    int64_t middle_ns = judging->values[(count - 1) / 2];
    return middle_ns > 0 ? (double)mine->kernel_ns / (double)middle_ns : 0;
}

/* Kernels vary from call to call. */
static bool is_chance(const struct ap_judging *judging, size_t rank, int64_t number)
{
    double times = times_of_step(judging, rank, number);
    return times > 0 && times < CHANCE_TIMES;
}

bool ap_is_slow_when_late(const struct ap_judging *judging, size_t rank)
{
    size_t late = 0, slow = 0;
    for (size_t step = judging->first_step; step < ap_judged_end(judging); step++) {
        if (ap_late_in(judging, step, rank) < MOVING_FLOORS * judging->verdict->floor_ns)
            continue;
        late++;
        slow += times_of_step(judging, rank, judging->view->first_step + (int64_t)step) >= CHANCE_TIMES;
    }
    return late && slow == late;
}

/* Of the steps in which a rank is late: is it because of more kernels, of something else, or by chance? */
static enum ap_late_kind kind_of_moving(const struct ap_judging *judging)
{
    int64_t compute_ns = 0, chance_ns = 0, other_ns = 0;
    bool overflowed = false;
    for (size_t step = judging->first_step; step < ap_judged_end(judging); step++) {
        struct latest latest = latest_of(judging, step);
        int64_t number = judging->view->first_step + (int64_t)step;
        if (latest.late_ns < MOVING_FLOORS * judging->verdict->floor_ns)
            continue;
        int64_t *of_kernels = is_chance(judging, latest.rank, number) ? &chance_ns : &compute_ns;
        for (int class = 0; class < AP_SPENT_COUNT_; class ++) {
            int64_t *to = class == AP_SPENT_compute ? of_kernels : &other_ns;
            if (class != AP_SPENT_communication && class != AP_SPENT_queue)
                *to = ap_add_sat(*to, ap_more_in(judging, latest.rank, number, class), &overflowed);
        }
    }
    if (chance_ns > compute_ns && chance_ns > other_ns)
        return AP_LATE_NONE;
    return compute_ns > other_ns ? AP_LATE_uneven_data : AP_LATE_jitter;
}

/* The ranks that are the latest in a step, one step after the other. */
struct moving {
    size_t late_steps, changes;
    uint32_t before, worst;
    int64_t worst_ns, sum_ns;
};

static void add_latest(struct moving *moving, const struct latest *latest)
{
    bool overflowed = false;
    moving->late_steps++;
    moving->sum_ns = ap_add_sat(moving->sum_ns, latest->late_ns, &overflowed);
    moving->changes += moving->before != AP_NO_RANK && moving->before != latest->rank;
    moving->before = latest->rank;
    if (latest->late_ns > moving->worst_ns) {
        moving->worst_ns = latest->late_ns;
        moving->worst = latest->rank;
    }
}

void ap_find_moving(struct ap_judging *judging)
{
    struct ap_run_verdict *verdict = judging->verdict;
    const struct ap_delays *delays = judging->delays;
    struct moving moving = { .before = AP_NO_RANK, .worst = AP_NO_RANK };
    size_t count = 0;
    for (size_t step = judging->first_step; step < ap_judged_end(judging); step++) {
        struct latest latest = latest_of(judging, step);
        judging->values[count++] = latest.late_ns;
        if (latest.late_ns >= MOVING_FLOORS * verdict->floor_ns)
            add_latest(&moving, &latest);
    }
    double share = (double)moving.late_steps / (double)verdict->judged_steps;
    int64_t mean_ns = moving.sum_ns / (int64_t)verdict->judged_steps;
    if ((share < MOVING_SHARE && mean_ns < MOVING_FLOORS * verdict->floor_ns) || moving.late_steps < 2 ||
        2 * moving.changes < moving.late_steps - 1 || !moving.changes)
        return;
    int64_t late_ns = share < MOVING_SHARE ? mean_ns : ap_quantile(judging->values, count, 50);
    enum ap_late_kind kind = kind_of_moving(judging);
    if (kind == AP_LATE_NONE)
        return;
    bool overflowed = false;
    verdict->late[kind] = (struct ap_late_group){ .worst = moving.worst,
                                                  .rank_count = moving.changes + 1,
                                                  .late_ns = late_ns,
                                                  .waited_ns = delays->waited_ns,
                                                  .lost_ns = ap_add_sat(delays->waited_ns, moving.sum_ns, &overflowed),
                                                  .share = share };
}

/* --------------------------------------------------------------------------------------------------------- pausing */

/* The rank with most of the lateness of the latest ones; values hold that of each rank. */
static uint32_t most_paused(const struct ap_judging *judging, int64_t *ret_all_ns)
{
    const struct ap_delays *delays = judging->delays;
    int64_t largest_ns = 0, least_ns = MOVING_FLOORS * judging->verdict->floor_ns;
    uint32_t most = 0;
    bool overflowed = false;
    *ret_all_ns = 0;
    for (size_t i = 0; i < delays->rank_count; i++)
        judging->values[i] = 0;
    for (size_t step = judging->first_step; step < ap_judged_end(judging); step++)
        largest_ns = latest_of(judging, step).late_ns > largest_ns ? latest_of(judging, step).late_ns : largest_ns;
    least_ns = largest_ns / SMALL_PART > least_ns ? largest_ns / SMALL_PART : least_ns;
    for (size_t step = judging->first_step; step < ap_judged_end(judging); step++) {
        struct latest latest = latest_of(judging, step);
        int64_t alone_ns = latest.late_ns - latest.second_ns;
        if (latest.late_ns < least_ns)
            continue;
        *ret_all_ns = ap_add_sat(*ret_all_ns, latest.late_ns, &overflowed);
        judging->values[latest.rank] = ap_add_sat(judging->values[latest.rank], alone_ns, &overflowed);
    }
    for (uint32_t i = 1; i < delays->rank_count; i++)
        most = judging->values[i] > judging->values[most] ? i : most;
    return most;
}

void ap_find_pausing(struct ap_judging *judging, bool has_device)
{
    struct ap_run_verdict *verdict = judging->verdict;
    int64_t all_ns, least_ns = (has_device ? PAUSING_FLOORS : BUSY_FLOORS) * verdict->floor_ns;
    uint32_t rank = most_paused(judging, &all_ns);
    int64_t alone_ns = judging->values[rank], mean_ns = alone_ns / (int64_t)verdict->judged_steps;
    if (mean_ns < least_ns || (double)alone_ns < PAUSING_SHARE * (double)all_ns)
        return;
    verdict->typical_late_ns[rank] = mean_ns;
    verdict->kinds[rank] = (uint8_t)ap_kind_of_rank(judging, rank, false);
}
