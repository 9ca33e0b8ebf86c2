/* SPDX-License-Identifier: MIT
 * rank_spent.h - what a rank spent its time on between any two moments: one timeline of exclusive classes for the device
 * that does most. */
#ifndef AP_RANK_SPENT_H
#define AP_RANK_SPENT_H

#include "facts.h"
#include "rank_set.h"

/** Spans that do not overlap, in order, with the time in those before each. */
struct ap_spans {
    struct ap_span {
        int64_t start_ns, end_ns, before_ns;
    } * list;
    size_t count, capacity;
};

struct ap_rank_timeline {
    struct ap_gate *gate;
    const struct ap_facts *facts;
    int64_t device;
    struct ap_spans compute, compute_or_copy, busy; /* unions on the device */
    struct ap_spans garbage, compiling;             /* of the main thread: collections, compilations */
    struct ap_spans idle[AP_SPENT_COUNT_];          /* by class; of those of devices none */
    struct ap_idle_pieces *pieces;                  /* the caller's, put in order */
    uint8_t *name_classes;                          /* by name id, for rows that tell a class by name */
    size_t name_count;
};

/** The facts hold all but phases and path. @pieces: of the split. Release after a failure too. */
AP_MUST_CHECK enum ap_status ap_rank_timeline_init(struct ap_rank_timeline *timeline, const struct ap_facts *facts,
                                                   struct ap_idle_pieces *pieces, struct ap_error *reterr);
void ap_rank_timeline_release(struct ap_rank_timeline *timeline);

/** Time in each class from @start_ns to @end_ns; they sum to what lies between. */
void ap_rank_timeline_spent(const struct ap_rank_timeline *timeline, int64_t start_ns, int64_t end_ns,
                            int64_t ret_spent_ns[AP_SPENT_COUNT_]);
/** How long before @end_ns nothing was computed, back to @start_ns at most. */
int64_t ap_rank_timeline_idle_before(const struct ap_rank_timeline *timeline, int64_t start_ns, int64_t end_ns);
/** The host's row behind the longest idle piece in that time; AP_NO_ROW where nothing was recorded in that. */
uint32_t ap_rank_timeline_host_row(const struct ap_rank_timeline *timeline, int64_t start_ns, int64_t end_ns);

#endif
