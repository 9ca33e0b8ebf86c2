/* SPDX-License-Identifier: MIT
 * gpu_sm.c - how well kernels fill the multiprocessors, as far as their grids tell. Kernels of AMD devices and rows without
 * these numbers tell nothing: what is then unknown is null. */

#include <string.h>

#include "gpu_work.h"
#include "rows_of.h"

#include "poison.h"

#define NARROW 0.5 /* blocks for each multiprocessor, of kernels that could have one for each row instead */

/* A block that takes a load and a store lives for a microsecond or more, so that of blocks which come so quickly many stand
 * on a multiprocessor at a time. Where they leave half of its threads free all the same, each has 64 threads or fewer. */
#define QUICK_NS 100    /* from block to block on a multiprocessor */
#define TINY_FILL 0.55  /* occupancy */
#define MANY_BLOCKS 256 /* for each multiprocessor: fewer begin and end, which says nothing of those between */

struct sm_sums {
    double blocks_ns, occupancy_ns; /* weighted by duration */
    int64_t blocks_known_ns, occupancy_known_ns, small_grid_ns, narrow_scan_ns, tiny_block_ns, computing_known_ns;
    int64_t tensor_core_ns, eligible_ns, plain_ns;
    unsigned named_capability; /* times ten; 0 = no name tells one */
};

static double blocks_per_sm(const struct ap_trace *trace, uint32_t row)
{
    const struct ap_work_detail *detail = ap_row_work(trace, row);
    return detail ? ap_plain_figure(detail->as.grid.blocks_per_sm) : -1;
}

static bool scans_columns(const struct ap_gpu_work *work, uint32_t row)
{
    const struct ap_kernel_families *families = &work->context->facts->families;
    unsigned subfamily = ap_kernel_subfamily_of(families, work->context->trace->events.name[row]);
    return strcmp(ap_kernel_subfamily_name(subfamily), "scan of columns") == 0;
}

/* Of kernels that somebody can change: PyTorch gathers short rows in such blocks, and cuBLAS multiplies by vectors so. */
static bool is_of_library(const struct ap_gpu_work *work, uint32_t row)
{
    static const char *const words[] = { "at::native", "cub::", "cudnn", "cublas", "cufft", "cusparse", "thrust::" };
    const struct ap_trace *trace = work->context->trace;
    const struct ap_kernel_families *families = &work->context->facts->families;
    struct ap_text name = ap_row_name(trace, row);
    unsigned family = ap_kernel_family_of(ap_kernel_subfamily_of(families, trace->events.name[row]));
    bool is_one = family == AP_KERNEL_FAMILY_gemm || family == AP_KERNEL_FAMILY_convolution;
    for (size_t i = 0; i < AP_COUNT_OF(words) && !is_one; i++)
        is_one = ap_text_contains_folded(name, words[i]);
    return is_one;
}

static bool has_tiny_blocks(const struct ap_gpu_work *work, uint32_t row, double blocks, double occupancy)
{
    return blocks >= MANY_BLOCKS && (double)work->context->trace->events.dur_ns[row] < blocks * QUICK_NS && occupancy > 0 &&
           occupancy < TINY_FILL && !is_of_library(work, row);
}

static void take_grid(struct ap_gpu_work *work, struct sm_sums *sums, uint32_t row, int64_t dur_ns)
{
    const struct ap_trace *trace = work->context->trace;
    const struct ap_work_detail *detail = ap_row_work(trace, row);
    double blocks = blocks_per_sm(trace, row), occupancy = detail ? ap_plain_figure(detail->as.grid.occupancy_ratio) : -1;
    if (occupancy >= 0) {
        sums->occupancy_ns += occupancy * (double)dur_ns;
        sums->occupancy_known_ns = ap_gpu_add_ns(work, sums->occupancy_known_ns, dur_ns);
    }
    if (blocks < 0)
        return;
    sums->blocks_ns += blocks * (double)dur_ns;
    sums->blocks_known_ns = ap_gpu_add_ns(work, sums->blocks_known_ns, dur_ns);
    if (ap_kernel_is_communication(&work->context->facts->families, trace, row))
        return;
    sums->computing_known_ns = ap_gpu_add_ns(work, sums->computing_known_ns, dur_ns);
    if (blocks < 1)
        sums->small_grid_ns = ap_gpu_add_ns(work, sums->small_grid_ns, dur_ns);
    if (has_tiny_blocks(work, row, blocks, occupancy))
        sums->tiny_block_ns = ap_gpu_add_ns(work, sums->tiny_block_ns, dur_ns);
    if (blocks < NARROW && scans_columns(work, row))
        sums->narrow_scan_ns = ap_gpu_add_ns(work, sums->narrow_scan_ns, dur_ns);
}

