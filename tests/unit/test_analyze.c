/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "name_pattern.h"
#include "op_stats.h"
#include "random.h"
#include "typed_trace.h"

#define OLD_OPERATOR (AP_KIND_operator | AP_ROW_X)

static int64_t op_us(const struct run *run, const char *list, const char *name, const char *column)
{
    return ap_value_integer(ap_value_member(find(run, list, "name", name), column), -1000) / 1000;
}

/* ------------------------------------------------------------------------------------------------------- claims */

static void self_time_is_what_no_child_takes(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "outer", OPERATOR, 0, 100);
    row(&run, "1", "inner", OPERATOR, 10, 30);
    row(&run, "1", "inner", OPERATOR, 50, 20);
    row(&run, "1", "cudaLaunchKernel", RUNTIME, 15, 5);
    row(&run, "1", "annotation", ANNOTATION, 0, 100);
    analyze(&run);
    is_int(op_us(&run, "cpu.operators", "outer", "self_dur_us"), 50, "the children of the thread's operators are taken off");
    is_int(op_us(&run, "cpu.operators", "inner", "self_dur_us"), 50, "a leaf has its whole time");
    is_int(op_us(&run, "cpu.operators", "inner", "self_excl_runtime_dur_us"), 45, "runtime calls count as children apart");
    is_int(us(&run, "cpu.operator_summary.self_dur_us"), 100, "self times add up to the union");
    is_int(op_us(&run, "cpu.top_ops", "inner", "p50_us"), 25, "the median interpolates");
    end(&run);
}

static void equal_starts_nest_the_shorter_in_the_longer(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "short", OPERATOR, 0, 10);
    row(&run, "1", "long", OPERATOR, 0, 40);
    row(&run, "1", "none", OPERATOR, 40, 0);
    analyze(&run);
    is_int(op_us(&run, "cpu.operators", "long", "self_dur_us"), 30, "whatever their order in the file");
    is_int(op_us(&run, "cpu.operators", "short", "self_dur_us"), 10, "the inner one keeps its time");
    is_int(op_us(&run, "cpu.operators", "none", "self_dur_us"), 0, "no time is no time");
    end(&run);
}

static void crossing_rows_share_their_time_and_are_counted(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "a", OPERATOR, 0, 50);
    row(&run, "1", "b", OPERATOR, 30, 50);
    analyze(&run);
    is_int(op_us(&run, "cpu.operators", "a", "self_dur_us"), 30, "up to the start of the second");
    is_int(op_us(&run, "cpu.operators", "b", "self_dur_us"), 50, "which is the innermost from there");
    is_u64(run.notes.notes[AP_COUNTER_straddle].count, 1, "the crossing is counted");
    is_u64(run.notes.notes[AP_COUNTER_self_time].count, 0, "and the sums still fit");
    end(&run);
}

static void rows_without_place_are_summed_but_not_nested(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "placed", OPERATOR, 0, 10);
    row(&run, "1", "negative", OPERATOR, 0, 0);
    run.trace->events.dur_ns[1] = -5000;
    row(&run, "1", "unplaced", OPERATOR, 0, 7);
    run.trace->events.start_ns[2] = AP_START_UNKNOWN;
    analyze(&run);
    is_int(op_us(&run, "cpu.top_ops", "negative", "total_dur_us"), -5, "a negative time is summed as written");
    is_int(op_us(&run, "cpu.top_ops", "negative", "max_dur_us"), 0, "the maximum starts at 0, as in the original script");
    is_int(op_us(&run, "cpu.top_ops", "unplaced", "total_dur_us"), 7, "a row without ts is in its total");
    is_int(us(&run, "cpu.operator_summary.self_dur_us"), 10, "only what is placed has self time");
    end(&run);
}

