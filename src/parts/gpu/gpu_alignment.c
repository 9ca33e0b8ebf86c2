/* SPDX-License-Identifier: MIT
 * gpu_alignment.c - matrix multiplications whose rows do not begin at multiples of 16 bytes: tensor cores are fed by
 * narrower loads then, by kernels of an older make. Told by the kernel's name where it names its alignment (CUTLASS), and by
 * the shapes of the operator where they were recorded. */
#include "gpu_work.h"
#include "kernel_tile.h"
#include "pair_map.h"
#include "shape_text.h"
#include "sort.h"
#include "stretches.h"

#include "poison.h"

/* Of an operator with its shapes: asked in forward and in backward. */
#define ASKED 1u
#define UNALIGNED 2u
#define BACKWARD_SHIFT 2

struct unaligned {
    uint32_t first, kernel, count; /* first: number in links */
    uint32_t longest;
    bool by_name, by_shapes;
    int64_t total_ns;
};

struct alignment {
    struct ap_gpu_work *work;
    struct ap_pair_map shapes, groups; /* (operator, signature); (number of that, kernel) */
    uint8_t *told;                     /* by number in shapes */
    struct unaligned *list;            /* by number in groups */
    size_t told_bytes, list_bytes;
    int64_t count, total_ns;
    struct ap_stretches time;
};

/* In backward the inner size may be that of the batch, along which no matrix lies in memory. */
static enum ap_status ask_shapes(struct alignment *alignment, uint32_t op, struct ap_str signature, uint32_t *ret_number,
                                 bool *ret_unaligned, struct ap_error *reterr)
{
    const struct ap_part_context *context = alignment->work->context;
    const struct ap_trace *trace = context->trace;
    bool is_backward = ap_phase_of_row(&context->facts->phases, op) == AP_PHASE_backward;
    unsigned shift = is_backward ? BACKWARD_SHIFT : 0;
    uint32_t before = alignment->shapes.count;
    AP_TRY(ap_pair_map_add(&alignment->shapes, trace->events.name[op], signature.id, ret_number, reterr));
    AP_TRY(AP_RESERVE(context->gate, alignment->told, alignment->told_bytes, *ret_number + 1, reterr));
    if (*ret_number == before)
        alignment->told[before] = 0;
    uint8_t *told = &alignment->told[*ret_number];
    if (!(*told >> shift & ASKED)) {
        struct ap_text dims, types;
        ap_trace_signature(trace, signature, &dims, &types);
        bool unaligned = ap_shape_is_unaligned(ap_row_name(trace, op), dims, types, !is_backward);
        *told |= (uint8_t)((ASKED | (unaligned ? UNALIGNED : 0)) << shift);
    }
    *ret_unaligned = *told >> shift & UNALIGNED;
    return AP_OK;
}

static enum ap_status take(struct alignment *alignment, uint32_t link, uint32_t shape, bool by_shapes,
                           struct ap_error *reterr)
{
    const struct ap_trace *trace = alignment->work->context->trace;
    uint32_t row = alignment->work->context->facts->links.row[link], number, before = alignment->groups.count;
    AP_TRY(ap_pair_map_add(&alignment->groups, shape, trace->events.name[row], &number, reterr));
    AP_TRY(AP_RESERVE(alignment->groups.gate, alignment->list, alignment->list_bytes, number + 1, reterr));
    struct unaligned *entry = &alignment->list[number];
    if (number == before)
        *entry = (struct unaligned){ .first = link,
                                     .kernel = trace->events.name[row],
                                     .longest = row,
                                     .by_name = ap_kernel_loads_narrowly(ap_row_name(trace, row)) };
    entry->by_shapes |= by_shapes;
    entry->count++;
    entry->total_ns = ap_gpu_add_ns(alignment->work, entry->total_ns, trace->events.dur_ns[row]);
    if (trace->events.dur_ns[row] > trace->events.dur_ns[entry->longest])
        entry->longest = row;
    ap_stretches_add(&alignment->time, alignment->groups.gate, trace->events.start_ns[row], ap_row_end_ns(trace, row));
    alignment->count++;
    alignment->total_ns = ap_gpu_add_ns(alignment->work, alignment->total_ns, trace->events.dur_ns[row]);
    return AP_OK;
}

