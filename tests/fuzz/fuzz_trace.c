/* SPDX-License-Identifier: MIT
 * Any bytes as a trace: reader and analysis, to the model. Claims what a report relies on: rows point at what exists,
 * counts add up, self times add up to busy times, a cut file is never complete, all memory comes back.
 * First byte: bits 0-2 window, bit 3 salvage, bit 4 lent blocks, bits 5-6 top_n, bit 7 also with a second thread that
 * reads ahead: then nothing may differ. The rest is the file. */
#include "analyzed.h"
#include "decimal.h"
#include "trace_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool promise, const char *what)
{
    if (promise)
        return;
    (void)fflush(stdout);
    fprintf(stderr, "%s\n", what);
    abort();
}

static void check_trace(const struct ap_trace *trace, const struct ap_notes *notes, bool salvage)
{
    uint64_t with_phase = 0, rows = 0, events = 0;
    for (size_t i = 0; i < AP_COUNT_OF(trace->ph_counts); i++)
        with_phase += trace->ph_counts[i];
    for (size_t i = 0; i < trace->category_count; i++) {
        rows += trace->categories[i].row_count;
        events += trace->categories[i].event_count;
    }
    require(trace->object_count <= trace->event_count, "there are no more objects than elements");
    require(with_phase <= trace->object_count, "no more phases than objects");
    require(events == trace->object_count, "each object has one category");
    require(rows == trace->events.count, "each row has one category");
    for (size_t row = 0; row < trace->events.count; row++) {
        require(trace->events.track[row] < trace->track_count, "a row's track exists");
        uint32_t name = trace->events.name[row];
        require(name >= 1 && name <= ap_strpool_count(&trace->strings), "a row's name exists");
        require(trace->events.start_ns[row] >= -AP_MAX_TIME_NS || trace->events.start_ns[row] == AP_START_UNKNOWN,
                "a start is a time or unknown");
    }
    bool cut = notes->notes[AP_COUNTER_cut].count, salvaged = notes->notes[AP_COUNTER_salvaged].count;
    require(trace->complete == !(cut || salvaged), "what is cut is not complete");
    require(salvage || !salvaged, "nothing is salvaged unasked");
}

static void check_model(const struct ap_trace *trace, const struct ap_notes *notes, const struct ap_model *model,
                        uint64_t top_n)
{
    const struct ap_value *root = &model->root;
    int64_t self_ns = 0, window_ns = ap_value_integer(ap_value_at(root, "trace.window_us"), -1);
    const struct ap_value *operators = ap_value_at(root, "cpu.operators");
    bool overflowed = notes->notes[AP_COUNTER_time_overflow].count;
    for (const struct ap_value *row = ap_value_first(operators); row; row = row->next)
        self_ns = ap_add_sat(self_ns, ap_value_integer(ap_value_member(row, "self_dur_us"), 0), &overflowed);
    require(!top_n || ap_value_count(operators) <= top_n, "lists are bounded");
    if (!top_n && !overflowed)
        require(self_ns == ap_value_integer(ap_value_at(root, "cpu.operator_summary.self_dur_us"), -1),
                "self times add up to their sum");
    require(notes->notes[AP_COUNTER_self_time].count == 0, "self times of a thread add up to its busy time");
    for (const struct ap_value *row = ap_value_first(ap_value_at(root, "cpu.threads")); row; row = row->next) {
        int64_t busy_ns = ap_value_integer(ap_value_member(row, "busy_us"), -1);
        require(busy_ns >= 0 && (busy_ns <= window_ns || !trace->has_window), "a thread is busy within the window");
    }
    const struct ap_value *gpu = ap_value_at(root, "gpu");
    int64_t gpu_window_ns = ap_value_integer(ap_value_member(gpu, "window_us"), 0);
    int64_t gpu_busy_ns = ap_value_integer(ap_value_member(gpu, "busy_us"), 0);
    require(gpu_busy_ns >= 0 && gpu_busy_ns <= gpu_window_ns, "a GPU is busy within its window");
}

struct choice {
    size_t window_bytes;
    bool salvage, lend, ahead;
    uint64_t top_n;
};

static void analyze(struct ap_trace *trace, struct json_run *run, const struct choice *choice, size_t bytes)
{
    struct ap_model model;
    const struct ap_part_options options = { .path = "fuzz", .top_n = choice->top_n, .bytes_read = bytes };
    ap_model_init(&model, &run->gate);
    enum ap_status status = choice->top_n ? analyze_and_draw(trace, &options, NULL, NULL, &run->notes, &model, &run->error)
                                          : analyze_trace(trace, &options, &run->notes, &model, &run->error);
    if (status == AP_OK)
        check_model(trace, &run->notes, &model, choice->top_n);
    ap_model_release(&model);
}

static void run_text(const uint8_t *text, size_t bytes, const struct choice *choice)
{
    struct json_run run;
    struct ap_trace *trace = NULL;
    const struct reading reading = { .window_bytes = choice->window_bytes,
                                     .piece_bytes = choice->window_bytes,
                                     .lend = choice->lend,
                                     .limits = { .token_bytes = 1 << 16 } };
    struct lender *lender = json_run_open(&run, text, bytes, &reading);
    enum ap_status status = ap_trace_read(run.json, &run.gate, &run.notes,
                                          &(struct ap_trace_options){ .salvage = choice->salvage }, &trace, &run.error);
    if (status == AP_OK) {
        check_trace(trace, &run.notes, choice->salvage);
        analyze(trace, &run, choice, bytes);
    } else {
        require(status == run.error.status && run.error.message[0], "a failure says what it is");
    }
    ap_trace_free(trace);
    require(json_run_close(&run, lender), "all memory comes back");
}

static void log_reading(struct text_log *log, const uint8_t *text, size_t bytes, const struct choice *choice, bool ahead)
{
    struct trace_run run;
    const struct reading reading = { .window_bytes = choice->window_bytes,
                                     .piece_bytes = choice->window_bytes,
                                     .lend = true,
                                     .ahead = ahead ? 1 + (unsigned)(bytes % 3) : 0,
                                     .limits = { .token_bytes = 1 << 16 } };
    trace_run_read(&run, text, bytes, &reading, choice->salvage, AP_OK);
    log_end(log, run.status, &run.json.error);
    if (run.trace)
        log_trace(log, run.trace);
    log_notes(log, &run.json.notes);
    require(trace_run_release(&run), "all memory comes back");
}

static void compare_threads(const uint8_t *text, size_t bytes, const struct choice *choice)
{
    struct text_log one = { .data = NULL }, two = { .data = NULL };
    log_reading(&one, text, bytes, choice, false);
    log_reading(&two, text, bytes, choice, true);
    if (!log_same(&one, &two))
        log_show_difference(&one, &two);
    require(log_same(&one, &two), "two threads read what one reads");
    log_release(&one);
    log_release(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t windows[8] = { 4096, 1, 2, 3, 7, 64, 1000, 0 };
    if (size == 0)
        return 0;
    const struct choice choice = { windows[data[0] & 7], data[0] & 8, data[0] & 16, data[0] & 128, (data[0] >> 5 & 3) * 2 };
    /* A block of exactly this size, so that reading behind its end is caught. */
    uint8_t *text = malloc(size > 1 ? size - 1 : 1);
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    run_text(text, size - 1, &choice);
    if (choice.ahead)
        compare_threads(text, size - 1, &choice);
    free(text);
    return 0;
}
