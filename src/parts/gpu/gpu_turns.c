/* SPDX-License-Identifier: MIT
 * gpu_turns.c - whether the devices of a trace compute at the same time or one after the other, as they do where the layers
 * of one model are spread over them. */
#include "gpu_work.h"
#include "sort.h"

#include "poison.h"

#define MAIN_SHARE 0.2   /* of the busiest device's time: a device that does less helps the others */
#define MOST_DEVICES 256 /* no model is spread over more by one program */

/* A stretch in which a device runs kernels other than communication. */
struct span {
    int64_t device, start_ns, end_ns;
};

struct device {
    int64_t device, busy_ns;
    size_t span_count;
};

/* From this instant on so many devices more, or fewer, compute. */
struct edge {
    int64_t at_ns;
    uint32_t device;
    int delta;
};

struct turns {
    struct device devices[MOST_DEVICES];
    struct edge *edges; /* of two devices or more */
    size_t count, capacity;
    uint32_t device_count;
    bool too_many;
    int64_t alone_ns, together_ns, switches;
};

static int by_time(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    if (x->delta != y->delta)
        return x->delta - y->delta; /* what ends makes room first */
    return (x->device > y->device) - (x->device < y->device);
}

/* The span that begins at *at or behind; of a device one is before the next, and devices stand one behind the other. */
static bool next_span(const struct ap_gpu_work *work, size_t *at, struct span *ret_span)
{
    const struct ap_trace *trace = work->context->trace;
    const struct ap_links *links = &work->context->facts->links;
    bool found = false;
    for (; *at < links->count; ++*at) {
        uint32_t row = links->rows[*at].row;
        if (ap_gpu_part(work, row) != AP_GPU_COMPUTE || trace->events.dur_ns[row] <= 0)
            continue;
        struct span span = { ap_row_device(trace, row), trace->events.start_ns[row], ap_row_end_ns(trace, row) };
        if (found && (span.device != ret_span->device || span.start_ns > ret_span->end_ns))
            break;
        if (!found)
            *ret_span = span;
        ret_span->end_ns = span.end_ns > ret_span->end_ns ? span.end_ns : ret_span->end_ns;
        found = true;
    }
    return found;
}

static void list_devices(const struct ap_gpu_work *work, struct turns *turns)
{
    struct span span;
    for (size_t at = 0; next_span(work, &at, &span) && !turns->too_many;) {
        if (!turns->device_count || turns->devices[turns->device_count - 1].device != span.device) {
            turns->too_many = turns->device_count == MOST_DEVICES;
            turns->device_count += !turns->too_many;
            turns->devices[turns->device_count - 1] = (struct device){ .device = span.device };
        }
        turns->devices[turns->device_count - 1].busy_ns += span.end_ns - span.start_ns;
        turns->devices[turns->device_count - 1].span_count++;
    }
    turns->device_count = turns->too_many ? 0 : turns->device_count;
}

static void keep_main_devices(struct turns *turns)
{
    int64_t busiest_ns = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < turns->device_count; i++)
        busiest_ns = turns->devices[i].busy_ns > busiest_ns ? turns->devices[i].busy_ns : busiest_ns;
    for (uint32_t i = 0; i < turns->device_count; i++)
        if ((double)turns->devices[i].busy_ns >= MAIN_SHARE * (double)busiest_ns)
            turns->devices[kept++] = turns->devices[i];
    turns->device_count = kept;
}

static enum ap_status list_edges(const struct ap_gpu_work *work, struct turns *turns, struct ap_error *reterr)
{
    struct span span;
    uint32_t device = 0;
    for (uint32_t i = 0; i < turns->device_count; i++)
        turns->capacity += 2 * turns->devices[i].span_count;
    AP_TRY(AP_ALLOC(work->context->gate, turns->edges, turns->capacity, reterr));
    for (size_t at = 0; next_span(work, &at, &span);) {
        while (device + 1 < turns->device_count && turns->devices[device].device < span.device)
            device++;
        if (turns->devices[device].device != span.device)
            continue;
        turns->edges[turns->count++] = (struct edge){ span.start_ns, device, 1 };
        turns->edges[turns->count++] = (struct edge){ span.end_ns, device, -1 };
    }
    return AP_OK;
}

static void sum_turns(struct turns *turns)
{
    int running = 0;
    int64_t last_device = -1;
    if (!turns->count) /* one device computes alone whenever it computes */
        turns->alone_ns = turns->device_count ? turns->devices[0].busy_ns : 0;
    ap_sort(turns->edges, turns->count, sizeof(turns->edges[0]), by_time);
    for (size_t i = 0; i < turns->count; i++) {
        int64_t ns = i ? turns->edges[i].at_ns - turns->edges[i - 1].at_ns : 0;
        turns->alone_ns += running == 1 ? ns : 0;
        turns->together_ns += running > 1 ? ns : 0;
        running += turns->edges[i].delta;
        if (turns->edges[i].delta < 0)
            continue;
        turns->switches += last_device >= 0 && last_device != turns->edges[i].device;
        last_device = turns->edges[i].device;
    }
}

enum ap_status ap_gpu_add_turns(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                                struct ap_error *reterr)
{
    struct turns turns = { .edges = NULL };
    list_devices(work, &turns);
    keep_main_devices(&turns);
    if (turns.device_count > 1)
        AP_TRY(list_edges(work, &turns, reterr));
    sum_turns(&turns);
    struct ap_value *to = ap_add_object(model, gpu, "turns");
    ap_add_count(model, to, "devices", turns.device_count);
    ap_add_count(model, to, "switches", turns.switches);
    ap_add_time(model, to, "alone_us", turns.alone_ns);
    ap_add_quotient(model, to, "together_ratio", (double)turns.together_ns,
                    (double)turns.together_ns + (double)turns.alone_ns);
    int64_t saves_ns = turns.device_count > 1 ? turns.alone_ns - turns.alone_ns / turns.device_count : 0;
    ap_add_time(model, to, "saves_us", saves_ns);
    AP_FREE(work->context->gate, turns.edges, turns.capacity);
    return AP_OK;
}
