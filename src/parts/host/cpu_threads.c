/* SPDX-License-Identifier: MIT
 * cpu_threads.c - which threads do the work of the host. */
#include "cover.h"
#include "cpu_part.h"
#include "row_order.h"
#include "sort.h"

#include "poison.h"

/* Of a thread, of rows of one sort. */
struct thread_total {
    uint32_t track, rows;
    int64_t total_ns; /* plain sum */
    int64_t rank_ns;  /* what the longer comes first by */
};

/* There may be as many threads as rows: only those are kept that are listed. */
struct top_threads {
    struct ap_gate *gate;
    struct thread_total *kept; /* to begin with @limit in order, where there are so many; the others may be among them */
    size_t count, capacity, limit, ordered;
};

static bool comes_first(const struct thread_total *a, const struct thread_total *b)
{
    return a->rank_ns != b->rank_ns ? a->rank_ns > b->rank_ns : a->track < b->track;
}

static bool thread_before(const void *context, uint32_t a, uint32_t b)
{
    const struct thread_total *kept = context;
    return comes_first(&kept[a], &kept[b]);
}

/* Puts them in order and leaves those that are listed. */
static enum ap_status cut_top(struct top_threads *top, struct ap_error *reterr)
{
    uint32_t *order;
    size_t count;
    struct thread_total *kept;
    if (!top->count)
        return AP_OK;
    AP_TRY(ap_top_indices(top->gate, (uint32_t)top->count, top->limit, thread_before, top->kept, &order, &count, reterr));
    enum ap_status status = AP_ALLOC(top->gate, kept, count, reterr);
    for (size_t i = 0; i < count && status == AP_OK; i++)
        kept[i] = top->kept[order[i]];
    AP_FREE(top->gate, order, count);
    AP_TRY(status);
    AP_FREE(top->gate, top->kept, top->capacity);
    top->kept = kept;
    top->count = top->capacity = top->ordered = count;
    return AP_OK;
}

static enum ap_status add_to_top(struct top_threads *top, struct thread_total total, int64_t rank_ns,
                                 struct ap_error *reterr)
{
    total.rank_ns = rank_ns;
    if (!total.rows || (top->limit && top->ordered == top->limit && !comes_first(&total, &top->kept[top->limit - 1])))
        return AP_OK;
    if (top->limit && top->count / 2 >= top->limit)
        AP_TRY(cut_top(top, reterr));
    AP_TRY_ADD(top->gate, top->kept, top->count, top->capacity, reterr, total);
    return AP_OK;
}

static void top_release(struct top_threads *top)
{
    AP_FREE(top->gate, top->kept, top->capacity);
}

struct thread_sums {
    struct ap_part_context *context;
    struct top_threads by_total; /* of CPU events of the original script */
    struct top_threads by_busy;  /* of operators */
    int64_t threads, sum_ns, busiest_ns;
    uint32_t *unplaced; /* rows that the order lacks, which count all the same: by track */
    size_t unplaced_count, unplaced_capacity;
};

static inline bool row_is_of_cpu(uint8_t tag)
{
    return tag & AP_ROW_CPU_CATEGORY || ap_row_kind(tag) == AP_KIND_operator;
}

static bool track_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_events *events = context;
    return events->track[a] != events->track[b] ? events->track[a] < events->track[b] : a < b;
}

static enum ap_status list_unplaced(struct thread_sums *sums, struct ap_error *reterr)
{
    const struct ap_events *events = &sums->context->trace->events;
    bool any = false;
    if (sums->context->facts->order.count == events->count)
        return AP_OK;
    for (size_t row = 0; row < events->count; row++)
        any |= events->dur_ns[row] < 0 || events->start_ns[row] == AP_START_UNKNOWN;
    if (!any)
        return AP_OK;
    for (uint32_t row = 0; row < events->count; row++)
        if (row_is_of_cpu(events->tag[row]) && !ap_row_has_place(sums->context->trace, row))
            AP_TRY_ADD(sums->context->gate, sums->unplaced, sums->unplaced_count, sums->unplaced_capacity, reterr, row);
    return ap_sort_list(sums->context->gate, sums->unplaced, sums->unplaced_count, track_before, events, reterr);
}

static inline void add_row(struct thread_sums *sums, struct thread_total *cpu, struct thread_total *operators, uint32_t row)
{
    const struct ap_events *events = &sums->context->trace->events;
    if (events->tag[row] & AP_ROW_CPU_CATEGORY) {
        cpu->rows++;
        cpu->total_ns = ap_add_sat(cpu->total_ns, events->dur_ns[row], &sums->context->overflowed);
    }
    if (ap_row_kind(events->tag[row]) == AP_KIND_operator) {
        operators->rows++;
        operators->total_ns = ap_add_sat(operators->total_ns, events->dur_ns[row], &sums->context->overflowed);
    }
}

static enum ap_status add_thread_sums(struct thread_sums *sums, const struct thread_total *cpu,
                                      const struct thread_total *operators, int64_t busy_ns, struct ap_error *reterr)
{
    sums->threads += operators->rows != 0;
    sums->sum_ns = ap_add_sat(sums->sum_ns, busy_ns, &sums->context->overflowed);
    sums->busiest_ns = busy_ns > sums->busiest_ns ? busy_ns : sums->busiest_ns;
    AP_TRY(add_to_top(&sums->by_total, *cpu, cpu->total_ns, reterr));
    return add_to_top(&sums->by_busy, *operators, busy_ns, reterr);
}

