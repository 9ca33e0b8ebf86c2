/* SPDX-License-Identifier: MIT
 * Memory as a trace tells it: devices and peaks, owners, phases, steps, typed by hand; and a random allocator. */
#include <stdlib.h>
#include <string.h>

#include "random.h"

#define RUN_MORE       \
    int64_t allocated; \
    uint64_t address; /* what the totals of instants tell */
#include "typed_trace.h"
#include "trace.h"

#define CUDA 1
#define CPU 0

static uint32_t track_of(struct run *run, const char *thread)
{
    uint32_t track;
    if (ap_trace_track(run->trace, AP_TEXT("1"), false, ap_text_of(thread), false, &track, NULL) != AP_OK)
        abort();
    return track;
}

static void instant(struct run *run, const char *thread, struct ap_memory_event event)
{
    event.track = track_of(run, thread);
    if (ap_trace_add_memory_event(run->trace, event, NULL) != AP_OK)
        abort();
}

/* On GPU 0, with totals. */
static void gpu(struct run *run, int64_t at_us, int64_t bytes, uint64_t address)
{
    run->allocated += bytes;
    instant(run, "1",
            (struct ap_memory_event){ .start_ns = at_us * 1000,
                                      .bytes = bytes,
                                      .total_allocated_bytes = run->allocated,
                                      .total_reserved_bytes = 10000,
                                      .address = address,
                                      .device_type = CUDA });
}

/* As in 2021. */
static void bare(struct run *run, int64_t at_us, int type, int id, int64_t bytes)
{
    instant(run, "1",
            (struct ap_memory_event){ .start_ns = at_us * 1000,
                                      .bytes = bytes,
                                      .total_allocated_bytes = -1,
                                      .total_reserved_bytes = -1,
                                      .device_type = (int8_t)type,
                                      .device_id = (int16_t)id });
}

static void device(struct run *run, int64_t memory_bytes)
{
    struct ap_trace *trace = run->trace;
    if (ap_mem_reserve(&run->gate, (void **)&trace->devices, &trace->device_capacity, 1, sizeof(trace->devices[0]), NULL) !=
        AP_OK)
        abort();
    trace->devices[0] = (struct ap_device_properties){ .memory_bytes = memory_bytes };
    trace->device_count = 1;
}

static enum ap_status analyze_quietly(struct run *run, uint64_t top_n)
{
    struct ap_part_options options = { .path = "typed by hand", .top_n = top_n };
    struct ap_error error = { .status = AP_OK };
    return analyze_trace(run->trace, &options, &run->notes, &run->model, &error);
}

static bool is_true(const struct run *run, const char *path)
{
    const struct ap_value *value = at(run, path);
    return value && value->type == AP_VALUE_BOOL && value->as.integer;
}

static int64_t cell(const struct ap_value *item, const char *key)
{
    return ap_value_integer(ap_value_member(item, key), -12345);
}

static size_t length(const struct run *run, const char *list)
{
    size_t count = 0;
    for (const struct ap_value *item = ap_value_first(at(run, list)); item; item = item->next)
        count++;
    return count;
}

/* -------------------------------------------------------------------------------------------------------- devices */

static void totals_tell_what_was_there_before(void)
{
    struct run run;
    begin(&run);
    run.allocated = 5000;
    device(&run, 20000);
    row(&run, "1", "aten::linear", OPERATOR, 0, 20);
    row(&run, "1", "aten::addmm", OPERATOR, 5, 10);
    gpu(&run, 6, 1000, 7);
    gpu(&run, 7, 300, 8);
    gpu(&run, 18, -1000, 7);
    gpu(&run, 30, -2000, 9); /* from before the recording, outside all operators */
    analyze(&run);
    is_int(number(&run, "trace_memory.gpu.peak_allocated_bytes"), 6300, "the peak holds what was there before");
    is_int(number(&run, "trace_memory.gpu.peak_over_start_bytes"), 1300, "and rises over that");
    is_int(number(&run, "trace_memory.gpu.slack_at_peak_bytes"), 3700, "reserved and not allocated then");
    is_int(number(&run, "trace_memory.gpu.capacity_bytes"), 20000, "the device's memory");
    double ratio = 0;
    (void)ap_value_number(at(&run, "trace_memory.gpu.peak_capacity_ratio"), &ratio);
    ok(ratio == 0.5, "reserved against the capacity");
    const struct ap_value *first = ap_value_first(at(&run, "trace_memory.devices"));
    is_int(cell(first, "start_allocated_bytes"), 5000, "the start");
    is_int(cell(first, "end_allocated_bytes"), 3300, "the end");
    is_int(cell(first, "unexplained_changes"), 0, "every change is explained");
    is_int(cell(first, "peak_allocated_at_us"), 7000, "when it was");
    ok(ap_text_is(ap_value_text(ap_value_member(ap_value_member(first, "peak"), "operator")), "aten::addmm"),
       "what ran then");
    const struct ap_value *addmm = find(&run, "trace_memory.operators", "name", "aten::addmm");
    is_int(cell(addmm, "allocated_bytes"), 1300, "the innermost operator allocates");
    is_int(cell(addmm, "alive_at_peak_bytes"), 1300, "all of it is held at the peak");
    is_int(cell(addmm, "alive_at_end_bytes"), 300, "what is not freed is held at the end");
    is_int(cell(ap_value_member(addmm, "largest"), "start_us"), 5000, "its largest stands in this row");
    const struct ap_value *linear = find(&run, "trace_memory.operators", "name", "aten::linear");
    is_int(cell(linear, "freed_bytes"), 1000, "another operator frees");
    ok(ap_value_member(linear, "largest")->type == AP_VALUE_NULL, "and allocates nothing");
    const struct ap_value *caller = find(&run, "trace_memory.callers", "name", "aten::linear");
    is_int(cell(caller, "net_bytes"), 300, "the program called one operator");
    ok(is_null(&run, "trace_memory.modules") && is_null(&run, "trace_memory.per_step"), "no modules, no steps");
    end(&run);
}

