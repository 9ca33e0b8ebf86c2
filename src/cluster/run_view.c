/* SPDX-License-Identifier: MIT */
#include "run_view.h"

#include "quantile.h"
#include "sort.h"

#include "poison.h"

#define COMMON_STEPS_MAX 4096

/* -------------------------------------------------------------------------------------------------------- which run */

static int by_larger(const void *left, const void *right)
{
    return ap_by_int64(right, left);
}

/* The size of the world that most summaries tell; of equals the larger. */
static enum ap_status find_world(struct ap_run_view *view, struct ap_error *reterr)
{
    int64_t *sizes;
    size_t count = 0, most = 0;
    view->world_size = -1;
    if (!view->set->count)
        return AP_OK;
    AP_TRY(AP_ALLOC(view->gate, sizes, view->set->count, reterr));
    for (size_t i = 0; i < view->set->count; i++)
        if (view->set->ranks[i].world_size > 0)
            sizes[count++] = view->set->ranks[i].world_size;
    ap_sort(sizes, count, sizeof(sizes[0]), by_larger);
    for (size_t i = 0, same = 0; i < count; i++) {
        same = i && sizes[i] == sizes[i - 1] ? same + 1 : 1;
        if (same <= most)
            continue;
        most = same;
        view->world_size = sizes[i];
    }
    AP_FREE(view->gate, sizes, view->set->count);
    return AP_OK;
}

static bool is_of_run(const struct ap_run_view *view, const struct ap_rank_summary *rank)
{
    return rank->world_size < 0 || view->world_size < 0 || rank->world_size == view->world_size;
}

/* ----------------------------------------------------------------------------------------------------- which window */

static bool step_range(const struct ap_rank_summary *rank, bool partial, int64_t *first, int64_t *last)
{
    bool has = false;
    for (size_t i = 0; i < rank->step_count; i++) {
        const struct ap_rank_step *step = &rank->steps[i];
        if (step->is_partial && !partial)
            continue;
        *first = !has || step->number < *first ? step->number : *first;
        *last = !has || step->number > *last ? step->number : *last;
        has = true;
    }
    return has;
}

/* Steps that both have; without steps, how near in time they are: less far is more. */
static int64_t nearness(const struct ap_rank_summary *a, const struct ap_rank_summary *b)
{
    int64_t a_first = 0, a_last = 0, b_first = 0, b_last = 0;
    if (step_range(a, true, &a_first, &a_last) && step_range(b, true, &b_first, &b_last)) {
        int64_t first = a_first > b_first ? a_first : b_first, last = a_last < b_last ? a_last : b_last;
        return last - first;
    }
    int64_t apart_ns = a->start_ns / 2 - b->start_ns / 2;
    return apart_ns < 0 ? apart_ns : -apart_ns;
}

/* Of each rank the window that is most like the last one of the first rank. */
static void choose_windows(struct ap_run_view *view)
{
    const struct ap_rank_set *set = view->set;
    const struct ap_rank_summary *like = NULL;
    for (size_t i = 0; i < set->count; i++) {
        if (view->uses[i] == AP_USE_other_run)
            continue;
        if (!like || set->ranks[i].rank == like->rank)
            like = &set->ranks[i];
        if (view->count && ap_view_rank(view, view->count - 1)->rank == set->ranks[i].rank)
            continue;
        view->ranks[view->count++] = (uint32_t)i;
    }
    for (size_t at = 0; at < view->count; at++) {
        uint32_t best = view->ranks[at];
        for (uint32_t i = best; i < set->count && set->ranks[i].rank == set->ranks[view->ranks[at]].rank; i++)
            if (view->uses[i] != AP_USE_other_run && nearness(&set->ranks[i], like) >= nearness(&set->ranks[best], like))
                best = i;
        view->ranks[at] = best;
    }
}

static void mark_uses(struct ap_run_view *view)
{
    for (size_t i = 0; i < view->set->count; i++)
        view->uses[i] = view->uses[i] == AP_USE_other_run ? AP_USE_other_run : AP_USE_other_window;
    for (size_t i = 0; i < view->count; i++)
        view->uses[view->ranks[i]] = AP_USE_compared;
    for (size_t i = 0; i < view->set->count; i++) {
        view->other_window_count += view->uses[i] == AP_USE_other_window;
        view->other_run_count += view->uses[i] == AP_USE_other_run;
    }
}

/* ------------------------------------------------------------------------------------------------------ which steps */

