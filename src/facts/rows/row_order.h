/* SPDX-License-Identifier: MIT
 * row_order.h - the rows of each track in order of time: the view that all passes over time share.
 * Rows that are not placed in time (no ts, negative dur) and kinds that no pass looks at are not in it. */
#ifndef AP_ROW_ORDER_H
#define AP_ROW_ORDER_H

#include "trace.h"

#define AP_ORDERED_KINDS \
    (AP_HOST_KINDS | AP_GPU_KINDS | 1u << AP_KIND_overhead | 1u << AP_KIND_gpu_sync | 1u << AP_KIND_accelerator)

/** Is the row in the order? */
static inline bool ap_row_has_place(const struct ap_trace *trace, size_t row)
{
    uint8_t tag = trace->events.tag[row];
    return (AP_ORDERED_KINDS >> ap_row_kind(tag) & 1 || tag & AP_ROW_CPU_CATEGORY) &&
           trace->events.start_ns[row] != AP_START_UNKNOWN && trace->events.dur_ns[row] >= 0;
}

struct ap_row_order {
    struct ap_gate *gate;
    uint32_t *rows; /* row numbers, track by track; start ascending, then end descending, then file order */
    size_t count;
    uint32_t *track_start; /* track i has rows[track_start[i] .. track_start[i+1]) */
    size_t track_count;
    uint8_t *track_holds; /* by track: a bit each for rows of the host, work of a GPU, and others. NULL = not told */
};

#define AP_TRACK_HOLDS_HOST 1u
#define AP_TRACK_HOLDS_WORK 2u
#define AP_TRACK_HOLDS_OTHER 4u

/** What a track holds that has rows of these kinds (bit 1 << kind). */
static inline uint8_t ap_track_holds_of(uint32_t kinds)
{
    return (uint8_t)((kinds & AP_HOST_KINDS ? AP_TRACK_HOLDS_HOST : 0) | (kinds & AP_GPU_KINDS ? AP_TRACK_HOLDS_WORK : 0) |
                     (kinds & ~(AP_HOST_KINDS | AP_GPU_KINDS) ? AP_TRACK_HOLDS_OTHER : 0));
}

/** False where none of its rows is of these kinds: streams have no rows of the host, and threads no work. */
static inline bool ap_track_may_hold(const struct ap_row_order *order, size_t track, uint32_t kinds)
{
    return !order->track_holds || order->track_holds[track] & ap_track_holds_of(kinds);
}

/** The rows of some kinds, track by track in order of time. */
struct ap_placed_rows {
    const struct ap_row_order *order;
    const uint32_t *rows;
    const uint8_t *tag;
    uint32_t kinds, row;
    size_t track, next, end; /* of the order: the first row that was not looked at; where its track ends */
};

/** For loops: for (struct ap_placed_rows at = ap_placed_rows(order, trace, kinds); ap_placed_rows_next(&at);). */
static inline struct ap_placed_rows ap_placed_rows(const struct ap_row_order *order, const struct ap_trace *trace,
                                                   uint32_t kinds)
{
    return (struct ap_placed_rows){ .order = order, .rows = order->rows, .tag = trace->events.tag, .kinds = kinds };
}

/** The next one, into @at->row; false = there is none. */
static inline bool ap_placed_rows_next(struct ap_placed_rows *at)
{
    for (;;) {
        while (at->next < at->end) {
            at->row = at->rows[at->next++];
            if (at->kinds >> ap_row_kind(at->tag[at->row]) & 1)
                return true;
        }
        while (at->track < at->order->track_count && !ap_track_may_hold(at->order, at->track, at->kinds))
            at->track++;
        if (at->track >= at->order->track_count)
            return false;
        at->next = at->order->track_start[at->track++];
        at->end = at->order->track_start[at->track];
    }
}

/** Sorts the rows of each track. @order may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_row_order_init(struct ap_row_order *order, const struct ap_trace *trace,
                                               struct ap_gate *gate, struct ap_error *reterr);
void ap_row_order_release(struct ap_row_order *order);

enum ap_rows_order {
    AP_ROWS_BY_START,
    AP_ROWS_BY_DEVICE,          /* then by start */
    AP_ROWS_OUTERMOST_BY_START, /* only those that last longer than all of their track that begin before them */
};

/** The rows whose kind is in the set (bit 1 << kind) of all tracks. The list is the caller's: free it with
 *  ap_mem_free(gate, list, *ret_count * sizeof(uint32_t)). */
AP_MUST_CHECK enum ap_status ap_rows_by_start(const struct ap_row_order *order, const struct ap_trace *trace, uint32_t kinds,
                                              enum ap_rows_order by, uint32_t **ret_rows, size_t *ret_count,
                                              struct ap_error *reterr);

#endif
