/* SPDX-License-Identifier: MIT
 * compute_sums.c - the device, and sums by kind of work and by cause. */
#include <math.h>
#include <string.h>

#include "compute_part.h"
#include "pair_map.h"

#include "poison.h"

#define FLOPS_MAX 9e18

void ap_compute_add_flops(struct ap_model *model, struct ap_value *row, const char *key, double flops)
{
    ap_add_known_count(model, row, key, flops >= 0, (int64_t)fmin(fmax(flops, 0), FLOPS_MAX));
}

int64_t ap_compute_ns(double ns)
{
    return ns > 0 ? (int64_t)fmin(ns, FLOPS_MAX) : 0;
}

void ap_compute_sum_add(const struct ap_compute_work *work, struct ap_compute_sum *sum, uint32_t index)
{
    if (!AP_COMPUTE_CALLS(&work->compute, index)->timed_count)
        return;
    const struct ap_compute_group *group = AP_COMPUTE_GROUP(&work->compute, index);
    const struct ap_roofline *roofline = ap_compute_roofline(work, index);
    double calls = (double)group->timed_count;
    if (!sum->count || roofline->lost_ns > ap_compute_roofline(work, sum->worst)->lost_ns)
        sum->worst = index;
    sum->count += group->timed_count;
    sum->total_ns = ap_add_sat(sum->total_ns, group->total_ns, &work->context->overflowed);
    sum->flops += group->cost.flops > 0 ? group->cost.flops * calls : 0;
    sum->bytes += group->cost.bytes > 0 ? group->cost.bytes * calls : 0;
    sum->has_flops |= group->cost.flops >= 0;
    sum->has_bytes |= group->cost.bytes >= 0;
    if (roofline->bound_ns < 0)
        return;
    sum->rated_ns = ap_add_sat(sum->rated_ns, group->total_ns, &work->context->overflowed);
    sum->bound_ns += roofline->bound_ns * calls;
    sum->lost_ns += roofline->lost_ns;
}

void ap_compute_add_rates(const struct ap_compute_sum *sum, struct ap_model *model, struct ap_value *row)
{
    ap_add_number_per(model, row, "tflop_s", sum->flops / 1e3, sum->has_flops ? (double)sum->total_ns : 0);
    ap_add_number_per(model, row, "gb_s", sum->bytes, sum->has_bytes ? (double)sum->total_ns : 0);
    ap_add_quotient(model, row, "roofline_ratio", sum->bound_ns, (double)sum->rated_ns);
}

double ap_compute_ratio_on(const struct ap_compute_work *work, const struct ap_gpu_peak *peak)
{
    struct ap_device_peak device = { .peak = *peak, .source = AP_PEAK_by_name };
    double bound_ns = 0, rated_ns = 0;
    for (uint32_t index = 0; index < work->compute.group_count; index++) {
        const struct ap_compute_group *group = AP_COMPUTE_GROUP(&work->compute, index);
        struct ap_roofline roofline;
        if (ap_compute_roofline(work, index)->bound_ns < 0 || !group->timed_count)
            continue;
        ap_roofline_of(&work->compute, group, work->context->facts, &device, &roofline);
        if (roofline.bound_ns < 0)
            return -1;
        bound_ns += roofline.bound_ns * (double)group->timed_count;
        rated_ns += (double)group->total_ns;
    }
    return rated_ns > 0 && bound_ns <= rated_ns * AP_ABOVE_PEAK ? bound_ns / rated_ns : -1;
}

/* ---- device ---- */

static const char *const confidences[AP_PEAK_SOURCE_COUNT_] = {
    [AP_PEAK_by_name] = "high",      [AP_PEAK_by_table] = "high", [AP_PEAK_by_properties] = "medium",
    [AP_PEAK_by_kernels] = "medium", [AP_PEAK_by_make] = "low",   [AP_PEAK_assumed] = "low",
};

