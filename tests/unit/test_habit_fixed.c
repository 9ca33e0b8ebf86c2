/* SPDX-License-Identifier: MIT
 * What is computed of a counter alone in each step, and orders that are cut, without sizes: traces typed by hand. */
#include "typed_habits.h"

#define ONE "[\"float\",\"Scalar\"]"
#define TWO "[\"float\",\"float\"]"

/* A table of 64 by 459 angles, of two counters. @last: what the last operator is called with. */
static void table(struct run *run, int64_t at_us, const char *second, const char *last)
{
    op(run, "aten::arange", at_us, 10, 0);
    op_with(run, "aten::unsqueeze", at_us + 10, 10, 0, "[[459],[]]", ONE);
    op_with(run, "aten::div", at_us + 20, 10, 0, "[[1,459],[]]", ONE);
    op(run, second, at_us + 30, 10, 0);
    op_with(run, "aten::unsqueeze", at_us + 40, 10, 0, "[[64],[]]", ONE);
    op_with(run, "aten::mul", at_us + 50, 10, 0, "[[64,1],[1,459]]", TWO);
    op_with(run, "aten::sin", at_us + 60, 10, 0, last, ONE);
    op_with(run, "aten::conv1d", at_us + 70, 10, 0, "[[4,1,8000],[64,1,459]]", TWO);
}

static void step(struct run *run, int number)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "ProfilerStep#%d", number);
    row(run, "1", name, ANNOTATION, number * 1000, 1000);
}

static void what_a_counter_makes_in_each_step_is_told(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 4; i++) {
        step(&run, i);
        table(&run, i * 1000 + 100, "aten::arange", "[[64,459]]");
    }
    analyze(&run);
    is_int(habit(&run, "constants", "count"), 4, "one in each step");
    is_int(habit(&run, "constants", "total_us"), 4 * 70, "from the counter to the last that it alone goes into");
    is_int(habit(&run, "constants", "saves_us"), 4 * 70, "one may be made before the loop");
    end(&run);
}

/* Of these each step has one: it may be another. */
static void what_data_goes_into_is_none(void)
{
    static const struct {
        const char *second, *last, *before, *about;
    } tries[] = {
        { "aten::rand", "[[64,459]]", NULL, "numbers are drawn" },
        { "aten::ones", "[[64,459]]", NULL, "something of its size is to be filled" },
        { "aten::arange", "[[64,459]]", "[[64,459],[]]", "as many numbers were there before" },
        { "aten::arange", "[[64,459]]", "[[64],[]]", "so were as many rows" },
    };
    for (size_t k = 0; k < AP_COUNT_OF(tries); k++) {
        struct run run;
        begin(&run);
        for (int i = 0; i < 4; i++) {
            step(&run, i);
            if (tries[k].before)
                op_with(&run, "aten::mul", i * 1000 + 10, 10, 0, tries[k].before, ONE);
            table(&run, i * 1000 + 100, tries[k].second, tries[k].last);
        }
        analyze(&run);
        is_int(habit(&run, "constants", "count"), 0, tries[k].about);
        end(&run);
    }
}

/* One of 4000 numbers. */
static void counter_from(struct run *run, int64_t at_us, int from)
{
    struct ap_op_told detail = { .sequence = 0 };
    char numbers[60];
    (void)snprintf(numbers, sizeof(numbers), "[\"%d\",\"%d\"]", from, from + 4000);
    row(run, "1", "aten::arange", OPERATOR, at_us, 10);
    if (ap_trace_join_signature(run->trace, ap_text_of("[[],[]]"), ap_text_of("[\"Scalar\",\"Scalar\"]"), &detail.signature,
                                NULL) != AP_OK ||
        ap_trace_join_signature(run->trace, ap_text_of("[[],[]]"), ap_text_of(numbers), &detail.arguments, NULL) != AP_OK ||
        ap_trace_add_op_detail(run->trace, detail, NULL) != AP_OK)
        abort();
}

/* A counter that something goes into at once, and that begins so much higher in each step; @dims, @types: of that. */
static uint64_t counters(int higher, const char *dims, const char *types)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 4; i++) {
        step(&run, i);
        counter_from(&run, i * 1000 + 100, higher * i);
        op_with(&run, "aten::mul", i * 1000 + 110, 10, 0, dims, types);
        for (int k = 2; k < 9; k++)
            op_with(&run, "aten::sin", i * 1000 + 100 + 10 * k, 10, 0, "[[1,4000]]", "[\"float\"]");
    }
    analyze(&run);
    uint64_t count = (uint64_t)habit(&run, "constants", "count");
    end(&run);
    return count;
}

static void data_that_a_counter_goes_into_is_none(void)
{
    is_int(counters(0, "[[4000],[]]", "[\"long int\",\"double\"]"), 4, "a plain number");
    is_int(counters(4000, "[[4000],[]]", "[\"long int\",\"double\"]"), 0, "a time that goes on");
    is_int(counters(0, "[[1,4000],[4000]]", "[\"float\",\"long int\"]"), 0, "samples of a sound that are faded in");
    is_int(counters(0, "[[1,1],[1,4000]]", TWO), 0, "a time that comes with the data");
    is_int(counters(0, "[[4000],[]]", "[\"long int\",\"float\"]"), 0, "a pitch without dimensions");
}

static void of_sizes_that_change_none_is_told(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 4; i++) {
        char sizes[4][32];
        step(&run, i);
        int64_t at_us = i * 1000 + 100;
        (void)snprintf(sizes[0], sizeof(sizes[0]), "[[%d],[]]", 4000 + i);
        op(&run, "aten::arange", at_us, 10, 0);
        for (int k = 1; k < 8; k++)
            op_with(&run, "aten::mul", at_us + 10 * k, 10, 0, sizes[0], ONE);
    }
    analyze(&run);
    is_int(habit(&run, "constants", "count"), 0, "as many as the batch has");
    end(&run);
}

/* What follows an order, without sizes. */
static uint64_t sorts(const char *const *names)
{
    struct run run;
    begin(&run);
    for (int i = 0; names[i]; i++)
        op(&run, names[i], i * 100, 90, 0);
    analyze(&run);
    uint64_t count = (uint64_t)habit(&run, "whole_sort", "count");
    end(&run);
    return count;
}

static void an_order_that_is_cut_is_told_by_names(void)
{
    static const char *const best[] = { "aten::matmul", "aten::argsort", "aten::slice", "aten::eq", "aten::any", NULL };
    static const char *const split[] = { "aten::matmul", "aten::argsort", "aten::slice", "aten::add", "aten::slice", NULL };
    static const char *const back[] = {
        "aten::rand", "aten::argsort", "aten::slice", "aten::argsort", "aten::gather", NULL
    };
    static const char *const ranks[] = {
        "aten::rand", "aten::argsort", "aten::argsort", "aten::slice", "aten::gather", NULL
    };
    static const char *const whole[] = {
        "aten::matmul", "aten::argsort", "aten::gather", "aten::cumsum", "aten::slice", NULL
    };
    is_int(sorts(best), 1, "the best few");
    is_int(sorts(split), 0, "both parts are taken");
    is_int(sorts(back), 0, "the order is turned round");
    is_int(sorts(ranks), 0, "ranks of ranks");
    is_int(sorts(whole), 0, "all that was sorted is gathered");
}

int main(void)
{
    what_a_counter_makes_in_each_step_is_told();
    what_data_goes_into_is_none();
    data_that_a_counter_goes_into_is_none();
    of_sizes_that_change_none_is_told();
    an_order_that_is_cut_is_told_by_names();
    return done();
}
