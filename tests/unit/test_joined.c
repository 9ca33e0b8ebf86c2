/* SPDX-License-Identifier: MIT
 * A trace and a snapshot of one run, typed by hand: the clocks, the peak's place, phases and steps; and pairs that are none.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzed.h"
#include "memory_join.h"
#include "tap.h"

#define BASE_US INT64_C(1767189312000000)
#define OPERATOR (AP_KIND_operator | AP_ROW_X | AP_ROW_CPU_CATEGORY)
#define ANNOTATION (AP_KIND_annotation | AP_ROW_X)
#define PYTHON (AP_KIND_python | AP_ROW_X)
#define KiB INT64_C(1024)

struct run {
    struct ap_gate gate;
    struct ap_trace *trace;
    struct ap_snapshot *snapshot;
    struct ap_memory_join join;
    struct ap_notes notes;
    struct ap_model model;
    int64_t offset_us; /* trace less snapshot */
};

static void must(enum ap_status status)
{
    if (status != AP_OK)
        abort();
}

static void row(struct run *run, const char *name, unsigned tag, int64_t start_us, int64_t dur_us)
{
    struct ap_trace *trace = run->trace;
    struct ap_str text;
    uint32_t track;
    int64_t start_ns = start_us * 1000, end_ns = (start_us + dur_us) * 1000;
    must(ap_strpool_intern(&trace->strings, name, strlen(name), &text, NULL));
    must(ap_trace_track(trace, AP_TEXT("1"), false, AP_TEXT("1"), false, &track, NULL));
    must(ap_trace_add_row(trace, start_ns, dur_us * 1000, text, track, (uint8_t)tag, NULL));
    if (!trace->has_window || start_ns < trace->window_start_ns)
        trace->window_start_ns = start_ns;
    if (!trace->has_window || end_ns > trace->window_end_ns)
        trace->window_end_ns = end_ns;
    trace->has_window = true;
}

static void instant(struct run *run, int64_t at_us, int64_t bytes, uint64_t address)
{
    struct ap_memory_event event = { .start_ns = at_us * 1000,
                                     .bytes = bytes,
                                     .total_allocated_bytes = -1,
                                     .total_reserved_bytes = -1,
                                     .address = address,
                                     .device_type = 1 };
    must(ap_trace_track(run->trace, AP_TEXT("1"), false, AP_TEXT("1"), false, &event.track, NULL));
    must(ap_trace_add_memory_event(run->trace, event, NULL));
}

/* @at_us: on the trace's axis. */
static void entry(struct run *run, int64_t at_us, uint32_t name, uint64_t address, int64_t bytes)
{
    const struct ap_action made = { .name = { name },
                                    .address = address,
                                    .size_bytes = bytes,
                                    .time_ns = (BASE_US + at_us - run->offset_us) * 1000,
                                    .has = AP_ACTION_HAS_ADDRESS | AP_ACTION_HAS_SIZE | AP_ACTION_HAS_TIME };
    must(ap_snapshot_add_action(run->snapshot, &made, NULL));
}

static void allocate(struct run *run, int64_t at_us, uint64_t address, int64_t bytes)
{
    entry(run, at_us, AP_ACTION_ALLOC, address, bytes);
}

static void release(struct run *run, int64_t at_us, uint64_t address, int64_t bytes)
{
    entry(run, at_us, AP_ACTION_FREE_REQUESTED, address, bytes);
    entry(run, at_us, AP_ACTION_FREE_COMPLETED, address, bytes);
}

static void begin(struct run *run, bool with_base)
{
    struct ap_str digits;
    memset(run, 0, sizeof(*run));
    ap_gate_init(&run->gate, 0);
    ap_model_init(&run->model, &run->gate);
    must(ap_trace_new(&run->gate, &run->trace, NULL));
    must(ap_snapshot_new(&run->gate, &run->snapshot, NULL));
    run->snapshot->has = AP_SNAPSHOT_HAS_SEGMENTS | AP_SNAPSHOT_HAS_HISTORY;
    if (!with_base)
        return;
    must(ap_strpool_intern(&run->trace->strings, "1767189312000000000", 19, &digits, NULL));
    run->trace->base_time_ns = digits;
}

