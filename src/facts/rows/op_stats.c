/* SPDX-License-Identifier: MIT */
#include "op_stats.h"

#include <string.h>

#include "cover.h"
#include "rows_of.h"

#include "poison.h"

/* Rounding of the exporter that is no crossing: whole microseconds in older files, nanoseconds in newer ones. */
#define TOLERANCE_US_FILE_NS 1000
#define TOLERANCE_NS_FILE_NS 2

static bool is_cpu_row(uint8_t tag)
{
    return tag & AP_ROW_CPU_CATEGORY;
}

static bool is_operator_row(uint8_t tag)
{
    return ap_row_kind(tag) == AP_KIND_operator;
}

/* ------------------------------------------------------------------------------------------------------- columns */

static bool new_column(struct ap_gate *gate, void **column, size_t count, size_t element_bytes)
{
    *column = ap_mem_resize(gate, NULL, 0, count * element_bytes);
    if (*column)
        memset(*column, 0, count * element_bytes);
    return *column != NULL;
}

static bool new_totals(struct ap_gate *gate, struct ap_name_totals *totals, size_t count, bool calls)
{
    return new_column(gate, (void **)&totals->count, count, sizeof(totals->count[0])) &&
           new_column(gate, (void **)&totals->total_ns, count, sizeof(totals->total_ns[0])) &&
           new_column(gate, (void **)&totals->self_ns, count, sizeof(totals->self_ns[0])) &&
           (!calls ||
            new_column(gate, (void **)&totals->self_excl_runtime_ns, count, sizeof(totals->self_excl_runtime_ns[0])));
}

static void free_totals(struct ap_gate *gate, struct ap_name_totals *totals, size_t count)
{
    AP_FREE(gate, totals->count, count);
    AP_FREE(gate, totals->total_ns, count);
    AP_FREE(gate, totals->self_ns, count);
    AP_FREE(gate, totals->self_excl_runtime_ns, count);
}

void ap_op_stats_forget_names(struct ap_op_stats *stats)
{
    size_t count = (size_t)stats->name_count + 1;
    free_totals(stats->gate, &stats->cpu, count);
    if (!stats->alike)
        free_totals(stats->gate, &stats->operators, count);
    stats->cpu = stats->operators = (struct ap_name_totals){ .count = NULL };
}

void ap_op_stats_release(struct ap_op_stats *stats)
{
    ap_op_stats_forget_names(stats);
    *stats = (struct ap_op_stats){ .gate = stats->gate };
}

/* Current exporters: every operator row has a category with "cpu" and no other row has. Names of kernels and frames, and
 * streams, that come behind the last one of these rows have no totals. */
static void look_at_rows(struct ap_op_stats *stats, const struct ap_trace *trace)
{
    stats->alike = true;
    for (size_t row = 0; row < trace->events.count; row++) {
        bool is_cpu = is_cpu_row(trace->events.tag[row]), is_operator = is_operator_row(trace->events.tag[row]);
        stats->alike &= is_cpu == is_operator;
        if (!is_cpu && !is_operator)
            continue;
        if (trace->events.name[row] > stats->name_count)
            stats->name_count = trace->events.name[row];
        if (trace->events.track[row] >= stats->thread_count)
            stats->thread_count = trace->events.track[row] + 1;
    }
}

static void add_plain(struct ap_op_stats *stats, struct ap_name_totals *totals, const struct ap_trace *trace, size_t row)
{
    uint32_t name = trace->events.name[row];
    int64_t dur_ns = trace->events.dur_ns[row];
    totals->count[name]++;
    totals->total_ns[name] = ap_add_sat(totals->total_ns[name], dur_ns, &stats->overflowed);
}

static void add_plain_sums(struct ap_op_stats *stats, const struct ap_trace *trace)
{
    for (size_t row = 0; row < trace->events.count; row++) {
        uint8_t tag = trace->events.tag[row];
        if (is_cpu_row(tag)) {
            stats->cpu_row_count++;
            add_plain(stats, &stats->cpu, trace, row);
        }
        if (is_operator_row(tag)) {
            stats->operator_row_count++;
            if (!stats->alike)
                add_plain(stats, &stats->operators, trace, row);
        }
    }
}

