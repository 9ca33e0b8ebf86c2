/* SPDX-License-Identifier: MIT
 * trace_memory_steps.c - what the main device held when steps and their parts began and ended. */
#include "sort.h"
#include "trace_memory.h"

#include "poison.h"

struct curve {
    const struct ap_trace_memory *memory;
    const struct ap_memory_device *device;
    const uint32_t *instants; /* in order of time */
    size_t count;
};

static int64_t at_ns(const struct curve *curve, size_t place)
{
    return curve->memory->trace->memory_instants[curve->instants[place]].start_ns;
}

/* Number of instants before that time. */
static size_t instants_before(const struct curve *curve, int64_t ns)
{
    size_t low = 0;
    AP_BISECT(low, curve->count, at, at_ns(curve, at) < ns);
    return low;
}

/* After the first @count instants. */
static struct ap_memory_level level_after(const struct curve *curve, size_t count)
{
    return ap_memory_level_after(curve->memory, curve->device, count ? curve->instants[count - 1] : AP_NO_INSTANT);
}

static void measure_span(const struct curve *curve, struct ap_memory_span *span)
{
    size_t from = instants_before(curve, span->start_ns), to = instants_before(curve, span->end_ns + 1);
    span->start = level_after(curve, from);
    span->end = level_after(curve, to);
    span->peak_bytes = span->start.allocated_bytes;
    for (size_t i = from; i < to; i++) {
        int64_t value = ap_memory_after(curve->memory, curve->instants[i]);
        span->peak_bytes = value > span->peak_bytes ? value : span->peak_bytes;
    }
}

static void add_instant(const struct curve *curve, struct ap_memory_step *step, uint32_t instant)
{
    const struct ap_memory_event *event = &curve->memory->trace->memory_instants[instant];
    int64_t value = ap_memory_after(curve->memory, instant);
    step->floor_bytes = value < step->floor_bytes ? value : step->floor_bytes;
    if (value > step->peak_bytes) {
        step->peak_bytes = value;
        step->peak = instant;
    }
    if (event->out_of_memory)
        return;
    step->allocations += event->bytes > 0;
    step->frees += event->bytes < 0;
    if (event->bytes > 0)
        step->churn_bytes = ap_add_memory(step->churn_bytes, event->bytes);
    else
        step->freed_bytes = ap_add_memory(step->freed_bytes, -event->bytes);
}

/* What computes the loss ends forward. */
static void part_loss_from_forward(struct ap_memory_step *step)
{
    struct ap_memory_span *forward = &step->spans[AP_MEMORY_forward];
    const struct ap_memory_span *loss = &step->spans[AP_MEMORY_loss];
    if (forward->is_seen && loss->is_seen && loss->start_ns > forward->start_ns && loss->start_ns < forward->end_ns)
        forward->end_ns = loss->start_ns;
}

void ap_trace_memory_measure_steps(struct ap_trace_memory *memory)
{
    const struct ap_memory_device *device = &memory->devices[memory->main_device];
    const struct curve curve = { memory, device, memory->by_device + device->first, device->count };
    for (size_t i = 0; i < memory->step_count; i++) {
        struct ap_memory_step *step = &memory->steps[i];
        size_t from = instants_before(&curve, step->start_ns), to = instants_before(&curve, step->end_ns);
        step->start = level_after(&curve, from);
        step->end = level_after(&curve, to);
        step->floor_bytes = step->peak_bytes = step->start.allocated_bytes;
        step->peak = AP_NO_INSTANT;
        for (size_t k = from; k < to; k++)
            add_instant(&curve, step, curve.instants[k]);
        part_loss_from_forward(step);
        for (unsigned part = 0; part < AP_MEMORY_SPAN_COUNT_; part++)
            if (step->spans[part].is_seen)
                measure_span(&curve, &step->spans[part]);
    }
}
