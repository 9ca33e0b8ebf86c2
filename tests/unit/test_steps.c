/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "rows_of.h"
#include "steps.h"

#define RUN_MORE               \
    struct ap_row_order order; \
    struct ap_steps steps;
#include "typed_trace.h"

#define GPU_ANNOTATION (AP_KIND_gpu_annotation | AP_ROW_X)

/* ProfilerStep#@first and on, one right after the other from @start_us on. */
static void profiler_steps(struct run *run, int first, int64_t start_us, const int64_t *dur_us, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "ProfilerStep#%d", first + (int)i);
        row(run, "1", name, ANNOTATION, start_us, dur_us[i]);
        start_us += dur_us[i];
    }
}

#define STEPS(run, ...) \
    profiler_steps(run, 7, 1000, (const int64_t[]){ __VA_ARGS__ }, sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

static void find_steps(struct run *run)
{
    if (ap_row_order_init(&run->order, run->trace, &run->gate, NULL) != AP_OK ||
        ap_steps_init(&run->steps, run->trace, &run->order, &run->gate, NULL) != AP_OK)
        abort();
}

static void report(struct run *run)
{
    struct ap_part_options options = { .path = "typed by hand" };
    run->order.gate = run->steps.gate = &run->gate;
    if (analyze_trace(run->trace, &options, &run->notes, &run->model, NULL) != AP_OK)
        abort();
}

static void finish(struct run *run)
{
    ap_steps_release(&run->steps);
    ap_row_order_release(&run->order);
    end(run);
}

/* Of steps.warmup.parts. */
static int64_t part_us(const struct run *run, const char *kind)
{
    for (const struct ap_value *part = ap_value_first(at(run, "steps.warmup.parts")); part; part = part->next)
        if (ap_text_is(ap_value_text(ap_value_member(part, "kind")), kind))
            return ap_value_integer(ap_value_member(part, "dur_us"), -1000) / 1000;
    return -1;
}

/* A letter for each step: c = cold, x = cut, s = steady. */
static const char *marks(const struct run *run)
{
    static char text[64];
    size_t i = 0;
    for (; i < run->steps.count && i + 1 < sizeof(text); i++)
        text[i] = run->steps.steps[i].cold ? 'c' : run->steps.steps[i].cut ? 'x' : 's';
    text[i] = '\0';
    return text;
}

/* ------------------------------------------------------------------------------------------------- what marks steps */

static void profiler_marks_of_the_host_go_first(void)
{
    struct run run;
    begin(&run);
    STEPS(&run, 100, 100, 100);
    row(&run, "stream", "ProfilerStep#7", GPU_ANNOTATION, 1000, 500);
    for (int i = 0; i < 9; i++)
        row(&run, "1", "train", ANNOTATION, 1000 + 30 * i, 30);
    find_steps(&run);
    is_str(run.steps.source, "ProfilerStep", "whatever else is repeated");
    is_u64(run.steps.count, 3, "projections on the GPU are no steps");
    is_int(run.steps.steps[1].start_ns, 1100000, "start");
    is_int(run.steps.steps[1].end_ns, 1200000, "end");
    finish(&run);
}

static void names_that_only_look_like_marks_are_none(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "ProfilerStepper", ANNOTATION, 0, 10);
    row(&run, "1", "ProfilerStep#1", OPERATOR, 20, 10);
    find_steps(&run);
    is_u64(run.steps.count, 0, "another name, and an operator where there are annotations");
    ok(run.steps.source == NULL, "no source");
    finish(&run);
}

static void old_traces_have_marks_among_operators(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "ProfilerStep #1", AP_KIND_operator | AP_ROW_X, 0, 10);
    row(&run, "1", "ProfilerStep#2", AP_KIND_operator | AP_ROW_X, 10, 10);
    find_steps(&run);
    is_u64(run.steps.count, 2, "also with a blank");
    finish(&run);
}