static const char *const sources[AP_PEAK_SOURCE_COUNT_] = {
    [AP_PEAK_by_name] = "name",
    [AP_PEAK_by_table] = "table",
    [AP_PEAK_by_properties] = "properties",
    [AP_PEAK_by_kernels] = "kernel names",
    [AP_PEAK_by_make] = "make",
    [AP_PEAK_assumed] = "nothing",
};

static void add_elsewhere(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *row)
{
    static const char *const keys[AP_USUAL_DEVICES] = { "on_a100_ratio", "on_h100_ratio", "on_mi300x_ratio" };
    bool is_stand_in = work->device.source >= AP_PEAK_by_make;
    ap_add_known_number(model, row, "stand_in_gb_s", is_stand_in, work->device.peak.gb_s);
    for (int i = 0; i < AP_USUAL_DEVICES; i++)
        ap_add_known_ratio(model, row, keys[i], work->elsewhere[i] >= 0, work->elsewhere[i]);
}

/* 0 = not known. */
static double doubles_ratio(const struct ap_device_peak *device)
{
    const double *rates = device->peak.tflop_s;
    return rates[AP_PEAK_fp32] > 0 ? rates[AP_PEAK_fp64] / rates[AP_PEAK_fp32] : 0;
}

/* A row may have several names for one device. */
static struct ap_text first_name(struct ap_text names)
{
    const char *comma = memchr(names.data, ',', names.bytes);
    return (struct ap_text){ names.data, comma ? (size_t)(comma - names.data) : names.bytes };
}

void ap_compute_add_device(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    const struct ap_device_peak *device = &work->device;
    if (!work->has_device || work->compute.is_host) {
        ap_add_null(model, to, "device");
        return;
    }
    struct ap_value *row = ap_add_object(model, to, "device");
    ap_add_name(work->context->trace, model, row, "name", device->name.id);
    ap_add_text(model, row, "judged_as", first_name(device->peak.device));
    ap_add_string(model, row, "told_by", sources[device->source]);
    ap_add_bool(model, row, "estimated", device->source > AP_PEAK_by_table);
    ap_add_string(model, row, "confidence", confidences[device->source]);
    ap_add_bool(model, row, "mixed", device->is_mixed);
    ap_add_known_number(model, row, "gb_s", device->peak.gb_s > 0, device->peak.gb_s);
    ap_add_ratio(model, row, "good_matmul_ratio", device->peak.matmul_ratio);
    ap_add_known_ratio(model, row, "doubles_ratio", device->source <= AP_PEAK_by_properties && doubles_ratio(device) > 0,
                       doubles_ratio(device));
    add_elsewhere(work, model, row);
    struct ap_value *list = ap_add_list(model, row, "rates");
    for (int type = 0; type < AP_PEAK_TYPE_COUNT_; type++) {
        if (device->peak.tflop_s[type] <= 0)
            continue;
        struct ap_value *rate = ap_add_object(model, list, NULL);
        ap_add_string(model, rate, "type", ap_peak_type_name((enum ap_peak_type)type));
        ap_add_number(model, rate, "tflop_s", device->peak.tflop_s[type]);
    }
}

/* ---- kinds and causes ---- */

static void add_sum(const struct ap_compute_work *work, const struct ap_compute_sum *sum, struct ap_model *model,
                    struct ap_value *row)
{
    double kernel_ns = work->compute.is_host ? 0 : (double)work->compute.kernel_ns;
    ap_add_count(model, row, "count", (int64_t)sum->count);
    ap_add_time(model, row, "total_dur_us", sum->total_ns);
    ap_add_quotient(model, row, "kernel_ratio", (double)sum->total_ns, kernel_ns);
    ap_compute_add_rates(sum, model, row);
    ap_add_known_time(model, row, "lost_us", sum->rated_ns > 0 || !sum->count, ap_compute_ns(sum->lost_ns));
    ap_add_known_ratio(model, row, "lost_ratio", kernel_ns > 0 && (sum->rated_ns > 0 || !sum->count),
                       kernel_ns > 0 ? sum->lost_ns / kernel_ns : 0);
}

