/* SPDX-License-Identifier: MIT
 * queue_order.h - first in, first out: a queue that fills, or that is fed faster than it is read. Of what leaks the oldest
 * stay. */
#ifndef AP_QUEUE_ORDER_H
#define AP_QUEUE_ORDER_H

#include "replay.h"

#define AP_QUEUE_LEAST_GIVEN 3u

/* Of one stack's allocations, by the entries that made them. */
struct ap_queue_order {
    uint32_t given, newest_given; /* back */
    uint32_t beyond_kept;         /* one behind the oldest that is kept; 0 = none is */
};

/** @alloc AP_NO_ENTRY = from before the history. */
static inline void ap_queue_order_add(struct ap_queue_order *order, uint32_t alloc, bool kept)
{
    uint32_t at = alloc == AP_NO_ENTRY ? 1 : alloc + 1;
    if (kept) {
        order->beyond_kept = !order->beyond_kept || at < order->beyond_kept ? at : order->beyond_kept;
        return;
    }
    order->given++;
    order->newest_given = at > order->newest_given ? at : order->newest_given;
}

static inline bool ap_queue_order_holds(const struct ap_queue_order *order)
{
    return order->given >= AP_QUEUE_LEAST_GIVEN && order->newest_given < order->beyond_kept;
}

#endif
