/* SPDX-License-Identifier: MIT
 * typed_trace.h - a trace typed row by row, analyzed, and what the report says. Times are in us.
 *
 *     struct run run;
 *     begin(&run);
 *     row(&run, "1", "aten::mm", OPERATOR, 0, 30);
 *     analyze(&run);        ... us(&run, "cpu.summary.window_us"), find(&run, "operators.top", "name", "aten::mm") ...
 *     end(&run);
 *
 * A file that keeps more beside the trace says so before it includes this: #define RUN_MORE int64_t now_us;
 * likewise one that types times in another unit than us: #define TYPED_UNIT_NS 10000 */
#ifndef AP_TYPED_TRACE_H
#define AP_TYPED_TRACE_H

#include <stdlib.h>
#include <string.h>

#include "analyzed.h"
#include "tap.h"

#ifndef RUN_MORE
#define RUN_MORE
#endif
#ifndef TYPED_UNIT_NS
#define TYPED_UNIT_NS 1000
#endif

struct run {
    struct ap_gate gate;
    struct ap_trace *trace;
    struct ap_notes notes;
    struct ap_model model;
    uint64_t top_n;
    RUN_MORE
};

#define OPERATOR (AP_KIND_operator | AP_ROW_X | AP_ROW_CPU_CATEGORY)
#define ANNOTATION (AP_KIND_annotation | AP_ROW_X)
#define PYTHON (AP_KIND_python | AP_ROW_X)
#define RUNTIME (AP_KIND_runtime | AP_ROW_X)
#define KERNEL (AP_KIND_kernel | AP_ROW_X)
#define MEMCPY (AP_KIND_memcpy | AP_ROW_X)
#define MEMSET (AP_KIND_memset | AP_ROW_X)

TAP_UNUSED static void begin(struct run *run)
{
    memset(run, 0, sizeof(*run));
    ap_gate_init(&run->gate, 0);
    ap_model_init(&run->model, &run->gate);
    if (ap_trace_new(&run->gate, &run->trace, NULL) != AP_OK)
        abort();
    run->trace->complete = true;
}

/** A row of that process and thread, or device and stream; the trace's window stays as it is. Returns the track. */
TAP_UNUSED static uint32_t add_row(struct run *run, const char *pid, const char *tid, const char *name, unsigned tag,
                                   int64_t start_ns, int64_t dur_ns)
{
    struct ap_trace *trace = run->trace;
    struct ap_str text;
    uint32_t track;
    if (ap_strpool_intern(&trace->strings, name, strlen(name), &text, NULL) != AP_OK ||
        ap_trace_track(trace, ap_text_of(pid), false, ap_text_of(tid), false, &track, NULL) != AP_OK ||
        ap_trace_add_row(trace, start_ns, dur_ns, text, track, (uint8_t)tag, NULL) != AP_OK)
        abort();
    return track;
}

TAP_UNUSED static void widen_window(struct ap_trace *trace, int64_t start_ns, int64_t end_ns)
{
    if (!trace->has_window || start_ns < trace->window_start_ns)
        trace->window_start_ns = start_ns;
    if (!trace->has_window || end_ns > trace->window_end_ns)
        trace->window_end_ns = end_ns;
    trace->has_window = true;
}

/** A row of process 1; work of a GPU is of device 0. Returns its number. */
TAP_UNUSED static uint32_t row(struct run *run, const char *thread, const char *name, unsigned tag, int64_t start,
                               int64_t dur)
{
    uint32_t track = add_row(run, "1", thread, name, tag, start * TYPED_UNIT_NS, dur * TYPED_UNIT_NS);
    if (ap_event_kind_is_gpu_work(ap_row_kind((uint8_t)tag)))
        run->trace->tracks[track].device = 0;
    widen_window(run->trace, start * TYPED_UNIT_NS, (start + dur) * TYPED_UNIT_NS);
    return (uint32_t)run->trace->events.count - 1;
}

