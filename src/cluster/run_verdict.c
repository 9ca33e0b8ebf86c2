/* SPDX-License-Identifier: MIT */
#include "run_judging.h"

#include <math.h>

#include "quantile.h"
#include "sort.h"
#include "transfer_times.h"

#include "poison.h"

#define FLOOR_SHARE 100      /* of a step: 1 % */
#define FLOOR_NS 100000      /* whatever the step is */
#define PERSISTENT_SHARE 0.8 /* of the steps */
#define BUSY_PART 4          /* of a step, for operators on the shared cores of a host to be more work */
#define OUTLIER_LEAST 3.5    /* deviations; more where there are many ranks */
#define ROLES_MAX 256        /* whose usual times are found */
#define MANY_RANKS 8         /* from here on deviations are judged */
#define PARTS 1e6            /* of one, in which ratios are compared */
#define CHANCE_TIMES 2       /* as much waiting goes back to another rank as to those with more work */
#define STEADY_PART 10       /* of a step, for what a rank has more of in each to tell why it is late */
#define STEADY_STEPS 3       /* that are judged */
#define STEADY_WAITING 3     /* a part of all waiting goes back to the rank, and no larger one to another */

const char *ap_late_name(enum ap_late_kind kind)
{
    static const char *const names[] = {
#define AP_LATE(id, meaning) #id,
#include "late_kind.def"
#undef AP_LATE
    };
    return names[kind];
}

const char *ap_late_meaning(enum ap_late_kind kind)
{
    static const char *const meanings[] = {
#define AP_LATE(id, meaning) meaning,
#include "late_kind.def"
#undef AP_LATE
    };
    return meanings[kind];
}

/* ------------------------------------------------------------------------------------------------------ of one rank */

int64_t ap_late_in(const struct ap_judging *judging, size_t step, size_t rank)
{
    return judging->delays->step_count ? ap_delay_in_step(judging->delays, step, rank)
                                       : judging->delays->ranks[rank].late_ns;
}

size_t ap_judged_end(const struct ap_judging *judging)
{
    return judging->delays->step_count ? judging->delays->step_count : 1;
}

static double late_share(const struct ap_judging *judging, size_t rank)
{
    size_t late = 0;
    for (size_t step = judging->first_step; step < ap_judged_end(judging); step++)
        late += ap_late_in(judging, step, rank) >= judging->verdict->floor_ns;
    return (double)late / (double)judging->verdict->judged_steps;
}

/* In which share of the steps is the rank among the latest, and about as late as it usually is? */
static double leading_share(const struct ap_judging *judging, size_t rank)
{
    size_t leading = 0;
    for (size_t step = judging->first_step; step < ap_judged_end(judging); step++) {
        int64_t late_ns = ap_late_in(judging, step, rank);
        leading += late_ns >= judging->latest_ns[step] / 2 && late_ns >= judging->verdict->typical_late_ns[rank] / 2;
    }
    return (double)leading / (double)judging->verdict->judged_steps;
}

static void find_latest(struct ap_judging *judging)
{
    for (size_t step = 0; step < ap_judged_end(judging); step++) {
        judging->latest_ns[step] = 0;
        for (size_t i = 0; i < judging->delays->rank_count; i++) {
            int64_t late_ns = ap_late_in(judging, step, i);
            judging->latest_ns[step] = late_ns > judging->latest_ns[step] ? late_ns : judging->latest_ns[step];
        }
    }
}

static int64_t typical_late(const struct ap_judging *judging, size_t rank)
{
    size_t count = 0;
    for (size_t step = judging->first_step; step < ap_judged_end(judging); step++)
        judging->values[count++] = ap_late_in(judging, step, rank);
    return ap_quantile(judging->values, count, 50);
}

static int64_t middle_of(int64_t *values, size_t count)
{
    ap_sort(values, count, sizeof(values[0]), ap_by_int64);
    return values[(count - 1) / 2];
}

bool ap_same_role(const struct ap_delays *delays, size_t a, size_t b)
{
    return delays->role[a] == delays->role[b] && ap_delay_is_root(&delays->ranks[a]) == ap_delay_is_root(&delays->ranks[b]);
}

