/* SPDX-License-Identifier: MIT */
#include "around.h"

#include "part.h"
#include "row_set.h"

#include "poison.h"

/* ---- the rows with the largest weights ---- */

struct best {
    uint32_t rows[AP_AROUND_MAX_ROWS];
    int64_t weights[AP_AROUND_MAX_ROWS];
    size_t count, limit;
    int64_t total_ns, found;
    bool overflowed;
};

static void offer(struct best *best, uint32_t row, int64_t weight)
{
    size_t at = best->count;
    best->found++;
    best->total_ns = ap_add_sat(best->total_ns, weight, &best->overflowed);
    while (at && best->weights[at - 1] < weight)
        at--;
    if (at == best->limit)
        return;
    best->count += best->count < best->limit;
    for (size_t i = best->count - 1; i > at; i--) {
        best->weights[i] = best->weights[i - 1];
        best->rows[i] = best->rows[i - 1];
    }
    best->weights[at] = weight;
    best->rows[at] = row;
}

static void start_over(struct best *best, uint64_t limit)
{
    best->count = 0;
    best->limit = limit < AP_AROUND_MAX_ROWS ? (size_t)limit : AP_AROUND_MAX_ROWS;
    best->total_ns = best->found = 0;
}

/* ---- rows as the answer tells them ---- */

static struct ap_value *add_row(const struct ap_trace_rows *rows, struct ap_model *model, struct ap_value *to,
                                const char *key, uint32_t row)
{
    struct ap_value *object = ap_add_object(model, to, key);
    ap_add_row_id(model, object, "row_id", row);
    ap_add_row_name(rows, model, object, "name", row);
    ap_add_string(model, object, "kind", ap_event_kind_name(ap_row_kind(rows->facts->trace->events.tag[row])));
    ap_add_place(rows->facts->trace, row, model, object);
    return object;
}

static void add_best(const struct ap_trace_rows *rows, const struct best *best, const char *key, const char *weight_key,
                     struct ap_model *model, struct ap_value *to)
{
    struct ap_value *object = ap_add_object(model, to, key);
    ap_add_count(model, object, "count", best->found);
    ap_add_time(model, object, "total_us", best->total_ns);
    struct ap_value *list = ap_add_list(model, object, "rows");
    for (size_t i = 0; i < best->count; i++) {
        struct ap_value *row = add_row(rows, model, list, NULL, best->rows[i]);
        if (weight_key)
            ap_add_time(model, row, weight_key, best->weights[i]);
    }
}

/* ---- who asked for it ---- */

static const struct ap_device_row no_device_row = { AP_NO_ROW, AP_NO_ROW, AP_NO_ROW };

/* Of no row where it is none of those that are placed in time. */
static struct ap_device_row link_of(const struct ap_trace_rows *rows, uint32_t row)
{
    for (size_t i = 0; i < rows->facts->links.count; i++)
        if (rows->facts->links.row[i] == row)
            return ap_device_row_at(&rows->facts->links, i);
    return no_device_row;
}

static void add_launch(const struct ap_trace_rows *rows, struct ap_device_row linked, struct ap_model *model,
                       struct ap_value *to)
{
    if (linked.launch == AP_NO_ROW) {
        ap_add_null(model, to, "launched_by");
        return;
    }
    struct ap_value *call = add_row(rows, model, to, "launched_by", linked.launch);
    ap_add_time(model, call, "queue_delay_us",
                rows->facts->trace->events.start_ns[linked.row] - rows->facts->trace->events.start_ns[linked.launch]);
}

