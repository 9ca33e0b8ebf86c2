/* SPDX-License-Identifier: MIT
 * compute_patterns.c - work that several operators do together though one would do: the loss over a large vocabulary, the
 * scaling of 8-bit products; conversions of weights. What has first tensors of one size is of one pattern. */
#include <math.h>

#include "compute_part.h"

#include "poison.h"

#define SIZES_MAX 16
#define VOCABULARY 30000.0  /* entries of a dimension that is summed up by a log_softmax */
#define LOGITS 16777216.0   /* elements from which it is worth a word */
#define LOGITS_KEPT_BYTES 4 /* for an element: what a fused loss reads and writes, in 16 bits */
#define LOGIT_BYTES 2       /* read once, in 16 bits */
#define LOGITS_KEPT 0.3     /* of the time, where the device is not known */

/* Elements of tensors. */
struct sizes {
    double elements[SIZES_MAX];
    size_t count;
};

static bool has_size(const struct sizes *sizes, double elements)
{
    for (size_t i = 0; i < sizes->count; i++)
        if (sizes->elements[i] >= elements && sizes->elements[i] <= elements)
            return true;
    return false;
}

static void add_size(struct sizes *sizes, double elements)
{
    if (sizes->count < SIZES_MAX && !has_size(sizes, elements))
        sizes->elements[sizes->count++] = elements;
}

static bool is_one_of(struct ap_text name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ap_text_is(name, names[i]))
            return true;
    return false;
}

static struct ap_text name_of(const struct ap_compute_work *work, uint32_t index)
{
    return ap_trace_text(work->context->trace, AP_COMPUTE_CALLS(&work->compute, index)->name);
}

void ap_compute_add_pattern(const struct ap_compute_work *work, const struct ap_compute_sum *sum, double keeps_ns,
                            const char *key, struct ap_model *model, struct ap_value *to)
{
    struct ap_value *row = ap_add_object(model, to, key);
    ap_add_count(model, row, "count", (int64_t)sum->count);
    ap_add_time(model, row, "total_dur_us", sum->total_ns);
    ap_add_quotient(model, row, "kernel_ratio", (double)sum->total_ns,
                    work->compute.is_host ? 0 : (double)work->compute.kernel_ns);
    ap_add_time(model, row, "saved_us", ap_compute_ns((double)sum->total_ns - keeps_ns));
    ap_compute_add_worst(work, sum, model, row);
}

static struct ap_call_cost cost_of(const struct ap_compute_work *work, uint32_t index)
{
    return ap_compute_cost(&work->compute, AP_COMPUTE_CALLS(&work->compute, index));
}

static bool is(const struct ap_compute_work *work, uint32_t index, enum ap_cost_flag flag)
{
    return ap_compute_is(&work->compute, index, flag);
}

static enum ap_work_kind kind_of(const struct ap_compute_work *work, uint32_t index)
{
    return ap_compute_kind(&work->compute, index);
}

/* ---- the loss over a large vocabulary ---- */

/* log_softmax alone gives scores, as a search by beams wants them. */
static bool has_loss(const struct ap_trace *trace)
{
    static const char *const names[] = { "aten::nll_loss_forward", "aten::nll_loss2d_forward", "aten::cross_entropy_loss",
                                         "aten::kl_div", "aten::_log_softmax_backward_data" };
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        if (ap_trace_find_text(trace, names[i]))
            return true;
    return false;
}

static bool is_loss_of_vocabulary(const struct ap_compute_work *work, uint32_t index)
{
    return ap_text_is(name_of(work, index), "aten::_log_softmax") && cost_of(work, index).row_elements >= VOCABULARY &&
           cost_of(work, index).elements >= LOGITS;
}