static void repeated_annotations_stand_in(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 4; i++) {
        char name[40];
        (void)snprintf(name, sizeof(name), "execute_context_%d(%d)_x", i, i * 10);
        row(&run, "1", name, ANNOTATION, 100 * i, 90);
        row(&run, "1", "forward", ANNOTATION, 100 * i + 5, 40);
        row(&run, "1", "enumerate(DataLoader)#x", ANNOTATION, 100 * i, 99);
        row(&run, "1", "nccl:all_reduce", ANNOTATION, 100 * i, 99);
    }
    find_steps(&run);
    is_str(run.steps.source, "annotation", "the source");
    is_str(run.steps.family, "execute_context_N(N)_x", "names that differ in numbers are one family");
    is_u64(run.steps.count, 4, "that with the largest sum, but none of a framework's");
    finish(&run);
}

static void annotations_must_follow_one_another_on_one_thread(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 4; i++) {
        row(&run, i % 2 ? "1" : "2", "request", ANNOTATION, 100 * i, 90);
        row(&run, "3", "recursion", ANNOTATION, 100 + i, 50 - 2 * i);
        row(&run, "4", "rare", ANNOTATION, 1000 * i, 45);
    }
    row(&run, "5", "twice", ANNOTATION, 0, 100);
    row(&run, "5", "twice", ANNOTATION, 100, 100);
    find_steps(&run);
    is_u64(run.steps.count, 0, "a pool's requests, nested rows, rows of a twentieth of the time, and two rows are no loop");
    finish(&run);
}

static void a_part_of_the_loop_is_the_last_resort(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 4; i++)
        row(&run, "1", "forward", ANNOTATION, 100 * i, 30);
    find_steps(&run);
    is_str(run.steps.family, "forward", "where nothing else tells the steps");
    finish(&run);
    begin(&run);
    for (int i = 0; i < 4; i++) {
        row(&run, "1", "forward", ANNOTATION, 100 * i, 60);
        row(&run, "1", "copy", ANNOTATION, 100 * i + 60, 20);
        row(&run, "1", "Optimizer.step#SGD.step", ANNOTATION, 100 * i + 80, 10);
        row(&run, "1", "Optimizer.step#Adam.step", ANNOTATION, 100 * i + 90, 10);
    }
    find_steps(&run);
    is_str(run.steps.source, "optimizer steps", "optimizer steps go before it");
    is_u64(run.steps.count, 3, "from one start to the next, of the optimizer that begins first");
    is_int(run.steps.steps[0].start_ns, 80000, "begins with the first");
    is_int(run.steps.steps[2].end_ns, 380000, "ends with the last");
    is_int(ap_step_dur_ns(&run.steps, run.trace, 1), 100000, "lasts a period");
    finish(&run);
}

static void two_optimizers_step_once(void)
{
    static const char node[] = "autograd::engine::evaluate_function: MmBackward0";
    struct run run;
    begin(&run);
    for (int i = 0; i < 4; i++) {
        row(&run, "1", node, OPERATOR, 100 * i + 20, 30);
        row(&run, "1", "Optimizer.step#Adam.step", ANNOTATION, 100 * i + 60, 10);
        row(&run, "1", "Optimizer.step#Adam.step", ANNOTATION, 100 * i + 80, 10);
    }
    find_steps(&run);
    is_u64(run.steps.count, 3, "each of two steps right behind a backward pass is of one step of the run");
    is_int(ap_step_dur_ns(&run.steps, run.trace, 1), 100000, "lasts from one backward pass to the next");
    finish(&run);
}

static void graph_launches_stand_in_where_they_are_even(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 6; i++)
        row(&run, "1", "cudaGraphLaunch", RUNTIME, 50 * i, 5);
    row(&run, "2", "cudaGraphLaunch", RUNTIME, 3, 5);
    find_steps(&run);
    is_str(run.steps.source, "graph launches", "the source");
    is_u64(run.steps.count, 5, "periods of the thread with the most of them");
    finish(&run);
    begin(&run);
    for (int i = 0; i < 6; i++)
        row(&run, "1", "cudaGraphLaunch", RUNTIME, (1 << i) * 50, 5);
    find_steps(&run);
    is_u64(run.steps.count, 0, "uneven ones tell no steps");
    finish(&run);
}

