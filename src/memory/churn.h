/* SPDX-License-Identifier: MIT
 * churn.h - how the allocator worked with the driver: segments made and given back, and why. Knows nothing of the report. */
#ifndef AP_CHURN_H
#define AP_CHURN_H

#include "periods.h"

/** Why segments were given back. */
enum ap_burst_cause {
    AP_BURST_RETRY,      /* the device had no room for what came next: all of the cache was given up for it */
    AP_BURST_COLLECTED,  /* garbage_collection_threshold is set */
    AP_BURST_EMPTY_CACHE /* torch.cuda.empty_cache(), or a pool that was given up: nobody needed the room */
};

/** Neighboring segment_free and segment_unmap entries. */
struct ap_burst {
    uint32_t first_entry, entry_count;
    int64_t bytes;
    int64_t reserved_bytes; /* before it */
    int64_t needed_bytes;   /* of the segment_alloc, segment_map or oom right behind it; 0 = none */
    enum ap_burst_cause cause;
    bool told_by_stack; /* empty_cache stands in its stack */
    bool ends_in_oom;
};

/** A walk over the bursts of one device. */
struct ap_bursts {
    const struct ap_replay *replay;
    uint8_t *stack_kinds; /* by stack: 0 = not looked at yet */
    uint32_t device, position;
    int64_t reserved_bytes;
};

/** To walk over the times when the device numbered @device gave segments back; borrows @replay. There is nothing to
 *  release after a failure. */
AP_MUST_CHECK enum ap_status ap_bursts_init(struct ap_bursts *bursts, const struct ap_replay *replay, uint32_t device,
                                            struct ap_error *reterr);
void ap_bursts_release(struct ap_bursts *bursts);
/** False at the end. A burst is an empty_cache where its stack says so; else a retry where an oom follows, or a new
 *  segment that would have brought the reserved bytes above 90 % of their peak and that none of the segments given back
 *  could have served; else collection where that is on. */
bool ap_bursts_next(struct ap_bursts *bursts, struct ap_burst *ret_burst);

struct ap_churn_part {
    uint64_t allocations, segment_allocs, segment_frees; /* map and unmap included */
    uint64_t empty_caches, retries, collections;         /* bursts */
    int64_t allocated_bytes, segment_alloc_bytes, segment_free_bytes;
    uint32_t periods; /* 0 = not known */
    int64_t span_ns;  /* 0 = not known */
};

struct ap_churn {
    struct ap_churn_part whole;
    struct ap_churn_part steady; /* behind the first whole period; without periods the second half of the entries */
    int64_t empty_cache_bytes, retry_bytes; /* given back in such bursts */
    uint32_t empty_cache_stack;             /* of the first one with a stack */
    int64_t peak_pending_bytes;             /* most requested bytes that waited for a stream */
    uint32_t peak_pending_entry;            /* AP_NO_ENTRY = none */
    bool pending_known;                     /* both kinds of free are recorded */
};

/** Of the device numbered @device. @periods: of the same device; they bound what counts as steady. */
AP_MUST_CHECK enum ap_status ap_churn_measure(const struct ap_replay *replay, uint32_t device,
                                              const struct ap_periods *periods, struct ap_churn *ret_churn,
                                              struct ap_error *reterr);

/** What the device can hold at most, as far as its oom entries tell: reserved bytes and what the device reported free at
 *  that moment. False where there is none. */
bool ap_capacity_at_oom(const struct ap_replay *replay, uint32_t device, int64_t *ret_bytes);

#endif
