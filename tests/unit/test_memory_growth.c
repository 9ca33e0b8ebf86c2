/* SPDX-License-Identifier: MIT
 * Leaks, churn and the simulated allocator: histories with a known answer, made by a model of the allocator. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator_model.h"
#include "allocator_sim.h"
#include "growth.h"
#include "tap.h"

#define MiB ((int64_t)1 << 20)
#define KiB ((int64_t)1 << 10)

struct bench {
    struct ap_gate gate;
    struct ap_error error;
    struct allocator_model *model;
    struct ap_snapshot *snapshot;
    struct ap_replay *replay;
    uint32_t steps[256]; /* entries at which steps began */
    uint32_t step_count;
    uint32_t warm_up; /* entries before it have other callers than those behind it; 0 = there are no stacks */
    uint32_t
        profiled_from; /* steps before it have no mark of a profiler; where there are any, all have an optimizer's step */
    bool overflowed;
    enum ap_status status;
};

static void keep(struct bench *bench, enum ap_status status)
{
    if (bench->status == AP_OK)
        bench->status = status;
}

static void begin(struct bench *bench)
{
    memset(bench, 0, sizeof(*bench));
    ap_gate_init(&bench->gate, 0);
    bench->model = calloc(1, sizeof(*bench->model));
    bench->model->next_address = (uint64_t)64 << 20;
    model_record(bench->model);
}

static uint64_t take_on(struct bench *bench, int64_t bytes, uint64_t stream)
{
    (void)model_alloc(bench->model, bytes, stream, 0);
    return bench->model->entries[bench->model->entry_count - 1].address;
}

static uint64_t take(struct bench *bench, int64_t bytes)
{
    return take_on(bench, bytes, 0);
}

static void drop(struct bench *bench, uint64_t address)
{
    for (int i = 0; i < bench->model->segment_count; i++)
        for (int j = 0; j < bench->model->segments[i].count; j++)
            if (bench->model->segments[i].blocks[j].address == address) {
                model_request_free(bench->model, &bench->model->segments[i], j);
                model_complete(bench->model, &bench->model->segments[i], j);
                return;
            }
}

/* Activations of a step: come and go. */
static void work(struct bench *bench)
{
    uint64_t a = take(bench, 6 * MiB), b = take(bench, 3 * MiB + 7), c = take(bench, 40 * KiB);
    drop(bench, b);
    drop(bench, a);
    drop(bench, c);
}

static void mark(struct bench *bench)
{
    bench->steps[bench->step_count++] = bench->model->entry_count;
}

/* Each size is allocated by a line of its own, in train_step(), which two places call. */
static void call_from_two_places(struct bench *bench)
{
    struct ap_actions *actions = &bench->snapshot->actions;
    for (uint32_t i = 0; i < bench->model->entry_count && bench->status == AP_OK; i++) {
        char json[256];
        int bytes = snprintf(json, sizeof(json),
                             "[{\"name\":\"conv2d\",\"filename\":\"/usr/lib/python3/site-packages/torch/nn/functional.py\","
                             "\"line\":7},{\"name\":\"train_step\",\"filename\":\"t.py\",\"line\":%d},"
                             "{\"name\":\"%s\",\"filename\":\"t.py\",\"line\":3}]",
                             (int)(actions->size_bytes[i] % 10007), i < bench->warm_up ? "warm_up" : "train");
        if (actions->name[i].id == AP_ACTION_ALLOC)
            keep(bench, ap_stacks_take(&bench->snapshot->stacks, &bench->snapshot->strings,
                                       (struct ap_text){ json, (size_t)bytes }, &actions->stack[i], &bench->error));
    }
}

static void annotate(struct bench *bench, uint32_t entry, const char *name)
{
    struct ap_annotation made = { .time_ns = (int64_t)entry * 1000, .device = 0, .has_time = true };
    keep(bench, ap_strpool_intern(&bench->snapshot->strings, name, strlen(name), &made.name, &bench->error));
    keep(bench, ap_strpool_intern(&bench->snapshot->strings, "START", 5, &made.stage, &bench->error));
    keep(bench, ap_snapshot_add_annotation(bench->snapshot, &made, &bench->error));
}

/* @annotated: with ranges at the steps' beginnings. */
static void play(struct bench *bench, bool annotated)
{
    keep(bench, ap_snapshot_new(&bench->gate, &bench->snapshot, &bench->error));
    if (bench->status == AP_OK)
        keep(bench, model_snapshot(bench->model, bench->snapshot, &bench->error));
    if (bench->warm_up && bench->status == AP_OK)
        call_from_two_places(bench);
    for (uint32_t i = 0; i < bench->step_count && annotated && bench->status == AP_OK; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "ProfilerStep#%u", (unsigned)i);
        if (i >= bench->profiled_from)
            annotate(bench, bench->steps[i], name);
        if (bench->profiled_from)
            annotate(bench, bench->steps[i] + 1, "Optimizer.step#SGD.step");
    }
    if (bench->status == AP_OK)
        keep(bench, ap_replay_new(bench->snapshot, &bench->gate, &bench->overflowed, &bench->replay, &bench->error));
}

