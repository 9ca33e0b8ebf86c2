/* SPDX-License-Identifier: MIT
 * part_accelerator.c - rows of accelerators other than CUDA and ROCm (MTIA, HPU, ...). What such rows stand for differs from
 * backend to backend (requests, waits, work), so their busy time is that of the accelerator's own trace and is kept apart
 * from all GPU figures. */
#include "cover.h"
#include "id_map.h"
#include "name_sums.h"
#include "part.h"
#include "sort.h"

#include "poison.h"

#define ACCELERATOR_KINDS (1u << AP_KIND_accelerator)

struct track_sum {
    uint32_t track;
    int64_t count, start_ns, end_ns, busy_ns, total_ns;
    uint32_t longest; /* row */
};

struct report {
    const struct ap_trace *trace;
    struct ap_gate *gate;
    uint32_t *rows; /* all that are placed in time, by start */
    size_t count;
    struct ap_name_sums names;
    bool *waits; /* by number in names: its rows stand for waiting */
    struct track_sum *tracks;
    size_t track_count, track_capacity;
    int64_t total_ns, start_ns, end_ns, busy_ns;
    int64_t working_ns; /* busy with rows that are no waits */
    uint64_t correlated_count, linked_count;
    int64_t in_call_ns; /* of linked rows, while their call still ran: the host waited for them */
    bool overflowed;
};

/* ---- sums ---- */

static bool is_wait(const struct report *report, uint32_t name)
{
    struct ap_text text = ap_trace_text(report->trace, name);
    return ap_text_contains_folded(text, "wait") || ap_text_contains_folded(text, "synchronize");
}

static void sum_time(struct report *report)
{
    int64_t worked_to_ns = INT64_MIN;
    report->start_ns = report->trace->events.start_ns[report->rows[0]];
    report->end_ns = INT64_MIN;
    for (size_t i = 0; i < report->count; i++) {
        uint32_t row = report->rows[i];
        int64_t start_ns = report->trace->events.start_ns[row], end_ns = ap_row_end_ns(report->trace, row);
        report->busy_ns += ap_cover_extend(&report->end_ns, start_ns, end_ns);
        if (!report->waits[ap_name_sums_number(&report->names, report->trace->events.name[row])])
            report->working_ns += ap_cover_extend(&worked_to_ns, start_ns, end_ns);
    }
}

static enum ap_status sum_names(struct report *report, struct ap_error *reterr)
{
    struct ap_name_sums *names = &report->names;
    AP_TRY(ap_name_sums_init(names, report->trace, report->gate, reterr));
    for (size_t i = 0; i < report->count; i++)
        AP_TRY(ap_name_sums_add(names, report->trace, report->rows[i], reterr));
    AP_TRY(AP_ALLOC(report->gate, report->waits, names->count, reterr));
    for (size_t i = 0; i < names->count; i++) {
        report->waits[i] = is_wait(report, ap_name_sum_name(report->trace, &names->sums[i]));
        report->total_ns = ap_add_sat(report->total_ns, names->sums[i].total_ns, &report->overflowed);
    }
    return AP_OK;
}

static enum ap_status sum_track(struct report *report, const uint32_t *rows, size_t count, struct ap_error *reterr)
{
    const struct ap_events *events = &report->trace->events;
    struct track_sum sum = { .end_ns = INT64_MIN };
    for (size_t i = 0; i < count; i++) {
        uint32_t row = rows[i];
        if (!ap_row_is_of(report->trace, row, ACCELERATOR_KINDS))
            continue;
        int64_t start_ns = events->start_ns[row], end_ns = ap_row_end_ns(report->trace, row);
        if (!sum.count++) {
            sum.start_ns = start_ns;
            sum.track = events->track[row];
            sum.longest = row;
        }
        sum.total_ns = ap_add_sat(sum.total_ns, events->dur_ns[row], &report->overflowed);
        sum.longest = events->dur_ns[row] > events->dur_ns[sum.longest] ? row : sum.longest;
        sum.busy_ns += ap_cover_extend(&sum.end_ns, start_ns, end_ns);
    }
    if (!sum.count)
        return AP_OK;
    AP_TRY_ADD(report->gate, report->tracks, report->track_count, report->track_capacity, reterr, sum);
    return AP_OK;
}

