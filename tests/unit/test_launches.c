/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "typed_trace.h"

static void device_row(struct run *run, int64_t device, const char *stream, const char *name, enum ap_event_kind kind,
                       int64_t start_us, int64_t dur_us, ap_link_key correlation, int64_t bytes)
{
    struct ap_work_detail detail = { .correlation = correlation };
    uint32_t index = row(run, stream, name, (unsigned)kind | AP_ROW_X, start_us, dur_us);
    if (kind == AP_KIND_kernel)
        detail.as.grid.blocks_per_sm = detail.as.grid.occupancy_ratio = -1;
    else
        detail.as.bytes = bytes;
    if (ap_trace_add_work_detail(run->trace, detail, NULL) != AP_OK)
        abort();
    run->trace->tracks[run->trace->events.track[index]].device = (int32_t)device;
}

static void kernel(struct run *run, const char *stream, int64_t start_us, int64_t dur_us, ap_link_key correlation)
{
    device_row(run, 0, stream, "kernel", AP_KIND_kernel, start_us, dur_us, correlation, -1);
}

/* A call and the kernel that it launches. */
static void launch(struct run *run, int64_t call_us, int64_t start_us, int64_t dur_us, ap_link_key correlation)
{
    call(run, "host", "cudaLaunchKernel", call_us, 2, correlation);
    kernel(run, "s7", start_us, dur_us, correlation);
}

static void op(struct run *run, const char *name, int64_t start_us, int64_t dur_us)
{
    row(run, "host", name, OPERATOR, start_us, dur_us);
}

static void types(struct run *run, const char *types)
{
    struct ap_op_told detail = { .external_id = 0 };
    if (ap_trace_join_signature(run->trace, (struct ap_text){ "", 0 }, ap_text_of(types), &detail.signature, NULL) !=
            AP_OK ||
        ap_trace_add_op_detail(run->trace, detail, NULL) != AP_OK)
        abort();
}

static bool reads(const struct ap_value *item, const char *key, const char *text)
{
    return ap_text_is(ap_value_text(ap_value_member(item, key)), text);
}

/* ------------------------------------------------------------------------------------------------------ launches */

static void delays_count_from_the_start_of_the_call(void)
{
    struct run run;
    begin(&run);
    launch(&run, 0, 10, 5, 1);
    launch(&run, 20, 21, 5, 2); /* before the call ends */
    launch(&run, 40, 39, 1, 3); /* before the call */
    launch(&run, 50, 250, 5, 4);
    kernel(&run, "s7", 300, 5, 99);
    call(&run, "host", "cudaLaunchKernel", 320, 70, 5); /* launches nothing that was recorded */
    analyze(&run);
    is_int(number(&run, "launches.linked_count"), 4, "rows with a call");
    is_int(number(&run, "launches.unlinked_device_count"), 1, "and without");
    is_int(us(&run, "launches.queue_delay_us.max"), 200, "largest delay");
    is_int(ap_value_integer(at(&run, "launches.queue_delay_us.mean"), -1), 52500, "mean of 10, 1, -1, 200");
    is_int(ap_value_integer(at(&run, "launches.queue_delay_us.p50"), -1), 5500, "the median interpolates");
    is_int(number(&run, "launches.started_before_call_end_count"), 2, "starts while the call runs");
    is_int(number(&run, "launches.started_before_call_count"), 1, "and before it");
    is_int(number(&run, "launches.launch_delay.outlier_count"), 1, "one started late");
    is_int(number(&run, "launches.launch_delay.outlier_idle_stream_count"), 1, "though its stream had nothing to do");
    is_int(number(&run, "launches.calls"), 4, "calls without a device row launch nothing");
    is_int(number(&run, "launches.call_outlier_count"), 0, "so they are no outliers either");
    is_int(number(&run, "runtime.outlier_count"), 1, "but long calls they are");
    is_int(number(&run, "launches.short_kernel_count"), 1, "shorter than its call");
    ok(ratio(&run, "links.launched_time_ratio") > 0.761 && ratio(&run, "links.launched_time_ratio") < 0.762,
       "16 of 21 us have a launch");
    end(&run);
}

static void a_call_that_waits_for_its_copy_is_no_slow_launch(void)
{
    struct run run;
    begin(&run);
    call(&run, "host", "cudaLaunchKernel", 0, 80, 1);
    kernel(&run, "s7", 90, 5, 1);
    call(&run, "host", "cudaMemcpyAsync", 100, 300, 2);
    device_row(&run, 0, "s7", "Memcpy HtoD (Pageable -> Device)", AP_KIND_memcpy, 110, 280, 2, 4096);
    analyze(&run);
    is_int(number(&run, "launches.calls"), 2, "both launch work");
    is_int(number(&run, "launches.call_outlier_count"), 1, "the kernel's call took long");
    is_int(us(&run, "launches.call_outlier_excess_us"), 30, "beyond 50 us, and the copy's does not count");
    is_int(number(&run, "runtime.outlier_count"), 2, "long calls both");
    end(&run);
}