/* The rows around @row from the innermost out, and @row itself where it is not what was asked for. */
static void add_stack(struct ap_trace_rows *rows, uint32_t row, bool itself, uint64_t limit, struct ap_model *model,
                      struct ap_value *to)
{
    struct ap_value *list = ap_add_list(model, to, "stack");
    int64_t start_ns = row == AP_NO_ROW ? 0 : rows->facts->trace->events.start_ns[row], left_out = 0;
    uint32_t line = row == AP_NO_ROW ? AP_NO_ROW : ap_host_chain_of(&rows->chains, row).line;
    uint64_t shown = 0;
    int left = AP_NESTING_MAX;
    uint32_t at = itself ? row : ap_host_next_around(&rows->facts->tree, rows->facts->trace, row, start_ns, &left);
    for (; at != AP_NO_ROW; at = ap_host_next_around(&rows->facts->tree, rows->facts->trace, at, start_ns, &left)) {
        if (shown++ < limit)
            (void)add_row(rows, model, list, NULL, at);
        else
            left_out++;
    }
    ap_add_count(model, to, "stack_left_out", left_out);
    ap_add_row_name(rows, model, to, "line", line);
}

static void add_step(const struct ap_trace_rows *rows, int64_t at_ns, struct ap_model *model, struct ap_value *to)
{
    size_t index = ap_step_at(&rows->facts->steps, at_ns);
    if (index == rows->facts->steps.count) {
        ap_add_null(model, to, "step");
        return;
    }
    struct ap_value *step = ap_add_object(model, to, "step");
    ap_add_count(model, step, "step", (int64_t)index);
    ap_add_row_name(rows, model, step, "name", rows->facts->steps.steps[index].row);
    ap_add_time(model, step, "start_us", rows->facts->steps.steps[index].start_ns);
    ap_add_time(model, step, "dur_us", ap_step_dur_ns(&rows->facts->steps, rows->facts->trace, index));
    ap_add_bool(model, step, "steady", ap_step_is_steady(&rows->facts->steps.steps[index]));
}

/* ---- what it launched, and what it is made of ---- */

static void find_launched(const struct ap_trace_rows *rows, uint32_t row, struct best *best)
{
    const struct ap_trace *trace = rows->facts->trace;
    int64_t start_ns = trace->events.start_ns[row], end_ns = ap_row_end_ns(trace, row);
    for (size_t i = 0; i < rows->facts->links.count; i++) {
        struct ap_device_row linked = ap_device_row_at(&rows->facts->links, i);
        uint32_t call = linked.launch;
        bool within = call != AP_NO_ROW && trace->events.track[call] == trace->events.track[row] &&
                      trace->events.start_ns[call] >= start_ns && trace->events.start_ns[call] <= end_ns &&
                      ap_row_end_ns(trace, call) <= end_ns;
        if (within || linked.op == row)
            offer(best, linked.row, trace->events.dur_ns[linked.row]);
    }
}

static void find_children(const struct ap_trace_rows *rows, uint32_t row, struct best *best)
{
    for (uint32_t other = 0; other < rows->facts->tree.count; other++)
        if (ap_host_parent(&rows->facts->tree, other) == row)
            offer(best, other, rows->facts->trace->events.dur_ns[other]);
}

/* ---- beside it ---- */

/* What is looked beside of: not on the track itself. */
struct span {
    int64_t start_ns, end_ns;
    uint32_t track; /* AP_NO_ROW = none is left out */
};

static int64_t overlap_ns(const struct ap_trace *trace, const struct span *span, uint32_t other)
{
    int64_t from_ns = trace->events.start_ns[other], to_ns = ap_row_end_ns(trace, other);
    return (to_ns < span->end_ns ? to_ns : span->end_ns) - (from_ns > span->start_ns ? from_ns : span->start_ns);
}

static bool runs_beside(const struct ap_trace *trace, const struct span *span, uint32_t other)
{
    return trace->events.track[other] != span->track && ap_row_is_placed(trace, other) &&
           ap_row_is_of(trace, other, AP_HOST_KINDS | AP_GPU_KINDS | 1u << AP_KIND_gpu_sync | 1u << AP_KIND_accelerator) &&
           overlap_ns(trace, span, other) > 0;
}

