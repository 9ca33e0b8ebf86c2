/* SPDX-License-Identifier: MIT
 * part_cpu.c - operators: the lists that users of the original script parse, the same by kind, families. */
#include "name_spreads.h"
#include "cpu_part.h"
#include "quantile.h"
#include "sort.h"

#include "poison.h"

struct family_totals {
    uint64_t count;
    int64_t total_ns, self_ns;
};

/* How a list is ordered. */
struct ranking {
    const struct ap_trace *trace;
    const struct ap_name_totals *totals;
    const int64_t *by_ns; /* column of totals */
};

/* Larger first, then by name; names without rows come last, which also keeps id 0 out. */
static bool ranks_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ranking *ranking = context;
    bool has_a = ranking->totals->count[a], has_b = ranking->totals->count[b];
    if (has_a != has_b)
        return has_a;
    AP_LARGER_FIRST(ranking->by_ns[a], ranking->by_ns[b]);
    int order = ap_trace_compare_texts(ranking->trace, a, b);
    return order ? order < 0 : a < b;
}

/* Names in the order of a list. */
struct ranked {
    uint32_t *names;
    size_t count, capacity;
};

static enum ap_status rank_names(struct ap_part_context *context, const struct ap_name_totals *totals, const int64_t *by_ns,
                                 struct ranked *ret_ranked, struct ap_error *reterr)
{
    struct ranking ranking = { context->trace, totals, by_ns };
    AP_TRY(ap_top_indices(context->gate, context->facts->ops.name_count + 1, context->options->top_n, ranks_before, &ranking,
                          &ret_ranked->names, &ret_ranked->capacity, reterr));
    while (ret_ranked->count < ret_ranked->capacity && totals->count[ret_ranked->names[ret_ranked->count]])
        ret_ranked->count++;
    return AP_OK;
}

static void release_ranked(struct ap_part_context *context, struct ranked *ranked)
{
    AP_FREE(context->gate, ranked->names, ranked->capacity);
}

static void add_op(struct ap_part_context *context, const struct ap_name_totals *totals, uint32_t id,
                   const struct ap_name_spreads *spreads, struct ap_model *model, struct ap_value *list)
{
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_text(model, row, "name", ap_trace_text(context->trace, id));
    ap_add_count(model, row, "count", totals->count[id]);
    ap_add_time(model, row, "total_dur_us", totals->total_ns[id]);
    ap_add_time(model, row, "avg_dur_us", ap_mean(totals->total_ns[id], totals->count[id]));
    ap_name_spreads_add(spreads, id, model, row);
    ap_add_time(model, row, "self_dur_us", totals->self_ns[id]);
    ap_add_time(model, row, "self_excl_runtime_dur_us",
                (totals->self_excl_runtime_ns ? totals->self_excl_runtime_ns : totals->self_ns)[id]);
}

static void add_list(struct ap_part_context *context, const struct ap_name_totals *totals, const struct ranked *ranked,
                     const struct ap_name_spreads *spreads, const char *key, struct ap_model *model, struct ap_value *parent)
{
    struct ap_value *list = ap_add_list(model, parent, key);
    for (size_t i = 0; i < ranked->count; i++)
        add_op(context, totals, ranked->names[i], spreads, model, list);
}

/* The spreads of all names in two lists. */
static enum ap_status measure_lists(struct ap_part_context *context, const struct ap_name_totals *totals,
                                    const struct ranked *a, const struct ranked *b, uint32_t kinds, uint8_t flag,
                                    struct ap_name_spreads *spreads, struct ap_error *reterr)
{
    size_t count = a->count + b->count;
    if (!count)
        return AP_OK;
    struct ap_name_rows *names;
    AP_TRY(AP_ALLOC(context->gate, names, count, reterr));
    for (size_t i = 0; i < count; i++) {
        uint32_t name = i < a->count ? a->names[i] : b->names[i - a->count];
        names[i] = (struct ap_name_rows){ name, totals->count[name] };
    }
    enum ap_status status = ap_name_spreads_init(spreads, context->trace, context->gate, names, count, kinds, flag, reterr);
    AP_FREE(context->gate, names, count);
    return status;
}

