/* SPDX-License-Identifier: MIT
 * part_phases.c - the time of forward, backward, optimizer, ...: on the host without overlap, on the GPU by what launched.
 */
#include "part.h"
#include "quantile.h"
#include "rows_of.h"
#include "sort.h"

#include "poison.h"

/* Where several parts of a step are open at once on the threads that are looked at, time belongs to the first of these. */
static const enum ap_phase precedence[] = { AP_PHASE_communication, AP_PHASE_data_loading, AP_PHASE_zero_grad,
                                            AP_PHASE_optimizer,     AP_PHASE_backward,     AP_PHASE_forward,
                                            AP_PHASE_inference };
#define LEVELS AP_COUNT_OF(precedence)

struct phase_total {
    int64_t host_ns, host_steady_ns;
    int64_t device_ns, device_busy_ns, device_steady_ns;
    uint64_t device_rows;
    uint32_t longest_row;
    bool is_seen;
};

/* The spans of time that host time is given for: the steps, or the whole trace. */
struct spans {
    const struct ap_steps *steps; /* without any: one span */
    struct ap_step whole;
};

struct phase_sums {
    struct phase_total of[AP_PHASE_COUNT_];
    int64_t host_ns, host_steady_ns, device_steady_ns; /* of all phases */
    int64_t added_host_ns, added_device_ns;            /* what backward adds to gradients that are there already */
    uint64_t steady_steps;
    int64_t beyond_launch_ns; /* of kernels of the optimizer, what launching each does not take */
    uint32_t update;          /* the operator of its first kernel */
    bool updates_differ;      /* others have another one: a tensor takes several passes */
    bool fills;               /* without devices: zero_grad has operators that write zeros; else it forgets gradients */
    struct ap_stretches optimizer;
    bool overflowed;
};

static size_t span_count(const struct spans *spans)
{
    return spans->steps->count ? spans->steps->count : 1;
}

static const struct ap_step *span_at(const struct spans *spans, size_t index)
{
    return spans->steps->count ? &spans->steps->steps[index] : &spans->whole;
}

/* ----------------------------------------------------------------------------------------------------------- host */

/* The time in which rows of the first phases up to a level were open; rows come by start. */
struct coverage {
    int64_t to_ns;
    size_t span;
    int64_t total_ns, steady_ns;
};

static void cover(struct coverage *coverage, const struct spans *spans, int64_t start_ns, int64_t end_ns)
{
    start_ns = start_ns > coverage->to_ns ? start_ns : coverage->to_ns;
    if (end_ns <= start_ns)
        return;
    coverage->to_ns = end_ns;
    for (; coverage->span < span_count(spans); coverage->span++) {
        const struct ap_step *span = span_at(spans, coverage->span);
        int64_t from_ns = start_ns > span->start_ns ? start_ns : span->start_ns;
        int64_t until_ns = end_ns < span->end_ns ? end_ns : span->end_ns;
        if (until_ns > from_ns) {
            coverage->total_ns += until_ns - from_ns;
            coverage->steady_ns += ap_step_is_steady(span) ? until_ns - from_ns : 0;
        }
        if (end_ns < span->end_ns)
            break;
    }
}

/* The threads of the steps, or the busiest one; and those that run backward. */
static enum ap_status choose_tracks(struct ap_part_context *context, struct ap_row_set *chosen, struct ap_error *reterr)
{
    const struct ap_row_set *backward = &context->facts->phases.backward_tracks;
    AP_TRY(ap_row_set_init(chosen, context->gate, context->trace->track_count, reterr));
    for (uint32_t track = ap_row_set_next(backward, 0); track != AP_ROW_SET_NONE;
         track = ap_row_set_next(backward, track + 1))
        ap_row_set_add(chosen, track);
    if (!context->facts->steps.count)
        ap_row_set_add(chosen, context->facts->ops.busiest);
    for (size_t i = 0; i < context->facts->steps.count; i++)
        ap_row_set_add(chosen, context->trace->events.track[context->facts->steps.steps[i].row]);
    return AP_OK;
}

