/* SPDX-License-Identifier: MIT
 * report_memory_steps.c - the phase table, the steps, what rises at the boundaries, and what grows from step to step. */
#include <math.h>

#include "quantile.h"
#include "trace_memory.h"

#include "poison.h"

/* Fewer steps tell of no growth: the first ones warm up. */
#define GROWTH_STEPS 4

static const char *const part_names[] = { "data on the device", "forward",   "loss",          "backward",
                                          "optimizer",          "zero_grad", "communication", "other" };
_Static_assert(AP_COUNT_OF(part_names) == AP_MEMORY_PART_COUNT_, "one name for each");

const char *ap_memory_part_name(const struct ap_part_context *context, enum ap_memory_part part)
{
    return part == AP_MEMORY_forward && !context->facts->phases.has_backward ? "inference" : part_names[part];
}

/* ----------------------------------------------------------------------------------------------------------- means */

/* Of sizes, which may be negative. */
struct mean {
    int64_t sum;
    uint64_t count;
    bool unknown; /* one of them is */
};

static void mean_add(struct mean *mean, int64_t bytes)
{
    bool overflowed = false;
    mean->sum = ap_add_sat(mean->sum, bytes, &overflowed);
    mean->unknown |= overflowed;
    mean->count++;
}

static void mean_write(const struct mean *mean, const char *key, struct ap_model *model, struct ap_value *to)
{
    ap_add_known_bytes(model, to, key, mean->count && !mean->unknown, ap_mean(mean->sum, mean->count));
}

struct level_mean {
    struct mean allocated, reserved;
};

static void level_add(struct level_mean *mean, struct ap_memory_level level)
{
    mean_add(&mean->allocated, level.allocated_bytes);
    mean_add(&mean->reserved, level.reserved_bytes);
    mean->reserved.unknown |= level.reserved_bytes < 0;
}

/* ---------------------------------------------------------------------------------------------------- phase table */

struct phase_row {
    struct level_mean start, end;
    struct mean delta, peak;
    uint64_t allocations, frees;
    int64_t allocated_bytes, freed_bytes; /* of all instants, steps or not */
};

static void sum_instants(const struct ap_trace_memory *memory, struct phase_row *rows)
{
    for (uint32_t i = 0; i < memory->count; i++) {
        const struct ap_memory_event *event = &memory->trace->memory_instants[i];
        struct phase_row *row = &rows[memory->part_of[i]];
        if (event->out_of_memory || memory->device_of[i] != memory->main_device)
            continue;
        row->allocations += event->bytes > 0;
        row->frees += event->bytes < 0;
        if (event->bytes > 0)
            row->allocated_bytes = ap_add_memory(row->allocated_bytes, event->bytes);
        else
            row->freed_bytes = ap_add_memory(row->freed_bytes, -event->bytes);
    }
}

static void sum_spans(const struct ap_trace_memory *memory, struct phase_row *rows, struct level_mean *start)
{
    for (size_t i = 0; i < memory->step_count; i++) {
        const struct ap_memory_step *step = &memory->steps[i];
        if (!memory->steps[i].counts)
            continue;
        level_add(start, step->start);
        for (unsigned part = 0; part < AP_MEMORY_SPAN_COUNT_; part++) {
            const struct ap_memory_span *span = &step->spans[part];
            if (!span->is_seen)
                continue;
            level_add(&rows[part].start, span->start);
            level_add(&rows[part].end, span->end);
            mean_add(&rows[part].delta, span->end.allocated_bytes - span->start.allocated_bytes);
            mean_add(&rows[part].peak, span->peak_bytes);
        }
    }
}

static void add_phase_row(const struct phase_row *row, const char *name, struct ap_model *model, struct ap_value *list)
{
    struct ap_value *item = ap_add_object(model, list, NULL);
    ap_add_string(model, item, "phase", name);
    ap_add_count(model, item, "steps", (int64_t)row->start.allocated.count);
    mean_write(&row->start.allocated, "at_start_allocated_bytes", model, item);
    mean_write(&row->start.reserved, "at_start_reserved_bytes", model, item);
    mean_write(&row->end.allocated, "at_end_allocated_bytes", model, item);
    mean_write(&row->end.reserved, "at_end_reserved_bytes", model, item);
    mean_write(&row->delta, "delta_bytes", model, item);
    mean_write(&row->peak, "peak_bytes", model, item);
    ap_add_count(model, item, "allocations", (int64_t)row->allocations);
    ap_add_count(model, item, "frees", (int64_t)row->frees);
    ap_add_bytes(model, item, "allocated_bytes", row->allocated_bytes);
    ap_add_bytes(model, item, "freed_bytes", row->freed_bytes);
    ap_add_bytes(model, item, "net_bytes", row->allocated_bytes - row->freed_bytes);
}

