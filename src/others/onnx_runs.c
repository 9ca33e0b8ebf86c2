/* SPDX-License-Identifier: MIT
 * onnx_runs.c - what the events come to: nodes without those inside them, runs with the time in which no node ran, sums by
 * node, operator and provider. Every pass is linear but for one sort. */
#include "onnx_profile.h"
#include "sort.h"

#include "poison.h"

/* ------------------------------------------------------------------------------------------------------------ order */

static bool is_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_onnx_event *events = context, *left = &events[a], *right = &events[b];
    AP_SMALLER_FIRST(left->session, right->session);
    AP_SMALLER_FIRST(left->tid.id, right->tid.id);
    AP_SMALLER_FIRST(left->start_ns, right->start_ns);
    AP_LARGER_FIRST(left->dur_ns, right->dur_ns);
    return a < b;
}

static bool starts_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_onnx_event *events = context;
    AP_SMALLER_FIRST(events[a].start_ns, events[b].start_ns);
    return a < b;
}

static enum ap_status order_nodes(struct ap_onnx *onnx, struct ap_error *reterr)
{
    if (!onnx->count)
        return AP_OK;
    AP_TRY(AP_ALLOC(onnx->gate, onnx->order, onnx->count, reterr));
    for (size_t i = 0; i < onnx->count; i++)
        if (onnx->events[i].kind == AP_ONNX_NODE)
            onnx->order[onnx->node_count++] = (uint32_t)i;
    return ap_sort_list(onnx->gate, onnx->order, onnx->node_count, is_before, onnx->events, reterr);
}