static void sums_beyond_all_time_stop_there(void)
{
    const int64_t long_us = INT64_C(4600000000000000); /* 145 years: as long as a row can be */
    struct run run;
    begin(&run);
    for (int thread = 1; thread <= 4; thread++) {
        char text[8];
        (void)snprintf(text, sizeof(text), "%d", thread);
        row(&run, text, "a", OPERATOR, 0, long_us);
        row(&run, text, "enumerate(DataLoader)#x.__next__", ANNOTATION, 0, long_us);
        row(&run, text, "k", KERNEL, 0, long_us);
        run.trace->tracks[thread - 1].device = thread; /* four GPUs */
    }
    analyze(&run);
    is_int(us(&run, "cpu.operator_summary.self_dur_us"), INT64_MAX / 1000, "four times 145 years of self time are 292");
    is_int(op_us(&run, "cpu.operators", "a", "total_dur_us"), INT64_MAX / 1000, "so are totals");
    is_int(us(&run, "gpu.busy_us"), INT64_MAX / 1000, "and busy GPUs");
    is_int(us(&run, "cpu.signals.dataloader.total_dur_us"), INT64_MAX / 1000, "and waits");
    ok(run.notes.notes[AP_COUNTER_time_overflow].count > 0, "which is counted");
    end(&run);
}

static void old_categories_are_operators_but_no_cpu_events(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "conv2d", OLD_OPERATOR, 0, 10);
    analyze(&run);
    is_u64(ap_value_count(at(&run, "cpu.top_ops")), 0, "the original list stays empty");
    is_int(op_us(&run, "cpu.operators", "conv2d", "total_dur_us"), 10, "the list by kind has it");
    end(&run);
}

static void gpu_time_is_a_union_and_what_is_exposed_is_not_covered(void)
{
    struct run run;
    begin(&run);
    row(&run, "7", "gemm", KERNEL, 0, 40);
    row(&run, "8", "ncclDevKernel_AllReduce", KERNEL, 20, 60);
    row(&run, "9", "Memcpy HtoD (Pageable -> Device)", MEMCPY, 70, 30);
    row(&run, "7", "Memset (Device)", MEMSET, 75, 1);
    row(&run, "7", "gemm", KERNEL, 190, 10);
    analyze(&run);
    is_int(us(&run, "gpu.window_us"), 200, "from the first start to the last end");
    is_int(us(&run, "gpu.busy_us"), 110, "overlaps count once");
    is_int(us(&run, "gpu.idle_us"), 90, "busy and idle make up the window");
    is_int(us(&run, "gpu.communication.busy_us"), 60, "collectives are told by name");
    is_int(us(&run, "gpu.communication.exposed_us"), 39, "copies hide no communication, kernels and memsets do");
    is_int(us(&run, "gpu.memcpy.pageable_dur_us"), 30, "pageable copies are told by name");
    ok(ratio(&run, "gpu.utilization_ratio") > 0.5499 && ratio(&run, "gpu.utilization_ratio") < 0.5501, "utilization");
    is_int(ap_value_integer(at(&run, "gpu.kernel.count"), -1), 3, "copies are no kernels");
    end(&run);
}

static void steps_and_signals_are_measured(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 4; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "ProfilerStep#%d", i);
        row(&run, "1", name, ANNOTATION, i * 100, i == 0 ? 100 : 50);
        row(&run, "1", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", ANNOTATION, i * 100, 20);
    }
    row(&run, "2", "aten::copy_", OPERATOR, 0, 10);
    row(&run, "2", "aten::to", OPERATOR, 0, 30);
    row(&run, "3", "Optimizer.step#Both.step", ANNOTATION, 100, 40);
    row(&run, "3", "Optimizer.step#AdamW.step", ANNOTATION, 105, 10);
    row(&run, "3", "Optimizer.step#SGD.step", ANNOTATION, 120, 10);
    analyze(&run);
    is_int(ap_value_integer(at(&run, "cpu.signals.optimizer_step.count"), -1), 1,
           "an optimizer of optimizers makes one step");
    is_int(ap_value_integer(at(&run, "steps.count"), -1), 4, "steps are found");
    is_int(us(&run, "steps.p50_us"), 50, "their median");
    ok(at(&run, "steps.p90_us") && at(&run, "steps.p90_us")->type == AP_VALUE_NULL, "no 90th percentile of four");
    ok(ratio(&run, "steps.cold_start_ratio") == 2, "the first step against the others");
    is_int(us(&run, "cpu.signals.dataloader.total_dur_us"), 80, "waits add up");
    ok(ratio(&run, "cpu.signals.dataloader.per_step") == 1, "once a step");
    ok(ratio(&run, "cpu.signals.dataloader.steps_ratio") == 1, "in every step");
    ok(ratio(&run, "cpu.signals.copy.steps_ratio") == 0, "in the warm-up alone");
    ok(ratio(&run, "cpu.signals.copy.per_step") == 0, "in the steady steps there are none of these");
    is_int(us(&run, "cpu.signals.copy.total_dur_us"), 30, "nested rows of one pattern count once");
    end(&run);
}

