/* SPDX-License-Identifier: MIT
 * report_autograd.c - which forward operators cost how much in backward. */
#include "host_part.h"
#include "sort.h"

#include "poison.h"

struct pair_cost {
    int64_t forward_device_ns, backward_device_ns;
};

struct ranking {
    const struct ap_trace *trace;
    const struct ap_autograd *autograd;
    const struct pair_cost *costs;
};

static int64_t work_of(const struct ap_autograd *autograd, uint32_t row)
{
    uint32_t number = ap_row_set_number(&autograd->chosen.rows, row);
    return number == AP_ROW_SET_NONE ? 0 : autograd->chosen.device_total_ns[number];
}

static struct pair_cost cost_of(const struct ap_autograd *autograd, const struct ap_autograd_pair *pair, bool *overflowed)
{
    struct pair_cost cost = { 0, 0 };
    for (uint32_t i = pair->first_node; i != AP_PAIR_NONE; i = autograd->nodes[i].next) {
        const struct ap_autograd_node *node = &autograd->nodes[i];
        cost.backward_device_ns = ap_add_sat(cost.backward_device_ns, work_of(autograd, node->row), overflowed);
        if (node->is_first)
            cost.forward_device_ns = ap_add_sat(cost.forward_device_ns, work_of(autograd, node->producer), overflowed);
    }
    return cost;
}

/* By what both cost on the GPU, then on the host. */
static bool pair_before(const void *data, uint32_t a, uint32_t b)
{
    const struct ranking *ranking = data;
    const struct ap_autograd_pair *x = &ranking->autograd->pairs[a], *y = &ranking->autograd->pairs[b];
    bool overflowed = false;
    int64_t x_ns = ap_add_sat(ranking->costs[a].forward_device_ns, ranking->costs[a].backward_device_ns, &overflowed);
    int64_t y_ns = ap_add_sat(ranking->costs[b].forward_device_ns, ranking->costs[b].backward_device_ns, &overflowed);
    AP_LARGER_FIRST(x_ns, y_ns);
    x_ns = ap_add_sat(x->forward_host_ns, x->backward_host_ns, &overflowed);
    y_ns = ap_add_sat(y->forward_host_ns, y->backward_host_ns, &overflowed);
    return x_ns != y_ns ? x_ns > y_ns : a < b;
}

static void add_pair(struct ap_part_context *context, const struct ap_autograd_pair *pair, const struct pair_cost *cost,
                     struct ap_model *model, struct ap_value *list)
{
    bool by_device = cost->forward_device_ns > 0 || cost->backward_device_ns > 0;
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_text(model, row, "forward", ap_trace_text(context->trace, pair->forward_name));
    ap_add_text(model, row, "backward", ap_autograd_node_name(context->trace, pair->backward_row));
    ap_add_count(model, row, "count", (int64_t)pair->count);
    ap_add_time(model, row, "forward_host_us", pair->forward_host_ns);
    ap_add_time(model, row, "backward_host_us", pair->backward_host_ns);
    ap_add_device_time(context, model, row, "forward_device_us", cost->forward_device_ns);
    ap_add_device_time(context, model, row, "backward_device_us", cost->backward_device_ns);
    ap_add_quotient(model, row, "backward_over_forward_ratio",
                    (double)(by_device ? cost->backward_device_ns : pair->backward_host_ns),
                    (double)(by_device ? cost->forward_device_ns : pair->forward_host_ns));
    ap_add_place(context->trace, pair->backward_row, model, ap_add_object(model, row, "first"));
}

static enum ap_status add_pairs(struct ap_part_context *context, const struct ap_autograd *autograd,
                                const struct pair_cost *costs, struct ap_model *model, struct ap_value *parent,
                                struct ap_error *reterr)
{
    struct ranking ranking = { context->trace, autograd, costs };
    struct ap_value *list = ap_add_list(model, parent, "by_forward_op");
    uint32_t *order;
    size_t count;
    AP_TRY(ap_top_indices(context->gate, autograd->pair_map.count, context->options->top_n, pair_before, &ranking, &order,
                          &count, reterr));
    for (size_t i = 0; i < count; i++)
        add_pair(context, &autograd->pairs[order[i]], &costs[order[i]], model, list);
    AP_FREE(context->gate, order, count);
    return AP_OK;
}

static void add_summary(struct ap_part_context *context, const struct ap_autograd *autograd, const struct pair_cost *costs,
                        struct ap_model *model, struct ap_value *to)
{
    struct pair_cost all = { 0, 0 };
    for (uint32_t i = 0; i < autograd->pair_map.count; i++) {
        all.forward_device_ns = ap_add_sat(all.forward_device_ns, costs[i].forward_device_ns, &context->overflowed);
        all.backward_device_ns = ap_add_sat(all.backward_device_ns, costs[i].backward_device_ns, &context->overflowed);
    }
    ap_add_count(model, to, "backward_nodes", (int64_t)autograd->node_count);
    ap_add_count(model, to, "linked_nodes", (int64_t)autograd->linked_count);
    ap_add_quotient(model, to, "linked_ratio", (double)autograd->linked_count, (double)autograd->node_count);
    ap_add_count(model, to, "ambiguous_count", (int64_t)autograd->ambiguous_count);
    ap_add_device_time(context, model, to, "forward_device_us", all.forward_device_ns);
    ap_add_device_time(context, model, to, "backward_device_us", all.backward_device_ns);
}

enum ap_status ap_part_autograd(struct ap_part_context *context, const struct ap_autograd *autograd, struct ap_model *model,
                                struct ap_value *root, struct ap_error *reterr)
{
    size_t count = autograd->pair_map.count, bytes = count * sizeof(struct pair_cost);
    if (!autograd->node_count) {
        ap_add_null(model, root, "autograd");
        return AP_OK;
    }
    struct ap_value *parent = ap_add_object(model, root, "autograd");
    struct pair_cost *costs = NULL;
    if (count && !(costs = ap_mem_resize(context->gate, NULL, 0, bytes)))
        return ap_fail_memory(context->gate, reterr);
    for (size_t i = 0; i < count; i++)
        costs[i] = cost_of(autograd, &autograd->pairs[i], &context->overflowed);
    add_summary(context, autograd, costs, model, parent);
    enum ap_status status = add_pairs(context, autograd, costs, model, parent, reterr);
    ap_mem_free(context->gate, costs, bytes);
    return status;
}
