/* SPDX-License-Identifier: MIT
 * part_communication.c - collectives by operation, group, type and size, with their bandwidths. One rank's trace cannot tell
 * moving from waiting for the other ranks: durations include both, so bandwidths are lower bounds. */
#include "collective_trains.h"
#include "communication_part.h"
#include "quantile.h"
#include "reduced_passes.h"
#include "sort.h"

#include "poison.h"

#define SMALL_BYTES (1 << 20)          /* smaller ones are bound by latency */
#define LARGE_BYTES (INT64_C(8) << 20) /* from here on the link tells, not the latency */

/* ---- output: small parts ---- */

/* Decimal gigabytes per second. */
static void add_bandwidth(struct ap_model *model, struct ap_value *to, const char *key, double bytes, double ns)
{
    ap_add_known_number(model, to, key, bytes > 0 && ns > 0, bytes / ns);
}

/* ---- output: collectives by kind ---- */

static bool longer_kind(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_communication *report = context;
    const struct ap_listed_kind *x = &report->kinds[a], *y = &report->kinds[b];
    return x->total_ns != y->total_ns ? x->total_ns > y->total_ns : a < b;
}

static void add_bandwidths(struct ap_model *model, struct ap_value *to, const struct ap_listed_kind *kind)
{
    double bytes = (double)kind->is->bytes, factor = ap_collective_bus_factor(kind->is->operation, kind->is->group_size);
    add_bandwidth(model, to, "algbw_gigabytes_per_s", bytes, (double)kind->p50_ns);
    add_bandwidth(model, to, "busbw_gigabytes_per_s", bytes * factor, (double)kind->p50_ns);
    add_bandwidth(model, to, "max_algbw_gigabytes_per_s", bytes, (double)kind->min_ns);
    add_bandwidth(model, to, "max_busbw_gigabytes_per_s", bytes * factor, (double)kind->min_ns);
}

static void add_kind(const struct ap_communication *report, const struct ap_listed_kind *kind, struct ap_model *model,
                     struct ap_value *list)
{
    const struct ap_collective_kind *is = kind->is;
    const struct ap_collective *told = ap_told_of(report, is);
    struct ap_value *to = ap_add_object(model, list, NULL);
    ap_add_string(model, to, "operation", ap_collective_operation_name(is->operation));
    ap_add_text(model, to, "name", ap_trace_text(report->trace, is->name));
    ap_add_bool(model, to, "on_host", is->on_host);
    ap_add_name(report->trace, model, to, "group", told ? told->group_name.id : 0);
    ap_add_known_count(model, to, "group_size", is->group_size > 0, is->group_size);
    ap_add_known_string(model, to, "dtype", is->dtype, ap_collective_dtype_name(is->dtype));
    ap_add_known_bytes(model, to, "bytes", is->bytes >= 0, is->bytes);
    ap_add_count(model, to, "count", (int64_t)kind->count);
    ap_add_time(model, to, "total_dur_us", kind->total_ns);
    ap_add_time(model, to, "mean_dur_us", ap_mean(kind->total_ns, kind->count));
    ap_add_time(model, to, "p50_us", kind->p50_ns);
    ap_add_time(model, to, "min_dur_us", kind->min_ns);
    ap_add_time(model, to, "max_dur_us", kind->max_ns);
    add_bandwidths(model, to, kind);
    ap_add_known_time(model, to, "exposed_us", !is->on_host, kind->exposed_ns);
    ap_add_quotient(model, to, "overlap_ratio", (double)kind->overlap_ns, is->on_host ? 0 : (double)kind->total_ns);
    ap_add_time(model, to, "slow_excess_us", kind->slow_ns);
    ap_add_place(report->trace, report->collectives.rows[kind->slowest].row, model, to);
}