/* Is it far above the middle of @values, which are used up? Of few nothing tells what is far. */
static bool is_far_above(int64_t value, int64_t *values, size_t count)
{
    int64_t middle = middle_of(values, count);
    for (size_t i = 0; i < count; i++)
        values[i] = values[i] > middle ? values[i] - middle : middle - values[i];
    int64_t spread = middle_of(values, count);
    double limit = sqrt(2 * log((double)count)) + 1;
    limit = limit > OUTLIER_LEAST ? limit : OUTLIER_LEAST;
    return 0.6745 * (double)(value - middle) > limit * (double)spread;
}

/* Is the lateness rare among ranks of one role? Of few ranks it is not what the middle one of them has, too. */
static bool is_outlier(const struct ap_judging *judging, size_t rank)
{
    const struct ap_delays *delays = judging->delays;
    const int64_t *late_ns = judging->verdict->typical_late_ns;
    size_t count = 0;
    for (size_t i = 0; i < delays->rank_count; i++)
        if (ap_same_role(delays, i, rank))
            judging->values[count++] = late_ns[i];
    if (count >= MANY_RANKS)
        return is_far_above(late_ns[rank], judging->values, count);
    int64_t middle_ns = count > 1 ? middle_of(judging->values, count) : 0;
    return late_ns[rank] - middle_ns >= judging->verdict->floor_ns && late_ns[rank] / 2 >= middle_ns;
}

static enum ap_spent largest_cause(const struct ap_rank_delay *delay)
{
    int largest = 0;
    for (int i = 1; i < AP_SPENT_COUNT_; i++)
        largest = delay->cause_ns[i] > delay->cause_ns[largest] ? i : largest;
    return (enum ap_spent)largest;
}

static enum ap_late_kind kind_of_cause(enum ap_spent cause)
{
    static const uint8_t kinds[AP_SPENT_COUNT_] = {
        [AP_SPENT_compute] = AP_LATE_more_work,
        [AP_SPENT_copy] = AP_LATE_more_work,
        [AP_SPENT_communication] = AP_LATE_other,
        [AP_SPENT_data_loading] = AP_LATE_data_loading,
        [AP_SPENT_synchronization] = AP_LATE_synchronization,
        [AP_SPENT_allocation] = AP_LATE_allocation,
        [AP_SPENT_garbage_collection] = AP_LATE_garbage_collection,
        [AP_SPENT_compilation] = AP_LATE_compilation,
        [AP_SPENT_driver_call] = AP_LATE_host_code,
        [AP_SPENT_launch] = AP_LATE_host_code,
        [AP_SPENT_queue] = AP_LATE_other,
        [AP_SPENT_python] = AP_LATE_host_code,
        [AP_SPENT_operators] = AP_LATE_host_code,
        [AP_SPENT_untraced] = AP_LATE_host_code,
    };
    return (enum ap_late_kind)kinds[cause];
}

/* ---------------------------------------------------------------------------------------------------- fixed stragglers */

/* What ranks of the role usually spend on each class: the middle of all of them. */
static void find_usual(struct ap_judging *judging, uint32_t role)
{
    const struct ap_delays *delays = judging->delays;
    if (judging->usual_role == role || judging->usual_count >= ROLES_MAX)
        return;
    judging->usual_role = role;
    judging->usual_count++;
    for (int class = 0; class < AP_SPENT_COUNT_; class ++) {
        size_t count = 0;
        for (size_t i = 0; i < delays->rank_count; i++)
            if (delays->role[i] == role)
                judging->values[count++] = ap_view_spent(judging->view, ap_view_rank(judging->view, i), class);
        judging->usual_ns[class] = middle_of(judging->values, count);
    }
}

/* Where the time since the last collective does not explain the lateness, that of the whole steps may: many small delays
 * that all ranks of a group have alike show in none of its collectives. False: nothing is more than usual by @least_ns. */
