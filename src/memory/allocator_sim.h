/* SPDX-License-Identifier: MIT
 * allocator_sim.h - the CUDA caching allocator played with a recorded history under other rules: how much would it have
 * reserved? Knows nothing of the report.
 *
 * Simulated are: rounding to 512 bytes (with roundup_power2_divisions), the small and the large pool, segments of 2 MiB,
 * of 20 MiB and of multiples of 2 MiB, best fit within one stream and pool, splitting, merging, oversize blocks, expandable
 * segments as one row of pages for each stream and pool, collection of unused segments, and giving up the cache when the
 * device is full. What the history shows of empty_cache() happens here too. A request passes in O(log n). */
#ifndef AP_ALLOCATOR_SIM_H
#define AP_ALLOCATOR_SIM_H

#include "churn.h"

struct ap_sim_rules {
    bool expandable;
    bool long_lived_apart;     /* what lives to the end or for half the history gets segments of its own */
    bool packed;               /* what was live before the history is allocated anew, by address; else it is where it was */
    bool repeat_retries;       /* the cache is given up where the history says so; else where capacity_bytes is reached */
    int64_t max_split_bytes;   /* -1 = without limit */
    double gc_threshold_ratio; /* 0 = off; of capacity_bytes */
    uint32_t round_divisions;  /* 0 = off */
    int64_t capacity_bytes;    /* 0 = not known: never full */
};

struct ap_sim_result {
    bool finished;               /* false: too much work; then nothing below means anything */
    int64_t peak_reserved_bytes; /* above capacity_bytes where nothing helped */
    int64_t end_reserved_bytes;
    uint32_t segment_allocs; /* segments made, or times pages were mapped */
    uint32_t failed;         /* requests that did not fit the capacity, oom entries not counted */
    uint32_t oom_count;      /* oom entries in the history */
    uint32_t oom_passed;     /* of these, requests that would have passed */
};

/** Plays the history of the replay's device number @device. With *@ret_result.finished false it gave up, which is no
 *  failure. */
AP_MUST_CHECK enum ap_status ap_sim_run(const struct ap_replay *replay, uint32_t device, const struct ap_sim_rules *rules,
                                        struct ap_sim_result *ret_result, struct ap_error *reterr);

#endif
