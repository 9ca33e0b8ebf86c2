/* SPDX-License-Identifier: MIT
 * run_judging.h - inside the room: what the parts of the verdict share. */
#ifndef AP_RUN_JUDGING_H
#define AP_RUN_JUDGING_H

#include "run_verdict.h"
#include "work_apart.h"

/** Of more ranks the work is not compared one by one. */
#define AP_RANKS_COMPARED 256

struct ap_judging {
    struct ap_run_verdict *verdict;
    const struct ap_delays *delays;
    const struct ap_run_view *view;
    int64_t *values;               /* scratch: for each rank, or each step */
    int64_t *latest_ns;            /* by step: the largest lateness of a rank */
    struct ap_rank_times *kernels; /* by rank */
    size_t first_step;
    uint32_t usual_role; /* of which usual_ns is; AP_NO_RANK = of none yet */
    size_t usual_count;  /* how often it was found: a role at a time, so not without end */
    int64_t usual_ns[AP_SPENT_COUNT_];
    bool by_kernels; /* who is late is told by kernels, and by no collective */
};

/** Lateness in a step; without steps that of the whole recording. */
int64_t ap_late_in(const struct ap_judging *judging, size_t step, size_t rank);
/** Behind the last step that is judged: the first is judging->first_step. */
size_t ap_judged_end(const struct ap_judging *judging);
/** Do they do the same, so that they can be compared? */
bool ap_same_role(const struct ap_delays *delays, size_t a, size_t b);
/** Why the rank is late; AP_LATE_NONE where it is by chance. @steadily: work that differs from step to step is chance. */
enum ap_late_kind ap_kind_of_rank(struct ap_judging *judging, size_t rank, bool steadily);

/* ---- late_stages.c ---- */

/** Nobody is late, and there are sends and receives: stages whose work, or whose devices, the others wait for. */
void ap_find_stages(struct ap_judging *judging);

/* ---- late_moving.c ---- */

/** In most steps some rank is late, and not the same one: jitter, or uneven data. */
void ap_find_moving(struct ap_judging *judging);
/** How much more of a class the rank has in the step with that number than the middle one of its role. Uses up values. */
int64_t ap_more_in(const struct ap_judging *judging, size_t rank, int64_t number, int class);
/** In each step in which the rank is late its kernels take longer than those of others for the same work. Uses up values. */
bool ap_is_slow_when_late(const struct ap_judging *judging, size_t rank);
/** In some steps, or in one, always the same rank is late, by so much that it shows in the mean. */
void ap_find_pausing(struct ap_judging *judging, bool has_device);

#endif
