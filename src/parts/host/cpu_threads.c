/* SPDX-License-Identifier: MIT
 * cpu_threads.c - which threads do the work of the host. */
#include "cover.h"
#include "cpu_part.h"
#include "name_spreads.h"
#include "rows_of.h"
#include "sort.h"

#include "poison.h"

/* Of rows of one sort, by track. */
struct thread_totals {
    uint32_t *rows;
    int64_t *total_ns; /* plain sum */
    size_t count;
};

/* Of rows of some kinds, those that have @flag in their tags. */
static enum ap_status thread_totals_init(struct thread_totals *totals, struct ap_part_context *context, uint32_t kinds,
                                         uint8_t flag, struct ap_error *reterr)
{
    const struct ap_events *events = &context->trace->events;
    totals->count = context->facts->ops.thread_count;
    if (!totals->count)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(context->gate, totals->rows, totals->count, reterr));
    AP_TRY(AP_ALLOC_CLEARED(context->gate, totals->total_ns, totals->count, reterr));
    for (struct ap_rows_of at = ap_rows_of(context->trace, kinds); ap_rows_of_next(&at);) {
        if ((events->tag[at.row] & flag) != flag)
            continue;
        int64_t *total_ns = &totals->total_ns[events->track[at.row]];
        totals->rows[events->track[at.row]]++;
        *total_ns = ap_add_sat(*total_ns, events->dur_ns[at.row], &context->overflowed);
    }
    return AP_OK;
}

static void thread_totals_release(struct thread_totals *totals, struct ap_gate *gate)
{
    AP_FREE(gate, totals->rows, totals->count);
    AP_FREE(gate, totals->total_ns, totals->count);
}

struct ranking {
    const struct thread_totals *threads;
    const int64_t *total_ns; /* what the longer comes first by */
};

static bool thread_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ranking *ranking = context;
    const uint32_t *rows = ranking->threads->rows;
    if (!rows[a] != !rows[b])
        return rows[a];
    return ranking->total_ns[a] != ranking->total_ns[b] ? ranking->total_ns[a] > ranking->total_ns[b] : a < b;
}

static struct ap_value *add_thread(struct ap_part_context *context, uint32_t index, struct ap_model *model,
                                   struct ap_value *list)
{
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_track(context->trace, index, model, row);
    return row;
}

static void add_details(struct ap_part_context *context, const struct thread_totals *threads, uint32_t index,
                        struct ap_model *model, struct ap_value *row)
{
    const struct ap_track *track = &context->trace->tracks[index];
    const struct ap_track_label *label = ap_track_label(context->trace, track);
    ap_add_name(context->trace, model, row, "name", ap_track_name(context->trace, track).id);
    ap_add_known_count(model, row, "sort_index", label && label->has_sort_index, label ? label->sort_index : 0);
    ap_add_count(model, row, "operator_events", (int64_t)threads->rows[index]);
    ap_add_time(model, row, "total_dur_us", threads->total_ns[index]);
    ap_add_time(model, row, "busy_us", context->facts->ops.busy_ns[index]);
    ap_add_quotient(model, row, "window_share_ratio", (double)context->facts->ops.busy_ns[index],
                    context->facts->window_ns > 0 ? (double)context->facts->window_ns : 0);
}

static enum ap_status add_threads(struct ap_part_context *context, const struct thread_totals *threads, bool by_total,
                                  struct ap_model *model, struct ap_value *parent, struct ap_error *reterr)
{
    struct ranking ranking = { threads, by_total ? threads->total_ns : context->facts->ops.busy_ns };
    struct ap_value *list = ap_add_list(model, parent, by_total ? "top_threads" : "threads");
    uint32_t *order;
    size_t count;
    AP_TRY(ap_top_indices(context->gate, (uint32_t)threads->count, context->options->top_n, thread_before, &ranking, &order,
                          &count, reterr));
    for (size_t i = 0; i < count; i++) {
        if (!threads->rows[order[i]])
            break;
        struct ap_value *row = add_thread(context, order[i], model, list);
        if (by_total)
            ap_add_time(model, row, "total_dur_us", threads->total_ns[order[i]]);
        else
            add_details(context, threads, order[i], model, row);
    }
    AP_FREE(context->gate, order, count);
    return AP_OK;
}

/* A gap as long as this between operators is work of the host; a shorter one is what calling them from Python takes. */
#define LONG_GAP_NS 500000
#define LEAST_GAPS 3 /* of which one can be unlike the others */
#define HICCUP 4     /* times as long as these together */

struct host_union {
    int64_t busy_ns;      /* at least one thread has an operator open */
    int64_t long_gaps_ns; /* none has, for long */
    size_t long_gap_count;
    int64_t longest_from_ns, longest_to_ns; /* of them, which is added last */
    struct ap_stretches long_gaps;
};

