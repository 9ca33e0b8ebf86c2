/* SPDX-License-Identifier: MIT
 * part_compute.c - how good the work of the kernels is: arithmetic and bytes by the shapes of operators, against what the
 * device can do. */
#include <math.h>

#include "compute_part.h"

#include "poison.h"

#define COVERED_RATIO 0.9 /* of the time of matrix kernels: then the operations are those of the model */

static void find_rooflines(struct ap_compute_work *work)
{
    for (uint32_t i = 0; i < ap_compute_roofline_count(work); i++) {
        struct ap_compute_group of_type = { .cost = { .element = (enum ap_element)i } };
        ap_roofline_of(&work->compute, work->is_rated ? AP_COMPUTE_GROUP(&work->compute, i) : &of_type, work->context->facts,
                       work->is_rated ? &work->device : NULL, &work->rooflines[i]);
    }
}

/* Numbers that the device cannot multiply at all, as those of 8 bits on older ones. */
static bool is_beyond(const struct ap_compute_work *work, uint32_t group)
{
    const struct ap_roofline *roofline = ap_compute_roofline(work, group);
    return ap_work_kind_multiplies(ap_compute_kind(&work->compute, group)) &&
           ap_achieved_flops_s(AP_COMPUTE_GROUP(&work->compute, group)) > 0 &&
           work->device.peak.tflop_s[roofline->type] <= 0;
}

/* A device that was guessed at and seems to do more than it can is another one. */
static bool is_another(struct ap_compute_work *work, const struct ap_gpu_peaks *peaks)
{
    double tflop_s[AP_PEAK_TYPE_COUNT_] = { 0 }, gb_s = 0;
    bool above = false;
    for (uint32_t group = 0; group < work->compute.group_count; group++) {
        const struct ap_roofline *roofline = ap_compute_roofline(work, group);
        bool beyond = is_beyond(work, group);
        if (roofline->above != AP_ABOVE_other_device && !beyond)
            continue;
        above = true;
        if (roofline->is_memory_bound && !beyond)
            gb_s = fmax(gb_s, ap_achieved_bytes_s(AP_COMPUTE_GROUP(&work->compute, group)) / 1e9);
        else
            tflop_s[roofline->type] =
                fmax(tflop_s[roofline->type], ap_achieved_flops_s(AP_COMPUTE_GROUP(&work->compute, group)) / 1e12);
    }
    return above && ap_gpu_peaks_raise(peaks, tflop_s, gb_s, &work->device);
}

/* A device that stands in for one that is not told says little: usual ones say what it would be on them. */
static void find_elsewhere(struct ap_compute_work *work, const struct ap_gpu_peaks *peaks)
{
    static const char *const usual[AP_USUAL_DEVICES] = { "A100", "H100", "MI300X" };
    bool is_stand_in = work->has_device && work->device.source >= AP_PEAK_by_make && !work->compute.is_host;
    for (int i = 0; i < AP_USUAL_DEVICES; i++) {
        const struct ap_gpu_peak *peak = is_stand_in ? ap_gpu_peaks_named(peaks, ap_text_of(usual[i])) : NULL;
        bool other_make = work->device.source == AP_PEAK_by_make && peak && peak->is_amd != work->device.peak.is_amd;
        work->elsewhere[i] = peak && !other_make ? ap_compute_ratio_on(work, peak) : -1;
    }
}

static enum ap_status judge(struct ap_compute_work *work, struct ap_gpu_peak *rows, struct ap_error *reterr)
{
    const struct ap_part_context *context = work->context;
    struct ap_gpu_peaks builtin = { .rows = rows };
    const struct ap_gpu_peaks *peaks = context->options->peaks ? context->options->peaks : &builtin;
    struct ap_error error;
    if (context->options->peaks || ap_gpu_peaks_add(&builtin, ap_gpu_peaks_builtin(), &error) == AP_OK)
        work->has_device = ap_gpu_peaks_find(peaks, context->trace, &context->facts->families, &work->device);
    work->is_rated = work->has_device && !work->compute.is_host;
    AP_TRY(AP_ALLOC(context->gate, work->rooflines, ap_compute_roofline_count(work), reterr));
    find_rooflines(work);
    if (work->has_device && is_another(work, peaks))
        find_rooflines(work);
    find_elsewhere(work, peaks);
    return AP_OK;
}

