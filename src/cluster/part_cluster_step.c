/* SPDX-License-Identifier: MIT
 * part_cluster_step.c - the step in which who is waited for most was latest, beside the same step of a rank in the middle:
 * what each did in its course, from its own start, so that no clocks are compared. */
#include "cluster_parts.h"
#include "sort.h"

#include "poison.h"

#define SHORTEST_PART 200 /* pieces of less than one in so many of the step are left out */

static const char *const spent_names[AP_SPENT_COUNT_] = {
#define AP_SPENT(id, meaning) #id,
#include "rank_spent.def"
#undef AP_SPENT
};

struct lane {
    const struct ap_rank_summary *rank;
    const struct ap_rank_step *step;
    struct ap_model *model;
    struct ap_value *list;
    int64_t least_ns, now_ns;         /* pieces are told up to now */
    int64_t left_ns[AP_SPENT_COUNT_]; /* of the step, not told yet */
};

static void add_piece(struct lane *lane, int class, const char *operation, int64_t end_ns)
{
    int64_t start_ns = lane->now_ns, dur_ns = end_ns - start_ns;
    if (dur_ns <= 0)
        return;
    lane->now_ns = end_ns;
    lane->left_ns[class] -= dur_ns;
    if (dur_ns < lane->least_ns)
        return;
    struct ap_value *row = ap_add_object(lane->model, lane->list, NULL);
    ap_add_count(lane->model, row, "rank", lane->rank->rank);
    ap_add_string(lane->model, row, "spent", spent_names[class]);
    ap_add_known_string(lane->model, row, "operation", operation, operation ? operation : "");
    ap_add_time(lane->model, row, "start_us", start_ns - lane->step->start_ns);
    ap_add_time(lane->model, row, "dur_us", dur_ns);
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* What was done since the collective before it is known by its sums; what those do not tell stays blank. */
static void add_collective(struct lane *lane, const struct ap_rank_collective *collective)
{
    int64_t start_ns = sooner(collective->start_ns, lane->step->end_ns);
    int64_t end_ns = sooner(collective->start_ns + collective->dur_ns, lane->step->end_ns);
    for (int i = 0; i < AP_RANK_BEFORE; i++)
        if (collective->before_us[i])
            add_piece(lane, collective->before[i], NULL,
                      sooner(lane->now_ns + INT64_C(1000) * collective->before_us[i], start_ns));
    lane->now_ns = lane->now_ns > start_ns ? lane->now_ns : start_ns;
    add_piece(lane, AP_SPENT_communication,
              ap_collective_operation_name((enum ap_collective_operation)collective->operation), end_ns);
}

static void add_lane(struct lane *lane)
{
    lane->now_ns = lane->step->start_ns;
    lane->least_ns = (lane->step->end_ns - lane->step->start_ns) / SHORTEST_PART;
    for (int class = 0; class < AP_SPENT_COUNT_; class ++)
        lane->left_ns[class] = lane->step->spent_ns[class];
    for (size_t i = 0; i < lane->rank->collective_count; i++) {
        const struct ap_rank_collective *collective = &lane->rank->collectives[i];
        if (collective->step == lane->step->number && collective->start_ns >= lane->step->start_ns)
            add_collective(lane, collective);
    }
    for (int class = 0; class < AP_SPENT_COUNT_; class ++)
        if (class != AP_SPENT_communication && lane->left_ns[class] > 0)
            add_piece(lane, class, NULL, sooner(lane->now_ns + lane->left_ns[class], lane->step->end_ns));
}

/* ------------------------------------------------------------------------------------------------------- choosing */

static uint32_t most_awaited(const struct ap_run_found *found)
{
    uint32_t most = AP_NO_RANK;
    for (uint32_t i = 0; i < found->view->count; i++)
        if (found->verdict->kinds[i] != AP_LATE_NONE &&
            (most == AP_NO_RANK || found->delays->ranks[i].caused_ns > found->delays->ranks[most].caused_ns))
            most = i;
    return most;
}

static size_t latest_step(const struct ap_run_found *found, uint32_t rank)
{
    size_t latest = 0;
    for (size_t step = 1; step < found->delays->step_count; step++)
        if (ap_delay_in_step(found->delays, step, rank) > ap_delay_in_step(found->delays, latest, rank))
            latest = step;
    return latest;
}

struct candidate {
    int64_t late_ns;
    uint32_t rank;
};

static int by_lateness(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    AP_BY_SMALLER(a->late_ns, b->late_ns);
    AP_BY_SMALLER(a->rank, b->rank);
    return 0;
}

/* Of those that do the same as @late; of all where it is alone. AP_NO_RANK: there is no other one. */
static enum ap_status find_median(const struct ap_run_found *found, uint32_t late, size_t step, uint32_t *ret_rank,
                                  struct ap_error *reterr)
{
    const struct ap_delays *delays = found->delays;
    struct candidate *list;
    size_t count = 0, rank_count = found->view->count;
    *ret_rank = AP_NO_RANK;
    AP_TRY(AP_ALLOC(delays->gate, list, rank_count, reterr));
    for (int of_all = 0; of_all < 2 && !count; of_all++)
        for (uint32_t i = 0; i < rank_count; i++)
            if (i != late && (of_all || delays->role[i] == delays->role[late]))
                list[count++] = (struct candidate){ ap_delay_in_step(delays, step, i), i };
    ap_sort(list, count, sizeof(list[0]), by_lateness);
    if (count)
        *ret_rank = list[(count - 1) / 2].rank;
    AP_FREE(delays->gate, list, rank_count);
    return AP_OK;
}

enum ap_status ap_cluster_add_step(const struct ap_run_found *found, struct ap_model *model, struct ap_value *to,
                                   struct ap_error *reterr)
{
    const struct ap_run_view *view = found->view;
    uint32_t late = view->has_steps && found->delays->step_count ? most_awaited(found) : AP_NO_RANK, median = AP_NO_RANK;
    size_t at = late != AP_NO_RANK ? latest_step(found, late) : 0;
    if (late != AP_NO_RANK)
        AP_TRY(find_median(found, late, at, &median, reterr));
    struct lane lanes[2] = { { .model = model }, { .model = model } };
    for (int i = 0; median != AP_NO_RANK && i < 2; i++) {
        lanes[i].rank = ap_view_rank(view, i ? median : late);
        lanes[i].step = ap_view_step(lanes[i].rank, view->first_step + (int64_t)at);
    }
    if (!lanes[0].step || !lanes[1].step) {
        ap_add_null(model, to, "step");
        return AP_OK;
    }
    struct ap_value *step = ap_add_object(model, to, "step");
    ap_add_count(model, step, "number", lanes[0].step->number);
    ap_add_count(model, step, "late_rank", lanes[0].rank->rank);
    ap_add_count(model, step, "other_rank", lanes[1].rank->rank);
    ap_add_time(model, step, "late_us", ap_delay_in_step(found->delays, at, late));
    ap_add_time(model, step, "late_step_us", lanes[0].step->end_ns - lanes[0].step->start_ns);
    ap_add_time(model, step, "other_step_us", lanes[1].step->end_ns - lanes[1].step->start_ns);
    struct ap_value *pieces = ap_add_list(model, step, "pieces");
    for (int i = 0; i < 2; i++) {
        lanes[i].list = pieces;
        add_lane(&lanes[i]);
    }
    return AP_OK;
}