static struct ap_growth grow(struct bench *bench)
{
    struct ap_growth growth = { .gate = &bench->gate };
    growth.periods.gate = &bench->gate;
    if (bench->status == AP_OK)
        keep(bench, ap_growth_find(bench->replay, 0, &growth, &bench->error));
    return growth;
}

static struct ap_sim_result simulate(struct bench *bench, struct ap_sim_rules rules)
{
    struct ap_sim_result result = { .finished = false };
    if (bench->status == AP_OK)
        keep(bench, ap_sim_run(bench->replay, 0, &rules, &result, &bench->error));
    return result;
}

static struct ap_churn churned(struct bench *bench)
{
    struct ap_churn churn = { .peak_pending_bytes = 0 };
    struct ap_periods periods = { .gate = &bench->gate };
    if (bench->status == AP_OK)
        keep(bench, ap_periods_find(bench->replay, 0, &periods, &bench->error));
    if (bench->status == AP_OK)
        keep(bench, ap_churn_measure(bench->replay, 0, &periods, &churn, &bench->error));
    ap_periods_release(&periods);
    return churn;
}

static void end(struct bench *bench)
{
    ap_replay_free(bench->replay);
    ap_snapshot_free(bench->snapshot);
    free(bench->model);
    ok(bench->status == AP_OK && atomic_load(&bench->gate.used_bytes) == 0, "all went well and all memory is given back");
}

/* ------------------------------------------------------------------------------------------------------------ leaks */

/* Each step leaks one block of 100,000 bytes and keeps another one until the next step. */
static void leaking_steps(struct bench *bench, int steps)
{
    uint64_t kept = take(bench, 50000);
    for (int i = 0; i < steps; i++) {
        mark(bench);
        work(bench);
        (void)take(bench, 100000);
        drop(bench, kept);
        kept = take(bench, 50000);
    }
    mark(bench);
}

static void a_leak_is_found(bool annotated)
{
    struct bench bench;
    begin(&bench);
    leaking_steps(&bench, 20);
    play(&bench, annotated);
    struct ap_growth growth = grow(&bench);
    is_int(growth.periods.source, annotated ? AP_PERIODS_ANNOTATIONS : AP_PERIODS_REPETITION, "how periods were found");
    is_int(growth.verdict, AP_GROWTH_LEAK, "a leak");
    is_int(growth.stack_count, 1, "of one origin");
    if (growth.stack_count) {
        is_int(growth.stacks[0].size_bytes, 100000, "that size");
        is_int((int64_t)growth.stacks[0].bytes_per_period, 100000, "so much each period");
        is_int(growth.stacks[0].last_count - growth.stacks[0].first_count, growth.point_count - 1, "one block each");
        ok(growth.stacks[0].fit_ratio > 0.99, "on a straight line");
    }
    ap_growth_release(&growth);
    end(&bench);
}

/* Results are collected and dropped at the end; weights of their size, which have no stack either, stay. */
static void what_was_there_is_not_held(bool dropped)
{
    struct bench bench;
    uint64_t results[20];
    begin(&bench);
    for (int i = 0; i < 4; i++)
        (void)take(&bench, 100000);
    for (int i = 0; i < 20; i++) {
        mark(&bench);
        work(&bench);
        results[i] = take(&bench, 100000);
    }
    mark(&bench);
    for (int i = 0; i < 20 && dropped; i++)
        drop(&bench, results[i]);
    play(&bench, true);
    struct ap_growth growth = grow(&bench);
    is_int(growth.verdict, AP_GROWTH_LEAK, "it grows");
    if (dropped)
        is_int(growth.held_bytes, 0, "and is dropped at the end");
    else
        is_int(growth.held_bytes, 20 * 100000, "all that was collected, and nothing else");
    ap_growth_release(&growth);
    end(&bench);
}

/* Every second step keeps something, and half of the steps are called from elsewhere: each stack alone rises too seldom. */
static void a_line_with_two_callers_leaks(void)
{
    for (int annotated = 0; annotated < 2; annotated++) {
        struct bench bench;
        begin(&bench);
        for (int i = 0; i < 10; i++) {
            if (i == 5)
                bench.warm_up = bench.model->entry_count;
            mark(&bench);
            work(&bench);
            if (i % 2 == 0)
                (void)take(&bench, 4 * MiB);
        }
        mark(&bench);
        play(&bench, annotated);
        struct ap_growth growth = grow(&bench);
        is_int(growth.periods.source, annotated ? AP_PERIODS_ANNOTATIONS : AP_PERIODS_REPETITION, "how periods were found");
        is_int(growth.verdict, AP_GROWTH_LEAK, "a leak");
        is_int(growth.stack_count, 1, "of one line");
        is_int(growth.held_bytes, 20 * MiB, "all that it holds");
        ap_growth_release(&growth);
        end(&bench);
    }
}

