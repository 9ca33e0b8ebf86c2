/* SPDX-License-Identifier: MIT
 * gpu_fill.c - what kernels leave of the multiprocessors while they run, and whether kernels of several streams run side by
 * side. Kernels of collectives are meant to be small and to run beside others: they count for neither. */
#include "gpu_work.h"

#include "poison.h"

#define STREAM_SHARE 0.1 /* of its device's kernel time: what has less is not meant to carry its part */

struct running {
    int64_t end_ns;
    double blocks; /* per multiprocessor; -1 = unknown */
};

/* A heap with what ends first on top. */
struct fill {
    struct ap_gpu_work *work;
    struct running *running;
    size_t count, capacity;
    size_t unknown_count; /* of them, without a grid */
    double blocks;        /* sum of the others */
    double empty_ns;
    int64_t overlap_ns; /* two or more were running */
    bool known;         /* some kernel told its grid */
};

static void sink(struct fill *fill, size_t at)
{
    struct running moved = fill->running[at];
    size_t below;
    while ((below = 2 * at + 1) < fill->count) {
        if (below + 1 < fill->count && fill->running[below + 1].end_ns < fill->running[below].end_ns)
            below++;
        if (fill->running[below].end_ns >= moved.end_ns)
            break;
        fill->running[at] = fill->running[below];
        at = below;
    }
    fill->running[at] = moved;
}

static enum ap_status start(struct fill *fill, struct running kernel, struct ap_error *reterr)
{
    AP_TRY(AP_RESERVE(fill->work->context->gate, fill->running, fill->capacity, fill->count + 1, reterr));
    size_t at = fill->count++;
    for (; at && fill->running[(at - 1) / 2].end_ns > kernel.end_ns; at = (at - 1) / 2)
        fill->running[at] = fill->running[(at - 1) / 2];
    fill->running[at] = kernel;
    fill->known |= kernel.blocks >= 0;
    fill->unknown_count += kernel.blocks < 0;
    fill->blocks += kernel.blocks > 0 ? kernel.blocks : 0;
    return AP_OK;
}

static void end_first(struct fill *fill)
{
    struct running first = fill->running[0];
    fill->running[0] = fill->running[--fill->count];
    if (fill->count)
        sink(fill, 0);
    fill->unknown_count -= first.blocks < 0;
    fill->blocks = fill->count ? fill->blocks - (first.blocks > 0 ? first.blocks : 0) : 0;
}

/* No kernel starts between @from_ns and @to_ns. */
static void pass_time(struct fill *fill, int64_t from_ns, int64_t to_ns)
{
    while (fill->count && from_ns < to_ns) {
        int64_t until_ns = fill->running[0].end_ns < to_ns ? fill->running[0].end_ns : to_ns;
        if (until_ns > from_ns) {
            if (!fill->unknown_count && fill->blocks < 1)
                fill->empty_ns += (1 - fill->blocks) * (double)(until_ns - from_ns);
            if (fill->count > 1)
                fill->overlap_ns = ap_gpu_add_ns(fill->work, fill->overlap_ns, until_ns - from_ns);
            from_ns = until_ns;
        }
        if (fill->running[0].end_ns <= from_ns)
            end_first(fill);
    }
}

static struct running kernel_of(const struct ap_trace *trace, uint32_t row)
{
    const struct ap_work_detail *detail = ap_row_work(trace, row);
    return (struct running){ ap_row_end_ns(trace, row), detail ? ap_plain_figure(detail->as.grid.blocks_per_sm) : -1 };
}

/* Streams that carry their part, and the kernel time of them but for the busiest of each device. */
struct streams {
    int64_t *track_ns; /* kernel time by track, of the device that is looked at */
    int64_t device_ns; /* of all of its tracks */
    size_t first;      /* of its rows in links */
    int64_t count, other_ns;
};

static void take_kernel(struct fill *fill, struct streams *streams, uint32_t row)
{
    const struct ap_events *events = &fill->work->context->trace->events;
    int64_t *track_ns = &streams->track_ns[events->track[row]];
    *track_ns = ap_gpu_add_ns(fill->work, *track_ns, events->dur_ns[row]);
    streams->device_ns = ap_gpu_add_ns(fill->work, streams->device_ns, events->dur_ns[row]);
}

/* The rows of the device end before links->row[end]: each stream is met with its first one. */
static void end_device(struct fill *fill, struct streams *streams, size_t end)
{
    const struct ap_links *links = &fill->work->context->facts->links;
    const uint32_t *track = fill->work->context->trace->events.track;
    int64_t busiest_ns = 0, shared_ns = 0;
    for (size_t i = streams->first; i < end; i++) {
        int64_t *track_ns = &streams->track_ns[track[links->row[i]]], ns = *track_ns;
        *track_ns = 0;
        if (!ns || (double)ns < STREAM_SHARE * (double)streams->device_ns)
            continue;
        streams->count++;
        shared_ns = ap_gpu_add_ns(fill->work, shared_ns, ns);
        busiest_ns = ns > busiest_ns ? ns : busiest_ns;
    }
    streams->other_ns = ap_gpu_add_ns(fill->work, streams->other_ns, shared_ns - busiest_ns);
    streams->first = end;
    streams->device_ns = 0;
}

static enum ap_status sweep(struct fill *fill, struct streams *streams, struct ap_error *reterr)
{
    const struct ap_trace *trace = fill->work->context->trace;
    const struct ap_links *links = &fill->work->context->facts->links;
    int64_t at_ns = INT64_MIN, device = -1;
    for (size_t i = 0; i < links->count; i++) {
        uint32_t row = links->row[i];
        if (ap_gpu_part(fill->work, row) != AP_GPU_COMPUTE)
            continue;
        if (ap_row_device(trace, row) != device) {
            pass_time(fill, at_ns, INT64_MAX);
            end_device(fill, streams, i);
        }
        device = ap_row_device(trace, row);
        pass_time(fill, at_ns, trace->events.start_ns[row]);
        at_ns = trace->events.start_ns[row];
        take_kernel(fill, streams, row);
        AP_TRY(start(fill, kernel_of(trace, row), reterr));
    }
    pass_time(fill, at_ns, INT64_MAX);
    end_device(fill, streams, links->count);
    return AP_OK;
}

static void add_figures(const struct fill *fill, const struct streams *streams, struct ap_model *model, struct ap_value *gpu)
{
    struct ap_value *to = ap_add_object(model, gpu, "fill");
    bool counts = fill->known && fill->empty_ns < (double)INT64_MAX;
    ap_add_known_time(model, to, "empty_sm_us", counts, counts ? (int64_t)fill->empty_ns : 0);
    ap_add_count(model, to, "streams", streams->count);
    ap_add_time(model, to, "other_streams_us", streams->other_ns);
    ap_add_time(model, to, "overlap_us", fill->overlap_ns);
    ap_add_quotient(model, to, "overlap_ratio", (double)fill->overlap_ns, (double)streams->other_ns);
}

enum ap_status ap_gpu_add_fill(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                               struct ap_error *reterr)
{
    struct ap_gate *gate = work->context->gate;
    struct fill fill = { .work = work };
    size_t count = work->context->trace->track_count;
    struct streams streams = { .track_ns = NULL };
    enum ap_status status = AP_ALLOC_CLEARED(gate, streams.track_ns, count, reterr);
    AP_AND_THEN(status, sweep(&fill, &streams, reterr));
    if (status == AP_OK)
        add_figures(&fill, &streams, model, gpu);
    AP_FREE(gate, fill.running, fill.capacity);
    AP_FREE(gate, streams.track_ns, count);
    return status;
}
