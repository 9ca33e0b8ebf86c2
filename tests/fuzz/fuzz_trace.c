/* SPDX-License-Identifier: MIT
 * Any bytes as a trace: reader and analysis, to the model. Claims what a report relies on: self times add up to busy
 * times, lists are bounded, all memory comes back. What the reader promises is for fuzz_events.
 * First byte: bits 0-2 window, bit 3 salvage, bit 4 lent blocks, bits 5-6 top_n. The rest is the file. */
#include "analyzed.h"
#include "fuzz_target.h"
#include "trace_run.h"

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
    bool salvage, lend;
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
        analyze(trace, &run, choice, bytes);
    } else {
        require(status == run.error.status && run.error.message[0], "a failure says what it is");
    }
    ap_trace_free(trace);
    require(json_run_close(&run, lender), "all memory comes back");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t windows[8] = { 4096, 1, 2, 3, 7, 64, 1000, 10000 };
    if (size == 0)
        return 0;
    const struct choice choice = { windows[data[0] & 7], data[0] & 8, data[0] & 16, (data[0] >> 5 & 3) * 2 };
    run_text(data + 1, size - 1, &choice);
    return 0;
}