/* The profiler marked six steps of fourteen. */
static void steps_before_the_profiler_count(void)
{
    for (int once = 0; once < 2; once++) {
        struct bench bench;
        begin(&bench);
        for (int i = 0; i < 14; i++) {
            mark(&bench);
            work(&bench);
            if (i % 3 == 0)
                (void)take(&bench, 4 * MiB);
        }
        bench.profiled_from = once ? 0 : 8;
        bench.step_count -= (uint32_t)once * 8;
        play(&bench, true);
        struct ap_growth growth = grow(&bench);
        is_int(ap_period_count(&growth.periods), once ? 5 : 13, once ? "marked steps" : "all steps");
        is_int(growth.verdict, once ? AP_GROWTH_NONE : AP_GROWTH_LEAK, once ? "too few" : "a leak");
        ap_growth_release(&growth);
        end(&bench);
    }
}

/* What is kept of batches that all differ has no size in common; and the first step makes what stays, as an optimizer does.
 */
static void a_leak_of_many_sizes(void)
{
    struct bench bench;
    begin(&bench);
    (void)take(&bench, 4 * MiB);
    for (int i = 0; i < 12; i++) {
        mark(&bench);
        work(&bench);
        (void)take(&bench, 1000000 + 1024 * ((int64_t)i * 37 % 12));
        if (i == 0)
            (void)take(&bench, 40 * MiB);
    }
    mark(&bench);
    play(&bench, false);
    struct ap_growth growth = grow(&bench);
    is_int(growth.verdict, AP_GROWTH_LEAK, "a leak of things that all differ in size");
    is_int(growth.stack_count, 1, "as one origin");
    if (growth.stack_count) {
        is_int(growth.stacks[0].size_bytes, 0, "of any size");
        ok(growth.stacks[0].bytes_per_period > 900000 && growth.stacks[0].bytes_per_period < 1100000, "so much a period");
        ok(growth.leaking_bytes < 20 * MiB, "without what the first step made to stay");
    }
    ap_growth_release(&growth);
    end(&bench);
}

/* Four come in each step. Where the oldest goes it is a queue that fills; where the newest goes, the others leak. */
static void a_queue_that_fills_is_no_leak(void)
{
    for (int newest = 0; newest < 2; newest++) {
        struct bench bench;
        uint64_t queue[24];
        int count = 0, from = 0;
        begin(&bench);
        for (int i = 0; i < 6; i++) {
            mark(&bench);
            for (int j = 0; j < 4; j++)
                queue[count++] = take(&bench, 4 * MiB);
            work(&bench);
            if (i)
                drop(&bench, newest ? queue[count - 5] : queue[from++]);
        }
        mark(&bench);
        bench.warm_up = 1; /* all but the first have one caller */
        play(&bench, true);
        struct ap_growth growth = grow(&bench);
        is_int(growth.verdict == AP_GROWTH_LEAK, newest, newest ? "a leak" : "a queue");
        ap_growth_release(&growth);
        end(&bench);
    }
}

/* A variable that holds the latest for a while, or a list that is emptied once: what was given back is older than all that
 * is kept, as in a queue, but went before the rest was made. */
static void a_leak_that_begins_late(void)
{
    for (int emptied = 0; emptied < 2; emptied++) {
        struct bench bench;
        uint64_t list[20];
        begin(&bench);
        for (int i = 0; i < 20; i++) {
            mark(&bench);
            list[i] = take(&bench, 4 * MiB);
            work(&bench);
            if (!emptied && i && i < 6)
                drop(&bench, list[i - 1]);
            for (int j = 0; emptied && i == 5 && j < 6; j++)
                drop(&bench, list[j]);
        }
        mark(&bench);
        play(&bench, true);
        struct ap_growth growth = grow(&bench);
        is_int(growth.verdict, AP_GROWTH_LEAK, emptied ? "a list goes on growing" : "what is kept from then on leaks");
        ap_growth_release(&growth);
        end(&bench);
    }
}

/* As many things as before, each made anew and larger in every step: what a decoder caches. */
static void a_cache_that_grows_is_no_leak(void)
{
    struct bench bench;
    uint64_t cache[8];
    begin(&bench);
    for (int i = 0; i < 8; i++)
        cache[i] = take(&bench, MiB);
    for (int i = 0; i < 12; i++) {
        mark(&bench);
        work(&bench);
        for (int j = 0; j < 8; j++) {
            uint64_t larger = take(&bench, 2 * MiB + 262144 * (int64_t)i + 512 * j);
            drop(&bench, cache[j]);
            cache[j] = larger;
        }
        if (i == 1)
            (void)take(&bench, 700 * KiB);
    }
    mark(&bench);
    play(&bench, false);
    struct ap_growth growth = grow(&bench);
    ok(growth.verdict != AP_GROWTH_LEAK, "a cache that grows is no leak");
    ap_growth_release(&growth);
    end(&bench);
}

