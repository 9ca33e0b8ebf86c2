/* SPDX-License-Identifier: MIT */
#include "facts.h"

#include "cover.h"

#include "poison.h"

static enum ap_status find_order(struct ap_facts *facts, struct ap_error *reterr)
{
    return ap_row_order_init(&facts->order, facts->trace, facts->gate, reterr);
}

static enum ap_status find_names(struct ap_facts *facts, struct ap_error *reterr)
{
    const struct ap_trace *trace = facts->trace;
    AP_TRY(ap_op_stats_init(&facts->ops, trace, facts->gate, reterr));
    AP_TRY(ap_op_families_init(&facts->op_families, trace, facts->gate, facts->ops.operators.count,
                               (size_t)facts->ops.name_count + 1, reterr));
    AP_TRY(ap_call_kinds_init(&facts->calls, trace, facts->gate, reterr));
    return ap_kernel_families_init(&facts->families, trace, facts->gate, reterr);
}

static enum ap_status find_tree(struct ap_facts *facts, struct ap_error *reterr)
{
    return ap_host_tree_init(&facts->tree, facts->trace, &facts->order, facts->gate, reterr);
}

static enum ap_status find_links(struct ap_facts *facts, struct ap_error *reterr)
{
    return ap_links_init(&facts->links, facts->trace, &facts->order, &facts->tree, facts->gate, reterr);
}

static enum ap_status find_graphs(struct ap_facts *facts, struct ap_error *reterr)
{
    return ap_graph_runs_init(&facts->graphs, facts->trace, &facts->links, &facts->calls, facts->mapping, facts->gate,
                              reterr);
}

static enum ap_status find_self_times(struct ap_facts *facts, struct ap_error *reterr)
{
    return ap_op_stats_nest(&facts->ops, facts->trace, &facts->order, reterr);
}

static enum ap_status find_steps(struct ap_facts *facts, struct ap_error *reterr)
{
    return ap_steps_init(&facts->steps, facts->trace, &facts->order, facts->gate, reterr);
}

/* The engine of the backward pass works for another thread. */
static bool is_driven(const struct ap_trace *trace, uint32_t track)
{
    return ap_text_contains_folded(ap_strpool_text(&trace->strings, ap_track_name(trace, &trace->tracks[track])),
                                   "autograd");
}

/* Of the steps, else the one with most operator time, else the one with most host rows. */
static uint32_t main_track_of(const struct ap_facts *facts)
{
    uint32_t main_track = AP_NO_ROW;
    size_t most_rows = 0;
    int64_t most_ns = -1;
    if (facts->steps.count)
        return facts->trace->events.track[facts->steps.steps[0].row];
    for (uint32_t track = 0; track < facts->order.track_count; track++) {
        size_t rows = 0;
        if (!ap_track_may_hold(&facts->order, track, AP_HOST_KINDS))
            continue;
        struct ap_cover busy = AP_COVER_EMPTY;
        for (size_t i = facts->order.track_start[track]; i < facts->order.track_start[track + 1]; i++) {
            uint32_t row = facts->order.rows[i];
            rows += ap_row_is_of(facts->trace, row, AP_HOST_KINDS);
            if (ap_row_is_of(facts->trace, row, 1u << AP_KIND_operator))
                ap_cover_add(&busy, facts->trace->events.start_ns[row], ap_row_end_ns(facts->trace, row));
        }
        busy.sum_ns = is_driven(facts->trace, track) ? 0 : busy.sum_ns;
        if (rows && (busy.sum_ns > most_ns || (busy.sum_ns == most_ns && rows > most_rows))) {
            main_track = track;
            most_ns = busy.sum_ns;
            most_rows = rows;
        }
    }
    return main_track;
}

static enum ap_status find_main_track(struct ap_facts *facts, struct ap_error *reterr)
{
    (void)reterr;
    facts->main_track = main_track_of(facts);
    return AP_OK;
}

static enum ap_status find_phases(struct ap_facts *facts, struct ap_error *reterr)
{
    return ap_phases_init(&facts->phases, facts->trace, &facts->order, &facts->tree, &facts->steps, &facts->families,
                          facts->gate, reterr);
}