static void pieces_of_one_server_step_are_no_steps(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "execute_8192_context_9(1)_generation_37(1)", ANNOTATION, 0, 400);
    for (int i = 0; i < 6; i++)
        row(&run, "1", "hipGraphLaunch", RUNTIME, 50 * i + 10, 5);
    find_steps(&run);
    is_u64(run.steps.count, 0, "graphs launched in one step");
    finish(&run);
}

static void overlapping_marks_are_left_out(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "ProfilerStep#1", ANNOTATION, 0, 100);
    row(&run, "2", "ProfilerStep#1", ANNOTATION, 0, 90);
    row(&run, "1", "ProfilerStep#2", ANNOTATION, 99, 101);
    row(&run, "1", "ProfilerStep#3", ANNOTATION, 200, 100);
    find_steps(&run);
    is_u64(run.steps.count, 3, "the outer one stays");
    is_u64(run.steps.overlapping_count, 1, "the other is counted");
    is_int(run.steps.steps[1].start_ns, 100000, "what begins a little early is cut to size");
    is_int(ap_step_dur_ns(&run.steps, run.trace, 1), 101000, "but lasts as long as recorded");
    finish(&run);
}

/* ------------------------------------------------------------------------------------------------- cold, cut, steady */

struct marked {
    const char *claim, *want;
    size_t count;
    int64_t dur_us[12];
};

static void cold_and_cut_steps_are_told(void)
{
    static const struct marked cases[] = {
        { "even steps", "ssss", 4, { 100, 100, 100, 100 } },
        { "a first one of exactly 1.5 medians", "sss", 3, { 150, 100, 100 } },
        { "a long first one", "css", 3, { 151, 100, 100 } },
        { "a long one later", "ssss", 4, { 100, 100, 400, 100 } },
        { "three long ones first", "cccssss", 7, { 900, 400, 300, 100, 100, 100, 100 } },
        { "at most half", "ccss", 4, { 900, 800, 100, 100 } },
        { "one step", "s", 1, { 100 } },
        { "two steps tell nothing", "ss", 2, { 900, 100 } },
        { "a short last one", "sssx", 4, { 100, 100, 100, 49 } },
        { "not half as short", "ssss", 4, { 100, 100, 100, 50 } },
        { "a cold one is no measure of the last", "css", 3, { 900, 100, 100 } },
        { "both ends", "cssx", 4, { 900, 100, 100, 20 } },
        { "a step that is long alone makes no other one short", "sss", 3, { 100, 400, 100 } },
        { "long and short steps in turn", "sssss", 5, { 100, 300, 100, 300, 100 } },
        { "a long one first", "sssssss", 7, { 300, 100, 300, 100, 300, 100, 100 } },
        { "a start, and one long step of seven", "csssssss", 8, { 300, 100, 100, 100, 100, 100, 300, 100 } },
        { "a short first one", "xsss", 4, { 20, 100, 100, 100 } },
        { "no time at all", "sss", 3, { 0, 0, 0 } },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct run run;
        begin(&run);
        profiler_steps(&run, 7, 1000, cases[i].dur_us, cases[i].count);
        find_steps(&run);
        is_str(marks(&run), cases[i].want, cases[i].claim);
        finish(&run);
    }
}

static void a_short_first_step_is_cut_only_where_the_recording_begins(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "aten::mm", OPERATOR, 900, 10);
    STEPS(&run, 20, 100, 100, 100);
    find_steps(&run);
    is_str(marks(&run), "ssss", "not where it began before");
    finish(&run);
}

static void the_last_step_of_an_incomplete_trace_is_cut(void)
{
    struct run run;
    begin(&run);
    STEPS(&run, 100, 100, 100);
    run.trace->complete = false;
    find_steps(&run);
    is_str(marks(&run), "ssx", "however long it is");
    finish(&run);
}

static void the_second_of_two_is_cut_where_it_holds_nothing(void)
{
    struct run run;
    begin(&run);
    STEPS(&run, 900, 10);
    row(&run, "1", "aten::mm", OPERATOR, 1010, 10);
    find_steps(&run);
    is_str(marks(&run), "sx", "no operator in it");
    finish(&run);
    begin(&run);
    STEPS(&run, 900, 10);
    row(&run, "1", "aten::mm", OPERATOR, 1010, 10);
    row(&run, "1", "aten::mm", OPERATOR, 1901, 3);
    find_steps(&run);
    is_str(marks(&run), "ss", "one operator in it");
    finish(&run);
}

