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
};

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