static enum ap_status add_operator_lists(struct ap_part_context *context, struct ap_model *model, struct ap_value *parent,
                                         struct ap_error *reterr)
{
    const struct ap_name_totals *totals = &context->facts->ops.operators;
    struct ranked by_total = { .count = 0 }, by_self = { .count = 0 };
    struct ap_name_spreads spreads = { .gate = context->gate };
    enum ap_status status = rank_names(context, totals, totals->total_ns, &by_total, reterr);
    AP_AND_THEN(status, rank_names(context, totals, totals->self_ns, &by_self, reterr));
    AP_AND_THEN(status, measure_lists(context, totals, &by_total, &by_self, 1u << AP_KIND_operator, 0, &spreads, reterr));
    if (status == AP_OK) {
        if (context->facts->ops.alike) /* else added before, from other rows */
            add_list(context, totals, &by_total, &spreads, "top_ops", model, parent);
        add_list(context, totals, &by_total, &spreads, "operators", model, parent);
        add_list(context, totals, &by_self, &spreads, "operators_by_self", model, parent);
    }
    ap_name_spreads_release(&spreads);
    release_ranked(context, &by_total);
    release_ranked(context, &by_self);
    return status;
}

/* The original script's list where it holds other rows than the operators. */
static enum ap_status add_cpu_list(struct ap_part_context *context, struct ap_model *model, struct ap_value *parent,
                                   struct ap_error *reterr)
{
    const struct ap_name_totals *totals = &context->facts->ops.cpu;
    struct ranked by_total = { .count = 0 }, none = { .count = 0 };
    struct ap_name_spreads spreads = { .gate = context->gate };
    enum ap_status status = rank_names(context, totals, totals->total_ns, &by_total, reterr);
    AP_AND_THEN(status,
                measure_lists(context, totals, &by_total, &none, AP_ALL_KINDS, AP_ROW_CPU_CATEGORY, &spreads, reterr));
    if (status == AP_OK)
        add_list(context, totals, &by_total, &spreads, "top_ops", model, parent);
    ap_name_spreads_release(&spreads);
    release_ranked(context, &by_total);
    return status;
}

/* ------------------------------------------------------------------------------------------------------ families */

static bool family_before(const void *context, uint32_t a, uint32_t b)
{
    const struct family_totals *totals = context;
    return totals[a].self_ns != totals[b].self_ns ? totals[a].self_ns > totals[b].self_ns : a < b;
}

static enum ap_status add_families(struct ap_part_context *context, const struct family_totals *totals,
                                   struct ap_model *model, struct ap_value *parent, struct ap_error *reterr)
{
    struct ap_value *list = ap_add_list(model, parent, "families");
    uint32_t *order;
    size_t count;
    AP_TRY(ap_top_indices(context->gate, ap_op_family_count(), 0, family_before, totals, &order, &count, reterr));
    for (size_t i = 0; i < count; i++) {
        const struct family_totals *family = &totals[order[i]];
        if (!family->count)
            continue;
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_string(model, row, "family", ap_op_family_name(order[i]));
        ap_add_count(model, row, "count", (int64_t)family->count);
        ap_add_time(model, row, "total_dur_us", family->total_ns);
        ap_add_time(model, row, "self_dur_us", family->self_ns);
        ap_add_quotient(model, row, "self_share_ratio", (double)family->self_ns,
                        (double)context->facts->ops.operator_self_ns);
    }
    AP_FREE(context->gate, order, count);
    return AP_OK;
}

/* What stands out among operators. */
struct outstanding {
    uint32_t names, top_name;
    int64_t top_name_self_ns;
    size_t top_family;
};