static void add_start_row(const struct level_mean *start, struct ap_model *model, struct ap_value *list)
{
    struct phase_row row = { .start = *start, .end = *start };
    add_phase_row(&row, "start", model, list);
}

static void add_phases(const struct ap_trace_memory *memory, const struct ap_part_context *context, struct ap_model *model,
                       struct ap_value *to)
{
    struct phase_row rows[AP_MEMORY_PART_COUNT_] = { { .allocations = 0 } };
    struct level_mean start = { .allocated = { .sum = 0 } };
    struct ap_value *list = ap_add_list(model, to, "phases");
    sum_instants(memory, rows);
    sum_spans(memory, rows, &start);
    add_start_row(&start, model, list);
    for (unsigned part = 0; part < AP_MEMORY_PART_COUNT_; part++)
        if (rows[part].start.allocated.count || rows[part].allocations || rows[part].frees)
            add_phase_row(&rows[part], ap_memory_part_name(context, (enum ap_memory_part)part), model, list);
}

/* ----------------------------------------------------------------------------------------------------------- jumps */

struct jump {
    bool is_known;
    int64_t bytes;
    int64_t at_ns;
    size_t step;
};

/* Forward and loss, in the mean of the steps that count; only where backward follows and needs what was kept. */
static struct mean find_activations(const struct ap_trace_memory *memory)
{
    struct mean mean = { .sum = 0 };
    for (size_t i = 0; i < memory->step_count; i++) {
        const struct ap_memory_span *spans = memory->steps[i].spans;
        const struct ap_memory_span *forward = &spans[AP_MEMORY_forward], *backward = &spans[AP_MEMORY_backward];
        if (memory->steps[i].counts && forward->is_seen && backward->is_seen && backward->start_ns > forward->start_ns)
            mean_add(&mean, backward->start.allocated_bytes - forward->start.allocated_bytes);
    }
    return mean;
}

/* What the first backward leaves behind over what was held when its forward began. */
static struct jump find_gradients(const struct ap_trace_memory *memory)
{
    for (size_t i = 0; i < memory->step_count; i++) {
        const struct ap_memory_span *spans = memory->steps[i].spans;
        const struct ap_memory_span *forward = &spans[AP_MEMORY_forward], *backward = &spans[AP_MEMORY_backward];
        if (forward->is_seen && backward->is_seen && backward->start_ns > forward->start_ns)
            return (struct jump){ true, backward->end.allocated_bytes - forward->start.allocated_bytes, backward->start_ns,
                                  i };
    }
    return (struct jump){ .is_known = false };
}

static struct jump find_optimizer_state(const struct ap_trace_memory *memory)
{
    for (size_t i = 0; i < memory->step_count; i++) {
        const struct ap_memory_span *optimizer = &memory->steps[i].spans[AP_MEMORY_optimizer];
        if (optimizer->is_seen)
            return (struct jump){ true, optimizer->end.allocated_bytes - optimizer->start.allocated_bytes,
                                  optimizer->start_ns, i };
    }
    return (struct jump){ .is_known = false };
}

static void add_jump(const struct ap_part_context *context, const char *of, const struct jump *jump, const char *evidence,
                     struct ap_model *model, struct ap_value *list)
{
    if (!jump->is_known)
        return;
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_string(model, row, "of", of);
    ap_add_bytes(model, row, "bytes", jump->bytes);
    ap_add_known_count(model, row, "step", context->facts->steps.count, (int64_t)jump->step);
    ap_add_time(model, row, "at_us", jump->at_ns);
    ap_add_string(model, row, "evidence", evidence);
}