/* Two steps of 100 us: forward in a module, backward, the optimizer. */
static void add_steps(struct run *run)
{
    for (int64_t i = 0; i < 2; i++) {
        int64_t at = 1000 + i * 100;
        row(run, i ? "ProfilerStep#8" : "ProfilerStep#7", ANNOTATION, at, 100);
        row(run, "train.py(12): main", PYTHON, at + 1, 38);
        row(run, "nn.Module: Net_0", PYTHON, at + 2, 30);
        row(run, "aten::linear", OPERATOR, at + 5, 20);
        row(run, "autograd::engine::evaluate_function: AddmmBackward0", OPERATOR, at + 50, 20);
        row(run, "Optimizer.step#SGD.step", ANNOTATION, at + 80, 15);
        row(run, "aten::add_", OPERATOR, at + 82, 5);
    }
}

/* An empty device at both ends; forward holds 4 KiB in step 0 and 6 KiB in step 1, backward 1 KiB more and less at last. */
static void add_history(struct run *run, int64_t shift_us)
{
    must(ap_snapshot_add_segment(run->snapshot,
                                 &(struct ap_segment){ .address = 0x10000,
                                                       .total_bytes = 64 * KiB,
                                                       .type = { AP_TYPE_LARGE },
                                                       .has = AP_SEGMENT_HAS_TOTAL | AP_SEGMENT_HAS_REQUESTED |
                                                              AP_SEGMENT_HAS_DEVICE | AP_SEGMENT_HAS_ADDRESS |
                                                              AP_SEGMENT_HAS_BLOCKS },
                                 NULL));
    must(ap_snapshot_add_history(run->snapshot, NULL));
    for (int64_t i = 0; i < 2; i++) {
        int64_t at = 1000 + i * 100 + shift_us, bytes = (i ? 6 : 4) * KiB;
        allocate(run, at + 10, 0x10000, bytes);
        allocate(run, at + 55, 0x18000, KiB);
        release(run, at + 60, 0x10000, bytes);
        release(run, at + 85, 0x18000, KiB);
    }
}

/* What the trace shows of the same allocations. */
static void add_instants(struct run *run, uint64_t first_address)
{
    for (int64_t i = 0; i < 2; i++) {
        instant(run, 1000 + i * 100 + 10, 8 * KiB, first_address);
        instant(run, 1000 + i * 100 + 55, 8 * KiB, first_address + 0x8000);
    }
}

static void join(struct run *run, uint64_t top_n)
{
    struct ap_error error = { .status = AP_OK };
    ap_memory_join_init(&run->join, run->trace, &run->gate);
    must(ap_join_part_snapshot(run->snapshot, "s.json", top_n, true, &run->join, &run->notes, &run->model, &error));
    ap_snapshot_free(run->snapshot);
    struct ap_part_options options = { .path = "t.json", .top_n = top_n, .join = &run->join };
    must(analyze_trace(run->trace, &options, &run->notes, &run->model, &error));
}

static void end(struct run *run)
{
    ap_memory_join_release(&run->join);
    ap_trace_free(run->trace);
    ap_model_release(&run->model);
    is_u64(run->gate.used_bytes, 0, "all memory is given back");
}

static const struct ap_value *at(const struct run *run, const char *path)
{
    return ap_value_at(&run->model.root, path);
}

static int64_t number(const struct run *run, const char *path)
{
    return ap_value_integer(at(run, path), -1);
}

static struct ap_text text(const struct run *run, const char *path)
{
    return ap_value_text(at(run, path));
}

static bool is_null(const struct run *run, const char *path)
{
    return at(run, path) && at(run, path)->type == AP_VALUE_NULL;
}

static const struct ap_value *phase(const struct run *run, const char *name)
{
    const struct ap_value *it = ap_value_first(at(run, "joined.phases"));
    while (it && !ap_text_is(ap_value_text(ap_value_member(it, "phase")), name))
        it = it->next;
    return it;
}

static int64_t member(const struct ap_value *of, const char *key)
{
    return ap_value_integer(ap_value_member(of, key), -1);
}