static int64_t overlap_ns(const struct ap_trace *trace, uint32_t a, uint32_t b)
{
    int64_t start_ns =
        trace->events.start_ns[a] > trace->events.start_ns[b] ? trace->events.start_ns[a] : trace->events.start_ns[b];
    int64_t end_a_ns = ap_row_end_ns(trace, a), end_b_ns = ap_row_end_ns(trace, b);
    int64_t end_ns = end_a_ns < end_b_ns ? end_a_ns : end_b_ns;
    return end_ns > start_ns ? end_ns - start_ns : 0;
}

static void sum_link(struct report *report, uint32_t row, uint32_t call)
{
    report->correlated_count++;
    if (call == AP_ID_NONE)
        return;
    report->linked_count++;
    if (!report->waits[ap_name_sums_number(&report->names, report->trace->events.name[row])])
        report->in_call_ns = ap_add_sat(report->in_call_ns, overlap_ns(report->trace, row, call), &report->overflowed);
}

static bool is_placed_call(const struct ap_trace *trace, uint32_t row)
{
    return ap_row_is_of(trace, row, 1u << AP_KIND_runtime) && trace->events.start_ns[row] != AP_START_UNKNOWN &&
           trace->events.dur_ns[row] >= 0;
}

/* Rows that share their correlation with a runtime call. */
static enum ap_status count_links(struct report *report, struct ap_error *reterr)
{
    const struct ap_trace *trace = report->trace;
    struct ap_id_map calls;
    AP_TRY(ap_id_map_init(&calls, report->gate, report->count, reterr));
    for (size_t i = 0; i < report->count; i++) {
        const struct ap_work_detail *work = ap_row_work(trace, report->rows[i]);
        if (work && work->correlation)
            (void)ap_id_map_add(&calls, work->correlation);
    }
    for (uint32_t row = 0; row < trace->events.count; row++) {
        const struct ap_call_detail *call = is_placed_call(trace, row) ? ap_row_call(trace, row) : NULL;
        uint32_t *found = call && call->correlation ? ap_id_map_find(&calls, call->correlation) : NULL;
        if (found)
            *found = row;
    }
    for (size_t i = 0; i < report->count; i++) {
        const struct ap_work_detail *work = ap_row_work(trace, report->rows[i]);
        if (work && work->correlation)
            sum_link(report, report->rows[i], *ap_id_map_find(&calls, work->correlation));
    }
    ap_id_map_release(&calls);
    return AP_OK;
}

static enum ap_status sum_all(struct report *report, const struct ap_row_order *order, struct ap_error *reterr)
{
    for (size_t track = 0; track < order->track_count; track++)
        AP_TRY(sum_track(report, order->rows + order->track_start[track],
                         order->track_start[track + 1] - order->track_start[track], reterr));
    AP_TRY(sum_names(report, reterr));
    sum_time(report);
    return count_links(report, reterr);
}

/* ---- output ---- */

static bool busier_track(const void *context, uint32_t a, uint32_t b)
{
    const struct report *report = context;
    const struct track_sum *x = &report->tracks[a], *y = &report->tracks[b];
    return x->busy_ns != y->busy_ns ? x->busy_ns > y->busy_ns : a < b;
}

static enum ap_status add_names(const struct report *report, uint64_t top_n, struct ap_model *model, struct ap_value *to,
                                struct ap_error *reterr)
{
    struct ap_value *list = ap_add_list(model, to, "names");
    uint32_t *order;
    size_t count;
    AP_TRY(ap_name_sums_top(&report->names, report->trace, top_n, &order, &count, reterr));
    for (size_t i = 0; i < count; i++) {
        const struct ap_name_sum *sum = &report->names.sums[order[i]];
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_text(model, row, "name", ap_trace_text(report->trace, ap_name_sum_name(report->trace, sum)));
        ap_add_count(model, row, "count", sum->count);
        ap_add_time(model, row, "total_dur_us", sum->total_ns);
        ap_add_bool(model, row, "waits", report->waits[order[i]]);
        ap_add_quotient(model, row, "share_ratio", (double)sum->total_ns, (double)report->total_ns);
    }
    AP_FREE(report->gate, order, count);
    return AP_OK;
}

