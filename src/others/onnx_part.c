/* SPDX-License-Identifier: MIT
 * onnx_part.c - the key "onnxruntime". */
#include <stdio.h>
#include <string.h>

#include "onnx_profile.h"
#include "sort.h"

#include "poison.h"

#define OUTSIDE_BOUND 0.4  /* of the time of the runs: more than that is overhead first of all */
#define FALLBACK_BOUND 0.3 /* likewise, of copies and of nodes on the processor */

static struct ap_text text_of(const struct ap_onnx *onnx, struct ap_str text)
{
    return ap_strpool_text(&onnx->strings, text);
}

static void add_name(const struct ap_onnx *onnx, struct ap_model *model, struct ap_value *to, const char *key,
                     struct ap_str name)
{
    ap_add_known_text(model, to, key, name.id && text_of(onnx, name).bytes, text_of(onnx, name));
}

/* ------------------------------------------------------------------------------------------------------------- runs */

struct runs {
    struct ap_time_spread warm;
    int64_t first_ns, span_ns, total_ns, outside_ns, judged_ns; /* judged: those that outside_ns is of */
    bool is_of_one_graph;
};

static void add_run(struct ap_onnx *onnx, const struct ap_onnx_run *run, struct runs *runs)
{
    runs->total_ns = ap_add_sat(runs->total_ns, run->dur_ns, &onnx->overflowed);
    if (run->is_first && onnx->run_count > onnx->session_count)
        return;
    runs->judged_ns = ap_add_sat(runs->judged_ns, run->dur_ns, &onnx->overflowed);
    runs->outside_ns = ap_add_sat(runs->outside_ns, run->outside_ns > 0 ? run->outside_ns : 0, &onnx->overflowed);
}

/* From the start of the first to the end of the last run of each session. */
static int64_t span_of(const struct ap_onnx *onnx)
{
    int64_t span_ns = 0, start_ns = 0, end_ns = 0;
    for (size_t i = 0; i < onnx->run_count; i++) {
        const struct ap_onnx_run *run = &onnx->runs[i];
        if (run->is_first) {
            span_ns += end_ns - start_ns;
            start_ns = end_ns = run->start_ns;
        }
        end_ns = run->start_ns + run->dur_ns > end_ns ? run->start_ns + run->dur_ns : end_ns;
    }
    return span_ns + end_ns - start_ns;
}

/* The first run of a session takes memory, chooses kernels and copies weights; alone, it is all that there is. How long
 * runs of different graphs take is no one figure. */
static enum ap_status judge_runs(struct ap_onnx *onnx, struct runs *runs, struct ap_error *reterr)
{
    int64_t *durations_ns;
    size_t first_count = 0, warm_count = 0;
    runs->is_of_one_graph = onnx->graphs.count == 1;
    if (!onnx->run_count)
        return AP_OK;
    AP_TRY(AP_ALLOC(onnx->gate, durations_ns, onnx->run_count, reterr));
    for (size_t i = 0; i < onnx->run_count; i++) {
        add_run(onnx, &onnx->runs[i], runs);
        first_count += onnx->runs[i].is_first;
    }
    for (size_t i = 0, firsts = 0; i < onnx->run_count; i++)
        durations_ns[onnx->runs[i].is_first ? firsts++ : first_count + warm_count++] = onnx->runs[i].dur_ns;
    runs->span_ns = span_of(onnx);
    if (runs->is_of_one_graph) {
        runs->first_ns = ap_time_spread_of(durations_ns, first_count).p50_ns;
        runs->warm = ap_time_spread_of(durations_ns + first_count, warm_count);
    }
    AP_FREE(onnx->gate, durations_ns, onnx->run_count);
    return AP_OK;
}