/* The output of each step stays until that of the next takes its place; batches get longer, and at first there is none.
 * @kept: all stay. */
static void outputs_that_get_longer_are_no_leak(void)
{
    for (int kept = 0; kept < 2; kept++) {
        struct bench bench;
        uint64_t output = 0;
        begin(&bench);
        bench.warm_up = 1;
        for (int i = 0; i < 4; i++) {
            mark(&bench);
            work(&bench);
            uint64_t before = output;
            output = take(&bench, (int64_t)(i + 2) * 10007 * 512);
            if (i && !kept)
                drop(&bench, before);
        }
        mark(&bench);
        play(&bench, true);
        struct ap_growth growth = grow(&bench);
        is_int(growth.verdict == AP_GROWTH_LEAK, kept, kept ? "all that stay are a leak" : "the last one alone is none");
        ap_growth_release(&growth);
        end(&bench);
    }
}

/* Parameters, then what stays between temporaries, small things of one size and larger ones: equal parts are made of it. */
/* Words of requests, each with a cache that is made anew; that of the last word of a request is never given back. The first
 * word of each takes longer. */
static void caches_of_ended_requests_leak(void)
{
    struct bench bench;
    begin(&bench);
    for (int request = 0; request < 5; request++) {
        uint64_t cache = take(&bench, 2 * MiB);
        for (int i = 0; i < 12; i++)
            drop(&bench, take(&bench, 11 * MiB));
        for (int word = 0; word < 24; word++) {
            drop(&bench, take(&bench, 7 * MiB));
            drop(&bench, cache);
            cache = take(&bench, 2 * MiB);
        }
    }
    play(&bench, false);
    struct ap_growth growth = grow(&bench);
    is_int(growth.periods.source, AP_PERIODS_REPETITION, "words repeat");
    ok(growth.periods.uneven, "but for the first of each request");
    is_int(growth.verdict, AP_GROWTH_LEAK, "a leak");
    ap_growth_release(&growth);
    end(&bench);
}

/* More and more requests at once: all caches are made anew with each word, and none is old. */
static void caches_of_more_requests_are_no_leak(void)
{
    struct bench bench;
    uint64_t caches[6];
    int count = 0;
    begin(&bench);
    (void)take(&bench, 4 * MiB);
    for (int word = 0; word < 30; word++) {
        mark(&bench);
        work(&bench);
        if (word % 5 == 0)
            caches[count++] = take(&bench, 2 * MiB);
        for (int i = 0; i < count; i++) {
            uint64_t old = caches[i];
            caches[i] = take(&bench, 2 * MiB);
            drop(&bench, old);
        }
    }
    play(&bench, true);
    struct ap_growth growth = grow(&bench);
    ok(growth.net_bytes > 8 * MiB, "more is held");
    is_int(growth.verdict, AP_GROWTH_NONE, "but nothing is kept");
    ap_growth_release(&growth);
    end(&bench);
}

/* One graph after the other is captured, and what each keeps is in a private pool; or what it works with is, and what it
 * reads was made before. */
static void captured_graphs_are_no_leak(void)
{
    for (int captured = 0; captured < 3; captured++) {
        struct bench bench;
        begin(&bench);
        for (int graph = 0; graph < 8; graph++) {
            mark(&bench);
            work(&bench);
            (void)take(&bench, 3 * MiB);
            if (captured == 2)
                (void)take(&bench, 30 * MiB);
        }
        play(&bench, true);
        for (uint32_t i = 0; captured && bench.status == AP_OK && i < bench.snapshot->segment_count; i++)
            bench.snapshot->segments[i].pool[1] = captured == 1 || bench.snapshot->segments[i].total_bytes == 30 * MiB;
        struct ap_growth growth = grow(&bench);
        is_int(growth.verdict, captured ? AP_GROWTH_NONE : AP_GROWTH_LEAK, captured ? "by design" : "a leak");
        ap_growth_release(&growth);
        end(&bench);
    }
}

static void a_start_is_no_leak(void)
{
    struct bench bench;
    begin(&bench);
    for (int i = 0; i < 30; i++)
        (void)take(&bench, 2 * MiB + 512 * i);
    for (int i = 0; i < 80; i++) {
        for (int j = 0; j < i * i % 7 % 3; j++)
            drop(&bench, take(&bench, 6 * MiB + 512 * (i + 100 * j)));
        (void)take(&bench, 300000);
        if (i >= 40)
            (void)take(&bench, 14 * MiB + 512 * i);
    }
    play(&bench, false);
    struct ap_growth growth = grow(&bench);
    is_int(growth.periods.source, AP_PERIODS_EQUAL_PARTS, "no steps are found");
    is_int(growth.verdict, AP_GROWTH_FILLING, "most of what grew is not what looks like a leak");
    ap_growth_release(&growth);
    end(&bench);
}