static void add_track(const struct report *report, const struct track_sum *sum, struct ap_model *model,
                      struct ap_value *list)
{
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_name(report->trace, model, row, "label", ap_track_name(report->trace, &report->trace->tracks[sum->track]).id);
    ap_add_count(model, row, "rows", sum->count);
    ap_add_time(model, row, "window_us", sum->end_ns - sum->start_ns);
    ap_add_time(model, row, "busy_us", sum->busy_ns);
    ap_add_quotient(model, row, "busy_ratio", (double)sum->busy_ns, (double)(sum->end_ns - sum->start_ns));
    ap_add_time(model, row, "total_dur_us", sum->total_ns);
    ap_add_text(model, row, "longest_name", ap_row_name(report->trace, sum->longest));
    ap_add_place(report->trace, sum->longest, model, row);
}

static enum ap_status add_tracks(const struct report *report, uint64_t top_n, struct ap_model *model, struct ap_value *to,
                                 struct ap_error *reterr)
{
    struct ap_value *list = ap_add_list(model, to, "tracks");
    uint32_t *order;
    size_t count;
    AP_TRY(ap_top_indices(report->gate, (uint32_t)report->track_count, top_n, busier_track, report, &order, &count, reterr));
    for (size_t i = 0; i < count; i++)
        add_track(report, &report->tracks[order[i]], model, list);
    AP_FREE(report->gate, order, count);
    return AP_OK;
}

static void add_categories(const struct ap_trace *trace, struct ap_model *model, struct ap_value *to)
{
    struct ap_value *list = ap_add_list(model, to, "categories");
    for (size_t i = 1; i < trace->category_count; i++) {
        const struct ap_category *category = &trace->categories[i];
        if (category->kind != AP_KIND_accelerator || !category->row_count)
            continue;
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_text(model, row, "category", ap_strpool_text(&trace->category_names, (struct ap_str){ (uint32_t)i }));
        ap_add_count(model, row, "rows", (int64_t)category->row_count);
        ap_add_time(model, row, "total_dur_us", category->total_dur_ns);
    }
}

static void add_totals(const struct report *report, struct ap_model *model, struct ap_value *to)
{
    int64_t window_ns = report->end_ns - report->start_ns;
    ap_add_count(model, to, "rows", (int64_t)report->count);
    ap_add_time(model, to, "window_us", window_ns);
    ap_add_time(model, to, "busy_us", report->busy_ns);
    ap_add_time(model, to, "idle_us", window_ns - report->busy_ns);
    ap_add_quotient(model, to, "utilization_ratio", (double)report->busy_ns, (double)window_ns);
    ap_add_time(model, to, "working_us", report->working_ns);
    ap_add_quotient(model, to, "working_ratio", (double)report->working_ns, (double)window_ns);
    ap_add_time(model, to, "total_dur_us", report->total_ns);
    ap_add_count(model, to, "correlated_rows", (int64_t)report->correlated_count);
    ap_add_count(model, to, "linked_rows", (int64_t)report->linked_count);
    ap_add_time(model, to, "in_call_us", report->in_call_ns);
    ap_add_quotient(model, to, "in_call_ratio", (double)report->in_call_ns, (double)report->working_ns);
    ap_add_quotient(model, to, "linked_ratio", (double)report->linked_count, (double)report->count);
}

static enum ap_status add_all(struct ap_part_context *context, struct report *report, struct ap_model *model,
                              struct ap_value *parent, struct ap_error *reterr)
{
    if (!report->count) {
        ap_add_null(model, parent, "accelerator");
        return AP_OK;
    }
    AP_TRY(sum_all(report, &context->facts->order, reterr));
    struct ap_value *to = ap_add_object(model, parent, "accelerator");
    add_totals(report, model, to);
    add_categories(report->trace, model, to);
    AP_TRY(add_names(report, context->options->top_n, model, to, reterr));
    return add_tracks(report, context->options->top_n, model, to, reterr);
}

enum ap_status ap_part_accelerator(struct ap_part_context *context, struct ap_model *model, struct ap_value *parent,
                                   struct ap_error *reterr)
{
    struct report report = { .trace = context->trace, .gate = context->gate, .names.gate = context->gate };
    AP_TRY(ap_rows_by_start(&context->facts->order, context->trace, ACCELERATOR_KINDS, AP_ROWS_BY_START, &report.rows,
                            &report.count, reterr));
    enum ap_status status = add_all(context, &report, model, parent, reterr);
    ap_note_overflow(context, report.overflowed || report.names.overflowed);
    AP_FREE(report.gate, report.rows, report.count);
    AP_FREE(report.gate, report.waits, report.names.count);
    ap_name_sums_release(&report.names);
    AP_FREE(report.gate, report.tracks, report.track_capacity);
    return status;
}