/* ------------------------------------------------------------------------------------------------------- nesting */

/* The open rows of one thread, innermost last. */
struct nest {
    struct open_row {
        uint32_t row;
        int64_t end_ns, self_ns;
    } * open;
    size_t depth, capacity;
    int64_t now_ns;
};

struct nesting {
    struct ap_op_stats *stats;
    const struct ap_trace *trace;
    struct nest operators, with_runtime;
    int64_t tolerance_ns, credited_ns;
};

static inline void add_time(struct ap_op_stats *stats, int64_t *sum_ns, int64_t ns)
{
    *sum_ns = ap_add_sat(*sum_ns, ns, &stats->overflowed);
}

static void close_operator(struct nesting *nesting, const struct open_row *closed)
{
    struct ap_op_stats *stats = nesting->stats;
    uint8_t tag = nesting->trace->events.tag[closed->row];
    uint32_t name = nesting->trace->events.name[closed->row];
    nesting->credited_ns += closed->self_ns;
    if (is_cpu_row(tag))
        add_time(stats, &stats->cpu.self_ns[name], closed->self_ns);
    if (!is_operator_row(tag))
        return;
    if (!stats->alike)
        add_time(stats, &stats->operators.self_ns[name], closed->self_ns);
    add_time(stats, &stats->operator_self_ns, closed->self_ns);
    if (closed->self_ns < AP_SHORT_SELF_NS) {
        stats->short_count++;
        stats->short_self_ns += closed->self_ns;
    }
}

static void close_with_runtime(struct nesting *nesting, const struct open_row *closed)
{
    struct ap_op_stats *stats = nesting->stats;
    uint8_t tag = nesting->trace->events.tag[closed->row];
    uint32_t name = nesting->trace->events.name[closed->row];
    if (is_cpu_row(tag) && stats->cpu.self_excl_runtime_ns)
        add_time(stats, &stats->cpu.self_excl_runtime_ns[name], closed->self_ns);
    if (is_operator_row(tag) && !stats->alike && stats->operators.self_excl_runtime_ns)
        add_time(stats, &stats->operators.self_excl_runtime_ns[name], closed->self_ns);
}

typedef void close_row(struct nesting *nesting, const struct open_row *closed);

/* Give the time up to @to_ns to the innermost rows that are open meanwhile. */
static inline void advance(struct nesting *nesting, struct nest *nest, int64_t to_ns, close_row *close)
{
    while (nest->depth) {
        struct open_row *top = &nest->open[nest->depth - 1];
        int64_t until_ns = top->end_ns < to_ns ? top->end_ns : to_ns;
        if (until_ns > nest->now_ns) {
            top->self_ns += until_ns - nest->now_ns;
            nest->now_ns = until_ns;
        }
        if (top->end_ns > to_ns)
            break;
        close(nesting, top);
        nest->depth--;
    }
    nest->now_ns = to_ns;
}

static inline enum ap_status push(struct nesting *nesting, struct nest *nest, uint32_t row, struct ap_error *reterr)
{
    AP_TRY(AP_RESERVE(nesting->stats->gate, nest->open, nest->capacity, nest->depth + 1, reterr));
    struct open_row *open = &nest->open[nest->depth++];
    open->row = row;
    open->end_ns = ap_row_end_ns(nesting->trace, row);
    open->self_ns = 0;
    return AP_OK;
}

