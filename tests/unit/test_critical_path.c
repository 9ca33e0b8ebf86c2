/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "critical_path.h"
#include "random.h"
#include "typed_trace.h"

#define SYNC (AP_KIND_gpu_sync | AP_ROW_X)

static bool is_device(unsigned tag)
{
    return ap_event_kind_is_gpu_work(ap_row_kind((uint8_t)tag)) || ap_row_kind((uint8_t)tag) == AP_KIND_gpu_sync;
}

static void place(struct run *run, const char *tid, const char *name, unsigned tag, int64_t start_us, int64_t dur_us)
{
    uint32_t track = add_row(run, is_device(tag) ? "0" : "1", tid, name, tag, start_us * 1000, dur_us * 1000);
    if (is_device(tag))
        run->trace->tracks[track].device = 0;
    widen_window(run->trace, start_us * 1000, (start_us + dur_us) * 1000);
}

/* Traces that are read list their categories. */
static void has_syncs(struct run *run)
{
    static const struct ap_category category = { .kind = AP_KIND_gpu_sync, .row_count = 1 };
    struct ap_trace *trace = run->trace;
    if (ap_mem_reserve(&run->gate, (void **)&trace->categories, &trace->category_capacity, trace->category_count + 1,
                       sizeof(trace->categories[0]), NULL) != AP_OK)
        abort();
    trace->categories[trace->category_count++] = category;
}

static void sync_row(struct run *run, const char *name, int64_t start_us, struct ap_sync_detail detail)
{
    place(run, "7", name, SYNC, start_us, 0);
    if (ap_trace_add_sync_detail(run->trace, detail, NULL) != AP_OK)
        abort();
    has_syncs(run);
}

static int64_t us_of(const struct ap_value *value)
{
    return ap_value_integer(value, -1000) / 1000;
}

static int64_t class_us(const struct run *run, const char *name)
{
    return us_of(ap_value_member(find(run, "critical_path.classes", "class", name), "dur_us"));
}

static int64_t operator_us(const struct run *run, const char *name)
{
    return us_of(ap_value_member(find(run, "critical_path.operators", "name", name), "total_dur_us"));
}

static int64_t edges(const struct run *run, const char *path)
{
    return ap_value_integer(at(run, path), -1);
}

static void is_whole(const struct run *run)
{
    int64_t sum_us = 0;
    for (const struct ap_value *item = ap_value_first(at(run, "critical_path.classes")); item; item = item->next)
        sum_us += us_of(ap_value_member(item, "dur_us"));
    is_int(us_of(at(run, "critical_path.length_us")), us_of(at(run, "critical_path.window_us")),
           "the path is as long as the window");
    is_int(sum_us, us_of(at(run, "critical_path.length_us")), "its classes add up to it");
    int64_t listed_us = us_of(at(run, "critical_path.other_operators.total_dur_us"));
    for (const struct ap_value *item = ap_value_first(at(run, "critical_path.operators")); item; item = item->next)
        listed_us += us_of(ap_value_member(item, "total_dur_us"));
    is_int(listed_us, sum_us, "so do its operators with the other row");
}

/* ------------------------------------------------------------------------------------------------------- claims */

static void short_kernels_wait_for_their_launches(void)
{
    struct run run;
    begin(&run);
    place(&run, "1", "op", OPERATOR, 0, 100);
    for (ap_link_key i = 1; i <= 4; i++) {
        call(&run, "1", "cudaLaunchKernel", i * 20, 5, i);
        work_on(&run, "7", "kernel", KERNEL, i * 20 + 7, 3, i);
    }
    call(&run, "1", "cudaDeviceSynchronize", 100, 10, 9);
    analyze(&run);
    is_whole(&run);
    is_int(class_us(&run, "cpu_bound"), 100, "the host is never waited for by a queue");
    is_int(class_us(&run, "synchronisation"), 10, "a wait on an idle device is the call's own time");
    is_int(class_us(&run, "gpu_compute_bound"), 0, "no kernel is on the path");
    is_int(operator_us(&run, "op"), 100, "calls within an operator bear its name");
    end(&run);
}

