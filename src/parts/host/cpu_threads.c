/* SPDX-License-Identifier: MIT
 * part_threads.c - which threads do the work of the host. */
#include "cover.h"
#include "cpu_part.h"
#include "sort.h"

#include "poison.h"

struct ranking {
    const struct ap_thread_totals *threads;
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

static void add_details(struct ap_part_context *context, uint32_t index, struct ap_model *model, struct ap_value *row)
{
    const struct ap_thread_totals *threads = &context->facts->ops.operator_threads;
    const struct ap_track *track = &context->trace->tracks[index];
    const struct ap_track_label *label = track->label ? &context->trace->track_labels[track->label - 1] : NULL;
    ap_add_name(context->trace, model, row, "name", ap_track_name(context->trace, track).id);
    ap_add_known_count(model, row, "sort_index", label && label->has_sort_index, label ? label->sort_index : 0);
    ap_add_count(model, row, "operator_events", (int64_t)threads->rows[index]);
    ap_add_time(model, row, "total_dur_us", threads->total_ns[index]);
    ap_add_time(model, row, "busy_us", context->facts->ops.busy_ns[index]);
    ap_add_quotient(model, row, "window_share_ratio", (double)context->facts->ops.busy_ns[index],
                    context->facts->window_ns > 0 ? (double)context->facts->window_ns : 0);
}

static enum ap_status add_threads(struct ap_part_context *context, bool by_total, struct ap_model *model,
                                  struct ap_value *parent, struct ap_error *reterr)
{
    const struct ap_op_stats *ops = &context->facts->ops;
    const struct ap_thread_totals *threads = by_total ? &ops->cpu_threads : &ops->operator_threads;
    struct ranking ranking = { threads, by_total ? threads->total_ns : ops->busy_ns };
    struct ap_value *list = ap_add_list(model, parent, by_total ? "top_threads" : "threads");
    uint32_t *order;
    size_t count;
    AP_TRY(ap_top_indices(context->gate, (uint32_t)ops->thread_count, context->options->top_n, thread_before, &ranking,
                          &order, &count, reterr));
    for (size_t i = 0; i < count; i++) {
        if (!threads->rows[order[i]])
            break;
        struct ap_value *row = add_thread(context, order[i], model, list);
        if (by_total)
            ap_add_time(model, row, "total_dur_us", threads->total_ns[order[i]]);
        else
            add_details(context, order[i], model, row);
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

static enum ap_status add_thread_summary(struct ap_part_context *context, struct ap_model *model, struct ap_value *parent,
                                         struct ap_error *reterr)
{
    int64_t busiest_ns = 0, sum_ns = 0, threads = 0;
    struct host_union all;
    for (size_t i = 0; i < context->facts->ops.thread_count; i++) {
        int64_t busy_ns = context->facts->ops.busy_ns[i];
        threads += context->facts->ops.operator_threads.rows[i] != 0;
        sum_ns = ap_add_sat(sum_ns, busy_ns, &context->overflowed);
        busiest_ns = busy_ns > busiest_ns ? busy_ns : busiest_ns;
    }
    AP_TRY(union_of_all(context, &all, reterr));
    ap_model_keep_time(model, "cpu.thread_summary.long_gaps_us", &all.long_gaps);
    struct ap_value *summary = ap_add_object(model, parent, "thread_summary");
    ap_add_count(model, summary, "threads", threads);
    if (!threads || context->facts->window_ns < 0) {
        static const char *const unknown[] = { "busiest_busy_us", "busiest_window_ratio", "busiest_share_ratio", "idle_us",
                                               "long_gaps_us" };
        for (size_t i = 0; i < AP_COUNT_OF(unknown); i++)
            ap_add_null(model, summary, unknown[i]);
        return AP_OK;
    }
    ap_add_time(model, summary, "busiest_busy_us", busiest_ns);
    ap_add_quotient(model, summary, "busiest_window_ratio", (double)busiest_ns, (double)context->facts->window_ns);
    ap_add_quotient(model, summary, "busiest_share_ratio", (double)busiest_ns, (double)sum_ns);
    ap_add_time(model, summary, "idle_us", context->facts->window_ns - all.busy_ns);
    ap_add_time(model, summary, "long_gaps_us", all.long_gaps_ns);
    return AP_OK;
}

enum ap_status ap_cpu_add_threads(struct ap_part_context *context, struct ap_model *model, struct ap_value *parent,
                                  struct ap_error *reterr)
{
    AP_TRY(add_threads(context, true, model, parent, reterr));
    AP_TRY(add_threads(context, false, model, parent, reterr));
    return add_thread_summary(context, model, parent, reterr);
}