static enum ap_status nest_thread(struct nesting *nesting, const uint32_t *rows, size_t count, int64_t *busy_ns,
                                  struct ap_error *reterr)
{
    const struct ap_events *events = &nesting->trace->events;
    struct ap_cover covered = AP_COVER_EMPTY;
    int64_t operator_covered_to_ns = INT64_MIN;
    nesting->operators.now_ns = nesting->with_runtime.now_ns = INT64_MIN;
    nesting->credited_ns = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t row = rows[i];
        uint8_t tag = events->tag[row];
        bool operator_row = is_operator_row(tag);
        if (!operator_row && !is_cpu_row(tag) && ap_row_kind(tag) != AP_KIND_runtime)
            continue;
        int64_t start_ns = events->start_ns[row], end_ns = ap_row_end_ns(nesting->trace, row);
        advance(nesting, &nesting->with_runtime, start_ns, close_with_runtime);
        bool is_call = !operator_row && !is_cpu_row(tag);
        if (is_call && (i + 1 == count || events->start_ns[rows[i + 1]] >= end_ns)) { /* as most are: nothing lies in it */
            nesting->with_runtime.now_ns = end_ns;
            continue;
        }
        AP_TRY(push(nesting, &nesting->with_runtime, row, reterr));
        if (is_call)
            continue;
        struct nest *nest = &nesting->operators;
        advance(nesting, nest, start_ns, close_operator);
        if (nest->depth && end_ns - nest->open[nest->depth - 1].end_ns > nesting->tolerance_ns)
            nesting->stats->straddle_count++;
        AP_TRY(push(nesting, nest, row, reterr));
        ap_cover_add(&covered, start_ns, end_ns);
        if (operator_row)
            *busy_ns += ap_cover_extend(&operator_covered_to_ns, start_ns, end_ns);
    }
    advance(nesting, &nesting->operators, INT64_MAX, close_operator);
    advance(nesting, &nesting->with_runtime, INT64_MAX, close_with_runtime);
    nesting->stats->mismatch_count += nesting->credited_ns != covered.sum_ns;
    return AP_OK;
}

static bool in_whole_microseconds(const struct ap_trace *trace)
{
    for (size_t row = 0; row < trace->events.count; row++)
        if (trace->events.dur_ns[row] % 1000)
            return false;
    return true;
}

enum ap_status ap_op_stats_init(struct ap_op_stats *stats, const struct ap_trace *trace, struct ap_gate *gate,
                                struct ap_error *reterr)
{
    *stats = (struct ap_op_stats){ .gate = gate };
    look_at_rows(stats, trace);
    size_t count = (size_t)stats->name_count + 1;
    bool calls = ap_has_rows_of(trace, 1u << AP_KIND_runtime);
    if (!new_totals(gate, &stats->cpu, count, calls) ||
        (!stats->alike && !new_totals(gate, &stats->operators, count, calls)))
        return ap_fail_memory(gate, reterr);
    if (stats->alike)
        stats->operators = stats->cpu;
    add_plain_sums(stats, trace);
    return AP_OK;
}

enum ap_status ap_op_stats_nest(struct ap_op_stats *stats, const struct ap_trace *trace, const struct ap_row_order *order,
                                struct ap_error *reterr)
{
    struct nesting nesting = { .stats = stats, .trace = trace };
    nesting.tolerance_ns = in_whole_microseconds(trace) ? TOLERANCE_US_FILE_NS : TOLERANCE_NS_FILE_NS;
    enum ap_status status = AP_OK;
    int64_t most_ns = 0;
    for (uint32_t track = 0; track < stats->thread_count && status == AP_OK; track++) {
        int64_t busy_ns = 0;
        if (order->track_start[track] < order->track_start[track + 1])
            status = nest_thread(&nesting, order->rows + order->track_start[track],
                                 order->track_start[track + 1] - order->track_start[track], &busy_ns, reterr);
        if (busy_ns > most_ns) {
            most_ns = busy_ns;
            stats->busiest = track;
        }
    }
    ap_mem_free(stats->gate, nesting.operators.open, nesting.operators.capacity * sizeof(struct open_row));
    ap_mem_free(stats->gate, nesting.with_runtime.open, nesting.with_runtime.capacity * sizeof(struct open_row));
    return status;
}