static void take_kernels(struct ap_gpu_work *work, struct sm_sums *sums)
{
    const struct ap_trace *trace = work->context->trace;
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_kernel); ap_rows_of_next(&at);) {
        int64_t dur_ns = trace->events.dur_ns[at.row];
        if (dur_ns < 0)
            continue;
        unsigned told = work->context->facts->families.of_name[trace->events.name[at.row]];
        if (told & AP_KERNEL_TENSOR_CORE)
            sums->tensor_core_ns = ap_gpu_add_ns(work, sums->tensor_core_ns, dur_ns);
        if (told & AP_KERNEL_PLAIN)
            sums->plain_ns = ap_gpu_add_ns(work, sums->plain_ns, dur_ns);
        if (told & AP_KERNEL_ELIGIBLE)
            sums->eligible_ns = ap_gpu_add_ns(work, sums->eligible_ns, dur_ns);
        take_grid(work, sums, at.row, dur_ns);
    }
}

/* "sm80_xmma_gemm_...", "nvjet_sm90_...": a device of that capability or a newer one ran it. */
static unsigned capability_in(struct ap_text name)
{
    unsigned highest = 0;
    for (size_t at = 0; at + 4 <= name.bytes; at++) {
        if (name.data[at] != 's' || name.data[at + 1] != 'm' ||
            (at && (ap_is_letter(name.data[at - 1]) || ap_is_digit(name.data[at - 1]))))
            continue;
        unsigned number = 0;
        size_t end = at + 2;
        for (; end < name.bytes && end < at + 5 && ap_is_digit(name.data[end]); end++)
            number = number * 10 + (unsigned)(name.data[end] - '0');
        if (number >= 50 && number < 200 && (end == name.bytes || !ap_is_digit(name.data[end])) && number > highest)
            highest = number;
    }
    return highest;
}

static enum ap_status find_capability(const struct ap_gpu_work *work, struct sm_sums *sums, struct ap_error *reterr)
{
    const struct ap_trace *trace = work->context->trace;
    size_t count = ap_trace_id_count(trace);
    uint8_t *seen;
    AP_TRY(AP_ALLOC_CLEARED(work->context->gate, seen, count, reterr));
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_kernel); ap_rows_of_next(&at);) {
        uint32_t name = trace->events.name[at.row];
        if (seen[name])
            continue;
        seen[name] = 1;
        unsigned capability = capability_in(ap_trace_text(trace, name));
        sums->named_capability = capability > sums->named_capability ? capability : sums->named_capability;
    }
    AP_FREE(work->context->gate, seen, count);
    return AP_OK;
}

/* ---- estimated efficiency: at each instant the kernel that fills the most multiprocessors, min(blocks per SM, 1) ---- */

struct running {
    double filled;
    int64_t end_ns;
};

/* A heap with the kernel that fills most on top; those that have ended are dropped when they come up. */
struct heap {
    struct running *running;
    size_t count, capacity;
};

