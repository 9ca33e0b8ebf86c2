/* SPDX-License-Identifier: MIT
 * growth.h - what grows from period to period of a history: leaks, told apart from warm-up and from caches that fill.
 *
 * Compared are the moments at which each period holds least (requested bytes). Many periods are taken together, so that
 * there are at most AP_GROWTH_POINTS such moments. Knows nothing of the report. */
#ifndef AP_GROWTH_H
#define AP_GROWTH_H

#include "periods.h"

#define AP_GROWTH_POINTS 32u

enum ap_growth_verdict {
    AP_GROWTH_UNKNOWN, /* no history, or fewer than AP_LEAST_PERIODS periods */
    AP_GROWTH_NONE,
    AP_GROWTH_LEVELS_OFF, /* it grew, but hardly so in the later half: warm-up, or a cache that is full */
    AP_GROWTH_FILLING,    /* it grows, but hardly anything is freed: it may be one step whose activations pile up */
    AP_GROWTH_LEAK
};

struct ap_growth_point {
    uint32_t position;  /* the first at which the period holds least */
    int64_t bytes;      /* requested bytes in use there */
    int64_t most_bytes; /* the most within the period */
};

/** One origin of allocations whose live bytes grow, and go on growing. */
struct ap_growth_stack {
    uint32_t stack;                   /* or the first of its line; 0 = not recorded: all of one size, or of any */
    int64_t size_bytes;               /* where the stack is 0; 0 = any */
    int64_t first_bytes, last_bytes;  /* live at the first and the last point */
    int64_t later_bytes;              /* grown in the later half */
    int64_t end_bytes;                /* live at the end of the history */
    int64_t first_count, last_count;  /* the same in allocations */
    double bytes_per_period;          /* median of the slopes between all pairs of points */
    double fit_ratio;                 /* r^2 of a straight line */
    uint32_t first_entry, last_entry; /* the first and the last alloc of what is live at the last point only */
};

struct ap_growth {
    struct ap_gate *gate;
    struct ap_periods periods;
    struct ap_growth_point points[AP_GROWTH_POINTS];
    uint32_t point_count, periods_per_point;
    enum ap_growth_verdict verdict;
    double bytes_per_period; /* of the whole curve at the points */
    double fit_ratio;
    int64_t net_bytes;     /* last point less first point */
    int64_t leaking_bytes; /* grown by the stacks, first to last point */
    int64_t held_bytes;    /* requested bytes of the stacks that are live at the end of the history */
    double leaking_bytes_per_period;
    struct ap_growth_stack *stacks; /* most grown first; at most AP_GROWTH_STACKS */
    uint32_t stack_count;
    uint32_t *captures; /* entries that allocate what a private pool holds at the end, in order; while it is looked for */
    uint32_t capture_count;
};

#define AP_GROWTH_STACKS 64u

/** An origin is a stack, or a line of the user's code with all its callers where more grows so: warm-up and loop call the
 *  same, and each for itself may be too short. A stack grows on where: it holds more allocations at the end; its bytes
 *  rise in at least 3 periods; falls take back less than a quarter of what it rises; most of it is older than a period,
 *  where it is more than one allocation; the later half of the points has at least a quarter of the growth; the time
 *  since it last rose is no longer than the longest it ever paused; and a straight line fits (r^2 of 0.6). The verdict is
 *  a leak where such stacks exist, the whole curve rose in the later half by at least half of what they did, and, where
 *  the periods were only found and not told by annotations, they hold on to less than 30 % of the bytes allocated in the
 *  periods, or a module is called again and again: the layers of one forward pass all grow below the one call of their
 *  model, the passes of a loop do not. Where no periods were found, but equal parts taken, they also are at least half of
 *  what the whole curve rose in the later half. */
AP_MUST_CHECK enum ap_status ap_growth_find(const struct ap_replay *replay, uint32_t device, struct ap_growth *ret_growth,
                                            struct ap_error *reterr);
/** The same with these periods, which are taken over, as on failure. */
AP_MUST_CHECK enum ap_status ap_growth_find_in(const struct ap_replay *replay, uint32_t device, struct ap_periods *periods,
                                               struct ap_growth *ret_growth, struct ap_error *reterr);
void ap_growth_release(struct ap_growth *growth);

/* First in, first out: a queue that fills, or that is fed faster than it is read. Of what leaks the oldest stay; of a leak
 * that began late, or a list emptied once, what was given back went before most of the rest was made, and is less. */

#define AP_QUEUE_LEAST_GIVEN 3u

/* Of one stack's allocations, by the entries that made them. */
struct ap_queue_order {
    uint32_t given, newest_given; /* back */
    uint32_t last_end;            /* the last entry that gave one back */
    uint32_t beyond_kept;         /* one behind the oldest that is kept; 0 = none is */
    uint32_t beyond_newest_kept, kept;
};

/** @alloc AP_NO_ENTRY = from before the history. @end: AP_NO_ENTRY = kept. */
static inline void ap_queue_order_add(struct ap_queue_order *order, uint32_t alloc, uint32_t end)
{
    uint32_t at = alloc == AP_NO_ENTRY ? 1 : alloc + 1;
    if (end == AP_NO_ENTRY) {
        order->beyond_kept = !order->beyond_kept || at < order->beyond_kept ? at : order->beyond_kept;
        order->kept++;
        order->beyond_newest_kept = at > order->beyond_newest_kept ? at : order->beyond_newest_kept;
        return;
    }
    order->given++;
    order->newest_given = at > order->newest_given ? at : order->newest_given;
    order->last_end = end > order->last_end ? end : order->last_end;
}

static inline bool ap_queue_order_holds(const struct ap_queue_order *order)
{
    uint32_t half = order->beyond_kept + (order->beyond_newest_kept - order->beyond_kept) / 2;
    bool till_late = order->kept < order->given || order->last_end >= half;
    return order->given >= AP_QUEUE_LEAST_GIVEN && order->newest_given < order->beyond_kept && till_late;
}

#endif
