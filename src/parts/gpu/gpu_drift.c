/* SPDX-License-Identifier: MIT
 * gpu_drift.c - whether the same kernels become slower from the first to the last third of the steady steps, as they do
 * where the clocks of a device fall. The same: by name, launch shape and the shapes of the operator that launched them. What
 * runs beside others of its device is slowed by these, and tells nothing. Nor does what has no shapes, nor attention, which
 * goes over as much of a cache as is filled; and where other kernels change their shapes, those that do not may be of sizes
 * that grow behind a grid that stays. */
#include <string.h>

#include "gpu_work.h"
#include "pair_map.h"

#include "poison.h"

#define THIRDS 3
#define LEAST_STEPS 6
#define LEAST_CALLS 2 /* in each third */
#define BESIDE 0.1    /* of its time; kernels that follow each other may overlap by as little */
#define SLOWER 1.05   /* on average, and the quickest calls likewise: what others on the device cost hits single calls */
#define ALIKE 0.9     /* of the calls of the last third, of a kernel and shape that the first third has */
#define STEADY 1.02   /* the middle third may be as much slower than the last one: else it was a moment */

struct same {
    int64_t ns[THIRDS], least_ns[THIRDS];
    uint32_t count[THIRDS];
    bool comparable; /* its shape is known, and tells how much it works */
};

struct drift {
    struct ap_gpu_work *work;
    struct ap_step_cursor step;
    uint8_t *third_of; /* by step; THIRDS = not steady */
    size_t steady_count;
    struct ap_pair_map shapes, kernels; /* launch and operator; name and shape */
    struct same *list;                  /* by number of the kernel */
    size_t capacity;
    int64_t last_ns; /* all computing kernels of the last third */
};

static double mean_ns(const struct same *same, int third)
{
    return (double)same->ns[third] / same->count[third];
}

static bool is_slower(const struct same *same)
{
    for (int i = 0; i < THIRDS; i++)
        if (same->count[i] < LEAST_CALLS || !same->comparable)
            return false;
    return mean_ns(same, 2) >= SLOWER * mean_ns(same, 0) &&
           (double)same->least_ns[2] >= SLOWER * (double)same->least_ns[0] && mean_ns(same, 1) <= STEADY * mean_ns(same, 2);
}

static enum ap_status number_steps(struct drift *drift, struct ap_error *reterr)
{
    const struct ap_steps *steps = drift->step.steps;
    size_t number = 0;
    for (size_t i = 0; i < steps->count; i++)
        drift->steady_count += ap_step_is_steady(&steps->steps[i]);
    AP_TRY(AP_ALLOC_CLEARED(drift->work->context->gate, drift->third_of, steps->count, reterr));
    for (size_t i = 0; i < steps->count; i++) {
        bool steady = ap_step_is_steady(&steps->steps[i]);
        drift->third_of[i] = steady ? (uint8_t)(number * THIRDS / drift->steady_count) : THIRDS;
        number += steady;
    }
    return AP_OK;
}

/* Of the step that launched it. */
static uint8_t third_of(struct drift *drift, struct ap_device_row link)
{
    const struct ap_trace *trace = drift->work->context->trace;
    int64_t at_ns = trace->events.start_ns[link.launch == AP_NO_ROW ? link.row : link.launch];
    size_t step = ap_step_cursor_at(&drift->step, at_ns);
    return step < drift->step.steps->count ? drift->third_of[step] : THIRDS;
}

static bool is_comparable(const struct drift *drift, uint32_t row, const struct ap_op_detail *op)
{
    const struct ap_part_context *context = drift->work->context;
    const struct ap_work_detail *work = ap_row_work(context->trace, row);
    const struct ap_kernel_families *families = &context->facts->families;
    unsigned subfamily = ap_kernel_subfamily_of(families, context->trace->events.name[row]);
    bool has_shape = (work && work->as.grid.blocks_per_sm >= 0) || (op && op->signature.id);
    return has_shape && ap_kernel_family_of(subfamily) != AP_KERNEL_FAMILY_attention;
}

static enum ap_status number_of(struct drift *drift, struct ap_device_row link, uint32_t *ret_number,
                                struct ap_error *reterr)
{
    const struct ap_trace *trace = drift->work->context->trace;
    const struct ap_work_detail *work = ap_row_work(trace, link.row);
    const struct ap_op_detail *op = link.op == AP_NO_ROW ? NULL : ap_row_op(trace, link.op);
    uint32_t blocks, shape;
    memcpy(&blocks, work ? &work->as.grid.blocks_per_sm : &(float){ -1 }, sizeof(blocks));
    AP_TRY(ap_pair_map_add(&drift->shapes, blocks, op ? op->signature.id : 0, &shape, reterr));
    uint32_t count = drift->kernels.count;
    AP_TRY(ap_pair_map_add(&drift->kernels, trace->events.name[link.row], shape, ret_number, reterr));
    AP_TRY(AP_RESERVE(drift->work->context->gate, drift->list, drift->capacity, drift->kernels.count, reterr));
    if (*ret_number == count)
        drift->list[count] = (struct same){ .least_ns = { INT64_MAX, INT64_MAX, INT64_MAX },
                                            .comparable = is_comparable(drift, link.row, op) };
    return AP_OK;
}