static enum ap_status add_kinds(const struct ap_communication *report, uint64_t top_n, struct ap_model *model,
                                struct ap_value *to, struct ap_error *reterr)
{
    struct ap_value *list = ap_add_list(model, to, "collectives");
    uint32_t *order;
    size_t count;
    AP_TRY(ap_top_indices(report->gate, (uint32_t)report->kind_count, top_n, longer_kind, report, &order, &count, reterr));
    for (size_t i = 0; i < count; i++)
        add_kind(report, &report->kinds[order[i]], model, list);
    AP_FREE(report->gate, order, count);
    return AP_OK;
}

/* ---- output: by operation ---- */

struct operation_sums {
    int64_t count, total_ns, exposed_ns, bytes, known_bytes_ns;
    double bus_bytes, bus_ns; /* of those whose group size is known */
    bool has_device, has_bytes;
};

static void sum_operation(struct operation_sums *sums, const struct ap_collective_kind *kind, int64_t dur, bool *overflowed)
{
    double factor = ap_collective_bus_factor(kind->operation, kind->group_size);
    sums->count++;
    sums->total_ns = ap_add_sat(sums->total_ns, dur, overflowed);
    sums->has_device |= !kind->on_host;
    if (kind->bytes < 0)
        return;
    sums->has_bytes = true;
    sums->bytes = ap_add_sat(sums->bytes, kind->bytes, overflowed);
    sums->known_bytes_ns = ap_add_sat(sums->known_bytes_ns, dur, overflowed);
    if (factor > 0) {
        sums->bus_bytes += (double)kind->bytes * factor;
        sums->bus_ns += (double)dur;
    }
}

static bool longer_operation(const void *context, uint32_t a, uint32_t b)
{
    const struct operation_sums *sums = context;
    return sums[a].total_ns != sums[b].total_ns ? sums[a].total_ns > sums[b].total_ns : a < b;
}

static void add_operation(const struct operation_sums *sums, uint32_t operation, struct ap_model *model,
                          struct ap_value *list)
{
    struct ap_value *to = ap_add_object(model, list, NULL);
    ap_add_string(model, to, "operation", ap_collective_operation_name(operation));
    ap_add_count(model, to, "count", sums->count);
    ap_add_known_bytes(model, to, "bytes", sums->has_bytes, sums->bytes);
    ap_add_time(model, to, "total_dur_us", sums->total_ns);
    ap_add_known_time(model, to, "exposed_us", sums->has_device, sums->exposed_ns);
    add_bandwidth(model, to, "algbw_gigabytes_per_s", (double)sums->bytes, (double)sums->known_bytes_ns);
    add_bandwidth(model, to, "busbw_gigabytes_per_s", sums->bus_bytes, sums->bus_ns);
}

static enum ap_status add_operations(struct ap_communication *report, struct ap_model *model, struct ap_value *to,
                                     struct ap_error *reterr)
{
    struct operation_sums sums[AP_COLLECTIVE_COUNT_] = { 0 };
    struct ap_value *list = ap_add_list(model, to, "by_operation");
    for (size_t i = 0; i < report->collectives.count; i++) {
        const struct ap_collective_kind *kind = ap_kind_at(report, i);
        sum_operation(&sums[kind->operation], kind, ap_collective_dur_ns(report, i), &report->overflowed);
    }
    for (size_t k = 0; k < report->kind_count; k++) {
        const struct ap_listed_kind *kind = &report->kinds[k];
        int64_t *sum_ns = &sums[kind->is->operation].exposed_ns;
        *sum_ns = ap_add_sat(*sum_ns, kind->exposed_ns, &report->overflowed);
    }
    uint32_t *order;
    size_t count;
    AP_TRY(ap_top_indices(report->gate, AP_COLLECTIVE_COUNT_, 0, longer_operation, sums, &order, &count, reterr));
    for (size_t i = 0; i < count; i++)
        if (sums[order[i]].count)
            add_operation(&sums[order[i]], order[i], model, list);
    AP_FREE(report->gate, order, count);
    return AP_OK;
}

/* ---- output: groups ---- */

