/* SPDX-License-Identifier: MIT
 * part_syncs.c - where the host waits for the device, who asked for it, and what it cost. */
#include "causes.h"
#include "part.h"
#include "per_step.h"
#include "rows_of.h"
#include "sort.h"
#include "waits.h"

#include "poison.h"

/* A device that stood still for less than it takes to launch a kernel did not feel the wait. */
#define COSTLY_NS 10000

static const char *const category_names[] = {
#define AP_SYNC_CATEGORY(category) #category,
#include "sync_category.def"
};

struct wait_sums {
    struct wait_sum {
        int64_t count, blocked_ns, idle_ns;
        int64_t step_count; /* of them in the steps that count */
    } all, at_end, by_category[AP_SYNC_CATEGORY_COUNT];
    int64_t costly_count, metric_count;
    int64_t gpu_window_ns;
    size_t step_count; /* steps that count */
    bool overflowed;
};

static void add_to(struct wait_sum *sum, const struct ap_wait *wait, bool in_step, bool *overflowed)
{
    sum->count++;
    sum->step_count += in_step;
    sum->blocked_ns = ap_add_sat(sum->blocked_ns, wait->blocked_ns, overflowed);
    sum->idle_ns = ap_add_sat(sum->idle_ns, wait->idle_ns, overflowed);
}

static bool ends_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_wait *waits = context;
    return waits[a].end_ns != waits[b].end_ns ? waits[a].end_ns < waits[b].end_ns : a < b;
}

/* Nothing is launched after the last waits. Where they stand in a step, what the host does until its end would have run
 * beside the device's work of the next one without them: it is charged to the latest first, to each no more than it lasted.
 * Of a step alone nothing says that a next one comes. */
static enum ap_status charge_to_step_end(struct ap_waits *waits, const struct ap_steps *steps, struct ap_error *reterr)
{
    uint32_t *order;
    size_t count;
    int64_t left_ns = INT64_MIN; /* of the time to the end of the step */
    AP_TRY(ap_top_indices(waits->gate, (uint32_t)waits->count, 0, ends_before, waits->waits, &order, &count, reterr));
    for (size_t i = count; i-- > 0;) {
        struct ap_wait *wait = &waits->waits[order[i]];
        size_t step = ap_step_at(steps, wait->start_ns);
        if (!wait->at_end || ap_wait_is_allocation(wait) || step == steps->count || steps->count < 2 ||
            steps->steps[step].end_ns <= wait->end_ns)
            continue;
        if (left_ns == INT64_MIN)
            left_ns = steps->steps[step].end_ns - wait->end_ns;
        wait->idle_ns = left_ns < wait->blocked_ns ? left_ns : wait->blocked_ns;
        left_ns -= wait->idle_ns;
        wait->at_end = wait->idle_ns == 0;
    }
    AP_FREE(waits->gate, order, count);
    return AP_OK;
}

/* A synchronization at the end of the recording is the profiler's or the program's last: it holds up nothing. */
static bool counts(const struct ap_wait *wait)
{
    return !wait->at_end || ap_wait_is_allocation(wait);
}

static void sum_waits(struct wait_sums *sums, const struct ap_waits *waits, const struct ap_steps *steps)
{
    struct ap_per_step per_step = ap_per_step_of(steps);
    sums->step_count = per_step.count;
    for (size_t i = 0; i < waits->count; i++) {
        const struct ap_wait *wait = &waits->waits[i];
        bool in_step = ap_per_step_has(&per_step, wait->start_ns);
        if (!counts(wait)) {
            add_to(&sums->at_end, wait, in_step, &sums->overflowed);
            continue;
        }
        add_to(&sums->by_category[wait->category], wait, in_step, &sums->overflowed);
        if (ap_wait_is_allocation(wait))
            continue;
        add_to(&sums->all, wait, in_step, &sums->overflowed);
        sums->costly_count += wait->idle_ns >= COSTLY_NS;
        sums->metric_count += wait->of_metric;
    }
}