static void a_full_queue_is_bound_by_its_kernels(void)
{
    struct run run;
    begin(&run);
    place(&run, "1", "op", OPERATOR, 0, 40);
    for (ap_link_key i = 1; i <= 3; i++) {
        call(&run, "1", "cudaLaunchKernel", i * 10, 2, i);
        work_on(&run, "7", i == 2 ? "ncclDevKernel_AllReduce" : "kernel", KERNEL, 16 + (i - 1) * 102, 100, i);
    }
    call(&run, "1", "cudaDeviceSynchronize", 40, 290, 9);
    analyze(&run);
    is_whole(&run);
    is_int(class_us(&run, "cpu_bound"), 10, "the host until the first launch");
    is_int(class_us(&run, "launch_overhead"), 6, "the first kernel's start");
    is_int(class_us(&run, "gpu_compute_bound"), 200, "two kernels");
    is_int(class_us(&run, "gpu_communication_bound"), 100, "and a collective");
    is_int(class_us(&run, "kernel_kernel_overhead"), 4, "what is between queued kernels");
    is_int(class_us(&run, "synchronisation"), 10, "the call's return after the last of them");
    is_int(edges(&run, "critical_path.edges.stream"), 2, "along the stream");
    is_int(edges(&run, "critical_path.edges.launch"), 1, "then to the host");
    ok(at(&run, "critical_path.approximate")->as.integer, "no waits were recorded");
    end(&run);
}

static void add_two_streams(struct run *run)
{
    begin(run);
    place(run, "1", "op", OPERATOR, 0, 40);
    call(run, "1", "cudaLaunchKernel", 5, 2, 1);
    work_on(run, "20", "producer", KERNEL, 10, 80, 1);
    call(run, "1", "cudaEventRecord", 8, 1, 2);
    call(run, "1", "cudaLaunchKernel", 10, 2, 6);
    work_on(run, "20", "after the record", KERNEL, 90, 3, 6);
    call(run, "1", "cudaStreamWaitEvent", 12, 1, 3);
    call(run, "1", "cudaLaunchKernel", 20, 2, 4);
    work_on(run, "7", "consumer", KERNEL, 95, 50, 4);
    call(run, "1", "cudaStreamSynchronize", 40, 110, 5);
}

static void a_stream_waits_for_another_ones_event(void)
{
    struct run run;
    add_two_streams(&run);
    sync_row(&run, "Stream Wait Event", 12,
             (struct ap_sync_detail){ .correlation = 3, .record_correlation = 2, .stream = 7, .wait_on_stream = 20 });
    sync_row(&run, "Stream Sync", 40, (struct ap_sync_detail){ .correlation = 5, .stream = 7, .wait_on_stream = -1 });
    analyze(&run);
    is_whole(&run);
    is_int(class_us(&run, "gpu_compute_bound"), 130, "producer and consumer");
    is_int(class_us(&run, "kernel_kernel_overhead"), 5, "from the end of what was recorded");
    is_int(edges(&run, "critical_path.edges.event_wait"), 1, "by the recorded wait");
    ok(!at(&run, "critical_path.approximate")->as.integer, "the path is not approximate");
    ok(find(&run, "critical_path.operators", "name", "after the record") == NULL,
       "what came after the record is not waited for");
    end(&run);
}

static void without_wait_rows_times_tell(void)
{
    struct run run;
    add_two_streams(&run);
    analyze(&run);
    is_whole(&run);
    is_int(edges(&run, "critical_path.edges.inferred_wait"), 1, "work that ended right before on another stream");
    is_int(operator_us(&run, "producer"), 80, "its predecessors are on the path");
    end(&run);
}