static void without_totals_sizes_count_from_the_first_instant(void)
{
    struct run run;
    begin(&run);
    bare(&run, 4, CUDA, 0, 100);
    bare(&run, 1, CUDA, 0, -250); /* file order is not order of time */
    bare(&run, 6, CUDA, 0, 50);
    bare(&run, 2, CPU, -1, 900);
    bare(&run, 2, CUDA, 1, 10);
    analyze(&run);
    is_int((int64_t)length(&run, "trace_memory.devices"), 3, "two GPUs and the CPU");
    const struct ap_value *first = ap_value_first(at(&run, "trace_memory.devices"));
    ok(ap_value_member(first, "relative")->as.integer, "the curve is relative");
    is_int(cell(first, "peak_at_least_bytes"), 250, "so much was held before the first instant");
    is_int(cell(first, "peak_over_start_bytes"), 0, "the start is the highest point");
    is_int(cell(first, "end_allocated_bytes"), -100, "and the end is below it");
    ok(ap_value_member(first, "peak")->type == AP_VALUE_NULL && is_null(&run, "trace_memory.gpu.peak_allocated_bytes"),
       "the peak itself is not known");
    ok(is_null(&run, "trace_memory.gpu.peak_reserved_bytes") && is_null(&run, "trace_memory.gpu.peak_capacity_ratio"),
       "nor what was reserved");
    is_int(cell(first->next, "peak_at_least_bytes"), 900, "other devices by size");
    ok(ap_value_member(ap_value_first(at(&run, "trace_memory.operators")), "name")->type == AP_VALUE_NULL,
       "without rows nobody is the owner");
    end(&run);
}

static void other_traces(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "aten::add", OPERATOR, 0, 5);
    analyze(&run);
    ok(is_null(&run, "trace_memory"), "a trace without instants");
    end(&run);
    begin(&run);
    row(&run, "1", "aten::add", OPERATOR, 0, 5);
    bare(&run, 2, CPU, -1, 64);
    analyze(&run);
    ok(is_null(&run, "trace_memory.gpu"), "of the CPU alone");
    is_int(number(&run, "trace_memory.events"), 1, "one instant");
    end(&run);
    begin(&run);
    gpu(&run, 1, 100, 5);
    run.allocated += 40; /* an instant is missing */
    gpu(&run, 2, 100, 6);
    instant(&run, "1",
            (struct ap_memory_event){ .start_ns = 3000,
                                      .bytes = 4096,
                                      .total_allocated_bytes = 240,
                                      .total_reserved_bytes = 10000,
                                      .device_type = CUDA,
                                      .out_of_memory = true });
    analyze(&run);
    const struct ap_value *first = ap_value_first(at(&run, "trace_memory.devices"));
    is_int(cell(first, "unexplained_changes"), 1, "a change that no instant explains");
    is_int(cell(first, "end_allocated_bytes"), 240, "the totals are believed, and a request that failed adds nothing");
    const struct ap_value *failed = ap_value_first(at(&run, "trace_memory.out_of_memory"));
    is_int(cell(failed, "requested_bytes"), 4096, "what was asked for");
    is_int(cell(failed, "reserved_bytes"), 10000, "and what was held then");
    end(&run);
}