static void add_device(struct run *run, int64_t id, int64_t memory_bytes)
{
    struct ap_trace *trace = run->trace;
    must(AP_RESERVE(&run->gate, trace->devices, trace->device_capacity, trace->device_count + 1, NULL));
    trace->devices[trace->device_count++] =
        (struct ap_device_properties){ .id = id, .memory_bytes = memory_bytes, .warp_size = 32 };
}

/* The clocks agree, and still it is another process: its device, its size, or what the allocator reserved tells that. */
static void devices_and_bytes_tell_another_process(void)
{
    static const struct {
        const char *what, *reason; /* NULL = they belong together */
        int64_t works_on, memory_bytes, reserved_bytes;
    } cases[] = {
        { "the same device", NULL, 0, 64 * KiB, 64 * KiB },
        { "another device", "other devices", 1, 64 * KiB, 64 * KiB },
        { "a smaller device", "than the device of the trace has", 0, 64 * KiB - 1, 0 },
        { "more reserved than ever was", "ever held", 0, 64 * KiB, 64 * KiB + 1 },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct run run;
        begin(&run, true);
        add_steps(&run);
        add_history(&run, 0);
        add_device(&run, cases[i].works_on, cases[i].memory_bytes);
        uint32_t track;
        must(ap_trace_track(run.trace, AP_TEXT("0"), false, AP_TEXT("7"), false, &track, NULL));
        must(ap_trace_device_track(run.trace, cases[i].works_on, &track, NULL));
        instant(&run, 1010, 8 * KiB, 0x10000);
        run.trace->memory_instants[0].device_id = (int16_t)cases[i].works_on;
        run.trace->memory_instants[0].total_reserved_bytes = cases[i].reserved_bytes;
        join(&run, 0);
        struct ap_text reason = text(&run, "joined.reason");
        is_int(number(&run, "joined.belong"), !cases[i].reason, cases[i].what);
        ok(!cases[i].reason || ap_text_contains(reason, ap_text_of(cases[i].reason)), cases[i].what);
        ok(!cases[i].reason || is_null(&run, "joined.capacity_bytes"), "nor is its memory that of the snapshot's device");
        end(&run);
    }
}

static void the_peak_falls_in_a_step_a_phase_and_an_operator(void)
{
    struct run run;
    begin(&run, true);
    add_steps(&run);
    add_history(&run, 0);
    join(&run, 0);
    is_text(text(&run, "joined.method"), "epoch clocks", "both count from the epoch");
    is_text(text(&run, "joined.confidence"), "medium", "but nothing says that they agree");
    is_int(number(&run, "joined.overlap_us"), 175000, "first to last entry lies within the trace");
    is_int(number(&run, "joined.peak.requested_bytes"), 7 * KiB, "the peak of the replay");
    is_int(number(&run, "joined.peak.at_us"), 1155000, "on the trace's axis");
    is_int(number(&run, "joined.peak.step"), 1, "in the second step");
    is_text(text(&run, "joined.peak.phase"), "backward", "in backward");
    is_text(text(&run, "joined.peak.operator"), "autograd::engine::evaluate_function: AddmmBackward0", "in the node");
    is_int(number(&run, "joined.peak_in_forward"), 0, "not in forward");
    is_int(number(&run, "joined.peak_in_trace.requested_bytes"), 7 * KiB, "and it is that of the overlap");
    end(&run);
}

