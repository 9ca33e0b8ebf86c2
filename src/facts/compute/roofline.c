/* SPDX-License-Identifier: MIT
 * roofline.c - the least time of a call, the time of a good kernel, and the cause of what lies between. */
#include "roofline.h"

#include <math.h>

#include "kernel_tile.h"

#include "poison.h"

#define SLOW 0.6             /* of the speed of a good kernel: what is slower is judged */
#define SLOW_ON_LEAST 0.75   /* likewise, where the device is not told and the one that can do least stands in for it */
#define SLOW_WHERE_EMPTY 0.8 /* likewise, of products whose tiles leave much of the device empty: the count says why */
#define LEAST_NS 8000.0      /* shorter kernels are a matter of launching */
#define FIXED_NS 2000.0      /* to begin and to end */
#define CACHE_BYTES 268435456.0
#define FEW_ROWS 32
#define FEW_TOKENS 16
#define NARROW 64 /* a side of a product that is less than most tiles */
#define FEW_CHANNELS 16
#define MANY_CHANNELS 32   /* of a convolution: each byte is multiplied so often that arithmetic limits it */
#define CHANNELS_AT_ONCE 8 /* of 16 bits: what tensor cores read at least */
#define FEW_PLACES 512
#define TINY 32    /* both sides of each product of a batch */
#define LONG_SUM 8 /* inner size over the longer side */
#define USUAL_TILE 128
#define FEW_QUERIES 16
#define SHORT_ROW 128
#define SHORT_SEQUENCE 512
#define TILE_RATIO 0.9
#define WAVE_RATIO 0.8
#define FILL_RATIO 0.6 /* both together: half of the device has nothing to do */
#define BF16_MAJOR 8   /* compute capability from which NVIDIA's matrix units take bfloat16 */
#define ALIGNMENT 16   /* bytes that a load of a tensor core's operand takes at once */

static const char *const names[AP_CAUSE_COUNT_] = {
#define AP_COMPUTE_CAUSE(id, sentence) [AP_CAUSE_##id] = #id,
#include "compute_cause.def"
#undef AP_COMPUTE_CAUSE
};

const char *ap_compute_cause_name(enum ap_compute_cause cause)
{
    return names[cause];
}

bool ap_compute_cause_is_of_shape(enum ap_compute_cause cause)
{
    switch (cause) {
    case AP_CAUSE_slow_product:
    case AP_CAUSE_slow_convolution:
    case AP_CAUSE_slow_attention:
    case AP_CAUSE_slow_experts:
    case AP_CAUSE_slow_traffic: return false;
    default: return true;
    }
}

/* Calls that are alike, and all of what one of them costs. */
struct judged {
    const struct ap_compute_group *group;
    struct ap_call_cost cost;
    struct ap_tile_fill fill;
};

/* ---- what the device could do ---- */

static enum ap_peak_type type_of(const struct judged *judged, const struct ap_facts *facts, const struct ap_gpu_peak *peak)
{
    switch (judged->cost.element) {
    case AP_ELEMENT_fp64: return AP_PEAK_fp64;
    case AP_ELEMENT_fp16:
    case AP_ELEMENT_bf16: return AP_PEAK_16_bit;
    case AP_ELEMENT_fp8: return AP_PEAK_fp8;
    case AP_ELEMENT_fp4: return AP_PEAK_fp4;
    case AP_ELEMENT_int8:
    case AP_ELEMENT_uint8: return AP_PEAK_int8;
    default: break;
    }
    bool on_tensor_cores = judged->group->kernel && (facts->families.of_name[judged->group->kernel] & AP_KERNEL_TENSOR_CORE);
    return on_tensor_cores && peak && !peak->is_amd && peak->tflop_s[AP_PEAK_tf32] > 0 ? AP_PEAK_tf32 : AP_PEAK_fp32;
}

/* Channels of a group that are fewer than matrix units take are filled up; vector units take all of a filter in a row. */
static double filled_channels(const struct ap_call_cost *cost, enum ap_peak_type type)
{
    return cost->channels_per_group > 0 && type != AP_PEAK_fp32 ? fmin(1, cost->channels_per_group / CHANNELS_AT_ONCE) : 1;
}

/* Of the peak, by the largest good kernels that others have measured. */
static double good_share(const struct judged *judged, const struct ap_gpu_peak *peak, enum ap_peak_type type)
{
    switch (judged->cost.kind) {
    case AP_WORK_gemm: return peak->matmul_ratio;
    case AP_WORK_attention: return peak->matmul_ratio * (judged->cost.is_backward ? 0.55 : 0.7);
    case AP_WORK_convolution:
        return peak->matmul_ratio * (type == AP_PEAK_fp32 ? 0.8 : 0.6) * filled_channels(&judged->cost, type);
    default: return peak->matmul_ratio * 0.8;
    }
}

