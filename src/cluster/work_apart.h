/* SPDX-License-Identifier: MIT
 * work_apart.h - how the work of a rank differs from that of others: more calls, calls of other shapes, or the same calls
 * that each take longer. Kernels; without a device operators. */
#ifndef AP_WORK_APART_H
#define AP_WORK_APART_H

#include "equal_calls.h"
#include "rank_delays.h"

/** So many times the calls, or the time of equal ones, are no chance even where processes share the cores of a host. */
#define AP_APART_CALLS 1.1
#define AP_APART_TIMES 1.5

struct ap_work_apart {
    double calls_times; /* of the steps, against the middle rank of its role; 0 = not known */
    int64_t calls_more; /* in a step, likewise */
    double work_times;  /* the time of these calls, likewise */
    bool shapes_differ; /* in most steps no rank of its role made the same calls, though as many */
    struct ap_rank_times times;
};

/** @of_all: against all ranks, not those of its role alone. @values: scratch, one for each rank. Linear in ranks and steps:
 *  for ranks that are late, not for all of many. */
struct ap_work_apart ap_work_apart_of(const struct ap_delays *delays, const struct ap_rank_times *times, size_t rank,
                                      bool of_all, int64_t *values);

/** Has it more to do, whatever the times say? */
static inline bool ap_has_more_work(const struct ap_work_apart *apart)
{
    return apart->calls_times >= AP_APART_CALLS ||
           (apart->shapes_differ && apart->times.is_shaped && apart->work_times >= AP_APART_CALLS);
}

/** Do nearly all of the same calls take it longer? Then what runs them is slow: more data lengthens some. */
static inline bool ap_has_slow_host(const struct ap_work_apart *apart)
{
    return apart->times.operator_times >= AP_APART_TIMES && apart->times.longer_share >= 0.8;
}

#endif