static void add_kinds(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    struct ap_compute_sum sums[AP_WORK_KIND_COUNT_] = { { .count = 0 } };
    double bound_ns = 0, rated_ns = 0, lost_ns = 0, kernel_ns = work->compute.is_host ? 0 : (double)work->compute.kernel_ns;
    bool rated = false;
    struct ap_value *list = ap_add_list(model, to, "kinds");
    for (uint32_t group = 0; group < work->compute.group_count; group++)
        ap_compute_sum_add(work, &sums[ap_compute_kind(&work->compute, group)], group);
    for (int kind = 0; kind < AP_WORK_KIND_COUNT_; kind++) {
        if (!sums[kind].count)
            continue;
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_string(model, row, "kind", ap_work_kind_name((enum ap_work_kind)kind));
        add_sum(work, &sums[kind], model, row);
        lost_ns += sums[kind].lost_ns;
        bound_ns += sums[kind].bound_ns;
        rated_ns += (double)sums[kind].rated_ns;
        rated |= sums[kind].rated_ns > 0 && work->device.source <= AP_PEAK_by_kernels;
    }
    ap_add_quotient(model, to, "roofline_ratio", bound_ns, rated_ns);
    ap_add_known_ratio(model, to, "lost_ratio", rated && kernel_ns > 0, kernel_ns > 0 ? lost_ns / kernel_ns : 0);
}

void ap_compute_add_worst(const struct ap_compute_work *work, const struct ap_compute_sum *sum, struct ap_model *model,
                          struct ap_value *row)
{
    if (!sum->count) {
        ap_add_null(model, row, "longest");
        return;
    }
    ap_add_place(work->context->trace, AP_COMPUTE_CALLS(&work->compute, sum->worst)->longest_row, model,
                 ap_add_object(model, row, "longest"));
}

static void add_causes(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    struct ap_compute_sum sums[AP_CAUSE_COUNT_] = { { .count = 0 } };
    struct ap_value *causes = ap_add_object(model, to, "causes");
    for (uint32_t group = 0; group < work->compute.group_count; group++)
        if (ap_compute_roofline(work, group)->cause != AP_CAUSE_none)
            ap_compute_sum_add(work, &sums[ap_compute_roofline(work, group)->cause], group);
    for (int cause = 0; cause < AP_CAUSE_COUNT_; cause++) {
        struct ap_value *row = ap_add_object(model, causes, ap_compute_cause_name((enum ap_compute_cause)cause));
        add_sum(work, &sums[cause], model, row);
        ap_compute_add_worst(work, &sums[cause], model, row);
    }
}

/* More than the device can do: told, and never cut to what it can. */
static void add_above(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    struct ap_compute_sum sum = { .count = 0 };
    for (uint32_t group = 0; group < work->compute.group_count; group++)
        if (ap_compute_roofline(work, group)->above != AP_ABOVE_no)
            ap_compute_sum_add(work, &sum, group);
    struct ap_value *row = ap_add_object(model, to, "above_peak");
    ap_add_count(model, row, "count", (int64_t)sum.count);
    ap_add_time(model, row, "total_dur_us", sum.total_ns);
    ap_add_quotient(model, row, "roofline_ratio", sum.bound_ns, (double)sum.rated_ns);
}

/* ---- types ---- */

/* 64-bit floats are what a call works in where one of its tensors is of them. */
static bool is_of_type(const struct ap_compute_work *work, uint32_t index, enum ap_element element)
{
    enum ap_element own = ap_compute_element(&work->compute, index);
    if (element == AP_ELEMENT_fp64)
        return own == AP_ELEMENT_fp64 || ap_compute_is(&work->compute, index, AP_COST_meets_doubles);
    return own == element && ap_work_kind_multiplies(ap_compute_kind(&work->compute, index));
}

static bool is_conversion(const struct ap_compute_work *work, uint32_t index)
{
    return ap_compute_kind(&work->compute, index) == AP_WORK_copy &&
           ap_compute_is(&work->compute, index, AP_COST_meets_doubles);
}