/* Does a phase begin with this row? What lies within a row of the same phase adds nothing. */
static bool begins_phase(const struct ap_part_context *context, uint32_t row)
{
    enum ap_phase phase = ap_phase_of_row(&context->facts->phases, row);
    if (phase == AP_PHASE_other || !ap_row_is_of(context->trace, row, AP_HOST_KINDS))
        return false;
    uint32_t parent = ap_host_parent(&context->facts->tree, row);
    return parent == AP_NO_ROW || ap_phase_of_row(&context->facts->phases, parent) != phase ||
           ap_row_end_ns(context->trace, parent) < ap_row_end_ns(context->trace, row);
}

struct row_list {
    uint32_t *rows;
    size_t count, capacity;
};

static enum ap_status list_beginnings(const struct ap_part_context *context, const struct ap_row_set *chosen,
                                      struct row_list *list, struct ap_error *reterr)
{
    for (uint32_t track = ap_row_set_next(chosen, 0); track != AP_ROW_SET_NONE; track = ap_row_set_next(chosen, track + 1)) {
        for (size_t i = context->facts->order.track_start[track]; i < context->facts->order.track_start[track + 1]; i++) {
            if (!begins_phase(context, context->facts->order.rows[i]))
                continue;
            AP_TRY_ADD(context->gate, list->rows, list->count, list->capacity, reterr, context->facts->order.rows[i]);
        }
    }
    return AP_OK;
}

static bool starts_before(const void *data, uint32_t a, uint32_t b)
{
    const struct ap_trace *trace = data;
    return trace->events.start_ns[a] != trace->events.start_ns[b] ? trace->events.start_ns[a] < trace->events.start_ns[b]
                                                                  : a < b;
}

static void add_row(struct ap_part_context *context, const struct spans *spans, struct phase_sums *sums,
                    struct coverage *levels, uint32_t row)
{
    const struct ap_events *events = &context->trace->events;
    enum ap_phase phase = ap_phase_of_row(&context->facts->phases, row);
    struct phase_total *total = &sums->of[phase];
    if (!total->is_seen || events->dur_ns[row] > events->dur_ns[total->longest_row])
        total->longest_row = row;
    total->is_seen = true;
    if (phase == AP_PHASE_optimizer)
        ap_stretches_add(&sums->optimizer, context->gate, events->start_ns[row], ap_row_end_ns(context->trace, row));
    bool within = false;
    for (size_t level = 0; level < LEVELS; level++) {
        within = within || precedence[level] == phase;
        if (within)
            cover(&levels[level], spans, events->start_ns[row], ap_row_end_ns(context->trace, row));
    }
}

static void sum_spans(const struct spans *spans, struct phase_sums *sums)
{
    for (size_t i = 0; i < span_count(spans); i++) {
        const struct ap_step *span = span_at(spans, i);
        sums->host_ns += span->end_ns - span->start_ns;
        if (ap_step_is_steady(span)) {
            sums->host_steady_ns += span->end_ns - span->start_ns;
            sums->steady_steps++;
        }
    }
}

static void split_levels(struct phase_sums *sums, const struct coverage *levels)
{
    int64_t before_ns = 0, before_steady_ns = 0;
    for (size_t level = 0; level < LEVELS; level++) {
        struct phase_total *total = &sums->of[precedence[level]];
        total->host_ns = levels[level].total_ns - before_ns;
        total->host_steady_ns = levels[level].steady_ns - before_steady_ns;
        before_ns = levels[level].total_ns;
        before_steady_ns = levels[level].steady_ns;
    }
    sums->of[AP_PHASE_other].host_ns = sums->host_ns - before_ns;
    sums->of[AP_PHASE_other].host_steady_ns = sums->host_steady_ns - before_steady_ns;
}

static enum ap_status sum_host(struct ap_part_context *context, const struct spans *spans, struct phase_sums *sums,
                               struct ap_error *reterr)
{
    struct ap_row_set chosen;
    struct coverage levels[LEVELS];
    for (size_t i = 0; i < LEVELS; i++)
        levels[i] = (struct coverage){ .to_ns = INT64_MIN };
    sum_spans(spans, sums);
    AP_TRY(choose_tracks(context, &chosen, reterr));
    struct row_list list = { NULL, 0, 0 };
    enum ap_status status = list_beginnings(context, &chosen, &list, reterr);
    AP_AND_THEN(status, ap_sort_list(context->gate, list.rows, list.count, starts_before, context->trace, reterr));
    for (size_t i = 0; i < list.count && status == AP_OK; i++)
        add_row(context, spans, sums, levels, list.rows[i]);
    AP_FREE(context->gate, list.rows, list.capacity);
    ap_row_set_release(&chosen);
    split_levels(sums, levels);
    return status;
}