static void waits_of_other_threads_are_none_of_the_loop(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "aten::linear", OPERATOR, 0, 500);
    row(&run, "1", "<built-in method acquire of _thread.lock object at 0x1>", PYTHON, 500, 100);
    row(&run, "1", "aten::linear", OPERATOR, 600, 400);
    row(&run, "1", "torch/serialization.py(1234): load", PYTHON, 100, 40);
    row(&run, "1", "torch/nn/modules/module.py(2345): load_state_dict", PYTHON, 140, 30);
    row(&run, "2", "<built-in function sleep>", PYTHON, 0, 900);
    row(&run, "2", "<built-in method acquire of _thread.lock object at 0x2>", PYTHON, 900, 100);
    analyze(&run);
    is_int(ap_value_integer(at(&run, "cpu.signals.sleep.count"), -1), 0, "another thread sleeps");
    is_int(us(&run, "cpu.signals.state_load.total_dur_us"), 70, "weights are read, and put into a model");
    is_int(us(&run, "cpu.signals.lock_wait.total_dur_us"), 100, "the loop waits, and so does another thread");
    end(&run);
}

static void nothing_is_not_zero(void)
{
    struct run run;
    begin(&run);
    analyze(&run);
    ok(at(&run, "gpu")->type == AP_VALUE_NULL, "no GPU rows: unknown, not 0");
    ok(at(&run, "steps")->type == AP_VALUE_NULL, "no steps: unknown");
    ok(at(&run, "cpu.summary.time_window_us")->type == AP_VALUE_NULL, "no window");
    ok(at(&run, "cpu.thread_summary.idle_us")->type == AP_VALUE_NULL, "no idle time");
    end(&run);
}

static void long_gaps_are_work_of_the_host(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "ProfilerStep#0", ANNOTATION, 0, 4000);
    row(&run, "1", "aten::mm", OPERATOR, 700, 100);
    row(&run, "1", "aten::relu", OPERATOR, 900, 100);
    row(&run, "2", "aten::mm", OPERATOR, 1400, 100);
    row(&run, "1", "aten::mm", OPERATOR, 2000, 1600);
    analyze(&run);
    is_int(us(&run, "cpu.thread_summary.idle_us"), 2100, "no operator is open");
    is_int(us(&run, "cpu.thread_summary.long_gaps_us"), 1200, "700 before the first and 500 before the last");
    end(&run);
}

static int64_t number_of(const struct ap_value *thread, const char *key)
{
    return ap_value_integer(ap_value_member(thread, key), -1);
}