/* What is left of a call on 64-bit floats in 32 bits: half, which is the traffic, nothing of a copy that only converts, and
 * of a product that arithmetic limits what the device is slower at it. */
static double left_of_doubles(const struct ap_compute_work *work, uint32_t index)
{
    const struct ap_roofline *roofline = ap_compute_roofline(work, index);
    double slower = work->has_device ? doubles_ratio(&work->device) : 0;
    if (is_conversion(work, index))
        return 0;
    bool is_limited = ap_work_kind_multiplies(ap_compute_kind(&work->compute, index)) && roofline->bound_ns > 0 &&
                      !roofline->is_memory_bound && slower > 0;
    return is_limited ? fmin(slower, 0.5) : 0.5;
}

static double saved_by_fewer_bits_ns(const struct ap_compute_work *work, uint32_t index)
{
    if (is_of_type(work, index, AP_ELEMENT_fp64))
        return (double)AP_COMPUTE_CALLS(&work->compute, index)->total_ns * (1 - left_of_doubles(work, index));
    return work->has_device ? ap_roofline_saved_by_16_bits_ns(AP_COMPUTE_GROUP(&work->compute, index),
                                                              ap_compute_roofline(work, index), &work->device)
                            : 0;
}

/* At most: of matrix kernels that no shape tells all, of others what 16 bits would save, of traffic half. Where a
 * tile stays mostly empty, half of the time that memory alone would take. */
static double bound_of_16_bits_ns(const struct ap_compute_work *work)
{
    const struct ap_compute *compute = &work->compute;
    double sum_ns = fmax(0, (double)(work->matrix_ns - compute->product_ns));
    for (uint32_t index = 0; index < compute->group_count; index++) {
        const struct ap_roofline *roofline = ap_compute_roofline(work, index);
        double total_ns = (double)AP_COMPUTE_CALLS(compute, index)->total_ns;
        if (!is_of_type(work, index, AP_ELEMENT_fp32) || ap_compute_group_flops(compute, index) <= 0)
            continue;
        if (roofline->bound_ns <= 0)
            sum_ns += total_ns;
        else if (roofline->cause == AP_CAUSE_tiny_products)
            sum_ns += roofline->bound_ns * (double)AP_COMPUTE_CALLS(compute, index)->timed_count / 2;
        else
            sum_ns += roofline->is_memory_bound ? total_ns / 2 : saved_by_fewer_bits_ns(work, index);
    }
    return sum_ns;
}

static void add_type(const struct ap_compute_work *work, const char *key, enum ap_element element, struct ap_model *model,
                     struct ap_value *to)
{
    struct ap_compute_sum sum = { .count = 0 };
    double saved_ns = 0, kernel_ns = work->compute.is_host ? 0 : (double)work->compute.kernel_ns;
    for (uint32_t index = 0; index < work->compute.group_count; index++) {
        if (!is_of_type(work, index, element))
            continue;
        ap_compute_sum_add(work, &sum, index);
        saved_ns += saved_by_fewer_bits_ns(work, index);
    }
    struct ap_value *row = ap_add_object(model, to, key);
    ap_add_count(model, row, "count", (int64_t)sum.count);
    ap_add_time(model, row, "total_dur_us", sum.total_ns);
    ap_add_quotient(model, row, "kernel_ratio", (double)sum.total_ns, kernel_ns);
    ap_add_time(model, row, "saved_us", ap_compute_ns(saved_ns));
    if (element == AP_ELEMENT_fp32)
        ap_add_known_time(model, row, "bound_us", !work->compute.is_host, ap_compute_ns(bound_of_16_bits_ns(work)));
    ap_compute_add_worst(work, &sum, model, row);
}

void ap_compute_add_sums(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    add_kinds(work, model, to);
    add_causes(work, model, to);
    add_above(work, model, to);
    add_type(work, "doubles", AP_ELEMENT_fp64, model, to);
    add_type(work, "floats", AP_ELEMENT_fp32, model, to);
}