static enum ap_status find_split(struct ap_facts *facts, struct ap_error *reterr)
{
    return ap_split_init(&facts->split, facts->trace, &facts->order, &facts->tree, &facts->links, &facts->steps,
                         &facts->families, facts->main_track, facts->bins, facts->idle_pieces, facts->gate, reterr);
}

static enum ap_status find_path_index(struct ap_facts *facts, struct ap_error *reterr)
{
    return facts->trace->has_window
               ? ap_path_index_init(&facts->path_index, facts->trace, &facts->order, &facts->links, facts->gate, reterr)
               : AP_OK;
}

static enum ap_status find_path(struct ap_facts *facts, struct ap_error *reterr)
{
    AP_TRY(ap_critical_path_find(&facts->path, facts->trace, &facts->path_index, &facts->families, facts->gate, reterr));
    if (facts->path_index.trace)
        ap_path_index_forget_walk(&facts->path_index);
    return AP_OK;
}

const struct ap_fact_entry ap_fact_entries[AP_FACT_COUNT_] = {
    [AP_FACT_order] = { find_order, 17, 0 },
    [AP_FACT_names] = { find_names, 6, 0 },
    [AP_FACT_tree] = { find_tree, 5, AP_FACT(order) },
    [AP_FACT_links] = { find_links, 16, AP_FACT(order) | AP_FACT(tree) },
    [AP_FACT_graphs] = { find_graphs, 3, AP_FACT(names) | AP_FACT(links) },
    [AP_FACT_self_times] = { find_self_times, 13, AP_FACT(order) | AP_FACT(names) },
    [AP_FACT_steps] = { find_steps, 2, AP_FACT(order) },
    [AP_FACT_main_track] = { find_main_track, 0, AP_FACT(order) | AP_FACT(self_times) | AP_FACT(steps) },
    [AP_FACT_phases] = { find_phases, 8, AP_FACT(order) | AP_FACT(names) | AP_FACT(tree) | AP_FACT(steps) },
    [AP_FACT_split] = { find_split, 48, /* takes 45; needs most memory: it begins while little else is there */
                        AP_FACT(order) | AP_FACT(names) | AP_FACT(tree) | AP_FACT(links) | AP_FACT(steps) |
                            AP_FACT(main_track) },
    [AP_FACT_path_index] = { find_path_index, 18, AP_FACT(order) | AP_FACT(links) },
    [AP_FACT_path] = { find_path, 7, AP_FACT(names) | AP_FACT(path_index) },
};

enum ap_status ap_facts_init(struct ap_facts *facts, struct ap_trace *trace, bool with_bins, struct ap_error *reterr)
{
    *facts = (struct ap_facts){ .trace = trace, .gate = trace->gate };
    facts->window_ns = trace->has_window ? trace->window_end_ns - trace->window_start_ns : -1;
    ap_trace_freeze(trace);
    if (with_bins && !(facts->bins = ap_mem_cleared(facts->gate, sizeof(*facts->bins))))
        return ap_fail_memory(facts->gate, reterr);
    return AP_OK;
}

void ap_facts_forget_path(struct ap_facts *facts)
{
    ap_critical_path_forget_pieces(&facts->path);
}

/* What was never found has no memory to give back. */
void ap_facts_release(struct ap_facts *facts)
{
    ap_critical_path_release(&facts->path);
    if (facts->path_index.trace)
        ap_path_index_release(&facts->path_index);
    ap_mem_free(facts->gate, facts->bins, sizeof(*facts->bins));
    ap_split_release(&facts->split);
    ap_phases_release(&facts->phases);
    ap_steps_release(&facts->steps);
    ap_graph_runs_release(&facts->graphs);
    ap_links_release(&facts->links);
    ap_host_tree_release(&facts->tree);
    ap_kernel_families_release(&facts->families);
    ap_call_kinds_release(&facts->calls);
    ap_op_families_release(&facts->op_families);
    ap_op_stats_release(&facts->ops);
    ap_row_order_release(&facts->order);
    *facts = (struct ap_facts){ .trace = NULL };
}