/* What works on each of the logits: casts, the scale of a temperature, log_softmax, its backward pass. */
static void add_vocabulary(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    struct ap_compute_sum sum = { .count = 0 };
    struct sizes sizes = { .count = 0 };
    double logits = 0;
    bool in_loss = has_loss(work->context->trace);
    for (uint32_t index = 0; in_loss && index < work->compute.group_count; index++) {
        if (!is_loss_of_vocabulary(work, index))
            continue;
        double elements = cost_of(work, index).elements;
        add_size(&sizes, elements);
        logits += elements * (double)AP_COMPUTE_CALLS(&work->compute, index)->timed_count;
    }
    for (uint32_t index = 0; index < work->compute.group_count; index++) {
        enum ap_work_kind kind = kind_of(work, index);
        bool is_by_element = kind == AP_WORK_softmax || kind == AP_WORK_copy || kind == AP_WORK_elementwise;
        if (is_by_element && sizes.count && has_size(&sizes, cost_of(work, index).elements))
            ap_compute_sum_add(work, &sum, index);
    }
    bool is_known = work->has_device && work->device.peak.gb_s > 0;
    ap_compute_add_pattern(
        work, &sum, is_known ? logits * LOGITS_KEPT_BYTES / work->device.peak.gb_s : (double)sum.total_ns * LOGITS_KEPT,
        "vocabulary", model, to);
}

/* ---- drawing from a large vocabulary ---- */

/* Sides of the products that make logits: attention over as many keys has no weights. */
static void find_vocabularies(const struct ap_compute_work *work, struct sizes *ret_entries)
{
    for (uint32_t index = 0; index < work->compute.group_count && !work->context->facts->phases.has_backward; index++) {
        if (kind_of(work, index) != AP_WORK_gemm)
            continue;
        struct ap_call_cost cost = cost_of(work, index);
        if (cost.parameters > 0 && cost.n >= VOCABULARY)
            add_size(ret_entries, cost.n);
    }
}

/* Where nothing is trained: the softmax of all logits, and what sorts, sums up, scales, masks or compares as many. */
static void add_drawn(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    struct ap_compute_sum sum = { .count = 0 };
    struct sizes entries = { .count = 0 }, sizes = { .count = 0 };
    double logits = 0;
    find_vocabularies(work, &entries);
    for (uint32_t index = 0; index < work->compute.group_count; index++) {
        if (!ap_text_is(name_of(work, index), "aten::_softmax"))
            continue;
        struct ap_call_cost cost = cost_of(work, index);
        if (!has_size(&entries, cost.row_elements))
            continue;
        add_size(&sizes, cost.elements);
        logits += cost.elements * (double)AP_COMPUTE_CALLS(&work->compute, index)->timed_count;
    }
    for (uint32_t index = 0; index < work->compute.group_count; index++)
        if (sizes.count && !ap_work_kind_multiplies(kind_of(work, index)) && has_size(&sizes, cost_of(work, index).elements))
            ap_compute_sum_add(work, &sum, index);
    bool is_known = work->has_device && work->device.peak.gb_s > 0;
    ap_compute_add_pattern(work, &sum,
                           is_known ? logits * LOGIT_BYTES / work->device.peak.gb_s : (double)sum.total_ns * LOGITS_KEPT,
                           "drawn", model, to);
}

/* ---- products of 8 bits ---- */

static bool has_8_bits(enum ap_element element)
{
    return element == AP_ELEMENT_fp8 || element == AP_ELEMENT_int8;
}

static bool scales(const struct ap_compute_work *work, uint32_t index)
{
    static const char *const names[] = { "aten::abs",       "aten::max",   "aten::amax",   "aten::aminmax", "aten::div",
                                         "aten::div_",      "aten::mul",   "aten::mul_",   "aten::clamp",   "aten::clamp_",
                                         "aten::clamp_min", "aten::round", "aten::round_", "aten::copy_" };
    return is_one_of(name_of(work, index), names, AP_COUNT_OF(names));
}

/* A cast to 8 bits, and what the same elements go through for it; only where products of 8 bits run. */
static void add_scaling(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    struct ap_compute_sum sum = { .count = 0 };
    struct sizes sizes = { .count = 0 };
    double casts_ns = 0;
    bool multiplies = false;
    for (uint32_t index = 0; index < work->compute.group_count; index++) {
        const struct ap_compute_group *group = AP_COMPUTE_CALLS(&work->compute, index);
        multiplies |= has_8_bits(group->cost.element) && ap_work_kind_multiplies(group->cost.kind);
        if (!is(work, index, AP_COST_narrows))
            continue;
        add_size(&sizes, cost_of(work, index).elements);
        casts_ns += (double)group->total_ns;
    }
    for (uint32_t index = 0; multiplies && index < work->compute.group_count; index++)
        if (scales(work, index) && has_size(&sizes, cost_of(work, index).elements))
            ap_compute_sum_add(work, &sum, index);
    ap_compute_add_pattern(work, &sum, casts_ns, "scaling", model, to);
}

