/* SPDX-License-Identifier: MIT
 * predict.h - what changes would gain: the recorded window is replayed with them. Where a replay without any change is not
 * the recording, nothing is predicted. */
#ifndef AP_PREDICT_H
#define AP_PREDICT_H

#include "change.h"
#include "facts.h"
#include "replay_run.h"

struct ap_predictor {
    const struct ap_facts *facts;
    struct ap_replay_graph graph;
    struct ap_replay_times recorded, unchanged;
    int64_t window_error_ns, step_error_ns; /* how far the replay is off: of the window, and of the step that is off most */
    size_t worst_step, steady_count;
    bool exact;          /* within the bounds that predictions need */
    const char *why_not; /* NULL = it is exact */
};

/** Makes the graph and replays it unchanged. Borrows @facts. May be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_predictor_init(struct ap_predictor *predictor, const struct ap_facts *facts,
                                               struct ap_error *reterr);
/** A zeroed one is fine. */
void ap_predictor_release(struct ap_predictor *predictor);

/** Means of the steady steps; without steps, of the window. */
struct ap_prediction {
    int64_t before_ns, after_ns;
    int64_t low_ns, high_ns; /* of after: as far as the steps differ in what they gain */
    int64_t saves_ns;        /* of the whole window */
    int64_t steps_save_ns;   /* of the steady steps together */
    uint64_t rows;           /* that the changes are about; 0 = none, and nothing is predicted */
};

/** All @changes together. The replay must be exact. */
AP_MUST_CHECK enum ap_status ap_predict(const struct ap_predictor *predictor, const struct ap_change *const *changes,
                                        size_t count, struct ap_prediction *ret_prediction, struct ap_error *reterr);

#endif
