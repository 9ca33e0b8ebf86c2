/* SPDX-License-Identifier: MIT
 * test_recording_cost.c - what of a device's waits for the host is not the program's: what recording costs, and what only
 * some of equal steps have. Times are in tenths of a us. */
#define TYPED_UNIT_NS 100
#include "typed_trace.h"

#define ROUNDS 30

/* An operator that calls another one: 2 us pass between their edges, so it costs 2.5 us and the other as much. */
static void two_operators(struct run *run, int64_t start)
{
    (void)row(run, "1", "aten::linear", OPERATOR, start, 60);
    (void)row(run, "1", "aten::addmm", OPERATOR, start + 10, 40);
}

/* A call, which costs 4 us, and its kernel 10 us later. */
static void launch(struct run *run, int64_t round, int64_t start, int64_t kernel)
{
    call(run, "1", "cudaLaunchKernel", start, 60, (ap_link_key)round + 1);
    work_on(run, "7", "sgemm", KERNEL, start + 100, kernel, (ap_link_key)round + 1);
}

static int64_t recording_ns(const struct run *run)
{
    return ap_value_integer(at(run, "verdict.host.recording_us"), -1);
}

static void each_wait_for_the_host_is_longer_by_its_rows(void)
{
    struct run run;
    begin(&run);
    for (int64_t i = 0; i < ROUNDS; i++) {
        two_operators(&run, i * 400);
        launch(&run, i, i * 400 + 200, 40);
    }
    analyze(&run);
    is_int(recording_ns(&run), (ROUNDS - 1) * 9000, "two operators and a call before each kernel but the first");
    is_int(ap_value_integer(at(&run, "verdict.host.dur_us"), 0), (ROUNDS - 1) * 36000, "the waits are what they are");
    is_int(ap_value_integer(at(&run, "verdict.host.own_us"), 0), (ROUNDS - 1) * 27000, "what is left is the host's own");
    ok(ap_text_contains(ap_value_text(at(&run, "verdict.sentence")),
                        ap_text_of("some 261 us of it are the recording's own cost")),
       "the verdict says so");
    end(&run);
}

static void work_that_is_queued_hides_it(void)
{
    struct run run;
    begin(&run);
    for (int64_t i = 0; i < ROUNDS; i++) {
        two_operators(&run, i * 400);
        launch(&run, i, i * 400 + 200, 400);
    }
    analyze(&run);
    is_int(recording_ns(&run), 0, "no device waits for the host");
    end(&run);
}

static void a_wait_for_the_device_hides_what_came_before(void)
{
    struct run run;
    begin(&run);
    for (int64_t i = 0; i < ROUNDS; i++) {
        two_operators(&run, i * 2000);
        launch(&run, i, i * 2000 + 200, 700);
        for (int64_t k = 0; k < 4; k++)
            two_operators(&run, i * 2000 + 300 + k * 60);
        call(&run, "1", "cudaStreamSynchronize", i * 2000 + 600, 410, 0);
    }
    analyze(&run);
    is_int(recording_ns(&run), (ROUNDS - 1) * 9000, "what is recorded behind it counts");
    end(&run);
}

/* Rows that take next to nothing cannot have cost more than half of it. */
static void rows_cost_at_most_half_of_the_time(void)
{
    struct run run;
    begin(&run);
    for (int64_t i = 0; i < ROUNDS; i++) {
        for (int64_t k = 0; k < 5; k++)
            two_operators(&run, i * 400 + k * 60);
        launch(&run, i, i * 400 + 300, 40);
    }
    analyze(&run);
    is_int(recording_ns(&run), 15000 + (ROUNDS - 2) * 20000, "half of each round, and of 30 us from the first kernel on");
    end(&run);
}

static void without_such_operators_it_is_not_known(void)
{
    struct run run;
    begin(&run);
    for (int64_t i = 0; i < ROUNDS; i++) {
        (void)row(&run, "1", "aten::mul", OPERATOR, i * 400, 60);
        launch(&run, i, i * 400 + 200, 40);
    }
    analyze(&run);
    is_int(at(&run, "verdict.host.recording_us")->type, AP_VALUE_NULL, "what a row costs is not known");
    is_int(ap_value_integer(at(&run, "verdict.host.own_us"), 0), ap_value_integer(at(&run, "verdict.host.dur_us"), 1),
           "nothing is taken off");
    end(&run);
}

