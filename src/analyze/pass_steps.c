/* SPDX-License-Identifier: MIT
 * pass_steps.c - steps of the training or inference loop, as ProfilerStep#N marks them on the host. */
#include <math.h>

#include "passes.h"
#include "quantile.h"

#include "poison.h"

static bool is_step(const struct ap_trace *trace, uint32_t row)
{
    return ap_text_starts_with(ap_row_name(trace, row), "ProfilerStep");
}

/* Names are looked at once each before rows are. */
static bool has_step_name(const struct ap_trace *trace)
{
    for (uint32_t id = 1; id <= ap_strpool_count(&trace->strings); id++)
        if (ap_text_starts_with(ap_strpool_text(&trace->strings, (struct ap_str){ id }), "ProfilerStep"))
            return true;
    return false;
}

/* Until 2021-06 annotations have the category of operators. */
static uint32_t step_kinds(const struct ap_trace *trace)
{
    for (size_t row = 0; row < trace->events.count; row++)
        if (ap_row_kind(trace->events.tag[row]) == AP_KIND_annotation)
            return 1u << AP_KIND_annotation;
    return 1u << AP_KIND_operator;
}

/* The list is as long as all rows that were looked at, *ret_capacity; the steps are its first *ret_count. */
static enum ap_status step_rows(struct ap_pass_context *context, uint32_t **ret_rows, size_t *ret_count,
                                size_t *ret_capacity, struct ap_error *reterr)
{
    *ret_rows = NULL;
    *ret_count = *ret_capacity = 0;
    if (!has_step_name(context->trace))
        return AP_OK;
    AP_TRY(ap_rows_by_start(&context->order, context->trace, step_kinds(context->trace), false, ret_rows, ret_capacity,
                            reterr));
    for (size_t i = 0; i < *ret_capacity; i++)
        if (is_step(context->trace, (*ret_rows)[i]))
            (*ret_rows)[(*ret_count)++] = (*ret_rows)[i];
    return AP_OK;
}

enum ap_status ap_count_steps(struct ap_pass_context *context, struct ap_error *reterr)
{
    uint32_t *rows;
    size_t count, capacity;
    AP_TRY(step_rows(context, &rows, &count, &capacity, reterr));
    ap_mem_free(context->gate, rows, capacity * sizeof(rows[0]));
    context->step_count = count;
    return AP_OK;
}

static void add_percentiles(struct ap_model *model, struct ap_value *steps, int64_t *durs_ns, size_t count)
{
    /* A percentile is given from as many steps on as it needs to differ from an end of the range. */
    static const struct {
        const char *key;
        unsigned percent, needed;
    } percentiles[] = { { "p50_us", 50, 2 }, { "p90_us", 90, 10 }, { "p95_us", 95, 20 }, { "p99_us", 99, 100 } };
    for (size_t i = 0; i < AP_COUNT_OF(percentiles); i++) {
        if (count < percentiles[i].needed)
            ap_add_null(model, steps, percentiles[i].key);
        else
            ap_add_time(model, steps, percentiles[i].key, ap_quantile(durs_ns, count, percentiles[i].percent));
    }
}

static void add_spread(struct ap_model *model, struct ap_value *steps, const int64_t *durs_ns, size_t count,
                       int64_t total_ns)
{
    double mean_ns = (double)total_ns / (double)count, squares = 0;
    int64_t min_ns = durs_ns[0], max_ns = durs_ns[0];
    for (size_t i = 0; i < count; i++) {
        double off_ns = (double)durs_ns[i] - mean_ns;
        squares += off_ns * off_ns;
        min_ns = durs_ns[i] < min_ns ? durs_ns[i] : min_ns;
        max_ns = durs_ns[i] > max_ns ? durs_ns[i] : max_ns;
    }
    double std_ns = sqrt(squares / (double)count);
    ap_add_time(model, steps, "mean_us", ap_mean_ns(total_ns, count));
    ap_add_time(model, steps, "std_us", (int64_t)llround(std_ns));
    ap_add_quotient(model, steps, "cv_ratio", std_ns, mean_ns);
    ap_add_time(model, steps, "min_us", min_ns);
    ap_add_time(model, steps, "max_us", max_ns);
}

/* durs_ns is still in order of time here. */
static void add_first(struct ap_model *model, struct ap_value *steps, int64_t *durs_ns, size_t count, int64_t first_ns)
{
    if (count < 3) {
        ap_add_null(model, steps, "first_over_median_ratio");
        ap_add_null(model, steps, "first_excess_us");
        return;
    }
    int64_t median_ns = ap_quantile(durs_ns + 1, count - 1, 50);
    ap_add_quotient(model, steps, "first_over_median_ratio", (double)first_ns, (double)median_ns);
    ap_add_time(model, steps, "first_excess_us", first_ns > median_ns ? first_ns - median_ns : 0);
}

static void add_items(struct ap_pass_context *context, struct ap_model *model, struct ap_value *steps,
                      const uint32_t *rows, size_t count)
{
    struct ap_value *items = ap_add_list(model, steps, "items");
    uint64_t limit = context->options->top_n ? context->options->top_n : count;
    for (size_t i = 0; i < count && i < limit; i++) {
        struct ap_value *item = ap_add_object(model, items, NULL);
        ap_add_text(model, item, "name", ap_row_name(context->trace, rows[i]));
        ap_add_time(model, item, "start_us", context->trace->events.start_ns[rows[i]] - context->trace->window_start_ns);
        ap_add_time(model, item, "dur_us", context->trace->events.dur_ns[rows[i]]);
    }
}

static enum ap_status add_steps(struct ap_pass_context *context, struct ap_model *model, struct ap_value *root,
                                const uint32_t *rows, size_t count, struct ap_error *reterr)
{
    int64_t *durs_ns = ap_mem_resize(context->gate, NULL, 0, count * sizeof(durs_ns[0]));
    int64_t total_ns = 0;
    if (!durs_ns)
        return ap_fail_memory(context->gate, reterr);
    for (size_t i = 0; i < count; i++) {
        durs_ns[i] = context->trace->events.dur_ns[rows[i]];
        total_ns = ap_add_sat(total_ns, durs_ns[i], &context->ops.overflowed);
    }
    int64_t first_ns = durs_ns[0];
    struct ap_value *steps = ap_add_object(model, root, "steps");
    ap_add_string(model, steps, "source", "ProfilerStep");
    ap_add_count(model, steps, "count", (int64_t)count);
    ap_add_time(model, steps, "total_us", total_ns);
    add_spread(model, steps, durs_ns, count, total_ns);
    add_first(model, steps, durs_ns, count, first_ns);
    add_percentiles(model, steps, durs_ns, count);
    add_items(context, model, steps, rows, count);
    ap_mem_free(context->gate, durs_ns, count * sizeof(durs_ns[0]));
    return AP_OK;
}

enum ap_status ap_pass_steps(struct ap_pass_context *context, struct ap_model *model, struct ap_value *root,
                             struct ap_error *reterr)
{
    uint32_t *rows;
    size_t count, capacity;
    AP_TRY(step_rows(context, &rows, &count, &capacity, reterr));
    enum ap_status status = AP_OK;
    if (count)
        status = add_steps(context, model, root, rows, count, reterr);
    else
        ap_add_null(model, root, "steps");
    ap_mem_free(context->gate, rows, capacity * sizeof(rows[0]));
    return status;
}