/* --------------------------------------------------------------------------------------------------------- the report */

static void all_and_steady_steps_are_reported(void)
{
    struct run run;
    begin(&run);
    STEPS(&run, 900, 100, 120, 110, 20);
    report(&run);
    is_text(ap_value_text(at(&run, "steps.source")), "ProfilerStep", "source");
    is_int(number(&run, "steps.count"), 5, "all are counted");
    is_int(us(&run, "steps.mean_us"), 250, "mean of all");
    is_int(us(&run, "steps.max_us"), 900, "maximum of all");
    is_int(us(&run, "steps.p50_us"), 110, "median of all");
    ok(is_null(&run, "steps.p90_us"), "no 90th percentile of five");
    ok(ratio(&run, "steps.cold_start_ratio") > 8.18 && ratio(&run, "steps.cold_start_ratio") < 8.182,
       "900 over 110, the cut one left out");
    is_text(ap_value_text(at(&run, "steps.steady.longest.name")), "ProfilerStep#9", "which is the longest steady one");
    is_int(number(&run, "steps.steady.count"), 3, "steady ones");
    is_int(us(&run, "steps.steady.mean_us"), 110, "their mean");
    is_int(us(&run, "steps.steady.total_us"), 330, "their sum");
    is_int(us(&run, "steps.warmup.excess_us"), 790, "excess of the cold one");
    is_int(part_us(&run, "other"), 790, "nothing tells what on");
    ok(ap_value_integer(at(&run, "steps.quality.last_step_cut"), -1) == 1, "the last one is cut");
    ok(ap_value_integer(at(&run, "steps.quality.too_short"), -1) == 0, "three are enough");
    const struct ap_value *first = ap_value_first(at(&run, "steps.rows"));
    is_int(ap_value_integer(ap_value_member(first, "start_us"), -1), 1000000, "start as written");
    is_int(ap_value_integer(ap_value_member(first, "cold"), -1), 1, "cold");
    is_int(ap_value_integer(ap_value_member(first, "steady"), -1), 0, "not steady");
    finish(&run);
}

static void percentiles_need_their_number_of_steps(void)
{
    static const struct {
        size_t count;
        bool p50, p90, p95, p99;
    } cases[] = { { 1, false, false, false, false }, { 2, true, false, false, false }, { 9, true, false, false, false },
                  { 10, true, true, false, false },  { 20, true, true, true, false },  { 100, true, true, true, true } };
    int64_t dur_us[100];
    for (size_t i = 0; i < AP_COUNT_OF(dur_us); i++)
        dur_us[i] = 1000 + (int64_t)i;
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct run run;
        begin(&run);
        profiler_steps(&run, 3, 0, dur_us, cases[i].count);
        report(&run);
        ok(is_null(&run, "steps.p50_us") != cases[i].p50 && is_null(&run, "steps.p90_us") != cases[i].p90 &&
               is_null(&run, "steps.p95_us") != cases[i].p95 && is_null(&run, "steps.p99_us") != cases[i].p99,
           "2, 10, 20, 100");
        ok(is_null(&run, "steps.percentile_note") == cases[i].p99, "else the report says why");
        finish(&run);
    }
}

static void the_excess_of_cold_steps_is_split_exactly(void)
{
    struct run run;
    begin(&run);
    STEPS(&run, 10000, 1000, 1000, 1000);
    for (int i = 0; i < 4; i++) /* 100 us of allocation in each steady step are no warm-up */
        row(&run, "1", "cudaMalloc", RUNTIME, i ? 11000 + 1000 * (i - 1) + 500 : 1500, i ? 100 : 1100);
    row(&run, "1", "cuModuleLoadData", RUNTIME, 3000, 2000);
    row(&run, "2", "cuModuleLoadData", RUNTIME, 4000, 2000);       /* together 3000 */
    row(&run, "1", "compile_fx <locals>", ANNOTATION, 3500, 4000); /* 1500 of it are not module loading */
    row(&run, "1", "cudaLaunchKernel", RUNTIME, 8000, 300);
    for (int i = 0; i < 9; i++)
        row(&run, "1", "cudaLaunchKernel", RUNTIME, 11000 + 20 * i, 10);
    report(&run);
    is_int(us(&run, "steps.warmup.excess_us"), 9000, "the whole");
    is_int(part_us(&run, "module_loading"), 3300, "union over threads, and a launch that took long");
    is_int(part_us(&run, "allocation"), 1000, "less what steady steps spend");
    is_int(part_us(&run, "compilation"), 1500, "less what is counted already");
    is_int(part_us(&run, "autotuning"), 0, "none was seen");
    is_int(part_us(&run, "other"), 3200, "the parts add up");
    finish(&run);
}