/* Of rows in each other only the innermost are told. */
static enum ap_status find_beside(const struct ap_trace_rows *rows, const struct span *span, struct best *best,
                                  struct ap_error *reterr)
{
    const struct ap_trace *trace = rows->facts->trace;
    struct ap_row_set outer;
    enum ap_status status = ap_row_set_init(&outer, rows->facts->gate, trace->events.count, reterr);
    for (uint32_t other = 0; status == AP_OK && other < trace->events.count; other++)
        if (runs_beside(trace, span, other) && other < rows->facts->tree.count &&
            ap_host_parent(&rows->facts->tree, other) != AP_NO_ROW)
            (void)ap_row_set_add(&outer, ap_host_parent(&rows->facts->tree, other));
    for (uint32_t other = 0; status == AP_OK && other < trace->events.count; other++)
        if (runs_beside(trace, span, other) && !ap_row_set_has(&outer, other))
            offer(best, other, overlap_ns(trace, span, other));
    ap_row_set_release(&outer);
    return status;
}

/* ---- before and after it ---- */

/* Neighbors on the track: rows that end before it begins, or begin when it has ended; of the host, those within the same
 * row. */
static void add_neighbors(const struct ap_trace_rows *rows, uint32_t row, struct ap_model *model, struct ap_value *to)
{
    const struct ap_trace *trace = rows->facts->trace;
    uint32_t track = trace->events.track[row], before = AP_NO_ROW, after = AP_NO_ROW;
    bool host = ap_row_is_of(trace, row, AP_HOST_KINDS);
    int64_t start_ns = trace->events.start_ns[row], end_ns = ap_row_end_ns(trace, row);
    for (size_t i = rows->facts->order.track_start[track]; i < rows->facts->order.track_start[track + 1]; i++) {
        uint32_t other = rows->facts->order.rows[i];
        if (other == row || (host && ap_host_parent(&rows->facts->tree, other) != ap_host_parent(&rows->facts->tree, row)) ||
            ap_row_is_of(trace, other, AP_HOST_KINDS) != host)
            continue;
        if (ap_row_end_ns(trace, other) <= start_ns)
            before = other;
        else if (after == AP_NO_ROW && trace->events.start_ns[other] >= end_ns)
            after = other;
    }
    if (before == AP_NO_ROW)
        ap_add_null(model, to, "before");
    else
        ap_add_time(model, add_row(rows, model, to, "before", before), "gap_us", start_ns - ap_row_end_ns(trace, before));
    if (after == AP_NO_ROW)
        ap_add_null(model, to, "after");
    else
        ap_add_time(model, add_row(rows, model, to, "after", after), "gap_us", trace->events.start_ns[after] - end_ns);
}

/* ---- all of it ---- */

static enum ap_status add_placed(struct ap_trace_rows *rows, uint32_t row, uint64_t limit, struct best *best,
                                 struct ap_model *model, struct ap_value *to, struct ap_error *reterr)
{
    const struct ap_trace *trace = rows->facts->trace;
    struct ap_device_row linked = ap_row_is_of(trace, row, AP_GPU_KINDS) ? link_of(rows, row) : no_device_row;
    bool host = ap_row_is_of(trace, row, AP_HOST_KINDS);
    uint32_t cause = host ? row : linked.row != AP_NO_ROW ? ap_work_cause(trace, linked) : AP_NO_ROW;
    add_step(rows, trace->events.start_ns[linked.launch != AP_NO_ROW ? linked.launch : row], model, to);
    if (host || linked.row != AP_NO_ROW)
        ap_add_string(model, to, "phase",
                      ap_phase_name(host ? ap_phase_of_row(&rows->facts->phases, row)
                                         : ap_phase_of_work(&rows->facts->phases, trace, linked)));
    else
        ap_add_null(model, to, "phase");
    add_launch(rows, linked, model, to);
    add_stack(rows, cause, cause != row, limit, model, to);
    start_over(best, limit);
    if (host)
        find_children(rows, row, best);
    add_best(rows, best, "inside", NULL, model, to);
    start_over(best, limit);
    if (host)
        find_launched(rows, row, best);
    add_best(rows, best, "launched", NULL, model, to);
    start_over(best, limit);
    struct span span = { trace->events.start_ns[row], ap_row_end_ns(trace, row), trace->events.track[row] };
    AP_TRY(find_beside(rows, &span, best, reterr));
    add_best(rows, best, "beside", "overlap_us", model, to);
    add_neighbors(rows, row, model, to);
    return ap_model_status(model, reterr);
}