static bool cause_of_steps(struct ap_judging *judging, size_t rank, int64_t least_ns, enum ap_spent *ret_cause)
{
    int64_t most_ns = 0, steps = (int64_t)ap_judged_end(judging);
    find_usual(judging, judging->delays->role[rank]);
    if (judging->usual_role != judging->delays->role[rank])
        return false;
    for (int class = 0; class < AP_SPENT_COUNT_; class ++) {
        int64_t mine_ns = ap_view_spent(judging->view, ap_view_rank(judging->view, rank), class);
        int64_t more_ns = (mine_ns - judging->usual_ns[class]) / steps;
        if (class == AP_SPENT_communication || class == AP_SPENT_queue || more_ns <= most_ns)
            continue;
        most_ns = more_ns;
        *ret_cause = (enum ap_spent) class;
    }
    return most_ns >= least_ns;
}

/* Work that differs from step to step makes a rank late by chance for a while: always by about as much is no chance. */
static bool is_steady(const struct ap_judging *judging, size_t rank)
{
    int64_t least_ns = INT64_MAX, most_ns = 0;
    for (size_t step = judging->first_step; step < ap_judged_end(judging); step++) {
        int64_t late_ns = ap_late_in(judging, step, rank);
        least_ns = late_ns < least_ns ? late_ns : least_ns;
        most_ns = late_ns > most_ns ? late_ns : most_ns;
    }
    return least_ns >= most_ns / 2;
}

static struct ap_work_apart apart_of(const struct ap_judging *judging, size_t rank)
{
    return ap_work_apart_of(judging->delays, judging->kernels, rank, judging->by_kernels, judging->values);
}

/* Without a device operators are what computes, but who waits for a core of the host takes longer for the same, too: now and
 * then by any time, in every step by some. More calls, other shapes and calls of which even the shortest is longer are none
 * of that. */
static enum ap_late_kind kind_without_device(const struct ap_judging *judging, size_t rank, bool steadily)
{
    const struct ap_work_apart apart = apart_of(judging, rank);
    bool much = judging->verdict->typical_late_ns[rank] >= judging->view->step_ns / BUSY_PART;
    if (ap_has_more_work(&apart))
        return AP_LATE_more_work;
    if (ap_has_slow_host(&apart) || (apart.times.is_shaped && apart.times.as_usual >= AP_APART_TIMES))
        return ap_has_slow_host(&apart) || (steadily && much) ? AP_LATE_slow_cpu : AP_LATE_NONE;
    return apart.times.at_least >= AP_APART_TIMES || (steadily && much) ? AP_LATE_more_work : AP_LATE_NONE;
}

/* Why the host of a rank with a device is longer at it. */
static enum ap_late_kind kind_of_host(const struct ap_judging *judging, size_t rank)
{
    const struct ap_work_apart apart = apart_of(judging, rank);
    return ap_has_slow_host(&apart) ? AP_LATE_slow_cpu : AP_LATE_host_code;
}

/* Why the rank computes longer. Kernels vary from call to call: their times tell a slow device where they are longer by
 * more than those of any rank may be by chance. */
static enum ap_late_kind kind_of_compute(const struct ap_judging *judging, size_t rank, bool steadily)
{
    const struct ap_rank_times *kernels = judging->kernels, *mine = &kernels[rank];
    size_t count = 0, known = 0;
    for (size_t i = 0; i < judging->delays->rank_count; i++)
        if (ap_same_role(judging->delays, i, rank))
            judging->values[count++] = (int64_t)kernels[i].compute_ns;
    double usual_ns = (double)middle_of(judging->values, count);
    if (mine->as_usual <= 0 || mine->compute_ns > usual_ns * (2 * mine->as_usual - 1)) /* most of it is not slowness */
        return !steadily || is_steady(judging, rank) ? AP_LATE_more_work : AP_LATE_NONE;
    for (size_t i = 0; i < judging->delays->rank_count; i++)
        if (kernels[i].as_usual > 0)
            judging->values[known++] = (int64_t)(kernels[i].as_usual * PARTS);
    bool far = known >= MANY_RANKS && is_far_above((int64_t)(mine->as_usual * PARTS), judging->values, known);
    bool now_and_then = !steadily && judging->view->has_steps && ap_is_slow_when_late(judging, rank);
    return far || mine->as_usual >= AP_SLOW_TIMES || now_and_then ? AP_LATE_slow_device : AP_LATE_NONE;
}

