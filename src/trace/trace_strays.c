/* SPDX-License-Identifier: MIT
 * trace_strays.c - rows that cannot be of the run that was recorded: one time of another clock, or a duration of days, and
 * the window of the trace is a thousand times as long as what happened in it. Such rows keep their place in the totals of
 * their names and lose that in time, as rows do whose time is out of range. */
#include "sort.h"
#include "trace_internal.h"

#include "poison.h"

#define HOUR_NS INT64_C(3600000000000)
#define DAY_NS (24 * HOUR_NS)
#define MONTH_NS (30 * DAY_NS)
#define FAR 10  /* as many times as all the rest takes: farther off than any pause of a run */
#define FEW 100 /* at most one row in so many, and one, can be a stray: two halves are a run with a pause */
#define SOME 10 /* where the window is of months, which no recording is, one in so many */

struct span {
    int64_t start_ns, end_ns;
};

static bool is_placed(const struct ap_trace *trace, size_t row)
{
    const struct ap_events *events = &trace->events;
    return events->start_ns[row] != AP_START_UNKNOWN && events->dur_ns[row] >= 0 &&
           ap_row_kind(events->tag[row]) != AP_KIND_span;
}

static struct span span_of(const struct ap_trace *trace, size_t row)
{
    int64_t start_ns = trace->events.start_ns[row];
    return (struct span){ start_ns, start_ns + trace->events.dur_ns[row] };
}

static int by_start(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    AP_BY_SMALLER(a->start_ns, b->start_ns);
    AP_BY_SMALLER(a->end_ns, b->end_ns);
    return 0;
}

/* Of rows in order of time: the stretch of most rows that no hour without any parts. */
static struct span densest(const struct span *spans, size_t count)
{
    struct span best = { 0, 0 }, now = { 0, 0 };
    size_t best_count = 0, now_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!now_count || spans[i].start_ns - now.end_ns > HOUR_NS) {
            now = spans[i];
            now_count = 0;
        }
        now.end_ns = spans[i].end_ns > now.end_ns ? spans[i].end_ns : now.end_ns;
        if (++now_count > best_count) {
            best_count = now_count;
            best = now;
        } else if (best.start_ns == now.start_ns) {
            best = now;
        }
    }
    return best;
}

/* Rows of at most so long, in order; for who asks to free. */
static enum ap_status collect(const struct ap_trace *trace, int64_t most_ns, struct span **ret_spans, size_t *ret_count,
                              struct ap_error *reterr)
{
    size_t count = 0;
    AP_TRY(AP_ALLOC(trace->gate, *ret_spans, trace->events.count + 1, reterr));
    for (size_t row = 0; row < trace->events.count; row++)
        if (is_placed(trace, row) && trace->events.dur_ns[row] <= most_ns)
            (*ret_spans)[count++] = span_of(trace, row);
    ap_sort(*ret_spans, count, sizeof(**ret_spans), by_start);
    *ret_count = count;
    return AP_OK;
}

static enum ap_status find_run(const struct ap_trace *trace, size_t *ret_count, struct span *ret_run,
                               struct ap_error *reterr)
{
    struct span *spans;
    AP_TRY(collect(trace, HOUR_NS, &spans, ret_count, reterr));
    *ret_run = densest(spans, *ret_count);
    AP_FREE(trace->gate, spans, trace->events.count + 1);
    return AP_OK;
}

/* Pauses of more than a day, where together they are longer than ten times all the rest: the parts are of several clocks or
 * several runs, and which of them counts is not ours to say. */