/* --------------------------------------------------------------------------------------------------------- device */

static bool is_launched_steadily(const struct ap_part_context *context, struct ap_step_cursor *cursor,
                                 struct ap_device_row linked)
{
    const struct ap_steps *steps = &context->facts->steps;
    uint32_t cause = ap_work_cause(context->trace, linked);
    if (cause == AP_NO_ROW || !steps->count)
        return false;
    size_t step = ap_step_cursor_at(cursor, context->trace->events.start_ns[cause]);
    return step < steps->count && ap_step_is_steady(&steps->steps[step]);
}

/* A kernel that alone updates a large tensor takes as long in any form: only launching it can go. */
#define LAUNCH_NS 10000

static void take_update(const struct ap_trace *trace, struct ap_device_row linked, struct phase_sums *sums)
{
    int64_t dur_ns = trace->events.dur_ns[linked.row];
    uint32_t name = linked.op == AP_NO_ROW ? 0 : trace->events.name[linked.op];
    if (!sums->of[AP_PHASE_optimizer].device_rows)
        sums->update = name;
    sums->updates_differ |= !name || name != sums->update;
    if (dur_ns > LAUNCH_NS)
        sums->beyond_launch_ns = ap_add_sat(sums->beyond_launch_ns, dur_ns - LAUNCH_NS, &sums->overflowed);
}

static void sum_device(struct ap_part_context *context, struct phase_sums *sums)
{
    const struct ap_trace *trace = context->trace;
    struct ap_step_cursor cursor = { &context->facts->steps, 0 };
    int64_t covered_to_ns[AP_PHASE_COUNT_], device = -1;
    for (size_t i = 0; i < context->facts->links.count; i++) {
        struct ap_device_row linked = ap_device_row_at(&context->facts->links, i);
        int64_t start_ns = trace->events.start_ns[linked.row], dur_ns = trace->events.dur_ns[linked.row];
        if (!i || ap_row_device(trace, linked.row) != device)
            for (size_t phase = 0; phase < AP_PHASE_COUNT_; phase++)
                covered_to_ns[phase] = INT64_MIN;
        device = ap_row_device(trace, linked.row);
        enum ap_phase phase = ap_phase_of_work(&context->facts->phases, trace, linked);
        struct phase_total *total = &sums->of[phase];
        if (phase == AP_PHASE_optimizer)
            take_update(trace, linked, sums);
        total->device_rows++;
        total->device_ns = ap_add_sat(total->device_ns, dur_ns, &sums->overflowed);
        if (is_launched_steadily(context, &cursor, linked)) {
            total->device_steady_ns = ap_add_sat(total->device_steady_ns, dur_ns, &sums->overflowed);
            sums->device_steady_ns = ap_add_sat(sums->device_steady_ns, dur_ns, &sums->overflowed);
        }
        if (start_ns + dur_ns > covered_to_ns[phase]) {
            int64_t from_ns = start_ns > covered_to_ns[phase] ? start_ns : covered_to_ns[phase];
            total->device_busy_ns = ap_add_sat(total->device_busy_ns, start_ns + dur_ns - from_ns, &sums->overflowed);
            covered_to_ns[phase] = start_ns + dur_ns;
        }
    }
}

/* Where a gradient is there already, a node of backward adds to it. */
static bool is_added(const struct ap_part_context *context, uint32_t op, uint32_t add, uint32_t accumulate)
{
    const struct ap_trace *trace = context->trace;
    if (op == AP_NO_ROW || trace->events.name[op] != add || !ap_row_is_of(trace, op, 1u << AP_KIND_operator))
        return false;
    uint32_t node = ap_host_around(&context->facts->tree, trace, op, 1u << AP_KIND_operator);
    return node != AP_NO_ROW && trace->events.name[node] == accumulate;
}