static void owners_without_operators(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "train.py(3): main", PYTHON, 0, 100);
    row(&run, "1", "nn.Module: Net_0", PYTHON, 10, 50);
    row(&run, "1", "nn.Module: Linear_4", PYTHON, 20, 10);
    row(&run, "1", "aten::empty", OPERATOR, 22, 2);
    row(&run, "1", "nn.Module: Linear_5", PYTHON, 30, 10);
    row(&run, "1", "scope", ANNOTATION, 70, 10);
    gpu(&run, 24, 10, 1); /* at the end of the operator, as whole microseconds have it */
    gpu(&run, 31, 20, 2);
    gpu(&run, 45, 40, 3);
    gpu(&run, 75, 80, 4);
    gpu(&run, 95, 160, 5);
    analyze(&run);
    is_int(cell(find(&run, "trace_memory.operators", "name", "aten::empty"), "allocated_bytes"), 10, "an operator");
    is_int(cell(find(&run, "trace_memory.operators", "name", "scope"), "allocated_bytes"), 80, "else an annotation");
    const struct ap_value *line = find(&run, "trace_memory.operators", "name", "train.py(3): main");
    is_int(cell(line, "allocated_bytes"), 220, "else the user's line");
    ok(ap_text_is(ap_value_text(ap_value_member(line, "kind")), "python"), "and its kind");
    is_int(cell(find(&run, "trace_memory.modules", "path", "Net/Linear"), "allocated_bytes"), 30, "alike modules are one");
    is_int(cell(find(&run, "trace_memory.modules", "path", "Net"), "allocated_bytes"), 40, "less what is below");
    is_int(cell(ap_value_first(at(&run, "trace_memory.modules")), "allocated_bytes"), 240, "and what is outside");
    end(&run);
}

/* ----------------------------------------------------------------------------------------------------------- steps */

/* 100 long: input 10, forward keeps 100, loss 5, backward leaves 30 (the first time), optimizer keeps 60 (likewise), and
 * a leak. Activations are freed in backward, the loss and the input at the end. */
static void training_step(struct run *run, int64_t at_us, bool first, int64_t leak)
{
    row(run, "1", "ProfilerStep#5", ANNOTATION, at_us, 100);
    row(run, "1", "aten::to", OPERATOR, at_us + 2, 4);
    row(run, "1", "aten::copy_", OPERATOR, at_us + 3, 2);
    gpu(run, at_us + 4, 10, 1);
    row(run, "1", "aten::linear", OPERATOR, at_us + 10, 10);
    gpu(run, at_us + 12, 100, 2);
    gpu(run, at_us + 13, 500, 3);
    gpu(run, at_us + 14, -500, 3);
    row(run, "1", "aten::cross_entropy_loss", OPERATOR, at_us + 22, 4);
    gpu(run, at_us + 23, 5, 4);
    row(run, "1", "autograd::engine::evaluate_function: MmBackward0", OPERATOR, at_us + 30, 20);
    if (first)
        gpu(run, at_us + 32, 30, 5);
    gpu(run, at_us + 40, -100, 2);
    row(run, "1", "Optimizer.step#Adam.step", ANNOTATION, at_us + 60, 10);
    if (first)
        gpu(run, at_us + 62, 60, 6);
    row(run, "1", "Optimizer.zero_grad#Adam.zero_grad", ANNOTATION, at_us + 80, 5);
    gpu(run, at_us + 92, -5, 4);
    gpu(run, at_us + 93, -10, 1);
    if (leak)
        gpu(run, at_us + 95, leak, (uint64_t)at_us + 1000);
}

