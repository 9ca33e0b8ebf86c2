/* SPDX-License-Identifier: MIT
 * trace_clip.c - a file that is a stretch of a longer recording says so: what reaches beyond the stretch is cut at its
 * edges, so that nobody takes the rest, of which no row was copied, for idle. */
#include "trace_internal.h"

#include "poison.h"

static bool clip(const struct ap_trace *trace, int64_t *start_ns, int64_t *dur_ns)
{
    int64_t end_ns = *start_ns + *dur_ns;
    if (end_ns < trace->slice_start_ns || *start_ns > trace->slice_end_ns)
        return false;
    *start_ns = *start_ns < trace->slice_start_ns ? trace->slice_start_ns : *start_ns;
    end_ns = end_ns > trace->slice_end_ns ? trace->slice_end_ns : end_ns;
    *dur_ns = end_ns - *start_ns;
    return true;
}

void ap_trace_clip(struct ap_trace *trace)
{
    struct ap_events *events = &trace->events;
    if (!trace->is_slice)
        return;
    trace->has_window = trace->has_window_all = false;
    for (size_t row = 0; row < events->count; row++) {
        if (events->start_ns[row] == AP_START_UNKNOWN || events->dur_ns[row] < 0)
            continue;
        if (!clip(trace, &events->start_ns[row], &events->dur_ns[row])) {
            events->start_ns[row] = AP_START_UNKNOWN;
            continue;
        }
        int64_t start_ns = events->start_ns[row], end_ns = start_ns + events->dur_ns[row];
        if (events->tag[row] & AP_ROW_X)
            ap_trace_widen(&trace->has_window_all, &trace->window_all_start_ns, &trace->window_all_end_ns, start_ns, end_ns);
        if (ap_row_kind(events->tag[row]) != AP_KIND_span)
            ap_trace_widen(&trace->has_window, &trace->window_start_ns, &trace->window_end_ns, start_ns, end_ns);
    }
}
