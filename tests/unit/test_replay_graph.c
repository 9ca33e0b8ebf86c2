/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "replay_run.h"
#include "typed_trace.h"

static void work(struct run *run, const char *name, int64_t start_us, int64_t dur_us, ap_link_key correlation)
{
    work_on(run, "7", name, KERNEL, start_us, dur_us, correlation);
}

/* With the facts that the graph is made of. */
struct made {
    struct run run;
    struct ap_facts facts;
    struct ap_replay_graph graph;
    struct ap_replay_times recorded, replayed;
};

static void make(struct made *made)
{
    struct ap_part_options options = { .path = "typed by hand" };
    struct ap_facts *facts = &made->facts;
    if (ap_facts_init(facts, made->run.trace, false, NULL) != AP_OK ||
        ap_analyze_trace(facts, &options, false, &made->run.notes, &made->run.model, NULL) != AP_OK ||
        ap_replay_graph_init(&made->graph, facts->trace, &facts->order, &facts->path_index, &facts->calls, &facts->steps,
                             facts->main_track, facts->gate, NULL) != AP_OK ||
        ap_replay_recorded(&made->graph, &made->recorded, NULL) != AP_OK ||
        ap_replay_run(&made->graph, NULL, &made->replayed, NULL) != AP_OK)
        abort();
}

static void finish(struct made *made)
{
    ap_replay_times_release(&made->recorded);
    ap_replay_times_release(&made->replayed);
    ap_replay_graph_release(&made->graph);
    ap_facts_release(&made->facts);
    end(&made->run);
}

static size_t tasks_off(const struct made *made)
{
    size_t off = 0;
    for (size_t i = 0; i < made->graph.count; i++)
        off += made->replayed.start_ns[i] != made->graph.tasks[i].start_ns;
    return off;
}

static void edges_have_a_type_and_lead_on(void)
{
    struct made made = { .graph = { .count = 0 } };
    begin(&made.run);
    (void)row(&made.run, "1", "aten::mm", OPERATOR, 0, 20);
    call(&made.run, "1", "cudaLaunchKernel", 5, 10, 1);
    work(&made.run, "gemm", 20, 100, 1);
    (void)row(&made.run, "1", "aten::add", OPERATOR, 30, 20);
    call(&made.run, "1", "cudaLaunchKernel", 35, 10, 2);
    work(&made.run, "add", 121, 10, 2);
    call(&made.run, "1", "cudaDeviceSynchronize", 60, 75, 3);
    make(&made);
    const struct ap_replay_graph *graph = &made.graph;
    ok(sizeof(struct ap_replay_edge) <= 12, "an edge takes 12 bytes at most");
    ok(sizeof(struct ap_task) <= 24, "a piece 24");
    is_u64(graph->edges_by_type[AP_REPLAY_EDGE_launch], 2, "a launch for each kernel");
    is_u64(graph->edges_by_type[AP_REPLAY_EDGE_stream], 1, "one kernel behind the other");
    is_u64(graph->edges_by_type[AP_REPLAY_EDGE_synchronization], 1, "the host waits once");
    is_u64(graph->backward_edge_count, 0, "no edge is left out");
    uint64_t sum = 0;
    for (int i = 0; i < AP_REPLAY_EDGE_COUNT_; i++)
        sum += graph->edges_by_type[i];
    is_u64(sum, graph->edge_count, "all edges are counted by type");
    size_t back = 0;
    for (size_t i = 0; i < graph->edge_count; i++)
        back += graph->edges[i].from >= graph->edges[i].to;
    is_u64(back, 0, "none leads back");
    is_u64(tasks_off(&made), 0, "each piece begins in the replay as it was recorded");
    finish(&made);
}

