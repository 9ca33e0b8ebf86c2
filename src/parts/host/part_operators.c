/* SPDX-License-Identifier: MIT
 * report_operators.c - operators with the GPU work they launched, by name, by input shapes, by family. */
#include "host_part.h"
#include "shape_text.h"
#include "sort.h"
#include "tensor_layout.h"

#include "poison.h"

struct ranking {
    const struct ap_trace *trace;
    const struct ap_host_work *work;
};

/* ----------------------------------------------------------------------------------------------------- by name */

static bool op_before(const void *data, uint32_t a, uint32_t b)
{
    const struct ranking *ranking = data;
    const struct ap_op_cost x = ap_host_op_cost(ranking->work, a), y = ap_host_op_cost(ranking->work, b);
    bool is_equal, before = ap_cost_before(ranking->trace, ranking->work, &x.cost, &y.cost, &is_equal);
    return is_equal ? a < b : before;
}

/* The line of the user's that most of an operator's own time stands under; the number of its entry. */
static enum ap_status find_top_lines(struct ap_part_context *context, const struct ap_host_work *work, uint32_t **ret_lines,
                                     struct ap_error *reterr)
{
    uint32_t *lines;
    AP_TRY(AP_ALLOC(context->gate, lines, work->op_count, reterr));
    memset(lines, 0xff, work->op_count * sizeof(lines[0]));
    for (uint32_t i = 0; i < work->op_frame_map.count; i++) {
        const struct ap_op_frame_cost *cost = &work->op_frames[i];
        uint32_t best = lines[cost->op];
        if (best == AP_PAIR_NONE || cost->device_self_ns > work->op_frames[best].device_self_ns ||
            (cost->device_self_ns == work->op_frames[best].device_self_ns &&
             cost->host_self_ns > work->op_frames[best].host_self_ns))
            lines[cost->op] = i;
    }
    *ret_lines = lines;
    return AP_OK;
}

static void add_top_line(struct ap_part_context *context, const struct ap_host_work *work, const struct ap_op_cost *op,
                         uint32_t line, struct ap_model *model, struct ap_value *row)
{
    if (line == AP_PAIR_NONE) {
        ap_add_null(model, row, "top_frame");
        ap_add_null(model, row, "top_frame_share_ratio");
        return;
    }
    const struct ap_op_frame_cost *cost = &work->op_frames[line];
    int64_t device_ns = ap_device_cost(work, &op->cost)->self_ns;
    bool by_device = device_ns > 0;
    ap_add_text(model, row, "top_frame", ap_trace_text(context->trace, work->frames[cost->frame].name));
    ap_add_quotient(model, row, "top_frame_share_ratio", (double)(by_device ? cost->device_self_ns : cost->host_self_ns),
                    (double)(by_device ? device_ns : op->cost.host_self_ns));
}

static void add_times(const struct ap_part_context *context, const struct ap_work_cost *cost, int64_t device_self_ns,
                      struct ap_model *model, struct ap_value *row)
{
    ap_add_count(model, row, "count", (int64_t)cost->calls);
    ap_add_time(model, row, "host_total_us", cost->host_total_ns);
    ap_add_time(model, row, "host_self_us", cost->host_self_ns);
    ap_add_device_time(context, model, row, "device_self_us", device_self_ns);
    ap_add_device_share(context, model, row, device_self_ns);
}