static void a_blocking_copy_waits_for_the_stream(void)
{
    struct run run;
    begin(&run);
    place(&run, "1", "aten::mm", OPERATOR, 0, 10);
    call(&run, "1", "cudaLaunchKernel", 2, 2, 1);
    work_on(&run, "7", "gemm", KERNEL, 6, 50, 1);
    place(&run, "1", "aten::item", OPERATOR, 10, 60);
    call(&run, "1", "cudaMemcpyAsync", 12, 50, 2);
    work_on(&run, "7", "Memcpy DtoH (Device -> Pageable)", MEMCPY, 57, 3, 2);
    place(&run, "1", "aten::add", OPERATOR, 70, 30);
    analyze(&run);
    is_whole(&run);
    is_int(class_us(&run, "gpu_memcpy_bound"), 3, "the copy");
    is_int(class_us(&run, "gpu_compute_bound"), 50, "and the kernel before it");
    is_int(class_us(&run, "synchronisation"), 2, "then the call returns");
    is_int(class_us(&run, "cpu_bound"), 2 + 8 + 30, "the host before the launch and after the copy");
    is_int(class_us(&run, "launch_overhead"), 4, "the kernel's launch");
    is_int(edges(&run, "critical_path.edges.synchronisation"), 1, "one jump");
    end(&run);
}

static void backward_runs_on_its_own_thread(void)
{
    /* Main is in an annotation, in an operator, or in nothing at all meanwhile. */
    static const unsigned kinds[] = { ANNOTATION, OPERATOR, 0 };
    for (size_t i = 0; i < AP_COUNT_OF(kinds); i++) {
        struct run run;
        begin(&run);
        place(&run, "1", "ProfilerStep#3", ANNOTATION, 0, 210);
        place(&run, "1", "forward", OPERATOR, 0, 50);
        if (kinds[i])
            place(&run, "1", "## backward ##", kinds[i], 55, 105);
        place(&run, "2", "autograd::engine::evaluate_function: A", OPERATOR, 60, 40);
        place(&run, "2", "autograd::engine::evaluate_function: B", OPERATOR, 100, 50);
        place(&run, "2", "aten::after", OPERATOR, 150, 4);
        place(&run, "1", "optimizer", OPERATOR, 160, 50);
        analyze(&run);
        is_whole(&run);
        is_int(operator_us(&run, "autograd::engine::evaluate_function: A"), 40, "the engine's nodes are on the path");
        is_int(operator_us(&run, "autograd::engine::evaluate_function: B"), 50, "all of them");
        is_int(operator_us(&run, "forward"), 50, "forward before");
        is_int(operator_us(&run, "optimizer"), 50, "the optimizer after");
        is_int(class_us(&run, "untraced"), kinds[i] ? 5 : 16, "a step's span is no work");
        is_int(edges(&run, "critical_path.edges.thread"), 2, "there and back");
        end(&run);
    }
}

