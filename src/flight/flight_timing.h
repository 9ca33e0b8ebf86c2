/* SPDX-License-Identifier: MIT
 * flight_timing.h - who enqueues late, which operations lasted far longer than others like them, and who was still at work
 * when its dump was written. Times of enqueueing are of each host's own clock; durations are there where timing was switched
 * on, and hold the wait for the last rank. */
#ifndef AP_FLIGHT_TIMING_H
#define AP_FLIGHT_TIMING_H

#include "flight_order.h"

/** So many times the median of operations like it. */
#define AP_FLIGHT_OUTLIER_FACTOR 10
#define AP_FLIGHT_OUTLIER_TIMES 10 /* fewer are not judged */
#define AP_FLIGHT_OUTLIER_NS INT64_C(1000000)

/** A rank, over the collectives that it shares with others. */
struct ap_flight_lag {
    uint64_t count, last_count; /* how many, in how many of them it was the last to enqueue */
    int64_t median_ns, max_ns;  /* behind the first rank */
};

/** Operations of one group, kind and size. */
struct ap_flight_duration {
    uint32_t group, entry; /* one of them */
    uint64_t count, outlier_count;
    int64_t median_ns, max_ns;
    int64_t max_sequence; /* the longest one's */
    uint32_t max_dump;    /* and its rank */
    uint32_t last_dump;   /* the rank for which that one was the shortest: it came last; AP_FLIGHT_NONE = not known */
};

struct ap_flight_timing {
    struct ap_gate *gate;
    struct ap_flight_lag *lags; /* by dump */
    uint8_t *may_run;           /* by dump: it was written so soon after the last call that such a silence is no sign */
    uint32_t dump_count;
    struct ap_flight_duration *durations; /* those with outliers first, longest first */
    uint32_t duration_count;
    size_t duration_capacity;
    uint64_t timed_count, outlier_count;
};

/** @timing may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_flight_timing_init(struct ap_flight_timing *timing, const struct ap_flight_order *order,
                                                   struct ap_error *reterr);
void ap_flight_timing_release(struct ap_flight_timing *timing);

#endif
