/* SPDX-License-Identifier: MIT
 * run_view.h - what of a set is compared: one window of each rank of one run, and the steps that all of them have. */
#ifndef AP_RUN_VIEW_H
#define AP_RUN_VIEW_H

#include "rank_set.h"

enum ap_rank_use { AP_USE_compared, AP_USE_other_window, AP_USE_other_run };

struct ap_run_view {
    struct ap_gate *gate;
    const struct ap_rank_set *set;
    uint8_t *uses;   /* enum ap_rank_use, by number in the set */
    uint32_t *ranks; /* numbers in the set of those that are compared, by rank */
    size_t count;
    int64_t world_size;   /* -1 = no trace tells */
    int64_t absent_count; /* of the world; 0 where its size is not known */
    bool has_steps;       /* the ranks have steps in common: */
    int64_t first_step, last_step;
    size_t step_count;
    bool steps_are_partial; /* there were none that all recorded whole */
    size_t torn_count;      /* ranks that recorded other steps as well */
    size_t apart_count;     /* where no steps are compared: those with none of the steps of the first one that has any */
    size_t other_window_count, other_run_count;
    int64_t step_ns;      /* median over steps and ranks; without steps that of the windows */
    int64_t rank_time_ns; /* of all ranks, in what is compared */
};

/** Chooses what is compared of a finished set. Release @view after a failure too. */
AP_MUST_CHECK enum ap_status ap_run_view_init(struct ap_run_view *view, const struct ap_rank_set *set,
                                              struct ap_error *reterr);
void ap_run_view_release(struct ap_run_view *view);

static inline const struct ap_rank_summary *ap_view_rank(const struct ap_run_view *view, size_t index)
{
    return &view->set->ranks[view->ranks[index]];
}

/** Is the step one of those that are compared? Without common steps everything is. */
static inline bool ap_view_has_step(const struct ap_run_view *view, int64_t step)
{
    return !view->has_steps || (step >= view->first_step && step <= view->last_step);
}

/** What a rank spent on a class in what is compared. */
int64_t ap_view_spent(const struct ap_run_view *view, const struct ap_rank_summary *rank, int class);
/** The step of that number of a rank; NULL where it has none. */
const struct ap_rank_step *ap_view_step(const struct ap_rank_summary *rank, int64_t number);

#endif