/* As many elements as layers have weights, in a run that trains none; where a side of them is told from the input. */
static void find_weights(const struct ap_compute_work *work, struct sizes *sizes)
{
    for (uint32_t index = 0; index < work->compute.group_count && !work->context->facts->phases.has_backward; index++) {
        if (!ap_work_kind_multiplies(kind_of(work, index)))
            continue;
        struct ap_call_cost cost = cost_of(work, index);
        bool is_told_from_input = cost.m > cost.n || cost.m < cost.n;
        if (cost.parameters > 0 && is_told_from_input)
            add_size(sizes, cost.n * cost.k);
    }
}

/* Of kernels by their names; and weights of 8 bits that are copied into 16, with what scales or shifts as many elements. */
static void add_dequantized(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    const struct ap_compute *compute = &work->compute;
    struct ap_compute_sum sum = { .count = 0 };
    struct sizes weights = { .count = 0 }, unpacked = { .count = 0 };
    find_weights(work, &weights);
    for (uint32_t index = 0; index < compute->group_count; index++)
        if (is(work, index, AP_COST_unpacks) && has_size(&weights, cost_of(work, index).elements))
            add_size(&unpacked, cost_of(work, index).elements);
    for (uint32_t index = 0; index < compute->group_count; index++) {
        bool is_of_one = is(work, index, AP_COST_unpacks) || kind_of(work, index) == AP_WORK_elementwise;
        if (is_of_one && unpacked.count && has_size(&unpacked, cost_of(work, index).elements))
            ap_compute_sum_add(work, &sum, index);
    }
    int64_t total_ns = ap_add_sat(compute->dequantize_ns, sum.total_ns, &work->context->overflowed);
    struct ap_value *row = ap_add_object(model, to, "dequantized");
    ap_add_count(model, row, "count", (int64_t)(compute->dequantize_count + sum.count));
    ap_add_time(model, row, "total_dur_us", total_ns);
    ap_add_quotient(model, row, "kernel_ratio", (double)total_ns, compute->is_host ? 0 : (double)compute->kernel_ns);
}

/* ---- 64-bit floats that meet others ---- */

static void add_promoted(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    struct ap_compute_sum sum = { .count = 0 };
    for (uint32_t index = 0; index < work->compute.group_count; index++)
        if (is(work, index, AP_COST_meets_doubles))
            ap_compute_sum_add(work, &sum, index);
    ap_compute_add_pattern(work, &sum, 0, "promoted", model, to);
}

/* ---- weights that are cast for each product ---- */

/* Weights of 32 bits, copied into 16 right before the product: where nothing trains they are the same each time. */
static void add_recast(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    const struct ap_compute *compute = &work->compute;
    struct ap_compute_sum sum = { .count = 0 };
    struct sizes sizes = { .count = 0 };
    find_weights(work, &sizes);
    for (uint32_t index = 0; index < compute->group_count; index++)
        if (is(work, index, AP_COST_shortens) && has_size(&sizes, cost_of(work, index).elements))
            ap_compute_sum_add(work, &sum, index);
    ap_compute_add_pattern(work, &sum, 0, "recast", model, to);
}

/* ---- attention in 32 bits among products in 16 ---- */

static void add_wide_attention(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    const struct ap_compute *compute = &work->compute;
    struct ap_compute_sum sum = { .count = 0 };
    double kept_ns = 0, short_ns = 0, wide_ns = 0;
    for (uint32_t index = 0; index < compute->group_count; index++) {
        const struct ap_compute_group *group = AP_COMPUTE_CALLS(compute, index);
        bool is_short = group->cost.element == AP_ELEMENT_fp16 || group->cost.element == AP_ELEMENT_bf16;
        if (group->cost.kind == AP_WORK_gemm)
            *(is_short ? &short_ns : &wide_ns) += (double)group->total_ns;
    }
    for (uint32_t index = 0; index < compute->group_count && short_ns > wide_ns; index++) {
        const struct ap_compute_group *group = AP_COMPUTE_CALLS(compute, index);
        if (group->cost.kind != AP_WORK_attention || group->cost.element != AP_ELEMENT_fp32)
            continue;
        ap_compute_sum_add(work, &sum, index);
        kept_ns += (double)group->total_ns;
        if (work->has_device)
            kept_ns -= ap_roofline_saved_by_16_bits_ns(AP_COMPUTE_GROUP(compute, index), ap_compute_roofline(work, index),
                                                       &work->device);
    }
    ap_compute_add_pattern(work, &sum, kept_ns, "wide_attention", model, to);
}