static void a_graph_launch_is_one_launch(void)
{
    struct run run;
    begin(&run);
    call(&run, "host", "cudaGraphLaunch", 0, 5, 1);
    kernel(&run, "s7", 10, 1, 1);
    kernel(&run, "s7", 11, 1, 1);
    kernel(&run, "s8", 12, 1, 1);
    launch(&run, 20, 24, 1, 2);
    analyze(&run);
    is_int(number(&run, "launches.linked_count"), 4, "each row is linked");
    is_int(number(&run, "launches.calls"), 2, "by two calls");
    is_int(number(&run, "launches.graph_launches"), 1, "one of a graph");
    ok(ratio(&run, "launches.kernels_per_graph_launch") == 3, "of three kernels");
    is_int(us(&run, "launches.queue_delay_us.max"), 12, "delays with graphs");
    is_int(us(&run, "launches.without_graphs.queue_delay_us.max"), 4, "and without");
    is_int(number(&run, "launches.short_kernel_count"), 1, "graph kernels are not held against their launch");
    is_int(number(&run, "launches.queue.max_length"), 1, "a graph is one entry of the queue");
    ok(find(&run, "runtime.calls", "kind", "graph_launch") != NULL, "its kind");
    end(&run);
}

static void the_queue_is_what_waits(void)
{
    struct run run;
    begin(&run);
    launch(&run, 0, 10, 10, 1);
    launch(&run, 3, 20, 10, 2);
    launch(&run, 6, 30, 10, 3);
    launch(&run, 50, 50, 10, 4); /* starts at once */
    analyze(&run);
    is_int(number(&run, "launches.queue.max_length"), 3, "all three wait");
    ok(ratio(&run, "launches.queue.mean_length") == (3 + 6 + 12 + 20 + 10) / 50.0, "mean over time");
    ok(ratio(&run, "launches.queue.empty_ratio") == 0.4, "empty from 30 to 50");
    is_int(us(&run, "launches.queue.at_limit_us"), 0, "far from the limit");
    ok(ap_value_count(at(&run, "launches.queue.timeline")) <= 100, "a chart's worth of points");
    is_int(number(&run, "launches.queue.timeline"), -1, "in a list");
    end(&run);
}

static void at_the_limit_the_host_waits(void)
{
    struct run run;
    begin(&run);
    for (unsigned i = 0; i < 1030; i++)
        launch(&run, 3 * i, 10000 + i, 1, i + 1);
    analyze(&run);
    is_int(number(&run, "launches.queue.max_length"), 1030, "all of them wait");
    is_int(us(&run, "launches.queue.at_limit_us"), 10000 + 6 - 3 * 1023, "from the 1024th call until seven have started");
    end(&run);
}

static void queues_equal_a_slow_count(void)
{
    enum { ROUNDS = 60, ROWS = 40 };
    struct random random = { 11 };
    int wrong = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct run run;
        int64_t calls[ROWS], starts[ROWS], longest = 0;
        begin(&run);
        for (int i = 0; i < ROWS; i++) {
            calls[i] = (int64_t)random_below(&random, 200);
            starts[i] = calls[i] + (int64_t)random_below(&random, 90);
            launch(&run, calls[i], starts[i], 3, (ap_link_key)i + 1);
        }
        for (int i = 0; i < ROWS; i++) {
            int64_t length = 0; /* right after the call of i: those called up to now and not started before */
            for (int j = 0; j < ROWS; j++)
                length += calls[j] <= calls[i] && starts[j] >= calls[i];
            longest = length > longest ? length : longest;
        }
        struct ap_part_options options = { .path = "random" };
        wrong += analyze_trace(run.trace, &options, &run.notes, &run.model, NULL) != AP_OK;
        wrong += number(&run, "launches.queue.max_length") != longest;
        ap_trace_free(run.trace);
        ap_model_release(&run.model);
    }
    is_int(wrong, 0, "the longest queue of random launches");
}

static void figures_per_step_leave_the_cold_one_out(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 4; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "ProfilerStep#%d", i);
        row(&run, "host", name, ANNOTATION, i ? 1000 + i * 100 : 0, i ? 100 : 1000);
    }
    for (unsigned i = 0; i < 50; i++)
        launch(&run, 10 + 10 * i, 12 + 10 * i, 1, i + 1);
    for (unsigned i = 0; i < 3; i++) {
        launch(&run, 1110 + 100 * i, 1115 + 100 * i, 5, 101 + 2 * i);
        call(&run, "host", "cudaStreamSynchronize", 1120 + 100 * i, 5, 0);
        launch(&run, 1130 + 100 * i, 1135 + 100 * i, 5, 102 + 2 * i);
    }
    analyze(&run);
    ok(ratio(&run, "launches.per_step") == 2, "two launches in each of three steps, not 14 in four");
    ok(ratio(&run, "launches.kernels_per_step") == 2, "of a kernel each");
    ok(ratio(&run, "sync.per_step") == 1, "and one wait");
    end(&run);
}