/* The thread that calls backward does nothing until the engine is done. */
static void the_autograd_engine_takes_turns(void)
{
    struct made made = { .graph = { .count = 0 } };
    begin(&made.run);
    for (int64_t i = 0; i < 3; i++) {
        (void)row(&made.run, "1", "aten::mm", OPERATOR, i * 100, 40);
        (void)row(&made.run, "2", "autograd::engine::evaluate_function: MmBackward0", OPERATOR, i * 100 + 45, 30);
        (void)row(&made.run, "1", "aten::add", OPERATOR, i * 100 + 80, 15);
    }
    make(&made);
    is_u64(made.graph.edges_by_type[AP_REPLAY_EDGE_handover], 7, "it is let go, and goes back, three times");
    is_u64(tasks_off(&made), 0, "each piece begins in the replay as it was recorded");
    struct ap_replay_edit edit;
    struct ap_replay_times times;
    if (ap_replay_edit_init(&edit, &made.graph, NULL) != AP_OK)
        abort();
    for (size_t i = 0; i < made.graph.count; i++)
        if (made.graph.tasks[i].track != made.facts.main_track)
            edit.work_ns[i] = 0;
    is_int(ap_replay_run(&made.graph, &edit, &times, NULL), AP_OK, "a replay runs");
    is_int(made.recorded.window_ns - times.window_ns, 90000, "without its work the driving thread waits no more");
    ap_replay_times_release(&times);
    ap_replay_edit_release(&edit);
    finish(&made);
}

/* A window may begin within backward: then its thread, here that of the first task, is active before the driving one. */
static void a_turn_may_come_before_all_else(void)
{
    struct made made = { .graph = { .count = 0 } };
    begin(&made.run);
    (void)row(&made.run, "1", "autograd::engine::evaluate_function: MmBackward0", OPERATOR, 0, 30);
    (void)row(&made.run, "2", "aten::add", OPERATOR, 40, 50);
    (void)row(&made.run, "2", "aten::mm", OPERATOR, 100, 40);
    make(&made);
    is_u64(tasks_off(&made), 0, "each piece begins in the replay as it was recorded");
    finish(&made);
    begin(&made.run);
    (void)row(&made.run, "1", "aten::add", OPERATOR, 40, 50);
    (void)row(&made.run, "2", "autograd::engine::evaluate_function: MmBackward0", OPERATOR, 0, 30);
    make(&made);
    is_u64(tasks_off(&made), 0, "and where the driving thread has the first task");
    finish(&made);
}

/* 200 launches of 5 us each, of kernels of 20 us; from the 101st on each waits until the 100th before it has begun. */
#define PLACES 100
#define LAUNCHES 200
static void a_full_queue_is_a_wait(void)
{
    struct made made = { .graph = { .count = 0 } };
    int64_t now_us = 0, start_us[LAUNCHES];
    begin(&made.run);
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        int64_t free_us = i < PLACES ? now_us : start_us[i - PLACES], end_us = (free_us > now_us ? free_us : now_us) + 5;
        start_us[i] = 10 + 20 * i;
        call(&made.run, "1", "cudaLaunchKernel", now_us, end_us - now_us, (ap_link_key)i + 1);
        work(&made.run, "gemm", start_us[i], 20, (ap_link_key)i + 1);
        now_us = end_us;
    }
    make(&made);
    is_u64(made.graph.edges_by_type[AP_REPLAY_EDGE_queue], 66, "calls that wait for a place hang on what the device begins");
    is_u64(tasks_off(&made), 0, "each piece begins in the replay as it was recorded");
    struct ap_replay_edit edit;
    struct ap_replay_times times;
    if (ap_replay_edit_init(&edit, &made.graph, NULL) != AP_OK)
        abort();
    for (size_t i = 0; i < made.graph.count; i++)
        if (made.graph.tasks[i].is_device)
            edit.work_ns[i] /= 4;
    is_int(ap_replay_run(&made.graph, &edit, &times, NULL), AP_OK, "a replay runs");
    ok(times.window_ns < made.recorded.window_ns * 3 / 10, "with faster kernels they wait no longer");
    ap_replay_times_release(&times);
    ap_replay_edit_release(&edit);
    finish(&made);
}

