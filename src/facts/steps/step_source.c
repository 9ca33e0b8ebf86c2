/* SPDX-License-Identifier: MIT */
#include "step_source.h"

#include <string.h>

#include "rows_of.h"
#include "sort.h"

#include "poison.h"

#define STARTS_NEEDED 3

/* ---- which rows ---- */

typedef bool is_mark(struct ap_text name);

/* "ProfilerStep#5", and "ProfilerStep #5" as hand-made ones have it. */
static bool is_profiler_step(struct ap_text name)
{
    return ap_text_starts_with(name, "ProfilerStep#") || ap_text_starts_with(name, "ProfilerStep #");
}

static bool is_optimizer_step(struct ap_text name)
{
    return ap_text_starts_with(name, "Optimizer.step#");
}

static bool is_graph_launch(struct ap_text name)
{
    return ap_text_is(name, "cudaGraphLaunch") || ap_text_is(name, "hipGraphLaunch");
}

/* One step of vLLM or SGLang: graphs launched within it are pieces of the model. */
static bool is_server_step(struct ap_text name)
{
    return ap_text_starts_with(name, "execute_") || ap_text_starts_with(name, "step[");
}

/* Until 2021-06 annotations have the category of operators. */
static uint32_t annotation_kinds(const struct ap_trace *trace)
{
    return ap_has_rows_of(trace, 1u << AP_KIND_annotation) ? 1u << AP_KIND_annotation : 1u << AP_KIND_operator;
}

static bool is_placed(const struct ap_trace *trace, uint32_t row)
{
    return trace->events.start_ns[row] != AP_START_UNKNOWN && trace->events.dur_ns[row] >= 0;
}

/* Adds the placed rows of those kinds whose name is chosen (by name id), in file order. */
static enum ap_status take_chosen(struct ap_step_source *source, const struct ap_trace *trace, const uint32_t *chosen,
                                  uint32_t wanted, uint32_t kinds, struct ap_error *reterr)
{
    source->count = 0;
    for (struct ap_rows_of at = ap_rows_of(trace, kinds); ap_rows_of_next(&at);)
        if (chosen[trace->events.name[at.row]] == wanted && is_placed(trace, at.row))
            AP_TRY_ADD(source->gate, source->rows, source->count, source->capacity, reterr, at.row);
    return AP_OK;
}

/* Names are looked at once each before rows are. */
static enum ap_status take_marks(struct ap_step_source *source, const struct ap_trace *trace, is_mark *mark, uint32_t kinds,
                                 struct ap_error *reterr)
{
    uint32_t name_count = ap_strpool_count(&trace->strings), id = 1;
    source->count = 0;
    while (id <= name_count && !mark(ap_trace_text(trace, id)))
        id++;
    if (id > name_count)
        return AP_OK;
    uint32_t *chosen;
    AP_TRY(AP_ALLOC_CLEARED(source->gate, chosen, (size_t)name_count + 1, reterr));
    for (; id <= name_count; id++)
        chosen[id] = mark(ap_trace_text(trace, id));
    enum ap_status status = take_chosen(source, trace, chosen, 1, kinds, reterr);
    AP_FREE(source->gate, chosen, (size_t)name_count + 1);
    return status;
}

/* ---- in which order ---- */

static bool row_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_events *events = context;
    AP_SMALLER_FIRST(events->start_ns[a], events->start_ns[b]);
    AP_LARGER_FIRST(events->dur_ns[a], events->dur_ns[b]);
    return a < b;
}

static bool same_loop(const struct ap_events *events, uint32_t a, uint32_t b)
{
    return events->track[a] == events->track[b] && events->name[a] == events->name[b];
}

static bool loop_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_events *events = context;
    AP_SMALLER_FIRST(events->track[a], events->track[b]);
    AP_SMALLER_FIRST(events->name[a], events->name[b]);
    return row_before(events, a, b);
}

/* ---- marks that stand at the start of a period ---- */