/* ---------------------------------------------------------------------------------------------------------- report */

/* Without GPU rows nobody knows. */
static void add_idle(const struct ap_part_context *context, int64_t idle_ns, struct ap_model *model, struct ap_value *to)
{
    ap_add_known_time(model, to, "idle_us", context->facts->links.count, idle_ns);
}

static void add_sum(const struct ap_part_context *context, const struct wait_sums *sums, const struct wait_sum *sum,
                    struct ap_model *model, struct ap_value *to)
{
    ap_add_count(model, to, "count", sum->count);
    ap_add_time(model, to, "blocked_us", sum->blocked_ns);
    add_idle(context, sum->idle_ns, model, to);
    ap_add_number_per(model, to, "per_step", (double)sum->step_count, (double)sums->step_count);
    ap_add_quotient(model, to, "blocked_share_ratio", (double)sum->blocked_ns,
                    context->facts->window_ns > 0 ? (double)context->facts->window_ns : 0);
    ap_add_quotient(model, to, "idle_share_ratio", (double)sum->idle_ns, (double)sums->gpu_window_ns);
}

static void add_names(const struct ap_trace *trace, const struct ap_cause *cause, struct ap_model *model,
                      struct ap_value *row)
{
    ap_add_string(model, row, "category", category_names[cause->kind]);
    ap_add_name(trace, model, row, "operator", cause->op);
    ap_add_name(trace, model, row, "leaf_operator", cause->leaf);
    ap_add_name(trace, model, row, "call", cause->call);
    ap_add_name(trace, model, row, "line", cause->line);
}

static struct ap_cause cause_of(const struct ap_trace *trace, const struct ap_wait *wait)
{
    return (struct ap_cause){
        .kind = wait->category,
        .call = trace->events.name[wait->row],
        .op = ap_row_name_id(trace, wait->chain.op),
        .leaf = ap_row_name_id(trace, wait->chain.leaf),
        .line = ap_row_name_id(trace, wait->chain.line),
        .row = wait->row,
        .count = 1,
        .weight_ns = wait->idle_ns,
        .time_ns = wait->blocked_ns,
        .row_weight_ns = wait->idle_ns ? wait->idle_ns : wait->blocked_ns - INT64_MAX,
    };
}

static enum ap_status sum_causes(struct ap_part_context *context, const struct ap_waits *waits, struct ap_cause_sums *sums,
                                 struct ap_error *reterr)
{
    for (size_t i = 0; i < waits->count; i++) {
        struct ap_cause cause = cause_of(context->trace, &waits->waits[i]);
        if (counts(&waits->waits[i]))
            AP_TRY(ap_causes_add(sums, &cause, context->gate, &context->overflowed, reterr));
    }
    return ap_causes_sum(sums->list, &sums->count, context->gate, &context->overflowed, reterr);
}

static enum ap_status add_causes(struct ap_part_context *context, const struct ap_cause_sums *sums, struct ap_model *model,
                                 struct ap_value *sync, struct ap_error *reterr)
{
    struct ap_value *list = ap_add_list(model, sync, "by_cause");
    uint32_t *order;
    size_t count;
    AP_TRY(ap_causes_rank(sums->list, sums->count, context->options->top_n, context->gate, &order, &count, reterr));
    for (size_t i = 0; i < count; i++) {
        const struct ap_cause *cause = &sums->list[order[i]];
        struct ap_value *row = ap_add_object(model, list, NULL);
        add_names(context->trace, cause, model, row);
        ap_add_count(model, row, "count", cause->count);
        ap_add_time(model, row, "blocked_us", cause->time_ns);
        add_idle(context, cause->weight_ns, model, row);
        ap_add_place(context->trace, cause->row, model, ap_add_object(model, row, "worst"));
    }
    AP_FREE(context->gate, order, count);
    return AP_OK;
}

static bool costs_more(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_wait *x = (const struct ap_wait *)context + a, *y = (const struct ap_wait *)context + b;
    AP_LARGER_FIRST(x->idle_ns, y->idle_ns);
    AP_LARGER_FIRST(x->blocked_ns, y->blocked_ns);
    return x->row != y->row ? x->row < y->row : a < b;
}

