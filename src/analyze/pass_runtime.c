/* SPDX-License-Identifier: MIT
 * pass_runtime.c - the calls of runtime and driver by name, whatever they do. */
#include <string.h>

#include "call_kind.h"
#include "passes.h"
#include "sort.h"

#include "poison.h"

#define LONG_CALL_NS 50000 /* HTA's cut-off for runtime calls */

struct call_sums {
    struct call_sum {
        uint32_t name, count, long_count;
        uint32_t longest; /* row */
        int64_t total_ns;
    } *sums;
    size_t count, capacity;
    int64_t rows, total_ns;
    bool overflowed;
};

static enum ap_status add_name(struct call_sums *calls, uint32_t name, uint32_t row, struct ap_gate *gate,
                               struct ap_error *reterr)
{
    AP_TRY(ap_mem_reserve(gate, (void **)&calls->sums, &calls->capacity, calls->count + 1, sizeof(calls->sums[0]), reterr));
    calls->sums[calls->count++] = (struct call_sum){ .name = name, .longest = row };
    return AP_OK;
}

/* @of_name: by name id, number + 1 of its sum; cleared. */
static enum ap_status sum_calls(struct call_sums *calls, uint32_t *of_name, const struct ap_trace *trace,
                                struct ap_gate *gate, struct ap_error *reterr)
{
    for (size_t row = 0; row < trace->events.count; row++) {
        if (ap_row_kind(trace->events.tag[row]) != AP_KIND_runtime)
            continue;
        uint32_t name = trace->events.name[row];
        if (!of_name[name]) {
            AP_TRY(add_name(calls, name, (uint32_t)row, gate, reterr));
            of_name[name] = (uint32_t)calls->count;
        }
        struct call_sum *sum = &calls->sums[of_name[name] - 1];
        int64_t dur_ns = trace->events.dur_ns[row];
        sum->count++;
        sum->long_count += dur_ns > LONG_CALL_NS;
        sum->total_ns = ap_add_sat(sum->total_ns, dur_ns, &calls->overflowed);
        if (dur_ns > trace->events.dur_ns[sum->longest])
            sum->longest = (uint32_t)row;
        calls->rows++;
        calls->total_ns = ap_add_sat(calls->total_ns, dur_ns, &calls->overflowed);
    }
    return AP_OK;
}

struct ranking {
    const struct ap_trace *trace;
    const struct call_sum *sums;
};

static bool call_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ranking *ranking = context;
    const struct call_sum *x = &ranking->sums[a], *y = &ranking->sums[b];
    if (x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns;
    int order = ap_text_compare(ap_strpool_text(&ranking->trace->strings, (struct ap_str){ x->name }),
                                ap_strpool_text(&ranking->trace->strings, (struct ap_str){ y->name }));
    return order ? order < 0 : a < b;
}

static void add_call(struct ap_pass_context *context, const struct call_sum *sum, enum ap_call_kind kind,
                     const struct ap_name_spreads *spreads, struct ap_model *model, struct ap_value *list)
{
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_text(model, row, "name", ap_strpool_text(&context->trace->strings, (struct ap_str){ sum->name }));
    ap_add_string(model, row, "kind", ap_call_kind_word(kind));
    ap_add_count(model, row, "count", sum->count);
    ap_add_time(model, row, "total_dur_us", sum->total_ns);
    ap_add_time(model, row, "mean_dur_us", ap_mean_ns(sum->total_ns, sum->count));
    ap_name_spreads_add(spreads, sum->name, model, row);
    ap_add_count(model, row, "outlier_count", sum->long_count);
    ap_add_place(context->trace, sum->longest, model, ap_add_object(model, row, "longest"));
}

static enum ap_status add_calls(struct ap_pass_context *context, const struct call_sums *calls, struct ap_model *model,
                                struct ap_value *runtime, struct ap_error *reterr)
{
    struct ranking ranking = { context->trace, calls->sums };
    struct ap_name_spreads spreads = { .gate = context->gate };
    struct ap_call_kinds kinds = { .gate = context->gate };
    struct ap_value *list = ap_add_list(model, runtime, "calls");
    uint32_t *order;
    size_t count;
    AP_TRY(ap_top_indices(context->gate, (uint32_t)calls->count, context->options->top_n, call_before, &ranking, &order,
                          &count, reterr));
    uint32_t *names = ap_mem_resize(context->gate, NULL, 0, count * sizeof(names[0]));
    enum ap_status status = names ? AP_OK : ap_fail_memory(context->gate, reterr);
    for (size_t i = 0; i < count && names; i++)
        names[i] = calls->sums[order[i]].name;
    if (status == AP_OK)
        status = ap_name_spreads_init(&spreads, context->trace, context->gate, names, count, AP_ROW_KIND_MASK,
                                      AP_KIND_runtime, reterr);
    if (status == AP_OK)
        status = ap_call_kinds_init(&kinds, context->trace, context->gate, reterr);
    for (size_t i = 0; i < count && status == AP_OK; i++) {
        const struct call_sum *sum = &calls->sums[order[i]];
        add_call(context, sum, ap_call_kind_of(&kinds, context->trace, sum->longest), &spreads, model, list);
    }
    ap_call_kinds_release(&kinds);
    ap_name_spreads_release(&spreads);
    ap_mem_free(context->gate, names, count * sizeof(names[0]));
    ap_mem_free(context->gate, order, count * sizeof(order[0]));
    return status;
}

static enum ap_status add_runtime(struct ap_pass_context *context, const struct call_sums *calls, struct ap_model *model,
                                  struct ap_value *root, struct ap_error *reterr)
{
    if (!calls->rows) {
        ap_add_null(model, root, "runtime");
        return AP_OK;
    }
    uint64_t long_count = 0;
    for (size_t i = 0; i < calls->count; i++)
        long_count += calls->sums[i].long_count;
    struct ap_value *runtime = ap_add_object(model, root, "runtime");
    ap_add_count(model, runtime, "count", calls->rows);
    ap_add_time(model, runtime, "total_dur_us", calls->total_ns);
    ap_add_count(model, runtime, "outlier_count", (int64_t)long_count);
    return add_calls(context, calls, model, runtime, reterr);
}

enum ap_status ap_pass_runtime(struct ap_pass_context *context, struct ap_model *model, struct ap_value *root,
                               struct ap_error *reterr)
{
    struct call_sums calls = { .sums = NULL };
    size_t bytes = ((size_t)ap_strpool_count(&context->trace->strings) + 1) * sizeof(uint32_t);
    uint32_t *of_name = ap_mem_resize(context->gate, NULL, 0, bytes);
    if (!of_name)
        return ap_fail_memory(context->gate, reterr);
    memset(of_name, 0, bytes);
    enum ap_status status = sum_calls(&calls, of_name, context->trace, context->gate, reterr);
    ap_mem_free(context->gate, of_name, bytes);
    if (status == AP_OK)
        status = add_runtime(context, &calls, model, root, reterr);
    ap_mem_free(context->gate, calls.sums, calls.capacity * sizeof(calls.sums[0]));
    ap_note_overflow(context, calls.overflowed);
    return status;
}
