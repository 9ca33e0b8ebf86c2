/* SPDX-License-Identifier: MIT */
#include "row_order.h"

#include <string.h>

#include "sort.h"

#include "poison.h"

static bool has_place(const struct ap_trace *trace, size_t row)
{
    switch (ap_row_kind(trace->events.tag[row])) {
    case AP_KIND_operator:
    case AP_KIND_annotation:
    case AP_KIND_runtime:
    case AP_KIND_python:
    case AP_KIND_engine:
    case AP_KIND_overhead:
    case AP_KIND_gpu_sync:
    case AP_KIND_accelerator:
    case AP_KIND_kernel:
    case AP_KIND_memcpy:
    case AP_KIND_memset:
        break;
    default:
        if (!(trace->events.tag[row] & AP_ROW_CPU_CATEGORY))
            return false;
    }
    return trace->events.start_ns[row] != AP_START_UNKNOWN && trace->events.dur_ns[row] >= 0;
}

static inline bool row_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_events *events = context;
    if (events->start_ns[a] != events->start_ns[b])
        return events->start_ns[a] < events->start_ns[b];
    if (events->dur_ns[a] != events->dur_ns[b])
        return events->dur_ns[a] > events->dur_ns[b];
    return a < b;
}

static void count_rows(struct ap_row_order *order, const struct ap_trace *trace)
{
    for (size_t row = 0; row < trace->events.count; row++)
        if (has_place(trace, row))
            order->track_start[trace->events.track[row] + 1]++;
    for (size_t track = 0; track < order->track_count; track++)
        order->track_start[track + 1] += order->track_start[track];
    order->count = order->track_start[order->track_count];
}

/* After this track_start[i] is where track i ends; shifted back by the caller. */
static void place_rows(struct ap_row_order *order, const struct ap_trace *trace)
{
    for (size_t row = 0; row < trace->events.count; row++)
        if (has_place(trace, row))
            order->rows[order->track_start[trace->events.track[row]]++] = (uint32_t)row;
    memmove(order->track_start + 1, order->track_start, order->track_count * sizeof(order->track_start[0]));
    order->track_start[0] = 0;
}

static enum ap_status sort_rows(struct ap_row_order *order, const struct ap_trace *trace, struct ap_error *reterr)
{
    size_t largest = 0;
    for (size_t track = 0; track < order->track_count; track++) {
        size_t count = order->track_start[track + 1] - order->track_start[track];
        largest = count > largest ? count : largest;
    }
    if (!largest)
        return AP_OK;
    uint32_t *spare = ap_mem_resize(order->gate, NULL, 0, largest * sizeof(spare[0]));
    if (!spare)
        return ap_fail_memory(order->gate, reterr);
    for (size_t track = 0; track < order->track_count; track++)
        ap_sort_indices(order->rows + order->track_start[track],
                        order->track_start[track + 1] - order->track_start[track], spare, row_before, &trace->events);
    ap_mem_free(order->gate, spare, largest * sizeof(spare[0]));
    return AP_OK;
}

enum ap_status ap_row_order_init(struct ap_row_order *order, const struct ap_trace *trace, struct ap_gate *gate,
                                 struct ap_error *reterr)
{
    *order = (struct ap_row_order){ .gate = gate, .track_count = trace->track_count };
    order->track_start = ap_mem_cleared(gate, (order->track_count + 1) * sizeof(order->track_start[0]));
    if (!order->track_start)
        return ap_fail_memory(gate, reterr);
    count_rows(order, trace);
    if (order->count) {
        order->rows = ap_mem_resize(gate, NULL, 0, order->count * sizeof(order->rows[0]));
        if (!order->rows)
            return ap_fail_memory(gate, reterr);
        place_rows(order, trace);
    }
    return sort_rows(order, trace, reterr);
}

void ap_row_order_release(struct ap_row_order *order)
{
    ap_mem_free(order->gate, order->rows, order->count * sizeof(order->rows[0]));
    ap_mem_free(order->gate, order->track_start, (order->track_count + 1) * sizeof(order->track_start[0]));
    *order = (struct ap_row_order){ .gate = order->gate };
}

static inline bool device_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_trace *trace = context;
    int64_t device_a = trace->tracks[trace->events.track[a]].device, device_b = trace->tracks[trace->events.track[b]].device;
    if (device_a != device_b)
        return device_a < device_b;
    return row_before(&trace->events, a, b);
}

static inline bool is_of(const struct ap_trace *trace, uint32_t row, uint32_t kinds)
{
    return kinds >> ap_row_kind(trace->events.tag[row]) & 1;
}

enum ap_status ap_rows_by_start(const struct ap_row_order *order, const struct ap_trace *trace, uint32_t kinds, bool by_device, uint32_t **ret_rows, size_t *ret_count,
                                struct ap_error *reterr)
{
    size_t count = 0, at = 0;
    *ret_rows = NULL;
    for (size_t i = 0; i < order->count; i++)
        count += is_of(trace, order->rows[i], kinds);
    *ret_count = count;
    if (!count)
        return AP_OK;
    uint32_t *rows = ap_mem_resize(order->gate, NULL, 0, count * sizeof(rows[0]));
    uint32_t *spare = ap_mem_resize(order->gate, NULL, 0, count * sizeof(rows[0]));
    if (!rows || !spare) {
        ap_mem_free(order->gate, rows, count * sizeof(rows[0]));
        ap_mem_free(order->gate, spare, count * sizeof(rows[0]));
        return ap_fail_memory(order->gate, reterr);
    }
    for (size_t i = 0; i < order->count; i++)
        if (is_of(trace, order->rows[i], kinds))
            rows[at++] = order->rows[i];
    if (by_device)
        ap_sort_indices(rows, count, spare, device_before, trace);
    else
        ap_sort_indices(rows, count, spare, row_before, &trace->events);
    ap_mem_free(order->gate, spare, count * sizeof(rows[0]));
    *ret_rows = rows;
    return AP_OK;
}