/* A kernel that begins 5 ms after all that it could wait for. */
static void what_no_edge_explains_is_told(void)
{
    struct made made = { .graph = { .count = 0 } };
    begin(&made.run);
    call(&made.run, "1", "cudaLaunchKernel", 0, 5, 1);
    work(&made.run, "gemm", 10, 20, 1);
    call(&made.run, "1", "cudaLaunchKernel", 10, 10, 2);
    work(&made.run, "gemm", 5020, 100, 2);
    make(&made);
    is_int(made.graph.unexplained_ns, 4989000, "that time is unexplained");
    ok(made.replayed.window_ns < made.recorded.window_ns / 10, "and no part of the replay, which is not the recording then");
    finish(&made);
}

/* The same, but the stream has no other work before it: what was launched before the recording is not in it. */
static void the_first_work_waits_for_what_was_before(void)
{
    struct made made = { .graph = { .count = 0 } };
    begin(&made.run);
    call(&made.run, "1", "cudaLaunchKernel", 0, 10, 1);
    work(&made.run, "gemm", 5010, 100, 1);
    make(&made);
    is_int(made.graph.unexplained_ns, 0, "that is no wait that has to be explained");
    is_u64(tasks_off(&made), 0, "each piece begins in the replay as it was recorded");
    finish(&made);
}

/* A kernel of 6 ms fills the device; one of another stream begins when its last blocks run. */
static void a_full_device_is_a_wait(void)
{
    struct made made = { .graph = { .count = 0 } };
    begin(&made.run);
    call(&made.run, "1", "cudaLaunchKernel", 0, 5, 1);
    work_on(&made.run, "7", "embedding", KERNEL, 10, 6000, 1);
    call(&made.run, "1", "cudaLaunchKernel", 10, 5, 2);
    work_on(&made.run, "20", "small", KERNEL, 20, 5, 2);
    call(&made.run, "1", "cudaLaunchKernel", 100, 5, 3);
    work_on(&made.run, "20", "small", KERNEL, 5950, 5, 3);
    make(&made);
    is_u64(made.graph.edges_by_type[AP_REPLAY_EDGE_occupied], 1, "it waits for room");
    is_int(made.graph.unexplained_ns, 0, "that explains when it begins");
    is_u64(tasks_off(&made), 0, "each piece begins in the replay as it was recorded");
    finish(&made);
}

/* Rounds of a kernel on one stream, then one on another that comes late for another reason: its call does. Of the last round
 * it begins @ahead_us before the other one ends. */
static uint64_t waits_told(int64_t rounds, int64_t ahead_us)
{
    struct made made = { .graph = { .count = 0 } };
    begin(&made.run);
    for (int64_t i = 0; i < rounds; i++) {
        int64_t at_us = i * 400, late_us = i + 1 < rounds ? 200 : 110 - ahead_us;
        ap_link_key number = (ap_link_key)(i * 3);
        call(&made.run, "1", "cudaLaunchKernel", at_us, 5, number + 1);
        work_on(&made.run, "7", "gemm", KERNEL, at_us + 10, 100, number + 1);
        call(&made.run, "1", "cudaStreamWaitEvent", at_us + 10, 2, number + 2);
        call(&made.run, "1", "cudaLaunchKernel", at_us + late_us - 10, 5, number + 3);
        work_on(&made.run, "20", "ncclDevKernel_AllReduce", KERNEL, at_us + late_us, 50, number + 3);
    }
    make(&made);
    uint64_t told = made.graph.edges_by_type[AP_REPLAY_EDGE_inferred_wait];
    is_u64(tasks_off(&made), 0, "each piece begins in the replay as it was recorded");
    finish(&made);
    return told;
}

