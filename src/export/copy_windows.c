/* SPDX-License-Identifier: MIT
 * copy_windows.c - which stretches of time are worth showing. */
#include "copying.h"
#include "sort.h"

#include "poison.h"

#define MARGIN_NS INT64_C(5000000)
#define MARGIN_PART 5 /* a fifth of the span, where that is more */
#define MOST_WITHOUT_FINDINGS 5

static bool longest_first(const void *context, uint32_t left, uint32_t right)
{
    const struct ap_overlay_span *a = (const struct ap_overlay_span *)context + left;
    const struct ap_overlay_span *b = (const struct ap_overlay_span *)context + right;
    return a->dur_ns != b->dur_ns ? a->dur_ns > b->dur_ns : a->ordinal < b->ordinal;
}

static enum ap_status add_window(struct ap_copy_windows *windows, const struct ap_overlay_span *span,
                                 struct ap_error *reterr)
{
    struct ap_copy_slice window = { span->start_ns, span->start_ns + span->dur_ns };
    ap_copy_slice_widen(&window);
    AP_TRY_ADD(windows->gate, windows->windows, windows->count, windows->capacity, reterr, window);
    return AP_OK;
}

void ap_copy_slice_widen(struct ap_copy_slice *slice)
{
    int64_t part_ns = (slice->end_ns - slice->start_ns) / MARGIN_PART, margin_ns = part_ns > MARGIN_NS ? part_ns : MARGIN_NS;
    slice->start_ns -= margin_ns;
    slice->end_ns += margin_ns;
}

/* The longest spans of a track, at most @limit of them (0 = all). */
static enum ap_status add_track(struct ap_copy_windows *windows, const struct ap_overlay *overlay,
                                enum ap_overlay_track track, uint64_t limit, struct ap_error *reterr)
{
    const struct ap_overlay_list *list = &overlay->lists[track];
    uint32_t *order;
    size_t count;
    AP_TRY(ap_top_indices(windows->gate, (uint32_t)list->count, limit, longest_first, list->spans, &order, &count, reterr));
    enum ap_status status = AP_OK;
    for (size_t i = 0; i < count && status == AP_OK; i++)
        if (!list->spans[order[i]].everywhere)
            status = add_window(windows, &list->spans[order[i]], reterr);
    AP_FREE(windows->gate, order, count);
    return status;
}

static bool starts_first(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_copy_slice *windows = context;
    return windows[a].start_ns != windows[b].start_ns ? windows[a].start_ns < windows[b].start_ns : a < b;
}

/* In order of time, those that touch made one. */
static enum ap_status merge(struct ap_copy_windows *windows, struct ap_error *reterr)
{
    uint32_t *order;
    size_t count, kept = 0;
    struct ap_copy_slice *sorted;
    AP_TRY(AP_ALLOC(windows->gate, sorted, windows->capacity, reterr));
    enum ap_status status =
        ap_top_indices(windows->gate, (uint32_t)windows->count, 0, starts_first, windows->windows, &order, &count, reterr);
    if (status != AP_OK) {
        AP_FREE(windows->gate, sorted, windows->capacity);
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        struct ap_copy_slice next = windows->windows[order[i]];
        if (kept && next.start_ns <= sorted[kept - 1].end_ns)
            sorted[kept - 1].end_ns = next.end_ns > sorted[kept - 1].end_ns ? next.end_ns : sorted[kept - 1].end_ns;
        else
            sorted[kept++] = next;
    }
    AP_FREE(windows->gate, order, count);
    ap_mem_free(windows->gate, windows->windows, windows->capacity * sizeof(sorted[0]));
    windows->windows = sorted;
    windows->count = kept;
    return AP_OK;
}

enum ap_status ap_copy_windows_init(struct ap_copy_windows *windows, const struct ap_overlay *overlay,
                                    struct ap_error *reterr)
{
    static const struct {
        enum ap_overlay_track track;
        uint64_t limit;
        const char *around;
    } choices[] = {
        { AP_OVERLAY_findings, 0, "events around the findings" },
        { AP_OVERLAY_idle_causes, MOST_WITHOUT_FINDINGS, "events around the longest gaps of the GPU" },
        { AP_OVERLAY_steps, MOST_WITHOUT_FINDINGS, "events around the longest steps" },
    };
    *windows =
        (struct ap_copy_windows){ .gate = overlay->gate,
                                  .around = "events of the whole recording, as none of what was found has a place in time" };
    for (size_t i = 0; i < AP_COUNT_OF(choices) && !windows->count; i++) {
        enum ap_status status = add_track(windows, overlay, choices[i].track, choices[i].limit, reterr);
        if (status == AP_OK && windows->count) {
            windows->around = choices[i].around;
            status = merge(windows, reterr);
        }
        if (status != AP_OK) {
            ap_copy_windows_release(windows);
            return status;
        }
    }
    if (windows->count)
        return AP_OK;
    struct ap_overlay_span whole = { .start_ns = overlay->start_ns, .dur_ns = overlay->end_ns - overlay->start_ns };
    return add_window(windows, &whole, reterr);
}

enum ap_status ap_copy_windows_slice(struct ap_copy_windows *windows, struct ap_gate *gate,
                                     const struct ap_copy_slice *slice, struct ap_error *reterr)
{
    *windows = (struct ap_copy_windows){ .gate = gate, .around = "events of the slice that was asked for" };
    AP_TRY_ADD(windows->gate, windows->windows, windows->count, windows->capacity, reterr, *slice);
    return AP_OK;
}

void ap_copy_windows_release(struct ap_copy_windows *windows)
{
    AP_FREE(windows->gate, windows->windows, windows->capacity);
    *windows = (struct ap_copy_windows){ .gate = windows->gate };
}

bool ap_copy_windows_meet(const struct ap_copy_windows *windows, int64_t start_ns, int64_t end_ns)
{
    /* the first window that ends at or behind the start */
    size_t low = 0;
    AP_BISECT(low, windows->count, at, windows->windows[at].end_ns < start_ns);
    return low < windows->count && windows->windows[low].start_ns <= end_ns;
}