static void add_jumps(const struct ap_trace_memory *memory, const struct ap_part_context *context, struct ap_model *model,
                      struct ap_value *to)
{
    struct jump gradients = find_gradients(memory), optimizer = find_optimizer_state(memory);
    struct mean activations = find_activations(memory);
    struct ap_value *jumps = ap_add_list(model, to, "jumps");
    if (activations.count && !activations.unknown) {
        struct ap_value *row = ap_add_object(model, jumps, NULL);
        ap_add_string(model, row, "of", "activations");
        mean_write(&activations, "bytes", model, row);
        ap_add_null(model, row, "step");
        ap_add_null(model, row, "at_us");
        ap_add_string(model, row, "evidence",
                      "rise from the start of forward to the start of backward, mean of the steps that count");
    }
    add_jump(context, "gradients", &gradients,
             "what is left after the first recorded backward over the start of its forward; near 0 where gradients were "
             "there before the recording",
             model, jumps);
    add_jump(context, "optimizer state", &optimizer,
             "rise over the first recorded optimizer step; near 0 where it is not the run's first", model, jumps);
}

static void add_jump_figure(const char *key, const struct jump *jump, struct ap_model *model, struct ap_value *to)
{
    ap_add_known_bytes(model, to, key, jump->is_known, jump->bytes);
}

/* ---------------------------------------------------------------------------------------------------------- growth */

struct growth {
    uint64_t steady; /* steady steps */
    uint64_t steps;  /* that it is taken from */
    double slope;    /* bytes per step, least squares */
    bool rises_always, levels_off;
};

/* Steady steps; where they are too few, for their times vary, all whole ones behind the first, whose memory may still
 * settle. */
static bool is_for_growth(const struct ap_part_context *context, size_t step, size_t steady)
{
    const struct ap_step *of = &context->facts->steps.steps[step];
    return steady >= GROWTH_STEPS ? ap_step_is_steady(of) : step > 0 && !of->cut;
}

/* Of the least that each of those steps holds. Fewer than GROWTH_STEPS: steps only. */
static struct growth find_growth(const struct ap_trace_memory *memory, const struct ap_part_context *context)
{
    struct growth growth = { .rises_always = true };
    double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
    int64_t first = 0, middle = 0, last = 0;
    size_t step_count = context->facts->steps.count ? memory->step_count : 0, steady = 0, counted = 0;
    for (size_t i = 0; i < step_count; i++)
        steady += ap_step_is_steady(&context->facts->steps.steps[i]);
    for (size_t i = 0; i < step_count; i++)
        counted += is_for_growth(context, i, steady);
    for (size_t i = 0; i < step_count; i++) {
        if (!is_for_growth(context, i, steady))
            continue;
        int64_t floor_bytes = memory->steps[i].floor_bytes;
        if (!growth.steps)
            first = floor_bytes;
        else
            growth.rises_always &= floor_bytes > last;
        last = floor_bytes;
        if (growth.steps == (counted - 1) / 2)
            middle = floor_bytes;
        double x = (double)growth.steps, y = (double)(floor_bytes - first);
        sum_x += x, sum_y += y, sum_xx += x * x, sum_xy += x * y;
        growth.steps++;
    }
    growth.steady = steady;
    double n = (double)growth.steps, spread = n * sum_xx - sum_x * sum_x;
    growth.slope = spread > 0 ? (n * sum_xy - sum_x * sum_y) / spread : 0;
    growth.levels_off = (double)(last - middle) * 2 < (double)(middle - first);
    return growth;
}

static int64_t bytes_of(double bytes)
{
    const double limit = 9e18;
    return (int64_t)floor((bytes > limit ? limit : bytes < -limit ? -limit : bytes) + 0.5);
}

/* @step_count: recorded steps, steady or not: what grows does so in each. */
static void add_growth(const struct growth *growth, size_t step_count, struct ap_model *model, struct ap_value *to)
{
    if (growth->steps < GROWTH_STEPS) {
        ap_add_null(model, to, "growth_bytes_per_step");
        ap_add_null(model, to, "growth_bytes");
        ap_add_null(model, to, "leak_suspected");
        return;
    }
    ap_add_bytes(model, to, "growth_bytes_per_step", bytes_of(growth->slope));
    ap_add_bytes(model, to, "growth_bytes", bytes_of(growth->slope * (double)step_count));
    ap_add_bool(model, to, "leak_suspected", growth->rises_always && !growth->levels_off);
}

/* ----------------------------------------------------------------------------------------------------------- steps */

struct step_means {
    struct mean churn, peak;
    uint64_t allocations, count;
};

