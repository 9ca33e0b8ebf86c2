/* SPDX-License-Identifier: MIT
 * part_replay.c - what GPU graphs hold, and the layers that repeat in the order of the kernels. */
#include "replay_part.h"
#include "sort.h"

#include "poison.h"

static int64_t all_kernels_ns(struct ap_part_context *context)
{
    const struct ap_links *links = &context->facts->links;
    int64_t sum_ns = 0;
    for (size_t i = 0; i < links->count; i++)
        if (ap_row_kind(context->trace->events.tag[links->row[i]]) == AP_KIND_kernel)
            sum_ns = ap_add_sat(sum_ns, context->trace->events.dur_ns[links->row[i]], &context->overflowed);
    return sum_ns;
}

static int64_t graphs_ns(struct ap_part_context *context)
{
    const struct ap_graph_runs *graphs = &context->facts->graphs;
    int64_t sum_ns = 0;
    for (size_t i = 0; i < graphs->kind_count; i++)
        sum_ns = ap_add_sat(sum_ns, graphs->kinds[i].total_ns, &context->overflowed);
    return sum_ns;
}

/* ---- kinds of graphs ---- */

static bool kind_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_graph_kind *kinds = context;
    AP_LARGER_FIRST(kinds[a].total_ns, kinds[b].total_ns);
    return a < b;
}

static void add_kind(struct ap_part_context *context, const struct ap_graph_kind *kind, struct ap_model *model,
                     struct ap_value *list)
{
    static const char *const matches[AP_GRAPH_MATCH_COUNT_] = { NULL, "capture", "sequence", "count" };
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_count(model, row, "launches", kind->launches);
    ap_add_count(model, row, "kernels", kind->kernels);
    ap_add_time(model, row, "total_us", kind->total_ns);
    ap_add_time(model, row, "mean_us", kind->total_ns / kind->launches);
    ap_add_known_string(model, row, "match", kind->match != AP_GRAPH_unmatched, matches[kind->match]);
    ap_add_bool(model, row, "shapes_differ", kind->shapes_differ);
    ap_add_place(context->trace, context->facts->graphs.launches[kind->launch].row, model,
                 ap_add_object(model, row, "first"));
}

static enum ap_status add_kinds(struct ap_part_context *context, struct ap_model *model, struct ap_value *to,
                                struct ap_error *reterr)
{
    const struct ap_graph_runs *graphs = &context->facts->graphs;
    struct ap_value *list = ap_add_list(model, to, "items");
    uint32_t *top;
    size_t count;
    AP_TRY(ap_top_indices(context->gate, (uint32_t)graphs->kind_count, context->options->top_n, kind_before, graphs->kinds,
                          &top, &count, reterr));
    for (size_t i = 0; i < count; i++)
        add_kind(context, &graphs->kinds[top[i]], model, list);
    AP_FREE(context->gate, top, count);
    return AP_OK;
}

/* ---- kernels of graphs by their operators ---- */

static bool group_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_replay_group *groups = context;
    AP_LARGER_FIRST(groups[a].total_ns, groups[b].total_ns);
    return a < b;
}

static void add_group(const struct ap_trace *trace, const struct ap_replay_group *group, struct ap_model *model,
                      struct ap_value *list)
{
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_name(trace, model, row, "operator", group->mapped->op);
    ap_replay_add_shapes(trace, group->mapped->signature, model, row);
    ap_add_name(trace, model, row, "line", group->mapped->line);
    ap_add_name(trace, model, row, "kernel", group->mapped->kernel);
    ap_add_count(model, row, "count", group->count);
    ap_add_time(model, row, "total_us", group->total_ns);
}

static enum ap_status add_groups(struct ap_part_context *context, struct ap_model *model, struct ap_value *to,
                                 struct ap_error *reterr)
{
    struct ap_replay_groups groups;
    struct ap_value *list = ap_add_list(model, to, "operators");
    uint32_t *top;
    size_t count;
    enum ap_status status = ap_replay_groups_init(&groups, context->facts, context->gate, reterr);
    AP_AND_THEN(status, ap_top_indices(context->gate, (uint32_t)groups.count, context->options->top_n, group_before,
                                       groups.list, &top, &count, reterr));
    if (status == AP_OK) {
        for (size_t i = 0; i < count; i++)
            add_group(context->trace, &groups.list[top[i]], model, list);
        AP_FREE(context->gate, top, count);
    }
    ap_note_overflow(context, groups.overflowed);
    ap_replay_groups_release(&groups);
    return status;
}

static enum ap_status add_graphs(struct ap_part_context *context, int64_t all_ns, struct ap_model *model,
                                 struct ap_value *root, struct ap_error *reterr)
{
    const struct ap_graph_runs *graphs = &context->facts->graphs;
    const struct ap_graph_mapping *mapping = context->facts->mapping;
    if (!graphs->launch_count) {
        ap_add_null(model, root, "graphs");
        return AP_OK;
    }
    struct ap_value *to = ap_add_object(model, root, "graphs");
    ap_add_count(model, to, "launches", (int64_t)graphs->launch_count);
    ap_add_count(model, to, "kinds", (int64_t)graphs->kind_count);
    ap_add_count(model, to, "kernels", (int64_t)graphs->place_count);
    ap_add_time(model, to, "total_us", graphs_ns(context));
    ap_add_quotient(model, to, "kernel_ratio", (double)graphs_ns(context), (double)all_ns);
    ap_add_known_count(model, to, "mapped_kernels", mapping != NULL, (int64_t)graphs->matched_kernels);
    ap_add_known_ratio(model, to, "mapped_ratio", mapping && graphs->place_count,
                       (double)graphs->matched_kernels / (double)(graphs->place_count ? graphs->place_count : 1));
    AP_TRY(add_kinds(context, model, to, reterr));
    return add_groups(context, model, to, reterr);
}

/* ---- */

enum ap_status ap_part_replay(struct ap_part_context *context, struct ap_model *model, struct ap_value *root,
                              struct ap_error *reterr)
{
    int64_t all_ns = all_kernels_ns(context);
    AP_TRY(add_graphs(context, all_ns, model, root, reterr));
    return ap_replay_add_repeats(context, all_ns, model, root, reterr);
}