static void calls_are_told_by_name(void)
{
    static const char *const names[][2] = {
        { "cudaLaunchKernel", "launch" },
        { "hipExtModuleLaunchKernel", "launch" },
        { "cuLaunchKernelEx", "launch" },
        { "cudaMemcpyAsync", "copy" },
        { "hipMemcpyWithStream", "copy" },
        { "cuMemcpyHtoDAsync_v2", "copy" },
        { "hipMemsetAsync", "set" },
        { "cudaDeviceSynchronize", "wait" },
        { "hipEventSynchronize", "wait" },
        { "cudaMalloc", "allocate" },
        { "cudaHostAlloc", "allocate" },
        { "cudaMallocAsync", "allocate" },
        { "hipFree", "free" },
        { "cudaFreeHost", "free" },
        { "cudaEventQuery", "query" },
        { "cudaEventRecord", "event" },
        { "cudaStreamWaitEvent", "event" },
        { "cudaStreamIsCapturing", "query" },
        { "cudaGraphInstantiate", "graph" },
        { "hipGraphLaunch", "graph_launch" },
        { "INVALID", "other" },
        { "hipGetDevicePropertiesR0600", "query" },
    };
    struct run run;
    size_t wrong = 0;
    begin(&run);
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        call(&run, "host", names[i][0], (int64_t)i * 100, 60, 0);
    call(&run, "host", "cudaLaunchKernel", 5000, 90, 0);
    call(&run, "watchdog", "cudaEventQuery", 5000, 400, 0);
    analyze(&run);
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        if (!reads(find(&run, "runtime.calls", "name", names[i][0]), "kind", names[i][1]) && ++wrong)
            note(names[i][0]);
    is_u64(wrong, 0, "each name has its kind");
    const struct ap_value *launches = find(&run, "runtime.calls", "name", "cudaLaunchKernel");
    is_int(ap_value_integer(ap_value_member(launches, "mean_dur_us"), -1), 75000, "mean of two");
    is_int(ap_value_integer(ap_value_at(launches, "longest.start_us"), -1), 5000000, "the longest is shown");
    is_int(us(&run, "runtime.total_dur_us"), 22 * 60 + 90 + 400, "all calls are in the sum");
    is_int(us(&run, "runtime.other_dur_us"), 6 * 60, "queries and events and their like, of the thread that launches");
    ok(is_null(&run, "launches"), "no GPU rows: nothing is known of launches");
    ok(is_null(&run, "sync.idle_us"), "nor of what waits cost");
    end(&run);
}

/* --------------------------------------------------------------------------------------------------------- waits */

static void a_wait_costs_what_the_device_stands_still(void)
{
    struct run run;
    begin(&run);
    launch(&run, 0, 5, 95, 1);
    call(&run, "host", "cudaStreamSynchronize", 10, 91, 0);
    launch(&run, 110, 115, 10, 2);
    analyze(&run);
    is_int(us(&run, "sync.blocked_us"), 91, "blocked until the kernel ends");
    is_int(us(&run, "sync.idle_us"), 15, "the device idles from then to the next start");
    is_int(number(&run, "sync.costly_count"), 1, "which is a cost");
    is_int(number(&run, "sync.explicit.count"), 1, "no operator asked for it");
    ok(ratio(&run, "sync.idle_share_ratio") == 15 / 120.0, "share of the GPU window");
    end(&run);
}

/* The host had handed the next work to the other device already, and this one has none before that is done. */
static void a_device_waits_for_another_one_that_works(void)
{
    struct run run;
    begin(&run);
    launch(&run, 0, 5, 95, 1);
    call(&run, "host", "cudaStreamSynchronize", 10, 91, 0);
    call(&run, "host", "cudaLaunchKernel", 102, 2, 3);
    device_row(&run, 1, "s17", "kernel", AP_KIND_kernel, 103, 10, 3, -1);
    launch(&run, 110, 115, 10, 2);
    analyze(&run);
    is_int(us(&run, "sync.idle_us"), 5, "no device worked for 3 and 2 us");
    end(&run);
}

static void a_wait_costs_until_work_queues_again(void)
{
    struct run run;
    begin(&run);
    launch(&run, 0, 5, 195, 1);
    call(&run, "host", "cudaStreamSynchronize", 10, 191, 0);
    launch(&run, 210, 215, 5, 2);
    launch(&run, 230, 235, 5, 3);
    launch(&run, 240, 280, 5, 4); /* waits for something: the host is ahead again */
    launch(&run, 290, 295, 5, 5);
    analyze(&run);
    is_int(us(&run, "sync.idle_us"), 15 + 15 + 40, "the host launches one by one at first");
    end(&run);

    begin(&run);
    launch(&run, 0, 5, 195, 1);
    call(&run, "host", "cudaStreamSynchronize", 10, 191, 0);
    launch(&run, 210, 215, 5, 2);
    call(&run, "host", "cudaStreamSynchronize", 213, 8, 0);
    launch(&run, 230, 235, 5, 3);
    analyze(&run);
    is_int(us(&run, "sync.idle_us"), 15 + 8, "the second wait's part is its own, and no longer than it lasts");
    end(&run);
}

static void waits_in_one_operator_cost_no_more_than_it(void)
{
    struct run run;
    begin(&run);
    launch(&run, 0, 5, 5, 1);
    op(&run, "aten::index", 20, 40);
    for (unsigned i = 0; i < 2; i++) {
        op(&run, "aten::copy_", 22 + 18 * i, 10);
        call(&run, "host", "cudaMemcpyAsync", 23 + 18 * i, 3, 2 + i);
        device_row(&run, 0, "s7", "Memcpy HtoD (Pageable -> Device)", AP_KIND_memcpy, 24 + 18 * i, 1, 2 + i, 4);
        call(&run, "host", "cudaStreamSynchronize", 27 + 18 * i, 3, 0);
    }
    launch(&run, 200, 205, 5, 4);
    analyze(&run);
    is_int(number(&run, "sync.to_device.count"), 2, "two copies of what indexes");
    is_int(us(&run, "sync.to_device.idle_us"), 40, "the device idles for 179 us, the operator took 40");
    end(&run);
}

/* One number that is read back. */
static void read_number(struct run *run, int64_t at_us, ap_link_key number)
{
    op(run, "aten::item", at_us, 12);
    call(run, "host", "cudaMemcpyAsync", at_us + 1, 6, number);
    device_row(run, 0, "s7", "Memcpy DtoH (Device -> Pageable)", AP_KIND_memcpy, at_us + 3, 2, number, 4);
    call(run, "host", "cudaStreamSynchronize", at_us + 8, 3, 0);
}