static void a_leak_with_annotations(void)
{
    what_was_there_is_not_held(false);
    what_was_there_is_not_held(true);
    a_leak_is_found(true);
}

static void a_leak_with_repetition(void)
{
    a_leak_is_found(false);
}

static void many_steps_are_taken_together(void)
{
    struct bench bench;
    begin(&bench);
    leaking_steps(&bench, 100);
    play(&bench, true);
    struct ap_growth growth = grow(&bench);
    is_int(growth.periods_per_point, 4, "four steps a point");
    is_int(growth.verdict, AP_GROWTH_LEAK, "a leak");
    is_int((int64_t)growth.leaking_bytes_per_period, 100000, "bytes a step, not a point");
    ap_growth_release(&growth);
    end(&bench);
}

static void warm_up_levels_off(void)
{
    struct bench bench;
    begin(&bench);
    for (int i = 0; i < 24; i++) {
        mark(&bench);
        work(&bench);
        if (i < 8)
            (void)take(&bench, 300000); /* optimizer state, caches */
    }
    mark(&bench);
    play(&bench, true);
    struct ap_growth growth = grow(&bench);
    is_int(growth.verdict, AP_GROWTH_LEVELS_OFF, "grew, and stopped");
    is_int(growth.stack_count, 0, "no origin is accused");
    ok(growth.net_bytes > 0, "though more is live than at first");
    ap_growth_release(&growth);
    end(&bench);
}

static void a_cache_that_fills_late_is_no_leak(void)
{
    struct bench bench;
    begin(&bench);
    for (int i = 0; i < 24; i++) {
        mark(&bench);
        work(&bench);
        if (i < 21)
            (void)take(&bench, 300000);
    }
    mark(&bench);
    play(&bench, true);
    struct ap_growth growth = grow(&bench);
    is_int(growth.stack_count, 0, "it stopped growing before the end");
    ap_growth_release(&growth);
    end(&bench);
}

static void a_loop_without_growth(void)
{
    struct bench bench;
    begin(&bench);
    (void)take(&bench, 9 * MiB);
    for (int i = 0; i < 30; i++) {
        mark(&bench);
        work(&bench);
    }
    mark(&bench);
    play(&bench, true);
    struct ap_growth growth = grow(&bench);
    is_int(growth.verdict, AP_GROWTH_NONE, "nothing grows");
    is_int(growth.net_bytes, 0, "the least of each step is the same");
    is_int(ap_period_count(&growth.periods), 30, "thirty steps");
    ap_growth_release(&growth);
    end(&bench);
}

/* What one block is replaced by has another size: one origin grows as another falls. */
static void a_handover_is_no_leak(void)
{
    struct bench bench;
    uint64_t first[24];
    begin(&bench);
    for (int i = 0; i < 24; i++)
        first[i] = take(&bench, 200000);
    for (int i = 0; i < 24; i++) {
        mark(&bench);
        work(&bench);
        drop(&bench, first[i]);
        (void)take(&bench, 199999);
    }
    mark(&bench);
    play(&bench, true);
    struct ap_growth growth = grow(&bench);
    ok(growth.verdict != AP_GROWTH_LEAK, "the sum does not grow");
    ap_growth_release(&growth);
    end(&bench);
}

static void three_steps_are_too_few(void)
{
    struct bench bench;
    begin(&bench);
    leaking_steps(&bench, 3);
    play(&bench, true);
    struct ap_growth growth = grow(&bench);
    is_int(growth.verdict, AP_GROWTH_UNKNOWN, "no verdict");
    ap_growth_release(&growth);
    end(&bench);
}

/* Layers of one forward pass, whose activations stay: looks like steps that leak. */
static void one_forward_pass_only_fills_up(void)
{
    struct bench bench;
    begin(&bench);
    for (int i = 0; i < 24; i++) {
        (void)take(&bench, 700000);
        uint64_t scratch = take(&bench, 300000);
        (void)take(&bench, 600000);
        drop(&bench, scratch);
    }
    play(&bench, false);
    struct ap_growth growth = grow(&bench);
    is_int(growth.verdict, AP_GROWTH_FILLING, "it only fills up");
    ap_growth_release(&growth);
    end(&bench);
}