static enum ap_status add_top(struct ap_part_context *context, const struct ap_host_work *work, int64_t *ret_listed_ns,
                              struct ap_model *model, struct ap_value *operators, struct ap_error *reterr)
{
    struct ranking ranking = { context->trace, work };
    struct ap_value *list = ap_add_list(model, operators, "top");
    uint32_t *order, *lines = NULL;
    size_t count;
    *ret_listed_ns = 0;
    AP_TRY(
        ap_top_indices(context->gate, work->op_count, context->options->top_n, op_before, &ranking, &order, &count, reterr));
    enum ap_status status = find_top_lines(context, work, &lines, reterr);
    for (size_t i = 0; i < count && status == AP_OK; i++) {
        const struct ap_op_cost cost = ap_host_op_cost(work, order[i]), *op = &cost;
        const struct ap_device_cost *device = ap_device_cost(work, &op->cost);
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_text(model, row, "name", ap_trace_text(context->trace, op->cost.name));
        ap_add_string(model, row, "family", ap_op_family_name(context->facts->op_families.of_name[op->cost.name]));
        add_times(context, &op->cost, device->self_ns, model, row);
        ap_add_device_time(context, model, row, "device_total_us", device->total_ns);
        ap_add_count(model, row, "device_rows", (int64_t)device->rows);
        ap_add_known_text(model, row, "caller", op->caller != 0, ap_trace_text(context->trace, op->caller));
        add_top_line(context, work, op, lines[order[i]], model, row);
        ap_add_slowest(context, &op->cost, model, row);
        *ret_listed_ns = ap_add_sat(*ret_listed_ns, device->self_ns, &context->overflowed);
    }
    if (status == AP_OK)
        AP_FREE(context->gate, lines, work->op_count);
    AP_FREE(context->gate, order, count);
    return status;
}

/* ---------------------------------------------------------------------------------------------------- by shape */

static bool shape_before(const void *data, uint32_t a, uint32_t b)
{
    const struct ranking *ranking = data;
    const struct ap_shape_cost x = ap_host_shape_cost(ranking->work, a), y = ap_host_shape_cost(ranking->work, b);
    bool is_equal, before = ap_cost_before(ranking->trace, ranking->work, &x.cost, &y.cost, &is_equal);
    return is_equal ? a < b : before;
}

static void add_layout(const struct ap_trace *trace, const struct ap_shape_cost *shape, struct ap_text dims,
                       struct ap_model *model, struct ap_value *row)
{
    char text[AP_LAYOUT_TEXT_BYTES];
    struct ap_text strides = AP_TEXT(""), concrete, layout = AP_TEXT("");
    if (shape->arguments && !shape->lies_differently)
        ap_trace_signature(trace, (struct ap_str){ shape->arguments }, &strides, &concrete);
    if (strides.bytes)
        layout = ap_layout_text(dims, strides, text);
    ap_add_known_text(model, row, "layout", layout.bytes, layout);
}

static enum ap_status add_by_shape(struct ap_part_context *context, const struct ap_host_work *work, struct ap_model *model,
                                   struct ap_value *operators, struct ap_error *reterr)
{
    struct ranking ranking = { context->trace, work };
    uint32_t *order;
    size_t count;
    if (!work->shape_count) {
        ap_add_null(model, operators, "by_shape");
        ap_add_null(model, operators, "other_shapes_device_us");
        return AP_OK;
    }
    int64_t listed_ns = 0;
    struct ap_value *list = ap_add_list(model, operators, "by_shape");
    AP_TRY(ap_top_indices(context->gate, work->shape_count, context->options->top_n, shape_before, &ranking, &order, &count,
                          reterr));
    for (size_t i = 0; i < count; i++) {
        const struct ap_shape_cost shape = ap_host_shape_cost(work, order[i]);
        int64_t device_ns = ap_device_cost(work, &shape.cost)->self_ns;
        struct ap_value *row = ap_add_object(model, list, NULL);
        struct ap_text dims, types;
        ap_trace_signature(context->trace, (struct ap_str){ shape.signature }, &dims, &types);
        ap_add_text(model, row, "name", ap_trace_text(context->trace, shape.cost.name));
        ap_add_shape_text(model, row, "dims", dims);
        ap_add_shape_text(model, row, "types", types);
        add_layout(context->trace, &shape, dims, model, row);
        add_times(context, &shape.cost, device_ns, model, row);
        ap_add_slowest(context, &shape.cost, model, row);
        listed_ns = ap_add_sat(listed_ns, device_ns, &context->overflowed);
    }
    ap_add_device_time(context, model, operators, "other_shapes_device_us", work->in_ops_device_ns - listed_ns);
    AP_FREE(context->gate, order, count);
    return AP_OK;
}

