/* SPDX-License-Identifier: MIT
 * snapshot_facts.h - figures of a snapshot that need no replay: what the blocks of a segment add up to, and what the
 * entries of the histories count to. Knows nothing of the report. */
#ifndef AP_SNAPSHOT_FACTS_H
#define AP_SNAPSHOT_FACTS_H

#include "snapshot.h"

/** Sums over the blocks of one segment. */
struct ap_block_sums {
    int64_t total_bytes, allocated_bytes, active_bytes, pending_bytes, inactive_bytes;
    int64_t requested_bytes;        /* over active blocks */
    int64_t largest_inactive_bytes; /* 0 = none */
    bool all_inactive;              /* at least one block, and every one inactive */
    bool states_known;              /* no block of unknown state */
    bool requested_known;           /* every active block says what was requested */
};

/** Adds up the blocks of one segment. Sums that do not fit stop at the ends of int64 and set *@overflowed. */
void ap_block_sums(const struct ap_snapshot *snapshot, const struct ap_segment *segment, struct ap_block_sums *ret_sums,
                   bool *overflowed);

/** Do the segment's own fields contradict its blocks, or each other (more in use than there is)? */
bool ap_segment_contradicts(const struct ap_segment *segment, const struct ap_block_sums *sums);

/** Counts over the histories of all devices. */
struct ap_history_facts {
    uint64_t entries;
    bool recorded; /* the history of some device has more than one entry: a ring of one says nothing */
    bool has_times;
    int64_t first_ns, last_ns;
    uint64_t alloc_count;
    uint64_t free_count;                              /* free_requested, and free_completed of what was never requested */
    uint64_t segment_alloc_count, segment_free_count; /* map and unmap included */
    uint64_t steady_segment_alloc_count, steady_segment_free_count; /* in the second half of each device's entries */
    uint64_t retry_count; /* runs of two or more segment_free that end in segment_alloc or oom */
    uint64_t oom_count;
    bool has_oom_request, has_oom_device_free; /* of the last oom: by time, else the last one in the file */
    int64_t oom_request_bytes;
    uint64_t oom_device_free_bytes;
    int64_t allocated_bytes_sum; /* over alloc entries */
};

/** Goes over the entries of all histories; *@overflowed as above. */
AP_MUST_CHECK enum ap_status ap_history_facts(const struct ap_snapshot *snapshot, struct ap_history_facts *ret_facts,
                                              bool *overflowed, struct ap_error *reterr);

/** How often each name occurs: counts[id] for the ids 0..ap_strpool_count. @counts is cleared first. */
void ap_count_actions(const struct ap_snapshot *snapshot, uint64_t *counts);
/** The same for annotations. */
void ap_count_annotations(const struct ap_snapshot *snapshot, uint64_t *counts);

#endif