/* The ring lost its beginning: the history starts in mid-run. */
static void a_cut_ring_still_tells(void)
{
    struct bench bench;
    struct allocator_model *model;
    begin(&bench);
    leaking_steps(&bench, 18);
    model = bench.model;
    model->entry_count -= 45;
    memmove(model->entries, model->entries + 45, model->entry_count * sizeof(model->entries[0]));
    play(&bench, false);
    struct ap_growth growth = grow(&bench);
    is_int(growth.verdict, AP_GROWTH_LEAK, "a leak");
    is_int((int64_t)growth.leaking_bytes_per_period, 100000, "of the same speed");
    ap_growth_release(&growth);
    end(&bench);
}

/* ------------------------------------------------------------------------------------------------------------ churn */

static void empty_cache_in_the_loop(void)
{
    struct bench bench;
    begin(&bench);
    uint64_t held = take(&bench, 90 * MiB);
    drop(&bench, held);
    for (int i = 0; i < 10; i++) {
        mark(&bench);
        work(&bench);
        model_empty_cache(bench.model);
    }
    mark(&bench);
    play(&bench, true);
    struct ap_churn churn = churned(&bench);
    is_u64(churn.whole.empty_caches, 10, "ten calls");
    is_u64(churn.steady.empty_caches, 9, "nine behind the first step");
    is_u64(churn.whole.retries, 0, "no retries: the device had room");
    is_u64(churn.steady.periods, 9, "nine steady periods");
    is_u64(churn.steady.segment_allocs, 9 * 2, "two segments made in each");
    is_u64(churn.steady.segment_frees, 9 * 2, "and given back");
    is_int(churn.peak_pending_bytes, 0, "nothing waited");
    end(&bench);
}

static void retries_before_a_segment(void)
{
    struct bench bench;
    begin(&bench);
    uint64_t a = take(&bench, 30 * MiB), b = take(&bench, 30 * MiB);
    drop(&bench, a);
    drop(&bench, b);
    model_empty_cache(bench.model);
    (void)take(&bench, 60 * MiB);
    play(&bench, false);
    struct ap_churn churn = churned(&bench);
    is_u64(churn.whole.retries, 1, "one retry");
    is_u64(churn.whole.empty_caches, 0, "nobody emptied the cache");
    is_int(churn.retry_bytes, 60 * MiB, "what it gave back");
    end(&bench);
}

static void what_waits_for_a_stream(void)
{
    struct bench bench;
    begin(&bench);
    (void)take(&bench, 5 * MiB);
    model_request_free(bench.model, &bench.model->segments[0], 0);
    (void)take(&bench, 7 * MiB);
    model_complete(bench.model, &bench.model->segments[0], 0);
    play(&bench, false);
    is_int(churned(&bench).peak_pending_bytes, 5 * MiB, "waited while another was made");
    end(&bench);
}

/* --------------------------------------------------------------------------------------------------------- simulated */

static const struct ap_sim_rules as_recorded = { .max_split_bytes = -1, .repeat_retries = true };

/* Growing requests: each too large for the holes that the ones before left, in segments that something smaller pins. */
static void fragment(struct bench *bench)
{
    for (int i = 1; i <= 12; i++) {
        uint64_t large = take(bench, i * 12 * MiB);
        drop(bench, large);
        (void)take(bench, (i * 6 + 1) * MiB); /* too large for the older holes: takes half of what was freed */
    }
}

static void expandable_segments_cure_fragmentation(void)
{
    struct bench bench;
    begin(&bench);
    fragment(&bench);
    play(&bench, false);
    struct ap_sim_rules rules = as_recorded;
    int64_t peak_bytes = bench.replay ? bench.replay->devices[0].reserved.peak_bytes : 0;
    struct ap_sim_result base = simulate(&bench, rules);
    rules.expandable = true;
    struct ap_sim_result expandable = simulate(&bench, rules);
    ok(base.finished && expandable.finished, "both are played to the end");
    is_int(base.peak_reserved_bytes, peak_bytes, "as recorded, it reserves what was recorded");
    is_int(peak_bytes, 936 * MiB, "twelve segments");
    is_int(expandable.peak_reserved_bytes, 560 * MiB, "expandable segments: what is in use at the peak, in pages");
    end(&bench);
}

static void an_oom_that_expandable_segments_avoid(void)
{
    struct bench bench;
    begin(&bench);
    fragment(&bench);
    int64_t reserved_bytes = bench.model->figures[bench.model->entry_count].reserved_bytes;
    model_write(bench.model, AP_ACTION_OOM, (uint64_t)MiB, 160 * MiB, 0);
    play(&bench, false);
    struct ap_sim_rules rules = as_recorded;
    int64_t capacity_bytes = 0;
    ok(bench.replay && ap_capacity_at_oom(bench.replay, 0, &capacity_bytes), "the capacity is told");
    is_int(capacity_bytes, reserved_bytes + MiB, "reserved and free");
    rules.capacity_bytes = capacity_bytes;
    is_int(simulate(&bench, rules).oom_passed, 0, "it fails as recorded");
    rules.expandable = true;
    struct ap_sim_result result = simulate(&bench, rules);
    is_int(result.oom_count, 1, "one request failed");
    is_int(result.oom_passed, 1, "and would have passed");
    is_int(result.failed, 0, "as all others do");
    end(&bench);
}

