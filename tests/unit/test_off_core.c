/* SPDX-License-Identifier: MIT
 * test_off_core.c - threads that stood still in code where nothing is waited for. Times are in us. */
#include "typed_trace.h"

#define ROUNDS 40
#define ROUND 100
#define STILL 4000

/* What stands out in a round: it takes 4 ms more there. */
struct odd {
    int64_t round;
    const char *in;
};

/* Rounds of 100 us: views, an operator that computes on the host, a Python frame, and a launch. */
static void add_rounds(struct run *run, const struct odd *odd, size_t odd_count)
{
    static const char *const names[] = { "aten::view", "aten::t", "aten::expand", "aten::sort", "main.py(3): train" };
    int64_t start = 0;
    for (int64_t i = 0; i < ROUNDS; i++) {
        int64_t at = start, launch = 6;
        for (size_t k = 0; k < AP_COUNT_OF(names); k++) {
            int64_t dur = 2;
            for (size_t o = 0; o < odd_count; o++)
                dur += odd[o].round == i && strcmp(odd[o].in, names[k]) == 0 ? STILL : 0;
            (void)row(run, "1", names[k], k == 4 ? PYTHON : OPERATOR, at, dur);
            at += dur + 3;
        }
        for (size_t o = 0; o < odd_count; o++)
            launch += odd[o].round == i && strcmp(odd[o].in, "cudaLaunchKernel") == 0 ? STILL : 0;
        call(run, "1", "cudaLaunchKernel", at, launch, (ap_link_key)i + 1);
        work_on(run, "7", "sgemm", KERNEL, at + launch + 4, 10, (ap_link_key)i + 1);
        start = at + launch + ROUND;
    }
}

static void is_off(const struct odd *odd, size_t odd_count, int64_t count, int64_t us, const char *what)
{
    struct run run;
    begin(&run);
    add_rounds(&run, odd, odd_count);
    analyze(&run);
    is_int(ap_value_integer(at(&run, "verdict.host.off_core.count"), -1), count, what);
    int64_t off_us = ap_value_integer(at(&run, "verdict.host.off_core_us"), -1) / 1000;
    ok(off_us >= us - us / 100 && off_us <= us, what);
    int64_t all_us = ap_value_integer(at(&run, "verdict.host.off_core.total_us"), 0) / 1000;
    ok(all_us >= off_us && all_us <= us, "no less than devices waited for it");
    end(&run);
}

static void views_that_take_milliseconds_tell_of_a_thread_that_stood_still(void)
{
    static const struct odd odd[] = { { 5, "aten::view" }, { 12, "aten::t" }, { 30, "aten::expand" } };
    is_off(odd, AP_COUNT_OF(odd), 3, 3 * STILL, "three views of three names");
    is_off(odd, 2, 0, 0, "two are too few");
}

/* Room for its rows, or a kernel that is loaded: the profiler says so itself. */
static void what_the_profiler_does_is_no_standing_still(void)
{
    static const struct odd odd[] = { { 5, "aten::view" }, { 12, "aten::t" }, { 30, "aten::expand" } };
    for (int own = 0; own < 2; own++) {
        struct run run;
        begin(&run);
        add_rounds(&run, odd, AP_COUNT_OF(odd));
        for (uint32_t i = 0, count = (uint32_t)run.trace->events.count; i < count && own; i++)
            if (run.trace->events.dur_ns[i] >= STILL * TYPED_UNIT_NS)
                (void)row(&run, "profiler", "Activity Buffer Request", AP_KIND_overhead | AP_ROW_X,
                          run.trace->events.start_ns[i] / TYPED_UNIT_NS + 10, STILL - 20);
        analyze(&run);
        is_int(ap_value_integer(at(&run, "verdict.host.off_core.count"), -1), own ? 0 : 3, "none of those with such a row");
        end(&run);
    }
}

static void of_one_name_it_may_have_a_cause_of_its_own(void)
{
    static const struct odd odd[] = {
        { 5, "aten::view" }, { 12, "aten::view" }, { 20, "aten::view" }, { 30, "aten::view" }
    };
    is_off(odd, AP_COUNT_OF(odd), 0, 0, "one name");
}

