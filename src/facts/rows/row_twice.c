/* SPDX-License-Identifier: MIT */
#include "row_twice.h"

#include "poison.h"

#define KEY_OF_0 1 /* what nobody launched may have no other number */

/* Two kernels of one stream do not begin at once. */
static bool is_twice(const struct ap_trace *trace, uint32_t before, uint32_t row)
{
    const struct ap_events *events = &trace->events;
    if (events->start_ns[before] != events->start_ns[row] || events->dur_ns[before] != events->dur_ns[row] ||
        events->name[before] != events->name[row] || !ap_row_is_of(trace, row, AP_GPU_KINDS) ||
        ap_row_kind(events->tag[before]) != ap_row_kind(events->tag[row]))
        return false;
    const struct ap_work_detail *first = ap_row_work(trace, before), *second = ap_row_work(trace, row);
    return first && second && first->correlation > KEY_OF_0 && first->correlation == second->correlation;
}

uint64_t ap_gpu_rows_twice(const struct ap_row_order *order, const struct ap_trace *trace)
{
    uint64_t count = 0;
    for (size_t track = 0; track < order->track_count; track++) {
        if (ap_track_device(trace, &trace->tracks[track]) < 0)
            continue;
        for (size_t i = order->track_start[track] + 1; i < order->track_start[track + 1]; i++)
            count += is_twice(trace, order->rows[i - 1], order->rows[i]);
    }
    return count;
}