/* What was freed lies in a segment that is a private pool's at the end: a graph's, which nobody else may use. */
static void private_pools_stay_apart(void)
{
    struct bench bench;
    begin(&bench);
    drop(&bench, take(&bench, 30 * MiB));
    (void)take(&bench, 40 * MiB);
    play(&bench, false);
    struct ap_sim_rules rules = { .expandable = true, .packed = true, .max_split_bytes = -1 };
    struct ap_sim_result shared = simulate(&bench, rules);
    for (uint32_t i = 0; bench.status == AP_OK && i < bench.snapshot->segment_count; i++) {
        struct ap_segment *segment = &bench.snapshot->segments[i];
        segment->pool[1] = segment->total_bytes == 30 * MiB;
        segment->has |= AP_SEGMENT_HAS_POOL;
    }
    struct ap_sim_result apart = simulate(&bench, rules);
    is_int(shared.peak_reserved_bytes, 40 * MiB, "one pool: the pages are used again");
    is_int(apart.peak_reserved_bytes, 70 * MiB, "a pool of its own: they are not");
    end(&bench);
}

static void blocks_above_max_split_size_stay_whole(void)
{
    struct bench bench;
    begin(&bench);
    uint64_t large = take(&bench, 100 * MiB);
    drop(&bench, large);
    (void)take(&bench, 12 * MiB);
    (void)take(&bench, 100 * MiB);
    play(&bench, false);
    struct ap_sim_rules rules = as_recorded;
    is_int(simulate(&bench, rules).peak_reserved_bytes, 200 * MiB, "the small one breaks the large block");
    rules.max_split_bytes = 50 * MiB;
    is_int(simulate(&bench, rules).peak_reserved_bytes, 112 * MiB, "with a limit it may not");
    end(&bench);
}

static void long_lived_apart(void)
{
    struct bench bench;
    begin(&bench);
    for (int i = 0; i < 5; i++) {
        uint64_t large = take(&bench, 100 * MiB);
        drop(&bench, large);
        (void)take(&bench, 12 * MiB);
    }
    play(&bench, false);
    struct ap_sim_rules rules = as_recorded;
    is_int(simulate(&bench, rules).peak_reserved_bytes, 200 * MiB, "what stays breaks the first large block");
    rules.long_lived_apart = true;
    is_int(simulate(&bench, rules).peak_reserved_bytes, 160 * MiB, "one large block, and five apart");
    end(&bench);
}

static void a_full_device_gives_up_its_cache(void)
{
    struct bench bench;
    begin(&bench);
    for (int i = 1; i <= 5; i++)
        drop(&bench, take(&bench, i * 20 * MiB));
    play(&bench, false);
    struct ap_sim_rules rules = as_recorded;
    is_int(simulate(&bench, rules).peak_reserved_bytes, 300 * MiB, "all stay in the cache");
    rules.capacity_bytes = 150 * MiB;
    struct ap_sim_result result = simulate(&bench, rules);
    ok(result.peak_reserved_bytes <= 150 * MiB && result.failed == 0, "a smaller device would do");
    rules.capacity_bytes = 200 * MiB;
    rules.gc_threshold_ratio = 0.5;
    result = simulate(&bench, rules);
    is_int(result.peak_reserved_bytes, 180 * MiB, "unused segments are collected from half of it on");
    rules.capacity_bytes = 90 * MiB;
    is_int(simulate(&bench, rules).failed, 1, "what does not fit is counted");
    end(&bench);
}

static void expandable_pages_are_given_back(void)
{
    struct bench bench;
    begin(&bench);
    uint64_t a = take(&bench, 60 * MiB), b = take(&bench, 60 * MiB);
    (void)take(&bench, 5 * MiB);
    drop(&bench, a);
    model_empty_cache(bench.model);
    drop(&bench, b);
    model_empty_cache(bench.model);
    (void)take(&bench, 30 * MiB);
    play(&bench, false);
    struct ap_sim_rules rules = as_recorded;
    rules.expandable = true;
    struct ap_sim_result result = simulate(&bench, rules);
    is_int(result.peak_reserved_bytes, 140 * MiB, "three pages, three pages and one");
    is_int(result.end_reserved_bytes, 60 * MiB, "one page is left, two of the hole are mapped again");
    end(&bench);
}

static void hostile_sizes_end_the_simulation(void)
{
    struct bench bench;
    begin(&bench);
    (void)take(&bench, 5 * MiB);
    play(&bench, false);
    bench.snapshot->actions.size_bytes[1] = INT64_MAX;
    ok(!simulate(&bench, as_recorded).finished, "no figure");
    end(&bench);
}

