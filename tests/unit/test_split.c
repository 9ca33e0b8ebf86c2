/* SPDX-License-Identifier: MIT
 * test_split.c - where the time goes, in traces typed by hand: parts, causes of idle time, verdicts, symptoms. */
#include "split_bench.h"

/* ------------------------------------------------------------------------------------------------------------ parts */

static void the_first_class_that_runs_takes_the_time(void)
{
    struct run run;
    begin(&run);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    gpu(&run, "Memset (Device)", MEMSET, 5, 10, 0);
    gpu(&run, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", KERNEL, 12, 13, 0);
    gpu(&run, "Memcpy DtoH (Device -> Pinned)", MEMCPY, 20, 20, 0);
    gpu(&run, "sgemm", KERNEL, 50, 10, 0);
    gpu(&run, "sgemm", KERNEL, 52, 3, 0);
    report(&run);
    is_int(time_at(&run, "split.window.dur_us"), 60, "the window is first start to last end");
    is_int(time_at(&run, "split.window.compute_us"), 20, "compute, overlaps once");
    is_int(time_at(&run, "split.window.memset_us"), 5, "memset beside compute is not counted");
    is_int(time_at(&run, "split.window.exposed_communication_us"), 10, "communication beside compute or memset neither");
    is_int(time_at(&run, "split.window.exposed_memcpy_us"), 15, "copies last");
    is_int(time_at(&run, "split.window.idle_us"), 10, "the rest is idle");
    is_text(text_at(&run, "split.basis"), "gpu", "devices are the basis");
    ok(is_null(&run, "split.steady"), "no steps");
    is_text(text_at(&run, "split.judged.part"), "window", "so the window is judged");
    ok(all_add_up(&run), "the parts add up");
    end(&run);
}

/* As of an engine that schedules between them. */
static void steps_that_leave_time_out_are_not_judged_alone(void)
{
    struct run run;
    begin(&run);
    for (int64_t i = 0; i < 4; i++) {
        host(&run, "1", "ProfilerStep#4", ANNOTATION, i * 100, 80);
        gpu(&run, "sgemm", KERNEL, i * 100, 80, 0);
    }
    report(&run);
    is_int(time_at(&run, "split.steady.idle_us"), 0, "nothing idles in the steps");
    is_text(text_at(&run, "split.judged.part"), "window", "but between them it does");
    is_int(time_at(&run, "split.judged.idle_us"), 60, "which counts");
    ok(all_add_up(&run), "the parts add up");
    end(&run);
}

static void steps_have_parts_of_their_own(void)
{
    struct run run;
    begin(&run);
    host(&run, "1", "ProfilerStep#4", ANNOTATION, 0, 30);
    host(&run, "1", "ProfilerStep#5", ANNOTATION, 30, 30);
    host(&run, "1", "ProfilerStep#6", ANNOTATION, 65, 35);
    gpu(&run, "sgemm", KERNEL, 10, 30, 0);
    gpu(&run, "Memcpy HtoD", MEMCPY, 55, 20, 0);
    gpu(&run, "sgemm", KERNEL, 80, 40, 0);
    report(&run);
    const struct ap_value *steps = at(&run, "split.steps");
    is_u64(ap_value_count(steps), 3, "three steps");
    is_int(time_of(nth(steps, 0), "compute_us"), 20, "a kernel over the edge of two steps is in both: the first");
    is_int(time_of(nth(steps, 0), "idle_us"), 10, "idle before the first row of the devices");
    is_int(time_of(nth(steps, 1), "compute_us"), 10, "the second");
    is_int(time_of(nth(steps, 1), "exposed_memcpy_us"), 5, "a copy that ends between the steps");
    is_int(time_of(nth(steps, 1), "idle_us"), 15, "and idle");
    is_int(time_of(nth(steps, 2), "exposed_memcpy_us"), 10, "the last has the rest");
    is_int(time_of(nth(steps, 2), "compute_us"), 20, "and what is in it of a kernel that outlasts it");
    is_int(time_of(nth(steps, 2), "idle_us"), 5, "and idle");
    is_int(time_at(&run, "split.steady.dur_us"), 95, "all are steady");
    is_int(time_at(&run, "split.steady.compute_us"), 50, "their sum");
    is_text(text_at(&run, "split.judged.part"), "steady steps", "and judged");
    is_int(time_at(&run, "split.window.dur_us"), 110, "the window is the devices'");
    ok(all_add_up(&run), "the parts add up");
    end(&run);
}

static void steps_outside_of_the_window_are_idle(void)
{
    struct run run;
    begin(&run);
    host(&run, "1", "ProfilerStep#4", ANNOTATION, 0, 20);
    host(&run, "1", "aten::mm", OPERATOR, 5, 10);
    host(&run, "1", "ProfilerStep#5", ANNOTATION, 20, 20);
    host(&run, "1", "ProfilerStep#6", ANNOTATION, 100, 20);
    gpu(&run, "sgemm", KERNEL, 50, 10, 0);
    gpu(&run, "sgemm", KERNEL, 62, 8, 0);
    report(&run);
    const struct ap_value *first = nth(at(&run, "split.steps"), 0);
    is_int(time_of(first, "idle_us"), 20, "a step before the window is idle");
    is_int(time_of(first, "idle_causes.host_operator_us"), 10, "with its causes");
    is_int(time_of(first, "idle_causes.untraced_us"), 10, "all of them");
    is_int(time_of(nth(at(&run, "split.steps"), 2), "idle_us"), 20, "so is one behind it");
    is_int(time_at(&run, "split.window.idle_us"), 2, "the window has its own gaps only");
    is_int(ap_value_integer(at(&run, "idle.gap_count"), -1), 1, "and counts those");
    is_u64(ap_value_count(at(&run, "idle.gaps")), 3, "and lists all, those before and after it in steps too");
    ok(all_add_up(&run), "the parts add up");
    end(&run);
}

static void devices_idle_together(void)
{
    struct run run;
    begin(&run);
    gpu_of(&run, 0, "sgemm", KERNEL, 0, 10, 0);
    gpu_of(&run, 1, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", KERNEL, 5, 15, 0);
    gpu_of(&run, 0, "sgemm", KERNEL, 30, 10, 0);
    gpu_of(&run, 1, "sgemm", KERNEL, 25, 10, 0);
    report(&run);
    is_int(time_at(&run, "split.window.dur_us"), 40, "one window");
    is_int(time_at(&run, "split.window.compute_us"), 25, "compute on any device");
    is_int(time_at(&run, "split.window.exposed_communication_us"), 10, "communication while none computes");
    is_int(time_at(&run, "split.window.idle_us"), 5, "idle while none works");
    ok(all_add_up(&run), "the parts add up");
    end(&run);
}

static void rows_without_length_are_no_time(void)
{
    struct run run;
    begin(&run);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    gpu(&run, "sgemm", KERNEL, 20, 0, 0);
    gpu(&run, "sgemm", KERNEL, 20, 0, 0);
    gpu(&run, "sgemm", KERNEL, 30, 10, 0);
    report(&run);
    is_int(time_at(&run, "split.window.idle_us"), 20, "a row without length leaves the time idle");
    is_int(ap_value_integer(at(&run, "idle.gap_count"), -1), 2, "but ends a gap");
    ok(all_add_up(&run), "the parts add up");
    end(&run);
    begin(&run);
    gpu(&run, "sgemm", KERNEL, 20, 0, 0);
    report(&run);
    ok(is_null(&run, "split") && is_null(&run, "idle") && is_null(&run, "verdict"), "a window without length has no parts");
    end(&run);
    begin(&run);
    report(&run);
    ok(is_null(&run, "split") && is_null(&run, "idle") && is_null(&run, "verdict"), "nor has a trace without rows");
    is_u64(ap_value_count(at(&run, "symptoms")), 4, "the symptoms are named");
    end(&run);
}

/* ----------------------------------------------------------------------------------------------------------- causes */

static void a_late_call_is_due_to_the_host(void)
{
    struct run run;
    begin(&run);
    host(&run, "1", "aten::mm", OPERATOR, 0, 30);
    host(&run, "1", "train.py(3): f", PYTHON, 30, 20);
    host(&run, "1", "aten::add", OPERATOR, 34, 4);
    call(&run, "1", "cudaLaunchKernel", 50, 3, 5);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    gpu(&run, "sgemm", KERNEL, 54, 10, 5);
    report(&run);
    is_int(window_cause(&run, "host_operator"), 24, "the operators that ran in the gap");
    is_int(window_cause(&run, "host_python"), 16, "Python around them");
    is_int(window_cause(&run, "launch_overhead"), 4, "from the call to the start of the kernel");
    is_int(window_cause(&run, "queue_wait"), 0, "which followed soon");
    const struct ap_value *gap = nth(at(&run, "idle.gaps"), 0);
    is_int(time_of(gap, "start_us"), 10, "the gap: its start");
    is_int(time_of(gap, "dur_us"), 44, "length");
    is_text(ap_value_text(ap_value_member(gap, "cause")), "host_operator", "main cause");
    is_int(time_of(gap, "cause_us"), 24, "its time");
    is_text(ap_value_text(ap_value_member(gap, "host_row")), "aten::mm", "the row that was longest in it for that cause");
    is_text(ap_value_text(ap_value_member(gap, "next")), "sgemm", "what ended it");
    is_text(ap_value_text(ap_value_member(gap, "tid")), "1", "the thread that launched");
    ok(all_add_up(&run), "the parts add up");
    end(&run);
}

/* A loop of short calls is in none of them for long. */
static void work_back_to_back_leaves_no_gap_to_list(void)
{
    struct run run;
    begin(&run);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    gpu(&run, "sgemm", KERNEL, 10, 10, 0);
    run.trace->events.start_ns[run.trace->events.count - 1] += 999;
    gpu(&run, "sgemm", KERNEL, 30, 10, 0);
    report(&run);
    is_int(ap_value_integer(at(&run, "idle.gap_count"), -1), 2, "each is counted");
    is_u64(ap_value_count(at(&run, "idle.gaps")), 1, "but less than a microsecond is not listed");
    end(&run);
}

static void a_gap_is_named_by_what_takes_most_in_sum(void)
{
    struct run run;
    begin(&run);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    host(&run, "1", "io.py(7): read", PYTHON, 10, 30);
    host(&run, "1", "prepare.py(3): normalize", PYTHON, 40, 60);
    for (int i = 0; i < 6; i++)
        host(&run, "1", "<built-in method astype of numpy.ndarray object at 0x7cbf780f01b0>", PYTHON, 42 + i * 10, 8);
    call(&run, "1", "cudaLaunchKernel", 100, 1, 5);
    gpu(&run, "sgemm", KERNEL, 101, 10, 5);
    report(&run);
    const struct ap_value *gap = nth(at(&run, "idle.gaps"), 0);
    is_text(ap_value_text(ap_value_member(gap, "host_row")), "prepare.py(3): normalize",
            "the caller of many short calls, not the longest piece");
    is_int(time_of(gap, "host_row_us"), 60, "with all that it calls of the interpreter's own");
    is_int(time_of(gap, "cause_us"), 90, "which is not all of the gap");
    end(&run);
}

static void an_early_call_waits_in_the_queue(void)
{
    struct run run;
    begin(&run);
    call(&run, "1", "cudaLaunchKernel", 2, 1, 5);
    call(&run, "1", "cudaLaunchKernel", 4, 10, 6);
    host(&run, "1", "aten::mm", OPERATOR, 14, 30);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    gpu(&run, "sgemm", KERNEL, 20, 10, 5);
    gpu(&run, "sgemm", KERNEL, 32, 10, 6);
    report(&run);
    is_int(window_cause(&run, "launch_overhead"), 5, "30 us for the first kernel, all of the gap for the next");
    is_int(window_cause(&run, "queue_wait"), 7, "the rest is a wait in the queue");
    is_int(window_cause(&run, "host_operator"), 0, "whatever the host did meanwhile");
    ok(all_add_up(&run), "the parts add up");
    end(&run);
}

static void work_launched_before_the_recording_was_queued(void)
{
    struct run run;
    begin(&run);
    host(&run, "1", "aten::mm", OPERATOR, 0, 60);
    call(&run, "1", "cudaLaunchKernel", 40, 2, 6);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    gpu(&run, "sgemm", KERNEL, 20, 10, 4);
    gpu(&run, "sgemm", KERNEL, 45, 10, 6);
    report(&run);
    is_int(window_cause(&run, "queue_wait"), 7, "no call of it is in a trace that has calls");
    is_int(window_cause(&run, "launch_overhead"), 3 + 5, "both launches");
    is_int(window_cause(&run, "host_operator"), 10, "the host was late for the other one");
    end(&run);
}

/* The unit of these rows is 10 us. */
static void a_queue_that_is_full_at_the_start_is_not_recorded(void)
{
    struct run run;
    begin(&run);
    call(&run, "1", "cudaLaunchKernel", 0, 1, 5);
    call(&run, "1", "cudaLaunchKernel", 2, 1, 6);
    gpu(&run, "fill", KERNEL, 1, 1, 5);
    gpu(&run, "sgemm", KERNEL, 5000, 4000, 6);
    report(&run);
    is_int(window_cause(&run, "queue_wait"), 0, "nothing is said of what the queue held");
    is_int(window_cause(&run, "not_recorded"), 5000 - 3 - 3, "from a launch behind the call on");
    is_text(ap_value_text(at(&run, "verdict.bound")), "GPU-bound", "the verdict is about the rest");
    const struct ap_value *low_use = ap_value_first(at(&run, "symptoms"))->next;
    is_text(ap_value_text(ap_value_member(low_use, "id")), "low-gpu-utilization", "a symptom");
    is_int(ap_value_member(low_use, "present")->type, AP_VALUE_NULL, "that what is not recorded leaves open");
    ok(all_add_up(&run), "the parts add up");
    end(&run);
}

/* Likewise. With nothing to wait for the wait would be over at once; whether its call is recorded or only its operator. */
static void a_wait_for_what_ran_before_is_not_recorded(void)
{
    for (int with_calls = 0; with_calls < 2; with_calls++) {
        struct run run;
        begin(&run);
        host(&run, "1", "aten::copy_", OPERATOR, 2, 4990);
        if (with_calls)
            host(&run, "1", "hipMemcpyWithStream", RUNTIME, 3, 4980);
        gpu(&run, "fill", KERNEL, 1, 1, 0);
        gpu(&run, "sgemm", KERNEL, 5000, 4000, 0);
        host(&run, "1", "aten::copy_", OPERATOR, 8990, 510);
        gpu(&run, "sgemm", KERNEL, 9500, 4000, 0);
        report(&run);
        is_int(window_cause(&run, "not_recorded"), with_calls ? 4980 : 4990, "the wait before which hardly anything ran");
        is_int(window_cause(&run, "host_operator"), with_calls ? 10 + 500 : 0, "what is behind work is known");
        is_text(ap_value_text(at(&run, "verdict.confidence")), "medium", "no call is known to have launched any of it");
        ok(all_add_up(&run), "the parts add up");
        end(&run);
    }
}

static void batches_that_are_waited_for(void)
{
    struct run run;
    begin(&run);
    host(&run, "1", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", ANNOTATION, 12, 20);
    host(&run, "1", "aten::stack", OPERATOR, 14, 10);
    call(&run, "1", "cudaMemcpyAsync", 34, 2, 5);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    gpu(&run, "Memcpy HtoD", MEMCPY, 36, 10, 5);
    host(&run, "1", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", ANNOTATION, 38, 5);
    report(&run);
    is_int(window_cause(&run, "data_loading"), 20, "all that is done within the wait");
    is_int(window_cause(&run, "host_operator"), 0, "is not told twice");
    is_int(window_cause(&run, "untraced"), 2, "beside it nothing was recorded");
    is_int(window_cause(&run, "not_recorded"), 2, "what the host did before its first row, nobody knows");
    is_text(ap_value_text(ap_value_member(nth(at(&run, "idle.gaps"), 0), "host_row")),
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "the gap names the wait itself");
    is_int(ap_value_integer(at(&run, "data_loading.count"), -1), 2, "two waits");
    is_int(ap_value_integer(at(&run, "data_loading.single_process_count"), -1), 2, "without workers");
    is_int(ap_value_integer(at(&run, "data_loading.multi_process_count"), -1), 0, "none with workers");
    is_int(time_at(&run, "data_loading.total_dur_us"), 25, "their time");
    is_int(time_at(&run, "data_loading.idle_us"), 20, "what of it left the device idle");
    is_int(time_at(&run, "data_loading.first_us"), 20, "the first");
    is_int(time_at(&run, "data_loading.max_us"), 20, "the longest");
    end(&run);
}

static void the_first_wait_of_an_epoch_is_slow(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 6; i++)
        host(&run, "1", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", ANNOTATION, 100 * i,
             i == 3 ? 30 : 2);
    host(&run, "1", "DataLoaderIter", OPERATOR, 0, 1);
    report(&run);
    is_int(ap_value_integer(at(&run, "data_loading.count"), -1), 6, "a wait inside another one is not counted");
    is_int(ap_value_integer(at(&run, "data_loading.multi_process_count"), -1), 6, "with workers");
    is_int(ap_value_integer(at(&run, "data_loading.slow_count"), -1), 1, "one is slow");
    is_int(time_at(&run, "data_loading.slow_excess_us"), 28, "by this");
    ok(is_null(&run, "data_loading.idle_us"), "without GPU work nobody idles");
    is_int(time_of(nth(at(&run, "data_loading.waits"), 0), "start_us"), 300, "the longest comes first");
    end(&run);
}

static void waits_for_the_device(void)
{
    struct run run;
    begin(&run);
    call(&run, "1", "cudaStreamSynchronize", 5, 7, 0);
    host(&run, "1", "aten::mm", OPERATOR, 12, 20);
    call(&run, "1", "cudaLaunchKernel", 32, 1, 5);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    gpu(&run, "sgemm", KERNEL, 33, 10, 5);
    report(&run);
    is_int(window_cause(&run, "synchronization"), 7, "a wait that runs the device dry costs what the host was blocked");
    is_int(window_cause(&run, "host_operator"), 15, "the rest of the gap would have been there without it");
    is_int(window_cause(&run, "launch_overhead"), 1, "and the launch");
    ok(all_add_up(&run), "the parts add up");
    end(&run);
    begin(&run);
    call(&run, "1", "cudaStreamSynchronize", 5, 7, 0);
    host(&run, "1", "aten::mm", OPERATOR, 12, 2);
    call(&run, "1", "cudaLaunchKernel", 14, 1, 5);
    gpu(&run, "sgemm", KERNEL, 0, 20, 0);
    gpu(&run, "sgemm", KERNEL, 22, 10, 5);
    report(&run);
    is_int(window_cause(&run, "synchronization"), 0, "a wait on a busy device costs nothing");
    is_int(window_cause(&run, "launch_overhead"), 2, "what was launched after it was in time");
    end(&run);
    begin(&run);
    call(&run, "1", "cudaStreamSynchronize", 0, 100, 0);
    host(&run, "1", "aten::mm", OPERATOR, 100, 20);
    call(&run, "1", "cudaLaunchKernel", 120, 1, 5);
    gpu(&run, "sgemm", KERNEL, 0, 98, 0);
    gpu(&run, "sgemm", KERNEL, 121, 10, 5);
    report(&run);
    is_int(window_cause(&run, "synchronization"), 22, "never more than the gap up to the call");
    is_text(ap_value_text(ap_value_member(nth(at(&run, "idle.gaps"), 0), "host_row")), "cudaStreamSynchronize",
            "and the wait is named");
    end(&run);
}

static void calls_that_take_long(void)
{
    struct run run;
    begin(&run);
    call(&run, "1", "cudaMalloc", 12, 5, 0);
    call(&run, "1", "cudaFuncGetAttributes", 20, 10, 0);
    call(&run, "1", "cudaLaunchKernel", 40, 100, 5);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    gpu(&run, "sgemm", KERNEL, 141, 10, 5);
    call(&run, "1", "cudaLaunchKernel", 160, 99, 6);
    gpu(&run, "sgemm", KERNEL, 259, 10, 6);
    report(&run);
    is_int(window_cause(&run, "allocation"), 5, "memory from the driver");
    is_int(window_cause(&run, "driver_call"), 10 + 101, "another call, and a launch of a millisecond, which loads a module");
    is_int(window_cause(&run, "launch_overhead"), 99, "a shorter one is a launch");
    is_int(window_cause(&run, "untraced"), 13 + 9, "and between them nothing");
    is_int(window_cause(&run, "not_recorded"), 2, "nor is it known before the first one");
    end(&run);
}

/* Five kernels of 10 us; the host is in a call for @call_us[i] in the gap of 40 us before the one behind. */
static int64_t start_up_us(const int *call_us, const char *name, bool with_steps, bool same_kernel)
{
    static const char *const kernels[] = { "sgemm", "relu", "softmax", "copy", "adam" };
    struct run run;
    begin(&run);
    for (int i = 0; i < 5; i++) {
        gpu(&run, kernels[same_kernel ? 0 : i], KERNEL, 50 * i, 10, 0);
        if (with_steps && i < 4)
            host(&run, "1", "ProfilerStep#7", ANNOTATION, 50 * i, 50);
        if (i < 4 && call_us[i])
            call(&run, "1", name, 50 * i + 15, call_us[i], 0);
    }
    report(&run);
    int64_t time_us = time_at(&run, "verdict.parts.start_up.dur_us");
    end(&run);
    return time_us;
}

static void calls_that_come_again_are_no_start_up(void)
{
    static const int at_start[] = { 30, 0, 0, 0 }, again[] = { 30, 20, 20, 20 }, but_one[] = { 20, 0, 20, 20 };
    static const int late[] = { 0, 0, 40, 0 };
    static const char *const names[] = { "cudaMalloc", "cudaFuncGetAttributes" };
    for (int i = 0; i < 4; i++) {
        const char *name = names[i / 2];
        bool with_steps = i % 2;
        is_int(start_up_us(at_start, name, with_steps, true), 30, "what only the start has");
        is_int(start_up_us(again, name, with_steps, true), 10, "and what it has above the others");
    }
    is_int(start_up_us(but_one, names[0], false, true), 0, "one piece without does not decide");
    is_int(start_up_us(late, names[0], false, true), 0, "what begins in the second half is no start");
    is_int(start_up_us(again, names[0], false, false), 90,
           "one iteration that loads all that it runs is a start as a whole");
}

static void launches_that_load(void)
{
    struct run run;
    begin(&run);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    call(&run, "1", "cudaLaunchKernel", 20, 10, 5);
    host(&run, "9", "Lazy Function Loading", OVERHEAD, 25, 4);
    host(&run, "9", "Lazy Function Loading", OVERHEAD, 21, 4);
    gpu(&run, "sgemm", KERNEL, 31, 10, 5);
    call(&run, "1", "cudaLaunchKernel", 50, 10, 6);
    host(&run, "9", "Runtime Triggered Module Loading", OVERHEAD, 51, 4);
    host(&run, "9", "Command Buffer Full", OVERHEAD, 55, 5);
    gpu(&run, "sgemm", KERNEL, 60, 10, 6);
    report(&run);
    is_int(window_cause(&run, "driver_call"), 11, "a launch that is mostly loading, and the kernel's way to the device");
    is_int(window_cause(&run, "launch_overhead"), 10, "one of which less than half is loading");
    ok(all_add_up(&run), "the parts add up");
    end(&run);
}

static void the_thread_that_launches_is_asked_first(void)
{
    struct run run;
    begin(&run);
    host(&run, "1", "<built-in method run_backward of torch._C._EngineBase object at 0x7f>", PYTHON, 0, 100);
    host(&run, "1", "aten::mm", OPERATOR, 100, 60);
    host(&run, "2", "autograd::engine::evaluate_function: MmBackward0", OPERATOR, 20, 20);
    host(&run, "2", "aten::mm", OPERATOR, 25, 10);
    call(&run, "2", "cudaLaunchKernel", 50, 1, 5);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    gpu(&run, "sgemm", KERNEL, 51, 10, 5);
    report(&run);
    is_int(window_cause(&run, "host_autograd"), 40, "the engine, and the call of it on the main thread where it is silent");
    is_int(window_cause(&run, "host_operator"), 0, "operators of the backward belong to it");
    ok(all_add_up(&run), "the parts add up");
    end(&run);
    begin(&run);
    host(&run, "1", "aten::conv2d", OPERATOR, 0, 100);
    host(&run, "2", "MmBackward", OPERATOR, 20, 10);
    if (ap_trace_add_op_detail(run.trace, (struct ap_op_told){ .forward_thread = 1 }, NULL) != AP_OK)
        abort();
    host(&run, "2", "mm", OPERATOR, 22, 2);
    call(&run, "2", "cudaLaunchKernel", 40, 1, 5);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    gpu(&run, "sgemm", KERNEL, 41, 10, 5);
    report(&run);
    is_int(window_cause(&run, "host_autograd"), 10, "a row that knows its forward thread is one of the backward");
    is_int(window_cause(&run, "host_operator"), 20, "elsewhere the main thread answers");
    end(&run);
}

static void the_optimizer_and_annotations(void)
{
    struct run run;
    begin(&run);
    host(&run, "1", "epoch", ANNOTATION, 0, 50);
    host(&run, "1", "ProfilerStep#3", OPERATOR, 2, 46);
    host(&run, "1", "Optimizer.step#SGD.step", ANNOTATION, 20, 10);
    host(&run, "1", "aten::add_", OPERATOR, 22, 4);
    call(&run, "1", "cudaMalloc", 27, 1, 0);
    call(&run, "1", "cudaLaunchKernel", 40, 1, 5);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    gpu(&run, "sgemm", KERNEL, 41, 10, 5);
    report(&run);
    is_int(window_cause(&run, "host_optimizer"), 9, "what the optimizer calls belongs to it");
    is_int(window_cause(&run, "allocation"), 1, "but for calls that have a class of their own");
    is_int(window_cause(&run, "untraced"), 20, "a range or a step says where, not what");
    end(&run);
}

static void rows_that_cross(void)
{
    struct run run;
    begin(&run);
    host(&run, "1", "train.py(1): f", PYTHON, 10, 20);
    host(&run, "1", "aten::mm", OPERATOR, 15, 25);
    host(&run, "1", "enumerate(DataLoader)#x", ANNOTATION, 35, 10);
    call(&run, "1", "cudaLaunchKernel", 60, 1, 5);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    gpu(&run, "sgemm", KERNEL, 61, 10, 5);
    report(&run);
    is_int(window_cause(&run, "host_python"), 5, "the one that began last has the time: the first");
    is_int(window_cause(&run, "host_operator"), 20, "the second");
    is_int(window_cause(&run, "data_loading"), 10, "the third");
    is_int(window_cause(&run, "untraced"), 15, "and then nothing");
    ok(all_add_up(&run), "the parts add up");
    end(&run);
}

static void the_host_alone(void)
{
    struct run run;
    begin(&run);
    host(&run, "1", "aten::mm", OPERATOR, 0, 40);
    host(&run, "1", "forward", ANNOTATION, 50, 10);
    host(&run, "3", "gloo:all_reduce", ANNOTATION, 45, 30);
    host(&run, "3", "gloo:all_reduce", ANNOTATION, 70, 10);
    host(&run, "2", "train.py(1): f", PYTHON, 0, 100);
    report(&run);
    is_text(text_at(&run, "split.basis"), "host", "the host is the basis");
    ok(is_null(&run, "split.window.compute_us") && is_null(&run, "split.window.idle_ratio"),
       "there are no parts of devices");
    is_int(time_at(&run, "split.window.host_states.host_operator_us"), 40, "the main thread has most operator time");
    is_int(time_at(&run, "split.window.host_states.communication_wait_us"), 35,
           "a collective of another thread is what it waits for");
    is_int(time_at(&run, "split.window.host_states.untraced_us"), 25, "the rest is not recorded");
    is_int(time_at(&run, "split.window.host_states.host_python_us"), 0, "other threads do not count");
    ok(is_null(&run, "idle"), "nothing idles");
    ok(all_add_up(&run), "the states add up to the window");
    end(&run);
}

/* ---------------------------------------------------------------------------------------------------------- verdict */

/* A gap of 80 of 100, with what the host did in it. */
static void fill_gap(struct run *run, const char *name, unsigned tag)
{
    begin(run);
    gpu(run, "sgemm", KERNEL, 0, 10, 0);
    host(run, "1", name, tag, 10, 80);
    call(run, "1", "cudaLaunchKernel", 90, 0, 5);
    gpu(run, "sgemm", KERNEL, 90, 10, 5);
}

static void verdict_is(struct run *run, const char *bound, int64_t dur)
{
    report(run);
    is_text(text_at(run, "verdict.bound"), bound, bound);
    is_int(time_at(run, "verdict.dur_us"), dur, "its time");
    int64_t sum_ns = 0;
    for (const struct ap_value *part = ap_value_first(at(run, "verdict.parts")); part; part = part->next)
        sum_ns += ap_value_integer(ap_value_member(part, "dur_us"), -1);
    is_int(sum_ns, ap_value_integer(at(run, "split.judged.dur_us"), -1),
           "the parts of the verdict add up to what is judged");
    end(run);
}

static void long_python_between_launches_is_a_pause(void)
{
    struct run run;
    begin(&run);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    for (int64_t i = 0; i < 3; i++) {
        host(&run, "1", i == 1 ? "env.py(9): step" : "log.py(3): write", PYTHON, 10 + i * 1000, i == 2 ? 80 : 980);
        call(&run, "1", "cudaLaunchKernel", 990 + i * 1000, 0, i == 0 ? 5 : i == 1 ? 6 : 7);
        gpu(&run, "sgemm", KERNEL, 990 + i * 1000, 20, i == 0 ? 5 : i == 1 ? 6 : 7);
    }
    report(&run);
    is_int(ap_value_integer(at(&run, "idle.python_pauses.count"), -1), 2, "two gaps have half a millisecond of Python");
    is_int(time_at(&run, "idle.python_pauses.dur_us"), 1960, "which take so long");
    is_int(ap_value_integer(at(&run, "idle.unrecorded_pauses.count"), -1), 1, "in one hardly anything is recorded");
    is_int(time_of(nth(at(&run, "idle.paused_in"), 0), "dur_us"), 980, "each function has its time");
    is_u64(ap_value_count(at(&run, "idle.paused_in")), 2, "there are two");
    end(&run);
}

/* An input that is prepared in one gap is decoded, scaled and stacked. */
static void all_functions_of_a_pause_are_named(void)
{
    struct run run;
    begin(&run);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    host(&run, "1", "image.py(9): decode", PYTHON, 10, 300);
    for (int64_t i = 0; i < 4; i++)
        host(&run, "1", "image.py(20): scale", PYTHON, 310 + i * 150, 150);
    host(&run, "1", "image.py(31): stack", PYTHON, 980, 7); /* of no account */
    call(&run, "1", "cudaLaunchKernel", 990, 0, 5);
    gpu(&run, "sgemm", KERNEL, 990, 20, 5);
    report(&run);
    const struct ap_value *list = at(&run, "idle.paused_in");
    is_u64(ap_value_count(list), 2, "those in which the host was for long");
    is_text(ap_value_text(ap_value_member(nth(list, 0), "name")), "image.py(20): scale", "the longest first");
    is_int(time_of(nth(list, 0), "dur_us"), 600, "with all its calls");
    is_int(ap_value_integer(ap_value_member(nth(list, 0), "count"), -1), 1, "in one gap");
    is_int(time_of(nth(list, 1), "dur_us"), 300, "and the other");
    end(&run);
}

static void operators_that_launch_nothing_compute_on_the_host(void)
{
    struct run run;
    begin(&run);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    host(&run, "1", "post.py(7): keep", PYTHON, 5, 980);
    host(&run, "1", "torchvision::nms", OPERATOR, 10, 970);
    host(&run, "1", "aten::sort", OPERATOR, 20, 100);
    call(&run, "1", "cudaLaunchKernel", 990, 0, 5);
    gpu(&run, "sgemm", KERNEL, 990, 20, 5);
    host(&run, "1", "aten::mm", OPERATOR, 1010, 990); /* is slow at launching */
    call(&run, "1", "cudaLaunchKernel", 1990, 0, 6);
    gpu(&run, "sgemm", KERNEL, 1990, 20, 6);
    host(&run, "1", "_c10d_functional::wait_tensor", OPERATOR, 2010, 990); /* waits for another rank */
    call(&run, "1", "cudaLaunchKernel", 3000, 0, 7);
    gpu(&run, "sgemm", KERNEL, 3000, 20, 7);
    report(&run);
    is_int(ap_value_integer(at(&run, "idle.operator_pauses.count"), -1), 1, "one gap is due to an operator on the host");
    is_int(time_at(&run, "idle.operator_pauses.dur_us"), 970, "as long as it takes");
    const struct ap_value *first = nth(at(&run, "idle.computed_on_host"), 0);
    is_text(ap_value_text(ap_value_member(first, "name")), "torchvision::nms", "it is named");
    is_text(ap_value_text(ap_value_member(first, "line")), "post.py(7): keep", "with the line that calls it");
    is_int(ap_value_integer(at(&run, "idle.python_pauses.count"), -1), 0, "and is no Python");
    end(&run);
}

static void what_compiled_code_does_is_no_pause_of_the_program(void)
{
    struct run run;
    begin(&run);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    host(&run, "1", "Torch-Compiled Region: 0/0", OPERATOR, 5, 3000);
    host(&run, "1", "<built-in function assert_size_stride>", PYTHON, 10, 980);
    call(&run, "1", "cudaLaunchKernel", 990, 0, 5);
    gpu(&run, "sgemm", KERNEL, 1000, 2100, 5);
    host(&run, "1", "log.py(3): write", PYTHON, 3010, 980);
    call(&run, "1", "cudaLaunchKernel", 3995, 0, 6);
    gpu(&run, "sgemm", KERNEL, 4100, 20, 6);
    report(&run);
    is_int(ap_value_integer(at(&run, "idle.python_pauses.count"), -1), 1, "the one behind the region is one");
    is_u64(ap_value_count(at(&run, "idle.paused_in")), 1, "and no other is named");
    end(&run);
}

/* Preprocessing in the only step, before its first kernel. */
static void a_pause_before_the_first_kernel_of_a_step_counts(void)
{
    struct run run;
    begin(&run);
    host(&run, "1", "ProfilerStep#4", ANNOTATION, 0, 3000);
    host(&run, "1", "image.py(9): normalize", PYTHON, 0, 980);
    call(&run, "1", "cudaLaunchKernel", 990, 0, 5);
    gpu(&run, "sgemm", KERNEL, 1000, 2000, 5);
    report(&run);
    is_int(ap_value_integer(at(&run, "idle.python_pauses.count"), -1), 1, "there is one");
    is_int(time_at(&run, "idle.python_pauses.dur_us"), 980, "of this length");
    end(&run);
}

static void memory_taken_in_each_step_is_no_start_up(void)
{
    struct run run;
    begin(&run);
    for (int64_t i = 0; i < 2; i++) {
        host(&run, "1", i ? "ProfilerStep#5" : "ProfilerStep#4", ANNOTATION, i * 100, 100);
        host(&run, "1", "cudaMalloc", RUNTIME, i * 100 + 20, 60);
        call(&run, "1", "cudaLaunchKernel", i * 100 + 80, 0, i ? 6 : 5);
        gpu(&run, "sgemm", KERNEL, i * 100 + 80, 40, i ? 6 : 5);
    }
    verdict_is(&run, "sync-bound", 120);
}

/* A third of the window loads a module, once; the rest the device computes, and the host is ahead. */
static void a_start_that_is_over_bounds_no_run(void)
{
    for (int shorter = 0; shorter < 2; shorter++) {
        struct run run;
        begin(&run);
        gpu(&run, "sgemm", KERNEL, 0, 10, 5);
        host(&run, "1", "cuModuleLoadData", RUNTIME, 10, 40);
        call(&run, "1", "cudaLaunchKernel", 50, 0, 6);
        gpu(&run, "sgemm", KERNEL, 50, shorter ? 20 : 80, 6);
        verdict_is(&run, shorter ? "start-up-bound" : "GPU-bound", shorter ? 40 : 90);
    }
}

static void each_bound_has_its_name(void)
{
    struct run run;
    fill_gap(&run, "enumerate(DataLoader)#x", ANNOTATION);
    verdict_is(&run, "data-loading-bound", 80);
    fill_gap(&run, "cudaDeviceSynchronize", RUNTIME);
    verdict_is(&run, "sync-bound", 80);
    fill_gap(&run, "gloo:all_reduce", ANNOTATION);
    verdict_is(&run, "communication-bound", 80);
    fill_gap(&run, "cudaMalloc", RUNTIME);
    verdict_is(&run, "start-up-bound", 80);
    fill_gap(&run, "cuModuleLoadData", RUNTIME);
    verdict_is(&run, "start-up-bound", 80);
    fill_gap(&run, "aten::mm", OPERATOR);
    verdict_is(&run, "CPU-bound", 80);
    fill_gap(&run, "train.py(1): f", PYTHON);
    verdict_is(&run, "CPU-bound", 80);
    fill_gap(&run, "cudaGraphLaunch", RUNTIME);
    verdict_is(&run, "launch-bound", 80);
    begin(&run);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    gpu(&run, "sgemm", KERNEL, 90, 10, 5);
    call(&run, "1", "cudaLaunchKernel", 0, 1, 5);
    verdict_is(&run, "event-bound", 77);
    begin(&run);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    gpu(&run, "Memcpy DtoH", MEMCPY, 10, 90, 0);
    verdict_is(&run, "copy-bound", 90);
    begin(&run);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    gpu(&run, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", KERNEL, 10, 90, 0);
    verdict_is(&run, "communication-bound", 90);
    begin(&run);
    gpu(&run, "sgemm", KERNEL, 0, 85, 0);
    gpu(&run, "Memcpy DtoH", MEMCPY, 85, 15, 0);
    verdict_is(&run, "GPU-bound", 85);
    begin(&run);
    gpu(&run, "sgemm", KERNEL, 0, 91, 0);
    gpu(&run, "void at::native::vectorized_elementwise_kernel<4>", KERNEL, 0, 1000, 0);
    verdict_is(&run, "memory-bandwidth-bound", 1000);
    begin(&run);
    host(&run, "1", "aten::mm", OPERATOR, 0, 100);
    verdict_is(&run, "CPU-bound", 100);
}

/* No row has a correlation. An operator that begins behind the gap's start was not there to launch before. */
static void who_launched_work_is_told_or_the_verdict_is_open(void)
{
    for (int told = 0; told < 2; told++) {
        struct run run;
        begin(&run);
        gpu(&run, "sgemm", KERNEL, 0, 10, 0);
        host(&run, "1", "aten::mm", OPERATOR, 50, 45);
        if (ap_trace_add_op_detail(run.trace, (struct ap_op_told){ .external_id = 7 }, NULL) != AP_OK)
            abort();
        gpu(&run, "sgemm", KERNEL, 90, 10, 0);
        const struct ap_work_detail work = { .external_id = told ? 7 : 0, .as.grid = { -1, -1 } };
        if (ap_trace_add_work_detail(run.trace, work, NULL) != AP_OK)
            abort();
        verdict_is(&run, told ? "CPU-bound" : "unknown", told ? 40 : 80); /* before 50 nothing tells what the host did */
    }
    struct run run;
    begin(&run);
    gpu(&run, "sgemm", KERNEL, 0, 10, 0);
    gpu(&run, "sgemm", KERNEL, 90, 10, 0);
    report(&run);
    ok(is_null(&run, "verdict.host.own_us") && is_null(&run, "verdict.host.judged_ratio"), "nor is the host's share known");
    end(&run);
}

/* The window of the device says nothing where the host waits for what it did outside. */
static void a_glimpse_of_the_device_is_no_verdict(void)
{
    for (int waits = 0; waits < 2; waits++) {
        struct run run;
        begin(&run);
        gpu(&run, "sgemm", KERNEL, 10, 5, 0);
        host(&run, "1", "aten::copy_", OPERATOR, 0, 1000);
        host(&run, "1", waits ? "cudaMemcpyAsync" : "cudaLaunchKernel", RUNTIME, 20, 900);
        verdict_is(&run, waits ? "unknown" : "GPU-bound", waits ? 0 : 5);
    }
}

static void a_device_without_a_host_is_idle_for_no_known_reason(void)
{
    struct run run;
    begin(&run);
    gpu(&run, "sgemm", KERNEL, 0, 60, 0);
    gpu(&run, "sgemm", KERNEL, 90, 10, 0);
    report(&run);
    struct ap_text sentence = text_at(&run, "verdict.sentence");
    ok(!ap_text_contains(sentence, AP_TEXT("before the recording")), "nothing tells that it works for what was queued");
    end(&run);
}

static void cut_verdict_is(struct run *run, const char *bound, const char *confidence, const char *told)
{
    run->trace->complete = false;
    report(run);
    is_text(text_at(run, "verdict.bound"), bound, bound);
    is_text(text_at(run, "verdict.confidence"), confidence, "a cut trace gives no high confidence");
    char sentence[400];
    struct ap_text text = text_at(run, "verdict.sentence");
    (void)snprintf(sentence, sizeof(sentence), "%.*s", (int)text.bytes, text.data);
    ok(strstr(sentence, told) && strstr(sentence, "; but the file is cut"), sentence);
    end(run);
}

/* The rows of the device may be those behind the cut: that it waits is doubtful, that it computes is not. */
static void a_cut_trace_weakens_its_verdict(void)
{
    struct run run;
    fill_gap(&run, "aten::mm", OPERATOR);
    report(&run);
    is_text(text_at(&run, "verdict.confidence"), "high", "a whole one gives it");
    end(&run);
    fill_gap(&run, "aten::mm", OPERATOR);
    cut_verdict_is(&run, "CPU-bound", "low", "the device waits");
    begin(&run);
    host(&run, "1", "aten::mm", OPERATOR, 0, 100);
    cut_verdict_is(&run, "CPU-bound", "low", "no GPU work stands before the cut");
    begin(&run);
    gpu(&run, "sgemm", KERNEL, 0, 100, 0);
    cut_verdict_is(&run, "GPU-bound", "medium", "the device computes");
}

static void compute_leads_where_no_wait_is_large(void)
{
    struct run run;
    begin(&run);
    gpu(&run, "sgemm", KERNEL, 0, 70, 0);
    gpu(&run, "Memcpy DtoH", MEMCPY, 70, 8, 0);
    gpu(&run, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", KERNEL, 78, 8, 0);
    gpu(&run, "sgemm", KERNEL, 93, 1, 0);
    verdict_is(&run, "GPU-bound", 71);
    begin(&run);
    gpu(&run, "sgemm", KERNEL, 0, 70, 0);
    gpu(&run, "Memcpy DtoH", MEMCPY, 70, 30, 0);
    verdict_is(&run, "copy-bound", 30);
}

static const struct ap_value *symptom(const struct run *run, size_t i, const char *key)
{
    return ap_value_member(nth(at(run, "symptoms"), i), key);
}

static void symptoms_are_checks_with_names(void)
{
    static const char *const ids[] = { "high-cpu-low-gpu", "low-gpu-utilization", "large-gpu-gaps", "high-allocation-time" };
    struct run run;
    bool all_null = true;
    begin(&run);
    host(&run, "1", "aten::mm", OPERATOR, 0, 100);
    report(&run);
    for (size_t i = 0; i < AP_COUNT_OF(ids); i++) {
        is_text(ap_value_text(symptom(&run, i, "id")), ids[i], ids[i]);
        all_null &= symptom(&run, i, "value")->type == AP_VALUE_NULL && symptom(&run, i, "present")->type == AP_VALUE_NULL;
    }
    ok(all_null, "without GPU work and calls none can be evaluated");
    end(&run);
    fill_gap(&run, "aten::mm", OPERATOR);
    call(&run, "2", "cudaMalloc", 0, 20, 0);
    has_calls(&run);
    report(&run);
    bool all = true;
    for (size_t i = 0; i < AP_COUNT_OF(ids); i++)
        all &= ap_value_integer(symptom(&run, i, "present"), -1) == 1;
    ok(all, "a starved device with allocations has all four");
    end(&run);
    begin(&run);
    host(&run, "1", "aten::mm", OPERATOR, 0, 100);
    call(&run, "1", "cudaLaunchKernel", 0, 1, 5);
    gpu(&run, "sgemm", KERNEL, 0, 100, 5);
    has_calls(&run);
    report(&run);
    bool none = true;
    for (size_t i = 0; i < AP_COUNT_OF(ids); i++)
        none &= ap_value_integer(symptom(&run, i, "present"), -1) == 0;
    ok(none, "a busy one has none");
    double busy = 0;
    ok(ap_value_number(symptom(&run, 0, "value"), &busy) && busy == 1, "a busy host is measured where it does not count");
    end(&run);
}

/* Rows that are missing look like idle time. */
static void symptoms_are_open_where_rows_may_be_missing(void)
{
    struct run run;
    bool open = true;
    begin(&run);
    call(&run, "1", "cudaLaunchKernel", 0, 1, 5);
    call(&run, "1", "cudaLaunchKernel", 2, 1, 6);
    gpu(&run, "sgemm", KERNEL, 1, 10, 5);
    gpu(&run, "sgemm", KERNEL, 90, 10, 6);
    report(&run);
    for (size_t i = 0; i < 3; i++)
        open &= symptom(&run, i, "present")->type == AP_VALUE_NULL;
    ok(open, "work that was launched long before and began late may have had rows before it");
    end(&run);
}

static void one_step_is_called_one(void)
{
    struct run run;
    begin(&run);
    host(&run, "1", "ProfilerStep#4", ANNOTATION, 0, 100);
    gpu(&run, "sgemm", KERNEL, 0, 100, 0);
    report(&run);
    ok(ap_text_ends_with(ap_value_text(at(&run, "verdict.sentence")), "of the only recorded step"), "not steady steps");
    end(&run);
    begin(&run);
    host(&run, "1", "aten::mm", OPERATOR, 0, 300);
    gpu(&run, "sgemm", KERNEL, 100, 100, 0);
    report(&run);
    ok(ap_text_ends_with(ap_value_text(at(&run, "verdict.sentence")), "of the time from the first to the last GPU work"),
       "nor is a part of the recording all of it");
    end(&run);
}

int main(void)
{
    the_first_class_that_runs_takes_the_time();
    steps_have_parts_of_their_own();
    steps_that_leave_time_out_are_not_judged_alone();
    steps_outside_of_the_window_are_idle();
    devices_idle_together();
    rows_without_length_are_no_time();
    a_late_call_is_due_to_the_host();
    work_back_to_back_leaves_no_gap_to_list();
    a_gap_is_named_by_what_takes_most_in_sum();
    an_early_call_waits_in_the_queue();
    work_launched_before_the_recording_was_queued();
    a_queue_that_is_full_at_the_start_is_not_recorded();
    a_wait_for_what_ran_before_is_not_recorded();
    batches_that_are_waited_for();
    the_first_wait_of_an_epoch_is_slow();
    waits_for_the_device();
    calls_that_take_long();
    calls_that_come_again_are_no_start_up();
    launches_that_load();
    the_thread_that_launches_is_asked_first();
    the_optimizer_and_annotations();
    rows_that_cross();
    the_host_alone();
    each_bound_has_its_name();
    a_pause_before_the_first_kernel_of_a_step_counts();
    what_compiled_code_does_is_no_pause_of_the_program();
    memory_taken_in_each_step_is_no_start_up();
    a_start_that_is_over_bounds_no_run();
    long_python_between_launches_is_a_pause();
    all_functions_of_a_pause_are_named();
    operators_that_launch_nothing_compute_on_the_host();
    who_launched_work_is_told_or_the_verdict_is_open();
    a_glimpse_of_the_device_is_no_verdict();
    a_device_without_a_host_is_idle_for_no_known_reason();
    a_cut_trace_weakens_its_verdict();
    compute_leads_where_no_wait_is_large();
    symptoms_are_checks_with_names();
    symptoms_are_open_where_rows_may_be_missing();
    one_step_is_called_one();
    return done();
}
