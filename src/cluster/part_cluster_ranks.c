/* SPDX-License-Identifier: MIT
 * part_cluster_ranks.c - a row for each rank, those that are odd first. */
#include <stdio.h>

#include "cluster_parts.h"
#include "sort.h"

#include "rank_group.h"

#include "poison.h"

static const char *const spent_keys[AP_SPENT_COUNT_] = {
#define AP_SPENT(id, meaning) #id "_us",
#include "rank_spent.def"
#undef AP_SPENT
};

struct ranking {
    const struct ap_run_found *found;
};

static bool is_odder(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_run_found *found = ((const struct ranking *)context)->found;
    const struct ap_rank_delay *x = &found->delays->ranks[a], *y = &found->delays->ranks[b];
    bool x_late = found->verdict->kinds[a] != AP_LATE_NONE, y_late = found->verdict->kinds[b] != AP_LATE_NONE;
    if (x_late != y_late)
        return x_late;
    AP_LARGER_FIRST(x->late_ns, y->late_ns);
    AP_LARGER_FIRST(x->waited_ns, y->waited_ns);
    return a < b;
}

static void add_step_times(const struct ap_run_view *view, const struct ap_rank_summary *rank, struct ap_model *model,
                           struct ap_value *row)
{
    struct ap_value *steps = ap_add_list(model, row, "steps_us");
    for (int64_t number = view->first_step; view->has_steps && number <= view->last_step; number++) {
        const struct ap_rank_step *step = ap_view_step(rank, number);
        ap_add_known_time(model, steps, NULL, step, step ? step->end_ns - step->start_ns : 0);
    }
}

static void add_rank(const struct ap_run_found *found, uint32_t index, struct ap_model *model, struct ap_value *list)
{
    const struct ap_run_view *view = found->view;
    const struct ap_rank_summary *rank = ap_view_rank(view, index);
    const struct ap_rank_delay *delay = &found->delays->ranks[index];
    int kind = found->verdict->kinds[index];
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_count(model, row, "rank", rank->rank);
    ap_add_known_text(model, row, "host", rank->host.id, ap_rank_text(view->set, rank->host));
    ap_add_known_string(model, row, "late_kind", kind != AP_LATE_NONE,
                        kind != AP_LATE_NONE ? ap_late_name((enum ap_late_kind)kind) : "");
    ap_add_time(model, row, "late_us", delay->late_ns);
    ap_add_time(model, row, "inherited_us", delay->inherited_ns);
    ap_add_time(model, row, "before_us", delay->before_ns);
    ap_add_time(model, row, "waited_us", delay->waited_ns);
    ap_add_time(model, row, "caused_us", delay->caused_ns);
    ap_add_count(model, row, "last_count", delay->last_count);
    ap_add_count(model, row, "collective_count", delay->matched_count);
    for (int j = 0; j < AP_SPENT_COUNT_; j++) {
        ap_add_time(model, row, spent_keys[j], ap_view_spent(view, rank, j));
    }
    ap_add_known_bytes(model, row, "peak_allocated_bytes", rank->peak_allocated_bytes >= 0, rank->peak_allocated_bytes);
    ap_add_known_bytes(model, row, "peak_reserved_bytes", rank->peak_reserved_bytes >= 0, rank->peak_reserved_bytes);
    ap_add_count(model, row, "out_of_memory_count", rank->out_of_memory_count);
    add_step_times(view, rank, model, row);
}

/* ---------------------------------------------------------------------------------------------------------- worst */

struct worst {
    int64_t waited_ns;
    uint32_t match;
};

static int by_waiting(const void *left, const void *right)
{
    const struct worst *a = left, *b = right;
    AP_BY_LARGER(a->waited_ns, b->waited_ns);
    AP_BY_SMALLER(a->match, b->match);
    return 0;
}

static int64_t waited_in(const struct ap_matching *matching, const struct ap_match *match)
{
    int64_t shortest_ns = INT64_MAX, waited_ns = 0;
    bool overflowed = false;
    for (size_t i = 0; i < match->count; i++) {
        int64_t dur_ns = ap_match_row(matching, match->first + i)->dur_ns;
        shortest_ns = dur_ns < shortest_ns ? dur_ns : shortest_ns;
    }
    for (size_t i = 0; i < match->count; i++) {
        const struct ap_rank_collective *row = ap_match_row(matching, match->first + i);
        waited_ns = ap_add_sat(waited_ns, row->dur_ns - shortest_ns, &overflowed);
    }
    return waited_ns;
}