static enum ap_status find(struct alignment *alignment, uint8_t *named, struct ap_error *reterr)
{
    enum { not_asked, no, yes };
    const struct ap_part_context *context = alignment->work->context;
    const struct ap_trace *trace = context->trace;
    for (uint32_t i = 0; i < context->facts->links.count; i++) {
        struct ap_device_row linked = ap_device_row_at(&context->facts->links, i);
        uint32_t name = trace->events.name[linked.row], shape = AP_PAIR_NONE;
        bool by_shapes = false;
        if (ap_row_kind(trace->events.tag[linked.row]) != AP_KIND_kernel ||
            ap_kernel_family_of(ap_kernel_subfamily_of(&context->facts->families, name)) != AP_KERNEL_FAMILY_gemm)
            continue;
        if (named[name] == not_asked)
            named[name] = ap_kernel_loads_narrowly(ap_row_name(trace, linked.row)) ? yes : no;
        const struct ap_op_detail *op = linked.op == AP_NO_ROW ? NULL : ap_row_op(trace, linked.op);
        if (op && op->signature.id)
            AP_TRY(ask_shapes(alignment, linked.op, op->signature, &shape, &by_shapes, reterr));
        if (named[name] == yes || by_shapes)
            AP_TRY(take(alignment, i, shape, by_shapes, reterr));
    }
    return AP_OK;
}

/* ---- report ---- */

static bool entry_before(const void *context, uint32_t a, uint32_t b)
{
    const struct unaligned *list = context;
    return list[a].total_ns != list[b].total_ns ? list[a].total_ns > list[b].total_ns : a < b;
}

static void add_entry(const struct alignment *alignment, const struct unaligned *entry, struct ap_model *model,
                      struct ap_value *list)
{
    const struct ap_trace *trace = alignment->work->context->trace;
    uint32_t op = ap_op_at(&alignment->work->context->facts->links, entry->first);
    const struct ap_op_detail *detail = op == AP_NO_ROW ? NULL : ap_row_op(trace, op);
    struct ap_value *row = ap_add_object(model, list, NULL);
    if (op == AP_NO_ROW)
        ap_add_null(model, row, "operator");
    else
        ap_add_text(model, row, "operator", ap_row_name(trace, op));
    if (detail && detail->signature.id) {
        struct ap_text dims, types;
        ap_trace_signature(trace, detail->signature, &dims, &types);
        ap_add_shape_text(model, row, "dims", dims);
        ap_add_shape_text(model, row, "types", types);
    } else {
        ap_add_null(model, row, "dims");
        ap_add_null(model, row, "types");
    }
    ap_add_text(model, row, "kernel", ap_trace_text(trace, entry->kernel));
    ap_add_string(model, row, "told_by", !entry->by_shapes ? "kernel" : entry->by_name ? "kernel and shapes" : "shapes");
    ap_add_count(model, row, "count", entry->count);
    ap_add_time(model, row, "total_dur_us", entry->total_ns);
    ap_add_place(trace, entry->longest, model, ap_add_object(model, row, "longest"));
}

static enum ap_status report(const struct alignment *alignment, struct ap_model *model, struct ap_value *to,
                             struct ap_error *reterr)
{
    struct ap_gate *gate = alignment->groups.gate;
    struct ap_value *list = ap_add_list(model, to, "top");
    uint32_t *top;
    size_t count;
    AP_TRY(ap_top_indices(gate, alignment->groups.count, alignment->work->context->options->top_n, entry_before,
                          alignment->list, &top, &count, reterr));
    for (size_t i = 0; i < count; i++)
        add_entry(alignment, &alignment->list[top[i]], model, list);
    AP_FREE(gate, top, count);
    return AP_OK;
}

enum ap_status ap_gpu_add_alignment(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                                    struct ap_error *reterr)
{
    struct ap_gate *gate = work->context->gate;
    struct alignment alignment = { .work = work, .shapes = { .gate = gate }, .groups = { .gate = gate } };
    size_t name_count = ap_trace_id_count(work->context->trace);
    uint8_t *named = ap_mem_cleared(gate, name_count); /* by name id */
    enum ap_status status = named ? find(&alignment, named, reterr) : ap_fail_memory(gate, reterr);
    struct ap_value *to = ap_add_object(model, gpu, "unaligned_gemm");
    ap_model_keep_time(model, "gpu.unaligned_gemm", &alignment.time);
    ap_add_count(model, to, "count", alignment.count);
    ap_add_time(model, to, "total_dur_us", alignment.total_ns);
    ap_add_quotient(model, to, "busy_ratio", (double)alignment.total_ns, (double)work->totals.busy_ns);
    AP_AND_THEN(status, report(&alignment, model, to, reterr));
    ap_mem_free(gate, named, name_count);
    ap_mem_free(gate, alignment.told, alignment.told_bytes);
    AP_FREE(gate, alignment.list, alignment.list_bytes);
    ap_pair_map_release(&alignment.shapes);
    ap_pair_map_release(&alignment.groups);
    return status;
}
