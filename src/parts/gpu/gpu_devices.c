/* SPDX-License-Identifier: MIT
 * gpu_devices.c - how long each device and each stream worked, and at what: all figures are unions of intervals. */
#include <string.h>

#include "cover.h"
#include "gpu_work.h"
#include "sort.h"

#include "poison.h"

/* Which rows each union is of. */
enum {
    BUSY,
    COMPUTE,
    COMMUNICATION,
    MEMCPY,
    MEMSET,
    COMPUTE_COMMUNICATION,
    COMPUTE_MEMCPY,
    KERNEL_LIKE, /* compute and memset */
    KERNEL_LIKE_COMMUNICATION,
    UNION_COUNT
};

static const unsigned union_of[] = {
    [BUSY] = AP_GPU_COMPUTE | AP_GPU_COMMUNICATION | AP_GPU_MEMCPY | AP_GPU_MEMSET,
    [COMPUTE] = AP_GPU_COMPUTE,
    [COMMUNICATION] = AP_GPU_COMMUNICATION,
    [MEMCPY] = AP_GPU_MEMCPY,
    [MEMSET] = AP_GPU_MEMSET,
    [COMPUTE_COMMUNICATION] = AP_GPU_COMPUTE | AP_GPU_COMMUNICATION,
    [COMPUTE_MEMCPY] = AP_GPU_COMPUTE | AP_GPU_MEMCPY,
    [KERNEL_LIKE] = AP_GPU_COMPUTE | AP_GPU_MEMSET,
    [KERNEL_LIKE_COMMUNICATION] = AP_GPU_COMPUTE | AP_GPU_MEMSET | AP_GPU_COMMUNICATION,
};

/* A row of the report takes more than a thousand bytes, and no host has so many. */
#define MOST_LISTED 256

struct window {
    int64_t rows, start_ns, end_ns;
};

static void window_add(struct window *window, int64_t start_ns, int64_t end_ns)
{
    if (!window->rows++)
        *window = (struct window){ 1, start_ns, end_ns };
    window->end_ns = end_ns > window->end_ns ? end_ns : window->end_ns;
}

struct unions {
    struct window all, launched;
    int64_t kernels;
    struct ap_cover covers[UNION_COUNT], unlaunched;
};

static void unions_init(struct unions *unions)
{
    *unions = (struct unions){ .unlaunched = AP_COVER_EMPTY };
    for (size_t i = 0; i < UNION_COUNT; i++)
        unions->covers[i] = AP_COVER_EMPTY;
}

static void unions_add(struct unions *unions, unsigned part, int64_t start_ns, int64_t end_ns)
{
    window_add(&unions->all, start_ns, end_ns);
    unions->kernels += (part & (AP_GPU_COMPUTE | AP_GPU_COMMUNICATION)) != 0;
    for (size_t i = 0; i < UNION_COUNT; i++)
        if (union_of[i] & part)
            ap_cover_add(&unions->covers[i], start_ns, end_ns);
}

static int64_t sum_ns(const struct unions *unions, int which)
{
    return unions->covers[which].sum_ns;
}

static void add_unions(const struct unions *unions, struct ap_model *model, struct ap_value *row)
{
    int64_t window_ns = unions->all.end_ns - unions->all.start_ns;
    ap_add_time(model, row, "window_us", window_ns);
    ap_add_time(model, row, "busy_us", sum_ns(unions, BUSY));
    ap_add_time(model, row, "idle_us", window_ns - sum_ns(unions, BUSY));
    ap_add_quotient(model, row, "utilization_ratio", (double)sum_ns(unions, BUSY), (double)window_ns);
    ap_add_time(model, row, "compute_us", sum_ns(unions, COMPUTE));
    ap_add_time(model, row, "communication_us", sum_ns(unions, COMMUNICATION));
    ap_add_time(model, row, "memcpy_us", sum_ns(unions, MEMCPY));
    ap_add_time(model, row, "memset_us", sum_ns(unions, MEMSET));
}

/* ---- devices ---- */