/* Leaves out rows that begin within, or together with, the one before. */
static size_t drop_nested(uint32_t *rows, size_t count, const struct ap_events *events)
{
    size_t kept = 1;
    for (size_t i = 1; i < count; i++) {
        int64_t last_ns = events->start_ns[rows[kept - 1]], end_ns = last_ns + events->dur_ns[rows[kept - 1]];
        if (events->start_ns[rows[i]] > last_ns && events->start_ns[rows[i]] >= end_ns)
            rows[kept++] = rows[i];
    }
    return kept;
}

/* Of the loops (rows of one name on one thread) with enough rows, leaves that with the earliest start, or that with the
 * most rows and then the earliest start. */
static enum ap_status choose_loop(struct ap_step_source *source, const struct ap_trace *trace, bool by_count,
                                  struct ap_error *reterr)
{
    const struct ap_events *events = &trace->events;
    size_t best = 0, best_count = 0;
    AP_TRY(ap_sort_list(source->gate, source->rows, source->count, loop_before, &trace->events, reterr));
    for (size_t start = 0, end; start < source->count; start = end) {
        for (end = start + 1; end < source->count && same_loop(events, source->rows[start], source->rows[end]);)
            end++;
        size_t count = drop_nested(source->rows + start, end - start, events);
        if (count < STARTS_NEEDED || (by_count && count < best_count))
            continue;
        if (best_count == 0 || (by_count && count > best_count) ||
            row_before(events, source->rows[start], source->rows[best])) {
            best = start;
            best_count = count;
        }
    }
    if (best_count)
        memmove(source->rows, source->rows + best, best_count * sizeof(source->rows[0]));
    source->count = best_count;
    return AP_OK;
}

static bool is_backward_node(struct ap_text name)
{
    return ap_text_starts_with(name, "autograd::engine::evaluate_function: ");
}

/* Optimizers that step right behind one another, each for a part of the model, do so once a step: keeps the first of those
 * with no node of a backward pass between them. @nodes: rows of such nodes by time; none = not recorded. */
static void drop_further_optimizers(struct ap_step_source *source, const struct ap_trace *trace, const uint32_t *nodes,
                                    size_t node_count)
{
    const int64_t *start_ns = trace->events.start_ns;
    size_t kept = 1, node = 0;
    for (size_t i = 1; i < source->count; i++) {
        while (node < node_count && start_ns[nodes[node]] < start_ns[source->rows[i - 1]])
            node++;
        if (node < node_count && start_ns[nodes[node]] < start_ns[source->rows[i]])
            source->rows[kept++] = source->rows[i];
    }
    source->count = kept;
}

static enum ap_status keep_one_a_step(struct ap_step_source *source, const struct ap_trace *trace, struct ap_error *reterr)
{
    struct ap_step_source nodes = { .gate = source->gate };
    if (!source->count)
        return AP_OK;
    enum ap_status status = take_marks(&nodes, trace, is_backward_node, 1u << AP_KIND_operator, reterr);
    AP_AND_THEN(status, ap_sort_list(nodes.gate, nodes.rows, nodes.count, row_before, &trace->events, reterr));
    if (!status && nodes.count)
        drop_further_optimizers(source, trace, nodes.rows, nodes.count);
    ap_step_source_release(&nodes);
    return status;
}

static enum ap_status find_optimizer_steps(struct ap_step_source *source, const struct ap_trace *trace,
                                           struct ap_error *reterr)
{
    AP_TRY(take_marks(source, trace, is_optimizer_step, annotation_kinds(trace), reterr));
    AP_TRY(choose_loop(source, trace, false, reterr));
    AP_TRY(keep_one_a_step(source, trace, reterr));
    if (source->count >= STARTS_NEEDED) {
        source->source = "optimizer steps";
        source->periods = true;
    }
    return AP_OK;
}

/* Standard deviation of the periods under half of their mean. */
static bool is_even(const struct ap_step_source *source, const struct ap_trace *trace)
{
    const int64_t *start_ns = trace->events.start_ns;
    double count = (double)(source->count - 1), squares = 0;
    double mean = ((double)start_ns[source->rows[source->count - 1]] - (double)start_ns[source->rows[0]]) / count;
    for (size_t i = 1; i < source->count; i++) {
        double off = (double)(start_ns[source->rows[i]] - start_ns[source->rows[i - 1]]) - mean;
        squares += off * off;
    }
    return squares / count < mean * mean / 4;
}

