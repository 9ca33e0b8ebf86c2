/* SPDX-License-Identifier: MIT
 * compute_lists.c - operators with their shapes, those first that lose most; kernels by name. */
#include "compute_part.h"
#include "pair_map.h"
#include "shape_text.h"
#include "sort.h"

#include "poison.h"

/* ---- operators ---- */

static bool group_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_compute_work *work = context;
    AP_LARGER_FIRST(ap_compute_roofline(work, a)->lost_ns, ap_compute_roofline(work, b)->lost_ns);
    AP_LARGER_FIRST(AP_COMPUTE_CALLS(&work->compute, a)->total_ns, AP_COMPUTE_CALLS(&work->compute, b)->total_ns);
    double a_flops = AP_COMPUTE_GROUP(&work->compute, a)->cost.flops,
           b_flops = AP_COMPUTE_GROUP(&work->compute, b)->cost.flops;
    AP_LARGER_FIRST(a_flops, b_flops);
    return a < b;
}

static const char *const reasons_above[AP_ABOVE_COUNT_] = {
    [AP_ABOVE_no] = NULL,
    [AP_ABOVE_fewer_multiplications] = "an algorithm with fewer multiplications (Winograd, FFT)",
    [AP_ABOVE_hidden_by_mask] = "a mask or window hides part of what was counted",
    [AP_ABOVE_fewer_experts] = "tokens met fewer experts than if they chose evenly",
    [AP_ABOVE_in_cache] = "small enough to stay in the cache",
    [AP_ABOVE_other_device] = "another device, or the kernel works on less than the shapes say",
};

void ap_compute_add_achieved(struct ap_model *model, struct ap_value *row, const struct ap_compute_group *group)
{
    double intensity = ap_compute_intensity(group), flops_s = ap_achieved_flops_s(group),
           bytes_s = ap_achieved_bytes_s(group);
    ap_add_known_number(model, row, "flops_per_byte", intensity >= 0, intensity);
    ap_add_known_number(model, row, "tflop_s", flops_s >= 0, flops_s / 1e12);
    ap_add_known_number(model, row, "gb_s", bytes_s >= 0, bytes_s / 1e9);
}

static void add_roofline(const struct ap_compute_work *work, const struct ap_compute_group *group,
                         const struct ap_roofline *roofline, struct ap_model *model, struct ap_value *row)
{
    struct ap_call_cost cost = ap_compute_cost(&work->compute, group);
    bool is_rated = roofline->bound_ns >= 0;
    double ratio = ap_roofline_ratio(roofline, group);
    ap_compute_add_flops(model, row, "flops", cost.flops);
    ap_compute_add_flops(model, row, "flops_least", cost.flops_most > 0 ? cost.flops_least : cost.flops);
    ap_compute_add_flops(model, row, "flops_most", cost.flops_most > 0 ? cost.flops_most : cost.flops);
    ap_add_known_bytes(model, row, "bytes", cost.bytes >= 0, ap_compute_ns(cost.bytes));
    ap_compute_add_achieved(model, row, group);
    ap_add_known_string(model, row, "bound", is_rated, roofline->is_memory_bound ? "memory" : "compute");
    ap_add_known_ratio(model, row, "roofline_ratio", ratio >= 0, ratio);
    ap_add_known_time(model, row, "good_us", is_rated, ap_compute_ns(roofline->good_ns));
    ap_add_known_time(model, row, "lost_us", is_rated, ap_compute_ns(roofline->lost_ns));
    ap_add_known_string(model, row, "cause", roofline->cause != AP_CAUSE_none,
                        roofline->cause == AP_CAUSE_none ? NULL : ap_compute_cause_name(roofline->cause));
    ap_add_known_string(model, row, "above_peak", roofline->above != AP_ABOVE_no, reasons_above[roofline->above]);
    struct ap_tile_fill fill = ap_compute_fill(work, group);
    ap_add_known_ratio(model, row, "tile_fill_ratio", fill.tile_ratio >= 0, fill.tile_ratio);
    ap_add_known_ratio(model, row, "wave_fill_ratio", fill.wave_ratio >= 0, fill.wave_ratio);
}

static void add_group(const struct ap_compute_work *work, uint32_t index, struct ap_model *model, struct ap_value *list)
{
    const struct ap_compute_group *group = AP_COMPUTE_GROUP(&work->compute, index);
    const struct ap_trace *trace = work->context->trace;
    struct ap_text dims, types;
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_trace_signature(trace, (struct ap_str){ group->signature }, &dims, &types);
    ap_add_text(model, row, "operator", ap_trace_text(trace, group->name));
    ap_add_shape_text(model, row, "dims", dims);
    ap_add_shape_text(model, row, "types", types);
    ap_add_string(model, row, "kind", ap_work_kind_name(group->cost.kind));
    ap_add_string(model, row, "type", ap_element_name(group->cost.element));
    ap_add_count(model, row, "count", group->count);
    ap_add_count(model, row, "timed_count", group->timed_count);
    ap_add_count(model, row, "kernels", group->kernel_count);
    ap_add_time(model, row, "total_dur_us", group->total_ns);
    ap_add_known_time(model, row, "median_us", group->timed_count, group->median_ns);
    ap_add_count(model, row, "cold_count", group->cold_count);
    ap_add_time(model, row, "cold_us", group->cold_ns);
    add_roofline(work, group, ap_compute_roofline(work, index), model, row);
    ap_add_name(trace, model, row, "kernel", group->kernel);
    ap_add_place(trace, group->longest_row, model, ap_add_object(model, row, "longest"));
}