/* Each has one operator, thread 40 another one without a place, and thread 41 one that ends before it begins. */
static void of_many_threads_the_longest_are_listed(void)
{
    struct run run;
    char tid[12];
    begin(&run);
    run.top_n = 3;
    for (int i = 0; i < 90; i++) {
        snprintf(tid, sizeof(tid), "%d", i);
        row(&run, tid, "aten::mm", OPERATOR, i, 1 + i * 37 % 91);
    }
    add_row(&run, "1", "40", "aten::mm", OPERATOR, AP_START_UNKNOWN, 500000);
    add_row(&run, "1", "41", "aten::mm", OPERATOR, 90000, -2000);
    add_row(&run, "1", "100", "annotation", ANNOTATION, 0, 9000000);
    analyze(&run);
    const struct ap_value *thread = ap_value_first(at(&run, "cpu.top_threads"));
    static const int64_t totals_ns[] = { 525000, 91000, 90000 }, busy_ns[] = { 91000, 90000, 89000 };
    for (size_t i = 0; i < 3; i++, thread = thread->next)
        is_int(number_of(thread, "total_dur_us"), totals_ns[i], "by all of its time, also that without a place");
    ok(!thread, "no more than were asked for");
    thread = ap_value_first(at(&run, "cpu.threads"));
    for (size_t i = 0; i < 3; i++, thread = thread->next) {
        is_int(number_of(thread, "busy_us"), busy_ns[i], "by the time in which it was busy");
        is_int(number_of(thread, "operator_events"), 1, "with its operators");
    }
    ok(!thread, "no more than were asked for");
    is_int(ap_value_integer(at(&run, "cpu.thread_summary.threads"), -1), 90, "those with operators");
    end(&run);
}

static void filling_in_a_bias_is_no_copy_of_the_program(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "aten::clone", OPERATOR, 0, 10);
    row(&run, "1", "aten::copy_", OPERATOR, 2, 6);
    row(&run, "1", "aten::addmm", OPERATOR, 20, 50);
    row(&run, "1", "aten::copy_", OPERATOR, 22, 30);
    row(&run, "1", "aten::copy_", OPERATOR, 80, 5);
    analyze(&run);
    is_int(us(&run, "cpu.signals.copy.total_dur_us"), 15, "what addmm copies is its own work");
    is_int(ap_value_integer(at(&run, "cpu.signals.copy.count"), -1), 3, "and is not counted");
    end(&run);
}

static void tensors_that_operators_take_apart_are_no_loop(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "aten::select", OPERATOR, 0, 5);
    row(&run, "1", "aten::unbind", OPERATOR, 10, 20);
    row(&run, "1", "aten::select", OPERATOR, 12, 5);
    row(&run, "1", "aten::slow_conv_dilated2d", OPERATOR, 40, 50);
    row(&run, "1", "aten::select", OPERATOR, 45, 5);
    row(&run, "1", "aten::lstm", OPERATOR, 100, 50);
    row(&run, "1", "aten::unbind", OPERATOR, 105, 20);
    row(&run, "1", "aten::select", OPERATOR, 110, 5);
    analyze(&run);
    is_int(ap_value_integer(at(&run, "cpu.signals.select.count"), -1), 2, "by index, and one of a loop over a tensor");
    end(&run);
}

static void what_replaces_a_fused_or_a_quantized_kernel_is_told(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "aten::scaled_dot_product_attention", OPERATOR, 0, 50);
    row(&run, "1", "aten::_scaled_dot_product_attention_math", OPERATOR, 5, 40);
    row(&run, "1", "aten::_scaled_dot_product_flash_attention_for_cpu", OPERATOR, 60, 20);
    row(&run, "1", "aten::fake_quantize_per_tensor_affine", OPERATOR, 100, 30);
    row(&run, "1", "aten::fused_moving_avg_obs_fake_quant", OPERATOR, 140, 30);
    row(&run, "1", "aten::_fused_moving_avg_obs_fq_helper", OPERATOR, 145, 20);
    row(&run, "1", "aten::quantize_per_tensor", OPERATOR, 200, 30);
    analyze(&run);
    is_int(ap_value_integer(at(&run, "cpu.signals.math_attention.count"), -1), 1, "written out, and not the fused one");
    is_int(us(&run, "cpu.signals.math_attention.total_dur_us"), 40, "within the call that chose it");
    is_int(us(&run, "cpu.signals.fake_quantization.total_dur_us"), 60, "rounding that leaves floats");
    end(&run);
}