static bool busier_group(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_communication *report = context;
    const struct ap_listed_group *x = &report->groups[a], *y = &report->groups[b];
    return x->total_ns != y->total_ns ? x->total_ns > y->total_ns : a < b;
}

static enum ap_status add_groups(const struct ap_communication *report, uint64_t top_n, struct ap_model *model,
                                 struct ap_value *to, struct ap_error *reterr)
{
    struct ap_value *list = ap_add_list(model, to, "groups");
    uint32_t *order;
    size_t count;
    AP_TRY(ap_top_indices(report->gate, (uint32_t)report->group_count, top_n, busier_group, report, &order, &count, reterr));
    for (size_t i = 0; i < count; i++) {
        const struct ap_listed_group *group = &report->groups[order[i]];
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_name(report->trace, model, row, "name", group->told->group_name.id);
        ap_add_name(report->trace, model, row, "description", group->told->group_description.id);
        ap_add_known_count(model, row, "size", group->told->group_size > 0, group->told->group_size);
        ap_add_name(report->trace, model, row, "ranks", group->told->group_ranks.id);
        ap_add_count(model, row, "count", group->count);
        ap_add_time(model, row, "total_dur_us", group->total_ns);
    }
    AP_FREE(report->gate, order, count);
    return AP_OK;
}

/* ---- output: what rules ask ---- */

struct sums {
    int64_t device_ns, host_ns, exchange_ns, exposed_exchange_ns, exposed_transfer_ns, broadcast_ns;
    int64_t allreduces, small_allreduces, broadcasts, barriers, bytes, wide_bytes;
    size_t sized_allreduces;
    int64_t slow_count, slow_excess_ns; /* slow: at least twice as long as the fastest of its kind */
    int64_t slowest_ns;                 /* the largest such excess */
    uint32_t slowest;                   /* row; AP_NO_ROW = none is slow */
    double worst_over_best;
    double best_bus; /* bytes per ns of the fastest large one on a device; 0 = none */
};

static void note_speed(struct sums *sums, const struct ap_collective_kind *kind, int64_t dur_ns)
{
    double factor = ap_collective_bus_factor(kind->operation, kind->group_size);
    bool is_told = !kind->on_host && kind->bytes >= LARGE_BYTES && dur_ns > 0;
    double bus = is_told ? (double)kind->bytes * factor / (double)dur_ns : 0;
    sums->best_bus = bus > sums->best_bus ? bus : sums->best_bus;
}

static void sum_row(struct ap_communication *report, struct sums *sums, const struct ap_collective_kind *kind, int64_t dur)
{
    int64_t *total = kind->on_host ? &sums->host_ns : &sums->device_ns;
    *total = ap_add_sat(*total, dur, &report->overflowed);
    if (kind->bytes > 0) {
        sums->bytes = ap_add_sat(sums->bytes, kind->bytes, &report->overflowed);
        note_speed(sums, kind, dur);
        if (ap_collective_dtype_is_wide_float(kind->dtype))
            sums->wide_bytes = ap_add_sat(sums->wide_bytes, kind->bytes, &report->overflowed);
    }
    switch ((enum ap_collective_operation)kind->operation) {
    case AP_COLLECTIVE_allreduce:
        sums->allreduces++;
        if (kind->bytes < 0)
            break;
        sums->small_allreduces += kind->bytes < SMALL_BYTES;
        report->scratch[sums->sized_allreduces++] = kind->bytes;
        break;
    case AP_COLLECTIVE_alltoall:
    case AP_COLLECTIVE_dispatch:
    case AP_COLLECTIVE_combine:
        if (!kind->on_host)
            sums->exchange_ns = ap_add_sat(sums->exchange_ns, dur, &report->overflowed);
        break;
    case AP_COLLECTIVE_broadcast:
        sums->broadcasts++;
        sums->broadcast_ns = ap_add_sat(sums->broadcast_ns, dur, &report->overflowed);
        break;
    case AP_COLLECTIVE_barrier: sums->barriers++; break;
    default: break;
    }
}