static void tensors_that_are_written_as_text_are_told_by_their_operators(void)
{
    static const char *const names[] = { "aten::isfinite", "aten::ne", "aten::__and__",      "aten::masked_select",
                                         "aten::abs",      "aten::to", "aten::min",          "aten::unbind",
                                         "aten::ceil",     "aten::lt", "aten::resolve_conj", "aten::resolve_neg" };
    struct run run;
    begin(&run);
    launch(&run, 0, 5, 5, 1);
    for (unsigned i = 0; i < AP_COUNT_OF(names); i++)
        op(&run, names[i], 20 + 8 * i, 7);
    call(&run, "host", "cudaStreamSynchronize", 46, 4, 0); /* of masked_select */
    read_number(&run, 120, 2);
    read_number(&run, 140, 3);
    op(&run, "aten::mm", 160, 10);
    read_number(&run, 180, 4);
    launch(&run, 300, 305, 5, 5);
    analyze(&run);
    is_int(number(&run, "sync.formatting.count"), 3, "the widest number, and two values");
    is_int(number(&run, "sync.data_dependent.count"), 0, "which is no mask of the program's");
    is_int(number(&run, "sync.scalar_read.count"), 1, "what follows other work is a read of its own");
    end(&run);
    begin(&run);
    launch(&run, 0, 5, 5, 1);
    op(&run, "aten::ne", 20, 8);
    op(&run, "aten::masked_select", 30, 8);
    call(&run, "host", "cudaStreamSynchronize", 32, 4, 0);
    launch(&run, 300, 305, 5, 2);
    analyze(&run);
    is_int(number(&run, "sync.formatting.count"), 0, "a mask alone");
    is_int(number(&run, "sync.data_dependent.count"), 1, "is the program's");
    end(&run);
}

/* Operators one after the other, a number read behind each @summed; what sync then counts as reads of metrics. */
static int64_t metrics_read_behind(const char *const *names, size_t count, const char *summed, int64_t *ret_reads)
{
    struct run run;
    begin(&run);
    launch(&run, 0, 5, 5, 1);
    for (size_t i = 0; i < count; i++) {
        op(&run, names[i], 20 + 20 * (int64_t)i, 4);
        if (!strcmp(names[i], summed))
            read_number(&run, 25 + 20 * (int64_t)i, (ap_link_key)(2 + i));
    }
    launch(&run, 2000, 2005, 5, 100);
    analyze(&run);
    int64_t metrics = number(&run, "sync.metric_count");
    *ret_reads = number(&run, "sync.scalar_read.count");
    is_text(ap_value_text(at(&run, "sync.metric_operators")), metrics ? "aten::argmax, aten::eq, aten::sum" : "",
            "the operators that make the metric");
    end(&run);
    return metrics;
}

static void reads_of_metrics_are_told_by_their_operators(void)
{
    static const char *const metrics[] = { "aten::cross_entropy_loss",
                                           "aten::addcmul_",
                                           "aten::argmax",
                                           "aten::eq",
                                           "aten::eq",
                                           "aten::__and__",
                                           "aten::sum",
                                           "aten::slice",
                                           "aten::sum",
                                           "aten::embedding",
                                           "aten::sum",
                                           "aten::binary_cross_entropy_with_logits",
                                           "aten::round",
                                           "aten::squeeze",
                                           "aten::reshape",
                                           "aten::ne",
                                           "aten::logical_and",
                                           "aten::count_nonzero",
                                           "aten::mul",
                                           "aten::sum" };
    static const char *const others[] = {
        "aten::argmax",   "aten::eq",     "aten::sum",    "aten::nll_loss_nd", "aten::ne",
        "aten::sum",      "aten::linear", "aten::topk",   "aten::eq",          "aten::sum",
        "aten::mse_loss", "aten::argmax", "aten::cumsum", "aten::eq",          "aten::sum"
    };
    int64_t reads;
    is_int(metrics_read_behind(metrics, AP_COUNT_OF(metrics), "aten::sum", &reads), 3, "two classes, another accuracy");
    is_int(reads, 4, "and another sum, behind a layer");
    is_int(metrics_read_behind(others, AP_COUNT_OF(others), "aten::sum", &reads), 0,
           "without a loss, behind a count of labels, routes of tokens or other work stand no metrics");
    is_int(reads, 4, "but other numbers that are read");
}

static void a_read_costs_its_operator(void)
{
    struct run run;
    begin(&run);
    launch(&run, 0, 5, 5, 1);
    op(&run, "aten::item", 20, 40);
    op(&run, "aten::_local_scalar_dense", 25, 33);
    call(&run, "host", "cudaMemcpyAsync", 30, 6, 2);
    device_row(&run, 0, "s7", "Memcpy DtoH (Device -> Pageable)", AP_KIND_memcpy, 33, 2, 2, 4);
    call(&run, "host", "cudaStreamSynchronize", 37, 4, 0);
    launch(&run, 100, 105, 5, 3);
    analyze(&run);
    is_int(us(&run, "sync.scalar_read.blocked_us"), 10, "in the two calls");
    is_int(us(&run, "sync.scalar_read.idle_us"), 40, "the device idles for 70 us, the operator took 40");
    end(&run);
}