static void find_fills(const struct ap_part_context *context, struct phase_sums *sums)
{
    const struct ap_trace *trace = context->trace;
    uint32_t one = ap_trace_find_text(trace, "aten::zero_"), many = ap_trace_find_text(trace, "aten::_foreach_zero_");
    if (context->facts->links.count || (!one && !many))
        return;
    for (uint32_t row = 0; row < trace->events.count && !sums->fills; row++)
        sums->fills = (trace->events.name[row] == one || trace->events.name[row] == many) &&
                      ap_row_is_of(trace, row, 1u << AP_KIND_operator) &&
                      ap_phase_of_row(&context->facts->phases, row) == AP_PHASE_zero_grad;
}

static void sum_added(const struct ap_part_context *context, struct phase_sums *sums)
{
    const struct ap_events *events = &context->trace->events;
    uint32_t add = ap_trace_find_text(context->trace, "aten::add_");
    uint32_t accumulate = ap_trace_find_text(context->trace, "torch::autograd::AccumulateGrad");
    if (!add || !accumulate)
        return;
    for (struct ap_rows_of at = ap_rows_of(context->trace, 1u << AP_KIND_operator); ap_rows_of_next(&at);)
        if (events->dur_ns[at.row] > 0 && is_added(context, at.row, add, accumulate))
            sums->added_host_ns = ap_add_sat(sums->added_host_ns, events->dur_ns[at.row], &sums->overflowed);
    for (size_t i = 0; i < context->facts->links.count; i++)
        if (is_added(context, ap_op_at(&context->facts->links, i), add, accumulate))
            sums->added_device_ns =
                ap_add_sat(sums->added_device_ns, events->dur_ns[context->facts->links.row[i]], &sums->overflowed);
}

/* --------------------------------------------------------------------------------------------------------- output */

static void add_mean(struct ap_model *model, struct ap_value *to, const char *key, int64_t total_ns, uint64_t count,
                     bool is_known)
{
    ap_add_known_time(model, to, key, count && is_known, ap_mean(total_ns, count));
}

static void add_figures(struct ap_part_context *context, const struct phase_sums *sums, enum ap_phase phase,
                        struct ap_model *model, struct ap_value *to)
{
    const struct phase_total *total = &sums->of[phase];
    bool has_gpu = context->facts->links.count;
    uint64_t steady = context->facts->steps.count ? sums->steady_steps : 0;
    ap_add_time(model, to, "host_us", total->host_ns);
    ap_add_quotient(model, to, "host_share_ratio", (double)total->host_ns, (double)sums->host_ns);
    add_mean(model, to, "host_per_steady_step_us", total->host_steady_ns, steady, true);
    ap_add_known_time(model, to, "device_us", has_gpu, total->device_ns);
    ap_add_known_time(model, to, "device_busy_us", has_gpu, total->device_busy_ns);
    ap_add_time(model, to, "longer_us", total->device_busy_ns > total->host_ns ? total->device_busy_ns : total->host_ns);
    ap_add_quotient(model, to, "device_share_ratio", (double)total->device_ns, (double)context->facts->links.total_dur_ns);
    add_mean(model, to, "device_per_steady_step_us", total->device_steady_ns, steady, has_gpu);
    ap_add_count(model, to, "device_rows", (int64_t)total->device_rows);
}

static void add_longest(struct ap_part_context *context, const struct phase_total *total, struct ap_model *model,
                        struct ap_value *to)
{
    if (!total->is_seen) {
        ap_add_null(model, to, "longest");
        return;
    }
    struct ap_value *longest = ap_add_object(model, to, "longest");
    ap_add_text(model, longest, "name", ap_row_name(context->trace, total->longest_row));
    ap_add_place(context->trace, total->longest_row, model, longest);
}

/* The part of the GPU's time, where there is any, else of the host's. */
static void add_backward_over_forward(const struct phase_sums *sums, struct ap_model *model, struct ap_value *to)
{
    const struct phase_total *forward = &sums->of[AP_PHASE_forward], *backward = &sums->of[AP_PHASE_backward];
    bool by_device = forward->device_ns > 0 && backward->device_ns > 0;
    bool by_host = forward->host_ns > 0 && backward->host_ns > 0;
    if (by_device)
        ap_add_quotient(model, to, "backward_over_forward_ratio", (double)backward->device_ns, (double)forward->device_ns);
    else if (by_host)
        ap_add_quotient(model, to, "backward_over_forward_ratio", (double)backward->host_ns, (double)forward->host_ns);
    else
        ap_add_null(model, to, "backward_over_forward_ratio");
}