static enum ap_status note_pauses(const struct ap_trace *trace, struct ap_notes *notes, struct ap_error *reterr)
{
    struct span *spans;
    size_t count, pauses = 0;
    int64_t pause_ns = 0, window_ns = trace->window_end_ns - trace->window_start_ns;
    AP_TRY(collect(trace, INT64_MAX, &spans, &count, reterr));
    int64_t end_ns = count ? spans[0].end_ns : 0;
    for (size_t i = 0; i < count; i++) {
        if (spans[i].start_ns - end_ns > DAY_NS) {
            pauses++;
            pause_ns += spans[i].start_ns - end_ns;
        }
        end_ns = spans[i].end_ns > end_ns ? spans[i].end_ns : end_ns;
    }
    AP_FREE(trace->gate, spans, trace->events.count + 1);
    if (!pauses || (window_ns - pause_ns) >= pause_ns / FAR)
        return AP_OK;
    ap_note_many(notes, AP_COUNTER_pause_days, pauses);
    ap_note_detail(notes, AP_COUNTER_pause_days, "%.0f s of a window of %.0f s", (double)pause_ns / 1e9,
                   (double)window_ns / 1e9);
    return AP_OK;
}

static bool is_stray(struct span run, struct span row)
{
    int64_t length_ns = run.end_ns - run.start_ns,
            far_ns = length_ns > INT64_MAX / 4 / FAR ? INT64_MAX / 4 : FAR * length_ns;
    far_ns = far_ns > HOUR_NS ? far_ns : HOUR_NS;
    return row.end_ns < run.start_ns - far_ns || row.start_ns > run.end_ns + far_ns || row.end_ns - row.start_ns > far_ns;
}

static size_t count_strays(const struct ap_trace *trace, struct span run, size_t *ret_placed)
{
    size_t count = 0;
    *ret_placed = 0;
    for (size_t row = 0; row < trace->events.count; row++) {
        *ret_placed += is_placed(trace, row);
        count += is_placed(trace, row) && is_stray(run, span_of(trace, row));
    }
    return count;
}

/* Both windows anew, of what is left. */
static void unplace_strays(struct ap_trace *trace, struct span run)
{
    struct ap_events *events = &trace->events;
    trace->has_window = trace->has_window_all = false;
    for (size_t row = 0; row < events->count; row++) {
        struct span span = span_of(trace, row);
        if (is_placed(trace, row) && is_stray(run, span))
            events->start_ns[row] = AP_START_UNKNOWN;
        if (events->start_ns[row] == AP_START_UNKNOWN)
            continue;
        if (events->tag[row] & AP_ROW_X)
            ap_trace_widen(&trace->has_window_all, &trace->window_all_start_ns, &trace->window_all_end_ns, span.start_ns,
                           span.end_ns);
        if (is_placed(trace, row))
            ap_trace_widen(&trace->has_window, &trace->window_start_ns, &trace->window_end_ns, span.start_ns, span.end_ns);
    }
}

static void note_days(const struct ap_trace *trace, struct ap_notes *notes)
{
    uint64_t count = 0;
    for (size_t row = 0; row < trace->events.count; row++)
        count += trace->events.dur_ns[row] > DAY_NS;
    if (count)
        ap_note_many(notes, AP_COUNTER_dur_days, count);
}

enum ap_status ap_trace_leave_strays(struct ap_trace *trace, struct ap_notes *notes, struct ap_error *reterr)
{
    struct span run;
    size_t short_count, placed;
    int64_t window_ns = trace->has_window ? trace->window_end_ns - trace->window_start_ns : 0;
    if (window_ns <= HOUR_NS)
        return AP_OK;
    note_days(trace, notes);
    AP_TRY(find_run(trace, &short_count, &run, reterr));
    size_t strays = short_count >= 2 ? count_strays(trace, run, &placed) : 0;
    if (!strays || strays > placed / (window_ns > MONTH_NS ? SOME : FEW) + 1 || strays * 2 >= placed)
        return window_ns > DAY_NS ? note_pauses(trace, notes, reterr) : AP_OK;
    unplace_strays(trace, run);
    ap_note_many(notes, AP_COUNTER_stray, strays);
    ap_note_detail(notes, AP_COUNTER_stray, "with %s the window would be %.0f s long, without %.3f s",
                   strays == 1 ? "it" : "them", (double)window_ns / 1e9,
                   (double)(trace->window_end_ns - trace->window_start_ns) / 1e9);
    return AP_OK;
}
