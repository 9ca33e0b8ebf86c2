/* SPDX-License-Identifier: MIT
 * gpu_turns.c - whether the devices of a trace compute at the same time or one after the other, as they do where the layers
 * of one model are spread over them. */
#include "gpu_work.h"
#include "sort.h"

#include "poison.h"

#define MAIN_SHARE 0.2 /* of the busiest device's time: a device that does less helps the others */

/* From this instant on so many devices more, or fewer, compute. */
struct edge {
    int64_t at_ns;
    int64_t device;
    int delta;
};

struct turns {
    struct edge *edges;
    size_t count, capacity;
    int64_t devices, alone_ns, together_ns, switches;
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

/* Spans of each device in which kernels other than communication run, joined where they meet. */
static enum ap_status list_spans(struct ap_gpu_work *work, struct turns *turns, struct ap_error *reterr)
{
    struct ap_gate *gate = work->context->gate;
    const struct ap_trace *trace = work->context->trace;
    const struct ap_links *links = &work->context->facts->links;
    int64_t device = -1;
    struct edge *end = NULL;
    for (size_t i = 0; i < links->count; i++) {
        uint32_t row = links->rows[i].row;
        if (ap_gpu_part(work, row) != AP_GPU_COMPUTE || trace->events.dur_ns[row] <= 0)
            continue;
        int64_t start_ns = trace->events.start_ns[row], end_ns = ap_row_end_ns(trace, row);
        if (end && ap_row_device(trace, row) == device && start_ns <= end->at_ns) {
            end->at_ns = end_ns > end->at_ns ? end_ns : end->at_ns;
            continue;
        }
        device = ap_row_device(trace, row);
        AP_TRY_ADD(gate, turns->edges, turns->count, turns->capacity, reterr, (struct edge){ start_ns, device, 1 });
        AP_TRY_ADD(gate, turns->edges, turns->count, turns->capacity, reterr, (struct edge){ end_ns, device, -1 });
        end = &turns->edges[turns->count - 1];
    }
    return AP_OK;
}

/* The end of the device's spans that begin at @first. */
static size_t end_of_device(const struct turns *turns, size_t first, int64_t *ret_busy_ns)
{
    size_t end = first;
    *ret_busy_ns = 0;
    for (; end < turns->count && turns->edges[end].device == turns->edges[first].device; end += 2)
        *ret_busy_ns += turns->edges[end + 1].at_ns - turns->edges[end].at_ns;
    return end;
}

static void keep_main_devices(struct turns *turns)
{
    int64_t busiest_ns = 0, busy_ns;
    size_t kept = 0;
    for (size_t first = 0; first < turns->count;) {
        first = end_of_device(turns, first, &busy_ns);
        busiest_ns = busy_ns > busiest_ns ? busy_ns : busiest_ns;
    }
    for (size_t first = 0, end; first < turns->count; first = end) {
        end = end_of_device(turns, first, &busy_ns);
        if ((double)busy_ns < MAIN_SHARE * (double)busiest_ns)
            continue;
        turns->devices++;
        for (size_t i = first; i < end; i++)
            turns->edges[kept++] = turns->edges[i];
    }
    turns->count = kept;
}

static void sum_turns(struct turns *turns)
{
    int running = 0;
    int64_t last_device = -1;
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
    enum ap_status status = list_spans(work, &turns, reterr);
    if (status == AP_OK) {
        keep_main_devices(&turns);
        sum_turns(&turns);
        struct ap_value *to = ap_add_object(model, gpu, "turns");
        ap_add_count(model, to, "devices", turns.devices);
        ap_add_count(model, to, "switches", turns.switches);
        ap_add_time(model, to, "alone_us", turns.alone_ns);
        ap_add_quotient(model, to, "together_ratio", (double)turns.together_ns,
                        (double)turns.together_ns + (double)turns.alone_ns);
        int64_t saves_ns = turns.devices > 1 ? turns.alone_ns - turns.alone_ns / turns.devices : 0;
        ap_add_time(model, to, "saves_us", saves_ns);
    }
    AP_FREE(work->context->gate, turns.edges, turns.capacity);
    return status;
}