static void phases_and_steps_cut_the_curve(void)
{
    struct run run;
    int64_t sum = 0;
    begin(&run, true);
    add_steps(&run);
    add_history(&run, 0);
    join(&run, 0);
    is_int(member(phase(&run, "forward"), "peak_requested_bytes"), 6 * KiB, "the larger forward");
    is_int(member(phase(&run, "forward"), "delta_bytes"), 10 * KiB, "what both add");
    is_int(member(phase(&run, "backward"), "peak_requested_bytes"), 7 * KiB, "backward holds more");
    is_int(member(phase(&run, "backward"), "delta_bytes"), -8 * KiB, "and gives most back");
    is_int(member(phase(&run, "optimizer"), "delta_bytes"), -2 * KiB, "the rest goes in the optimizer's time");
    for (const struct ap_value *it = ap_value_first(at(&run, "joined.phases")); it; it = it->next)
        sum += member(it, "delta_bytes");
    is_int(sum, 0, "the phases add up to the change, which is none");
    const struct ap_value *step = ap_value_first(at(&run, "joined.steps"));
    is_int(member(step, "peak_requested_bytes"), 5 * KiB, "the first step's peak");
    is_int(member(step, "whole"), 0, "the history begins within it");
    step = step->next;
    is_int(member(step, "peak_requested_bytes"), 7 * KiB, "the second step's peak");
    is_text(ap_value_text(ap_value_member(step, "peak_phase")), "backward", "which is in backward");
    is_int(member(step, "whole"), 0, "and the history ends within it");
    ok(!step->next, "there are two");
    end(&run);
}

static void a_peak_in_forward_has_its_module_and_line(void)
{
    struct run run;
    begin(&run, true);
    add_steps(&run);
    add_history(&run, 0);
    allocate(&run, 1215, 0x11000, 32 * KiB); /* behind all, in the third step */
    release(&run, 1217, 0x11000, 32 * KiB);
    row(&run, "ProfilerStep#9", ANNOTATION, 1200, 100);
    row(&run, "train.py(12): main", PYTHON, 1201, 38);
    row(&run, "nn.Module: Net_0", PYTHON, 1202, 30);
    row(&run, "nn.Module: Linear_3", PYTHON, 1203, 28);
    row(&run, "aten::linear", OPERATOR, 1205, 20);
    join(&run, 0);
    is_int(number(&run, "joined.peak.step"), 2, "the step");
    is_text(text(&run, "joined.peak.module"), "Net/Linear", "the modules, outermost first");
    is_text(text(&run, "joined.peak.operator"), "aten::linear", "the operator");
    is_text(text(&run, "joined.peak.user_line"), "train.py(12): main", "the line");
    is_int(number(&run, "joined.peak_in_forward"), 1, "in forward");
    end(&run);
}

static void equal_allocations_tell_the_offset(void)
{
    struct run run;
    begin(&run, true);
    run.offset_us = 40;
    add_steps(&run);
    add_history(&run, 0);
    for (int64_t i = 0; i < 8; i++) { /* enough to be sure */
        allocate(&run, 1186 + i, 0x11000 + (uint64_t)i * 512, 512);
        release(&run, 1186 + i, 0x11000 + (uint64_t)i * 512, 512);
        instant(&run, 1186 + i, 512, 0x11000 + (uint64_t)i * 512);
    }
    add_instants(&run, 0x10000);
    join(&run, 0);
    is_text(text(&run, "joined.method"), "epoch clocks, offset measured", "allocations stand in both");
    is_text(text(&run, "joined.confidence"), "high", "which makes it sure");
    is_int(number(&run, "joined.offset_us"), 40000, "the snapshot's clock is behind");
    is_int(number(&run, "joined.peak.at_us"), 1155000, "its times are moved");
    is_text(text(&run, "joined.peak.phase"), "backward", "to the right phase");
    end(&run);
}

static void nothing_is_claimed(struct run *run, const char *why)
{
    is_text(text(run, "joined.method"), "none", why);
    is_text(text(run, "joined.confidence"), "none", "no confidence");
    ok(is_null(run, "joined.peak") && is_null(run, "joined.peak_in_trace"), "no peak");
    is_u64(ap_value_count(at(run, "joined.phases")) + ap_value_count(at(run, "joined.steps")), 0, "no phases, no steps");
    end(run);
}

static void pairs_that_do_not_fit_are_told(void)
{
    struct run run;
    begin(&run, true);
    add_steps(&run);
    add_history(&run, 3600000000);
    join(&run, 0);
    is_int(number(&run, "joined.overlap_us"), 0, "an hour apart");
    nothing_is_claimed(&run, "different times are not joined");
    begin(&run, false);
    add_steps(&run);
    add_history(&run, 0);
    join(&run, 0);
    ok(is_null(&run, "joined.overlap_us"), "the overlap is not known");
    nothing_is_claimed(&run, "a trace without a clock is not joined");
    begin(&run, true);
    add_steps(&run);
    join(&run, 0);
    nothing_is_claimed(&run, "nor is a snapshot without a history");
}

