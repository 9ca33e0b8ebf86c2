/* SPDX-License-Identifier: MIT
 * compare_runs.c - the runs of each side. Steps of one run have its machine, its heat and its neighbors in common, so that
 * two runs of one program differ by more than their steps tell: several runs a side are compared run by run. */
#include <math.h>

#include "comparing.h"

#include "poison.h"

int64_t ap_run_step_ns(const struct ap_value *root)
{
    const struct ap_value *median = ap_value_at(root, "steps.steady.p50_us");
    if (median && median->type == AP_VALUE_TIME_NS)
        return median->as.integer;
    const struct ap_value *row = ap_value_first(ap_value_at(root, "steps.rows"));
    while (row && ap_integer_member(row, "steady", 0) != 1)
        row = row->next;
    return ap_integer_member(row, "dur_us", -1);
}

size_t ap_compare_middle(const struct ap_compare_run *runs, size_t count)
{
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        known += ap_run_step_ns(runs[i].root) >= 0;
    for (size_t i = 0; i < count && known; i++) {
        int64_t step_ns = ap_run_step_ns(runs[i].root);
        size_t below = 0;
        for (size_t j = 0; j < count; j++) {
            int64_t other_ns = ap_run_step_ns(runs[j].root);
            below += other_ns >= 0 && (other_ns < step_ns || (other_ns == step_ns && j < i));
        }
        if (step_ns >= 0 && below == (known - 1) / 2)
            return i;
    }
    return 0;
}

enum ap_change ap_change_said(const struct ap_comparing *comparing, enum ap_change change)
{
    bool directed = change == AP_CHANGE_worse || change == AP_CHANGE_better;
    return directed && !comparing->repeats ? AP_CHANGE_differs : change;
}

/* The standard deviation of the steps of a side's runs over their mean; 0 of fewer than two. */
static double spread_of(const struct ap_side *side)
{
    double sum = 0, squares = 0, count = 0;
    for (size_t i = 0; i < side->count; i++) {
        int64_t step_ns = ap_run_step_ns(side->runs[i].root);
        sum += step_ns >= 0 ? (double)step_ns : 0;
        count += step_ns >= 0;
    }
    double mean = count > 0 ? sum / count : 0;
    for (size_t i = 0; i < side->count; i++) {
        int64_t step_ns = ap_run_step_ns(side->runs[i].root);
        squares += step_ns >= 0 ? ((double)step_ns - mean) * ((double)step_ns - mean) : 0;
    }
    return count >= 2 && mean > 0 ? sqrt(squares / (count - 1)) / mean : 0;
}

double ap_runs_spread(const struct ap_comparing *comparing)
{
    double before = spread_of(&comparing->sides[0]), after = spread_of(&comparing->sides[1]);
    return before > after ? before : after;
}

static void add_side(struct ap_comparing *comparing, struct ap_value *runs, const char *key, const struct ap_side *side)
{
    struct ap_value *list = ap_add_list(comparing->model, runs, key);
    for (size_t i = 0; i < side->count; i++) {
        struct ap_value *row = ap_add_object(comparing->model, list, NULL);
        int64_t step_ns = ap_run_step_ns(side->runs[i].root);
        ap_add_known_string(comparing->model, row, "path", side->runs[i].path != NULL, side->runs[i].path);
        ap_add_string(comparing->model, row, "kind", side->runs[i].kind);
        ap_add_known_time(comparing->model, row, "step_us", step_ns >= 0, step_ns);
    }
}

void ap_compare_runs(struct ap_comparing *comparing)
{
    struct ap_model *model = comparing->model;
    struct ap_value *runs = ap_add_object(model, comparing->comparison, "runs");
    ap_add_count(model, runs, "before_count", (int64_t)comparing->sides[0].count);
    ap_add_count(model, runs, "after_count", (int64_t)comparing->sides[1].count);
    ap_add_string(model, runs, "tested", comparing->several ? "runs" : "steps");
    ap_add_bool(model, runs, "repeats", comparing->repeats);
    add_side(comparing, runs, "before", &comparing->sides[0]);
    add_side(comparing, runs, "after", &comparing->sides[1]);
}
