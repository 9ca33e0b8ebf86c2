/* SPDX-License-Identifier: MIT */
#include "row_order.h"

#include <string.h>

#include "rows_of.h"
#include "sort.h"

#include "poison.h"

static void fill_holds(uint8_t holds[AP_ROW_KIND_MASK + 1])
{
    for (unsigned kind = 0; kind <= AP_ROW_KIND_MASK; kind++)
        holds[kind] = ap_track_holds_of(UINT32_C(1) << kind);
}

static inline bool row_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_events *events = context;
    AP_SMALLER_FIRST(events->start_ns[a], events->start_ns[b]);
    AP_LARGER_FIRST(events->dur_ns[a], events->dur_ns[b]);
    return a < b;
}

static void count_rows(struct ap_row_order *order, const struct ap_trace *trace)
{
    uint8_t holds[AP_ROW_KIND_MASK + 1];
    fill_holds(holds);
    for (size_t row = 0; row < trace->events.count; row++)
        if (ap_row_has_place(trace, row)) {
            uint32_t track = trace->events.track[row];
            order->track_start[track + 1]++;
            order->track_holds[track] |= holds[ap_row_kind(trace->events.tag[row])];
        }
    for (size_t track = 0; track < order->track_count; track++)
        order->track_start[track + 1] += order->track_start[track];
    order->count = order->track_start[order->track_count];
}

/* What was placed of a track. */
struct placed {
    uint32_t last;
    bool is_disordered;
};

static void place_rows(struct ap_row_order *order, const struct ap_trace *trace, struct placed *placed)
{
    for (size_t track = 0; track < order->track_count; track++)
        placed[track] = (struct placed){ AP_NO_ROW, false };
    for (size_t row = 0; row < trace->events.count; row++) {
        if (!ap_row_has_place(trace, row))
            continue;
        struct placed *before = &placed[trace->events.track[row]];
        order->rows[order->track_start[trace->events.track[row]]++] = (uint32_t)row;
        if (before->last != AP_NO_ROW && row_before(&trace->events, (uint32_t)row, before->last))
            before->is_disordered = true;
        before->last = (uint32_t)row;
    }
    memmove(order->track_start + 1, order->track_start, order->track_count * sizeof(order->track_start[0]));
    order->track_start[0] = 0;
}

static enum ap_status sort_rows(struct ap_row_order *order, const struct ap_trace *trace, const struct placed *placed,
                                struct ap_error *reterr)
{
    size_t largest = 0;
    for (size_t track = 0; track < order->track_count; track++) {
        size_t count = placed[track].is_disordered ? order->track_start[track + 1] - order->track_start[track] : 0;
        largest = count > largest ? count : largest;
    }
    if (!largest)
        return AP_OK;
    uint32_t *spare;
    AP_TRY(AP_ALLOC(order->gate, spare, largest, reterr));
    for (size_t track = 0; track < order->track_count; track++)
        if (placed[track].is_disordered)
            ap_sort_indices(order->rows + order->track_start[track],
                            order->track_start[track + 1] - order->track_start[track], spare, row_before, &trace->events);
    AP_FREE(order->gate, spare, largest);
    return AP_OK;
}

static enum ap_status fill_rows(struct ap_row_order *order, const struct ap_trace *trace, struct ap_error *reterr)
{
    struct placed *placed;
    AP_TRY(AP_ALLOC(order->gate, order->rows, order->count, reterr));
    AP_TRY(AP_ALLOC(order->gate, placed, order->track_count, reterr));
    place_rows(order, trace, placed);
    enum ap_status status = sort_rows(order, trace, placed, reterr);
    AP_FREE(order->gate, placed, order->track_count);
    return status;
}

enum ap_status ap_row_order_init(struct ap_row_order *order, const struct ap_trace *trace, struct ap_gate *gate,
                                 struct ap_error *reterr)
{
    *order = (struct ap_row_order){ .gate = gate, .track_count = trace->track_count };
    AP_TRY(AP_ALLOC_CLEARED(gate, order->track_start, order->track_count + 1, reterr));
    AP_TRY(AP_ALLOC_CLEARED(gate, order->track_holds, order->track_count + 1, reterr));
    count_rows(order, trace);
    return order->count ? fill_rows(order, trace, reterr) : AP_OK;
}

void ap_row_order_release(struct ap_row_order *order)
{
    AP_FREE(order->gate, order->rows, order->count);
    AP_FREE(order->gate, order->track_start, order->track_count + 1);
    AP_FREE(order->gate, order->track_holds, order->track_count + 1);
    *order = (struct ap_row_order){ .gate = order->gate };
}

static inline bool device_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_trace *trace = context;
    int64_t device_a = ap_row_device(trace, a), device_b = ap_row_device(trace, b);
    AP_SMALLER_FIRST(device_a, device_b);
    return row_before(&trace->events, a, b);
}

struct row_list {
    uint32_t *rows;
    size_t count, capacity;
};

static enum ap_status list_rows(const struct ap_row_order *order, const struct ap_trace *trace, uint32_t kinds,
                                bool outermost, struct row_list *list, struct ap_error *reterr)
{
    for (size_t track = 0; track < order->track_count; track++) {
        int64_t covered_to_ns = INT64_MIN;
        if (!ap_track_may_hold(order, track, kinds))
            continue;
        for (size_t i = order->track_start[track]; i < order->track_start[track + 1]; i++) {
            uint32_t row = order->rows[i];
            if (!ap_row_is_of(trace, row, kinds) || (outermost && ap_row_end_ns(trace, row) <= covered_to_ns))
                continue;
            AP_TRY_ADD(order->gate, list->rows, list->count, list->capacity, reterr, row);
            covered_to_ns = outermost ? ap_row_end_ns(trace, row) : covered_to_ns;
        }
    }
    return AP_OK;
}

/* The caller gives back as many as there are. */
static enum ap_status fit(struct row_list *list, struct ap_gate *gate, struct ap_error *reterr)
{
    if (!list->count || list->count == list->capacity)
        return AP_OK;
    uint32_t *rows = ap_mem_resize(gate, list->rows, list->capacity * sizeof(rows[0]), list->count * sizeof(rows[0]));
    if (!rows)
        return ap_fail_memory(gate, reterr);
    list->rows = rows;
    list->capacity = list->count;
    return AP_OK;
}

enum ap_status ap_rows_by_start(const struct ap_row_order *order, const struct ap_trace *trace, uint32_t kinds,
                                enum ap_rows_order by, uint32_t **ret_rows, size_t *ret_count, struct ap_error *reterr)
{
    bool outermost = by == AP_ROWS_OUTERMOST_BY_START;
    struct row_list list = { NULL, 0, 0 };
    *ret_rows = NULL;
    *ret_count = 0;
    if (!ap_has_rows_of(trace, kinds))
        return AP_OK;
    enum ap_status status = list_rows(order, trace, kinds, outermost, &list, reterr);
    AP_AND_THEN(status, fit(&list, order->gate, reterr));
    AP_AND_THEN(status, by == AP_ROWS_BY_DEVICE
                            ? ap_sort_list(order->gate, list.rows, list.count, device_before, trace, reterr)
                            : ap_sort_list(order->gate, list.rows, list.count, row_before, &trace->events, reterr));
    if (status == AP_OK) {
        *ret_rows = list.rows;
        *ret_count = list.count;
    } else {
        AP_FREE(order->gate, list.rows, list.capacity);
    }
    return status;
}