static void parts_never_exceed_the_excess(void)
{
    struct run run;
    begin(&run);
    STEPS(&run, 1000, 500, 500, 500);
    row(&run, "1", "cudaMalloc", RUNTIME, 0, 9000);
    row(&run, "1", "cuModuleLoadData", RUNTIME, 1100, 450);
    row(&run, "2", "aten::cudnn_convolution", OPERATOR, 1000, 900);
    for (int i = 0; i < 9; i++)
        row(&run, "2", "aten::cudnn_convolution", OPERATOR, 2000 + 20 * i, 10);
    report(&run);
    is_int(part_us(&run, "module_loading"), 450, "first come");
    is_int(part_us(&run, "allocation"), 50, "550 of the cold step less 500 of steady ones");
    is_int(part_us(&run, "autotuning") + part_us(&run, "other"), 0, "nothing is left");
    finish(&run);
}

static void the_first_steps_of_a_run_are_told(void)
{
    struct run run;
    begin(&run);
    profiler_steps(&run, 1, 0, (const int64_t[]){ 10, 10 }, 2);
    report(&run);
    is_int(number(&run, "steps.quality.starts_with_first_step"), 1, "ProfilerStep#1");
    is_int(number(&run, "steps.quality.too_short"), 1, "two steps");
    ok(is_null(&run, "steps.warmup.cold_count") && is_null(&run, "steps.warmup.excess_us"), "warm-up is not known");
    finish(&run);
    begin(&run);
    profiler_steps(&run, 10, 0, (const int64_t[]){ 10, 10 }, 2);
    report(&run);
    is_int(number(&run, "steps.quality.starts_with_first_step"), 0, "ProfilerStep#10");
    finish(&run);
}

static void steps_much_longer_than_the_median_are_kept(void)
{
    struct run run;
    begin(&run);
    STEPS(&run, 100, 100, 119, 300, 100, 20);
    report(&run);
    struct ap_stretches *time = ap_model_time_of(&run.model, "steps.steady.cv_ratio");
    is_int(time ? ap_stretches_length_ns(time) : 0, 300000, "the one of 300 us");
    finish(&run);
}

static void one_step_alone_has_no_spread(void)
{
    struct run run;
    begin(&run);
    STEPS(&run, 100);
    report(&run);
    is_int(us(&run, "steps.mean_us"), 100, "it has a mean");
    ok(is_null(&run, "steps.std_us") && is_null(&run, "steps.cv_ratio"), "and no spread, which is not 0");
    finish(&run);
}

static void no_steady_step_is_null(void)
{
    struct run run;
    begin(&run);
    STEPS(&run, 100);
    run.trace->complete = false;
    report(&run);
    ok(is_null(&run, "steps.steady"), "the only step is cut");
    is_int(number(&run, "steps.count"), 1, "but counted");
    finish(&run);
}

/* @profiler: marked steps with a cold one; else annotations. */
static void module_and_launches(struct run *run)
{
    row(run, "1", "cuModuleLoadData", RUNTIME, 3000, 2000);
    for (int i = 0; i < 9; i++)
        row(run, "1", "cudaLaunchKernel", RUNTIME, 11000 + 20 * i, 10);
}

static void steps_of_the_profiler(struct run *run)
{
    begin(run);
    STEPS(run, 10000, 1000, 1000, 1000);
    module_and_launches(run);
}