static void other_addresses_are_another_process(void)
{
    struct run run;
    begin(&run, true);
    add_steps(&run);
    add_history(&run, 0);
    for (int64_t i = 0; i < 16; i++) {
        allocate(&run, 1186, 0x11000, 512);
        release(&run, 1186, 0x11000, 512);
    }
    add_instants(&run, 0x7000000);
    instant(&run, 1190, 512, 0x7200000);
    join(&run, 0);
    is_int(number(&run, "joined.matched_allocations"), 0, "no allocation stands in both");
    nothing_is_claimed(&run, "they are not of one process");
}

static void a_peak_outside_of_the_trace_has_no_place(void)
{
    struct run run;
    begin(&run, true);
    add_steps(&run);
    must(ap_snapshot_add_segment(run.snapshot,
                                 &(struct ap_segment){ .address = 0x10000,
                                                       .total_bytes = 64 * KiB,
                                                       .type = { AP_TYPE_LARGE },
                                                       .has = AP_SEGMENT_HAS_TOTAL | AP_SEGMENT_HAS_REQUESTED |
                                                              AP_SEGMENT_HAS_DEVICE | AP_SEGMENT_HAS_ADDRESS |
                                                              AP_SEGMENT_HAS_BLOCKS },
                                 NULL));
    must(ap_snapshot_add_history(run.snapshot, NULL));
    allocate(&run, 100, 0x10000, 32 * KiB);
    release(&run, 200, 0x10000, 32 * KiB);
    allocate(&run, 1010, 0x10000, KiB);
    entry(&run, 1015, AP_ACTION_OOM, 4096, 1 << 30);
    release(&run, 1300, 0x10000, KiB);
    join(&run, 0);
    is_int(number(&run, "joined.peak.in_trace"), 0, "it comes before the trace");
    ok(is_null(&run, "joined.peak.step") && is_null(&run, "joined.peak.phase"), "so it has no place");
    ok(is_null(&run, "joined.peak_in_forward"), "nor a phase");
    is_int(number(&run, "joined.peak_in_trace.requested_bytes"), KiB, "the overlap has a peak of its own");
    is_text(text(&run, "joined.peak_in_trace.phase"), "forward", "with its phase");
    const struct ap_value *failed = ap_value_first(at(&run, "joined.oom"));
    is_int(member(failed, "requested_bytes"), 1 << 30, "the failed request");
    is_text(ap_value_text(ap_value_member(failed, "operator")), "aten::linear", "and what asked");
    is_int(number(&run, "joined.overlap_us"), 200000, "the trace lies within the history");
    end(&run);
}

static void a_run_without_steps_or_work_is_joined_too(void)
{
    struct run run;
    begin(&run, true);
    row(&run, "aten::mm", OPERATOR, 1000, 200);
    add_history(&run, 0);
    join(&run, 1);
    ok(is_null(&run, "joined.peak.step"), "no step");
    is_text(text(&run, "joined.peak.operator"), "aten::mm", "but the operator");
    is_u64(ap_value_count(at(&run, "joined.steps")), 0, "no steps");
    end(&run);
    begin(&run, true); /* GPU rows alone */
    row(&run, "kernel", AP_KIND_kernel | AP_ROW_X, 1000, 200);
    add_history(&run, 0);
    join(&run, 1);
    ok(is_null(&run, "joined.peak.operator") && is_null(&run, "joined.peak.phase"), "no host row was open");
    end(&run);
}

int main(void)
{
    the_peak_falls_in_a_step_a_phase_and_an_operator();
    devices_and_bytes_tell_another_process();
    phases_and_steps_cut_the_curve();
    a_peak_in_forward_has_its_module_and_line();
    equal_allocations_tell_the_offset();
    pairs_that_do_not_fit_are_told();
    other_addresses_are_another_process();
    a_peak_outside_of_the_trace_has_no_place();
    a_run_without_steps_or_work_is_joined_too();
    return done();
}
