/* SPDX-License-Identifier: MIT
 * part_cluster_clocks.c - how far the clocks of the hosts are apart, and how sure that is. */
#include "cluster_parts.h"
#include "sort.h"

#include "poison.h"

static void add_clock(const struct ap_run_found *found, const struct ap_clock *clock, struct ap_model *model,
                      struct ap_value *list)
{
    const struct ap_clocks *clocks = found->clocks;
    bool is_first = &clocks->clocks[clock->component] == clock;
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_known_text(model, row, "host", clock->host.id, ap_rank_text(found->view->set, clock->host));
    ap_add_count(model, row, "rank", ap_view_rank(found->view, clock->rank)->rank);
    ap_add_count(model, row, "rank_count", clock->rank_count);
    ap_add_count(model, row, "relative_to_rank", ap_view_rank(found->view, clocks->clocks[clock->component].rank)->rank);
    ap_add_time(model, row, "offset_us", clock->offset_ns);
    ap_add_known_time(model, row, "error_us", !is_first, clock->error_ns);
    ap_add_known_number(model, row, "drift_ppm", clock->has_drift, clock->drift_ratio * 1e6);
    ap_add_known_number(model, row, "drift_error_ppm", clock->has_drift, clock->drift_error_ratio * 1e6);
}

struct offsets {
    const struct ap_clock *clocks;
};

static bool is_farther(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_clock *clocks = ((const struct offsets *)context)->clocks;
    int64_t x = clocks[a].offset_ns < 0 ? -clocks[a].offset_ns : clocks[a].offset_ns;
    int64_t y = clocks[b].offset_ns < 0 ? -clocks[b].offset_ns : clocks[b].offset_ns;
    return x != y ? x > y : a < b;
}

enum ap_status ap_cluster_add_clocks(const struct ap_run_found *found, struct ap_model *model, struct ap_value *to,
                                     struct ap_error *reterr)
{
    const struct ap_clocks *clocks = found->clocks;
    const struct offsets offsets = { clocks->clocks };
    int64_t largest_ns = 0, error_ns = 0;
    uint32_t *order;
    size_t count;
    struct ap_value *it = ap_add_object(model, to, "clocks");
    for (size_t i = 0; i < clocks->count; i++) {
        int64_t offset_ns = clocks->clocks[i].offset_ns;
        offset_ns = offset_ns < 0 ? -offset_ns : offset_ns;
        largest_ns = offset_ns > largest_ns ? offset_ns : largest_ns;
        error_ns = clocks->clocks[i].error_ns > error_ns ? clocks->clocks[i].error_ns : error_ns;
    }
    ap_add_count(model, it, "clock_count", (int64_t)clocks->count);
    ap_add_count(model, it, "component_count", (int64_t)clocks->component_count);
    ap_add_known_time(model, it, "largest_offset_us", clocks->pair_count, largest_ns);
    ap_add_known_time(model, it, "largest_error_us", clocks->pair_count, error_ns);
    AP_TRY(ap_top_indices(found->view->gate, (uint32_t)clocks->count, found->options->top_n, is_farther, &offsets, &order,
                          &count, reterr));
    struct ap_value *list = ap_add_list(model, it, "hosts");
    for (size_t i = 0; i < count; i++)
        add_clock(found, &clocks->clocks[order[i]], model, list);
    AP_FREE(found->view->gate, order, count);
    return AP_OK;
}