static bool is_exchange(unsigned operation)
{
    return operation == AP_COLLECTIVE_alltoall || operation == AP_COLLECTIVE_dispatch || operation == AP_COLLECTIVE_combine;
}

/* One that receives is there before the other side has anything to send: how long it takes says nothing of its speed. */
static bool is_transfer(unsigned operation)
{
    return operation == AP_COLLECTIVE_send || operation == AP_COLLECTIVE_recv;
}

/* Of those on devices: others have no such time. */
static void sum_exposed(struct ap_communication *report, struct sums *sums)
{
    for (size_t k = 0; k < report->kind_count; k++) {
        unsigned operation = report->kinds[k].is->operation;
        int64_t exposed_ns = report->kinds[k].exposed_ns;
        if (is_exchange(operation))
            sums->exposed_exchange_ns = ap_add_sat(sums->exposed_exchange_ns, exposed_ns, &report->overflowed);
        if (is_transfer(operation))
            sums->exposed_transfer_ns = ap_add_sat(sums->exposed_transfer_ns, exposed_ns, &report->overflowed);
    }
}

static bool tells_fair(const struct ap_listed_kind *kind)
{
    return kind->min_ns > 0 && kind->is->bytes >= SMALL_BYTES; /* the time of smaller ones is all latency */
}

/* Kinds alike in all but their size, in order of it. What is seen once is judged by others alone. */
static void find_fair(struct ap_communication *report, size_t first, size_t end, struct ap_collective_time *times)
{
    size_t count = 0, seen = 0, at = 0;
    for (size_t k = first; k < end; k++) {
        const struct ap_listed_kind *kind = &report->kinds[k];
        if (!tells_fair(kind))
            continue;
        times[count++] = (struct ap_collective_time){ .bytes = kind->is->bytes, .dur_ns = kind->min_ns };
        seen += kind->count;
    }
    ap_collective_find_bounds(times, count);
    for (size_t k = first; k < end && count; k++) {
        struct ap_listed_kind *kind = &report->kinds[k];
        if (tells_fair(kind))
            kind->fair_ns = seen > 1 ? times[at++].bound_ns : -1;
        else if (kind->is->bytes < SMALL_BYTES)
            kind->fair_ns = times[0].bound_ns;
    }
}

/* What of a kind took at least twice as long as it had to. */
static void sum_slow_kind(struct ap_communication *report, struct sums *sums, struct ap_listed_kind *kind)
{
    if (kind->fair_ns <= 0 || kind->max_ns <= 0 || is_transfer(kind->is->operation))
        return;
    double ratio = kind->fair_ns < kind->max_ns ? (double)kind->fair_ns / (double)kind->max_ns : 1;
    sums->worst_over_best = sums->worst_over_best < 0 || ratio < sums->worst_over_best ? ratio : sums->worst_over_best;
    for (size_t i = kind->place; i < kind->place + kind->count; i++) {
        int64_t excess_ns = report->scratch[i] - kind->fair_ns;
        if (excess_ns < kind->fair_ns)
            continue;
        sums->slow_count++;
        kind->slow_ns = ap_add_sat(kind->slow_ns, excess_ns, &report->overflowed);
    }
    int64_t excess_ns = kind->max_ns - kind->fair_ns;
    if (excess_ns >= kind->fair_ns && excess_ns > sums->slowest_ns) {
        sums->slowest_ns = excess_ns;
        sums->slowest = report->collectives.rows[kind->slowest].row;
    }
    sums->slow_excess_ns = ap_add_sat(sums->slow_excess_ns, kind->slow_ns, &report->overflowed);
}

static enum ap_status sum_slow(struct ap_communication *report, struct sums *sums, struct ap_error *reterr)
{
    struct ap_collective_time *times;
    AP_TRY(AP_ALLOC(report->gate, times, report->kind_count, reterr));
    for (size_t first = 0, end; first < report->kind_count; first = end) {
        const struct ap_listed_kind *kinds = report->kinds;
        for (end = first + 1; end < report->kind_count && ap_compare_siblings(report, kinds[first].is, kinds[end].is) == 0;)
            end++;
        find_fair(report, first, end, times);
    }
    AP_FREE(report->gate, times, report->kind_count);
    for (size_t k = 0; k < report->kind_count; k++)
        if (report->kinds[k].is->bytes > 0)
            sum_slow_kind(report, sums, &report->kinds[k]);
    return AP_OK;
}