static struct step_means find_step_means(const struct ap_trace_memory *memory, const struct ap_part_context *context)
{
    struct step_means means = { .count = 0 };
    for (size_t i = 0; i < memory->step_count && context->facts->steps.count; i++) {
        if (!memory->steps[i].counts)
            continue;
        mean_add(&means.churn, memory->steps[i].churn_bytes);
        mean_add(&means.peak, memory->steps[i].peak_bytes);
        means.allocations += memory->steps[i].allocations;
        means.count++;
    }
    return means;
}

static void add_step_means(const struct step_means *means, struct ap_model *model, struct ap_value *to)
{
    mean_write(&means->churn, "churn_bytes_per_step", model, to);
    ap_add_number_per(model, to, "allocations_per_step", (double)means->allocations, (double)means->count);
}

void ap_trace_memory_add_step_figures(const struct ap_trace_memory *memory, const struct ap_part_context *context,
                                      struct ap_model *model, struct ap_value *to)
{
    struct step_means means = find_step_means(memory, context);
    struct growth growth = find_growth(memory, context);
    struct mean activations = find_activations(memory);
    struct jump gradients = find_gradients(memory), optimizer = find_optimizer_state(memory);
    add_step_means(&means, model, to);
    add_growth(&growth, memory->step_count, model, to);
    mean_write(&activations, "activations_bytes", model, to);
    add_jump_figure("gradients_bytes", &gradients, model, to);
    add_jump_figure("optimizer_state_bytes", &optimizer, model, to);
}

static void add_step(const struct ap_trace_memory *memory, const struct ap_part_context *context, size_t index,
                     struct ap_model *model, struct ap_value *list)
{
    const struct ap_memory_step *step = &memory->steps[index];
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_count(model, row, "step", (int64_t)index);
    ap_add_bool(model, row, "steady", ap_step_is_steady(&context->facts->steps.steps[index]));
    ap_add_bytes(model, row, "start_allocated_bytes", step->start.allocated_bytes);
    ap_add_bytes(model, row, "end_allocated_bytes", step->end.allocated_bytes);
    ap_add_bytes(model, row, "least_allocated_bytes", step->floor_bytes);
    ap_add_bytes(model, row, "peak_allocated_bytes", step->peak_bytes);
    ap_add_time(model, row, "peak_at_us",
                step->peak == AP_NO_INSTANT ? step->start_ns : memory->trace->memory_instants[step->peak].start_ns);
    if (step->peak == AP_NO_INSTANT)
        ap_add_null(model, row, "peak_phase");
    else
        ap_add_string(model, row, "peak_phase",
                      ap_memory_part_name(context, (enum ap_memory_part)memory->part_of[step->peak]));
    ap_add_count(model, row, "allocations", (int64_t)step->allocations);
    ap_add_count(model, row, "frees", (int64_t)step->frees);
    ap_add_bytes(model, row, "churn_bytes", step->churn_bytes);
    ap_add_bytes(model, row, "freed_bytes", step->freed_bytes);
    ap_add_bytes(model, row, "net_bytes", step->churn_bytes - step->freed_bytes);
    ap_add_place(memory->trace, context->facts->steps.steps[index].row, model, row);
}

static void add_steps(const struct ap_trace_memory *memory, const struct ap_part_context *context, struct ap_model *model,
                      struct ap_value *to)
{
    if (!context->facts->steps.count) {
        ap_add_null(model, to, "per_step");
        return;
    }
    struct step_means means = find_step_means(memory, context);
    struct growth growth = find_growth(memory, context);
    struct ap_value *per_step = ap_add_object(model, to, "per_step");
    ap_add_count(model, per_step, "steps", (int64_t)memory->step_count);
    ap_add_count(model, per_step, "steady_steps", (int64_t)growth.steady);
    add_step_means(&means, model, per_step);
    mean_write(&means.peak, "mean_peak_bytes", model, per_step);
    add_growth(&growth, memory->step_count, model, per_step);
    struct ap_value *items = ap_add_list(model, per_step, "items");
    for (size_t i = 0; i < memory->step_count && (!context->options->top_n || i < context->options->top_n); i++)
        add_step(memory, context, i, model, items);
}

void ap_trace_memory_add_steps(const struct ap_trace_memory *memory, const struct ap_part_context *context,
                               struct ap_model *model, struct ap_value *to)
{
    add_phases(memory, context, model, to);
    add_jumps(memory, context, model, to);
    add_steps(memory, context, model, to);
}
