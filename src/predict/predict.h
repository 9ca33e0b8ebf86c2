/* SPDX-License-Identifier: MIT
 * predict.h - what changes would gain: the recorded window is replayed with them. Where a replay without any change is not
 * the recording, nothing is predicted. */
#ifndef AP_PREDICT_H
#define AP_PREDICT_H

#include "change_apply.h"
#include "facts.h"
#include "replay_run.h"
#include "excerpt.h"

/** Means of the steady steps; without steps, of the window. Where the batch grows, of as many samples as were recorded. */
struct ap_prediction {
    int64_t before_ns, after_ns;
    int64_t low_ns, high_ns; /* of after: as far as the steps differ in what they gain, and predictions are off */
    int64_t saves_ns;        /* of the whole window */
    int64_t steps_save_ns;   /* of the steady steps together */
    const char *limit;       /* what the replay cannot say of the change; NULL = nothing special */
    uint64_t rows;           /* that the changes are about; 0 = none, and nothing is predicted */
};

/** What was predicted of a text, so that it is not replayed again. */
struct ap_told_change {
    struct ap_text text, part; /* part: the one of its changes that counts */
    struct ap_prediction prediction;
};

#define AP_TOLD_MAX 24

struct ap_predictor {
    const struct ap_facts *facts; /* of what is replayed */
    struct ap_excerpt excerpt;    /* that is this where the recording is long */
    struct ap_batch_cost batch;   /* to be filled in where it is known */
    struct ap_made_nodes nodes;
    struct ap_replay_graph graph;
    struct ap_replay_times recorded, unchanged;
    int64_t window_error_ns, step_error_ns; /* how far the replay is off: of the window, and of the step that is off most */
    int64_t worst_step_ns;                  /* how long that was, as recorded */
    size_t steady_count;
    int64_t quiet_ns; /* of a recording of the host alone: work of its threads without the profiler's own; 0 = of another */
    int64_t loud_ns;  /* the same with it */
    bool exact;       /* within the bounds that predictions need */
    const char *why_not; /* NULL = it is exact */
    struct ap_arena arena;
    struct ap_told_change told[AP_TOLD_MAX];
    size_t told_count;
};

/** Of more rows than this only a stretch of steps is replayed without being asked, of so many rows: a replay of all takes as
 *  long as the rest of the analysis. Of a recording without steps all, up to so many. */
#define AP_REPLAYED_ROWS 250000
#define AP_EXCERPT_ROWS 60000
#define AP_REPLAYED_ROWS_MAX 1000000
/** Nor of more threads and streams than this: a thread takes as much room in the graph as ten of its rows. */
#define AP_REPLAYED_TRACKS_MAX 10000

/** Makes the graph and replays it unchanged: of all rows where that is @asked for, or they are few. Borrows @facts. May be
 *  released after a failure too. */
AP_MUST_CHECK enum ap_status ap_predictor_init(struct ap_predictor *predictor, const struct ap_facts *facts, bool asked,
                                               struct ap_error *reterr);
/** A zeroed one is fine. */
void ap_predictor_release(struct ap_predictor *predictor);

/** All @changes together. The replay must be exact. */
AP_MUST_CHECK enum ap_status ap_predict(struct ap_predictor *predictor, const struct ap_change *const *changes, size_t count,
                                        struct ap_prediction *ret_prediction, struct ap_error *reterr);

/** One or more changes with ";" between, of which the first counts that is about any row. NULL in *ret_told where nothing is
 *  predicted: the replay is not exact, AP_TOLD_MAX were told, or no change can be read or is about any row. */
AP_MUST_CHECK enum ap_status ap_predict_text(struct ap_predictor *predictor, struct ap_text changes,
                                             const struct ap_told_change **ret_told, struct ap_error *reterr);

#endif