/* Of the bandwidth. Sorting goes over its data many times; what an index scatters brings along bytes that nobody uses. */
static double good_traffic_share(const struct ap_call_cost *cost)
{
    if (cost->passes > 0)
        return 0.75 / cost->passes;
    if (cost->is_scattered)
        return 0.25;
    switch (cost->kind) {
    case AP_WORK_elementwise:
    case AP_WORK_copy: return 0.85;
    case AP_WORK_index: return 0.5;
    default: return 0.75;
    }
}

/* Of whole numbers of more bits the table has no rates; complex ones take more operations than are counted. */
static bool has_rate(enum ap_element element)
{
    return element <= AP_ELEMENT_fp4 || element == AP_ELEMENT_int8 || element == AP_ELEMENT_uint8;
}

double ap_achieved_flops_s(const struct ap_compute_group *group)
{
    return group->median_ns > 0 && group->cost.flops >= 0 ? group->cost.flops / (double)group->median_ns * 1e9 : -1;
}

double ap_achieved_bytes_s(const struct ap_compute_group *group)
{
    return group->median_ns > 0 && group->cost.bytes >= 0 ? group->cost.bytes / (double)group->median_ns * 1e9 : -1;
}

double ap_compute_intensity(const struct ap_compute_group *group)
{
    return group->cost.flops >= 0 && group->cost.bytes > 0 ? group->cost.flops / group->cost.bytes : -1;
}

double ap_roofline_ratio(const struct ap_roofline *roofline, const struct ap_compute_group *group)
{
    return roofline->bound_ns >= 0 && group->median_ns > 0 ? roofline->bound_ns / (double)group->median_ns : -1;
}

static void find_bounds(const struct judged *judged, const struct ap_gpu_peak *peak, struct ap_roofline *roofline)
{
    double matrix_flops = fmax(ap_compute_matrix_flops(&judged->group->cost), judged->cost.flops_least),
           rate = peak->tflop_s[roofline->type] * 1e3; /* in a ns */
    double compute_ns = matrix_flops > 0 && rate > 0 ? matrix_flops / rate : -1;
    double most_ns = judged->cost.flops_most > 0 && rate > 0 ? judged->cost.flops_most / rate : compute_ns;
    double memory_ns = judged->cost.bytes >= 0 && peak->gb_s > 0 ? judged->cost.bytes / peak->gb_s : -1;
    bool multiplies = ap_work_kind_multiplies(judged->cost.kind);
    if (memory_ns < 0 || (multiplies && (compute_ns < 0 || !has_rate(judged->cost.element))))
        return;
    roofline->is_memory_bound = memory_ns >= compute_ns;
    roofline->bound_ns = fmax(memory_ns, compute_ns);
    roofline->good_ns =
        FIXED_NS + fmax(memory_ns / good_traffic_share(&judged->cost),
                        multiplies ? fmax(most_ns, compute_ns) / good_share(judged, peak, roofline->type) : 0);
    if (judged->group->median_ns <= 0)
        return;
    roofline->lost_ns = fmax(0, (double)judged->group->total_ns - (double)judged->group->cold_ns -
                                    roofline->good_ns * (double)judged->group->timed_count);
}

static enum ap_above_peak why_above(const struct judged *judged, const struct ap_trace *trace,
                                    const struct ap_roofline *roofline)
{
    struct ap_text kernel = judged->group->kernel ? ap_trace_text(trace, judged->group->kernel) : AP_TEXT("");
    if (ap_roofline_ratio(roofline, judged->group) <= AP_ABOVE_PEAK)
        return AP_ABOVE_no;
    if (ap_text_contains_folded(kernel, "winograd") || ap_text_contains_folded(kernel, "fft") ||
        (judged->cost.kind == AP_WORK_convolution && !roofline->is_memory_bound))
        return AP_ABOVE_fewer_multiplications;
    if (judged->cost.kind == AP_WORK_attention)
        return AP_ABOVE_hidden_by_mask;
    if (judged->cost.experts > 0)
        return AP_ABOVE_fewer_experts;
    return roofline->is_memory_bound && judged->cost.bytes < CACHE_BYTES ? AP_ABOVE_in_cache : AP_ABOVE_other_device;
}

/* ---- tiles ---- */

static double tiles_for(double side, unsigned tile)
{
    return ceil(side / tile);
}