static enum ap_status add_passes(const struct ap_part_context *context, const struct ap_communication *report,
                                 struct ap_model *model, struct ap_value *to, struct ap_error *reterr)
{
    struct ap_ddp_passes passes;
    AP_TRY(ap_find_ddp_passes(context, &report->collectives, SMALL_BYTES, &passes, reterr));
    ap_add_count(model, to, "reduced_forward_count", passes.reduced_count);
    ap_add_count(model, to, "ddp_forward_count", passes.count);
    ap_add_time(model, to, "surplus_reduce_us", passes.surplus_ns);
    return AP_OK;
}

static void add_totals(const struct ap_communication *report, const struct sums *sums, struct ap_model *model,
                       struct ap_value *to)
{
    const struct ap_collective_rows *collectives = &report->collectives;
    bool any = collectives->device_count != 0;
    ap_add_count(model, to, "count", (int64_t)collectives->device_count);
    ap_add_time(model, to, "total_dur_us", sums->device_ns);
    ap_add_time(model, to, "busy_us", collectives->busy_ns);
    ap_add_time(model, to, "exposed_us", collectives->exposed_ns);
    ap_add_quotient(model, to, "exposed_ratio", (double)collectives->exposed_ns, any ? (double)collectives->busy_ns : 0);
    ap_add_quotient(model, to, "overlap_ratio", (double)collectives->overlap_ns, any ? (double)collectives->busy_ns : 0);
    ap_add_bool(model, to, "includes_wait", true);
    struct ap_value *host = ap_add_object(model, to, "host_collectives");
    ap_add_count(model, host, "count", (int64_t)(collectives->count - collectives->device_count));
    ap_add_time(model, host, "total_dur_us", sums->host_ns);
    ap_add_count(model, to, "calls", (int64_t)collectives->call_count);
    ap_add_count(model, to, "missing_details_count", (int64_t)collectives->missing_details_count);
    ap_add_known_number(model, to, "large_busbw_gigabytes_per_s", sums->best_bus > 0, sums->best_bus);
}

static void add_trains(const struct ap_part_context *context, struct ap_communication *report, struct ap_model *model,
                       struct ap_value *to)
{
    struct ap_collective_trains trains =
        ap_collective_trains_of(&report->collectives, report->trace, &context->facts->links);
    struct ap_value *one_by_one = ap_add_object(model, to, "one_by_one");
    ap_add_count(model, one_by_one, "trains", (int64_t)trains.count);
    ap_add_count(model, one_by_one, "count", (int64_t)trains.collectives);
    ap_add_time(model, one_by_one, "dur_us", trains.dur_ns);
    ap_add_time(model, one_by_one, "idle_us", trains.idle_ns);
    ap_add_number_per(model, one_by_one, "per_train", (double)trains.collectives, (double)trains.count);
    report->overflowed |= trains.overflowed;
}

static void add_slowest(const struct ap_trace *trace, uint32_t row, struct ap_model *model, struct ap_value *to)
{
    if (row == AP_NO_ROW) {
        ap_add_null(model, to, "slowest");
        return;
    }
    struct ap_value *slowest = ap_add_object(model, to, "slowest");
    ap_add_text(model, slowest, "name", ap_row_name(trace, row));
    ap_add_place(trace, row, model, slowest);
}