static enum ap_status sum_threads(struct thread_sums *sums, struct ap_error *reterr)
{
    const struct ap_row_order *order = &sums->context->facts->order;
    const struct ap_trace *trace = sums->context->trace;
    size_t unplaced = 0;
    AP_TRY(list_unplaced(sums, reterr));
    for (uint32_t track = 0; track < sums->context->facts->ops.thread_count; track++) {
        struct thread_total cpu = { .track = track }, operators = { .track = track };
        struct ap_cover busy = AP_COVER_EMPTY;
        for (size_t i = order->track_start[track]; i < order->track_start[track + 1]; i++) {
            uint32_t row = order->rows[i];
            if (!row_is_of_cpu(trace->events.tag[row]))
                continue;
            add_row(sums, &cpu, &operators, row);
            if (ap_row_is_of(trace, row, 1u << AP_KIND_operator))
                ap_cover_add(&busy, trace->events.start_ns[row], ap_row_end_ns(trace, row));
        }
        for (; unplaced < sums->unplaced_count && trace->events.track[sums->unplaced[unplaced]] == track; unplaced++)
            add_row(sums, &cpu, &operators, sums->unplaced[unplaced]);
        AP_TRY(add_thread_sums(sums, &cpu, &operators, busy.sum_ns, reterr));
    }
    AP_TRY(cut_top(&sums->by_total, reterr));
    return cut_top(&sums->by_busy, reterr);
}

static void add_details(struct ap_part_context *context, const struct thread_total *thread, struct ap_model *model,
                        struct ap_value *row)
{
    const struct ap_track *track = &context->trace->tracks[thread->track];
    const struct ap_track_label *label = ap_track_label(context->trace, track);
    ap_add_name(context->trace, model, row, "name", ap_track_name(context->trace, track).id);
    ap_add_known_count(model, row, "sort_index", label && label->has_sort_index, label ? label->sort_index : 0);
    ap_add_count(model, row, "operator_events", (int64_t)thread->rows);
    ap_add_time(model, row, "total_dur_us", thread->total_ns);
    ap_add_time(model, row, "busy_us", thread->rank_ns);
    ap_add_quotient(model, row, "window_share_ratio", (double)thread->rank_ns,
                    context->facts->window_ns > 0 ? (double)context->facts->window_ns : 0);
}

static void add_threads(struct ap_part_context *context, const struct thread_sums *sums, struct ap_model *model,
                        struct ap_value *parent)
{
    struct ap_value *list = ap_add_list(model, parent, "top_threads");
    for (size_t i = 0; i < sums->by_total.count; i++) {
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_track(context->trace, sums->by_total.kept[i].track, model, row);
        ap_add_time(model, row, "total_dur_us", sums->by_total.kept[i].total_ns);
    }
    list = ap_add_list(model, parent, "threads");
    for (size_t i = 0; i < sums->by_busy.count; i++) {
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_track(context->trace, sums->by_busy.kept[i].track, model, row);
        add_details(context, &sums->by_busy.kept[i], model, row);
    }
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

static void add_thread_summary(struct ap_part_context *context, const struct thread_sums *sums, const struct host_union *all,
                               struct ap_model *model, struct ap_value *parent)
{
    struct ap_value *summary = ap_add_object(model, parent, "thread_summary");
    ap_add_count(model, summary, "threads", sums->threads);
    if (!sums->threads || context->facts->window_ns < 0) {
        static const char *const unknown[] = { "busiest_busy_us", "busiest_window_ratio", "busiest_share_ratio", "idle_us",
                                               "long_gaps_us" };
        for (size_t i = 0; i < AP_COUNT_OF(unknown); i++)
            ap_add_null(model, summary, unknown[i]);
        return;
    }
    ap_add_time(model, summary, "busiest_busy_us", sums->busiest_ns);
    ap_add_quotient(model, summary, "busiest_window_ratio", (double)sums->busiest_ns, (double)context->facts->window_ns);
    ap_add_quotient(model, summary, "busiest_share_ratio", (double)sums->busiest_ns, (double)sums->sum_ns);
    ap_add_time(model, summary, "idle_us", context->facts->window_ns - all->busy_ns);
    ap_add_time(model, summary, "long_gaps_us", all->long_gaps_ns);
}

enum ap_status ap_cpu_add_threads(struct ap_part_context *context, struct ap_model *model, struct ap_value *parent,
                                  struct ap_error *reterr)
{
    struct thread_sums sums = { .context = context,
                                .by_total = { .gate = context->gate, .limit = context->options->top_n },
                                .by_busy = { .gate = context->gate, .limit = context->options->top_n } };
    struct host_union all;
    AP_TRY(union_of_all(context, &all, reterr)); /* first: it takes most memory */
    ap_model_keep_time(model, "cpu.thread_summary.long_gaps_us", &all.long_gaps);
    enum ap_status status = sum_threads(&sums, reterr);
    if (status == AP_OK) {
        add_threads(context, &sums, model, parent);
        add_thread_summary(context, &sums, &all, model, parent);
    }
    top_release(&sums.by_total);
    top_release(&sums.by_busy);
    AP_FREE(context->gate, sums.unplaced, sums.unplaced_capacity);
    return status;
}