/* A number that is read back once the device is done with what was launched before. */
static void read_number_until(struct run *run, int64_t at_us, int64_t until_us, ap_link_key number)
{
    op(run, "aten::item", at_us, until_us - at_us);
    call(run, "host", "cudaMemcpyAsync", at_us + 1, until_us - at_us - 2, number);
    device_row(run, 0, "s7", "Memcpy DtoH (Device -> Pageable)", AP_KIND_memcpy, until_us - 4, 2, number, 4);
}

static void reads_in_a_row_cost_what_all_of_them_held_the_host_up(void)
{
    struct run run;
    begin(&run);
    launch(&run, 0, 5, 1000, 1);
    read_number_until(&run, 20, 1010, 2);
    launch(&run, 1040, 1045, 5, 3);
    read_number_until(&run, 1060, 1072, 4);
    launch(&run, 1200, 1205, 5, 5);
    analyze(&run);
    is_int(us(&run, "sync.scalar_read.idle_us"), 37 + 18 + 135,
           "without the first the host would be ahead, and the second be none of the device's");
    end(&run);
    begin(&run);
    launch(&run, 0, 5, 1000, 1);
    read_number_until(&run, 20, 1010, 2);
    launch(&run, 1020, 1025, 50, 3);
    launch(&run, 1030, 1075, 50, 4);
    read_number_until(&run, 1080, 1130, 5);
    launch(&run, 1400, 1405, 5, 6);
    analyze(&run);
    is_int(us(&run, "sync.scalar_read.idle_us"), 17 + 50, "work that queued between them had made up for the first");
    end(&run);
}

static void a_wait_on_a_busy_device_costs_nothing(void)
{
    struct run run;
    begin(&run);
    launch(&run, 0, 5, 95, 1);
    call(&run, "host", "cudaLaunchKernel", 3, 2, 2);
    kernel(&run, "s8", 130, 20, 2); /* queued on another stream */
    call(&run, "host", "cudaStreamSynchronize", 10, 91, 0);
    launch(&run, 110, 160, 10, 3);
    analyze(&run);
    is_int(us(&run, "sync.blocked_us"), 91, "the host was blocked");
    is_int(us(&run, "sync.idle_us"), 0, "the device had more to do");
    end(&run);
}

static void a_wait_costs_no_more_than_it_lasts(void)
{
    struct run run;
    begin(&run);
    launch(&run, 0, 5, 5, 1);
    call(&run, "host", "cudaEventSynchronize", 100, 3, 0);
    call(&run, "host", "cudaEventSynchronize", 110, 4, 0);
    launch(&run, 600, 605, 10, 2);
    analyze(&run);
    is_int(us(&run, "sync.idle_us"), 7, "the device idled for 595 us; without the waits it would have for 588");
    end(&run);
}

static void before_the_first_recorded_work_no_cost_is_known(void)
{
    struct run run;
    begin(&run);
    call(&run, "host", "cudaEventSynchronize", 10, 40, 0);
    launch(&run, 100, 105, 10, 1);
    launch(&run, 110, 115, 10, 2);
    analyze(&run);
    is_int(us(&run, "sync.blocked_us"), 40, "the host waits for work of before");
    is_int(us(&run, "sync.idle_us"), 0, "which the device may have done all the time");
    end(&run);
}

static void waits_share_what_they_cost(void)
{
    struct run run;
    begin(&run);
    launch(&run, 0, 5, 95, 1);
    call(&run, "host", "cudaStreamSynchronize", 10, 91, 0);
    call(&run, "other", "cudaDeviceSynchronize", 12, 90, 0);
    launch(&run, 110, 115, 10, 2);
    analyze(&run);
    is_int(us(&run, "sync.idle_us"), 15, "the same idle time is charged once");
    is_int(us(&run, "sync.blocked_us"), 181, "each thread was blocked");
    end(&run);
}

static void the_last_wait_costs_nothing(void)
{
    struct run run;
    begin(&run);
    launch(&run, 0, 5, 95, 1);
    call(&run, "host", "hipDeviceSynchronize", 10, 5000, 0);
    analyze(&run);
    is_int(number(&run, "sync.count"), 0, "not counted as a cost");
    is_int(number(&run, "sync.at_end_count"), 1, "but apart");
    is_int(us(&run, "sync.at_end_blocked_us"), 5000, "with its time");
    ok(at(&run, "sync.calls") && ap_value_count(at(&run, "sync.calls")) == 1, "and shown");
    is_u64(ap_value_count(at(&run, "sync.by_cause")), 0, "as no cause");
    end(&run);
}

/* Of a single step nothing says that another one would have kept the device busy meanwhile. */
static void the_last_wait_of_steps_holds_up_the_rest_of_them(void)
{
    for (int steps = 1; steps <= 2; steps++) {
        struct run run;
        begin(&run);
        if (steps == 2)
            row(&run, "host", "ProfilerStep#0", ANNOTATION, 0, 200);
        row(&run, "host", "ProfilerStep#1", ANNOTATION, 200, 160);
        launch(&run, 201, 205, 95, 1);
        call(&run, "host", "cudaDeviceSynchronize", 210, 91, 0);
        call(&run, "host", "cudaDeviceSynchronize", 305, 5, 0);
        call(&run, "host", "cudaDeviceSynchronize", 370, 5, 0); /* the profiler's */
        analyze(&run);
        is_int(number(&run, "sync.explicit.count"), steps == 2 ? 2 : 0, "two in the step");
        is_int(us(&run, "sync.explicit.idle_us"), steps == 2 ? 50 : 0, "the host had 50 us to go");
        is_int(number(&run, "sync.at_end_count"), steps == 2 ? 1 : 3, "the one behind it costs nothing");
        end(&run);
    }
}