/* Two kernels a call: the parts of a split product are summed up. */
static bool adds_up_parts(const struct judged *judged)
{
    return judged->group->kernel_count > judged->group->timed_count;
}

/* Which side of a tile lies along which side of the product differs: the way that wastes less is taken. */
static double best_tiles(const struct ap_call_cost *cost, const struct ap_kernel_tile *tile)
{
    return fmin(tiles_for(cost->m, tile->rows) * tiles_for(cost->n, tile->columns),
                tiles_for(cost->m, tile->columns) * tiles_for(cost->n, tile->rows)) *
           cost->batch;
}

/* Names of kernels tell the make, which has one size for AMD's only. */
static bool has_multiprocessors(const struct ap_device_peak *device)
{
    return device->source <= AP_PEAK_by_properties || (device->source == AP_PEAK_by_kernels && device->peak.is_amd);
}

static void find_tiles(struct judged *judged, const struct ap_trace *trace, const struct ap_device_peak *device)
{
    struct ap_kernel_tile tile;
    if (judged->cost.m <= 0 || !judged->group->kernel ||
        !ap_kernel_tile_of(ap_trace_text(trace, judged->group->kernel), &tile))
        return;
    double tiles = best_tiles(&judged->cost, &tile);
    judged->fill.tile_ratio = judged->cost.batch * judged->cost.m * judged->cost.n / (tiles * tile.rows * tile.columns);
    if (tile.splits_inner || adds_up_parts(judged) || !device || !has_multiprocessors(device) || device->peak.sm_count <= 0)
        return;
    judged->fill.wave_ratio = tiles / (ceil(tiles / device->peak.sm_count) * device->peak.sm_count);
}

/* ---- causes ---- */

static bool is_unaligned(const struct ap_call_cost *cost, struct ap_text kernel)
{
    int bytes = ap_element_bytes(cost->element);
    if (ap_kernel_loads_narrowly(kernel))
        return true;
    return bytes > 0 && bytes <= 2 && (fmod(cost->n * bytes, ALIGNMENT) > 0 || fmod(cost->k * bytes, ALIGNMENT) > 0);
}

static bool fills_little(const struct ap_tile_fill *fill)
{
    return (fill->tile_ratio >= 0 && fill->tile_ratio < TILE_RATIO) ||
           (fill->wave_ratio >= 0 && fill->wave_ratio < WAVE_RATIO);
}

static bool leaves_half_empty(const struct ap_tile_fill *fill)
{
    return fill->wave_ratio >= 0 && fill->tile_ratio * fill->wave_ratio < FILL_RATIO;
}

/* Of the usual tiles there are few, each of which goes along the whole inner size. */
static bool is_unsplit(const struct judged *judged, struct ap_text kernel, double multiprocessors)
{
    const struct ap_call_cost *cost = &judged->cost;
    double tiles = cost->batch * tiles_for(cost->m, USUAL_TILE) * tiles_for(cost->n, USUAL_TILE);
    return cost->k >= LONG_SUM * fmax(cost->m, cost->n) && tiles * 2 <= multiprocessors && !adds_up_parts(judged) &&
           !ap_kernel_splits_inner(kernel);
}

/* From Hopper on each generation for servers has matrix instructions of its own, and kernels of an older one are far below
 * its peak; devices for desktops share those of Ampere. */
static bool is_of_older_kernel(const struct judged *judged, struct ap_text kernel, const struct ap_device_peak *device)
{
    int bytes = ap_element_bytes(judged->cost.element), made_for = ap_kernel_generation(kernel);
    return device && !device->peak.is_amd && (device->peak.major == 9 || device->peak.major == 10) && bytes > 0 &&
           bytes <= 2 && made_for > 0 && made_for < device->peak.major;
}

static enum ap_compute_cause cause_of_product(const struct judged *judged, struct ap_text kernel,
                                              const struct ap_roofline *roofline, const struct ap_device_peak *device)
{
    const struct ap_call_cost *cost = &judged->cost;
    double narrow = fmin(cost->m, cost->n), wide = fmax(cost->m, cost->n);
    if (cost->experts > 0)
        return cost->tokens_per_expert < FEW_TOKENS ? AP_CAUSE_few_tokens_per_expert : AP_CAUSE_slow_experts;
    if (cost->batch > 1 && wide <= TINY)
        return AP_CAUSE_tiny_products;
    if (is_unsplit(judged, kernel, device ? device->peak.sm_count : 0))
        return AP_CAUSE_unsplit_product;
    if (roofline->is_memory_bound && cost->m <= FEW_ROWS && cost->weight_bytes > cost->bytes / 2)
        return AP_CAUSE_few_rows;
    if (leaves_half_empty(&judged->fill) && !roofline->is_memory_bound)
        return AP_CAUSE_tile_fill;
    if (is_unaligned(cost, kernel))
        return AP_CAUSE_unaligned_product;
    if (roofline->is_memory_bound && narrow <= NARROW && wide >= 16 * narrow)
        return AP_CAUSE_narrow_product;
    if (fills_little(&judged->fill))
        return AP_CAUSE_tile_fill;
    return is_of_older_kernel(judged, kernel, device) ? AP_CAUSE_older_kernels : AP_CAUSE_slow_product;
}

