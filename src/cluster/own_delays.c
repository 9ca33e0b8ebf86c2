/* SPDX-License-Identifier: MIT
 * own_delays.c - what of a rank's lateness comes with its role and is not its own.
 *
 * The stages of a pipeline hand delays on by sends and receives, in which who waits for whom is a matter of the schedule:
 * the wait of a later stage is no lateness, and neither is what becomes of it at the next collective of the stage. There
 * a rank's own is what it did more of, in that step, than the middle one of its role.
 *
 * Where groups have a rank that the others wait for by design, since it reads the batch for all of them, such ranks are
 * late alike: what the middle one of them has is the program's, the rest is their own. */
#include "rank_delays.h"

#include "sort.h"

#include "poison.h"

/* ------------------------------------------------------------------------------------------------------- pipelines */

struct limiting {
    struct ap_delays *delays;
    const struct ap_run_view *view;
    uint32_t *order;  /* ranks by role */
    int64_t *values;  /* scratch, one for each rank */
    int64_t *more_ns; /* by rank: what it did more of in the step, all classes */
};

static bool is_role_before(const void *context, uint32_t a, uint32_t b)
{
    const uint32_t *role = context;
    return role[a] != role[b] ? role[a] < role[b] : a < b;
}

static int64_t spent_in(const struct limiting *limiting, uint32_t rank, int64_t number, int class)
{
    const struct ap_rank_step *step = ap_view_step(ap_view_rank(limiting->view, rank), number);
    return step ? step->spent_ns[class] : 0;
}

/* @ranks: of one role. */
static void add_class(struct limiting *limiting, const uint32_t *ranks, size_t count, int64_t number, int class)
{
    bool overflowed = false;
    for (size_t i = 0; i < count; i++)
        limiting->values[i] = spent_in(limiting, ranks[i], number, class);
    ap_sort(limiting->values, count, sizeof(limiting->values[0]), ap_by_int64);
    int64_t usual_ns = limiting->values[(count - 1) / 2];
    for (size_t i = 0; i < count; i++) {
        int64_t more_ns = spent_in(limiting, ranks[i], number, class) - usual_ns;
        struct ap_rank_delay *to = &limiting->delays->ranks[ranks[i]];
        if (more_ns <= 0)
            continue;
        limiting->more_ns[ranks[i]] = ap_add_sat(limiting->more_ns[ranks[i]], more_ns, &overflowed);
        to->cause_ns[class] = ap_add_sat(to->cause_ns[class], more_ns, &overflowed);
    }
}

static void limit_step(struct limiting *limiting, size_t step)
{
    struct ap_delays *delays = limiting->delays;
    int64_t number = limiting->view->first_step + (int64_t)step;
    bool overflowed = false;
    for (size_t i = 0; i < delays->rank_count; i++)
        limiting->more_ns[i] = 0;
    for (size_t at = 0, end; at < delays->rank_count; at = end) {
        for (end = at; end < delays->rank_count && delays->role[limiting->order[end]] == delays->role[limiting->order[at]];)
            end++;
        for (int class = 0; class < AP_SPENT_COUNT_; class ++)
            if (class != AP_SPENT_communication && class != AP_SPENT_queue)
                add_class(limiting, limiting->order + at, end - at, number, class);
    }
    for (size_t i = 0; i < delays->rank_count; i++) {
        int64_t *late_ns = &delays->late_ns[step * delays->rank_count + i];
        int64_t own_ns = *late_ns < limiting->more_ns[i] ? *late_ns : limiting->more_ns[i];
        struct ap_rank_delay *to = &delays->ranks[i];
        to->late_ns -= *late_ns - own_ns;
        to->inherited_ns = ap_add_sat(to->inherited_ns, *late_ns - own_ns, &overflowed);
        *late_ns = own_ns;
    }
}

static enum ap_status limit_to_more(struct limiting *limiting, struct ap_error *reterr)
{
    struct ap_delays *delays = limiting->delays;
    size_t count;
    AP_TRY(ap_top_indices(delays->gate, (uint32_t)delays->rank_count, 0, is_role_before, delays->role, &limiting->order,
                          &count, reterr));
    AP_TRY(AP_ALLOC(delays->gate, limiting->more_ns, count, reterr));
    for (size_t i = 0; i < count; i++)
        for (int class = 0; class < AP_SPENT_COUNT_; class ++)
            delays->ranks[i].cause_ns[class] = 0;
    for (size_t step = 0; step < delays->step_count; step++)
        limit_step(limiting, step);
    return AP_OK;
}

/* ----------------------------------------------------------------------------------------------------------- roots */

static void take_usual(struct limiting *limiting, size_t step)
{
    struct ap_delays *delays = limiting->delays;
    int64_t *late_ns = &delays->late_ns[step * delays->rank_count];
    size_t count = 0;
    for (size_t i = 0; i < delays->rank_count; i++)
        if (ap_delay_is_root(&delays->ranks[i]))
            limiting->values[count++] = late_ns[i];
    if (count < 2)
        return;
    ap_sort(limiting->values, count, sizeof(limiting->values[0]), ap_by_int64);
    int64_t usual_ns = limiting->values[(count - 1) / 2];
    for (size_t i = 0; i < delays->rank_count; i++) {
        int64_t taken_ns = late_ns[i] < usual_ns ? late_ns[i] : usual_ns;
        if (!ap_delay_is_root(&delays->ranks[i]))
            continue;
        late_ns[i] -= taken_ns;
        delays->ranks[i].late_ns -= taken_ns;
    }
}

enum ap_status ap_own_delays_find(struct ap_delays *delays, struct ap_error *reterr)
{
    struct limiting limiting = { .delays = delays, .view = delays->matching->view };
    enum ap_status status = AP_ALLOC(delays->gate, limiting.values, delays->rank_count, reterr);
    if (status == AP_OK && delays->matching->transfer_count)
        status = limit_to_more(&limiting, reterr);
    for (size_t step = 0; step < delays->step_count && status == AP_OK; step++)
        take_usual(&limiting, step);
    AP_FREE(delays->gate, limiting.order, delays->rank_count);
    AP_FREE(delays->gate, limiting.values, delays->rank_count);
    AP_FREE(delays->gate, limiting.more_ns, delays->rank_count);
    return status;
}