/* A node that holds a graph of its own (Loop, If, Scan) lasts as long as the nodes inside it. */
static enum ap_status find_self(struct ap_onnx *onnx, struct ap_error *reterr)
{
    uint32_t *open;
    size_t depth = 0;
    if (!onnx->node_count)
        return AP_OK;
    AP_TRY(AP_ALLOC(onnx->gate, open, onnx->node_count, reterr));
    for (size_t i = 0; i < onnx->node_count; i++) {
        struct ap_onnx_event *node = &onnx->events[onnx->order[i]];
        node->self_ns = node->dur_ns;
        for (; depth; depth--) {
            const struct ap_onnx_event *outer = &onnx->events[open[depth - 1]];
            if (outer->session == node->session && outer->tid.id == node->tid.id &&
                node->start_ns < outer->start_ns + outer->dur_ns)
                break;
        }
        if (depth) {
            struct ap_onnx_event *outer = &onnx->events[open[depth - 1]];
            outer->self_ns = outer->self_ns > node->dur_ns ? outer->self_ns - node->dur_ns : 0;
            outer->signs |= 1 << AP_ONNX_HOLDS;
        }
        open[depth++] = onnx->order[i];
    }
    AP_FREE(onnx->gate, open, onnx->node_count);
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------- runs */

/* Stretches in which any node ran, one behind the other, and how much of them lies before each. */
struct cover {
    int64_t *starts_ns, *ends_ns, *before_ns;
    size_t count;
};

static void add_stretch(struct cover *cover, int64_t start_ns, int64_t end_ns)
{
    size_t last = cover->count;
    if (last && start_ns <= cover->ends_ns[last - 1]) {
        cover->ends_ns[last - 1] = end_ns > cover->ends_ns[last - 1] ? end_ns : cover->ends_ns[last - 1];
        return;
    }
    cover->before_ns[last] = last ? cover->before_ns[last - 1] + cover->ends_ns[last - 1] - cover->starts_ns[last - 1] : 0;
    cover->starts_ns[last] = start_ns;
    cover->ends_ns[last] = end_ns;
    cover->count++;
}

static int64_t covered_before(const struct cover *cover, int64_t at_ns)
{
    size_t behind = 0;
    AP_BISECT(behind, cover->count, at, cover->starts_ns[at] <= at_ns);
    if (!behind)
        return 0;
    int64_t start_ns = cover->starts_ns[behind - 1], end_ns = cover->ends_ns[behind - 1];
    return cover->before_ns[behind - 1] + (at_ns < end_ns ? at_ns : end_ns) - start_ns;
}

/* Nodes stand first in the order already; kernels go behind them. */
static size_t add_kernels(const struct ap_onnx *onnx, uint32_t *order)
{
    size_t count = onnx->node_count;
    for (size_t i = 0; i < onnx->count; i++)
        if (onnx->events[i].kind == AP_ONNX_KERNEL)
            order[count++] = (uint32_t)i;
    return count;
}

static enum ap_status find_cover(const struct ap_onnx *onnx, uint32_t *order, size_t count, struct cover *cover,
                                 struct ap_error *reterr)
{
    AP_TRY(AP_ALLOC(onnx->gate, cover->starts_ns, count, reterr));
    AP_TRY(AP_ALLOC(onnx->gate, cover->ends_ns, count, reterr));
    AP_TRY(AP_ALLOC(onnx->gate, cover->before_ns, count, reterr));
    AP_TRY(ap_sort_list(onnx->gate, order, count, starts_before, onnx->events, reterr));
    for (size_t i = 0; i < count; i++) {
        const struct ap_onnx_event *node = &onnx->events[order[i]];
        if (!(node->signs & 1 << AP_ONNX_HOLDS)) /* going round is no work: only what runs inside is */
            add_stretch(cover, node->start_ns, node->start_ns + node->dur_ns);
    }
    return AP_OK;
}

static int by_start(const void *left, const void *right)
{
    const struct ap_onnx_run *a = left, *b = right;
    AP_BY_SMALLER(a->session, b->session);
    AP_BY_SMALLER(a->start_ns, b->start_ns);
    AP_BY_SMALLER(a->dur_ns, b->dur_ns);
    return 0;
}

static void mark_first_runs(struct ap_onnx *onnx)
{
    for (size_t i = 0; i < onnx->run_count; i++) {
        struct ap_onnx_session *session = &onnx->sessions[onnx->runs[i].session];
        onnx->runs[i].is_first = !session->runs++;
        if (onnx->runs[i].is_first)
            session->first_ns = onnx->runs[i].dur_ns;
        session->run_ns = ap_add_sat(session->run_ns, onnx->runs[i].dur_ns, &onnx->overflowed);
    }
}

static enum ap_status find_runs(struct ap_onnx *onnx, struct ap_error *reterr)
{
    struct cover cover = { .count = 0 };
    size_t count = 0;
    for (size_t i = 0; i < onnx->count; i++)
        count += onnx->events[i].kind == AP_ONNX_RUN;
    if (!count)
        return AP_OK;
    AP_TRY(AP_ALLOC(onnx->gate, onnx->runs, count, reterr));
    onnx->run_count = count;
    count = 0;
    for (size_t i = 0; i < onnx->count; i++)
        if (onnx->events[i].kind == AP_ONNX_RUN)
            onnx->runs[count++] =
                (struct ap_onnx_run){ onnx->events[i].start_ns, onnx->events[i].dur_ns, -1, onnx->events[i].session, false };
    ap_sort(onnx->runs, onnx->run_count, sizeof(onnx->runs[0]), by_start);
    mark_first_runs(onnx);
    if (!onnx->node_count || onnx->is_untimed)
        return AP_OK;
    size_t busy_count = add_kernels(onnx, onnx->order);
    enum ap_status status = find_cover(onnx, onnx->order, busy_count, &cover, reterr);
    for (size_t i = 0; status == AP_OK && i < onnx->run_count; i++) {
        struct ap_onnx_run *run = &onnx->runs[i];
        run->outside_ns =
            run->dur_ns - (covered_before(&cover, run->start_ns + run->dur_ns) - covered_before(&cover, run->start_ns));
    }
    AP_FREE(onnx->gate, cover.starts_ns, busy_count);
    AP_FREE(onnx->gate, cover.ends_ns, busy_count);
    AP_FREE(onnx->gate, cover.before_ns, busy_count);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- sums */

static enum ap_status add_to(struct ap_onnx *onnx, struct ap_onnx_groups *groups, uint32_t a, uint32_t b,
                             const struct ap_onnx_event *event, uint32_t *ret_number, struct ap_error *reterr)
{
    uint32_t number, before = groups->map.count;
    AP_TRY(ap_pair_map_add(&groups->map, a, b, &number, reterr));
    AP_TRY(AP_RESERVE(onnx->gate, groups->list, groups->capacity, groups->map.count, reterr));
    struct ap_onnx_group *group = &groups->list[number];
    if (groups->map.count > before)
        *group = (struct ap_onnx_group){ .name = event->name,
                                         .op = event->op,
                                         .provider = event->provider,
                                         .shape = event->shape,
                                         .first_ns = event->self_ns };
    group->calls++;
    group->total_ns = ap_add_sat(group->total_ns, event->self_ns, &onnx->overflowed);
    group->max_ns = event->self_ns > group->max_ns ? event->self_ns : group->max_ns;
    group->changes = group->changes || group->shape.id != event->shape.id;
    if (ret_number)
        *ret_number = number;
    return AP_OK;
}

static void add_signs(struct ap_onnx *onnx, const struct ap_onnx_event *node, struct ap_onnx_group *group)
{
    for (size_t i = 0; i < AP_ONNX_SIGN_COUNT_; i++) {
        struct ap_onnx_sum *sum = &onnx->signs[i];
        if (!(node->signs & 1 << i))
            continue;
        sum->nodes += !(group->signs & 1 << i);
        sum->calls++;
        sum->total_ns = ap_add_sat(sum->total_ns, node->self_ns, &onnx->overflowed);
    }
    group->signs |= node->signs;
}

static enum ap_status add_node(struct ap_onnx *onnx, const struct ap_onnx_event *node, struct ap_error *reterr)
{
    struct ap_onnx_session *session = &onnx->sessions[node->session];
    uint32_t nodes = onnx->by_node.map.count, number, operator, provider, where;
    AP_TRY(ap_pair_map_add(&onnx->graph_providers, session->graph, node->provider.id, &where, reterr));
    AP_TRY(add_to(onnx, &onnx->by_node, node->name.id, where, node, &number, reterr));
    onnx->by_node.list[number].graph = session->graph;
    session->node_ns = ap_add_sat(session->node_ns, node->self_ns, &onnx->overflowed);
    add_signs(onnx, node, &onnx->by_node.list[number]);
    AP_TRY(add_to(onnx, &onnx->by_operator, node->op.id, node->provider.id, node, &operator, reterr));
    AP_TRY(add_to(onnx, &onnx->by_provider, node->provider.id, 0, node, &provider, reterr));
    bool is_new = onnx->by_node.map.count > nodes;
    onnx->by_operator.list[operator].nodes += is_new;
    onnx->by_provider.list[provider].nodes += is_new;
    onnx->node_ns = ap_add_sat(onnx->node_ns, node->self_ns, &onnx->overflowed);
    return AP_OK;
}

static enum ap_status sum_event(struct ap_onnx *onnx, struct ap_onnx_event *event, struct ap_error *reterr)
{
    struct ap_onnx_session *session = &onnx->sessions[event->session];
    int64_t end_ns = event->start_ns + event->dur_ns;
    onnx->start_ns = event->start_ns < onnx->start_ns ? event->start_ns : onnx->start_ns;
    onnx->end_ns = end_ns > onnx->end_ns ? end_ns : onnx->end_ns;
    switch ((enum ap_onnx_kind)event->kind) {
    case AP_ONNX_LOAD:
        onnx->load_ns = ap_add_sat(onnx->load_ns, event->dur_ns, &onnx->overflowed);
        session->load_ns = ap_add_sat(session->load_ns, event->dur_ns, &onnx->overflowed);
        break;
    case AP_ONNX_INIT:
        onnx->init_ns = ap_add_sat(onnx->init_ns, event->dur_ns, &onnx->overflowed);
        session->init_ns = ap_add_sat(session->init_ns, event->dur_ns, &onnx->overflowed);
        break;
    case AP_ONNX_FENCE: onnx->fence_ns = ap_add_sat(onnx->fence_ns, event->dur_ns, &onnx->overflowed); break;
    case AP_ONNX_NODE: return add_node(onnx, event, reterr);
    case AP_ONNX_KERNEL:
        event->self_ns = event->dur_ns;
        onnx->kernel_ns = ap_add_sat(onnx->kernel_ns, event->dur_ns, &onnx->overflowed);
        return add_to(onnx, &onnx->kernels, event->name.id, event->op.id, event, NULL, reterr);
    case AP_ONNX_RUN:
    case AP_ONNX_OTHER: break;
    }
    return AP_OK;
}

/* Their nodes last as long as launching takes, and the run waits at its end. Others compute before they return. */
static bool only_launches(struct ap_text provider)
{
    static const char *const providers[] = {
        "CUDA", "ROCM", "Tensorrt", "NvTensorRTRTX", "MIGraphX", "Dml", "WebGpu", "Js"
    };
    for (size_t i = 0; i < AP_COUNT_OF(providers); i++)
        if (ap_text_starts_with(provider, providers[i]))
            return true;
    return false;
}

static void find_untimed(struct ap_onnx *onnx)
{
    for (uint32_t i = 0; i < onnx->by_provider.map.count && !onnx->kernels.map.count; i++)
        onnx->is_untimed |= only_launches(ap_strpool_text(&onnx->strings, onnx->by_provider.list[i].provider));
}

enum ap_status ap_onnx_find(struct ap_onnx *onnx, struct ap_error *reterr)
{
    onnx->start_ns = onnx->count ? onnx->events[0].start_ns : 0;
    onnx->end_ns = onnx->start_ns;
    AP_TRY(order_nodes(onnx, reterr));
    AP_TRY(find_self(onnx, reterr));
    AP_TRY(ap_onnx_find_graphs(onnx, reterr));
    ap_onnx_find_unfused(onnx);
    for (size_t i = 0; i < onnx->count; i++)
        AP_TRY(sum_event(onnx, &onnx->events[i], reterr));
    find_untimed(onnx);
    return find_runs(onnx, reterr);
}