enum ap_late_kind ap_kind_of_rank(struct ap_judging *judging, size_t rank, bool steadily)
{
    const struct ap_rank_delay *delay = &judging->delays->ranks[rank];
    enum ap_spent cause = largest_cause(delay);
    bool has_transfers = judging->delays->matching->transfer_count > 0;
    /* Sends and receives hand delays on, and are not matched: behind them only what a rank did itself counts. */
    if (has_transfers || delay->transfer_ns > delay->late_ns / 2 || !delay->cause_ns[cause])
        if (!cause_of_steps(judging, rank, judging->verdict->typical_late_ns[rank] / 2, &cause))
            return has_transfers ? AP_LATE_NONE : AP_LATE_other;
    if (cause == AP_SPENT_operators && !ap_view_rank(judging->view, rank)->has_device)
        return kind_without_device(judging, rank, steadily);
    if (cause == AP_SPENT_compute)
        return kind_of_compute(judging, rank, steadily);
    if (cause == AP_SPENT_copy && judging->kernels[rank].copy_times >= AP_APART_TIMES)
        return AP_LATE_slow_copies;
    return kind_of_cause(cause) == AP_LATE_host_code ? kind_of_host(judging, rank) : kind_of_cause(cause);
}

/* Who has more work in every step is late because of it, though what else the host does hides that in some. */
static bool is_late_by_work(struct ap_judging *judging, size_t rank)
{
    if (ap_view_rank(judging->view, rank)->has_device || judging->delays->rank_count > AP_RANKS_COMPARED)
        return false;
    const struct ap_work_apart apart = apart_of(judging, rank);
    return ap_has_more_work(&apart) && apart.work_times >= AP_APART_TIMES;
}

/* What of a class the rank has more of in its steps, in nearly all of them: more than chance has a rank do, where it is a
 * good part of a step, and what others hardly do at all. Operators and Python take longer on cores that are shared. */
static int64_t steady_more(const struct ap_judging *judging, size_t rank, int class)
{
    int64_t least_ns = INT64_MAX;
    if (class == AP_SPENT_communication || class == AP_SPENT_queue || class == AP_SPENT_python ||
        class == AP_SPENT_operators || class == AP_SPENT_untraced || class == AP_SPENT_compute)
        return 0;
    for (size_t step = judging->first_step; step < ap_judged_end(judging); step++) {
        int64_t more_ns = ap_more_in(judging, rank, judging->view->first_step + (int64_t)step, class);
        least_ns = more_ns < least_ns ? more_ns : least_ns;
    }
    return least_ns;
}

/* Processes that share the cores of a host come late by chance as well, so who is late for a reason is not the latest in
 * each step. It is who more of the waiting goes back to than to anybody else, and did in each of its steps what others did
 * not. */
static void find_steady(struct ap_judging *judging)
{
    struct ap_run_verdict *verdict = judging->verdict;
    const struct ap_delays *delays = judging->delays;
    uint32_t most = 0;
    int64_t largest_ns = judging->view->step_ns / STEADY_PART;
    if (!judging->view->has_steps || verdict->judged_steps < STEADY_STEPS)
        return;
    for (uint32_t i = 1; i < delays->rank_count; i++)
        most = verdict->caused_ns[i] > verdict->caused_ns[most] ? i : most;
    int64_t mean_ns = delays->ranks[most].late_ns / (int64_t)delays->step_count;
    if (mean_ns < verdict->floor_ns || verdict->caused_ns[most] < delays->waited_ns / STEADY_WAITING)
        return;
    for (int class = 0; class < AP_SPENT_COUNT_; class ++) {
        int64_t more_ns = steady_more(judging, most, class);
        if (more_ns < largest_ns)
            continue;
        largest_ns = more_ns;
        verdict->kinds[most] = (uint8_t)kind_of_cause((enum ap_spent) class);
        verdict->typical_late_ns[most] = mean_ns < more_ns ? mean_ns : more_ns;
    }
}

static bool is_late_by_far(struct ap_judging *judging, size_t rank)
{
    return late_share(judging, rank) >= PERSISTENT_SHARE && leading_share(judging, rank) >= PERSISTENT_SHARE &&
           is_outlier(judging, rank);
}