static void phases_tell_what_they_keep(void)
{
    struct run run;
    begin(&run);
    run.allocated = 1000;
    training_step(&run, 0, true, 0);
    training_step(&run, 100, false, 0);
    analyze(&run);
    const struct ap_value *data = find(&run, "trace_memory.phases", "phase", "data on the device");
    is_int(cell(data, "delta_bytes"), 10, "copies before all else bring the input");
    is_int(cell(data, "allocated_bytes"), 20, "in both steps");
    const struct ap_value *forward = find(&run, "trace_memory.phases", "phase", "forward");
    is_int(cell(forward, "delta_bytes"), 100, "forward keeps activations");
    is_int(cell(forward, "peak_bytes"), 1655, "and for a while more: 1,610 and 1,700 in the mean");
    is_int(cell(find(&run, "trace_memory.phases", "phase", "loss"), "delta_bytes"), 5, "the loss is apart");
    is_int(cell(find(&run, "trace_memory.phases", "phase", "backward"), "delta_bytes"), -85, "backward frees them");
    is_int(cell(find(&run, "trace_memory.phases", "phase", "optimizer"), "delta_bytes"), 30, "60 once in two steps");
    is_int(cell(find(&run, "trace_memory.phases", "phase", "zero_grad"), "delta_bytes"), 0, "nothing happens there");
    is_int(cell(find(&run, "trace_memory.phases", "phase", "start"), "at_start_allocated_bytes"), 1045, "1,000 and 1,090");
    is_int(number(&run, "trace_memory.gpu.activations_bytes"), 105, "from forward to backward, the loss included");
    is_int(number(&run, "trace_memory.gpu.gradients_bytes"), 35,
           "what the first backward leaves, with the loss still there");
    is_int(number(&run, "trace_memory.gpu.optimizer_state_bytes"), 60, "what the first optimizer step leaves");
    is_int((int64_t)length(&run, "trace_memory.jumps"), 3, "three hypotheses");
    is_int(number(&run, "trace_memory.gpu.churn_bytes_per_step"), 660, "705 and 615");
    ok(is_null(&run, "trace_memory.gpu.growth_bytes_per_step") && is_null(&run, "trace_memory.gpu.leak_suspected"),
       "two steps tell of no growth");
    const struct ap_value *step = ap_value_first(at(&run, "trace_memory.per_step.items"));
    is_int(cell(step, "peak_allocated_bytes"), 1610, "the peak of the first step");
    ok(ap_text_is(ap_value_text(ap_value_member(step, "peak_phase")), "forward"), "in forward");
    is_int(cell(step, "net_bytes"), 90, "what it leaves");
    int64_t net = 0;
    for (const struct ap_value *item = ap_value_first(at(&run, "trace_memory.phases")); item; item = item->next)
        net += cell(item, "net_bytes");
    is_int(net, 90, "the parts add up to the whole");
    end(&run);
}

static void leaks_grow_in_every_step(void)
{
    static const struct {
        int64_t leak[6];
        bool suspected;
        int64_t growth;
        const char *claim;
    } runs[] = {
        { { 7, 7, 7, 7, 7, 7 }, true, 7, "the same in every step" },
        { { 0, 0, 0, 0, 0, 0 }, false, 0, "nothing" },
        { { 64, 32, 1, 1, 1, 1 }, false, 17, "a warm-up that levels off" },
        { { 9, 9, 0, 9, 9, 9 }, false, 7, "a step that does not grow" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(runs); i++) {
        struct run run;
        begin(&run);
        run.allocated = 1000;
        for (int step = 0; step < 6; step++)
            training_step(&run, 100 * step, false, runs[i].leak[step]);
        analyze(&run);
        ok(is_true(&run, "trace_memory.gpu.leak_suspected") == runs[i].suspected, runs[i].claim);
        is_int(number(&run, "trace_memory.gpu.growth_bytes_per_step"), runs[i].growth, "its slope");
        int64_t over = number(&run, "trace_memory.gpu.growth_bytes") - 6 * runs[i].growth;
        ok(over >= -3 && over <= 3, "and that over all six steps, to half a byte each");
        is_int(number(&run, "trace_memory.per_step.growth_bytes"), number(&run, "trace_memory.gpu.growth_bytes"),
               "twice told");
        end(&run);
    }
}

static void growth_is_told_where_few_steps_are_steady(void)
{
    static const int64_t dur_us[] = { 300, 250, 240, 100, 100, 100 };
    struct run run;
    int64_t at_us = 0;
    begin(&run);
    run.allocated = 1000;
    for (size_t i = 0; i < AP_COUNT_OF(dur_us); i++) {
        row(&run, "1", "ProfilerStep#5", ANNOTATION, at_us, dur_us[i]);
        row(&run, "1", "aten::relu", OPERATOR, at_us + 10, 20);
        gpu(&run, at_us + 15, 7, i + 1);
        at_us += dur_us[i];
    }
    analyze(&run);
    is_int(number(&run, "trace_memory.per_step.steady_steps"), 3, "three are steady");
    is_int(number(&run, "trace_memory.per_step.growth_bytes_per_step"), 7, "what grows does so in the others too");
    is_int(number(&run, "trace_memory.per_step.growth_bytes"), 42, "in all six");
    ok(is_true(&run, "trace_memory.per_step.leak_suspected"), "and without levelling off");
    end(&run);
}

static void frees_between_backward_nodes_are_of_backward(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "ProfilerStep#1", ANNOTATION, 0, 100);
    row(&run, "1", "aten::mm", OPERATOR, 10, 10);
    gpu(&run, 12, 100, 1);
    row(&run, "2", "autograd::engine::evaluate_function: MmBackward0", OPERATOR, 30, 10);
    row(&run, "2", "autograd::engine::evaluate_function: MmBackward0", OPERATOR, 50, 10);
    instant(&run, "2",
            (struct ap_memory_event){
                .start_ns = 45000, .bytes = -100, .total_allocated_bytes = 0, .address = 1, .device_type = CUDA });
    analyze(&run);
    is_int(cell(find(&run, "trace_memory.phases", "phase", "backward"), "freed_bytes"), 100, "on the thread of backward");
    end(&run);
}