static void what_may_work_or_wait_tells_nothing_by_itself(void)
{
    static const struct odd odd[] = { { 5, "aten::sort" },
                                      { 12, "main.py(3): train" },
                                      { 20, "cudaLaunchKernel" },
                                      { 25, "main.py(3): train" },
                                      { 30, "cudaLaunchKernel" } };
    is_off(odd, AP_COUNT_OF(odd), 0, 0, "collection of garbage, locks, work on the host");
}

static void what_stands_out_elsewhere_is_the_same_as_far_as_it_is_as_likely(void)
{
    static const struct odd odd[] = {
        { 5, "aten::view" }, { 12, "aten::t" }, { 30, "aten::expand" }, { 17, "aten::sort" }, { 20, "cudaLaunchKernel" }
    };
    is_off(odd, AP_COUNT_OF(odd), 3, 5 * STILL, "beside views");
}

/* Each view takes 4 ms: that is what it takes. */
static void what_all_equals_have_is_no_standing_still(void)
{
    struct odd odd[3 * ROUNDS / 2];
    static const char *const names[] = { "aten::view", "aten::t", "aten::expand" };
    for (size_t i = 0; i < AP_COUNT_OF(odd); i++)
        odd[i] = (struct odd){ 2 * (int64_t)(i / 3), names[i % 3] };
    is_off(odd, AP_COUNT_OF(odd), 0, 0, "every other one");
}

/* A thread that hands on what is put into a queue waits for as long as nothing is, with a lock. */
static void what_waits_for_a_lock_is_no_standing_still(void)
{
    static const struct odd odd[] = { { 5, "aten::view" }, { 12, "aten::t" }, { 30, "aten::expand" } };
    for (int works = 0; works < 2; works++) { /* without a lock it is some work of its own */
        struct run run;
        begin(&run);
        add_rounds(&run, odd, AP_COUNT_OF(odd));
        for (int64_t i = 0; i < ROUNDS; i++)
            (void)row(&run, "2", works ? "<built-in function dumps>" : "<built-in method acquire of _thread.lock>", PYTHON,
                      i * 2 * ROUND, i == ROUNDS - 1 ? STILL : 20);
        analyze(&run);
        int64_t all_us = ap_value_integer(at(&run, "verdict.host.off_core.total_us"), 0) / 1000;
        ok(works == (all_us > 3 * STILL), "a wait for a lock");
        end(&run);
    }
}

/* A thread beside that loads batches ahead of the loop stands still, and nothing waits for it. */
static void without_a_device_it_is_what_the_loop_stood_still(void)
{
    static const char *const names[] = { "aten::view", "aten::t", "aten::expand", "aten::sort" };
    struct run run;
    begin(&run);
    for (int thread = 0; thread < 2; thread++)
        for (int64_t i = 0, from = 0; i < 4 * ROUNDS; i++) {
            int64_t dur = 20 + (i % 4 != 3 && i / 4 == 9 ? STILL : 0);
            (void)row(&run, thread ? "2" : "1", names[i % 4], OPERATOR, from, dur);
            from += dur + 1;
        }
    analyze(&run);
    int64_t off_us = ap_value_integer(at(&run, "verdict.host.off_core_us"), -1) / 1000;
    is_int(ap_value_integer(at(&run, "verdict.host.off_core.count"), -1), 6, "three of each thread");
    ok(off_us > 2 * STILL, "some time");
    is_int(ap_value_integer(at(&run, "verdict.host.off_core.total_us"), 0) / 1000, off_us, "of one thread at a time");
    end(&run);
}

int main(void)
{
    views_that_take_milliseconds_tell_of_a_thread_that_stood_still();
    what_the_profiler_does_is_no_standing_still();
    of_one_name_it_may_have_a_cause_of_its_own();
    what_may_work_or_wait_tells_nothing_by_itself();
    what_stands_out_elsewhere_is_the_same_as_far_as_it_is_as_likely();
    what_all_equals_have_is_no_standing_still();
    what_waits_for_a_lock_is_no_standing_still();
    without_a_device_it_is_what_the_loop_stood_still();
    return done();
}