static void of_other_recorders_it_is_not_known(void)
{
    struct run run;
    begin(&run);
    for (int64_t i = 0; i < ROUNDS; i++) {
        two_operators(&run, i * 400);
        launch(&run, i, i * 400 + 200, 40);
    }
    run.trace->writer = "Nsight Systems";
    analyze(&run);
    is_int(at(&run, "verdict.host.recording_us")->type, AP_VALUE_NULL, "only PyTorch's profiler was measured");
    end(&run);
}

static void check_sentence(struct run *run, const char *bound, const char *aside)
{
    analyze(run);
    is_text(ap_value_text(at(run, "verdict.bound")), bound, "what bounds it without the recording");
    ok(ap_text_contains(ap_value_text(at(run, "verdict.sentence")), ap_text_of(aside)), "who waits for what is told");
    end(run);
}

static void prepare(struct run *run, int64_t start)
{
    for (int64_t k = 0; k < 4; k++)
        two_operators(run, start + k * 60);
}

/* Of each round of 60 us it works 33; of the rest, 24 us are the recording's. */
static void a_device_that_only_recording_holds_up_bounds_the_run(void)
{
    struct run run;
    begin(&run);
    for (int64_t i = 0; i < ROUNDS; i++) {
        prepare(&run, i * 600);
        launch(&run, i, i * 600 + 300, 330);
    }
    check_sentence(&run, "GPU-bound", "; it waits for the host for some 696 us more that are the recording's own cost");
}

/* Of each round of 300 us a collective runs for 118 and three products for 18; the device waits for the host for most of
 * the rest. */
static void a_device_waits_beside_collectives(void)
{
    struct run run;
    begin(&run);
    for (int64_t i = 0; i < ROUNDS; i++) {
        ap_link_key link = (ap_link_key)(4 * i + 4);
        for (int64_t k = 0; k < 3; k++) {
            prepare(&run, i * 3000 + k * 600);
            launch(&run, 4 * i + k, i * 3000 + k * 600 + 300, 60);
        }
        call(&run, "1", "cudaLaunchKernel", i * 3000 + 1620, 60, link);
        work_on(&run, "7", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", KERNEL, i * 3000 + 1720, 1180, link);
    }
    check_sentence(&run, "communication-bound", "; the device waits for the host for some ");
}

/* Steps of 100 us in which the device waits for 20, but some of 300 us in which it waits for 220. @more_rows: in those. */
static void add_steps(struct run *run, bool more_rows)
{
    int64_t start = 0;
    for (int64_t i = 0; i < 6; i++) {
        int64_t longer = i == 2 || i == 4 ? 2000 : 0;
        (void)row(run, "1", "ProfilerStep#1", ANNOTATION, start, 1000 + longer);
        (void)row(run, "1", "aten::mul", OPERATOR, start + 10, 80 + longer);
        if (longer && more_rows)
            (void)row(run, "1", "aten::item", OPERATOR, start + 20, 10);
        call(run, "1", "cudaLaunchKernel", start + 100 + longer, 60, (ap_link_key)i + 1);
        work_on(run, "7", "sgemm", KERNEL, start + 200 + longer, 800, (ap_link_key)i + 1);
        start += 1000 + longer;
    }
}

static void what_only_some_of_equal_steps_have_is_told_apart(void)
{
    struct run run;
    begin(&run);
    add_steps(&run, false);
    analyze(&run);
    is_int(ap_value_integer(at(&run, "verdict.host.dur_us"), 0), 520000, "all of it");
    is_int(ap_value_integer(at(&run, "verdict.host.uneven_us"), 0), 400000, "what is more than in the second quickest step");
    is_int(ap_value_integer(at(&run, "verdict.host.own_us"), 0), 120000, "what each step has");
    end(&run);
}

static void steps_that_do_more_may_take_longer(void)
{
    struct run run;
    begin(&run);
    add_steps(&run, true);
    analyze(&run);
    is_int(ap_value_integer(at(&run, "verdict.host.uneven_us"), -1), 0, "nothing is told apart");
    is_int(ap_value_integer(at(&run, "verdict.host.own_us"), 0), 520000, "all of it is the host's own");
    end(&run);
}

int main(void)
{
    what_only_some_of_equal_steps_have_is_told_apart();
    steps_that_do_more_may_take_longer();
    each_wait_for_the_host_is_longer_by_its_rows();
    work_that_is_queued_hides_it();
    a_wait_for_the_device_hides_what_came_before();
    rows_cost_at_most_half_of_the_time();
    without_such_operators_it_is_not_known();
    of_other_recorders_it_is_not_known();
    a_device_that_only_recording_holds_up_bounds_the_run();
    a_device_waits_beside_collectives();
    return done();
}