static int64_t longer_ns(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Filling gradients with zeros, and adding to them where otherwise the first one would have been taken as it is. */
static void add_zeroed(const struct ap_part_context *context, struct phase_sums *sums, struct ap_model *model,
                       struct ap_value *to)
{
    const struct phase_total *cleared = &sums->of[AP_PHASE_zero_grad];
    int64_t ns = longer_ns(cleared->host_ns, cleared->device_busy_ns);
    bool fills = context->facts->links.count ? cleared->device_rows > 0 : sums->fills;
    ns = ap_add_sat(ns, longer_ns(sums->added_host_ns, sums->added_device_ns), &sums->overflowed);
    ap_add_time(model, to, "zeroed_gradients_us", fills ? ns : 0);
}

/* What the host does while a device works costs nothing. */
static void add_optimizer_cost(struct ap_part_context *context, struct phase_sums *sums, struct ap_model *model,
                               struct ap_value *to)
{
    const struct phase_total *total = &sums->of[AP_PHASE_optimizer];
    const int64_t *cause_ns = context->facts->split.window.cause_ns;
    int64_t ns = ap_add_sat(cause_ns[AP_IDLE_host_optimizer], cause_ns[AP_IDLE_launch_overhead], &sums->overflowed);
    ns = ap_add_sat(ns, total->device_busy_ns, &sums->overflowed);
    if (!sums->updates_differ)
        ns = ns > sums->beyond_launch_ns ? ns - sums->beyond_launch_ns : 0;
    ap_add_time(model, to, "optimizer_cost_us", context->facts->split.has_gpu ? ns : total->host_ns);
}

static void add_phases(struct ap_part_context *context, struct phase_sums *sums, struct ap_model *model,
                       struct ap_value *root)
{
    struct ap_value *phases = ap_add_object(model, root, "phases");
    ap_add_string(model, phases, "of", context->facts->steps.count ? "steps" : "trace window");
    ap_add_time(model, phases, "host_us", sums->host_ns);
    ap_add_known_time(model, phases, "device_us", context->facts->links.count, context->facts->links.total_dur_ns);
    ap_add_count(model, phases, "steady_steps", context->facts->steps.count ? (int64_t)sums->steady_steps : 0);
    add_backward_over_forward(sums, model, phases);
    add_zeroed(context, sums, model, phases);
    add_optimizer_cost(context, sums, model, phases);
    for (unsigned phase = 0; phase < AP_PHASE_COUNT_; phase++)
        add_figures(context, sums, phase, model, ap_add_object(model, phases, ap_phase_name(phase)));
    struct ap_value *items = ap_add_list(model, phases, "items");
    for (unsigned phase = 0; phase < AP_PHASE_COUNT_; phase++) {
        if (!sums->of[phase].host_ns && !sums->of[phase].device_rows)
            continue;
        struct ap_value *item = ap_add_object(model, items, NULL);
        ap_add_string(model, item, "phase", ap_phase_name(phase));
        add_figures(context, sums, phase, model, item);
        add_longest(context, &sums->of[phase], model, item);
    }
}

enum ap_status ap_part_phases(struct ap_part_context *context, struct ap_model *model, struct ap_value *root,
                              struct ap_error *reterr)
{
    struct phase_sums sums = { .host_ns = 0 };
    struct spans spans = { .steps = &context->facts->steps };
    if (context->facts->window_ns < 0 || !context->trace->track_count) {
        ap_add_null(model, root, "phases");
        return AP_OK;
    }
    spans.whole.start_ns = context->trace->window_start_ns;
    spans.whole.end_ns = context->trace->window_end_ns;
    enum ap_status status = sum_host(context, &spans, &sums, reterr);
    if (status != AP_OK) {
        ap_stretches_release(&sums.optimizer, context->gate);
        return status;
    }
    sum_device(context, &sums);
    find_fills(context, &sums);
    sum_added(context, &sums);
    add_phases(context, &sums, model, root);
    ap_model_keep_time(model, "phases.optimizer", &sums.optimizer);
    ap_note_overflow(context, sums.overflowed);
    return AP_OK;
}
