/* SPDX-License-Identifier: MIT
 * replay_run.h - plays a replay graph forward: when each piece would begin and end with some of the work changed. Whole
 * numbers of ns; the same whoever asks. */
#ifndef AP_REPLAY_RUN_H
#define AP_REPLAY_RUN_H

#include "replay_graph.h"

/* What becomes of a task. */
#define AP_TASK_GONE 1u    /* device: is not launched; what waited for it waits for what it waited for */
#define AP_TASK_NO_SYNC 2u /* host: begins without waiting for a device */
#define AP_TASK_NO_WAIT 4u /* device: begins without waiting for another stream */
#define AP_TASK_NO_TURN 8u /* host: begins without waiting for another thread */

/** By task. */
struct ap_replay_edit {
    struct ap_gate *gate;
    int64_t *work_ns;
    uint8_t *flags;
    size_t count;
    int64_t samples;       /* of a batch, in thousandths of what it had */
    int64_t lost_ns;       /* work of the host that went, all pieces together ... */
    int64_t quiet_lost_ns; /* ... and without the profiler's own in it, */
    int64_t least_lost_ns; /* ... which may be so much less */
};

/** Nothing is changed yet. @edit may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_replay_edit_init(struct ap_replay_edit *edit, const struct ap_replay_graph *graph,
                                                 struct ap_error *reterr);
void ap_replay_edit_release(struct ap_replay_edit *edit);

/** When a step begins, and when all is done that it launched. */
struct ap_replayed_step {
    int64_t start_ns, done_ns;
};

struct ap_replay_times {
    struct ap_gate *gate;
    int64_t *start_ns; /* by task; NULL where they were given back, and of the recording, whose tasks have it */
    size_t count;
    struct ap_replayed_step *steps;
    size_t step_count;
    int64_t before_done_ns; /* when all device work is done that was launched before the first step */
    int64_t window_ns;      /* first start to last end */
    int64_t device_ns;      /* first start to last end on a device */
};

/** @edit: NULL = the unchanged graph. @times may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_replay_run(const struct ap_replay_graph *graph, const struct ap_replay_edit *edit,
                                           struct ap_replay_times *times, struct ap_error *reterr);
/** The same as it was recorded, without a replay. */
AP_MUST_CHECK enum ap_status ap_replay_recorded(const struct ap_replay_graph *graph, struct ap_replay_times *times,
                                                struct ap_error *reterr);
/** When a task ends in the replay with this @edit, NULL as there. */
static inline int64_t ap_replay_end_ns(const struct ap_replay_graph *graph, const struct ap_replay_edit *edit,
                                       const struct ap_replay_times *times, uint32_t task)
{
    bool overflowed = false;
    return ap_add_sat(times->start_ns[task], edit ? edit->work_ns[task] : ap_task_work_ns(graph, &graph->tasks[task]),
                      &overflowed);
}

/** When each task begins is not asked for any more; steps and window stay. */
void ap_replay_times_forget_tasks(struct ap_replay_times *times);
void ap_replay_times_release(struct ap_replay_times *times);

/** How long the step took: until all is done that it launched; less what was left to do of the time before the
 *  first step, and where it @follows one that is counted too, of that. */
int64_t ap_replay_step_ns(const struct ap_replay_times *times, size_t step, bool follows);

#endif