/* Each group is a product of its own, whose sides are its channels. */
static bool has_few_channels(const struct ap_call_cost *cost)
{
    return cost->channels_per_group > 0 &&
           cost->channels_per_group < (cost->groups > 1 ? (double)NARROW : (double)FEW_CHANNELS);
}

/* A kernel for channels last, alone in its call: nothing turned its image, so this lies as the kernel wants it, whatever
 * the strides of the file say. */
static bool takes_channels_last(const struct ap_compute_group *group, struct ap_text kernel)
{
    return group->kernel_count == group->timed_count && ap_text_contains(kernel, AP_TEXT("nhwc")) &&
           !ap_text_contains(kernel, AP_TEXT("nchw"));
}

static enum ap_compute_cause cause_of_convolution(const struct judged *judged, struct ap_text kernel)
{
    const struct ap_call_cost *cost = &judged->cost;
    if (cost->groups > 1 && cost->channels_per_group <= 1)
        return AP_CAUSE_depthwise;
    if (judged->group->cost.is_unfolded)
        return AP_CAUSE_unfolded;
    if (cost->is_transposed)
        return AP_CAUSE_transposed;
    if (has_few_channels(cost))
        return AP_CAUSE_few_channels;
    if (cost->places > 0 && cost->places <= FEW_PLACES && cost->weight_bytes > cost->bytes / 2)
        return AP_CAUSE_few_places;
    if (ap_element_bytes(cost->element) != 2)
        return AP_CAUSE_slow_convolution;
    if (fmod(cost->channels_per_group, CHANNELS_AT_ONCE) > 0 || fmod(cost->out_channels, CHANNELS_AT_ONCE) > 0)
        return AP_CAUSE_odd_channels;
    return cost->is_channels_first && !takes_channels_last(judged->group, kernel) ? AP_CAUSE_channels_first
                                                                                  : AP_CAUSE_slow_convolution;
}

static enum ap_compute_cause cause_of_attention(const struct ap_call_cost *cost)
{
    int64_t size = (int64_t)cost->head_size;
    bool is_told = cost->queries > 0 && cost->keys > 0;
    if (is_told && cost->queries <= FEW_QUERIES && cost->keys > SHORT_SEQUENCE)
        return AP_CAUSE_decode_attention;
    if (is_told && cost->queries <= SHORT_SEQUENCE && cost->keys <= SHORT_SEQUENCE)
        return AP_CAUSE_short_attention;
    if (cost->mask_bytes > 0)
        return AP_CAUSE_masked_attention;
    return size > 0 && (size & (size - 1)) ? AP_CAUSE_head_size : AP_CAUSE_slow_attention;
}

static enum ap_compute_cause cause_of_traffic(const struct ap_call_cost *cost)
{
    if (cost->is_strided || cost->is_mixed_layout)
        return AP_CAUSE_strided;
    if (cost->passes > 0)
        return AP_CAUSE_sorting;
    if (cost->is_scattered)
        return AP_CAUSE_scattered;
    return cost->row_elements > 0 && cost->row_elements <= SHORT_ROW ? AP_CAUSE_short_rows : AP_CAUSE_slow_traffic;
}

static bool is_emulated(const struct ap_call_cost *cost, const struct ap_device_peak *device)
{
    return cost->element == AP_ELEMENT_bf16 && ap_work_kind_multiplies(cost->kind) && device && !device->peak.is_amd &&
           device->source <= AP_PEAK_by_properties && device->peak.major < BF16_MAJOR;
}

static enum ap_compute_cause cause_of(const struct judged *judged, struct ap_text kernel, const struct ap_roofline *roofline,
                                      const struct ap_device_peak *device)
{
    const struct ap_call_cost *cost = &judged->cost;
    if (is_emulated(cost, device))
        return AP_CAUSE_emulated_type;
    switch (cost->kind) {
    case AP_WORK_gemm: return cause_of_product(judged, kernel, roofline, device);
    case AP_WORK_convolution: return cause_of_convolution(judged, kernel);
    case AP_WORK_attention: return cause_of_attention(cost);
    case AP_WORK_moe: return cost->tokens_per_expert < FEW_TOKENS ? AP_CAUSE_few_tokens_per_expert : AP_CAUSE_slow_experts;
    default: return cause_of_traffic(cost);
    }
}