static void add_runs(const struct ap_onnx *onnx, const struct runs *runs, struct ap_model *model, struct ap_value *parent)
{
    struct ap_value *to = ap_add_object(model, parent, "runs");
    bool any = onnx->run_count, warm = runs->warm.count, nodes = onnx->node_count && any && !onnx->is_untimed;
    int64_t excess_ns = runs->first_ns - runs->warm.p50_ns;
    ap_add_count(model, to, "count", (int64_t)onnx->run_count);
    ap_add_known_time(model, to, "total_us", any, runs->total_ns);
    ap_add_number_per(model, to, "per_session", (double)onnx->run_count, (double)onnx->session_count);
    ap_add_known_time(model, to, "first_us", any && runs->is_of_one_graph, runs->first_ns);
    ap_add_known_time(model, to, "first_excess_us", warm, excess_ns > 0 ? excess_ns : 0);
    ap_add_known_number(model, to, "first_times", warm && runs->warm.p50_ns > 0,
                        (double)runs->first_ns / (double)(runs->warm.p50_ns > 0 ? runs->warm.p50_ns : 1));
    ap_time_spread_add(&runs->warm, model, to, "warm");
    ap_add_known_time(model, to, "outside_us", nodes, runs->outside_ns);
    ap_add_known_ratio(model, to, "outside_ratio", nodes && runs->judged_ns > 0,
                       (double)runs->outside_ns / (double)(runs->judged_ns > 0 ? runs->judged_ns : 1));
    ap_add_number_per(model, to, "per_s", (double)onnx->run_count, any ? (double)runs->span_ns / 1e9 : 0);
    ap_add_number_per(model, to, "at_a_time", (double)runs->total_ns, any ? (double)runs->span_ns : 0);
}

/* ----------------------------------------------------------------------------------------------------------- groups */

static bool is_larger(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_onnx_group *groups = context;
    AP_LARGER_FIRST(groups[a].total_ns, groups[b].total_ns);
    AP_LARGER_FIRST(groups[a].calls, groups[b].calls);
    return a < b;
}

enum rows { ROWS_nodes, ROWS_operators, ROWS_providers, ROWS_kernels };

static void add_group(const struct ap_onnx *onnx, const struct ap_onnx_group *group, enum rows rows, struct ap_model *model,
                      struct ap_value *list)
{
    struct ap_value *row = ap_add_object(model, list, NULL);
    int64_t whole_ns = rows == ROWS_kernels ? onnx->kernel_ns : onnx->node_ns;
    if (rows == ROWS_nodes || rows == ROWS_kernels)
        add_name(onnx, model, row, "name", group->name);
    if (rows == ROWS_nodes && onnx->graphs.count > 1)
        ap_add_count(model, row, "graph", (int64_t)group->graph + 1);
    if (rows != ROWS_providers)
        add_name(onnx, model, row, "operator", group->op);
    if (rows != ROWS_kernels)
        add_name(onnx, model, row, "provider", group->provider);
    if (rows == ROWS_operators || rows == ROWS_providers)
        ap_add_count(model, row, "nodes", (int64_t)group->nodes);
    ap_add_count(model, row, "calls", (int64_t)group->calls);
    ap_add_time(model, row, "total_us", group->total_ns);
    ap_add_time(model, row, "mean_us", group->total_ns / (int64_t)group->calls);
    if (rows == ROWS_nodes)
        ap_add_time(model, row, "first_us", group->first_ns);
    ap_add_time(model, row, "max_us", group->max_ns);
    ap_add_quotient(model, row, "share_ratio", (double)group->total_ns, (double)whole_ns);
    if (rows == ROWS_nodes) {
        ap_add_bool(model, row, "shapes_change", group->changes);
        add_name(onnx, model, row, "shapes", group->shape);
    }
}