static enum ap_status add_operators(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to,
                                    struct ap_error *reterr)
{
    struct ap_value *list = ap_add_list(model, to, "operators");
    uint32_t *top;
    size_t count;
    AP_TRY(ap_top_indices(work->context->gate, work->compute.group_count, work->context->options->top_n, group_before, work,
                          &top, &count, reterr));
    for (size_t i = 0; i < count; i++) /* what neither took time nor computes comes last, and tells nothing */
        if (AP_COMPUTE_CALLS(&work->compute, top[i])->timed_count ||
            AP_COMPUTE_GROUP(&work->compute, top[i])->cost.flops > 0)
            add_group(work, top[i], model, list);
    AP_FREE(work->context->gate, top, count);
    return AP_OK;
}

/* ---- kernels ---- */

struct kernels {
    const struct ap_compute_work *work;
    struct ap_pair_map numbers; /* (name, kind) */
    struct ap_compute_sum *sums;
    size_t capacity;
};

static bool kernel_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_compute_sum *sums = context;
    AP_LARGER_FIRST(sums[a].total_ns, sums[b].total_ns);
    return a < b;
}

static enum ap_status sum_kernels(struct kernels *kernels, struct ap_error *reterr)
{
    const struct ap_compute_work *work = kernels->work;
    for (uint32_t group = 0; group < work->compute.group_count; group++) {
        uint32_t number, before = kernels->numbers.count;
        if (!AP_COMPUTE_CALLS(&work->compute, group)->kernel)
            continue;
        AP_TRY(ap_pair_map_add(&kernels->numbers, AP_COMPUTE_CALLS(&work->compute, group)->kernel,
                               ap_compute_kind(&work->compute, group), &number, reterr));
        AP_TRY(AP_RESERVE(work->context->gate, kernels->sums, kernels->capacity, (size_t)number + 1, reterr));
        if (number == before)
            kernels->sums[number] = (struct ap_compute_sum){ .worst = group };
        ap_compute_sum_add(work, &kernels->sums[number], group);
    }
    return AP_OK;
}

static void add_kernel(const struct kernels *kernels, uint32_t number, struct ap_model *model, struct ap_value *list)
{
    const struct ap_compute_sum *sum = &kernels->sums[number];
    const struct ap_compute_group *worst = AP_COMPUTE_GROUP(&kernels->work->compute, sum->worst);
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_text(model, row, "name", ap_trace_text(kernels->work->context->trace, worst->kernel));
    ap_add_string(model, row, "kind", ap_work_kind_name(worst->cost.kind));
    ap_add_count(model, row, "count", (int64_t)sum->count);
    ap_add_time(model, row, "total_dur_us", sum->total_ns);
    ap_compute_add_flops(model, row, "flops", sum->flops);
    ap_add_bytes(model, row, "bytes", ap_compute_ns(sum->bytes));
    ap_add_number_per(model, row, "flops_per_byte", sum->flops, sum->bytes);
    ap_compute_add_rates(sum, model, row);
    ap_add_known_time(model, row, "lost_us", sum->rated_ns > 0, ap_compute_ns(sum->lost_ns));
}

static enum ap_status add_kernels(struct kernels *kernels, struct ap_model *model, struct ap_value *to,
                                  struct ap_error *reterr)
{
    struct ap_gate *gate = kernels->work->context->gate;
    struct ap_value *list = ap_add_list(model, to, "kernels");
    uint32_t *top;
    size_t count;
    AP_TRY(sum_kernels(kernels, reterr));
    AP_TRY(ap_top_indices(gate, kernels->numbers.count, kernels->work->context->options->top_n, kernel_before, kernels->sums,
                          &top, &count, reterr));
    for (size_t i = 0; i < count; i++)
        add_kernel(kernels, top[i], model, list);
    AP_FREE(gate, top, count);
    return AP_OK;
}

enum ap_status ap_compute_add_lists(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to,
                                    struct ap_error *reterr)
{
    struct kernels kernels = { .work = work, .numbers = { .gate = work->context->gate } };
    AP_TRY(add_operators(work, model, to, reterr));
    enum ap_status status = add_kernels(&kernels, model, to, reterr);
    AP_FREE(work->context->gate, kernels.sums, kernels.capacity);
    ap_pair_map_release(&kernels.numbers);
    return status;
}
