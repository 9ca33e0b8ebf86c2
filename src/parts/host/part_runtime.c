/* SPDX-License-Identifier: MIT
 * part_runtime.c - the calls of runtime and driver by name, whatever they do. */
#include "call_kind.h"
#include "name_spreads.h"
#include "name_sums.h"
#include "part.h"
#include "quantile.h"
#include "rows_of.h"

#include "poison.h"

#define LONG_CALL_NS 50000 /* HTA's cut-off for runtime calls */

/* Of each name, how many calls are long. */
static enum ap_status count_long(const struct ap_name_sums *calls, const struct ap_trace *trace, uint32_t **ret_counts,
                                 struct ap_error *reterr)
{
    uint32_t *counts;
    AP_TRY(AP_ALLOC_CLEARED(calls->gate, counts, calls->count, reterr));
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_runtime); ap_rows_of_next(&at);)
        if (trace->events.dur_ns[at.row] > LONG_CALL_NS)
            counts[ap_name_sums_number(calls, trace->events.name[at.row])]++;
    *ret_counts = counts;
    return AP_OK;
}

static void add_call(struct ap_part_context *context, const struct ap_name_sum *sum, uint32_t long_count,
                     enum ap_call_kind kind, const struct ap_name_spreads *spreads, struct ap_model *model,
                     struct ap_value *list)
{
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_text(model, row, "name", ap_trace_text(context->trace, ap_name_sum_name(context->trace, sum)));
    ap_add_string(model, row, "kind", ap_call_kind_word(kind));
    ap_add_count(model, row, "count", sum->count);
    ap_add_time(model, row, "total_dur_us", sum->total_ns);
    ap_add_time(model, row, "mean_dur_us", ap_mean(sum->total_ns, sum->count));
    ap_name_spreads_add(spreads, ap_name_sum_name(context->trace, sum), model, row);
    ap_add_count(model, row, "outlier_count", long_count);
    ap_add_place(context->trace, sum->longest, model, ap_add_object(model, row, "longest"));
}

static enum ap_status add_calls(struct ap_part_context *context, const struct ap_name_sums *calls,
                                const uint32_t *long_counts, struct ap_model *model, struct ap_value *runtime,
                                struct ap_error *reterr)
{
    struct ap_name_spreads spreads = { .gate = context->gate };
    struct ap_value *list = ap_add_list(model, runtime, "calls");
    uint32_t *order;
    struct ap_name_rows *names;
    size_t count;
    AP_TRY(ap_name_sums_top(calls, context->trace, context->options->top_n, &order, &count, reterr));
    enum ap_status status = AP_ALLOC(context->gate, names, count, reterr);
    for (size_t i = 0; i < count && names; i++)
        names[i] =
            (struct ap_name_rows){ ap_name_sum_name(context->trace, &calls->sums[order[i]]), calls->sums[order[i]].count };
    AP_AND_THEN(status, ap_name_spreads_init(&spreads, context->trace, context->gate, names, count, 1u << AP_KIND_runtime, 0,
                                             reterr));
    for (size_t i = 0; i < count && status == AP_OK; i++) {
        const struct ap_name_sum *sum = &calls->sums[order[i]];
        add_call(context, sum, long_counts[order[i]], ap_call_kind_of(&context->facts->calls, context->trace, sum->longest),
                 &spreads, model, list);
    }
    ap_name_spreads_release(&spreads);
    AP_FREE(context->gate, names, count);
    AP_FREE(context->gate, order, count);
    return status;
}

/* What the thread that drives the run spends in calls that launch, copy, allocate, free and wait for nothing. */
static int64_t driving_other_ns(const struct ap_part_context *context, bool *overflowed)
{
    const struct ap_trace *trace = context->trace;
    int64_t total_ns = 0;
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_runtime); ap_rows_of_next(&at);) {
        if (trace->events.track[at.row] != context->facts->main_track)
            continue;
        enum ap_call_kind kind = ap_call_kind_of(&context->facts->calls, trace, at.row);
        if (kind == AP_CALL_event || kind == AP_CALL_query || kind == AP_CALL_other)
            total_ns = ap_add_sat(total_ns, trace->events.dur_ns[at.row], overflowed);
    }
    return total_ns;
}

static enum ap_status add_runtime(struct ap_part_context *context, struct ap_name_sums *calls, struct ap_model *model,
                                  struct ap_value *root, struct ap_error *reterr)
{
    int64_t rows = 0, total_ns = 0, long_count = 0;
    uint32_t *long_counts = NULL;
    if (!calls->count) {
        ap_add_null(model, root, "runtime");
        return AP_OK;
    }
    AP_TRY(count_long(calls, context->trace, &long_counts, reterr));
    for (size_t i = 0; i < calls->count; i++) {
        rows += calls->sums[i].count;
        total_ns = ap_add_sat(total_ns, calls->sums[i].total_ns, &calls->overflowed);
        long_count += long_counts[i];
    }
    struct ap_value *runtime = ap_add_object(model, root, "runtime");
    ap_add_count(model, runtime, "count", rows);
    ap_add_time(model, runtime, "total_dur_us", total_ns);
    ap_add_time(model, runtime, "other_dur_us", driving_other_ns(context, &calls->overflowed));
    ap_add_count(model, runtime, "outlier_count", long_count);
    enum ap_status status = add_calls(context, calls, long_counts, model, runtime, reterr);
    AP_FREE(context->gate, long_counts, calls->count);
    return status;
}

enum ap_status ap_part_runtime(struct ap_part_context *context, struct ap_model *model, struct ap_value *root,
                               struct ap_error *reterr)
{
    struct ap_name_sums calls;
    enum ap_status status = ap_name_sums_init(&calls, context->trace, context->gate, reterr);
    AP_AND_THEN(status, ap_name_sums_add_all(&calls, context->trace, AP_KIND_runtime, reterr));
    AP_AND_THEN(status, add_runtime(context, &calls, model, root, reterr));
    ap_note_overflow(context, calls.overflowed);
    ap_name_sums_release(&calls);
    return status;
}