static enum ap_status take(struct drift *drift, struct ap_device_row link, uint8_t third, struct ap_error *reterr)
{
    int64_t dur_ns = drift->work->context->trace->events.dur_ns[link.row];
    uint32_t number;
    AP_TRY(number_of(drift, link, &number, reterr));
    struct same *same = &drift->list[number];
    same->ns[third] = ap_gpu_add_ns(drift->work, same->ns[third], dur_ns);
    same->least_ns[third] = dur_ns < same->least_ns[third] ? dur_ns : same->least_ns[third];
    same->count[third]++;
    return AP_OK;
}

/* From @before_ns on, when all work before it is done; the next row of the device may begin before its end. */
static bool is_alone(const struct drift *drift, size_t at, int64_t before_ns)
{
    const struct ap_trace *trace = drift->work->context->trace;
    const struct ap_links *links = &drift->work->context->facts->links;
    uint32_t row = links->row[at];
    int64_t start_ns = trace->events.start_ns[row], end_ns = ap_row_end_ns(trace, row);
    double most_ns = BESIDE * (double)(end_ns - start_ns);
    if ((double)before_ns - (double)start_ns > most_ns)
        return false;
    if (at + 1 == links->count || ap_row_device(trace, links->row[at + 1]) != ap_row_device(trace, row))
        return true;
    return (double)end_ns - (double)trace->events.start_ns[links->row[at + 1]] <= most_ns;
}

static enum ap_status take_all(struct drift *drift, struct ap_error *reterr)
{
    const struct ap_trace *trace = drift->work->context->trace;
    const struct ap_links *links = &drift->work->context->facts->links;
    int64_t before_ns = INT64_MIN;
    for (size_t i = 0; i < links->count; i++) {
        uint32_t row = links->row[i];
        if (i && ap_row_device(trace, row) != ap_row_device(trace, links->row[i - 1]))
            before_ns = INT64_MIN;
        uint8_t third =
            ap_gpu_part(drift->work, row) == AP_GPU_COMPUTE ? third_of(drift, ap_device_row_at(links, i)) : THIRDS;
        int64_t end_ns = ap_row_end_ns(trace, row);
        if (third == THIRDS - 1)
            drift->last_ns = ap_gpu_add_ns(drift->work, drift->last_ns, trace->events.dur_ns[row]);
        if (third < THIRDS && is_alone(drift, i, before_ns))
            AP_TRY(take(drift, ap_device_row_at(links, i), third, reterr));
        before_ns = end_ns > before_ns ? end_ns : before_ns;
    }
    return AP_OK;
}

static bool are_alike(const struct drift *drift)
{
    uint64_t count = 0, alike = 0;
    for (uint32_t i = 0; i < drift->kernels.count; i++) {
        count += drift->list[i].count[THIRDS - 1];
        alike += drift->list[i].count[0] ? drift->list[i].count[THIRDS - 1] : 0;
    }
    return (double)alike >= ALIKE * (double)count;
}

static void put(const struct drift *drift, struct ap_model *model, struct ap_value *to)
{
    double first_ns = 0, last_ns = 0, saves_ns = 0;
    int64_t kernels = 0;
    bool alike = are_alike(drift);
    for (uint32_t i = 0; i < drift->kernels.count && alike; i++) {
        const struct same *same = &drift->list[i];
        if (!is_slower(same))
            continue;
        kernels++;
        first_ns += mean_ns(same, 0) * same->count[2];
        last_ns += (double)same->ns[2];
        for (int third = 1; third < THIRDS; third++)
            saves_ns += (double)same->ns[third] - mean_ns(same, 0) * same->count[third];
    }
    bool known = drift->steady_count >= LEAST_STEPS;
    ap_add_count(model, to, "steps", (int64_t)drift->steady_count);
    ap_add_known_count(model, to, "kernels", known, kernels);
    ap_add_quotient(model, to, "slower_ratio", last_ns, known ? (double)drift->last_ns : 0);
    ap_add_quotient(model, to, "times", last_ns, first_ns);
    ap_add_known_time(model, to, "saves_us", known, saves_ns > 0 ? (int64_t)saves_ns : 0);
}

enum ap_status ap_gpu_add_drift(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                                struct ap_error *reterr)
{
    struct ap_gate *gate = work->context->gate;
    const struct ap_steps *steps = &work->context->facts->steps;
    struct drift drift = { .work = work, .step = { steps, 0 }, .shapes = { .gate = gate }, .kernels = { .gate = gate } };
    enum ap_status status = number_steps(&drift, reterr);
    if (status == AP_OK && drift.steady_count >= LEAST_STEPS)
        status = take_all(&drift, reterr);
    if (status == AP_OK)
        put(&drift, model, ap_add_object(model, gpu, "drift"));
    AP_FREE(gate, drift.third_of, steps->count);
    AP_FREE(gate, drift.list, drift.capacity);
    ap_pair_map_release(&drift.shapes);
    ap_pair_map_release(&drift.kernels);
    return status;
}
