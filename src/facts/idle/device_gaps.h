/* SPDX-License-Identifier: MIT
 * device_gaps.h - inside the split: the times in which no device worked, one after the other. There may be one for each row
 * of work, so none is kept: whoever needs them goes over the work again. */
#ifndef AP_DEVICE_GAPS_H
#define AP_DEVICE_GAPS_H

#include "links.h"

/** The work of all devices, by start. */
struct ap_merged_work {
    struct ap_gate *gate;
    const struct ap_trace *trace;
    const struct ap_links *links;
    uint32_t *order; /* numbers of links->row by start; NULL where one device has them so already */
};

/** Borrows both. @merged may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_merged_work_init(struct ap_merged_work *merged, const struct ap_trace *trace,
                                                 const struct ap_links *links, struct ap_gate *gate,
                                                 struct ap_error *reterr);
void ap_merged_work_release(struct ap_merged_work *merged);

/** Its place in links->row. */
static inline uint32_t ap_merged_work_at(const struct ap_merged_work *merged, size_t i)
{
    return merged->order ? merged->order[i] : (uint32_t)i;
}

struct ap_gap {
    int64_t start_ns, end_ns;
    uint32_t work;   /* what ended it: number in links->row; AP_NO_ROW = nothing */
    uint32_t number; /* in order of time */
};

/** Where a walk over the gaps is. To begin: { merged, from_ns, to_ns } with the time that is looked at. */
struct ap_gap_walk {
    const struct ap_merged_work *merged;
    int64_t busy_to_ns, end_ns;
    size_t at;
    uint32_t count;
};

/** The next gap before some work or behind all; those without length are left out. False behind the last one. */
bool ap_gap_next(struct ap_gap_walk *walk, struct ap_gap *ret_gap);

/** Of the longest gaps. */
struct ap_long_gap {
    struct ap_gap gap;
    uint32_t rank; /* 0 = the longest */
};

/** The @most longest, of equals the first ones, in order of time. The list is the caller's: it has room for @most. */
AP_MUST_CHECK enum ap_status ap_longest_gaps(struct ap_gap_walk walk, size_t most, struct ap_gate *gate,
                                             struct ap_long_gap **ret_list, size_t *ret_count, struct ap_error *reterr);

#endif