static void add_figures(const struct ap_part_context *context, struct ap_communication *report, const struct sums *sums,
                        struct ap_model *model, struct ap_value *to)
{
    int64_t called = (int64_t)report->collectives.barrier_call_count;
    int64_t barriers = sums->barriers > called ? sums->barriers : called;
    ap_add_count(model, to, "allreduce_count", sums->allreduces);
    ap_add_known_count(model, to, "small_allreduce_count", sums->sized_allreduces || !sums->allreduces,
                       sums->small_allreduces);
    if (sums->sized_allreduces)
        ap_add_bytes(model, to, "median_allreduce_bytes", ap_quantile(report->scratch, sums->sized_allreduces, 50));
    else
        ap_add_null(model, to, "median_allreduce_bytes");
    ap_add_number_per(model, to, "allreduces_per_step", (double)sums->allreduces, (double)context->facts->steps.count);
    ap_add_count(model, to, "broadcast_count", sums->broadcasts);
    ap_add_time(model, to, "broadcast_dur_us", sums->broadcast_ns);
    ap_add_number_per(model, to, "broadcasts_per_step", (double)sums->broadcasts, (double)context->facts->steps.count);
    ap_add_count(model, to, "barrier_count", barriers);
    ap_add_number_per(model, to, "barriers_per_step", (double)barriers, (double)context->facts->steps.count);
    ap_add_time(model, to, "alltoall_dur_us", sums->exchange_ns);
    ap_add_time(model, to, "alltoall_exposed_us", sums->exposed_exchange_ns);
    ap_add_time(model, to, "transfer_exposed_us", sums->exposed_transfer_ns);
    ap_add_quotient(model, to, "alltoall_share_ratio", (double)sums->exchange_ns, (double)sums->device_ns);
    ap_add_quotient(model, to, "dtype_fp32_bytes_ratio", (double)sums->wide_bytes, (double)sums->bytes);
    bool comparable = sums->worst_over_best >= 0 || !report->collectives.count;
    ap_add_known_count(model, to, "slow_count", comparable, sums->slow_count);
    ap_add_known_time(model, to, "slow_excess_us", comparable, sums->slow_excess_ns);
    ap_add_known_ratio(model, to, "worst_share_of_best_ratio", sums->worst_over_best >= 0, sums->worst_over_best);
    add_slowest(report->trace, sums->slowest, model, to);
}

static enum ap_status add_all(struct ap_part_context *context, struct ap_communication *report, struct ap_model *model,
                              struct ap_value *to, struct ap_error *reterr)
{
    struct sums sums = { .slowest = AP_NO_ROW, .worst_over_best = -1 };
    AP_TRY(sum_slow(report, &sums, reterr));
    for (size_t i = 0; i < report->collectives.count; i++)
        sum_row(report, &sums, ap_kind_at(report, i), ap_collective_dur_ns(report, i));
    sum_exposed(report, &sums);
    add_totals(report, &sums, model, to);
    add_figures(context, report, &sums, model, to);
    AP_TRY(add_passes(context, report, model, to, reterr));
    add_trains(context, report, model, to);
    AP_TRY(add_kinds(report, context->options->top_n, model, to, reterr));
    AP_TRY(add_operations(report, model, to, reterr));
    return add_groups(report, context->options->top_n, model, to, reterr);
}

enum ap_status ap_part_communication(struct ap_part_context *context, struct ap_model *model, struct ap_value *parent,
                                     struct ap_error *reterr)
{
    struct ap_communication report = { .trace = context->trace, .gate = context->gate, .collectives.gate = context->gate };
    enum ap_status status =
        ap_collective_rows_init(&report.collectives, context->trace, &context->facts->tree, &context->facts->links,
                                &context->facts->families, ap_has_ddp_passes(context->trace), context->gate, reterr);
    AP_AND_THEN(status, ap_communication_sort_out(&report, reterr));
    if (status == AP_OK && !report.collectives.count && !report.collectives.call_count)
        ap_add_null(model, parent, "communication");
    else if (status == AP_OK)
        status = add_all(context, &report, model, ap_add_object(model, parent, "communication"), reterr);
    ap_note_overflow(context, report.overflowed || report.collectives.overflowed);
    ap_communication_release(&report);
    return status;
}