static void a_queue_that_waits_for_something_else_is_not_held_up(void)
{
    struct run run;
    begin(&run);
    launch(&run, 0, 5, 5, 1);
    launch(&run, 12, 900, 5, 2); /* waits for an event of which nothing was recorded */
    call(&run, "host", "cudaStreamSynchronize", 20, 886, 0);
    launch(&run, 910, 915, 10, 3);
    analyze(&run);
    is_int(us(&run, "sync.idle_us"), 10, "only what follows the last queued kernel is the wait's");
    end(&run);
}

static void waits_have_a_reason_and_a_line(void)
{
    struct run run;
    begin(&run);
    launch(&run, 0, 5, 5, 1);
    row(&run, "host", "/job/train.py(10): step", PYTHON, 10, 300);
    row(&run, "host", "torch/_tensor.py(5): __float__", PYTHON, 11, 99);
    row(&run, "host", "<built-in method item>", PYTHON, 12, 90);
    op(&run, "aten::item", 13, 80);
    op(&run, "aten::_local_scalar_dense", 14, 70);
    call(&run, "host", "cudaMemcpyAsync", 15, 20, 2);
    device_row(&run, 0, "s7", "Memcpy DtoH (Device -> Pageable)", AP_KIND_memcpy, 20, 5, 2, 4);
    call(&run, "host", "cudaStreamSynchronize", 36, 4, 0);
    op(&run, "aten::nonzero", 120, 50);
    call(&run, "host", "cudaStreamSynchronize", 125, 30, 0);
    op(&run, "aten::to", 180, 50);
    op(&run, "aten::_to_copy", 181, 48);
    op(&run, "aten::copy_", 182, 46);
    call(&run, "host", "hipMemcpyWithStream", 183, 30, 3);
    device_row(&run, 0, "s7", "Memcpy DtoH (Device -> Host)", AP_KIND_memcpy, 190, 5, 3, 80);
    op(&run, "aten::empty", 240, 30);
    call(&run, "host", "cudaMalloc", 241, 20, 0);
    call(&run, "host", "cudaStreamSynchronize", 262, 5, 0);
    call(&run, "host", "cudaHostAlloc", 280, 10, 0);
    launch(&run, 400, 410, 5, 4);
    analyze(&run);
    is_int(number(&run, "sync.scalar_read.count"), 1, "a copy and the wait behind it are one");
    is_int(us(&run, "sync.scalar_read.blocked_us"), 24, "with the time of both");
    is_int(number(&run, "sync.data_dependent.count"), 1, "nonzero");
    is_int(number(&run, "sync.to_host.count"), 1, "a blocking copy");
    is_int(number(&run, "sync.allocation.count"), 2, "allocation apart, and what it waits for before it asks again");
    is_int(number(&run, "sync.pinned_allocation.count"), 1, "page-locked allocation too");
    is_int(number(&run, "sync.count"), 3, "and in no other sum");
    const struct ap_value *item = find(&run, "sync.by_cause", "category", "scalar_read");
    ok(reads(item, "operator", "aten::item") && reads(item, "leaf_operator", "aten::_local_scalar_dense"), "who asked");
    ok(reads(item, "line", "/job/train.py(10): step"), "and where: frames of libraries are left out");
    ok(reads(find(&run, "sync.by_cause", "category", "to_host"), "operator", "aten::to"), "the outermost of aten");
    end(&run);
}

static void what_a_driver_does_for_a_wait_is_no_other_wait(void)
{
    struct run run;
    begin(&run);
    launch(&run, 0, 5, 95, 1);
    call(&run, "host", "synchronizeStream", 10, 91, 7);
    call(&run, "driver", "synchronize", 12, 88, 7);
    call(&run, "driver", "synchronize", 102, 2, 7);
    launch(&run, 110, 115, 10, 2);
    analyze(&run);
    is_int(number(&run, "sync.explicit.count"), 2, "of one number, and within the call");
    is_int(us(&run, "sync.explicit.blocked_us"), 93, "its time counts once");
    end(&run);
}

static void without_operators_copies_and_calls_tell_the_reason(void)
{
    struct run run;
    begin(&run);
    call(&run, "host", "cudaMemcpyAsync", 0, 5, 1);
    device_row(&run, 0, "s7", "Memcpy HtoD (Pageable -> Device)", AP_KIND_memcpy, 10, 5, 1, 4096);
    call(&run, "host", "cudaStreamSynchronize", 6, 10, 0);
    launch(&run, 20, 25, 50, 2);
    call(&run, "host", "cudaDeviceSynchronize", 30, 46, 0);
    call(&run, "host", "cudaMemcpyAsync", 80, 10, 3);
    device_row(&run, 0, "s7", "Memcpy DtoH (Device -> Pageable)", AP_KIND_memcpy, 84, 2, 3, 8);
    call(&run, "host", "cudaMemcpyAsync", 100, 10, 4);
    device_row(&run, 0, "s7", "Memcpy DtoH (Device -> Pageable)", AP_KIND_memcpy, 104, 2, 4, 80);
    launch(&run, 120, 125, 5, 5);
    analyze(&run);
    is_int(number(&run, "sync.to_device.count"), 1, "the copy that was launched last");
    is_int(number(&run, "sync.explicit.count"), 1, "but not behind a kernel");
    is_int(number(&run, "sync.scalar_read.count"), 1, "one number");
    is_int(number(&run, "sync.to_host.count"), 1, "several");
    is_int(us(&run, "gpu.memcpy.pageable_held_us"), 5 + 10, "that copy, and what the device stood still behind it");
    is_int(us(&run, "sync.to_host.idle_us"), 10, "as it is told there");
    end(&run);
}

