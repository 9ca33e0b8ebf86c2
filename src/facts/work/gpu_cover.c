/* SPDX-License-Identifier: MIT */
#include "gpu_cover.h"

#include "sort.h"

#include "poison.h"

static enum ap_status add_span(struct ap_gpu_cover *cover, int64_t start_ns, int64_t end_ns, struct ap_error *reterr)
{
    struct ap_covered_device *device = &cover->devices[cover->device_count - 1];
    struct ap_covered *last = device->first < device->end ? &cover->spans[device->end - 1] : NULL;
    if (last && start_ns <= last->end_ns) {
        last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
        return AP_OK;
    }
    AP_TRY(AP_RESERVE(cover->gate, cover->spans, cover->capacity, cover->count + 1, reterr));
    last = device->first < device->end ? &cover->spans[device->end - 1] : NULL;
    int64_t before_ns = last ? last->before_ns + (last->end_ns - last->start_ns) : 0;
    cover->spans[cover->count++] = (struct ap_covered){ start_ns, end_ns, before_ns };
    device->end = cover->count;
    return AP_OK;
}

enum ap_status ap_gpu_cover_init(struct ap_gpu_cover *cover, const struct ap_trace *trace, const struct ap_links *links,
                                 ap_in_cover *in_cover, const void *context, struct ap_gate *gate, struct ap_error *reterr)
{
    *cover = (struct ap_gpu_cover){ .gate = gate };
    for (size_t i = 0; i < links->count; i++) {
        uint32_t row = links->rows[i].row;
        if (!in_cover(context, i) || trace->events.dur_ns[row] == 0)
            continue;
        int64_t device = ap_row_device(trace, row);
        if (!cover->device_count || cover->devices[cover->device_count - 1].device != device)
            AP_TRY_ADD(cover->gate, cover->devices, cover->device_count, cover->device_capacity, reterr,
                       (struct ap_covered_device){ device, cover->count, cover->count });
        AP_TRY(add_span(cover, trace->events.start_ns[row], ap_row_end_ns(trace, row), reterr));
    }
    return AP_OK;
}

void ap_gpu_cover_release(struct ap_gpu_cover *cover)
{
    AP_FREE(cover->gate, cover->spans, cover->capacity);
    AP_FREE(cover->gate, cover->devices, cover->device_capacity);
    *cover = (struct ap_gpu_cover){ .gate = cover->gate };
}

/* Covered time of the device from its begin to @at_ns. */
static int64_t covered_before(const struct ap_gpu_cover *cover, const struct ap_covered_device *device, int64_t at_ns)
{
    size_t low = device->first; /* the first that begins at or after it */
    AP_BISECT(low, device->end, at, cover->spans[at].start_ns < at_ns);
    if (low == device->first)
        return 0;
    const struct ap_covered *span = &cover->spans[low - 1];
    return span->before_ns + ((at_ns < span->end_ns ? at_ns : span->end_ns) - span->start_ns);
}

int64_t ap_gpu_covered_ns(const struct ap_gpu_cover *cover, int64_t device, int64_t start_ns, int64_t end_ns)
{
    size_t low = 0;
    AP_BISECT(low, cover->device_count, at, cover->devices[at].device < device);
    if (low == cover->device_count || cover->devices[low].device != device || start_ns >= end_ns)
        return 0;
    return covered_before(cover, &cover->devices[low], end_ns) - covered_before(cover, &cover->devices[low], start_ns);
}
