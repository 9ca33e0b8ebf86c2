/* SPDX-License-Identifier: MIT
 * waits.h - every call in which the host waits for a device: synchronizations, copies that block, allocation. And what each
 * of them cost the device. */
#ifndef AP_WAITS_H
#define AP_WAITS_H

#include "call_kind.h"
#include "host_chain.h"
#include "links.h"

enum ap_sync_category {
#define AP_SYNC_CATEGORY(category) AP_SYNC_##category,
#include "sync_category.def"
    AP_SYNC_CATEGORY_COUNT
};

#define AP_METRIC_OPS 3 /* a choice, a comparison, a sum */

struct ap_wait {
    uint32_t row; /* the call; of a copy and the synchronization that follows it in one operator, the longer */
    uint8_t category;
    bool at_end;    /* nothing was launched on the device afterwards */
    bool of_metric; /* a read of a number that was made as metrics are */
    int64_t device;
    int64_t start_ns, end_ns;
    int64_t blocked_ns;
    int64_t written_ns; /* where a tensor is written as text: that took as long since the wait before, or its beginning */
    int64_t idle_ns;    /* of this, what the device did not work and would have */
    struct ap_host_chain chain;
};

struct ap_waits {
    struct ap_gate *gate;
    struct ap_wait *waits; /* by thread, then time */
    size_t count, capacity;
    uint32_t metric_ops[AP_METRIC_OPS]; /* names of what made the metric that was read first; 0 = none was */
};

/** Finds the waits of each host thread, without their cost. @waits may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_waits_init(struct ap_waits *waits, const struct ap_trace *trace,
                                           const struct ap_row_order *order, const struct ap_host_tree *tree,
                                           const struct ap_links *links, const struct ap_call_kinds *kinds,
                                           struct ap_gate *gate, struct ap_error *reterr);
void ap_waits_release(struct ap_waits *waits);

/** Fills idle_ns and at_end. A wait lets the device run dry where nothing was queued any more when it ended: from its start
 *  (from the last start of what was launched before its end, where that is later) to the first start of what was launched
 *  after it and had to queue, as far as no row ran on the device; but no more than it lasted (a read of a number, a size
 *  that depends on data, a copy: than their operator did; a tensor that is written as text: than that took), for without it
 *  the next launches would have come earlier by that much. Reads of numbers in a row cost up to what all of them held the
 *  host up, until work queues again. Time that several waits share is charged once. */
AP_MUST_CHECK enum ap_status ap_waits_find_cost(struct ap_waits *waits, const struct ap_trace *trace,
                                                const struct ap_links *links, struct ap_error *reterr);

static inline bool ap_wait_is_allocation(const struct ap_wait *wait)
{
    return wait->category == AP_SYNC_allocation || wait->category == AP_SYNC_pinned_allocation;
}

#endif