/* ---- totals ---- */

/* Kernels that multiply, by their names: what the counted ones are held against. */
static int64_t matrix_kernel_ns(struct ap_compute_work *work)
{
    const struct ap_facts *facts = work->context->facts;
    int64_t sum_ns = 0;
    for (size_t i = 0; i < facts->links.count; i++) {
        uint32_t row = facts->links.row[i];
        if (ap_row_kind(facts->trace->events.tag[row]) == AP_KIND_kernel &&
            (facts->families.of_name[facts->trace->events.name[row]] & AP_KERNEL_ELIGIBLE))
            sum_ns = ap_add_sat(sum_ns, facts->trace->events.dur_ns[row], &work->context->overflowed);
    }
    return sum_ns;
}

static void add_coverage(struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    const struct ap_compute *compute = &work->compute;
    struct ap_value *coverage = ap_add_object(model, to, "coverage");
    double kernel_ns = compute->is_host ? 0 : (double)compute->kernel_ns;
    ap_add_known_time(model, coverage, "kernel_us", !compute->is_host, compute->kernel_ns);
    ap_add_time(model, coverage, "known_us", compute->known_ns);
    ap_add_quotient(model, coverage, "known_ratio", (double)compute->known_ns, kernel_ns);
    ap_add_time(model, coverage, "products_us", compute->product_ns);
    ap_add_quotient(model, coverage, "products_ratio", (double)compute->product_ns, kernel_ns);
    ap_add_quotient(model, coverage, "matrix_kernels_ratio", (double)compute->product_ns, (double)work->matrix_ns);
}

/* Operations of the calls in steps, and the time of these; of the whole trace where it has no steps. */
static void flops_of_steps(const struct ap_compute_work *work, double *ret_flops, int64_t *ret_ns)
{
    const struct ap_compute *compute = &work->compute;
    const struct ap_trace *trace = work->context->trace;
    const struct ap_steps *steps = &work->context->facts->steps;
    *ret_flops = compute->timed_flops;
    *ret_ns = work->context->facts->window_ns;
    if (!steps->count)
        return;
    *ret_flops = 0;
    *ret_ns = 0;
    for (size_t i = 0; i < steps->count; i++)
        *ret_ns += steps->steps[i].end_ns - steps->steps[i].start_ns;
    for (uint32_t row = 0, call = 0; call < compute->counted.count; row++) {
        row = ap_row_set_next(&compute->counted, row);
        if (ap_step_at(steps, trace->events.start_ns[row]) < steps->count)
            *ret_flops += ap_compute_group_flops(compute, compute->group_of[call]);
        call++;
    }
}

/* The type that most operations are of. */
static enum ap_peak_type main_type(const struct ap_compute_work *work)
{
    double flops[AP_PEAK_TYPE_COUNT_] = { 0 };
    enum ap_peak_type most = AP_PEAK_16_bit;
    for (uint32_t group = 0; group < work->compute.group_count; group++)
        flops[ap_compute_roofline(work, group)->type] +=
            ap_compute_group_flops(&work->compute, group) * (double)AP_COMPUTE_CALLS(&work->compute, group)->count;
    for (int type = 0; type < AP_PEAK_TYPE_COUNT_; type++)
        if (flops[type] > flops[most])
            most = (enum ap_peak_type)type;
    return most;
}