static void calls_tell_which_streams_wait(void)
{
    is_u64(waits_told(4, 0), 4, "a call makes the next launch wait for the other stream");
    is_u64(waits_told(3, 0), 0, "three may come by chance");
    is_u64(waits_told(6, 1), 0, "nor is it so where one began before the other ended");
}

/* A watchdog asks to the end of the recording, and a thread stands in a frame: neither holds the run up. */
static void who_only_looks_on_is_no_part_of_it(void)
{
    struct made made = { .graph = { .count = 0 } };
    struct ap_replay_edit edit;
    struct ap_replay_times faster;
    begin(&made.run);
    (void)row(&made.run, "1", "aten::mm", OPERATOR, 0, 5);
    call(&made.run, "1", "cudaLaunchKernel", 0, 5, 1);
    work(&made.run, "gemm", 10, 390, 1);
    call(&made.run, "1", "cudaDeviceSynchronize", 5, 400, 2);
    for (int64_t at_us = 50; at_us < 1000; at_us += 50) {
        call(&made.run, "2", "cudaEventQuery", at_us, 2, (ap_link_key)at_us);
        call(&made.run, "2", "cudaPointerGetAttributes", at_us + 5, 2, (ap_link_key)at_us + 1);
    }
    (void)row(&made.run, "3", "threading.py(359): wait", PYTHON, 0, 1000);
    make(&made);
    is_int(made.recorded.window_ns, 405000, "the window ends with the thread that waits for the device");
    is_int(made.replayed.window_ns, 405000, "in the replay too");
    if (ap_replay_edit_init(&edit, &made.graph, NULL) != AP_OK)
        abort();
    for (size_t i = 0; i < made.graph.count; i++)
        edit.work_ns[i] /= made.graph.tasks[i].is_device ? 2 : 1;
    if (ap_replay_run(&made.graph, &edit, &faster, NULL) != AP_OK)
        abort();
    is_int(faster.window_ns, 210000, "and sooner with a faster kernel");
    ap_replay_times_release(&faster);
    ap_replay_edit_release(&edit);
    finish(&made);
}

/* It comes back when the last piece is handed over, 5 us before the copy ends; the host waited for it all the same. */
static void a_call_that_copies_from_pageable_memory_waits(void)
{
    struct made made = { .graph = { .count = 0 } };
    struct ap_replay_edit edit;
    struct ap_replay_times faster;
    begin(&made.run);
    call(&made.run, "1", "cudaMemcpyAsync", 0, 105, 1);
    work_on(&made.run, "7", "Memcpy HtoD (Pageable -> Device)", MEMCPY, 10, 100, 1);
    call(&made.run, "1", "cudaLaunchKernel", 120, 5, 2);
    work(&made.run, "gemm", 130, 20, 2);
    make(&made);
    is_u64(made.graph.edges_by_type[AP_REPLAY_EDGE_synchronization], 1, "the host waits for the copy");
    is_u64(tasks_off(&made), 0, "each piece begins in the replay as it was recorded");
    if (ap_replay_edit_init(&edit, &made.graph, NULL) != AP_OK)
        abort();
    for (size_t i = 0; i < made.graph.count; i++)
        edit.work_ns[i] /=
            made.graph.tasks[i].is_device && ap_task_end_ns(&made.graph, &made.graph.tasks[i]) <= 110000 ? 5 : 1;
    if (ap_replay_run(&made.graph, &edit, &faster, NULL) != AP_OK)
        abort();
    is_int(made.recorded.window_ns - faster.window_ns, 80000, "with a faster copy it goes on sooner");
    ap_replay_times_release(&faster);
    ap_replay_edit_release(&edit);
    finish(&made);
}

