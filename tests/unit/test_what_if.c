/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predict_part.h"
#include "random.h"
#include "typed_trace.h"

/* ------------------------------------------------------------------------------------------------- typed by hand */

/* With the facts kept for predictions. */
struct tried {
    struct run run;
    struct ap_facts facts;
    struct ap_predictor predictor;
};

static void predict(struct tried *tried)
{
    struct ap_part_options options = { .path = "typed by hand" };
    if (ap_facts_init(&tried->facts, tried->run.trace, false, NULL) != AP_OK ||
        ap_analyze_trace(&tried->facts, &options, false, &tried->run.notes, &tried->run.model, NULL) != AP_OK ||
        ap_predictor_init(&tried->predictor, &tried->facts, true, NULL) != AP_OK)
        abort();
}

static void finish(struct tried *tried)
{
    ap_predictor_release(&tried->predictor);
    ap_facts_release(&tried->facts);
    end(&tried->run);
}

/* All of the changes, a NULL behind the last. */
static struct ap_prediction gain(struct tried *tried, const char *const *texts)
{
    static struct ap_change changes[4];
    const struct ap_change *list[4];
    struct ap_expr_mistake mistake;
    struct ap_prediction prediction = { .rows = 0 };
    size_t count = 0;
    for (; texts[count]; count++) {
        if (!ap_change_parse(ap_text_of(texts[count]), &changes[count], &mistake))
            abort();
        list[count] = &changes[count];
    }
    if (ap_predict(&tried->predictor, list, count, &prediction, NULL) != AP_OK)
        abort();
    return prediction;
}

static int64_t gain_us(struct tried *tried, const char *text)
{
    const char *const texts[] = { text, NULL };
    return gain(tried, texts).saves_ns / 1000;
}

/* A kernel of 100 us on stream 7, which the host waits for, beside one of 20 us on stream 8. */
static void fill(struct run *run)
{
    (void)row(run, "1", "aten::mm", OPERATOR, 0, 20);
    call(run, "1", "cudaLaunchKernel", 5, 10, 1);
    (void)row(run, "1", "aten::add", OPERATOR, 30, 20);
    call(run, "1", "cudaLaunchKernel", 35, 10, 2);
    call(run, "1", "cudaDeviceSynchronize", 60, 62, 3);
    (void)row(run, "1", "aten::zero_", OPERATOR, 130, 20);
    work_on(run, "7", "gemm", KERNEL, 20, 100, 1);
    work_on(run, "8", "add", KERNEL, 50, 20, 2);
}

static void a_change_gains_what_the_path_loses(void)
{
    struct tried tried = { .predictor = { .facts = NULL } };
    begin(&tried.run);
    fill(&tried.run);
    predict(&tried);
    ok(tried.predictor.exact, "an unchanged replay is the recording");
    is_int(tried.predictor.window_error_ns, 0, "to the nanosecond");
    is_int(gain_us(&tried, "kernel = gemm speedup 1"), 0, "a change of nothing changes nothing");
    is_int(gain_us(&tried, "kernel = add speedup 2"), 0, "what is off the path gains nothing");
    is_int(gain_us(&tried, "kernel = add gone"), 0, "nor does it when it goes");
    is_int(gain_us(&tried, "kernel = gemm speedup 2"), 50, "what the host waits for gains what it loses");
    is_int(gain_us(&tried, "call ~ synchronize gone"), 30, "without the wait the kernel is the end");
    is_int(gain_us(&tried, "op = aten::zero_ hostfree"), 20, "work of the host behind the wait");
    is_int(gain_us(&tried, "kernel = gemm less 30us"), 30, "so much less");
    is_int(gain_us(&tried, "kernel = gemm speedup 0.5"), -100, "slower is slower");
    is_u64(gain(&tried, (const char *const[]){ "kernel = nothing gone", NULL }).rows, 0, "no row, no prediction");
    finish(&tried);
}

static void launches_become_one(void)
{
    struct tried tried = { .predictor = { .facts = NULL } };
    begin(&tried.run);
    for (ap_link_key i = 0; i < 8; i++) {
        (void)row(&tried.run, "1", "aten::add", OPERATOR, i * 20, 15);
        call(&tried.run, "1", "cudaLaunchKernel", i * 20 + 5, 5, i + 1);
        work_on(&tried.run, "7", "add", KERNEL, i * 20 + 12, 2, i + 1);
    }
    predict(&tried);
    ok(tried.predictor.exact, "an unchanged replay is the recording");
    ok(gain_us(&tried, "kernel = add graph") >= 100, "one launch saves the host work between eight");
    ok(gain_us(&tried, "kernel = add fused 8") >= 100, "so does one kernel");
    ok(gain_us(&tried, "kernel = add fused 2") < gain_us(&tried, "kernel = add fused 8"), "half as many save less");
    finish(&tried);
}