static void patterns_match_as_written(void)
{
    static const char *const entries[] = { "aten::mm|aten::bmm", "Optimizer.step#*", "*Backward0", "*conv*" };
    struct ap_gate gate;
    struct ap_name_patterns set;
    ap_gate_init(&gate, 0);
    if (ap_name_patterns_init(&set, &gate, entries, 4, NULL) != AP_OK)
        abort();
    is_u64(ap_name_patterns_first(&set, AP_TEXT("aten::bmm"), 4), 0, "equal");
    is_u64(ap_name_patterns_first(&set, AP_TEXT("aten::bmm2"), 4), 4, "and no more");
    is_u64(ap_name_patterns_first(&set, AP_TEXT("Optimizer.step#SGD.step"), 4), 1, "begins with");
    is_u64(ap_name_patterns_first(&set, AP_TEXT("MmBackward0"), 4), 2, "ends with");
    is_u64(ap_name_patterns_first(&set, AP_TEXT("aten::conv2d"), 4), 3, "contains");
    is_u64(ap_name_patterns_all(&set, AP_TEXT("convBackward0")), 12, "all that match, as bits");
    is_u64(ap_name_patterns_first(&set, AP_TEXT(""), 4), 4, "the empty name matches none");
    ap_name_patterns_release(&set);
    is_u64(gate.used_bytes, 0, "all memory is given back");
}

static void a_star_within_a_pattern_is_a_gap(void)
{
    static const char *const entries[] = { "copy.py*: deepcopy", "*_str.py*: _str", "*find*Algorithm*", "a*a" };
    struct ap_gate gate;
    struct ap_name_patterns set;
    ap_gate_init(&gate, 0);
    if (ap_name_patterns_init(&set, &gate, entries, 4, NULL) != AP_OK)
        abort();
    is_u64(ap_name_patterns_first(&set, AP_TEXT("copy.py(128): deepcopy"), 4), 0, "begins and ends with");
    is_u64(ap_name_patterns_first(&set, AP_TEXT("my_copy.py(128): deepcopy"), 4), 4, "does not begin with it");
    is_u64(ap_name_patterns_first(&set, AP_TEXT("copy.py(128): deepcopy_all"), 4), 4, "does not end with it");
    is_u64(ap_name_patterns_first(&set, AP_TEXT("torch/_tensor_str.py(7): _str"), 4), 1, "anything before");
    is_u64(ap_name_patterns_first(&set, AP_TEXT("cudnnfindForwardAlgorithmEx"), 4), 2, "anything between");
    is_u64(ap_name_patterns_first(&set, AP_TEXT("Algorithm, find"), 4), 4, "in their order");
    is_u64(ap_name_patterns_first(&set, AP_TEXT("a"), 4), 4, "the pieces do not share a letter");
    is_u64(ap_name_patterns_first(&set, AP_TEXT("aa"), 4), 3, "the gap may be empty");
    ap_name_patterns_release(&set);
}

static void patterns_of_many_entries_have_a_bit_each(void)
{
    const char *entries[64];
    struct ap_gate gate;
    struct ap_name_patterns set;
    for (size_t i = 0; i < AP_COUNT_OF(entries); i++)
        entries[i] = i % 32 == 1 ? "aten::isnan|aten::_is_any_true" : "aten::mm";
    ap_gate_init(&gate, 0);
    if (ap_name_patterns_init(&set, &gate, entries, AP_COUNT_OF(entries), NULL) != AP_OK)
        abort();
    is_u64(ap_name_patterns_all(&set, AP_TEXT("aten::isnan")), UINT64_C(0x200000002), "the 34th among them");
    ap_name_patterns_release(&set);
}

/* --------------------------------------------------------------------------------------------------- against slow */

enum { TICKS = 120, ROWS = 40 };

/* Self time by looking at each microsecond: the innermost row open then is the one that was opened last; -1 = none is. */
static int64_t slow_self_us(const int64_t *start, const int64_t *dur, const int *order, int wanted)
{
    int64_t self = 0;
    for (int64_t tick = 0; tick < TICKS; tick++) {
        int innermost = -1;
        for (int i = 0; i < ROWS; i++)
            if (start[order[i]] <= tick && tick < start[order[i]] + dur[order[i]])
                innermost = order[i];
        self += innermost == wanted;
    }
    return self;
}