static bool common_range(const struct ap_run_view *view, bool partial, int64_t *first, int64_t *last)
{
    for (size_t i = 0; i < view->count; i++) {
        int64_t from = 0, to = 0;
        if (!step_range(ap_view_rank(view, i), partial, &from, &to))
            return false;
        *first = i == 0 || from > *first ? from : *first;
        *last = i == 0 || to < *last ? to : *last;
    }
    return view->count && *first <= *last && *last - *first < COMMON_STEPS_MAX;
}

/* Ranks were recorded at other times, or count their steps from another one on. */
static void count_apart(struct ap_run_view *view)
{
    int64_t first = 0, last = 0, from = 0, to = 0;
    bool has = false;
    for (size_t i = 0; i < view->count && !view->has_steps; i++) {
        if (!step_range(ap_view_rank(view, i), true, &from, &to))
            continue;
        first = has ? first : from;
        last = has ? last : to;
        has = true;
        view->apart_count += from > last || to < first;
    }
}

static void find_steps(struct ap_run_view *view)
{
    view->has_steps = common_range(view, false, &view->first_step, &view->last_step);
    if (!view->has_steps)
        view->has_steps = view->steps_are_partial = common_range(view, true, &view->first_step, &view->last_step);
    view->step_count = view->has_steps ? (size_t)(view->last_step - view->first_step + 1) : 0;
    for (size_t i = 0; i < view->count; i++) {
        int64_t from = 0, to = 0;
        if (step_range(ap_view_rank(view, i), true, &from, &to))
            view->torn_count += view->has_steps && (from < view->first_step || to > view->last_step);
    }
}

const struct ap_rank_step *ap_view_step(const struct ap_rank_summary *rank, int64_t number)
{
    size_t low = 0;
    AP_BISECT(low, rank->step_count, at, rank->steps[at].number < number);
    return low < rank->step_count && rank->steps[low].number == number ? &rank->steps[low] : NULL;
}

int64_t ap_view_spent(const struct ap_run_view *view, const struct ap_rank_summary *rank, int class)
{
    int64_t sum_ns = 0;
    bool overflowed = false;
    for (size_t i = 0; i < rank->step_count; i++)
        if (ap_view_has_step(view, rank->steps[i].number))
            sum_ns = ap_add_sat(sum_ns, rank->steps[i].spent_ns[class], &overflowed);
    return view->has_steps ? sum_ns : rank->spent_ns[class];
}

static enum ap_status find_times(struct ap_run_view *view, struct ap_error *reterr)
{
    size_t capacity = view->count * (view->step_count ? view->step_count : 1), count = 0;
    int64_t *times;
    bool overflowed = false;
    if (!capacity)
        return AP_OK;
    AP_TRY(AP_ALLOC(view->gate, times, capacity, reterr));
    for (size_t i = 0; i < view->count; i++) {
        const struct ap_rank_summary *rank = ap_view_rank(view, i);
        for (int64_t number = view->first_step; view->has_steps && number <= view->last_step; number++) {
            const struct ap_rank_step *step = ap_view_step(rank, number);
            if (step)
                times[count++] = step->end_ns - step->start_ns;
        }
        if (!view->has_steps)
            times[count++] = rank->end_ns - rank->start_ns;
    }
    for (size_t i = 0; i < count; i++)
        view->rank_time_ns = ap_add_sat(view->rank_time_ns, times[i], &overflowed);
    view->step_ns = count ? ap_quantile(times, count, 50) : 0;
    AP_FREE(view->gate, times, capacity);
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------- all */

enum ap_status ap_run_view_init(struct ap_run_view *view, const struct ap_rank_set *set, struct ap_error *reterr)
{
    *view = (struct ap_run_view){ .gate = set->gate, .set = set };
    AP_TRY(find_world(view, reterr));
    if (!set->count)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(view->gate, view->uses, set->count, reterr));
    AP_TRY(AP_ALLOC(view->gate, view->ranks, set->count, reterr));
    for (size_t i = 0; i < set->count; i++)
        view->uses[i] = is_of_run(view, &set->ranks[i]) ? AP_USE_compared : AP_USE_other_run;
    choose_windows(view);
    mark_uses(view);
    find_steps(view);
    count_apart(view);
    if (view->world_size > (int64_t)view->count)
        view->absent_count = view->world_size - (int64_t)view->count;
    return find_times(view, reterr);
}

void ap_run_view_release(struct ap_run_view *view)
{
    if (!view->set)
        return;
    AP_FREE(view->gate, view->uses, view->set->count);
    AP_FREE(view->gate, view->ranks, view->set->count);
    *view = (struct ap_run_view){ .gate = view->gate };
}