enum ap_status ap_around_row(struct ap_trace_rows *rows, uint32_t row, uint64_t limit, struct ap_model *model,
                             struct ap_value *to, struct ap_error *reterr)
{
    (void)add_row(rows, model, to, "row", row);
    if (!ap_row_is_placed(rows->facts->trace, row))
        return ap_model_status(model, reterr);
    struct best *best;
    AP_TRY(AP_ALLOC_CLEARED(rows->facts->gate, best, 1, reterr));
    enum ap_status status = add_placed(rows, row, limit, best, model, to, reterr);
    AP_FREE(rows->facts->gate, best, 1);
    return status;
}

enum ap_status ap_around_span(struct ap_trace_rows *rows, int64_t start_ns, int64_t dur_ns, uint64_t limit,
                              struct ap_model *model, struct ap_value *to, struct ap_error *reterr)
{
    bool overflowed = false;
    struct span span = { start_ns, ap_add_sat(start_ns, dur_ns, &overflowed), AP_NO_ROW };
    struct best *best;
    AP_TRY(AP_ALLOC_CLEARED(rows->facts->gate, best, 1, reterr));
    add_step(rows, start_ns, model, to);
    start_over(best, limit);
    enum ap_status status = find_beside(rows, &span, best, reterr);
    if (status == AP_OK)
        add_best(rows, best, "during", "overlap_us", model, to);
    AP_FREE(rows->facts->gate, best, 1);
    return status == AP_OK ? ap_model_status(model, reterr) : status;
}

/* ---- places of the report ---- */

static bool is_place(const struct ap_value *value)
{
    return ap_value_member(value, "start_us") && ap_value_member(value, "dur_us") && ap_value_member(value, "tid");
}

const struct ap_value *ap_place_in(const struct ap_value *value)
{
    if (is_place(value))
        return value;
    for (const struct ap_value *member = ap_value_first(value); member; member = member->next) {
        if (is_place(member))
            return member;
        if (is_place(ap_value_first(member)))
            return ap_value_first(member);
    }
    return NULL;
}

uint32_t ap_row_at_place(const struct ap_trace *trace, const struct ap_value *place)
{
    const struct ap_value *start = ap_value_member(place, "start_us"), *dur = ap_value_member(place, "dur_us");
    struct ap_text pid = ap_text_member(place, "pid"), tid = ap_text_member(place, "tid");
    struct ap_text name = ap_text_member(place, "name");
    uint32_t found = AP_NO_ROW;
    if (!start || start->type != AP_VALUE_TIME_NS || !dur || dur->type != AP_VALUE_TIME_NS)
        return AP_NO_ROW;
    for (uint32_t row = 0; row < trace->events.count; row++) {
        const struct ap_track *track = &trace->tracks[trace->events.track[row]];
        if (trace->events.start_ns[row] != start->as.integer || trace->events.dur_ns[row] != dur->as.integer ||
            !ap_text_equal(ap_trace_id_text(trace, track->pid), pid) ||
            !ap_text_equal(ap_trace_id_text(trace, track->tid), tid))
            continue;
        if (ap_text_equal(ap_row_name(trace, row), name))
            return row;
        found = found == AP_NO_ROW ? row : found;
    }
    return found;
}