/* ------------------------------------------------------------------------------------------------- random, hostile */

#define SLOTS 40

static void a_random_allocator_is_followed(void)
{
    static int64_t values[5000];
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct run run;
        struct random random = { seed };
        int64_t held[SLOTS] = { 0 }, peak, least, allocated = 0;
        size_t count = 300 + 200 * (size_t)seed;
        begin(&run);
        run.allocated = peak = least = 100000;
        for (size_t i = 0; i < count; i++) {
            size_t slot = random_below(&random, SLOTS);
            int64_t bytes = held[slot] ? -held[slot] : (int64_t)random_below(&random, 1000) + 1;
            gpu(&run, (int64_t)i, bytes, slot + 1);
            held[slot] = bytes > 0 ? bytes : 0;
            allocated += bytes > 0 ? bytes : 0;
            values[i] = run.allocated;
            peak = run.allocated > peak ? run.allocated : peak;
            least = run.allocated < least ? run.allocated : least;
        }
        bool runs = analyze_quietly(&run, 0) == AP_OK;
        int64_t alive = 0, shown_peak = 0, shown_least = INT64_MAX, last_us = -1;
        for (size_t slot = 0; slot < SLOTS; slot++)
            alive += held[slot];
        const struct ap_value *first = ap_value_first(at(&run, "trace_memory.devices"));
        size_t points = 0;
        bool in_order = true;
        for (const struct ap_value *point = ap_value_first(ap_value_member(first, "timeline")); point; point = point->next) {
            int64_t at_us = cell(point, "at_us") / 1000, value = cell(point, "allocated_bytes");
            in_order = in_order && at_us > last_us && value == values[at_us];
            shown_peak = value > shown_peak ? value : shown_peak;
            shown_least = value < shown_least ? value : shown_least;
            last_us = at_us;
            points++;
        }
        const struct ap_value *owner = ap_value_first(at(&run, "trace_memory.operators"));
        ok(runs && number(&run, "trace_memory.gpu.peak_allocated_bytes") == peak &&
               cell(first, "allocated_sum_bytes") == allocated,
           "peak and sum");
        ok(points <= 200 && in_order && shown_peak == peak && shown_least <= (least < 100000 ? least : shown_least) &&
               last_us == (int64_t)count - 1,
           "the curve shows its extremes and its end");
        ok(cell(owner, "alive_at_end_bytes") == alive && cell(owner, "alive_at_peak_bytes") == peak - 100000,
           "what is held at the peak and at the end");
        end(&run);
    }
}

static void sizes_at_the_limit(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 16; i++)
        bare(&run, i, CUDA, 0, i < 8 ? AP_MAX_MEMORY_BYTES : -AP_MAX_MEMORY_BYTES);
    for (int i = 0; i < 300; i++)
        bare(&run, 20, 2 + i % 100, i, AP_MAX_MEMORY_BYTES);
    analyze(&run);
    ok(number(&run, "trace_memory.gpu.peak_at_least_bytes") > 0, "sums stop at a limit");
    is_int((int64_t)length(&run, "trace_memory.devices"), 301, "every device is listed");
    end(&run);
}

static void three_steps_of_a_module(struct run *run)
{
    begin(run);
    row(run, "1", "nn.Module: Net_0", PYTHON, 0, 500);
    for (int step = 0; step < 3; step++)
        training_step(run, 100 * step, !step, 3);
}

static void any_allocation_may_fail(void)
{
    refuse_each_request(three_steps_of_a_module, 3);
}

int main(void)
{
    totals_tell_what_was_there_before();
    without_totals_sizes_count_from_the_first_instant();
    other_traces();
    owners_without_operators();
    phases_tell_what_they_keep();
    leaks_grow_in_every_step();
    growth_is_told_where_few_steps_are_steady();
    frees_between_backward_nodes_are_of_backward();
    a_random_allocator_is_followed();
    sizes_at_the_limit();
    any_allocation_may_fail();
    return done();
}