static void steps_by_annotation(struct run *run)
{
    begin(run);
    for (int i = 0; i < 4; i++)
        row(run, "1", "train", ANNOTATION, i ? 10000 + 1000 * i : 0, i ? 1000 : 11000);
    module_and_launches(run);
}

static void refused_memory_is_an_error_and_leaks_nothing(void)
{
    refuse_each_request(steps_of_the_profiler, 0);
    refuse_each_request(steps_by_annotation, 0);
}

/* Times before, in, between and behind steps, asked for in order, in reverse and all over. */
static void a_cursor_answers_like_a_search(void)
{
    struct ap_step list[] = { { 10, 20, 0, false, false }, { 20, 30, 1, false, false }, { 40, 45, 2, false, false } };
    struct ap_steps steps = { .steps = list, .count = AP_COUNT_OF(list) }, none = { .count = 0 };
    struct ap_step_cursor forward = { &steps, 0 }, backward = { &steps, 0 }, about = { &steps, 0 }, empty = { &none, 0 };
    int wrong = 0;
    for (int64_t i = 0; i <= 50; i++) {
        int64_t anywhere_ns = i * 37 % 51;
        wrong += ap_step_cursor_at(&forward, i) != ap_step_at(&steps, i);
        wrong += ap_step_cursor_at(&backward, 50 - i) != ap_step_at(&steps, 50 - i);
        wrong += ap_step_cursor_after(&about, anywhere_ns) != ap_step_after(&steps, anywhere_ns);
        wrong += ap_step_cursor_at(&empty, i) != 0;
    }
    is_int(wrong, 0, "in order, in reverse, all over, and where there are no steps");
    ok(ap_step_at(&steps, 9) == 3 && ap_step_at(&steps, 20) == 1 && ap_step_at(&steps, 35) == 3 &&
           ap_step_at(&steps, 45) == 3 && ap_step_after(&steps, 35) == 2 && ap_step_after(&steps, 45) == 3,
       "a step holds its start, not its end");
}

/* Of two threads: what lies within an earlier row of its thread adds nothing to a union. */
static void outermost_rows_are_those_that_go_beyond(void)
{
    struct run run;
    uint32_t *rows;
    size_t count;
    begin(&run);
    row(&run, "1", "outer", OPERATOR, 100, 50);
    row(&run, "1", "within", OPERATOR, 110, 40);
    row(&run, "1", "a range around all", ANNOTATION, 100, 500);
    row(&run, "1", "crossing", OPERATOR, 140, 20);
    row(&run, "2", "elsewhere", OPERATOR, 120, 5);
    find_steps(&run);
    if (ap_rows_by_start(&run.order, run.trace, 1u << AP_KIND_operator, AP_ROWS_OUTERMOST_BY_START, &rows, &count, NULL) !=
        AP_OK)
        abort();
    ok(count == 3 && rows[0] == 0 && rows[1] == 4 && rows[2] == 3,
       "the outer row, that of the other thread, the crossing one");
    ap_mem_free(&run.gate, rows, count * sizeof(rows[0]));
    finish(&run);
}

/* Which rows a walk finds, as digits. */
static void walk(const struct run *run, uint32_t kinds, char *ret_rows)
{
    for (struct ap_placed_rows at = ap_placed_rows(&run->order, run->trace, kinds); ap_placed_rows_next(&at);)
        *ret_rows++ = (char)('0' + at.row);
    *ret_rows = '\0';
}