static bool is_operator(int row, bool with_calls)
{
    return !with_calls || row % 3 != 0;
}

/* The time in which an operator is open. */
static int64_t slow_busy_us(const int64_t *start, const int64_t *dur, bool with_calls)
{
    int64_t busy = 0;
    for (int64_t tick = 0; tick < TICKS; tick++) {
        bool open = false;
        for (int i = 0; i < ROWS; i++)
            open |= is_operator(i, with_calls) && start[i] <= tick && tick < start[i] + dur[i];
        busy += open;
    }
    return busy;
}

/* With calls, which take their time from the operators that they lie in or cross. */
static void self_times_equal_a_slow_count(bool with_calls)
{
    struct random random = { .state = 7 };
    int wrong = 0;
    for (int round = 0; round < 60; round++) {
        struct run run;
        int64_t start[ROWS], dur[ROWS];
        int order[ROWS];
        begin(&run);
        for (int i = 0; i < ROWS; i++) {
            char name[16];
            start[i] = (int64_t)random_below(&random, TICKS / 2);
            dur[i] = (int64_t)random_below(&random, TICKS / 2);
            (void)snprintf(name, sizeof(name), "row %d", i);
            row(&run, "1", name, is_operator(i, with_calls) ? OPERATOR : RUNTIME, start[i], dur[i]);
            int at_place = i; /* by start, then the longer, then as written */
            while (at_place > 0 && (start[order[at_place - 1]] > start[i] ||
                                    (start[order[at_place - 1]] == start[i] && dur[order[at_place - 1]] < dur[i]))) {
                order[at_place] = order[at_place - 1];
                at_place--;
            }
            order[at_place] = i;
        }
        struct ap_row_order by_time;
        struct ap_op_stats stats;
        if (ap_row_order_init(&by_time, run.trace, &run.gate, NULL) != AP_OK ||
            ap_op_stats_init(&stats, run.trace, &run.gate, NULL) != AP_OK ||
            ap_op_stats_nest(&stats, run.trace, &by_time, NULL) != AP_OK)
            abort();
        const int64_t *self_ns = with_calls ? stats.operators.self_excl_runtime_ns : stats.operators.self_ns;
        for (int i = 0; i < ROWS; i++)
            wrong += is_operator(i, with_calls) &&
                     self_ns[run.trace->events.name[i]] != slow_self_us(start, dur, order, i) * 1000;
        wrong += stats.mismatch_count != 0 || stats.operator_self_ns != slow_busy_us(start, dur, with_calls) * 1000;
        ap_op_stats_release(&stats);
        ap_row_order_release(&by_time);
        ap_trace_free(run.trace);
        ap_model_release(&run.model);
        wrong += run.gate.used_bytes != 0;
    }
    is_int(wrong, 0, "for random rows that nest and cross; and they add up to the thread's busy time");
}

int main(void)
{
    self_time_is_what_no_child_takes();
    equal_starts_nest_the_shorter_in_the_longer();
    crossing_rows_share_their_time_and_are_counted();
    rows_without_place_are_summed_but_not_nested();
    sums_beyond_all_time_stop_there();
    old_categories_are_operators_but_no_cpu_events();
    gpu_time_is_a_union_and_what_is_exposed_is_not_covered();
    tensors_that_operators_take_apart_are_no_loop();
    what_replaces_a_fused_or_a_quantized_kernel_is_told();
    steps_and_signals_are_measured();
    waits_of_other_threads_are_none_of_the_loop();
    nothing_is_not_zero();
    long_gaps_are_work_of_the_host();
    of_many_threads_the_longest_are_listed();
    filling_in_a_bias_is_no_copy_of_the_program();
    patterns_match_as_written();
    a_star_within_a_pattern_is_a_gap();
    patterns_of_many_entries_have_a_bit_each();
    self_times_equal_a_slow_count(false);
    self_times_equal_a_slow_count(true);
    return done();
}