/* Does one annotation of a server's step hold two of the launches? Both lists are read in order of time. */
static bool are_pieces(const struct ap_step_source *source, const struct ap_trace *trace, const struct ap_row_order *order)
{
    const struct ap_events *events = &trace->events;
    size_t track = events->track[source->rows[0]], launch = 0;
    for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++) {
        uint32_t row = order->rows[at];
        if (ap_row_kind(events->tag[row]) != AP_KIND_annotation || !is_server_step(ap_row_name(trace, row)))
            continue;
        while (launch < source->count && events->start_ns[source->rows[launch]] < events->start_ns[row])
            launch++;
        if (launch + 1 < source->count && events->start_ns[source->rows[launch + 1]] < ap_row_end_ns(trace, row))
            return true;
    }
    return false;
}

static enum ap_status find_graph_launches(struct ap_step_source *source, const struct ap_trace *trace,
                                          const struct ap_row_order *order, struct ap_error *reterr)
{
    AP_TRY(take_marks(source, trace, is_graph_launch, 1u << AP_KIND_runtime, reterr));
    AP_TRY(choose_loop(source, trace, true, reterr));
    if (source->count && is_even(source, trace) && !are_pieces(source, trace, order)) {
        source->source = "graph launches";
        source->periods = true;
    }
    return AP_OK;
}

/* ---- marks that last as long as the step ---- */

static enum ap_status find_profiler_steps(struct ap_step_source *source, const struct ap_trace *trace,
                                          struct ap_error *reterr)
{
    AP_TRY(take_marks(source, trace, is_profiler_step, annotation_kinds(trace), reterr));
    if (source->count)
        source->source = "ProfilerStep";
    return ap_sort_list(source->gate, source->rows, source->count, row_before, &trace->events, reterr);
}

static enum ap_status take_family(struct ap_step_source *source, const struct ap_step_families *families, uint32_t id,
                                  const struct ap_trace *trace, struct ap_error *reterr)
{
    if (!id)
        return AP_OK;
    AP_TRY(take_chosen(source, trace, families->family_of, id, 1u << AP_KIND_annotation, reterr));
    source->source = "annotation";
    ap_step_family_name(families, trace, id, source->family);
    return ap_sort_list(source->gate, source->rows, source->count, row_before, &trace->events, reterr);
}

/* An annotation that covers half of its loop is the step; one that covers less, or is called as parts are, may be a part of
 * it, so marks at the start of each period go before it. */
static enum ap_status find_other_marks(struct ap_step_source *source, const struct ap_step_families *families,
                                       const struct ap_trace *trace, const struct ap_row_order *order,
                                       struct ap_error *reterr)
{
    AP_TRY(take_family(source, families, ap_step_families_best(families, 50, false), trace, reterr));
    if (!source->source)
        AP_TRY(find_optimizer_steps(source, trace, reterr));
    if (!source->source)
        AP_TRY(find_graph_launches(source, trace, order, reterr));
    if (!source->source)
        AP_TRY(take_family(source, families, ap_step_families_best(families, 10, true), trace, reterr));
    if (!source->source)
        source->count = 0;
    return AP_OK;
}

enum ap_status ap_step_source_init(struct ap_step_source *source, const struct ap_trace *trace,
                                   const struct ap_row_order *order, struct ap_gate *gate, struct ap_error *reterr)
{
    *source = (struct ap_step_source){ .gate = gate };
    AP_TRY(find_profiler_steps(source, trace, reterr));
    if (source->source)
        return AP_OK;
    struct ap_step_families families;
    enum ap_status status = ap_step_families_init(&families, trace, order, gate, reterr);
    AP_AND_THEN(status, find_other_marks(source, &families, trace, order, reterr));
    ap_step_families_release(&families);
    return status;
}

void ap_step_source_release(struct ap_step_source *source)
{
    AP_FREE(source->gate, source->rows, source->capacity);
    source->rows = NULL;
    source->count = source->capacity = 0;
}