/* Random histories: as recorded, the simulation must come to the model's own peak, or to nearly that: of free blocks of one
 * size the two may choose different ones. */
static void random_histories(void)
{
    struct random random = { 7 };
    unsigned equal = 0, near = 0, runs = 60;
    for (unsigned run = 0; run < runs; run++) {
        struct bench bench;
        begin(&bench);
        bench.model->recording = run % 4 != 3; /* some begin in mid-run */
        for (unsigned i = 0; i < 600 && !bench.model->recording; i++)
            model_step(bench.model, &random);
        model_record(bench.model);
        model_complete_unseen(bench.model);
        while (bench.model->entry_count < 1500)
            model_step(bench.model, &random);
        play(&bench, false);
        struct ap_sim_result result = simulate(&bench, as_recorded);
        int64_t peak_bytes = bench.status == AP_OK ? bench.replay->devices[0].reserved.peak_bytes : -1;
        int64_t off_bytes = result.peak_reserved_bytes - peak_bytes;
        equal += result.finished && off_bytes == 0;
        near += result.finished && llabs(off_bytes) * 20 <= peak_bytes;
        struct ap_sim_rules rules = { .max_split_bytes = 64 * MiB,
                                      .expandable = run % 2,
                                      .packed = run % 3 == 0,
                                      .long_lived_apart = run % 5 == 0,
                                      .capacity_bytes = peak_bytes / 2,
                                      .gc_threshold_ratio = 0.5 };
        result = simulate(&bench, rules);
        if (!result.finished || result.end_reserved_bytes < bench.replay->devices[0].active.end_bytes)
            ok(false, "what is in use is reserved under any rules");
        struct ap_growth growth = grow(&bench);
        ap_growth_release(&growth);
        (void)churned(&bench);
        ap_replay_free(bench.replay);
        ap_snapshot_free(bench.snapshot);
        free(bench.model);
        if (bench.status != AP_OK || atomic_load(&bench.gate.used_bytes))
            ok(false, "each run goes well");
    }
    is_u64(near, runs, "the recorded peak is met within a twentieth");
    ok(equal * 10 >= runs * 8, "and to the byte in eight of ten");
}

static void every_refused_allocation_is_survived(void)
{
    struct bench bench;
    begin(&bench);
    leaking_steps(&bench, 12);
    fragment(&bench);
    play(&bench, true);
    unsigned failures = 0;
    for (int64_t after = 0; after < 2000 && bench.status == AP_OK; after++) {
        struct ap_growth growth;
        struct ap_sim_result result;
        struct ap_sim_rules rules = { .max_split_bytes = -1, .expandable = true, .packed = true };
        uint64_t before = atomic_load(&bench.gate.used_bytes);
        atomic_store(&bench.gate.fail_after, after);
        enum ap_status grown = ap_growth_find(bench.replay, 0, &growth, &bench.error);
        if (grown == AP_OK)
            ap_growth_release(&growth);
        enum ap_status played = ap_sim_run(bench.replay, 0, &rules, &result, &bench.error);
        atomic_store(&bench.gate.fail_after, -1);
        if (atomic_load(&bench.gate.used_bytes) != before)
            ok(false, "memory is lost where a request is refused");
        if (grown == AP_OK && played == AP_OK)
            break;
        failures++;
    }
    ok(failures > 10, "each refusal is reported and leaves nothing behind");
    end(&bench);
}

int main(void)
{
    a_leak_with_annotations();
    a_leak_with_repetition();
    a_line_with_two_callers_leaks();
    a_queue_that_fills_is_no_leak();
    a_leak_that_begins_late();
    steps_before_the_profiler_count();
    a_leak_of_many_sizes();
    a_cache_that_grows_is_no_leak();
    outputs_that_get_longer_are_no_leak();
    caches_of_ended_requests_leak();
    caches_of_more_requests_are_no_leak();
    captured_graphs_are_no_leak();
    a_start_is_no_leak();
    many_steps_are_taken_together();
    warm_up_levels_off();
    a_cache_that_fills_late_is_no_leak();
    a_loop_without_growth();
    a_handover_is_no_leak();
    three_steps_are_too_few();
    one_forward_pass_only_fills_up();
    a_cut_ring_still_tells();
    empty_cache_in_the_loop();
    retries_before_a_segment();
    what_waits_for_a_stream();
    expandable_segments_cure_fragmentation();
    an_oom_that_expandable_segments_avoid();
    private_pools_stay_apart();
    blocks_above_max_split_size_stay_whole();
    long_lived_apart();
    a_full_device_gives_up_its_cache();
    expandable_pages_are_given_back();
    hostile_sizes_end_the_simulation();
    random_histories();
    every_refused_allocation_is_survived();
    return done();
}