/* Weights that are read for few rows cost their time however well the kernel reads them. */
static bool is_starved(const struct ap_call_cost *cost, enum ap_compute_cause cause)
{
    return cause == AP_CAUSE_few_tokens_per_expert && cost->weight_bytes > cost->bytes / 2;
}

/* What it takes less, for each token, where experts get as many as make the weights worth reading. */
static double read_in_vain_ns(const struct judged *judged)
{
    return (double)judged->group->total_ns * (1 - judged->cost.tokens_per_expert / FEW_TOKENS);
}

/* What is slower than this share of a good kernel is judged. */
static double slow_share(enum ap_compute_cause cause, const struct judged *judged, const struct ap_device_peak *device)
{
    if (device && device->source >= AP_PEAK_by_kernels)
        return SLOW_ON_LEAST;
    return cause == AP_CAUSE_tile_fill && leaves_half_empty(&judged->fill) ? SLOW_WHERE_EMPTY : SLOW;
}

static void find_cause(const struct ap_compute *compute, const struct judged *judged, const struct ap_trace *trace,
                       const struct ap_device_peak *device, struct ap_roofline *roofline)
{
    struct ap_text kernel = judged->group->kernel ? ap_trace_text(trace, judged->group->kernel) : AP_TEXT("");
    if (compute->is_host || roofline->good_ns < 0)
        return;
    enum ap_compute_cause cause = cause_of(judged, kernel, roofline, device);
    roofline->shape_cause = cause;
    if ((double)judged->group->median_ns < LEAST_NS)
        return;
    if (roofline->good_ns < slow_share(cause, judged, device) * (double)judged->group->median_ns ||
        is_starved(&judged->cost, cause))
        roofline->cause = cause;
    if (is_starved(&judged->cost, cause))
        roofline->lost_ns = fmax(roofline->lost_ns, read_in_vain_ns(judged));
}

double ap_roofline_saved_by_16_bits_ns(const struct ap_compute_group *group, const struct ap_roofline *roofline,
                                       const struct ap_device_peak *device)
{
    double rate = device->peak.tflop_s[roofline->type], rate_16 = device->peak.tflop_s[AP_PEAK_16_bit];
    if (group->cost.element != AP_ELEMENT_fp32 || !ap_work_kind_multiplies(group->cost.kind) ||
        (roofline->bound_ns <= 0 && !roofline->is_unsized) || roofline->is_memory_bound || rate <= 0 || rate_16 <= rate)
        return 0;
    if (roofline->is_unsized)
        return (double)group->total_ns * (1 - rate / rate_16);
    double memory_ns = group->cost.bytes / device->peak.gb_s / 2;
    double bound_ns = fmax(roofline->bound_ns * rate / rate_16, memory_ns);
    return (double)group->total_ns * (1 - fmin(bound_ns / roofline->bound_ns, 1));
}

static struct judged judge(const struct ap_compute *compute, const struct ap_compute_group *group,
                           const struct ap_facts *facts, const struct ap_device_peak *device)
{
    struct judged judged = { group, ap_compute_cost(compute, group), { -1, -1 } };
    find_tiles(&judged, facts->trace, device);
    return judged;
}

struct ap_tile_fill ap_tile_fill_of(const struct ap_compute *compute, const struct ap_compute_group *group,
                                    const struct ap_facts *facts, const struct ap_device_peak *device)
{
    return judge(compute, group, facts, device).fill;
}

void ap_roofline_of(const struct ap_compute *compute, const struct ap_compute_group *group, const struct ap_facts *facts,
                    const struct ap_device_peak *device, struct ap_roofline *ret_roofline)
{
    struct judged judged = judge(compute, group, facts, device);
    struct ap_roofline roofline = { .bound_ns = -1, .good_ns = -1, .cause = AP_CAUSE_none, .shape_cause = AP_CAUSE_none };
    roofline.type = type_of(&judged, facts, device ? &device->peak : NULL);
    if (device && !compute->is_host) {
        find_bounds(&judged, &device->peak, &roofline);
        roofline.above = why_above(&judged, facts->trace, &roofline);
        roofline.is_unsized = roofline.bound_ns <= 0 && judged.cost.kind == AP_WORK_convolution &&
                              judged.cost.channels_per_group >= MANY_CHANNELS;
    }
    find_cause(compute, &judged, facts->trace, device, &roofline);
    *ret_roofline = roofline;
}