static enum ap_status add_rows(const struct ap_onnx *onnx, const struct ap_onnx_groups *groups, enum rows rows,
                               const char *key, uint64_t top_n, struct ap_model *model, struct ap_value *parent,
                               struct ap_error *reterr)
{
    uint32_t *order = NULL;
    size_t count = 0;
    struct ap_value *list = ap_add_list(model, parent, key);
    AP_TRY(ap_top_indices(onnx->gate, groups->map.count, top_n, is_larger, groups->list, &order, &count, reterr));
    for (size_t i = 0; i < count; i++)
        add_group(onnx, &groups->list[order[i]], rows, model, list);
    AP_FREE(onnx->gate, order, count);
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------- sums */

static void add_to_sum(struct ap_onnx_sum *sum, const struct ap_onnx_group *group)
{
    bool overflowed = false;
    sum->nodes += group->nodes;
    sum->calls += group->calls;
    sum->total_ns = ap_add_sat(sum->total_ns, group->total_ns, &overflowed);
}

static bool is_one_of(struct ap_text text, const char *const *words)
{
    for (; *words; words++)
        if (ap_text_is(text, *words))
            return true;
    return false;
}

struct sums {
    struct ap_onnx_sum fallback, copies, conversions, batch_norms, convolutions, quantization, quantized, reorders;
    struct ap_str accelerator;
};

static bool is_on_processor(const struct ap_onnx *onnx, const struct ap_onnx_group *group)
{
    return ap_text_is(text_of(onnx, group->provider), "CPUExecutionProvider");
}

/* The provider beside the processor's that has most nodes; absent: there is none. */
static struct ap_str find_accelerator(const struct ap_onnx *onnx)
{
    const struct ap_onnx_group *found = NULL;
    for (uint32_t i = 0; i < onnx->by_provider.map.count; i++) {
        const struct ap_onnx_group *group = &onnx->by_provider.list[i];
        if (group->provider.id && !is_on_processor(onnx, group) && (!found || group->nodes > found->nodes))
            found = group;
    }
    return found ? found->provider : (struct ap_str){ 0 };
}

/* Operators that compute in few bits: QLinearConv, MatMulInteger, DynamicQuantizeMatMul, QAttention, MatMulNBits. */
static bool is_quantized(struct ap_text op)
{
    return ap_text_starts_with(op, "QLinear") || ap_text_starts_with(op, "DynamicQuantize") ||
           ap_text_is(op, "QAttention") || ap_text_is(op, "QGemm") || ap_text_is(op, "QMoE") ||
           ap_text_ends_with(op, "NBits") || ap_text_contains(op, (struct ap_text){ "Integer", 7 });
}

static void sum_operators(const struct ap_onnx *onnx, struct sums *sums)
{
    static const char *const copies[] = { "MemcpyToHost", "MemcpyFromHost", NULL };
    static const char *const conversions[] = { "Cast", "Transpose", "QuantizeLinear", "DequantizeLinear", NULL };
    static const char *const reorders[] = { "ReorderInput", "ReorderOutput", NULL };
    static const char *const quantization[] = { "QuantizeLinear", "DequantizeLinear", NULL };
    static const char *const convolutions[] = { "Conv", "FusedConv", "ConvTranspose", NULL };
    sums->accelerator = find_accelerator(onnx);
    for (uint32_t i = 0; i < onnx->by_operator.map.count; i++) {
        const struct ap_onnx_group *group = &onnx->by_operator.list[i];
        struct ap_text op = text_of(onnx, group->op);
        bool is_copy = is_one_of(op, copies);
        if (is_copy)
            add_to_sum(&sums->copies, group);
        if (sums->accelerator.id && !is_copy && is_on_processor(onnx, group))
            add_to_sum(&sums->fallback, group);
        if (is_one_of(op, conversions))
            add_to_sum(&sums->conversions, group);
        if (is_one_of(op, reorders))
            add_to_sum(&sums->reorders, group);
        if (is_one_of(op, quantization))
            add_to_sum(&sums->quantization, group);
        if (is_quantized(op))
            add_to_sum(&sums->quantized, group);
        if (ap_text_is(op, "BatchNormalization"))
            add_to_sum(&sums->batch_norms, group);
        if (is_one_of(op, convolutions))
            add_to_sum(&sums->convolutions, group);
    }
}

static void add_sum(const struct ap_onnx *onnx, const struct ap_onnx_sum *sum, const char *key, struct ap_model *model,
                    struct ap_value *parent)
{
    struct ap_value *to = ap_add_object(model, parent, key);
    ap_add_count(model, to, "nodes", (int64_t)sum->nodes);
    ap_add_count(model, to, "calls", (int64_t)sum->calls);
    ap_add_number_per(model, to, "calls_per_run", (double)sum->calls, (double)onnx->run_count);
    ap_add_time(model, to, "total_us", sum->total_ns);
    ap_add_known_time(model, to, "mean_us", sum->calls, sum->calls ? sum->total_ns / (int64_t)sum->calls : 0);
    ap_add_quotient(model, to, "share_ratio", (double)sum->total_ns, (double)onnx->node_ns);
}

static void add_sums(const struct ap_onnx *onnx, const struct sums *sums, struct ap_model *model, struct ap_value *parent)
{
    struct ap_onnx_sum all = { onnx->by_node.map.count, onnx->node_count, onnx->node_ns };
    add_name(onnx, model, parent, "accelerator", sums->accelerator);
    ap_add_bool(model, parent, "untimed_device", onnx->is_untimed);
    add_sum(onnx, &all, "nodes", model, parent);
    add_sum(onnx, &sums->fallback, "fallback", model, parent);
    add_sum(onnx, &sums->copies, "copies", model, parent);
    add_sum(onnx, &sums->conversions, "conversions", model, parent);
    add_sum(onnx, &sums->batch_norms, "batch_norms", model, parent);
    add_sum(onnx, &sums->reorders, "reorders", model, parent);
    add_sum(onnx, &sums->quantization, "quantization", model, parent);
    add_sum(onnx, &onnx->signs[AP_ONNX_CAST_IN], "inserted_casts", model, parent);
    add_sum(onnx, &onnx->signs[AP_ONNX_UNFUSED], "unfused", model, parent);
    add_sum(onnx, &onnx->signs[AP_ONNX_HOLDS], "loops", model, parent);
    ap_add_count(model, parent, "unoptimized_nodes", (int64_t)onnx->signs[AP_ONNX_LEFT].nodes);
    ap_add_count(model, parent, "quantized_nodes", (int64_t)sums->quantized.nodes);
    ap_add_count(model, parent, "convolution_nodes", (int64_t)sums->convolutions.nodes);
}

static void add_top_operator(const struct ap_onnx *onnx, struct ap_model *model, struct ap_value *to)
{
    int64_t most_ns = 0;
    for (uint32_t i = 0; i < onnx->by_operator.map.count; i++)
        most_ns = onnx->by_operator.list[i].total_ns > most_ns ? onnx->by_operator.list[i].total_ns : most_ns;
    ap_add_known_time(model, to, "top_operator_us", onnx->by_operator.map.count, most_ns);
    ap_add_quotient(model, to, "top_operator_ratio", (double)most_ns, (double)onnx->node_ns);
}

static void add_shapes(const struct ap_onnx *onnx, struct ap_model *model, struct ap_value *parent)
{
    struct ap_value *to = ap_add_object(model, parent, "shapes");
    uint32_t changing = 0, known = 0;
    for (uint32_t i = 0; i < onnx->by_node.map.count; i++) {
        known += onnx->by_node.list[i].shape.id != 0;
        changing += onnx->by_node.list[i].shape.id && onnx->by_node.list[i].changes;
    }
    ap_add_known_count(model, to, "nodes", known, known);
    ap_add_known_count(model, to, "changing_nodes", known, changing);
    ap_add_quotient(model, to, "changing_ratio", changing, known);
}

static unsigned count_cores(const struct ap_onnx_pool *pool)
{
    unsigned count = 0;
    for (size_t i = 0; i < AP_ONNX_CORE_WORDS; i++)
        for (uint64_t rest = pool->cores[i]; rest; rest &= rest - 1)
            count++;
    return count;
}

static void add_pool(const struct ap_onnx *onnx, struct ap_model *model, struct ap_value *parent)
{
    const struct ap_onnx_pool *pool = &onnx->pool;
    const struct ap_onnx_sum *helped = &onnx->signs[AP_ONNX_HELPED], *shared = &onnx->signs[AP_ONNX_SHARED];
    struct ap_value *to = ap_add_object(model, parent, "threads");
    bool known = pool->nodes, is_alone = pool->alone_nodes && pool->alone_nodes == onnx->node_count;
    unsigned cores = count_cores(pool);
    double all_ns = (double)pool->run_ns + (double)pool->wait_ns + (double)pool->other_ns;
    ap_add_known_count(model, to, "count", known || is_alone, known ? pool->threads : 1);
    ap_add_known_count(model, to, "cores", cores, cores);
    ap_add_known_time(model, to, "run_us", known, pool->run_ns);
    ap_add_known_time(model, to, "wait_us", known, pool->wait_ns);
    ap_add_quotient(model, to, "wait_ratio", (double)pool->wait_ns, all_ns);
    ap_add_quotient(model, to, "helped_ratio", (double)helped->total_ns, known ? (double)onnx->node_ns : 0);
    ap_add_known_time(model, to, "shared_us", helped->calls && cores, shared->total_ns);
    ap_add_quotient(model, to, "shared_ratio", (double)shared->total_ns, cores ? (double)helped->total_ns : 0);
}

static void add_stages(const struct ap_onnx *onnx, struct ap_model *model, struct ap_value *to)
{
    uint64_t most = 0;
    for (size_t i = 0; i < onnx->session_count; i++)
        most = onnx->sessions[i].events > most ? onnx->sessions[i].events : most;
    ap_add_count(model, to, "files", (int64_t)onnx->session_count);
    ap_add_count(model, to, "graphs", (int64_t)onnx->graphs.count);
    ap_add_count(model, to, "events", (int64_t)most);
    ap_add_time(model, to, "window_us", onnx->end_ns - onnx->start_ns);
    ap_add_known_time(model, to, "load_us", onnx->load_ns, onnx->load_ns);
    ap_add_known_time(model, to, "initialization_us", onnx->init_ns, onnx->init_ns);
    ap_add_known_time(model, to, "fence_us", onnx->fence_ns, onnx->fence_ns);
}

/* ---------------------------------------------------------------------------------------------------------- verdict */

static const char *bound_of(const struct ap_onnx *onnx, const struct runs *runs, const struct sums *sums, double outside)
{
    double nodes_ns = onnx->node_ns > 0 ? (double)onnx->node_ns : 1;
    double whole_ns = onnx->is_untimed && runs->total_ns > 0 ? (double)runs->total_ns : nodes_ns;
    if (outside > OUTSIDE_BOUND)
        return "overhead-bound";
    if ((double)sums->fallback.total_ns + (double)sums->copies.total_ns > FALLBACK_BOUND * whole_ns)
        return "fallback-bound";
    if ((double)onnx->kernel_ns > nodes_ns)
        return "GPU-bound";
    return onnx->is_untimed ? AP_OTHER_UNKNOWN : "operator-bound";
}

static void judge(const struct ap_onnx *onnx, const struct runs *runs, const struct sums *sums,
                  struct ap_other_verdict *ret_verdict)
{
    double outside = runs->judged_ns > 0 ? (double)runs->outside_ns / (double)runs->judged_ns : 0;
    bool few = onnx->run_count < onnx->session_count * 4;
    int64_t typical_ns = runs->warm.count ? runs->warm.p50_ns : runs->first_ns;
    ret_verdict->window_ns = onnx->run_count ? runs->total_ns : onnx->end_ns - onnx->start_ns;
    if (!onnx->run_count || !onnx->node_count) {
        ret_verdict->verdict = AP_OTHER_UNKNOWN;
        ret_verdict->confidence = "low";
        (void)snprintf(ret_verdict->sentence, sizeof(ret_verdict->sentence),
                       "the profile has %zu runs and %zu calls of nodes", onnx->run_count, (size_t)onnx->node_count);
        return;
    }
    ret_verdict->verdict = bound_of(onnx, runs, sums, outside);
    ret_verdict->confidence = few ? "low" : "medium";
    unsigned long long nodes = onnx->by_node.map.count;
    const char *plural = onnx->by_operator.map.count == 1 ? "" : "s";
    char others[100] = "", rest[160], sessions[80] = "";
    if (onnx->session_count > 1)
        (void)snprintf(sessions, sizeof(sessions), "%zu sessions of %u graph%s, ", onnx->session_count, onnx->graphs.count,
                       onnx->graphs.count == 1 ? "" : "s");
    if (runs->warm.count)
        (void)snprintf(others, sizeof(others), ", the median of the others %.3f ms", (double)typical_ns / 1e6);
    if (onnx->is_untimed)
        (void)snprintf(rest, sizeof(rest),
                       "kernels of the device were not recorded: %llu nodes of %u operator%s are launched", nodes,
                       onnx->by_operator.map.count, plural);
    else
        (void)snprintf(rest, sizeof(rest), "in %.1f %% of their time no node%s ran, the rest is %llu nodes of %u operator%s",
                       outside * 100, onnx->kernels.map.count ? " and no kernel" : "", nodes, onnx->by_operator.map.count,
                       plural);
    char first[60] = "";
    if (runs->is_of_one_graph)
        (void)snprintf(first, sizeof(first), ", the first %s%.3f ms", onnx->session_count > 1 ? "ones typically " : "",
                       (double)runs->first_ns / 1e6);
    (void)snprintf(ret_verdict->sentence, sizeof(ret_verdict->sentence), "%s%zu run%s%s%s; %s", sessions, onnx->run_count,
                   onnx->run_count == 1 ? "" : "s", first, others, rest);
}

static enum ap_status add_part(struct ap_onnx *onnx, uint64_t top_n, struct ap_model *model,
                               struct ap_other_verdict *ret_verdict, struct ap_error *reterr)
{
    struct ap_value *to = ap_add_object(model, &model->root, "onnxruntime");
    struct runs runs = { .first_ns = 0 };
    struct sums sums = { .accelerator = { 0 } };
    AP_TRY(judge_runs(onnx, &runs, reterr));
    sum_operators(onnx, &sums);
    add_stages(onnx, model, to);
    add_runs(onnx, &runs, model, to);
    add_sums(onnx, &sums, model, to);
    add_top_operator(onnx, model, to);
    add_shapes(onnx, model, to);
    add_pool(onnx, model, to);
    AP_TRY(ap_onnx_add_sessions(onnx, model, ap_add_list(model, to, "sessions"), reterr));
    AP_TRY(add_rows(onnx, &onnx->by_operator, ROWS_operators, "operators", top_n, model, to, reterr));
    AP_TRY(add_rows(onnx, &onnx->by_node, ROWS_nodes, "node_rows", top_n, model, to, reterr));
    AP_TRY(add_rows(onnx, &onnx->by_provider, ROWS_providers, "providers", top_n, model, to, reterr));
    ap_add_known_time(model, to, "kernel_us", onnx->kernels.map.count, onnx->kernel_ns);
    AP_TRY(add_rows(onnx, &onnx->kernels, ROWS_kernels, "kernels", top_n, model, to, reterr));
    judge(onnx, &runs, &sums, ret_verdict);
    return AP_OK;
}

/* ----------------------------------------------------------------------------------------------------------- reader */

static enum ap_status open_reader(struct ap_gate *gate, void **ret_self, struct ap_error *reterr)
{
    struct ap_onnx *onnx;
    AP_TRY(AP_ALLOC_CLEARED(gate, onnx, 1, reterr));
    onnx->gate = onnx->by_node.map.gate = onnx->by_operator.map.gate = gate;
    onnx->by_provider.map.gate = onnx->kernels.map.gate = gate;
    onnx->graphs.gate = onnx->graph_providers.gate = gate;
    ap_strpool_init(&onnx->strings, gate);
    *ret_self = onnx;
    return AP_OK;
}

static enum ap_status read_file(void *self, const struct ap_other_input *input, struct ap_notes *notes,
                                struct ap_error *reterr)
{
    struct ap_onnx *onnx = self;
    struct ap_json_reader *json;
    AP_TRY(ap_json_reader_new(onnx->gate, input->source, notes, &input->limits, &json, reterr));
    enum ap_status status = ap_onnx_read(onnx, json, input->salvage, notes, reterr);
    ap_json_reader_free(json);
    if (status == AP_OK && input->path)
        status = ap_strpool_intern(&onnx->strings, input->path, strlen(input->path),
                                   &onnx->sessions[onnx->session_count - 1].path, reterr);
    return status;
}

static enum ap_status add(void *self, uint64_t top_n, struct ap_notes *notes, struct ap_model *model,
                          struct ap_other_verdict *ret_verdict, struct ap_error *reterr)
{
    struct ap_onnx *onnx = self;
    AP_TRY(ap_onnx_find(onnx, reterr));
    AP_TRY(add_part(onnx, top_n, model, ret_verdict, reterr));
    ap_note_many(notes, AP_COUNTER_time_overflow, onnx->overflowed);
    return AP_OK;
}

static void release_groups(struct ap_onnx *onnx, struct ap_onnx_groups *groups)
{
    ap_pair_map_release(&groups->map);
    AP_FREE(onnx->gate, groups->list, groups->capacity);
}

static void close_reader(void *self)
{
    struct ap_onnx *onnx = self;
    struct ap_gate *gate = onnx->gate;
    release_groups(onnx, &onnx->by_node);
    release_groups(onnx, &onnx->by_operator);
    release_groups(onnx, &onnx->by_provider);
    release_groups(onnx, &onnx->kernels);
    if (onnx->order)
        AP_FREE(gate, onnx->order, onnx->count);
    ap_pair_map_release(&onnx->graphs);
    ap_pair_map_release(&onnx->graph_providers);
    AP_FREE(gate, onnx->sessions, onnx->session_capacity);
    AP_FREE(gate, onnx->runs, onnx->run_count);
    AP_FREE(gate, onnx->events, onnx->capacity);
    ap_strpool_release(&onnx->strings);
    AP_FREE(gate, onnx, 1);
}

const struct ap_other_reader ap_onnx_reader = { "onnxruntime", open_reader, read_file, add, close_reader };
