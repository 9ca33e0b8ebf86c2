/* SPDX-License-Identifier: MIT
 * Any bytes as a trace, read and not analyzed, which is much faster than fuzz_trace. Claims what the analysis relies on:
 * rows point at what exists, counts add up, a cut file is never complete, all memory comes back, each row of a file of many
 * ranks is of one of them at most, and helper threads change nothing.
 * First byte as for fuzz_trace: bits 0-2 window, bit 3 salvage, bit 4 lent blocks, bit 7 also with helper threads, which
 * take longer to start than a text to be read: a fuzzer does so for one in eight. The rest is the file. */
#include "decimal.h"
#include "fuzz_target.h"
#include "trace_ranks.h"
#include "trace_run.h"
#include "turn.h"

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

static void take_ranks_apart(const struct ap_trace *trace)
{
    struct ap_trace_ranks ranks;
    struct ap_error error;
    size_t rows = 0;
    enum ap_status status = ap_trace_ranks_init(&ranks, trace, &error);
    for (size_t i = 0; i < ranks.count && status == AP_OK; i++) {
        struct ap_trace *part;
        status = ap_trace_of_rank(&ranks, i, &part, &error);
        if (status != AP_OK)
            break;
        rows += part->events.count;
        ap_trace_free(part);
    }
    require(status == AP_OK && rows <= trace->events.count, "a row is of one rank at most");
    ap_trace_ranks_release(&ranks);
}

struct choice {
    size_t window_bytes;
    bool salvage, lend;
};

static void read_text(const uint8_t *text, size_t bytes, const struct choice *choice)
{
    struct trace_run run;
    const struct reading reading = { .window_bytes = choice->window_bytes,
                                     .piece_bytes = choice->window_bytes,
                                     .lend = choice->lend,
                                     .limits = { .token_bytes = 1 << 16 } };
    trace_run_read(&run, text, bytes, &reading, choice->salvage, AP_OK);
    if (run.status == AP_OK) {
        check_trace(run.trace, &run.json.notes, choice->salvage);
        take_ranks_apart(run.trace);
    } else {
        require(run.status == run.json.error.status && run.json.error.message[0], "a failure says what it is");
    }
    require(trace_run_release(&run), "all memory comes back");
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
    require(log_same(&one, &two), "several threads read what one reads");
    log_release(&one);
    log_release(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t windows[8] = { 4096, 1, 2, 3, 7, 64, 1000, 10000 };
    if (size == 0)
        return 0;
    const struct choice choice = { windows[data[0] & 7], data[0] & 8, data[0] & 16 };
    read_text(data + 1, size - 1, &choice);
    if (data[0] & 128 && is_turn(data, size, 0, 8))
        compare_threads(data + 1, size - 1, &choice);
    return 0;
}