static void waits_belong_to_their_thread_s_device(void)
{
    struct run run;
    begin(&run);
    call(&run, "a", "cudaLaunchKernel", 0, 2, 1);
    device_row(&run, 3, "d3", "kernel", AP_KIND_kernel, 5, 5, 1, -1);
    call(&run, "b", "cudaLaunchKernel", 0, 2, 2);
    device_row(&run, 9, "d9", "kernel", AP_KIND_kernel, 5, 500, 2, -1);
    call(&run, "a", "cudaDeviceSynchronize", 20, 50, 0);
    call(&run, "a", "cudaLaunchKernel", 80, 2, 3);
    device_row(&run, 3, "d3", "kernel", AP_KIND_kernel, 90, 5, 3, -1);
    call(&run, "b", "cudaLaunchKernel", 90, 2, 4);
    device_row(&run, 9, "d9", "kernel", AP_KIND_kernel, 510, 5, 4, -1);
    analyze(&run);
    is_int(us(&run, "sync.idle_us"), 50, "device 3 idled, though device 9 was busy");
    end(&run);
}

/* -------------------------------------------------------------------------------------------------------- copies */

static void copies_are_told_apart(void)
{
    struct run run;
    begin(&run);
    op(&run, "aten::to", 0, 90);
    op(&run, "aten::copy_", 1, 80);
    call(&run, "host", "cudaMemcpyAsync", 2, 50, 1);
    device_row(&run, 0, "s7", "Memcpy HtoD (Pageable -> Device)", AP_KIND_memcpy, 10, 40, 1, 400000);
    op(&run, "aten::copy_", 100, 20);
    types(&run, "[\"float\",\"c10::Half\",\"\"]");
    call(&run, "host", "cudaLaunchKernel", 101, 5, 2);
    kernel(&run, "s7", 110, 10, 2);
    op(&run, "aten::contiguous", 130, 25);
    op(&run, "aten::clone", 131, 22);
    op(&run, "aten::copy_", 132, 20);
    types(&run, "[\"float\",\"float\",\"\"]");
    call(&run, "host", "cudaLaunchKernel", 133, 5, 3);
    kernel(&run, "s7", 140, 10, 3);
    op(&run, "aten::copy_", 160, 7);
    op(&run, "aten::copy_", 161, 5); /* inside another: one copy */
    call(&run, "host", "cudaLaunchKernel", 170, 5, 4);
    device_row(&run, 0, "s8", "gemm", AP_KIND_kernel, 20, 10, 4, -1);
    op(&run, "aten::copy_", 180, 20);
    call(&run, "host", "cudaMemcpyAsync", 181, 5, 5);
    call(&run, "host", "cudaStreamSynchronize", 187, 5, 0);
    device_row(&run, 0, "s7", "Memcpy HtoD (Pinned -> Device)", AP_KIND_memcpy, 184, 4, 5, 100);
    op(&run, "aten::copy_", 210, 20);
    call(&run, "host", "cudaLaunchKernel", 211, 5, 6);
    device_row(&run, 0, "s7", "void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda(x)>",
               AP_KIND_kernel, 214, 4, 6, -1);
    analyze(&run);
    is_int(number(&run, "copies.htod_pageable.count"), 1, "copies by name");
    is_int(number(&run, "copies.htod_pageable.bytes"), 400000, "with their size");
    is_int(us(&run, "copies.htod_pageable.exposed_us"), 30, "less what other kernels hide");
    ok(ratio(&run, "copies.htod_pageable.gigabytes_per_s") == 10, "and speed");
    is_int(number(&run, "copies.cast.count"), 2, "casts by recorded types or by the kernel's name");
    is_int(number(&run, "copies.layout.count"), 1, "equal types: another layout");
    is_int(number(&run, "copies.cpu_only.count"), 1, "copies that launch nothing are on the host");
    is_int(us(&run, "copies.cpu_only.host_dur_us"), 7, "the outer one is counted");
    is_int(number(&run, "copies.htod_pinned.count"), 1, "page-locked");
    is_int(number(&run, "copies.blocking_pinned.count"), 1, "which waits all the same");
    is_int(number(&run, "copies.unknown.count"), 0, "nothing is left");
    const struct ap_value *layout = find(&run, "copies.by_cause", "what", "layout");
    ok(reads(layout, "operator", "aten::contiguous"), "the operator above");
    ok(ap_value_member(layout, "bytes") && ap_value_member(layout, "bytes")->type == AP_VALUE_NULL,
       "size of a kernel: unknown");
    end(&run);
}

/* -------------------------------------------------------------------------------------------------------- limits */

static void nothing_is_not_zero(void)
{
    struct run run;
    begin(&run);
    analyze(&run);
    ok(is_null(&run, "links") && is_null(&run, "launches") && is_null(&run, "runtime") && is_null(&run, "sync") &&
           is_null(&run, "copies"),
       "an empty trace knows nothing");
    end(&run);
    begin(&run);
    kernel(&run, "s7", 0, 0, 0);
    analyze(&run);
    is_int(number(&run, "launches.unlinked_device_count"), 1, "one row without a call");
    ok(is_null(&run, "launches.queue_delay_us.p50") && is_null(&run, "launches.queue"), "no delay, no queue");
    ok(is_null(&run, "sync") && is_null(&run, "links.launched_time_ratio"), "no calls, no time");
    end(&run);
}