/* When each came after the first, from durations: of many ranks the first and the last ones. */
#define ARRIVALS_MAX 64

static void add_arrivals(const struct ap_run_found *found, const struct ap_match *match, struct ap_model *model,
                         struct ap_value *row)
{
    const struct ap_matching *matching = found->matching;
    struct ap_value *list = ap_add_list(model, row, "arrivals");
    int64_t longest_ns = 0;
    for (size_t i = 0; i < match->count; i++) {
        int64_t dur_ns = ap_match_row(matching, match->first + i)->dur_ns;
        longest_ns = dur_ns > longest_ns ? dur_ns : longest_ns;
    }
    for (size_t i = 0; i < match->count && i < ARRIVALS_MAX; i++) {
        const struct ap_rank_collective *it = ap_match_row(matching, match->first + i);
        struct ap_value *arrival = ap_add_object(model, list, NULL);
        ap_add_count(model, arrival, "rank", ap_view_rank(found->view, matching->members[match->first + i].rank)->rank);
        ap_add_time(model, arrival, "after_first_us", longest_ns - it->dur_ns);
        ap_add_time(model, arrival, "dur_us", it->dur_ns);
    }
}

static void add_worst(const struct ap_run_found *found, const struct worst *worst, struct ap_model *model,
                      struct ap_value *list)
{
    const struct ap_match *match = &found->matching->matches[worst->match];
    int64_t last = found->delays->last_rank[worst->match];
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_string(model, row, "operation", ap_collective_operation_name((enum ap_collective_operation)match->operation));
    ap_add_known_text(model, row, "group", match->group.id, ap_group_members(ap_rank_text(found->view->set, match->group)));
    ap_add_known_count(model, row, "step", match->step >= 0, match->step);
    ap_add_known_bytes(model, row, "bytes", match->bytes >= 0, match->bytes);
    ap_add_count(model, row, "rank_count", match->count);
    ap_add_time(model, row, "waited_us", worst->waited_ns);
    ap_add_known_count(model, row, "last_rank", last >= 0, last >= 0 ? ap_view_rank(found->view, (size_t)last)->rank : 0);
    add_arrivals(found, match, model, row);
}

static enum ap_status add_all_worst(const struct ap_run_found *found, struct ap_model *model, struct ap_value *to,
                                    struct ap_error *reterr)
{
    const struct ap_matching *matching = found->matching;
    size_t count = 0, shown = 8;
    struct worst *list;
    struct ap_value *rows = ap_add_list(model, to, "worst");
    if (!matching->count)
        return AP_OK;
    AP_TRY(AP_ALLOC(matching->gate, list, matching->count, reterr));
    for (uint32_t i = 0; i < matching->count; i++)
        if (matching->matches[i].ends_together)
            list[count++] = (struct worst){ waited_in(matching, &matching->matches[i]), i };
    ap_sort(list, count, sizeof(list[0]), by_waiting);
    for (size_t i = 0; i < count && i < shown; i++)
        add_worst(found, &list[i], model, rows);
    AP_FREE(matching->gate, list, matching->count);
    return AP_OK;
}

enum ap_status ap_cluster_add_ranks(const struct ap_run_found *found, struct ap_model *model, struct ap_value *to,
                                    struct ap_error *reterr)
{
    const struct ranking ranking = { found };
    uint32_t *order = NULL;
    size_t count = 0;
    struct ap_gate *gate = found->view->gate;
    AP_TRY(ap_top_indices(gate, (uint32_t)found->view->count, found->options->top_n, is_odder, &ranking, &order, &count,
                          reterr));
    struct ap_value *list = ap_add_list(model, to, "ranks");
    for (size_t i = 0; i < count; i++)
        add_rank(found, order[i], model, list);
    AP_FREE(gate, order, count);
    ap_add_count(model, to, "ranks_left_out", (int64_t)(found->view->count - count));
    return add_all_worst(found, model, to, reterr);
}