static void find_fixed(struct ap_judging *judging)
{
    struct ap_run_verdict *verdict = judging->verdict;
    find_latest(judging);
    for (size_t i = 0; i < judging->delays->rank_count; i++)
        verdict->typical_late_ns[i] = typical_late(judging, i);
    for (size_t i = 0; i < judging->delays->rank_count; i++)
        if (verdict->typical_late_ns[i] >= verdict->floor_ns && (is_late_by_far(judging, i) || is_late_by_work(judging, i)))
            verdict->kinds[i] = AP_LATE_other; /* until all are known */
    for (size_t i = 0; i < judging->delays->rank_count; i++)
        if (verdict->kinds[i] != AP_LATE_NONE)
            verdict->kinds[i] = (uint8_t)ap_kind_of_rank(judging, i, true);
}

/* Where each step gives every rank other work, one of many has much in all of a few steps by chance. It is not who has more
 * work than the others where more of the waiting, by far, goes back to a rank that is not late in every step. */
static void forget_chance(struct ap_judging *judging)
{
    struct ap_run_verdict *verdict = judging->verdict;
    int64_t more_ns = 0, other_ns = 0;
    bool overflowed = false;
    for (size_t i = 0; i < judging->delays->rank_count; i++) {
        if (verdict->kinds[i] == AP_LATE_more_work)
            more_ns = ap_add_sat(more_ns, verdict->caused_ns[i], &overflowed);
        else if (verdict->kinds[i] == AP_LATE_NONE && verdict->caused_ns[i] > other_ns)
            other_ns = verdict->caused_ns[i];
    }
    for (size_t i = 0; i < judging->delays->rank_count && other_ns / CHANCE_TIMES > more_ns; i++)
        if (verdict->kinds[i] == AP_LATE_more_work)
            verdict->kinds[i] = AP_LATE_NONE;
}

/* ----------------------------------------------------------------------------------------------------------- hosts */

static bool is_host_before(const void *context, uint32_t a, uint32_t b)
{
    uint32_t x = ap_view_rank(context, a)->host.id, y = ap_view_rank(context, b)->host.id;
    return x != y ? x < y : a < b;
}

/* Late ranks of one host, where they are most of it and other hosts have none or fewer, are late because of it. */
static void judge_host(struct ap_judging *judging, const uint32_t *ranks, size_t count, size_t late_elsewhere)
{
    uint8_t *kinds = judging->verdict->kinds;
    size_t late = 0, slow = 0;
    for (size_t i = 0; i < count; i++) {
        late += kinds[ranks[i]] != AP_LATE_NONE;
        slow += kinds[ranks[i]] == AP_LATE_slow_device || kinds[ranks[i]] == AP_LATE_host_code ||
                kinds[ranks[i]] == AP_LATE_slow_cpu;
    }
    if (count < 2 || count == judging->view->count || late < 2 || 2 * slow < count || late_elsewhere > late / 2)
        return;
    for (size_t i = 0; i < count; i++)
        if (kinds[ranks[i]] != AP_LATE_NONE)
            kinds[ranks[i]] = AP_LATE_slow_host;
}