static void rows_without_place_change_nothing(void)
{
    struct run run;
    begin(&run);
    launch(&run, 0, 10, 5, 1);
    call(&run, "host", "cudaStreamSynchronize", 20, 5, 0);
    run.trace->events.start_ns[2] = AP_START_UNKNOWN;
    call(&run, "host", "cudaLaunchKernel", 20, 0, 7);
    run.trace->events.dur_ns[3] = -1000;
    kernel(&run, "s7", 30, 5, 7);
    row(&run, "host", "aten::copy_", OPERATOR, 40, 5);
    run.trace->events.start_ns[5] = AP_START_UNKNOWN;
    analyze(&run);
    is_int(number(&run, "sync.count"), 0, "a wait without ts");
    is_int(number(&run, "launches.linked_count"), 1, "a call of negative length");
    is_int(number(&run, "copies.cpu_only.count"), 0, "a copy without ts");
    is_int(number(&run, "runtime.count"), 3, "all are in the plain sums");
    end(&run);
}

static void deep_stacks_are_walked_for_a_while(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 3000; i++)
        op(&run, "aten::copy_", i, 20000 - 2 * i);
    for (unsigned i = 0; i < 3000; i++)
        call(&run, "host", "cudaStreamSynchronize", 4000 + 2 * i, 1, 0);
    launch(&run, 12000, 12010, 5, 1);
    analyze(&run);
    is_int(number(&run, "sync.count"), 3000, "all waits are there");
    is_int(number(&run, "sync.other.count"), 3000, "under their operator");
    end(&run);
}

static void random_waits_keep_the_bounds(void)
{
    enum { ROUNDS = 80, ROWS = 30 };
    struct random random = { 5 };
    int wrong = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct run run;
        begin(&run);
        for (int i = 0; i < ROWS; i++) {
            int64_t start = (int64_t)random_below(&random, 400);
            if (random_below(&random, 3) == 0)
                call(&run, random_below(&random, 2) ? "host" : "other", "cudaDeviceSynchronize", start,
                     (int64_t)random_below(&random, 40), 0);
            else
                launch(&run, start, start + (int64_t)random_below(&random, 40), (int64_t)random_below(&random, 9),
                       (ap_link_key)i + 1);
        }
        struct ap_part_options options = { .path = "random" };
        wrong += analyze_trace(run.trace, &options, &run.notes, &run.model, NULL) != AP_OK;
        if (at(&run, "sync")->type != AP_VALUE_NULL && at(&run, "gpu")->type != AP_VALUE_NULL) {
            int64_t idle_ns = number(&run, "sync.idle_us"), sum_ns = 0;
            wrong += idle_ns < 0 || idle_ns > number(&run, "gpu.idle_us") || idle_ns > number(&run, "sync.blocked_us");
            for (const struct ap_value *one = ap_value_first(at(&run, "sync.by_cause")); one; one = one->next)
                sum_ns += ap_value_integer(ap_value_member(one, "idle_us"), 0);
            wrong += sum_ns != idle_ns;
        }
        ap_trace_free(run.trace);
        ap_model_release(&run.model);
        wrong += run.gate.used_bytes != 0;
    }
    is_int(wrong, 0, "no more than the device idles, no more than the host waits; causes add up");
}

static void a_copy_and_a_launch(struct run *run)
{
    begin(run);
    op(run, "aten::copy_", 0, 50);
    call(run, "host", "cudaMemcpyAsync", 2, 20, 1);
    device_row(run, 0, "s7", "Memcpy HtoD (Pageable -> Device)", AP_KIND_memcpy, 5, 10, 1, 8);
    op(run, "aten::copy_", 55, 4);
    launch(run, 60, 70, 5, 2);
}

static void memory_may_end_anywhere(void)
{
    refuse_each_request(a_copy_and_a_launch, 0);
}

int main(void)
{
    delays_count_from_the_start_of_the_call();
    a_call_that_waits_for_its_copy_is_no_slow_launch();
    a_graph_launch_is_one_launch();
    the_queue_is_what_waits();
    at_the_limit_the_host_waits();
    queues_equal_a_slow_count();
    figures_per_step_leave_the_cold_one_out();
    calls_are_told_by_name();
    a_wait_costs_what_the_device_stands_still();
    a_device_waits_for_another_one_that_works();
    a_wait_costs_until_work_queues_again();
    waits_in_one_operator_cost_no_more_than_it();
    a_read_costs_its_operator();
    tensors_that_are_written_as_text_are_told_by_their_operators();
    reads_of_metrics_are_told_by_their_operators();
    reads_in_a_row_cost_what_all_of_them_held_the_host_up();
    a_wait_on_a_busy_device_costs_nothing();
    a_wait_costs_no_more_than_it_lasts();
    before_the_first_recorded_work_no_cost_is_known();
    waits_share_what_they_cost();
    the_last_wait_costs_nothing();
    the_last_wait_of_steps_holds_up_the_rest_of_them();
    a_queue_that_waits_for_something_else_is_not_held_up();
    waits_have_a_reason_and_a_line();
    what_a_driver_does_for_a_wait_is_no_other_wait();
    without_operators_copies_and_calls_tell_the_reason();
    waits_belong_to_their_thread_s_device();
    copies_are_told_apart();
    nothing_is_not_zero();
    rows_without_place_change_nothing();
    deep_stacks_are_walked_for_a_while();
    random_waits_keep_the_bounds();
    memory_may_end_anywhere();
    return done();
}
