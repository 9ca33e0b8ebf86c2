/* SPDX-License-Identifier: MIT
 * onnx_sessions.c - sessions beside each other: which of them run the same nodes, and a row for each. */
#include "onnx_profile.h"
#include "sort.h"

#include "poison.h"

/* ------------------------------------------------------------------------------------------------------------ graphs */

/* Of a number that counts up, bits that add up to another sum for another set. */
static uint64_t mixed(uint64_t number)
{
    number = (number + 1) * 0x9e3779b97f4a7c15u;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
    number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
    return number ^ (number >> 31);
}

/* Operators that no exporter writes, and names that onnxruntime/core/optimizer gives to what it makes. */
static bool is_made_by_optimization(struct ap_text op, struct ap_text name)
{
    static const char *const made[] = { "Fused", "Reorder", "QuickGelu", "BiasGelu", "BiasSoftmax", "Skip", "FastGelu" };
    for (size_t i = 0; i < AP_COUNT_OF(made); i++)
        if (ap_text_starts_with(op, made[i]))
            return true;
    return ap_text_contains(name, AP_TEXT("Fusion")) || ap_text_ends_with(name, "_nchwc");
}

struct sets {
    struct ap_pair_map nodes, members; /* name and operator; session and node */
    uint64_t *sums;                    /* by session */
};

static enum ap_status add_node(struct ap_onnx *onnx, const struct ap_onnx_event *node, struct sets *sets,
                               struct ap_error *reterr)
{
    struct ap_onnx_session *session = &onnx->sessions[node->session];
    uint32_t number, member, before = sets->members.count;
    AP_TRY(ap_pair_map_add(&sets->nodes, node->name.id, node->op.id, &number, reterr));
    AP_TRY(ap_pair_map_add(&sets->members, node->session, number, &member, reterr));
    if (sets->members.count == before)
        return AP_OK;
    session->nodes++;
    sets->sums[node->session] += mixed(number);
    session->is_optimized |=
        is_made_by_optimization(ap_strpool_text(&onnx->strings, node->op), ap_strpool_text(&onnx->strings, node->name));
    return AP_OK;
}

static enum ap_status compare(struct ap_onnx *onnx, struct sets *sets, struct ap_error *reterr)
{
    for (size_t i = 0; i < onnx->node_count; i++)
        AP_TRY(add_node(onnx, &onnx->events[onnx->order[i]], sets, reterr));
    for (size_t i = 0; i < onnx->session_count; i++)
        AP_TRY(ap_pair_map_add(&onnx->graphs, (uint32_t)sets->sums[i], (uint32_t)(sets->sums[i] >> 32),
                               &onnx->sessions[i].graph, reterr));
    return AP_OK;
}

enum ap_status ap_onnx_find_graphs(struct ap_onnx *onnx, struct ap_error *reterr)
{
    struct sets sets = { .nodes.gate = onnx->gate, .members.gate = onnx->gate };
    if (!onnx->session_count)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(onnx->gate, sets.sums, onnx->session_count, reterr));
    enum ap_status status = compare(onnx, &sets, reterr);
    ap_pair_map_release(&sets.nodes);
    ap_pair_map_release(&sets.members);
    AP_FREE(onnx->gate, sets.sums, onnx->session_count);
    return status;
}

/* -------------------------------------------------------------------------------------------------------------- rows */

/* Of the runs of a session, which lie one behind the other, but the first. */
static int64_t median_of(const struct ap_onnx *onnx, size_t first_run, uint64_t count, int64_t *durations_ns)
{
    for (uint64_t i = 1; i < count; i++)
        durations_ns[i - 1] = onnx->runs[first_run + i].dur_ns;
    return ap_time_spread_of(durations_ns, count - 1).p50_ns;
}

static void add_session(const struct ap_onnx *onnx, size_t number, int64_t median_ns, struct ap_model *model,
                        struct ap_value *list)
{
    const struct ap_onnx_session *session = &onnx->sessions[number];
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_known_text(model, row, "path", session->path.id, ap_strpool_text(&onnx->strings, session->path));
    ap_add_count(model, row, "session", (int64_t)number + 1);
    ap_add_count(model, row, "graph", (int64_t)session->graph + 1);
    ap_add_count(model, row, "nodes", (int64_t)session->nodes);
    ap_add_count(model, row, "runs", (int64_t)session->runs);
    ap_add_known_time(model, row, "load_us", session->load_ns, session->load_ns);
    ap_add_known_time(model, row, "initialization_us", session->init_ns, session->init_ns);
    ap_add_known_time(model, row, "first_us", session->runs, session->first_ns);
    ap_add_known_time(model, row, "median_us", session->runs > 1, median_ns);
    ap_add_time(model, row, "run_us", session->run_ns);
    ap_add_time(model, row, "node_us", session->node_ns);
    ap_add_quotient(model, row, "share_ratio", (double)session->node_ns, (double)onnx->node_ns);
}

enum ap_status ap_onnx_add_sessions(const struct ap_onnx *onnx, struct ap_model *model, struct ap_value *list,
                                    struct ap_error *reterr)
{
    int64_t *durations_ns = NULL;
    size_t first_run = 0;
    if (onnx->run_count)
        AP_TRY(AP_ALLOC(onnx->gate, durations_ns, onnx->run_count, reterr));
    for (size_t i = 0; i < onnx->session_count && onnx->session_count > 1; i++) {
        uint64_t runs = onnx->sessions[i].runs;
        add_session(onnx, i, runs > 1 ? median_of(onnx, first_run, runs, durations_ns) : 0, model, list);
        first_run += runs;
    }
    if (durations_ns)
        AP_FREE(onnx->gate, durations_ns, onnx->run_count);
    return AP_OK;
}
