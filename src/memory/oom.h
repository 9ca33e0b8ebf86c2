/* SPDX-License-Identifier: MIT
 * oom.h - why an allocation failed: what the allocator held at that moment, and what would have let the request pass. */
#ifndef AP_OOM_H
#define AP_OOM_H

#include "address_space.h"

/** In the order in which they are asked: the first that holds is the verdict, but what is full because others hold the rest
 * is their doing, and no request is huge that the free pieces together would hold. Thresholds are in oom.c. */
enum ap_oom_verdict {
    AP_OOM_ONE_HUGE_REQUEST, /* the request is at least half of the capacity */
    AP_OOM_TRULY_FULL,       /* nearly all of it is in use, or would be with the request and never was; or more is asked
                                      for than is free in any place */
    AP_OOM_EXTERNAL_FRAGMENTATION, /* as many bytes are free in the right pool and stream, but not in one piece; or all
                                      free bytes together would do while the device is not full */
    AP_OOM_PRIVATE_POOLS,          /* as many bytes are free, but some of them in another pool or stream */
    AP_OOM_OTHER_USERS,            /* much of the device, or of what the allocator had of it before, belongs to neither the
                                      allocator nor nobody */
    AP_OOM_UNKNOWN                 /* none of these, or numbers are missing */
};

/** As the report writes it: "external_fragmentation". */
const char *ap_oom_verdict_name(enum ap_oom_verdict verdict);

enum ap_oom_release {
    AP_RELEASE_UNKNOWN,  /* no set was found */
    AP_RELEASE_NOTHING,  /* a large enough piece was free */
    AP_RELEASE_ONE_HOLE, /* neighbors in one segment, which together with the holes between them make one large hole */
    AP_RELEASE_SEGMENTS  /* all of some segments (pages of expandable ones), so that the device has enough free */
};

struct ap_oom {
    uint32_t device, entry;
    int64_t request_bytes, device_free_bytes;
    bool has_request, has_device_free;
    bool limited; /* the device had enough free: a limit of the process refused it, as set_per_process_memory_fraction */
    int64_t room_bytes;     /* what the allocator could still take: device_free_bytes, or nothing at a limit */
    int64_t capacity_bytes; /* of the device; else what the allocator has and can take, which is a lower bound */
    bool has_capacity, capacity_is_total;
    int64_t once_reserved_bytes; /* the most, in the history before: so much the device has */
    /* At the moment of the failure; what is free is free inside reserved memory. */
    int64_t reserved_bytes;     /* the reserved curve */
    int64_t active_bytes;       /* blocks in use, rounded */
    int64_t inactive_bytes;     /* all holes = usable + elsewhere */
    int64_t usable_bytes;       /* holes in segments of the request's stream and pool */
    int64_t elsewhere_bytes;    /* holes in others */
    int64_t largest_hole_bytes; /* that could serve the request: right stream, pool, and size class */
    bool has_space;             /* segments and blocks were found: the figures above but the first mean something */
    bool consistent;            /* nothing contradicts the figures: no inconsistency, and the parts add up to reserved */
    enum ap_oom_verdict verdict;
    bool signs[AP_OOM_UNKNOWN]; /* which verdicts hold, taken alone */
    enum ap_oom_release release;
    uint32_t *released; /* lifetimes, largest first */
    uint32_t released_count;
    int64_t released_bytes; /* requested bytes of these */
    struct ap_space space;
};

/** The failure told by @entry, an oom of @device. @total_bytes: memory of the device, 0 = not known.
 *  The set to release is the smaller (by number, then by bytes) of two: the fewest neighbors in one segment, found
 *  exactly; and whole segments until the device has enough free, those with most bytes a block first, which is a good
 *  set but not always the best. */
AP_MUST_CHECK enum ap_status ap_oom_examine(const struct ap_replay *replay, uint32_t device, uint32_t entry,
                                            int64_t total_bytes, struct ap_oom *ret_oom, struct ap_error *reterr);
void ap_oom_release(struct ap_oom *oom);

/** What a process could still take from a device that had so much free and refused this request: nothing, where it would
 * have fitted, for then a limit of the process was reached. */
int64_t ap_room_at_oom(int64_t request_bytes, int64_t device_free_bytes);

#endif