/* A thread, a stream, one with rows of both, and one with neither. */
static void rows_of_kinds_come_thread_by_thread_in_order_of_time(void)
{
    struct run run;
    char host[16], work[16], calls[16], engines[16], last = 0;
    begin(&run);
    row(&run, "1", "late", OPERATOR, 200, 50);
    row(&run, "7", "kernel", KERNEL, 100, 50);
    row(&run, "2", "beside work", OPERATOR, 100, 5);
    row(&run, "1", "call", RUNTIME, 110, 5);
    row(&run, "2", "kernel", KERNEL, 90, 5);
    row(&run, "3", "recorder", AP_KIND_overhead | AP_ROW_X, 90, 5);
    row(&run, "1", "early", OPERATOR, 100, 50);
    find_steps(&run);
    walk(&run, AP_HOST_KINDS, host);
    walk(&run, AP_GPU_KINDS, work);
    walk(&run, 1u << AP_KIND_runtime, calls);
    walk(&run, 1u << AP_KIND_engine, engines);
    ok(!strcmp(host, "6302") && !strcmp(work, "14") && !strcmp(calls, "3") && !strcmp(engines, ""), "only these rows");
    const uint8_t holds[] = { AP_TRACK_HOLDS_HOST, AP_TRACK_HOLDS_WORK, AP_TRACK_HOLDS_HOST | AP_TRACK_HOLDS_WORK,
                              AP_TRACK_HOLDS_OTHER };
    ok(!memcmp(run.order.track_holds, holds, sizeof(holds)), "each track knows what it holds");
    struct ap_row_order untold = run.order;
    untold.track_holds = NULL;
    for (struct ap_placed_rows at = ap_placed_rows(&untold, run.trace, AP_GPU_KINDS); ap_placed_rows_next(&at);)
        last = (char)('0' + at.row);
    is_int(last, '4', "where that is not told, all tracks are gone over");
    finish(&run);
}

/* As many tags as there is room for behind the last one: what reads beyond it reads what is not there. */
static int walked_wrongly(const uint8_t *tags, size_t count, uint32_t kinds)
{
    uint8_t copy[200];
    const struct ap_trace trace = { .events = { .count = count, .tag = copy + sizeof(copy) - count } };
    struct ap_rows_of at = ap_rows_of(&trace, kinds);
    int wrong = 0;
    memcpy(trace.events.tag, tags, count);
    for (uint32_t row = 0; row < count; row++)
        if (ap_row_is_of(&trace, row, kinds))
            wrong += !ap_rows_of_next(&at) || at.row != row;
    return wrong + ap_rows_of_next(&at);
}

/* Of no rows, of fewer than are looked at together, of as many, and of more. */
static void a_walk_over_kinds_finds_what_a_look_at_each_row_finds(void)
{
    static const uint32_t sets[] = { 0, 1u << AP_KIND_kernel, AP_GPU_KINDS, AP_HOST_KINDS, UINT32_MAX, 1u << AP_KIND_none };
    uint8_t tags[200];
    int wrong = 0;
    for (size_t i = 0; i < sizeof(tags); i++)
        tags[i] = (uint8_t)(i * i * 7 % AP_KIND_COUNT_ | (i % 3 ? AP_ROW_X : 0) | (i % 5 ? 0 : AP_ROW_CPU_CATEGORY));
    for (size_t count = 0; count <= sizeof(tags); count++)
        for (size_t set = 0; set < AP_COUNT_OF(sets); set++)
            wrong += walked_wrongly(tags, count, sets[set]);
    is_int(wrong, 0, "rows of kinds in file order, whatever their number");
}

int main(void)
{
    a_cursor_answers_like_a_search();
    rows_of_kinds_come_thread_by_thread_in_order_of_time();
    a_walk_over_kinds_finds_what_a_look_at_each_row_finds();
    outermost_rows_are_those_that_go_beyond();
    profiler_marks_of_the_host_go_first();
    names_that_only_look_like_marks_are_none();
    old_traces_have_marks_among_operators();
    repeated_annotations_stand_in();
    annotations_must_follow_one_another_on_one_thread();
    a_part_of_the_loop_is_the_last_resort();
    two_optimizers_step_once();
    graph_launches_stand_in_where_they_are_even();
    pieces_of_one_server_step_are_no_steps();
    overlapping_marks_are_left_out();
    cold_and_cut_steps_are_told();
    a_short_first_step_is_cut_only_where_the_recording_begins();
    the_last_step_of_an_incomplete_trace_is_cut();
    the_second_of_two_is_cut_where_it_holds_nothing();
    all_and_steady_steps_are_reported();
    percentiles_need_their_number_of_steps();
    the_excess_of_cold_steps_is_split_exactly();
    parts_never_exceed_the_excess();
    the_first_steps_of_a_run_are_told();
    steps_much_longer_than_the_median_are_kept();
    one_step_alone_has_no_spread();
    no_steady_step_is_null();
    refused_memory_is_an_error_and_leaks_nothing();
    return done();
}