/* A kernel of 6 s that begins 3 s after its launch: neither fits in 32 bits. */
static void long_work_is_as_exact(void)
{
    struct made made = { .graph = { .count = 0 } };
    struct ap_replay_edit edit;
    struct ap_replay_times faster;
    size_t kernels = 0;
    begin(&made.run);
    call(&made.run, "1", "cudaLaunchKernel", 0, 5, 1);
    work(&made.run, "gemm", 3000000, 6000000, 1);
    call(&made.run, "1", "cudaDeviceSynchronize", 10, 8999995, 2);
    call(&made.run, "1", "cudaLaunchKernel", 9000010, 5, 3);
    work(&made.run, "add", 9000020, 10, 3);
    make(&made);
    const struct ap_replay_graph *graph = &made.graph;
    is_u64(graph->far_lag_count, 1, "one wait is longer than 32 bits hold");
    is_u64(tasks_off(&made), 0, "each piece begins in the replay as it was recorded");
    is_int(made.replayed.window_ns, 9000030000, "and the last one ends so");
    if (ap_replay_edit_init(&edit, graph, NULL) != AP_OK)
        abort();
    for (size_t i = 0; i < graph->count; i++) {
        const struct ap_task *task = &graph->tasks[i];
        if (!task->is_device || ap_task_end_ns(graph, task) != 9000000000)
            continue;
        kernels++;
        is_int(edit.work_ns[i], 6000000000, "it takes 6 s");
        is_int(graph->tasks[ap_task_launch(graph, task)].start_ns, 0, "and has its launch");
        edit.work_ns[i] /= 2;
    }
    is_u64(kernels, 1, "the long kernel is there");
    if (ap_replay_run(graph, &edit, &faster, NULL) != AP_OK)
        abort();
    is_int(made.recorded.window_ns - faster.window_ns, 3000000000, "all is sooner by the half of it");
    ap_replay_times_release(&faster);
    ap_replay_edit_release(&edit);
    finish(&made);
}

static void the_first_step_is_not_what_was_queued_before(void)
{
    struct made made = { .graph = { .count = 0 } };
    begin(&made.run);
    work(&made.run, "of the step before", 0, 100, 0);
    (void)row(&made.run, "1", "ProfilerStep#7", ANNOTATION, 10, 50);
    call(&made.run, "1", "cudaLaunchKernel", 20, 5, 1);
    work(&made.run, "gemm", 101, 40, 1);
    make(&made);
    is_u64(made.replayed.step_count, 1, "there is a step");
    is_int(ap_replay_step_ns(&made.recorded, 0, false), 41000, "which takes what it adds to the work of before");
    finish(&made);
    begin(&made.run);
    work(&made.run, "of the step before", 0, 30, 0);
    (void)row(&made.run, "1", "ProfilerStep#7", ANNOTATION, 10, 50);
    call(&made.run, "1", "cudaLaunchKernel", 20, 5, 1);
    work(&made.run, "likewise, though it begins in this one", 31, 69, 0);
    work(&made.run, "gemm", 101, 40, 1);
    work(&made.run, "without a launch", 142, 8, 0);
    make(&made);
    is_int(ap_replay_step_ns(&made.recorded, 0, false), 50000,
           "of work without a launch, what stands before any that has one");
    finish(&made);
}

static void little_is_no_graph(void)
{
    struct made made = { .graph = { .count = 0 } };
    begin(&made.run);
    (void)row(&made.run, "1", "aten::mm", OPERATOR, 0, 0);
    make(&made);
    is_u64(made.graph.edge_count, 1, "an empty row is a piece without work");
    is_int(made.replayed.window_ns, 0, "and takes no time");
    finish(&made);
}

int main(void)
{
    edges_have_a_type_and_lead_on();
    the_autograd_engine_takes_turns();
    a_turn_may_come_before_all_else();
    a_full_queue_is_a_wait();
    what_no_edge_explains_is_told();
    the_first_work_waits_for_what_was_before();
    a_full_device_is_a_wait();
    calls_tell_which_streams_wait();
    who_only_looks_on_is_no_part_of_it();
    a_call_that_copies_from_pageable_memory_waits();
    long_work_is_as_exact();
    the_first_step_is_not_what_was_queued_before();
    little_is_no_graph();
    return done();
}