/** A call of the runtime by that thread. */
TAP_UNUSED static void call(struct run *run, const char *thread, const char *name, int64_t start, int64_t dur,
                            ap_link_key correlation)
{
    (void)row(run, thread, name, RUNTIME, start, dur);
    if (ap_trace_add_call_detail(run->trace, (struct ap_call_detail){ .correlation = correlation }, NULL) != AP_OK)
        abort();
}

/** Work of device 0 on that stream; @correlation 0: it has none. */
TAP_UNUSED static void work_on(struct run *run, const char *stream, const char *name, unsigned tag, int64_t start,
                               int64_t dur, ap_link_key correlation)
{
    uint32_t track = add_row(run, "0", stream, name, tag, start * TYPED_UNIT_NS, dur * TYPED_UNIT_NS);
    struct ap_work_detail detail = { .correlation = correlation, .as.bytes = -1 };
    run->trace->tracks[track].device = 0;
    widen_window(run->trace, start * TYPED_UNIT_NS, (start + dur) * TYPED_UNIT_NS);
    if (ap_trace_add_work_detail(run->trace, detail, NULL) != AP_OK)
        abort();
}

TAP_UNUSED static void analyze(struct run *run)
{
    struct ap_part_options options = { .path = "typed by hand", .top_n = run->top_n };
    struct ap_error error = { .status = AP_OK };
    is_int(analyze_trace(run->trace, &options, &run->notes, &run->model, &error), AP_OK, "the analysis runs");
}

TAP_UNUSED static void end(struct run *run)
{
    ap_trace_free(run->trace);
    ap_model_release(&run->model);
    is_u64(run->gate.used_bytes, 0, "all memory is given back");
}

/** Each request for memory is refused in turn while what @build began is analyzed, until none is. */
TAP_UNUSED static void refuse_each_request(void (*build)(struct run *run), uint64_t top_n)
{
    enum ap_status status = AP_ERROR_MEMORY;
    int64_t requests = 0;
    int wrong = 0;
    for (; status != AP_OK && requests < 20000; requests++) {
        struct run run;
        struct ap_part_options options = { .path = "typed by hand", .top_n = top_n };
        struct ap_error error = { .status = AP_OK };
        build(&run);
        atomic_store(&run.gate.fail_after, requests);
        status = analyze_trace(run.trace, &options, &run.notes, &run.model, &error);
        atomic_store(&run.gate.fail_after, -1);
        wrong += status != AP_OK && (status != AP_ERROR_MEMORY || error.status != AP_ERROR_MEMORY);
        ap_trace_free(run.trace);
        ap_model_release(&run.model);
        wrong += run.gate.used_bytes != 0;
    }
    ok(status == AP_OK && requests > 30, "with enough memory it passes");
    is_int(wrong, 0, "with less each refusal is told, and all memory is given back");
}

TAP_UNUSED static const struct ap_value *at(const struct run *run, const char *path)
{
    return ap_value_at(&run->model.root, path);
}

TAP_UNUSED static bool is_null(const struct run *run, const char *path)
{
    const struct ap_value *value = at(run, path);
    return value && value->type == AP_VALUE_NULL;
}

/** A time, or -1. */
TAP_UNUSED static int64_t us(const struct run *run, const char *path)
{
    return ap_value_integer(at(run, path), -1000) / 1000;
}

/** A count, bytes, or a time in ns, or -1. */
TAP_UNUSED static int64_t number(const struct run *run, const char *path)
{
    return ap_value_integer(at(run, path), -1);
}

/** Of any number, or -1. */
TAP_UNUSED static double ratio(const struct run *run, const char *path)
{
    double result = -1;
    (void)ap_value_number(at(run, path), &result);
    return result;
}

/** The row of a list whose member @key reads @text. */
TAP_UNUSED static const struct ap_value *find(const struct run *run, const char *list, const char *key, const char *text)
{
    for (const struct ap_value *item = ap_value_first(at(run, list)); item; item = item->next)
        if (ap_text_is(ap_value_text(ap_value_member(item, key)), text))
            return item;
    return NULL;
}

#endif