static void numbered(struct run *run, const char *name, int64_t start_us, int64_t dur_us, struct ap_op_told detail)
{
    (void)row(run, "1", name, OPERATOR, start_us, dur_us);
    if (ap_trace_add_op_detail(run->trace, detail, NULL) != AP_OK)
        abort();
}

static void what_is_gone_has_no_backward_pass(void)
{
    struct tried tried = { .predictor = { .facts = NULL } };
    begin(&tried.run);
    numbered(&tried.run, "aten::linear", 0, 40, (struct ap_op_told){ .sequence = 5 });
    numbered(&tried.run, "aten::gelu", 50, 20, (struct ap_op_told){ .sequence = 6 });
    numbered(&tried.run, "GeluBackward0", 100, 30, (struct ap_op_told){ .sequence = 6, .forward_thread = 1 });
    numbered(&tried.run, "AddmmBackward0", 140, 60, (struct ap_op_told){ .sequence = 5, .forward_thread = 1 });
    predict(&tried);
    is_int(gain_us(&tried, "op = aten::gelu gone"), 50, "an operator goes with its backward pass");
    is_int(gain_us(&tried, "op = aten::gelu hostfree"), 20, "its host work alone does not");
    finish(&tried);
}

/* A value that is read, with an operator in front that launches a kernel of 30 us. */
static void add_value(struct run *run, const char *made_by, int64_t start_us, ap_link_key number)
{
    (void)row(run, "1", made_by, OPERATOR, start_us, 10);
    call(run, "1", "cudaLaunchKernel", start_us + 2, 6, number);
    work_on(run, "7", "made", KERNEL, start_us + 10, 30, number);
    (void)row(run, "1", "aten::item", OPERATOR, start_us + 15, 35);
    call(run, "1", "cudaMemcpyAsync", start_us + 16, 4, number + 1);
    work_on(run, "7", "Memcpy DtoH (Device -> Pageable)", AP_KIND_memcpy | AP_ROW_X, start_us + 42, 3, number + 1);
    call(run, "1", "cudaStreamSynchronize", start_us + 22, 25, number + 2);
}

/* Its last two values are read each behind an operator of that name. */
static int64_t gain_without_text(const char *made_by)
{
    static const char *const names[] = { "aten::isfinite", "aten::ne",  "aten::__and__", "aten::masked_select",
                                         "aten::abs",      "aten::min", "aten::unbind" };
    struct tried tried = { .predictor = { .facts = NULL } };
    begin(&tried.run);
    for (unsigned i = 0; i < AP_COUNT_OF(names); i++)
        (void)row(&tried.run, "1", names[i], OPERATOR, 8 * i, 7);
    call(&tried.run, "1", "cudaStreamSynchronize", 26, 4, 90); /* of masked_select */
    add_value(&tried.run, "aten::abs", 100, 1);
    add_value(&tried.run, made_by, 200, 11);
    add_value(&tried.run, made_by, 300, 21);
    (void)row(&tried.run, "1", "aten::mm", OPERATOR, 400, 10);
    call(&tried.run, "1", "cudaLaunchKernel", 402, 6, 31);
    work_on(&tried.run, "7", "gemm", KERNEL, 410, 100, 31);
    predict(&tried);
    int64_t us = gain_us(&tried, "wait = formatting gone");
    finish(&tried);
    return us;
}

static void what_writes_a_tensor_goes_with_its_waits(void)
{
    is_int(gain_without_text("aten::abs"), 163, "with what it launches for each value: 91 are of the reads alone");
    is_int(gain_without_text("aten::mm"), 85, "other work in front of a value is the program's");
}

