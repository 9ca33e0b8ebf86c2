/* SPDX-License-Identifier: MIT */
#include "gpu_cover.h"

#include "sort.h"

#include "poison.h"

/* Of a span of the device, by its number in the list. */
static int64_t length_ns(const struct ap_gpu_cover *cover, const struct ap_covered_device *device, size_t at)
{
    return (at + 1 < device->end ? cover->spans[at + 1].before_ns : device->total_ns) - cover->spans[at].before_ns;
}

static enum ap_status add_span(struct ap_gpu_cover *cover, int64_t start_ns, int64_t end_ns, struct ap_error *reterr)
{
    struct ap_covered_device *device = &cover->devices[cover->device_count - 1];
    int64_t covered_to_ns = INT64_MIN;
    if (device->first < device->end)
        covered_to_ns = cover->spans[device->end - 1].start_ns + length_ns(cover, device, device->end - 1);
    if (device->first < device->end && start_ns <= covered_to_ns) {
        device->total_ns += end_ns > covered_to_ns ? end_ns - covered_to_ns : 0;
        return AP_OK;
    }
    AP_TRY_ADD(cover->gate, cover->spans, cover->count, cover->capacity, reterr,
               (struct ap_covered){ start_ns, device->total_ns });
    device->total_ns += end_ns - start_ns;
    device->end = cover->count;
    return AP_OK;
}

enum ap_status ap_gpu_cover_init(struct ap_gpu_cover *cover, const struct ap_trace *trace, const struct ap_links *links,
                                 ap_in_cover *in_cover, const void *context, struct ap_gate *gate, struct ap_error *reterr)
{
    *cover = (struct ap_gpu_cover){ .gate = gate };
    for (size_t i = 0; i < links->count; i++) {
        uint32_t row = links->row[i];
        if (!in_cover(context, i) || trace->events.dur_ns[row] == 0)
            continue;
        int64_t device = ap_row_device(trace, row);
        if (!cover->device_count || cover->devices[cover->device_count - 1].device != device)
            AP_TRY_ADD(cover->gate, cover->devices, cover->device_count, cover->device_capacity, reterr,
                       (struct ap_covered_device){ device, cover->count, cover->count, 0 });
        AP_TRY(add_span(cover, trace->events.start_ns[row], ap_row_end_ns(trace, row), reterr));
    }
    return AP_OK;
}

struct span {
    int64_t start_ns, end_ns;
};

static int by_start(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    AP_BY_SMALLER(x->start_ns, y->start_ns);
    AP_BY_SMALLER(x->end_ns, y->end_ns);
    return 0;
}

static enum ap_status add_spans(struct ap_gpu_cover *joined, const struct ap_gpu_cover *cover, struct span *spans,
                                struct ap_error *reterr)
{
    size_t count = 0;
    for (size_t i = 0; i < cover->device_count; i++)
        for (size_t at = cover->devices[i].first; at < cover->devices[i].end; at++) {
            int64_t start_ns = cover->spans[at].start_ns;
            spans[count++] = (struct span){ start_ns, start_ns + length_ns(cover, &cover->devices[i], at) };
        }
    ap_sort(spans, count, sizeof(spans[0]), by_start);
    AP_TRY_ADD(joined->gate, joined->devices, joined->device_count, joined->device_capacity, reterr,
               (struct ap_covered_device){ 0, 0, 0, 0 });
    for (size_t i = 0; i < count; i++)
        AP_TRY(add_span(joined, spans[i].start_ns, spans[i].end_ns, reterr));
    return AP_OK;
}

enum ap_status ap_gpu_cover_join(struct ap_gpu_cover *joined, const struct ap_gpu_cover *cover, struct ap_error *reterr)
{
    struct span *spans;
    *joined = (struct ap_gpu_cover){ .gate = cover->gate };
    AP_TRY(AP_ALLOC(cover->gate, spans, cover->count, reterr));
    enum ap_status status = add_spans(joined, cover, spans, reterr);
    AP_FREE(cover->gate, spans, cover->count);
    return status;
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
    int64_t to_ns = at_ns - span->start_ns, length = length_ns(cover, device, low - 1);
    return span->before_ns + (to_ns < length ? to_ns : length);
}

int64_t ap_gpu_covered_ns(const struct ap_gpu_cover *cover, int64_t device, int64_t start_ns, int64_t end_ns)
{
    size_t low = 0;
    AP_BISECT(low, cover->device_count, at, cover->devices[at].device < device);
    if (low == cover->device_count || cover->devices[low].device != device || start_ns >= end_ns)
        return 0;
    return covered_before(cover, &cover->devices[low], end_ns) - covered_before(cover, &cover->devices[low], start_ns);
}