static void add_mfu(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    double flops, rate = work->has_device ? work->device.peak.tflop_s[main_type(work)] * 1e3 : 0;
    int64_t ns;
    flops_of_steps(work, &flops, &ns);
    bool is_known = !work->compute.is_host && work->matrix_ns > 0 && rate > 0 && ns > 0 &&
                    work->device.source < AP_PEAK_by_kernels &&
                    (double)work->compute.product_ns >= COVERED_RATIO * (double)work->matrix_ns;
    ap_add_known_string(model, to, "mfu_type", is_known, is_known ? ap_peak_type_name(main_type(work)) : NULL);
    ap_add_known_ratio(model, to, "mfu_ratio", is_known, is_known ? flops / (rate * (double)ns) : 0);
}

/* On the critical path, and what calls waited for, which the path takes for time of the host. */
static int64_t kernel_bound_ns(struct ap_compute_work *work)
{
    int64_t on_path_ns = work->context->facts->path.class_ns[AP_PATH_gpu_compute_bound];
    int64_t sum_ns = ap_add_sat(work->compute.waited_ns, on_path_ns, &work->context->overflowed);
    return sum_ns < work->compute.kernel_ns ? sum_ns : work->compute.kernel_ns;
}

static void add_totals(struct ap_compute_work *work, struct ap_model *model, struct ap_value *to)
{
    const struct ap_compute *compute = &work->compute;
    work->matrix_ns = matrix_kernel_ns(work);
    ap_add_string(model, to, "timed_on", compute->is_host ? "host" : "device");
    ap_add_count(model, to, "calls", compute->counted.count);
    ap_compute_add_flops(model, to, "flops", compute->flops);
    ap_compute_add_flops(model, to, "macs", compute->flops / 2);
    ap_add_bytes(model, to, "bytes", (int64_t)fmin(compute->bytes, (double)(INT64_C(1) << 60)));
    ap_add_number_per(model, to, "tflop_s", compute->timed_flops / 1e3, (double)compute->product_ns);
    ap_add_number_per(model, to, "gb_s", compute->timed_bytes, (double)compute->known_ns);
    ap_add_known_time(model, to, "kernel_bound_us", !compute->is_host, compute->is_host ? 0 : kernel_bound_ns(work));
    add_mfu(work, model, to);
    add_coverage(work, model, to);
}

static enum ap_status add_compute(struct ap_compute_work *work, struct ap_model *model, struct ap_value *root,
                                  struct ap_error *reterr)
{
    struct ap_part_context *context = work->context;
    struct ap_gpu_peak *rows;
    AP_TRY(ap_compute_init(&work->compute, context->facts, context->gate, reterr));
    ap_note_overflow(context, work->compute.overflowed);
    if (!work->compute.counted.count) {
        ap_add_null(model, root, "compute");
        return AP_OK;
    }
    AP_TRY(AP_ALLOC(context->gate, rows, AP_GPU_PEAKS_MAX, reterr));
    enum ap_status status = judge(work, rows, reterr);
    AP_FREE(context->gate, rows, AP_GPU_PEAKS_MAX);
    AP_TRY(status);
    struct ap_value *to = ap_add_object(model, root, "compute");
    ap_compute_add_device(work, model, to);
    add_totals(work, model, to);
    ap_compute_add_longest(work, model, to);
    ap_compute_add_sums(work, model, to);
    ap_compute_add_patterns(work, model, to);
    AP_TRY(ap_compute_add_lists(work, model, to, reterr));
    return ap_compute_add_layers(work, model, to, reterr);
}

enum ap_status ap_part_compute(struct ap_part_context *context, struct ap_model *model, struct ap_value *root,
                               struct ap_error *reterr)
{
    struct ap_compute_work work = { .context = context, .compute = { .gate = context->gate } };
    enum ap_status status = add_compute(&work, model, root, reterr);
    AP_FREE(context->gate, work.rooflines, ap_compute_roofline_count(&work));
    ap_compute_release(&work.compute);
    return status;
}