static int64_t communication_overlap_ns(const struct unions *unions)
{
    return sum_ns(unions, COMPUTE) - (sum_ns(unions, COMPUTE_COMMUNICATION) - sum_ns(unions, COMMUNICATION));
}

static int64_t memcpy_overlap_ns(const struct unions *unions)
{
    return sum_ns(unions, COMPUTE) - (sum_ns(unions, COMPUTE_MEMCPY) - sum_ns(unions, MEMCPY));
}

static int64_t exposed_communication_ns(const struct unions *unions)
{
    return sum_ns(unions, KERNEL_LIKE_COMMUNICATION) - sum_ns(unions, KERNEL_LIKE);
}

static int64_t exposed_memcpy_ns(const struct unions *unions)
{
    return sum_ns(unions, BUSY) - sum_ns(unions, KERNEL_LIKE_COMMUNICATION);
}

static void add_recorded(const struct unions *unions, bool launches_known, struct ap_model *model, struct ap_value *row)
{
    ap_add_known_count(model, row, "launched_before_recording_count", launches_known,
                       unions->all.rows - unions->launched.rows);
    ap_add_known_time(model, row, "launched_before_recording_us", launches_known, unions->unlaunched.sum_ns);
    ap_add_known_time(model, row, "recorded_window_us", launches_known, unions->launched.end_ns - unions->launched.start_ns);
}

static void add_device(struct ap_gpu_work *work, const struct unions *unions, int64_t device, struct ap_model *model,
                       struct ap_value *list)
{
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_count(model, row, "device", device);
    ap_add_count(model, row, "rows", unions->all.rows);
    add_unions(unions, model, row);
    ap_add_time(model, row, "exposed_communication_us", exposed_communication_ns(unions));
    ap_add_time(model, row, "exposed_memcpy_us", exposed_memcpy_ns(unions));
    ap_add_time(model, row, "communication_overlap_us", communication_overlap_ns(unions));
    ap_add_time(model, row, "memcpy_overlap_us", memcpy_overlap_ns(unions));
    add_recorded(unions, work->context->facts->links.linked_count != 0, model, row);
}

static void add_to_totals(struct ap_gpu_work *work, const struct unions *unions)
{
    struct ap_gpu_totals *totals = &work->totals;
    const struct {
        int64_t *total_ns, ns;
    } sums[] = {
        { &totals->window_ns, unions->all.end_ns - unions->all.start_ns },
        { &totals->recorded_window_ns, unions->launched.end_ns - unions->launched.start_ns },
        { &totals->busy_ns, sum_ns(unions, BUSY) },
        { &totals->compute_ns, sum_ns(unions, COMPUTE) },
        { &totals->communication_ns, sum_ns(unions, COMMUNICATION) },
        { &totals->exposed_communication_ns, exposed_communication_ns(unions) },
        { &totals->communication_overlap_ns, communication_overlap_ns(unions) },
        { &totals->memcpy_ns, sum_ns(unions, MEMCPY) },
        { &totals->exposed_memcpy_ns, exposed_memcpy_ns(unions) },
        { &totals->memcpy_overlap_ns, memcpy_overlap_ns(unions) },
        { &totals->unlaunched_ns, unions->unlaunched.sum_ns },
    };
    for (size_t i = 0; i < AP_COUNT_OF(sums); i++)
        *sums[i].total_ns = ap_gpu_add_ns(work, *sums[i].total_ns, sums[i].ns);
    totals->unlaunched_count += unions->all.rows - unions->launched.rows;
}