/* -------------------------------------------------------------------------------------------------- by family */

/* Behind the families: what no operator launched, and what nothing in the trace launched. */
#define OUTSIDE ap_op_family_count()
#define UNLINKED (ap_op_family_count() + 1)

struct family_cost {
    uint64_t calls;
    int64_t host_self_ns, device_self_ns;
};

static bool family_before(const void *data, uint32_t a, uint32_t b)
{
    const struct family_cost *costs = data;
    AP_LARGER_FIRST(costs[a].device_self_ns, costs[b].device_self_ns);
    return costs[a].host_self_ns != costs[b].host_self_ns ? costs[a].host_self_ns > costs[b].host_self_ns : a < b;
}

static enum ap_status add_families(struct ap_part_context *context, const struct ap_host_work *work, struct ap_model *model,
                                   struct ap_value *operators, struct ap_error *reterr)
{
    struct family_cost costs[AP_OP_FAMILY_MAX + 2] = { { .calls = 0 } };
    struct ap_value *list = ap_add_list(model, operators, "families");
    uint32_t *order;
    size_t count;
    for (uint32_t i = 0; i < work->op_count; i++) {
        const struct ap_op_cost cost = ap_host_op_cost(work, i);
        const struct ap_work_cost *op = &cost.cost;
        struct family_cost *family = &costs[context->facts->op_families.of_name[op->name]];
        family->calls += op->calls;
        family->host_self_ns = ap_add_sat(family->host_self_ns, op->host_self_ns, &context->overflowed);
        family->device_self_ns = ap_add_sat(family->device_self_ns, ap_device_cost(work, op)->self_ns, &context->overflowed);
    }
    costs[OUTSIDE].device_self_ns = work->outside_ops_device_ns;
    costs[UNLINKED].device_self_ns = work->unlinked_device_ns;
    AP_TRY(ap_top_indices(context->gate, ap_op_family_count() + 2, 0, family_before, costs, &order, &count, reterr));
    for (size_t i = 0; i < count; i++) {
        const struct family_cost *family = &costs[order[i]];
        if (!family->calls && !family->device_self_ns)
            continue;
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_string(model, row, "family",
                      order[i] == OUTSIDE    ? "outside operators"
                      : order[i] == UNLINKED ? "not linked"
                                             : ap_op_family_name(order[i]));
        ap_add_count(model, row, "count", (int64_t)family->calls);
        ap_add_time(model, row, "host_self_us", family->host_self_ns);
        ap_add_quotient(model, row, "host_share_ratio", (double)family->host_self_ns, (double)work->host_self_ns);
        ap_add_device_time(context, model, row, "device_self_us", family->device_self_ns);
        ap_add_device_share(context, model, row, family->device_self_ns);
    }
    AP_FREE(context->gate, order, count);
    return AP_OK;
}

enum ap_status ap_part_operators(struct ap_part_context *context, const struct ap_host_work *work, struct ap_model *model,
                                 struct ap_value *root, struct ap_error *reterr)
{
    int64_t listed_ns;
    if (!work->op_count) {
        ap_add_null(model, root, "operators");
        return AP_OK;
    }
    struct ap_value *operators = ap_add_object(model, root, "operators");
    ap_add_count(model, operators, "names", work->op_count);
    ap_add_time(model, operators, "host_self_us", work->host_self_ns);
    ap_add_device_time(context, model, operators, "device_us", context->facts->links.total_dur_ns);
    ap_add_device_time(context, model, operators, "in_operators_device_us", work->in_ops_device_ns);
    ap_add_device_time(context, model, operators, "outside_operators_device_us", work->outside_ops_device_ns);
    ap_add_device_time(context, model, operators, "unlinked_device_us", work->unlinked_device_ns);
    AP_TRY(add_top(context, work, &listed_ns, model, operators, reterr));
    ap_add_device_time(context, model, operators, "other_operators_device_us", work->in_ops_device_ns - listed_ns);
    AP_TRY(add_by_shape(context, work, model, operators, reterr));
    return add_families(context, work, model, operators, reterr);
}