static void a_trace_without_gpu_is_host_time(void)
{
    struct run run;
    begin(&run);
    place(&run, "1", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", ANNOTATION, 0, 30);
    place(&run, "1", "aten::stack", OPERATOR, 10, 10);
    place(&run, "1", "train.py(7): step", PYTHON, 30, 70);
    place(&run, "1", "aten::mm", OPERATOR, 40, 40);
    analyze(&run);
    is_whole(&run);
    is_int(class_us(&run, "data_loading"), 30, "the loader and what it calls");
    is_int(class_us(&run, "cpu_bound"), 70, "operators and Python");
    is_int(operator_us(&run, "train.py(7): step"), 30, "a frame where no operator is open");
    ok(!at(&run, "critical_path.approximate")->as.integer, "nothing to wait for");
    end(&run);
}

static void work_without_launch_is_followed_along_its_stream(void)
{
    struct run run;
    begin(&run);
    work_on(&run, "7", "a", KERNEL, 10, 20, 0);
    work_on(&run, "7", "b", KERNEL, 31, 20, 0);
    work_on(&run, "7", "zeros", MEMSET, 5000, 2, 0);
    place(&run, "1", "early", OPERATOR, 0, 4);
    analyze(&run);
    is_whole(&run);
    is_int(class_us(&run, "gpu_compute_bound"), 40, "both kernels");
    is_int(class_us(&run, "gpu_memset_bound"), 2, "the memset");
    is_int(class_us(&run, "kernel_kernel_overhead"), 1, "a short gap is overhead");
    is_int(class_us(&run, "untraced"), 5000 - 51 + 6, "a long one is not explained, nor is what precedes the first");
    is_int(class_us(&run, "cpu_bound"), 4, "the host before, as launches were not recorded");
    end(&run);
}

static void work_from_before_the_recording_has_no_cause(void)
{
    struct run run;
    begin(&run);
    place(&run, "1", "op", OPERATOR, 0, 20);
    work_on(&run, "7", "earlier", KERNEL, 30, 40, 77);
    call(&run, "1", "cudaLaunchKernel", 10, 2, 1);
    work_on(&run, "7", "kernel", KERNEL, 70, 30, 1);
    analyze(&run);
    is_whole(&run);
    is_int(class_us(&run, "gpu_compute_bound"), 70, "both are on the path");
    is_int(class_us(&run, "untraced"), 30, "what the first one waited for is not known");
    end(&run);
}

static void a_long_wait_after_the_launch_is_no_overhead(void)
{
    struct run run;
    begin(&run);
    call(&run, "1", "cudaLaunchKernel", 0, 3000, 1);
    work_on(&run, "7", "loaded first", KERNEL, 3010, 5, 1);
    call(&run, "1", "cudaLaunchKernel", 3020, 5, 2);
    work_on(&run, "7", "queued behind what is not seen", KERNEL, 90000, 5, 2);
    analyze(&run);
    is_whole(&run);
    is_int(class_us(&run, "untraced"), 20 + 90000 - 3020, "something that was not recorded held the kernel up");
    end(&run);
    begin(&run);
    call(&run, "1", "cudaLaunchKernel", 0, 3000, 1);
    work_on(&run, "7", "loaded first", KERNEL, 3010, 5, 1);
    analyze(&run);
    is_int(class_us(&run, "launch_overhead"), 3010, "a launch that takes long itself is");
    end(&run);
}

static void a_gap_at_either_end_is_untraced(void)
{
    struct run run;
    begin(&run);
    place(&run, "5", "before", SYNC, 0, 1);
    place(&run, "1", "op", OPERATOR, 50, 50);
    place(&run, "5", "after", SYNC, 119, 1);
    analyze(&run);
    is_whole(&run);
    is_int(class_us(&run, "untraced"), 70, "50 before and 20 after");
    end(&run);
}

static void a_polling_thread_is_not_followed(void)
{
    struct run run;
    begin(&run);
    place(&run, "1", "op", OPERATOR, 0, 50);
    place(&run, "1", "op", OPERATOR, 90, 10);
    call(&run, "9", "cudaEventQuery", 60, 25, 4);
    analyze(&run);
    is_whole(&run);
    is_int(edges(&run, "critical_path.edges.thread"), 0, "a watchdog hands nothing over");
    end(&run);
}

/* Of so many names each kind is summed by itself: nothing is told otherwise. */
static void many_names_are_summed_as_few_are(void)
{
    enum { NAMES = 66000 };
    struct run run;
    char name[16];
    begin(&run);
    for (int i = 0; i < NAMES; i++) {
        (void)snprintf(name, sizeof(name), "name %d", i);
        place(&run, "1", name, OPERATOR, i, 1);
    }
    place(&run, "1", "op", OPERATOR, NAMES, 40);
    for (ap_link_key i = 1; i <= 3; i++) {
        call(&run, "1", "cudaLaunchKernel", NAMES + i * 10, 2, i);
        work_on(&run, "7", "kernel", KERNEL, NAMES + 16 + (i - 1) * 102, 100, i);
    }
    call(&run, "1", "cudaDeviceSynchronize", NAMES + 40, 290, 9);
    analyze(&run);
    is_whole(&run);
    const struct ap_value *kernel = find(&run, "critical_path.operators", "name", "kernel");
    is_int(us_of(ap_value_member(kernel, "total_dur_us")), 300, "kernels");
    is_int(ap_value_integer(ap_value_member(kernel, "segments"), -1), 3, "each of them");
    is_int(us_of(ap_value_member(kernel, "dur_us")), 100, "with the longest");
    is_int(operator_us(&run, "op"), 10, "an operator, up to the first launch");
    end(&run);
}

static void no_rows_no_path(void)
{
    struct run run;
    begin(&run);
    analyze(&run);
    is_int(at(&run, "critical_path")->type, AP_VALUE_NULL, "null for an empty trace");
    end(&run);
    begin(&run);
    place(&run, "1", "instant", OPERATOR, 5, 0);
    analyze(&run);
    is_int(at(&run, "critical_path")->type, AP_VALUE_NULL, "null for a window without length");
    end(&run);
    begin(&run);
    place(&run, "1", "a span of another kind", AP_KIND_unknown | AP_ROW_X, 5, 10);
    analyze(&run);
    is_int(at(&run, "critical_path")->type, AP_VALUE_NULL, "null where no row is of the host or a GPU");
    end(&run);
}

static void steady_steps_are_told_apart(void)
{
    static const char *const names[] = { "ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3" };
    struct run run;
    begin(&run);
    for (size_t i = 0; i < AP_COUNT_OF(names); i++) {
        int64_t start_us = i ? 900 + 100 * (int64_t)i : 0;
        place(&run, "1", names[i], ANNOTATION, start_us, i ? 100 : 1000);
        place(&run, "1", "op", OPERATOR, start_us, i ? 60 : 1000);
    }
    place(&run, "1", "op", OPERATOR, 1300, 100);
    analyze(&run);
    is_whole(&run);
    is_int(us_of(at(&run, "critical_path.steady.length_us")), 300,
           "the cold first step and what follows the last are left out");
    double ratio = -1;
    ok(ap_value_number(at(&run, "critical_path.steady.cpu_bound_ratio"), &ratio) && ratio > 0.599 && ratio < 0.601,
       "shares are of the steady steps alone");
    end(&run);
}

/* ---------------------------------------------------------------------------------------------------- invariants */

static void add_random_row(struct run *run, struct random *random, ap_link_key number)
{
    static const char *const names[] = {
        "cudaDeviceSynchronize", "cudaStreamSynchronize", "aten::mm",      "autograd::engine::evaluate_function: X",
        "ProfilerStep#1",        "cudaEventQuery",        "ncclDevKernel", "cudaMemcpyAsync"
    };
    static const unsigned tags[] = { OPERATOR, OPERATOR, ANNOTATION, PYTHON, RUNTIME, RUNTIME,
                                     KERNEL,   KERNEL,   MEMCPY,     MEMSET, SYNC };
    static const char *const tids[] = { "1", "2", "3" };
    unsigned tag = tags[random_below(random, AP_COUNT_OF(tags))];
    const char *name = names[random_below(random, AP_COUNT_OF(names))];
    const char *tid = tids[random_below(random, AP_COUNT_OF(tids))];
    int64_t start_us = (int64_t)random_below(random, 60),
            dur_us = (int64_t)random_below(random, 3) * (int64_t)random_below(random, 12);
    ap_link_key other = 1 + (ap_link_key)random_below(random, number);
    place(run, tid, name, tag, start_us, dur_us);
    enum ap_status status = AP_OK;
    if (ap_row_kind((uint8_t)tag) == AP_KIND_runtime)
        status = ap_trace_add_call_detail(run->trace, (struct ap_call_detail){ .correlation = other }, NULL);
    else if (ap_event_kind_is_gpu_work(ap_row_kind((uint8_t)tag)))
        status = ap_trace_add_work_detail(run->trace, (struct ap_work_detail){ .correlation = other, .as.bytes = -1 }, NULL);
    else if (ap_row_kind((uint8_t)tag) == AP_KIND_gpu_sync)
        status = ap_trace_add_sync_detail(
            run->trace,
            (struct ap_sync_detail){ .correlation = other,
                                     .record_correlation = 1 + (ap_link_key)random_below(random, number),
                                     .stream = 1 + (int64_t)random_below(random, 3),
                                     .wait_on_stream = (int64_t)random_below(random, 4) },
            NULL);
    if (status != AP_OK)
        abort();
}

struct chain {
    uint64_t sum; /* of what it is made of */
    int64_t at_ns;
    bool broken, merges;
    struct ap_path_segment last;
};

static void follow(void *self, const struct ap_path_segment *segment)
{
    struct chain *chain = self;
    chain->broken |= segment->start_ns != chain->at_ns || segment->end_ns <= segment->start_ns;
    chain->merges &= !(chain->last.end_ns == segment->start_ns && chain->last.row == segment->row &&
                       chain->last.track == segment->track && chain->last.path_class == segment->path_class);
    chain->at_ns = segment->end_ns;
    chain->last = *segment;
    chain->sum = chain->sum * 31 + (uint64_t)segment->end_ns;
    chain->sum = (chain->sum * 31 + segment->row) * 31 + segment->track + segment->path_class;
}

static bool is_one_chain(struct run *run, uint64_t *ret_sum)
{
    struct ap_row_order order;
    struct ap_host_tree tree;
    struct ap_links links;
    struct ap_kernel_families families;
    struct ap_path_index index;
    struct ap_critical_path path;
    if (ap_row_order_init(&order, run->trace, &run->gate, NULL) != AP_OK ||
        ap_host_tree_init(&tree, run->trace, &order, &run->gate, NULL) != AP_OK ||
        ap_links_init(&links, run->trace, &order, &tree, &run->gate, NULL) != AP_OK ||
        ap_kernel_families_init(&families, run->trace, &run->gate, NULL) != AP_OK ||
        ap_path_index_init(&index, run->trace, &order, &links, &run->gate, NULL) != AP_OK ||
        ap_critical_path_find(&path, run->trace, &index, &families, &run->gate, NULL) != AP_OK)
        abort();
    struct chain chain = { .at_ns = path.start_ns, .merges = true, .last.end_ns = INT64_MIN };
    if (ap_critical_path_visit(&path, &index, &order, follow, &chain, NULL) != AP_OK)
        abort();
    *ret_sum = chain.sum;
    bool whole = !chain.broken && chain.merges && (chain.at_ns == path.end_ns || !path.pieces.count);
    ap_critical_path_release(&path);
    ap_path_index_release(&index);
    ap_kernel_families_release(&families);
    ap_links_release(&links);
    ap_host_tree_release(&tree);
    ap_row_order_release(&order);
    return whole;
}

/* So many that rows are looked for without a place for each thread. */
static void add_many_threads(struct run *run)
{
    char tid[12];
    for (int i = 0; i < 4500; i++) {
        uint32_t track;
        snprintf(tid, sizeof(tid), "%d", 1000 + i);
        if (ap_trace_track(run->trace, AP_TEXT("1"), false, ap_text_of(tid), false, &track, NULL) != AP_OK)
            abort();
    }
}

static void any_trace_has_one_chain(void)
{
    struct random random = { 20240229 };
    int broken = 0, other = 0;
    for (int i = 0; i < 20000; i++) {
        struct run run;
        begin(&run);
        unsigned count = 1 + (unsigned)random_below(&random, 40);
        for (unsigned j = 0; j < count; j++)
            add_random_row(&run, &random, count);
        if (random_below(&random, 2))
            has_syncs(&run);
        uint64_t sum, among_many;
        broken += !is_one_chain(&run, &sum);
        if (i % 200 == 0) {
            add_many_threads(&run);
            broken += !is_one_chain(&run, &among_many);
            other += among_many != sum;
        }
        ap_trace_free(run.trace);
        ap_model_release(&run.model);
        broken += run.gate.used_bytes != 0;
    }
    is_int(broken, 0, "segments follow one another from one end of the window to the other");
    is_int(other, 0, "and are the same where there are thousands of threads more");
}

/* From the end back, as the walk adds them; numbers of every size, and each kind of neighbor. */
static void packed_pieces_come_out_as_they_went_in(void)
{
    static const struct ap_path_piece pieces[] = {
        { INT64_MAX - 5, INT64_MAX, AP_NO_ROW, 0, false },
        { INT64_MAX - 6, INT64_MAX - 5, 0, 3, true },
        { 1000, INT64_MAX - 6, 7, 4, false },
        { 999, 1000, 6, 4, false },
        { 998, 999, 6, 5, false },
        { 998 - 128, 998, 1, 3, true },
        { 700, 998 - 128, 70, 4, false },
        { -5, 700, UINT32_MAX - 1, 4, false },
        { INT64_MIN, -5, 0, 3, true },
    };
    struct ap_gate gate;
    ap_gate_init(&gate, 0);
    struct ap_path_pieces packed = { .gate = &gate };
    size_t count = AP_COUNT_OF(pieces), same = 0;
    for (size_t i = 0; i < count; i++) {
        struct ap_path_piece late = pieces[i], early = pieces[i];
        late.start_ns = early.end_ns = early.end_ns - 1; /* in two: one piece */
        if (ap_path_pieces_add(&packed, &late, NULL) != AP_OK || ap_path_pieces_add(&packed, &early, NULL) != AP_OK)
            abort();
    }
    struct ap_path_reader reader = ap_path_pieces_read(&packed);
    for (struct ap_path_piece piece; ap_path_reader_next(&reader, &piece);) {
        const struct ap_path_piece *expected = &pieces[--count];
        same += piece.start_ns == expected->start_ns && piece.end_ns == expected->end_ns && piece.at == expected->at &&
                piece.path_class == expected->path_class && piece.host == expected->host;
    }
    is_u64(same, AP_COUNT_OF(pieces), "in order of time");
    is_u64(count, 0, "and all of them");
    ap_path_pieces_release(&packed);
    is_u64(gate.used_bytes, 0, "nothing is kept");
}

static void streams_with_a_sync(struct run *run)
{
    add_two_streams(run);
    place(run, "2", "autograd::engine::evaluate_function: A", OPERATOR, 50, 10);
    sync_row(run, "Stream Sync", 40, (struct ap_sync_detail){ .correlation = 5, .stream = 7, .wait_on_stream = -1 });
}

static void failing_allocations_end_cleanly(void)
{
    refuse_each_request(streams_with_a_sync, 0);
}

int main(void)
{
    short_kernels_wait_for_their_launches();
    a_full_queue_is_bound_by_its_kernels();
    a_stream_waits_for_another_ones_event();
    without_wait_rows_times_tell();
    a_blocking_copy_waits_for_the_stream();
    backward_runs_on_its_own_thread();
    a_trace_without_gpu_is_host_time();
    work_without_launch_is_followed_along_its_stream();
    work_from_before_the_recording_has_no_cause();
    a_long_wait_after_the_launch_is_no_overhead();
    a_gap_at_either_end_is_untraced();
    a_polling_thread_is_not_followed();
    many_names_are_summed_as_few_are();
    no_rows_no_path();
    steady_steps_are_told_apart();
    any_trace_has_one_chain();
    packed_pieces_come_out_as_they_went_in();
    failing_allocations_end_cleanly();
    return done();
}