/* Both within a window whose length is known, so that the difference fits. */
static void add_gap(struct ap_gate *gate, struct host_union *all, int64_t from_ns, int64_t to_ns)
{
    if (to_ns <= from_ns || to_ns - from_ns < LONG_GAP_NS)
        return;
    all->long_gap_count++;
    if (to_ns - from_ns > all->longest_to_ns - all->longest_from_ns) {
        int64_t was_from_ns = all->longest_from_ns, was_to_ns = all->longest_to_ns;
        all->longest_from_ns = from_ns;
        all->longest_to_ns = to_ns;
        from_ns = was_from_ns;
        to_ns = was_to_ns;
    }
    all->long_gaps_ns += to_ns - from_ns;
    ap_stretches_add(&all->long_gaps, gate, from_ns, to_ns);
}

/* One gap of several that is many times longer than all others together is a hiccup: it comes once. */
static void end_gaps(struct ap_gate *gate, struct host_union *all)
{
    int64_t longest_ns = all->longest_to_ns - all->longest_from_ns;
    if (all->long_gap_count >= LEAST_GAPS && longest_ns / HICCUP > all->long_gaps_ns)
        return;
    all->long_gaps_ns += longest_ns;
    ap_stretches_add(&all->long_gaps, gate, all->longest_from_ns, all->longest_to_ns);
}

static enum ap_status union_of_all(struct ap_part_context *context, struct host_union *ret_union, struct ap_error *reterr)
{
    const struct ap_events *events = &context->trace->events;
    uint32_t *rows;
    size_t count;
    AP_TRY(ap_rows_by_start(&context->facts->order, context->trace, 1u << AP_KIND_operator, AP_ROWS_OUTERMOST_BY_START,
                            &rows, &count, reterr));
    struct ap_cover busy = AP_COVER_EMPTY;
    int64_t to_ns = context->trace->window_start_ns;
    *ret_union = (struct host_union){ .busy_ns = 0 };
    for (size_t i = 0; i < count; i++) {
        int64_t start_ns = events->start_ns[rows[i]];
        if (context->facts->window_ns >= 0)
            add_gap(context->gate, ret_union, to_ns, start_ns);
        ap_cover_add(&busy, start_ns, ap_row_end_ns(context->trace, rows[i]));
        to_ns = busy.to_ns > to_ns ? busy.to_ns : to_ns;
    }
    if (count && context->facts->window_ns >= 0)
        add_gap(context->gate, ret_union, to_ns, context->trace->window_end_ns);
    end_gaps(context->gate, ret_union);
    AP_FREE(context->gate, rows, count);
    ret_union->busy_ns = busy.sum_ns;
    return AP_OK;
}

static void add_thread_summary(struct ap_part_context *context, const struct thread_totals *totals,
                               const struct host_union *all, struct ap_model *model, struct ap_value *parent)
{
    int64_t busiest_ns = 0, sum_ns = 0, threads = 0;
    for (size_t i = 0; i < context->facts->ops.thread_count; i++) {
        int64_t busy_ns = context->facts->ops.busy_ns[i];
        threads += totals->rows[i] != 0;
        sum_ns = ap_add_sat(sum_ns, busy_ns, &context->overflowed);
        busiest_ns = busy_ns > busiest_ns ? busy_ns : busiest_ns;
    }
    struct ap_value *summary = ap_add_object(model, parent, "thread_summary");
    ap_add_count(model, summary, "threads", threads);
    if (!threads || context->facts->window_ns < 0) {
        static const char *const unknown[] = { "busiest_busy_us", "busiest_window_ratio", "busiest_share_ratio", "idle_us",
                                               "long_gaps_us" };
        for (size_t i = 0; i < AP_COUNT_OF(unknown); i++)
            ap_add_null(model, summary, unknown[i]);
        return;
    }
    ap_add_time(model, summary, "busiest_busy_us", busiest_ns);
    ap_add_quotient(model, summary, "busiest_window_ratio", (double)busiest_ns, (double)context->facts->window_ns);
    ap_add_quotient(model, summary, "busiest_share_ratio", (double)busiest_ns, (double)sum_ns);
    ap_add_time(model, summary, "idle_us", context->facts->window_ns - all->busy_ns);
    ap_add_time(model, summary, "long_gaps_us", all->long_gaps_ns);
}

enum ap_status ap_cpu_add_threads(struct ap_part_context *context, struct ap_model *model, struct ap_value *parent,
                                  struct ap_error *reterr)
{
    struct thread_totals cpu = { .rows = NULL }, operators = { .rows = NULL };
    struct host_union all;
    bool alike = context->facts->ops.alike;
    AP_TRY(union_of_all(context, &all, reterr)); /* first: there may be a thread for each row */
    ap_model_keep_time(model, "cpu.thread_summary.long_gaps_us", &all.long_gaps);
    enum ap_status status =
        thread_totals_init(&cpu, context, alike ? 1u << AP_KIND_operator : AP_ALL_KINDS, AP_ROW_CPU_CATEGORY, reterr);
    if (!alike)
        AP_AND_THEN(status, thread_totals_init(&operators, context, 1u << AP_KIND_operator, 0, reterr));
    AP_AND_THEN(status, add_threads(context, &cpu, true, model, parent, reterr));
    AP_AND_THEN(status, add_threads(context, alike ? &cpu : &operators, false, model, parent, reterr));
    if (status == AP_OK)
        add_thread_summary(context, alike ? &cpu : &operators, &all, model, parent);
    thread_totals_release(&cpu, context->gate);
    thread_totals_release(&operators, context->gate);
    return status;
}