static enum ap_status push(struct heap *heap, struct ap_gate *gate, struct running kernel, struct ap_error *reterr)
{
    AP_TRY(AP_RESERVE(gate, heap->running, heap->capacity, heap->count + 1, reterr));
    size_t at = heap->count++;
    while (at && heap->running[(at - 1) / 2].filled < kernel.filled) {
        heap->running[at] = heap->running[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->running[at] = kernel;
    return AP_OK;
}

static void pop(struct heap *heap)
{
    struct running last = heap->running[--heap->count];
    size_t at = 0, below;
    while ((below = 2 * at + 1) < heap->count) {
        if (below + 1 < heap->count && heap->running[below + 1].filled > heap->running[below].filled)
            below++;
        if (heap->running[below].filled <= last.filled)
            break;
        heap->running[at] = heap->running[below];
        at = below;
    }
    if (heap->count)
        heap->running[at] = last;
}

/* Time from @from_ns to @to_ns, weighted by what is filled; no kernel starts in between. */
static double filled_ns(struct heap *heap, int64_t from_ns, int64_t to_ns)
{
    double sum = 0;
    while (heap->count && from_ns < to_ns) {
        struct running top = heap->running[0];
        int64_t until_ns = top.end_ns < to_ns ? top.end_ns : to_ns;
        if (until_ns > from_ns) {
            sum += top.filled * (double)(until_ns - from_ns);
            from_ns = until_ns;
        }
        if (top.end_ns <= from_ns)
            pop(heap);
    }
    return sum;
}

static enum ap_status sum_filled(const struct ap_gpu_work *work, struct heap *heap, double *ret_filled_ns,
                                 struct ap_error *reterr)
{
    const struct ap_trace *trace = work->context->trace;
    const struct ap_links *links = &work->context->facts->links;
    int64_t at_ns = INT64_MIN, device = -1;
    double sum = 0;
    for (size_t i = 0; i < links->count; i++) {
        uint32_t row = links->row[i];
        if (ap_row_device(trace, row) != device) {
            sum += filled_ns(heap, at_ns, INT64_MAX);
            device = ap_row_device(trace, row);
        }
        double blocks = ap_row_kind(trace->events.tag[row]) == AP_KIND_kernel ? blocks_per_sm(trace, row) : -1;
        if (blocks < 0)
            continue;
        int64_t start_ns = trace->events.start_ns[row];
        sum += filled_ns(heap, at_ns, start_ns);
        at_ns = start_ns;
        struct running kernel = { blocks < 1 ? blocks : 1, start_ns + trace->events.dur_ns[row] };
        AP_TRY(push(heap, work->context->gate, kernel, reterr));
    }
    *ret_filled_ns = sum + filled_ns(heap, at_ns, INT64_MAX);
    return AP_OK;
}

static enum ap_status add_efficiency(struct ap_gpu_work *work, const struct sm_sums *sums, struct ap_model *model,
                                     struct ap_value *sm, struct ap_error *reterr)
{
    struct heap heap = { NULL, 0, 0 };
    double filled = 0;
    enum ap_status status = sum_filled(work, &heap, &filled, reterr);
    AP_FREE(work->context->gate, heap.running, heap.capacity);
    ap_add_quotient(model, sm, "estimated_efficiency_ratio", filled,
                    sums->blocks_known_ns ? (double)work->totals.window_ns : 0);
    return status;
}

enum ap_status ap_gpu_add_sm(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu, struct ap_error *reterr)
{
    struct sm_sums sums = { .blocks_ns = 0 };
    double kernel_ns = (double)work->totals.kernel_ns;
    take_kernels(work, &sums);
    AP_TRY(find_capability(work, &sums, reterr));
    struct ap_value *sm = ap_add_object(model, gpu, "sm");
    ap_add_time(model, sm, "tensor_core_us", sums.tensor_core_ns);
    ap_add_quotient(model, sm, "tensor_core_ratio", (double)sums.tensor_core_ns, kernel_ns);
    ap_add_time(model, sm, "tensor_core_eligible_us", sums.eligible_ns);
    ap_add_quotient(model, sm, "eligible_ratio", (double)sums.eligible_ns, kernel_ns);
    ap_add_time(model, sm, "without_tensor_core_us", sums.plain_ns);
    ap_add_quotient(model, sm, "without_tensor_core_ratio", (double)sums.plain_ns, kernel_ns);
    ap_add_quotient(model, sm, "tensor_core_of_eligible_ratio", (double)sums.tensor_core_ns, (double)sums.eligible_ns);
    ap_add_known_number(model, sm, "named_capability", sums.named_capability, sums.named_capability / 10.0);
    ap_add_quotient(model, sm, "known_ratio", (double)sums.blocks_known_ns, kernel_ns);
    ap_add_number_per(model, sm, "mean_blocks_per_sm", sums.blocks_ns, (double)sums.blocks_known_ns);
    ap_add_quotient(model, sm, "occupancy_ratio", sums.occupancy_ns, (double)sums.occupancy_known_ns);
    AP_TRY(add_efficiency(work, &sums, model, sm, reterr));
    ap_add_known_time(model, sm, "narrow_scan_us", sums.computing_known_ns, sums.narrow_scan_ns);
    ap_add_known_time(model, sm, "tiny_block_us", sums.computing_known_ns, sums.tiny_block_ns);
    ap_add_known_time(model, sm, "small_grid_us", sums.computing_known_ns, sums.small_grid_ns);
    ap_add_quotient(model, sm, "small_grid_ratio", (double)sums.small_grid_ns, (double)sums.computing_known_ns);
    return AP_OK;
}