static enum ap_status add_calls(struct ap_part_context *context, const struct ap_waits *waits, struct ap_model *model,
                                struct ap_value *sync, struct ap_error *reterr)
{
    struct ap_value *list = ap_add_list(model, sync, "calls");
    uint32_t *order;
    size_t count;
    AP_TRY(ap_top_indices(context->gate, (uint32_t)waits->count, context->options->top_n, costs_more, waits->waits, &order,
                          &count, reterr));
    for (size_t i = 0; i < count; i++) {
        const struct ap_wait *wait = &waits->waits[order[i]];
        struct ap_cause cause = cause_of(context->trace, wait);
        struct ap_value *row = ap_add_object(model, list, NULL);
        add_names(context->trace, &cause, model, row);
        ap_add_time(model, row, "blocked_us", wait->blocked_ns);
        add_idle(context, wait->idle_ns, model, row);
        ap_add_bool(model, row, "at_end", wait->at_end);
        ap_add_place(context->trace, wait->row, model, row);
    }
    AP_FREE(context->gate, order, count);
    return AP_OK;
}

static enum ap_status add_lists(struct ap_part_context *context, const struct ap_waits *waits, struct ap_model *model,
                                struct ap_value *sync, struct ap_error *reterr)
{
    struct ap_cause_sums sums = { .list = NULL };
    AP_TRY(add_calls(context, waits, model, sync, reterr));
    enum ap_status status = sum_causes(context, waits, &sums, reterr);
    AP_AND_THEN(status, add_causes(context, &sums, model, sync, reterr));
    ap_causes_release(&sums, context->gate);
    return status;
}

static enum ap_status add_sync(struct ap_part_context *context, const struct ap_waits *waits, struct ap_model *model,
                               struct ap_value *root, struct ap_error *reterr)
{
    struct wait_sums sums = { .gpu_window_ns = ap_links_window_ns(&context->facts->links, context->trace) -
                                               context->facts->split.window.cause_ns[AP_IDLE_not_recorded] };
    sum_waits(&sums, waits, &context->facts->steps);
    struct ap_value *sync = ap_add_object(model, root, "sync");
    add_sum(context, &sums, &sums.all, model, sync);
    ap_add_count(model, sync, "costly_count", sums.costly_count);
    ap_add_count(model, sync, "at_end_count", sums.at_end.count);
    ap_add_time(model, sync, "at_end_blocked_us", sums.at_end.blocked_ns);
    for (size_t i = 0; i < AP_SYNC_CATEGORY_COUNT; i++)
        add_sum(context, &sums, &sums.by_category[i], model, ap_add_object(model, sync, category_names[i]));
    ap_add_count(model, sync, "metric_count", sums.metric_count);
    ap_add_names(context->trace, model, sync, "metric_operators", waits->metric_ops, AP_METRIC_OPS);
    ap_note_overflow(context, sums.overflowed);
    return add_lists(context, waits, model, sync, reterr);
}

enum ap_status ap_part_syncs(struct ap_part_context *context, struct ap_model *model, struct ap_value *root,
                             struct ap_error *reterr)
{
    struct ap_waits waits;
    if (!ap_has_rows_of(context->trace, 1u << AP_KIND_runtime)) {
        ap_add_null(model, root, "sync");
        return AP_OK;
    }
    enum ap_status status = ap_waits_init(&waits, context->trace, &context->facts->order, &context->facts->tree,
                                          &context->facts->links, &context->facts->calls, context->gate, reterr);
    AP_AND_THEN(status, ap_waits_find_cost(&waits, context->trace, &context->facts->links, reterr));
    if (status == AP_OK && context->facts->links.count && waits.count)
        status = charge_to_step_end(&waits, &context->facts->steps, reterr);
    AP_AND_THEN(status, add_sync(context, &waits, model, root, reterr));
    ap_waits_release(&waits);
    return status;
}