enum ap_status ap_gpu_add_devices(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                                  struct ap_error *reterr)
{
    const struct ap_trace *trace = work->context->trace;
    const struct ap_links *links = &work->context->facts->links;
    struct ap_value *list = ap_add_list(model, gpu, "devices");
    size_t count = 0;
    for (size_t i = 0; i < links->count;) {
        int64_t device = ap_row_device(trace, links->row[i]);
        struct unions unions;
        unions_init(&unions);
        for (; i < links->count && ap_row_device(trace, links->row[i]) == device; i++) {
            uint32_t row = links->row[i];
            int64_t start_ns = trace->events.start_ns[row], end_ns = start_ns + trace->events.dur_ns[row];
            unions_add(&unions, ap_gpu_part(work, row), start_ns, end_ns);
            if (ap_launch_at(links, i) == AP_NO_ROW)
                ap_cover_add(&unions.unlaunched, start_ns, end_ns);
            else
                window_add(&unions.launched, start_ns, end_ns);
        }
        if (count++ < MOST_LISTED)
            add_device(work, &unions, device, model, list);
        else
            ap_note_many(work->context->notes, AP_COUNTER_many_devices, 1);
        add_to_totals(work, &unions);
    }
    return ap_model_status(model, reterr);
}

/* ---- streams ---- */

static bool is_gpu_work(const struct ap_trace *trace, uint32_t row)
{
    return ap_event_kind_is_gpu_work(ap_row_kind(trace->events.tag[row]));
}

static void measure_stream(const struct ap_gpu_work *work, uint32_t track, struct unions *unions)
{
    const struct ap_row_order *order = &work->context->facts->order;
    const struct ap_trace *trace = work->context->trace;
    unions_init(unions);
    if (ap_track_device(trace, &trace->tracks[track]) < 0)
        return;
    for (size_t i = order->track_start[track]; i < order->track_start[track + 1]; i++) {
        uint32_t row = order->rows[i];
        if (is_gpu_work(trace, row))
            unions_add(unions, ap_gpu_part(work, row), trace->events.start_ns[row], ap_row_end_ns(trace, row));
    }
}

static void add_stream(const struct ap_gpu_work *work, uint32_t track, struct ap_model *model, struct ap_value *list)
{
    const struct ap_trace *trace = work->context->trace;
    struct ap_value *row = ap_add_object(model, list, NULL);
    struct unions unions;
    measure_stream(work, track, &unions);
    ap_add_count(model, row, "device", ap_track_device(trace, &trace->tracks[track]));
    ap_add_track(trace, track, model, row);
    ap_add_count(model, row, "rows", unions.all.rows);
    ap_add_count(model, row, "kernels", unions.kernels);
    add_unions(&unions, model, row);
}

#define NO_STREAM (-1)

static bool stream_before(const void *context, uint32_t a, uint32_t b)
{
    const int64_t *busy_ns = context;
    AP_LARGER_FIRST(busy_ns[a], busy_ns[b]);
    return a < b;
}

static size_t find_streams(const struct ap_gpu_work *work, int64_t *busy_ns)
{
    const struct ap_row_order *order = &work->context->facts->order;
    size_t count = 0;
    for (uint32_t track = 0; track < order->track_count; track++) {
        struct unions unions;
        measure_stream(work, track, &unions);
        busy_ns[track] = unions.all.rows ? sum_ns(&unions, BUSY) : NO_STREAM;
        count += unions.all.rows != 0;
    }
    return count;
}

enum ap_status ap_gpu_add_streams(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                                  struct ap_error *reterr)
{
    struct ap_gate *gate = work->context->gate;
    struct ap_value *list = ap_add_list(model, gpu, "streams");
    uint64_t limit = work->context->options->top_n;
    size_t tracks = work->context->facts->order.track_count, shown = 0;
    uint32_t *top = NULL;
    int64_t *busy_ns; /* by track */
    AP_TRY(AP_ALLOC(gate, busy_ns, tracks, reterr));
    size_t count = find_streams(work, busy_ns);
    limit = limit && limit < count ? limit : count;
    enum ap_status status =
        count ? ap_top_indices(gate, (uint32_t)tracks, limit, stream_before, busy_ns, &top, &shown, reterr) : AP_OK;
    for (size_t i = 0; i < shown && status == AP_OK; i++)
        add_stream(work, top[i], model, list);
    AP_FREE(gate, top, shown);
    AP_FREE(gate, busy_ns, tracks);
    return status;
}