/* Two kernels of 90 us, then two collectives that nothing hides, then what waits for them. */
static void reduce_behind(struct run *run, int64_t sends_us)
{
    int64_t done_us = 200 + 2 * sends_us;
    for (ap_link_key i = 0; i < 2; i++) {
        call(run, "1", "cudaLaunchKernel", i * 10, 5, i + 1);
        work_on(run, "7", "gemm", KERNEL, 20 + i * 90, 90, i + 1);
    }
    for (ap_link_key i = 0; i < 2; i++) {
        call(run, "1", "cudaLaunchKernel", 20 + i * 10, 5, i + 3);
        work_on(run, "20", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", KERNEL, 200 + i * sends_us, sends_us, i + 3);
    }
    call(run, "1", "cudaDeviceSynchronize", 50, done_us - 50, 5);
}

static void collectives_run_one_behind_the_other(void)
{
    struct tried tried = { .predictor = { .facts = NULL } };
    begin(&tried.run);
    reduce_behind(&tried.run, 50);
    predict(&tried);
    ok(tried.predictor.exact, "an unchanged replay is the recording");
    is_int(gain_us(&tried, "collective like * overlapped"), 50, "all but the last are hidden");
    finish(&tried);
    begin(&tried.run);
    reduce_behind(&tried.run, 400);
    predict(&tried);
    int64_t gained_us = gain_us(&tried, "collective like * overlapped");
    ok(gained_us >= 50 && gained_us <= 80, "what takes longer than all else is hidden no more than all else takes");
    finish(&tried);
}

static void batches_of(struct tried *tried, int64_t made_us)
{
    begin(&tried->run);
    for (int64_t i = 0; i < 4; i++) {
        char name[40];
        (void)snprintf(name, sizeof(name), "ProfilerStep#%d", (int)i);
        (void)row(&tried->run, "1", name, ANNOTATION, i * 10000, 10000);
        (void)row(&tried->run, "1", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", ANNOTATION, i * 10000 + 5,
                  made_us);
        (void)row(&tried->run, "1", "aten::mm", OPERATOR, i * 10000 + 7000, 2000);
    }
    predict(tried);
}

static void batches_are_made_ahead(void)
{
    static const char *const four[] = { "loader like * workers 4", NULL };
    struct tried tried = { .predictor = { .facts = NULL } };
    batches_of(&tried, 6000);
    is_int(gain_us(&tried, four[0]), 4 * 5850, "four processes hide it all but taking the batches");
    is_int(gain_us(&tried, "loader like * workers 1"), 16000, "one makes a batch in 6 ms, the rest of a step takes 4");
    finish(&tried);
    batches_of(&tried, 1000);
    is_u64(gain(&tried, four).rows, 0, "light batches of a loop that computes on the host are no matter of a replay");
    finish(&tried);
}

/* Half of the time is a range of 1000 operators, whose recording takes 0.3 us each. */
static void the_profilers_own_work_is_no_gain(void)
{
    struct tried tried = { .predictor = { .facts = NULL } };
    begin(&tried.run);
    (void)row(&tried.run, "1", "extra", ANNOTATION, 0, 1000);
    for (int64_t i = 0; i < 1000; i++)
        (void)row(&tried.run, "1", "aten::add", OPERATOR, i, 1);
    (void)row(&tried.run, "1", "aten::mm", OPERATOR, 1000, 1000);
    predict(&tried);
    struct ap_prediction prediction = gain(&tried, (const char *const[]){ "range = extra gone", NULL });
    is_int(prediction.before_ns / 1000, 2000, "as recorded");
    is_int(prediction.after_ns / 1000, 1176, "without the profiler 700 of 1700 us go");
    is_int(prediction.low_ns / 1000, 1000, "the range reaches to what the recording loses");
    finish(&tried);
    begin(&tried.run);
    (void)row(&tried.run, "1", "extra", ANNOTATION, 0, 1000);
    (void)row(&tried.run, "1", "aten::mm", OPERATOR, 1000, 1000);
    for (int64_t i = 0; i < 1000; i++)
        (void)row(&tried.run, "2", "watch.py(3): total", PYTHON, 2 * i, 1);
    predict(&tried);
    prediction = gain(&tried, (const char *const[]){ "range = extra gone", NULL });
    is_int(prediction.after_ns / 1000, 999, "what recording a thread cost that only looks on is no matter of this one");
    finish(&tried);
}

/* The host goes on behind the last kernel, for no work of the device. */
static void devices_that_always_work_gain_though_the_host_ends_last(void)
{
    for (int busy = 0; busy < 2; busy++) {
        struct tried tried = { .predictor = { .facts = NULL } };
        begin(&tried.run);
        (void)row(&tried.run, "1", "aten::mm", OPERATOR, 0, 20);
        call(&tried.run, "1", "cudaLaunchKernel", 5, 10, 1);
        (void)row(&tried.run, "1", "aten::zero_", OPERATOR, 20, 1000);
        call(&tried.run, "1", "cudaLaunchKernel", busy ? 30 : 985, 10, 2);
        (void)row(&tried.run, "1", "aten::zero_", OPERATOR, 1020, 500);
        work_on(&tried.run, "7", "gemm", KERNEL, 20, busy ? 1000 : 100, 1);
        work_on(&tried.run, "7", "add", KERNEL, 1020, 10, 2);
        predict(&tried);
        is_int(gain_us(&tried, "kernel = gemm speedup 1.25"), busy ? 200 : 0,
               busy ? "what devices gain that work all of the time" : "nothing where they wait for the host");
        finish(&tried);
    }
}

/* Steps of 100 us that launch a kernel of 60 and wait for it, within one frame around all of them. */
static void a_long_run_is_told_by_some_steps(void)
{
    struct tried tried = { .predictor = { .facts = NULL } };
    struct ap_excerpt excerpt;
    bool found = false;
    begin(&tried.run);
    (void)row(&tried.run, "1", "train.py(1): main", PYTHON, 0, 3000);
    for (int64_t i = 0; i < 30; i++) {
        char name[40];
        (void)snprintf(name, sizeof(name), "ProfilerStep#%d", (int)i);
        (void)row(&tried.run, "1", name, ANNOTATION, i * 100, 100);
        call(&tried.run, "1", "cudaLaunchKernel", i * 100 + 5, 5, (ap_link_key)i + 1);
        work_on(&tried.run, "7", "gemm", KERNEL, i * 100 + 15, 60, (ap_link_key)i + 1);
        call(&tried.run, "1", "cudaDeviceSynchronize", i * 100 + 20, 57, (ap_link_key)i + 101);
    }
    predict(&tried);
    int64_t all_us = gain_us(&tried, "kernel = gemm speedup 2");
    is_int(all_us, 900, "each step gains half of its kernel");
    if (ap_excerpt_init(&excerpt, &tried.facts, 20, &found, NULL) != AP_OK)
        abort();
    ok(found, "steps in the middle are taken");
    is_u64(excerpt.facts.steps.count, 5, "as many as have so many rows");
    is_u64(excerpt.facts.links.count, 5, "with the work that they launched");
    is_int(excerpt.facts.window_ns, 500000, "and no frame that began before");
    ap_excerpt_release(&excerpt);
    if (ap_excerpt_init(&excerpt, &tried.facts, 8, &found, NULL) != AP_OK)
        abort();
    ok(!found, "two steps tell nothing of the others");
    ap_excerpt_release(&excerpt);
    finish(&tried);
}

/* ---------------------------------------------------------------------------------------------------- invariants */

/* Launches on a thread, work on two streams in order, and calls that wait for all of it. */
static void fill_at_random(struct run *run, struct random *random)
{
    int64_t now_us = 0, free_us[2] = { 0, 0 };
    for (ap_link_key i = 1; i <= 60; i++) {
        size_t stream = random_below(random, 2);
        int64_t host_us = 2 + (int64_t)random_below(random, 20), dur_us = 1 + (int64_t)random_below(random, 60);
        (void)row(run, "1", i % 3 ? "aten::mm" : "aten::add", OPERATOR, now_us, host_us + 4);
        call(run, "1", "cudaLaunchKernel", now_us + 1, host_us, i);
        int64_t start_us = now_us + 6 > free_us[stream] ? now_us + 6 : free_us[stream] + 1;
        char name[2] = { (char)('a' + i % 4), '\0' };
        work_on(run, stream ? "7" : "8", name, KERNEL, start_us, dur_us, i);
        free_us[stream] = start_us + dur_us;
        now_us += host_us + 6;
        if (random_below(random, 8) == 0) {
            int64_t done_us = free_us[0] > free_us[1] ? free_us[0] : free_us[1];
            int64_t until_us = (done_us > now_us ? done_us : now_us) + 3;
            call(run, "1", "cudaDeviceSynchronize", now_us, until_us - now_us, 1000 + i);
            now_us = until_us;
        }
    }
}

static void try_at_random(struct tried *tried, struct random *random)
{
    memset(tried, 0, sizeof(*tried));
    begin(&tried->run);
    fill_at_random(&tried->run, random);
    predict(tried);
}

static void forget(struct tried *tried)
{
    ap_predictor_release(&tried->predictor);
    ap_facts_release(&tried->facts);
    ap_trace_free(tried->run.trace);
    ap_model_release(&tried->run.model);
}

static void more_removals_are_never_slower(void)
{
    static const char *const list[] = { "kernel = a gone", "op = aten::add gone", "call ~ synchronize gone",
                                        "kernel = b speedup 3" };
    struct random random = { 7 };
    int worse = 0, inexact = 0, changed = 0;
    for (int round = 0; round < 50; round++) {
        struct tried tried;
        try_at_random(&tried, &random);
        inexact += !tried.predictor.exact || tried.predictor.window_error_ns;
        changed += gain_us(&tried, "op like * speedup 1") != 0;
        int64_t before_ns = 0;
        for (size_t count = 1; count < 4; count++) {
            const char *some[4] = { NULL };
            memcpy(some, list, count * sizeof(some[0]));
            int64_t saves_ns = gain(&tried, some).saves_ns;
            worse += saves_ns < before_ns;
            before_ns = saves_ns;
        }
        forget(&tried);
    }
    is_int(inexact, 0, "an unchanged replay is the recording, of 50 made ones");
    is_int(changed, 0, "a change of nothing changes none of them");
    is_int(worse, 0, "a longer list of removals is never slower");
}

static int64_t window_with(const struct tried *tried, uint32_t task, int64_t work_ns)
{
    struct ap_replay_edit edit;
    struct ap_replay_times times;
    if (ap_replay_edit_init(&edit, &tried->predictor.graph, NULL) != AP_OK)
        abort();
    edit.work_ns[task] = work_ns;
    if (ap_replay_run(&tried->predictor.graph, &edit, &times, NULL) != AP_OK)
        abort();
    int64_t window_ns = times.window_ns;
    ap_replay_times_release(&times);
    ap_replay_edit_release(&edit);
    return window_ns;
}

/* What may take a nanosecond longer at no cost is off the path: so it may take nothing at no gain. */
static void what_is_off_the_path_gains_nothing(void)
{
    struct random random = { 11 };
    int gains = 0, off_path = 0, on_path = 0, idle = 0;
    for (int round = 0; round < 10; round++) {
        struct tried tried;
        try_at_random(&tried, &random);
        const struct ap_replay_graph *graph = &tried.predictor.graph;
        for (uint32_t i = 0; i < graph->count; i++) {
            int64_t now_ns = tried.predictor.unchanged.window_ns, work_ns = ap_task_work_ns(graph, &graph->tasks[i]);
            int64_t longer_ns = window_with(&tried, i, work_ns + 1), gone_ns = window_with(&tried, i, 0);
            off_path += longer_ns == now_ns;
            on_path += longer_ns == now_ns + 1;
            gains += longer_ns == now_ns && gone_ns != now_ns;
            idle += longer_ns < now_ns || gone_ns > now_ns;
        }
        forget(&tried);
    }
    ok(off_path > 100 && on_path > 100, "pieces on the path and off it are tried");
    is_int(gains, 0, "what is off the path gains nothing when it goes");
    is_int(idle, 0, "and more work is never faster, less never slower");
}

/* The faster the better, and nothing is better than no work; both of two changes gain what the larger one does, or more.
 * (They may gain more than the sum: of two branches side by side neither gains anything alone.) */
static void gains_are_in_order(void)
{
    static const char *const of_a[] = { "kernel = a speedup 1", "kernel = a speedup 1.5", "kernel = a speedup 4",
                                        "kernel = a speedup 1000000", "kernel = a gone" };
    static const char *const others[] = { "kernel = b gone", "op = aten::add hostfree", "call ~ synchronize gone" };
    struct random random = { 17 };
    int out_of_order = 0, less_together = 0;
    for (int round = 0; round < 30; round++) {
        struct tried tried;
        try_at_random(&tried, &random);
        int64_t before_us = 0;
        for (size_t i = 0; i < AP_COUNT_OF(of_a); i++) {
            int64_t now_us = gain_us(&tried, of_a[i]);
            out_of_order += now_us < before_us;
            before_us = now_us;
        }
        for (size_t i = 0; i < AP_COUNT_OF(others); i++) {
            const char *const both[] = { "kernel = a gone", others[i], NULL };
            int64_t other_us = gain_us(&tried, others[i]), both_us = gain(&tried, both).saves_ns / 1000;
            less_together += both_us < before_us || both_us < other_us;
        }
        forget(&tried);
    }
    is_int(out_of_order, 0, "twice as fast gains no less than half of it, and gone most");
    is_int(less_together, 0, "two removals gain no less than either");
}

/* Whatever is taken away or made to run beside other work. */
static void no_removal_is_slower(void)
{
    static const char *const list[] = {
        "kernel = a gone",  "kernel = a overlapped", "kernel = b nowait",       "op = aten::add hostfree",
        "kernel = c async", "kernel like * graph",   "kernel like * fused 4",   "thread = main less 50us",
        "gap = host gone",  "call ~ Launch gone",    "kernel like * speedup 3", "dur_us > 20us gone",
    };
    struct random random = { 13 };
    int slower = 0;
    for (int round = 0; round < 20; round++) {
        struct tried tried;
        try_at_random(&tried, &random);
        for (size_t i = 0; i < AP_COUNT_OF(list); i++)
            if (gain(&tried, (const char *const[]){ list[i], NULL }).saves_ns < 0) {
                note(list[i]);
                slower++;
            }
        forget(&tried);
    }
    is_int(slower, 0, "no removal makes a run longer");
}

/* ------------------------------------------------------------------------------------------------------- language */

static void changes_are_read(void)
{
    static const struct {
        const char *text;
        bool fits;
    } rows[] = {
        { "kernel ~ \"gemm\" speedup 2", true },
        { "kernel ~ gemm and dur_us > 1ms gone", true },
        { "op is aten::item|aten::to gone", true },
        { "thread = main less 1.5 ms", true },
        { "loader like * workers 4", true },
        { "batch times 2", true },
        { "kernel ~ gemm times 2", false },
        { "kernel ~ gemm", false },
        { "speedup 2", false },
        { "kernel ~ gemm speedup", false },
        { "kernel ~ gemm speedup 0", false },
        { "kernel ~ gemm fused 1.5", false },
        { "kernel ~ gemm less 5", false },
        { "kernel ~ gemm gone 3", false },
        { "color = red gone", false },
        { "", false },
        { "kernel ~ \"gone", false },
        { "loader like * workers 99999999999999999999", false },
    };
    for (size_t i = 0; i < AP_COUNT_OF(rows); i++) {
        struct ap_change change;
        struct ap_expr_mistake mistake = { .message = "" };
        bool fits = ap_change_parse(ap_text_of(rows[i].text), &change, &mistake);
        ok(fits == rows[i].fits && (fits || mistake.message[0]), rows[i].text);
    }
}

/* Each change that a rule names, with some number for its figures. */
static void changes_of_rules_are_read(void)
{
    char path[4096], line[4096], change[4096];
    int count = 0, wrong = 0;
    (void)snprintf(path, sizeof(path), "%s/../references/interpretation.md", getenv("AP_FIXTURES"));
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, "change: ", 8) != 0)
            continue;
        size_t used = 0;
        for (const char *at = line + 8; *at && *at != '\n'; at++) {
            const char *end = *at == '{' ? strchr(at, '}') : NULL;
            used += (size_t)snprintf(change + used, sizeof(change) - used, end ? "5ns" : "%c", *at);
            at = end ? end : at;
        }
        struct ap_text rest = { change, used }, part;
        while (ap_text_next_part(&rest, ';', &part)) {
            struct ap_change read;
            struct ap_expr_mistake mistake;
            bool fits = ap_change_parse(part, &read, &mistake);
            wrong += !fits;
            count++;
            if (!fits)
                printf("# %.*s: %s\n", (int)part.bytes, part.data, mistake.message);
        }
    }
    if (file)
        (void)fclose(file);
    ok(count > 50, "rules name changes");
    is_int(wrong, 0, "all of them can be read");
}

int main(void)
{
    a_change_gains_what_the_path_loses();
    launches_become_one();
    what_writes_a_tensor_goes_with_its_waits();
    what_is_gone_has_no_backward_pass();
    collectives_run_one_behind_the_other();
    batches_are_made_ahead();
    the_profilers_own_work_is_no_gain();
    devices_that_always_work_gain_though_the_host_ends_last();
    a_long_run_is_told_by_some_steps();
    more_removals_are_never_slower();
    what_is_off_the_path_gains_nothing();
    gains_are_in_order();
    no_removal_is_slower();
    changes_are_read();
    changes_of_rules_are_read();
    return done();
}