/* ---- tiles of products that leave the device empty ---- */

static void add_mean(struct ap_model *model, struct ap_value *row, const char *key, double sum, double ns)
{
    ap_add_known_ratio(model, row, key, ns > 0, ns > 0 ? sum / ns : 0);
}

static void add_empty_tiles(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    double tiles = 0, tiles_ns = 0, waves = 0, waves_ns = 0;
    for (uint32_t index = 0; index < work->compute.group_count; index++) {
        double ns = (double)AP_COMPUTE_CALLS(&work->compute, index)->total_ns;
        if (ap_compute_roofline(work, index)->cause != AP_CAUSE_tile_fill)
            continue;
        struct ap_tile_fill fill = ap_compute_fill(work, AP_COMPUTE_GROUP(&work->compute, index));
        tiles += fill.tile_ratio >= 0 ? fill.tile_ratio * ns : 0;
        tiles_ns += fill.tile_ratio >= 0 ? ns : 0;
        waves += fill.wave_ratio >= 0 ? fill.wave_ratio * ns : 0;
        waves_ns += fill.wave_ratio >= 0 ? ns : 0;
    }
    struct ap_value *row = ap_add_object(model, to, "empty_tiles");
    add_mean(model, row, "tile_fill_ratio", tiles, tiles_ns);
    add_mean(model, row, "wave_fill_ratio", waves, waves_ns);
}

/* ---- images that lie channels first ---- */

static bool lies_channels_first(const struct ap_compute_work *work, uint32_t index)
{
    enum ap_element element = ap_compute_element(&work->compute, index);
    return (element == AP_ELEMENT_fp16 || element == AP_ELEMENT_bf16) && is(work, index, AP_COST_is_channels_first);
}

/* With the channels last no layout is changed for convolutions, or these run faster; so do norms and pools between them. */
static void add_channels_first(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    const struct ap_compute *compute = &work->compute;
    struct ap_compute_sum sum = { .count = 0 };
    double slow_ns = 0, between_ns = 0;
    bool convolves = false;
    for (uint32_t index = 0; index < compute->group_count && !compute->is_host; index++) {
        bool is_convolution = ap_compute_kind(compute, index) == AP_WORK_convolution;
        enum ap_compute_cause cause = ap_compute_roofline(work, index)->cause;
        if (!lies_channels_first(work, index))
            continue;
        ap_compute_sum_add(work, &sum, index);
        convolves |= is_convolution && AP_COMPUTE_CALLS(compute, index)->timed_count;
        if (is_convolution && cause == AP_CAUSE_channels_first)
            slow_ns += ap_compute_roofline(work, index)->lost_ns;
        if (!is_convolution && cause != AP_CAUSE_none)
            between_ns += ap_compute_roofline(work, index)->lost_ns;
    }
    if (!convolves)
        sum = (struct ap_compute_sum){ .count = 0 };
    double saved_ns = convolves ? fmax(slow_ns, (double)compute->turn_ns) + between_ns : 0;
    ap_compute_add_pattern(work, &sum, (double)sum.total_ns - saved_ns, "channels_first", model, to);
}

/* ---- copies of what is spread out ---- */

static void add_repeated(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    struct ap_compute_sum sum = { .count = 0 };
    for (uint32_t index = 0; index < work->compute.group_count; index++)
        if (is(work, index, AP_COST_repeats))
            ap_compute_sum_add(work, &sum, index);
    ap_compute_add_pattern(work, &sum, 0, "repeated", model, to);
}

void ap_compute_add_patterns(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    add_promoted(work, model, to);
    add_vocabulary(work, model, to);
    add_drawn(work, model, to);
    add_scaling(work, model, to);
    add_dequantized(work, model, to);
    add_channels_first(work, model, to);
    add_empty_tiles(work, model, to);
    add_repeated(work, model, to);
    add_recast(work, model, to);
    add_wide_attention(work, model, to);
    ap_compute_add_modes(work, model, to);
}