static void sum_families(struct ap_part_context *context, struct family_totals *totals, struct outstanding *ret_top)
{
    const struct ap_name_totals *columns = &context->facts->ops.operators;
    *ret_top = (struct outstanding){ .names = 0 };
    for (uint32_t id = 1; id <= context->facts->ops.name_count; id++) {
        if (!columns->count[id])
            continue;
        struct family_totals *family = &totals[context->facts->op_families.of_name[id]];
        family->count += columns->count[id];
        family->total_ns = ap_add_sat(family->total_ns, columns->total_ns[id], &context->overflowed);
        family->self_ns = ap_add_sat(family->self_ns, columns->self_ns[id], &context->overflowed);
        ret_top->names++;
        if (columns->self_ns[id] > ret_top->top_name_self_ns) {
            ret_top->top_name_self_ns = columns->self_ns[id];
            ret_top->top_name = id;
        }
    }
    for (size_t i = 1; i + 1 < ap_op_family_count(); i++)
        if (totals[i].self_ns > totals[ret_top->top_family].self_ns)
            ret_top->top_family = i;
}

static void add_operator_summary(struct ap_part_context *context, const struct family_totals *totals,
                                 const struct outstanding *top, struct ap_model *model, struct ap_value *parent)
{
    const struct ap_op_stats *ops = &context->facts->ops;
    struct ap_value *summary = ap_add_object(model, parent, "operator_summary");
    double self_ns = (double)ops->operator_self_ns;
    ap_add_count(model, summary, "events", (int64_t)ops->operator_row_count);
    ap_add_count(model, summary, "names", top->names);
    ap_add_time(model, summary, "self_dur_us", ops->operator_self_ns);
    ap_add_known_time(model, summary, "mean_self_dur_us", ops->operator_row_count,
                      ap_mean(ops->operator_self_ns, ops->operator_row_count));
    ap_add_count(model, summary, "short_events", (int64_t)ops->short_count);
    ap_add_time(model, summary, "short_self_dur_us", ops->short_self_ns);
    ap_add_quotient(model, summary, "short_self_share_ratio", (double)ops->short_self_ns, self_ns);
    ap_add_name(context->trace, model, summary, "top_name", top->top_name);
    ap_add_time(model, summary, "top_self_dur_us", top->top_name_self_ns);
    ap_add_quotient(model, summary, "top_self_share_ratio", (double)top->top_name_self_ns, self_ns);
    int64_t family_self_ns = totals[top->top_family].self_ns;
    ap_add_known_string(model, summary, "top_family", family_self_ns, ap_op_family_name((unsigned)top->top_family));
    ap_add_time(model, summary, "top_family_self_dur_us", family_self_ns);
    ap_add_quotient(model, summary, "top_family_share_ratio", (double)family_self_ns, self_ns);
}

static void add_summary(struct ap_part_context *context, struct ap_model *model, struct ap_value *parent)
{
    const struct ap_trace *trace = context->trace;
    struct ap_value *summary = ap_add_object(model, parent, "summary");
    uint32_t unique = 0;
    for (uint32_t id = 1; id <= context->facts->ops.name_count; id++)
        unique += context->facts->ops.cpu.count[id] != 0;
    ap_add_count(model, summary, "events_total", (int64_t)trace->event_count);
    ap_add_count(model, summary, "x_events_total", (int64_t)trace->ph_counts['X']);
    ap_add_count(model, summary, "cpu_x_events", (int64_t)context->facts->ops.cpu_row_count);
    ap_add_known_time(model, summary, "time_window_us", trace->has_window_all,
                      trace->window_all_end_ns - trace->window_all_start_ns);
    ap_add_count(model, summary, "unique_cpu_ops", unique);
}

enum ap_status ap_cpu_add_operators(struct ap_part_context *context, struct ap_model *model, struct ap_value *parent,
                                    struct ap_error *reterr)
{
    struct family_totals totals[AP_OP_FAMILY_MAX] = { { 0, 0, 0 } };
    struct outstanding top;
    add_summary(context, model, parent);
    if (!context->facts->ops.alike)
        AP_TRY(add_cpu_list(context, model, parent, reterr));
    AP_TRY(add_operator_lists(context, model, parent, reterr));
    sum_families(context, totals, &top);
    add_operator_summary(context, totals, &top, model, parent);
    return add_families(context, totals, model, parent, reterr);
}