static enum ap_status find_slow_hosts(struct ap_judging *judging, struct ap_error *reterr)
{
    size_t count, late = 0;
    uint32_t *ranks;
    AP_TRY(ap_top_indices(judging->verdict->gate, (uint32_t)judging->view->count, 0, is_host_before, judging->view, &ranks,
                          &count, reterr));
    for (size_t i = 0; i < count; i++)
        late += judging->verdict->kinds[i] != AP_LATE_NONE;
    for (size_t start = 0, end; start < count; start = end) {
        uint32_t host = ap_view_rank(judging->view, ranks[start])->host.id;
        size_t here = 0;
        for (end = start; end < count && ap_view_rank(judging->view, ranks[end])->host.id == host; end++)
            here += judging->verdict->kinds[ranks[end]] != AP_LATE_NONE;
        if (host)
            judge_host(judging, ranks + start, end - start, late - here);
    }
    AP_FREE(judging->verdict->gate, ranks, count);
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------- all */

static bool has_device(const struct ap_judging *judging)
{
    return judging->view->count && ap_view_rank(judging->view, 0)->has_device;
}

static bool is_any_late(const struct ap_judging *judging)
{
    for (size_t i = 0; i < judging->delays->rank_count; i++)
        if (judging->verdict->kinds[i] != AP_LATE_NONE)
            return true;
    return false;
}

/* Of ranks that come late together the only one that did more than usual in its steps is the one that the others come late
 * through. */
static void explain_one(struct ap_judging *judging)
{
    struct ap_run_verdict *verdict = judging->verdict;
    size_t found = 0, count = 0;
    enum ap_spent cause = AP_SPENT_compute, found_cause = AP_SPENT_compute;
    for (size_t i = 0; i < judging->delays->rank_count; i++) {
        if (verdict->kinds[i] != AP_LATE_other || !cause_of_steps(judging, i, verdict->floor_ns, &cause))
            continue;
        found = i;
        found_cause = cause;
        count++;
    }
    if (count == 1)
        verdict->kinds[found] = (uint8_t)kind_of_cause(found_cause);
}

/* Who comes late and did nothing for it came late out of the collective before. It is no straggler behind a slow link, nor
 * where others of its group, who come out of that one as late, cannot be told from it: a rank that is late for a reason, one
 * more without, or one that the others wait for instead; or where no trace tells what the groups are. */
static void forget_unexplained(struct ap_judging *judging)
{
    const struct ap_delays *delays = judging->delays;
    struct ap_run_verdict *verdict = judging->verdict;
    size_t explained = 0, unexplained = 0;
    explain_one(judging);
    for (size_t i = 0; i < delays->rank_count; i++) {
        explained += verdict->kinds[i] != AP_LATE_NONE && verdict->kinds[i] != AP_LATE_other;
        unexplained += verdict->kinds[i] == AP_LATE_other;
    }
    bool all = ap_has_slow_link(&verdict->link) || delays->matching->may_hide_groups || explained || unexplained > 1;
    for (size_t i = 0; i < delays->rank_count; i++) {
        if (verdict->kinds[i] != AP_LATE_other || (!all && verdict->caused_ns[i] >= delays->ranks[i].late_ns))
            continue;
        verdict->kinds[i] = AP_LATE_NONE;
        verdict->unexplained_count++;
    }
}

/* Of kinds that move from rank to rank the worst is named already. */
static void sum_kinds(struct ap_judging *judging)
{
    struct ap_run_verdict *verdict = judging->verdict;
    bool overflowed = false;
    for (uint32_t i = 0; i < judging->delays->rank_count; i++) {
        if (verdict->kinds[i] == AP_LATE_NONE)
            continue;
        struct ap_late_group *to = &verdict->late[verdict->kinds[i]];
        to->rank_count++;
        to->waited_ns = ap_add_sat(to->waited_ns, verdict->caused_ns[i], &overflowed);
        int64_t own_ns;
        if (__builtin_mul_overflow(verdict->typical_late_ns[i], (int64_t)verdict->judged_steps, &own_ns))
            own_ns = 0;
        to->lost_ns = ap_add_sat(to->lost_ns, ap_add_sat(verdict->caused_ns[i], own_ns, &overflowed), &overflowed);
        if (to->worst != AP_NO_RANK && verdict->typical_late_ns[i] <= to->late_ns)
            continue;
        to->worst = i;
        to->late_ns = verdict->typical_late_ns[i];
        to->share = judging->by_kernels ? 1 : late_share(judging, i);
    }
    for (int kind = 0; kind < AP_LATE_COUNT_; kind++)
        if (judging->verdict->late[kind].worst != AP_NO_RANK)
            judging->verdict->late[kind].apart = apart_of(judging, judging->verdict->late[kind].worst);
}

static void find_most_last(struct ap_run_verdict *verdict)
{
    const struct ap_delays *delays = verdict->delays;
    for (uint32_t i = 0; i < delays->rank_count; i++)
        if (delays->ranks[i].last_count &&
            (verdict->most_last == AP_NO_RANK || delays->ranks[i].last_count > delays->ranks[verdict->most_last].last_count))
            verdict->most_last = i;
}

static enum ap_status judge_all(struct ap_judging *judging, struct ap_error *reterr)
{
    struct ap_run_verdict *verdict = judging->verdict;
    AP_TRY(ap_transfers_judge(verdict, reterr));
    find_most_last(verdict);
    /* Where a rank that is absent comes later still, none of those that are given is the straggler of the job. */
    if (verdict->absent_is_late || judging->delays->rank_count < 2)
        return AP_OK;
    find_fixed(judging);
    forget_chance(judging);
    if (judging->delays->matching->transfer_count && !is_any_late(judging))
        ap_find_stages(judging);
    AP_TRY(find_slow_hosts(judging, reterr));
    forget_unexplained(judging);
    if (!is_any_late(judging) && !has_device(judging))
        find_steady(judging);
    if (!is_any_late(judging) && !ap_has_slow_link(&verdict->link) && !verdict->unexplained_count) {
        ap_find_pausing(judging, has_device(judging));
        /* Processes that share the cores of a host pause at random, and leave a collective of the host one after the
         * other. */
        if (!is_any_late(judging) && has_device(judging))
            ap_find_moving(judging);
    }
    sum_kinds(judging);
    return AP_OK;
}

enum ap_status ap_run_verdict_init(struct ap_run_verdict *verdict, const struct ap_delays *delays, struct ap_error *reterr)
{
    const struct ap_run_view *view = delays->matching->view;
    size_t steps = delays->step_count ? delays->step_count : 1;
    *verdict = (struct ap_run_verdict){ .gate = delays->gate, .delays = delays, .most_last = AP_NO_RANK };
    for (int i = 0; i < AP_LATE_COUNT_; i++)
        verdict->late[i].worst = AP_NO_RANK;
    verdict->floor_ns = view->step_ns / FLOOR_SHARE > FLOOR_NS ? view->step_ns / FLOOR_SHARE : FLOOR_NS;
    struct ap_judging judging = {
        .verdict = verdict, .delays = delays, .view = view, .first_step = steps > 2, .usual_role = AP_NO_RANK
    };
    verdict->judged_steps = steps - judging.first_step;
    if (!delays->rank_count)
        return AP_OK;
    AP_TRY(AP_ALLOC(verdict->gate, verdict->kinds, delays->rank_count, reterr));
    AP_TRY(AP_ALLOC_CLEARED(verdict->gate, verdict->typical_late_ns, delays->rank_count, reterr));
    AP_TRY(AP_ALLOC(verdict->gate, verdict->caused_ns, delays->rank_count, reterr));
    for (size_t i = 0; i < delays->rank_count; i++) {
        verdict->kinds[i] = AP_LATE_NONE;
        verdict->caused_ns[i] = delays->ranks[i].caused_ns;
    }
    size_t scratch = delays->rank_count > steps ? delays->rank_count : steps;
    AP_TRY(AP_ALLOC(verdict->gate, judging.values, scratch, reterr));
    enum ap_status status = AP_ALLOC_CLEARED(verdict->gate, judging.latest_ns, steps, reterr);
    AP_AND_THEN(status, AP_ALLOC(verdict->gate, judging.kernels, delays->rank_count, reterr));
    AP_AND_THEN(status, ap_equal_calls_find(view, judging.kernels, reterr));
    AP_AND_THEN(status, judge_all(&judging, reterr));
    AP_FREE(verdict->gate, judging.kernels, delays->rank_count);
    AP_FREE(verdict->gate, judging.latest_ns, steps);
    AP_FREE(verdict->gate, judging.values, scratch);
    return status;
}

void ap_run_verdict_release(struct ap_run_verdict *verdict)
{
    if (!verdict->delays)
        return;
    AP_FREE(verdict->gate, verdict->links, verdict->link_capacity);
    AP_FREE(verdict->gate, verdict->kinds, verdict->delays->rank_count);
    AP_FREE(verdict->gate, verdict->typical_late_ns, verdict->delays->rank_count);
    AP_FREE(verdict->gate, verdict->caused_ns, verdict->delays->rank_count);
    *verdict = (struct ap_run_verdict){ .gate = verdict->gate };
}
