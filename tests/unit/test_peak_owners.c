/* SPDX-License-Identifier: MIT
 * Who owns the peak, phases, lifetimes and the flame graph, from snapshots built by hand to the values of the report. */
#include <stdio.h>
#include <string.h>

#include "allocation_owner.h"
#include "peak_stacks.h"
#include "random.h"

#define BENCH_MORE                                                            \
    int64_t time_us;    /* of the next entry; negative = entries have none */ \
    uint64_t address;   /* of the next allocation */                          \
    int64_t live_bytes; /* of blocks added and not in a segment yet */
#include "snapshot_bench.h"
#include "tree.h"

#define BASE ((uint64_t)1 << 40)
#define ROOM ((int64_t)1 << 30)

static void begin(struct bench *bench)
{
    begin_with(bench, 0);
    bench->address = BASE;
}

/* "file|name" from the innermost outwards, separated by semicolons; line 7 each. */
static uint32_t stack(struct bench *bench, const char *frames)
{
    char json[4096] = "[";
    uint32_t id = 0;
    while (*frames && bench->status == AP_OK) {
        size_t file = strcspn(frames, "|"), name = strcspn(frames + file + 1, ";");
        size_t used = strlen(json);
        (void)snprintf(json + used, sizeof(json) - used, "%s{\"filename\":\"%.*s\",\"line\":7,\"name\":\"%.*s\"}",
                       used > 1 ? "," : "", (int)file, frames, (int)name, frames + file + 1);
        frames += file + 1 + name;
        frames += *frames == ';';
    }
    (void)snprintf(json + strlen(json), sizeof(json) - strlen(json), "]");
    keep(bench, ap_stacks_take(&bench->snapshot->stacks, &bench->snapshot->strings, ap_text_of(json), &id, &bench->error));
    return id;
}

static void entry(struct bench *bench, uint32_t name, uint64_t address, int64_t bytes, uint32_t stack_id)
{
    bool timed = bench->time_us >= 0;
    const struct ap_action made = { .name = { name },
                                    .address = address,
                                    .size_bytes = bytes,
                                    .time_ns = timed ? bench->time_us * 1000 : 0,
                                    .stack = stack_id,
                                    .has = (uint8_t)(AP_ACTION_HAS_ADDRESS | AP_ACTION_HAS_SIZE |
                                                     (timed ? AP_ACTION_HAS_TIME : 0)) };
    bench->time_us += timed ? 10 : 0;
    keep(bench, ap_snapshot_add_action(bench->snapshot, &made, &bench->error));
}

static uint64_t alloc(struct bench *bench, int64_t bytes, uint32_t stack_id)
{
    uint64_t address = bench->address;
    bench->address += 1 << 20;
    entry(bench, AP_ACTION_ALLOC, address, bytes, stack_id);
    return address;
}

static void give_back(struct bench *bench, uint64_t address, int64_t bytes, uint32_t stack_id)
{
    entry(bench, AP_ACTION_FREE_REQUESTED, address, bytes, stack_id);
    entry(bench, AP_ACTION_FREE_COMPLETED, address, bytes, stack_id);
}

/* Markers without effect, so that what was allocated grows old. */
static void wait_for(struct bench *bench, int entries)
{
    for (int i = 0; i < entries; i++)
        entry(bench, AP_ACTION_USER_DEFINED, 0, 0, 0);
}

static void live(struct bench *bench, uint64_t address, int64_t bytes, uint32_t stack_id)
{
    const struct ap_block made = { .address = address,
                                   .size_bytes = bytes,
                                   .requested_bytes = bytes,
                                   .stack = stack_id,
                                   .state = AP_BLOCK_ALLOCATED,
                                   .has = AP_BLOCK_HAS_ADDRESS | AP_BLOCK_HAS_REQUESTED };
    bench->live_bytes += bytes;
    keep(bench, ap_snapshot_add_block(bench->snapshot, &made, &bench->error));
}

/* The blocks since the last one; @requested_bytes -1 = what they come to. */
static void segment(struct bench *bench, int32_t device, int64_t requested_bytes)
{
    int64_t bytes = bench->live_bytes;
    const struct ap_segment made = { .address = BASE,
                                     .device = device,
                                     .total_bytes = ROOM,
                                     .allocated_bytes = bytes,
                                     .active_bytes = bytes,
                                     .requested_bytes = requested_bytes < 0 ? bytes : requested_bytes,
                                     .type = { AP_TYPE_LARGE },
                                     .has = 0x7ff };
    bench->live_bytes = 0;
    keep(bench, ap_snapshot_add_segment(bench->snapshot, &made, &bench->error));
    bench->snapshot->has |= AP_SNAPSHOT_HAS_SEGMENTS;
}

static void history(struct bench *bench)
{
    keep(bench, ap_snapshot_add_history(bench->snapshot, &bench->error));
    bench->snapshot->has |= AP_SNAPSHOT_HAS_HISTORY;
}

static void mark(struct bench *bench, const char *name, const char *stage, int32_t device, int64_t time_us)
{
    struct ap_annotation made = { .time_ns = time_us * 1000, .device = device, .has_time = true };
    keep(bench, ap_strpool_intern(&bench->snapshot->strings, name, strlen(name), &made.name, &bench->error));
    keep(bench, ap_strpool_intern(&bench->snapshot->strings, stage, strlen(stage), &made.stage, &bench->error));
    keep(bench, ap_snapshot_add_annotation(bench->snapshot, &made, &bench->error));
}

static const struct ap_value *device_row(const struct bench *bench, size_t index)
{
    return list_item(at(bench, "memory.peak.devices"), index);
}

static int64_t number(const struct ap_value *row, const char *key)
{
    return ap_value_integer(ap_value_member(row, key), -999);
}

static bool is_named(const struct ap_value *row, const char *key, const char *text)
{
    return ap_text_is(ap_value_text(ap_value_member(row, key)), text);
}

static const struct ap_value *row_named(const struct ap_value *list, const char *key, const char *text)
{
    const struct ap_value *row = ap_value_first(list);
    while (row && !is_named(row, key, text))
        row = row->next;
    return row;
}

static int64_t of_category(const struct bench *bench, size_t device, const char *category)
{
    const struct ap_value *list = ap_value_member(device_row(bench, device), "by_category");
    return number(row_named(list, "category", category), "requested_bytes");
}

static int64_t sum_of(const struct ap_value *list, const char *key)
{
    int64_t sum = 0;
    for (const struct ap_value *row = ap_value_first(list); row; row = row->next)
        sum += number(row, key);
    return sum;
}

#define MODULE_PY "/x/lib/python3.11/site-packages/torch/nn/modules/module.py"

/* A training step whose peak holds one allocation of each kind. */
static void training_step(struct bench *bench)
{
    uint32_t moved = stack(bench, MODULE_PY "|_apply;" MODULE_PY "|to;/u/train.py|main");
    uint32_t state = stack(bench, "/x/site-packages/torch/optim/adam.py|_init_group;"
                                  "/x/site-packages/torch/optim/adam.py|step;/u/train.py|main");
    uint32_t forward = stack(bench, "/x/site-packages/torch/nn/functional.py|linear;/u/model.py|forward;/u/train.py|main");
    uint32_t custom = stack(bench, "/u/ops.py|backward;/u/train.py|main");
    uint32_t engine = stack(bench, "??|torch::autograd::Engine::evaluate_function(X)");
    uint32_t accumulate = stack(bench, "??|torch::autograd::AccumulateGrad::apply(X);"
                                       "??|torch::autograd::Engine::evaluate_function(X)");
    uint32_t nccl =
        stack(bench, "/x/site-packages/torch/distributed/distributed_c10d.py|all_gather_into_tensor;/u/train.py|main");
    uint32_t plain = stack(bench, "/u/backward_training.py|backward_and_step;/u/train.py|main");
    bench->time_us = 1000;
    history(bench);
    uint64_t p = alloc(bench, 1, moved), s = alloc(bench, 20, state), n = alloc(bench, 300, nccl);
    uint64_t a = alloc(bench, 4000, forward), u = alloc(bench, 50000, plain);
    wait_for(bench, 100);
    uint64_t g = alloc(bench, 600000, accumulate), k = alloc(bench, 7000000, engine), b = alloc(bench, 80000000, custom);
    uint64_t t = alloc(bench, 900, plain); /* the peak */
    give_back(bench, t, 900, 0);
    wait_for(bench, 40);
    give_back(bench, b, 80000000, 0);
    give_back(bench, a, 4000, engine);
    (void)alloc(bench, 5, forward); /* the next step: what lives on outlived the backward pass */
    wait_for(bench, 100);
    live(bench, p, 1, moved);
    live(bench, s, 20, state);
    live(bench, n, 300, nccl);
    live(bench, u, 50000, plain);
    live(bench, g, 600000, accumulate);
    live(bench, k, 7000000, engine);
    live(bench, bench->address - (1 << 20), 5, forward);
    segment(bench, 0, -1);
}

static void owners_are_told(void)
{
    struct bench bench;
    begin(&bench);
    training_step(&bench);
    pass(&bench, 20);
    is_int(bench.status, AP_OK, "a training step is taken");
    const struct ap_value *device = device_row(&bench, 0);
    is_int(of_category(&bench, 0, "parameters"), 1, "what module.to moved is a parameter");
    is_int(of_category(&bench, 0, "optimizer state"), 20, "_init_group makes optimizer state");
    is_int(of_category(&bench, 0, "communication buffers"), 300, "a collective's buffer");
    is_int(of_category(&bench, 0, "activations"), 4000, "made in a forward, alive in the backward pass");
    is_int(of_category(&bench, 0, "kept tensors"), 50000, "a far word in a user's name says nothing");
    is_int(of_category(&bench, 0, "gradients"), 7600000, "accumulated, or made in the backward pass and kept beyond it");
    is_int(of_category(&bench, 0, "temporaries"), 80000900, "made and freed in the backward pass, or freed shortly");
    is_int(of_category(&bench, 0, "unexplained"), 0, "nothing is left over");
    is_int(number(device, "requested_bytes"), 87655221, "the peak");
    is_int(sum_of(ap_value_member(device, "by_category"), "requested_bytes"), 87655221, "the categories add up to it");
    is_int(sum_of(ap_value_member(device, "by_frame"), "requested_bytes"), 87655221, "the frames too");
    is_int(sum_of(ap_value_member(device, "by_stack"), "requested_bytes"), 87655221, "and the stacks");
    is_int(number(device, "position"), 109, "where it is");
    ok(is_named(device, "at", "peak"), "and that it is one");
    const struct ap_value *first = ap_value_first(ap_value_member(device, "by_frame"));
    ok(is_named(first, "frame", "/u/ops.py:7 backward"), "the user's frame");
    ok(row_named(ap_value_member(device, "by_frame"), "frame", "/u/model.py:7 forward") != NULL,
       "is the innermost outside of torch");
    ok(row_named(ap_value_member(device, "by_frame"), "code", "library only") != NULL, "where there is one");
    end(&bench);
}

static void devices_beyond_those_that_are_told_of_are_counted(void)
{
    for (int32_t count = 64; count <= 70; count += 6) {
        struct bench bench;
        begin(&bench);
        uint32_t held = stack(&bench, "/u/train.py|main");
        history(&bench);
        for (int32_t device = 0; device < count; device++) {
            live(&bench, BASE + (uint64_t)device * ROOM, 10 + device, held);
            segment(&bench, device, -1);
        }
        pass(&bench, 20);
        is_int((int64_t)ap_value_count(at(&bench, "memory.peak.devices")), 64, "64 devices are told of");
        is_int((int64_t)bench.notes.notes[AP_COUNTER_many_devices].count, count - 64, "and more are counted");
        end(&bench);
    }
}

static void gradients_held_while_forward_runs_are_told(void)
{
    struct bench bench;
    begin(&bench);
    uint32_t forward = stack(&bench, "/u/model.py|forward;/u/train.py|main");
    uint32_t accumulate = stack(&bench, "??|torch::autograd::AccumulateGrad::apply(X)");
    history(&bench);
    uint64_t held = alloc(&bench, 500, accumulate);
    wait_for(&bench, 100);
    uint64_t activation = alloc(&bench, 4000, forward);
    wait_for(&bench, 100);
    uint64_t fresh = alloc(&bench, 70000, accumulate);
    live(&bench, held, 500, accumulate);
    live(&bench, activation, 4000, forward);
    live(&bench, fresh, 70000, accumulate);
    segment(&bench, 0, -1);
    pass(&bench, 20);
    is_int(number(at(&bench, "memory.peak"), "gradients_bytes"), 70500, "both are gradients");
    is_int(number(at(&bench, "memory.peak"), "gradients_in_forward_bytes"), 500, "one was there before forward was done");
    end(&bench);
}

#define PASSES 8

/* Passes that keep an activation and a result each, with temporary tensors beside them. */
static void passes(struct bench *bench, const char *activation, const char *result, const char *beside)
{
    uint32_t kept_stack = stack(bench, activation), result_stack = stack(bench, result);
    uint32_t temporary = stack(bench, beside);
    uint64_t kept[PASSES], results[PASSES];
    history(bench);
    for (int i = 0; i < PASSES; i++) {
        uint64_t t = alloc(bench, 900, temporary);
        kept[i] = alloc(bench, 1000, kept_stack);
        give_back(bench, t, 900, 0);
        results[i] = alloc(bench, 50, result_stack);
    }
    for (int i = 0; i < PASSES; i++) {
        live(bench, kept[i], 1000, kept_stack);
        live(bench, results[i], 50, result_stack);
    }
    segment(bench, 0, -1);
    pass(bench, 20);
}

/* The line that called a model of an installed package is told beside the package's own; a trainer out of a package calls it
 * at no line of the user's. */
static void who_called_a_model_that_leaks(void)
{
    static const char models[] = "/e/site-packages/vision/net.py|forward;";
    static const struct {
        const char *model, *calling, *caller;
    } cases[] = {
        { models, "/u/run.py|validate;/u/run.py|main", "/u/run.py:7 validate" },
        { models, "/e/site-packages/trainers/trainer.py|validate;/u/run.py|main", NULL },
        { "/u/net.py|forward;", "/u/run.py|validate;/u/run.py|main", NULL },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        char kept[200];
        struct bench bench;
        (void)snprintf(kept, sizeof(kept), "%s%s", cases[i].model, cases[i].calling);
        begin(&bench);
        passes(&bench, kept, "/u/run.py|loss;/u/run.py|main", "/u/run.py|read;/u/run.py|main");
        const struct ap_value *stacks = ap_value_member(at(&bench, "memory.leaks"), "stacks"), *row = ap_value_first(stacks);
        ok(ap_value_member(row, "caller") != NULL, "a leak");
        if (cases[i].caller)
            ok(is_named(row, "caller", cases[i].caller), "the user's line");
        else
            ok(!ap_value_text(ap_value_member(row, "caller")).bytes,
               "no line of the user's called it, or the line beside tells");
        end(&bench);
    }
}

/* No annotation tells what a period is, and hardly anything is freed: only the frames tell a loop from one long pass. */
static void passes_that_keep_their_graphs_leak(void)
{
    static const struct {
        const char *activation, *result, *verdict;
        int64_t held_bytes;
        const char *beside;
    } cases[] = {
        { "/u/m.py|forward;/u/e.py|model_of;/u/e.py|main", "/u/e.py|loss;/u/e.py|main", "leak", PASSES * 1050,
          "/u/x.py|temporary" },
        { "/u/m.py|layer;/u/m.py|forward;/u/e.py|main", "/u/m.py|norm;/u/m.py|forward;/u/e.py|main", "only fills up", 0,
          "/u/x.py|temporary" },
        { "/u/m.py|layer;/u/m.py|forward;/u/e.py|main", "/u/m.py|norm;/u/m.py|forward;/u/e.py|main", "leak", PASSES * 1050,
          "/u/e.py|read;/u/e.py|main" }, /* an input for each call */
        { "/u/l.py|weight;/u/e.py|main", "/u/l.py|bias;/u/e.py|main", "only fills up", 0, "/u/x.py|temporary" },
        { "|at::_ops::addmm::call;|start", "|at::_ops::nll_loss::call;|start", "leak", PASSES * 1050,
          "|torch::autograd::Engine::evaluate_function()" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct bench bench;
        begin(&bench);
        passes(&bench, cases[i].activation, cases[i].result, cases[i].beside);
        ok(is_named(at(&bench, "memory.leaks"), "verdict", cases[i].verdict), cases[i].verdict);
        is_int(number(at(&bench, "memory.leaks"), "held_bytes"), cases[i].held_bytes, "what the leak holds at the end");
        end(&bench);
    }
}

/* Each pass leaves something that nobody frees: where a buffer is filled, as its file or function says, or in a list. */
static void what_fills_a_buffer_is_told(void)
{
    static const char *const made[] = { "/u/e.py|note;/u/e.py|main", "/u/replay_buffer.py|add;/u/e.py|main" };
    for (size_t buffer = 0; buffer < AP_COUNT_OF(made); buffer++) {
        struct bench bench;
        begin(&bench);
        passes(&bench, made[buffer], made[buffer], "/u/e.py|read;/u/e.py|main");
        double ratio = -1;
        ok(ap_value_number(ap_value_member(at(&bench, "memory.leaks"), "buffer_ratio"), &ratio), "a ratio");
        ok(ratio > (double)buffer - 0.1 && ratio < (double)buffer + 0.1, "of the growth what fills a buffer");
        is_int(of_category(&bench, 0, "kept tensors") > 0, buffer, "which is kept, however young");
        end(&bench);
    }
}

/* A request fails, and so many backward passes are completed behind it; one that has begun is none. */
static void passes_behind_a_failure_are_counted(void)
{
    for (int wanted = 0; wanted < 3; wanted++) {
        struct bench bench;
        begin(&bench);
        uint32_t forward = stack(&bench, "/u/model.py|forward;/u/train.py|main");
        uint32_t backward = stack(&bench, "??|torch::autograd::Engine::evaluate_function(X)");
        history(&bench);
        give_back(&bench, alloc(&bench, 10, backward), 10, backward);
        give_back(&bench, alloc(&bench, 10, forward), 10, forward);
        entry(&bench, AP_ACTION_OOM, 1000, 4000, forward);
        for (int i = 0; i <= wanted; i++) {
            give_back(&bench, alloc(&bench, 10, forward), 10, forward);
            give_back(&bench, alloc(&bench, 10, backward), 10, backward);
        }
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(number(at(&bench, "memory.oom_summary"), "passes_behind"), wanted, "passes behind the failure");
        end(&bench);
    }
}

/* Before each loss the allocator takes a segment, with the stack of the loss: the loop is still not all within the model. */
static void a_segment_hides_no_allocation(void)
{
    struct bench bench;
    uint64_t kept[PASSES], losses[PASSES];
    begin(&bench);
    uint32_t module = stack(&bench, "/u/m.py|forward;/u/m.py|_call_impl;/u/e.py|main");
    uint32_t other = stack(&bench, "/u/m.py|norm;/u/m.py|forward;/u/m.py|_call_impl;/u/e.py|main");
    uint32_t loss = stack(&bench, "/u/e.py|loss;/u/e.py|main");
    history(&bench);
    for (int i = 0; i < PASSES; i++) {
        uint64_t t = alloc(&bench, 900, other);
        kept[i] = alloc(&bench, 1000, module);
        give_back(&bench, t, 900, 0);
        entry(&bench, AP_ACTION_USER_DEFINED, 0, 0, loss);
        losses[i] = alloc(&bench, 50, loss);
    }
    for (int i = 0; i < PASSES; i++) {
        live(&bench, kept[i], 1000, module);
        live(&bench, losses[i], 50, loss);
    }
    segment(&bench, 0, -1);
    pass(&bench, 20);
    ok(is_named(at(&bench, "memory.leaks"), "verdict", "leak"), "a leak");
    end(&bench);
}

/* A function calls one module after the other, each once, and keeps something of each: the layers of one pass, where there
 * are as many, and else calls of the model. So it is without stacks, where weights of one size tell the layers. */
static void layers_that_a_function_calls_are_no_leak(void)
{
    for (int way = 0; way < 4; way++) {
        int layers = way % 2 ? PASSES / 2 : PASSES;
        bool bare = way >= 2;
        struct bench bench;
        const int64_t mib = 1 << 20;
        uint64_t kept[PASSES];
        begin(&bench);
        uint32_t built = bare ? 0 : stack(&bench, MODULE_PY "|convert;/u/e.py|main");
        uint32_t module = bare ? 0 : stack(&bench, "/u/m.py|forward;/u/m.py|_call_impl;/u/e.py|main");
        uint32_t cached = bare ? 0 : stack(&bench, "/u/e.py|update;/u/e.py|main");
        history(&bench);
        for (int i = 0; i < layers; i++)
            live(&bench, alloc(&bench, mib, built), mib, built);
        for (int i = 0; i < PASSES; i++) {
            uint64_t t = alloc(&bench, 9000, module);
            kept[i] = alloc(&bench, 1000, cached);
            give_back(&bench, t, 9000, 0);
        }
        for (int i = 0; i < PASSES; i++)
            live(&bench, kept[i], 1000, cached);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        ok(is_named(at(&bench, "memory.leaks"), "verdict", layers < PASSES ? "leak" : "unknown"), "layers, or calls");
        end(&bench);
    }
}

/* Without stacks: a pass that found no room in one of its last layers. A loop that goes on, or one in which each round has a
 * result of every weight, is no such pass. */
static void a_pass_that_breaks_off_is_no_leak(void)
{
    enum { BREAKS_OFF, GOES_ON, RUNS_ALL_LAYERS, KINDS };
    for (int kind = BREAKS_OFF; kind < KINDS; kind++) {
        struct bench bench;
        const int64_t mib = 1 << 20;
        uint64_t kept[PASSES];
        begin(&bench);
        history(&bench);
        for (int i = 0; i < 2 * (PASSES + 3); i++)
            live(&bench, alloc(&bench, (1 + i % 2) * mib, 0), (1 + i % 2) * mib, 0);
        for (int i = 0; i < PASSES; i++) {
            for (int results = kind == RUNS_ALL_LAYERS ? 2 * (PASSES + 3) : 2; results > 0; results--)
                give_back(&bench, alloc(&bench, 9000, 0), 9000, 0);
            kept[i] = alloc(&bench, 1000, 0);
        }
        if (kind != GOES_ON)
            entry(&bench, AP_ACTION_OOM, 0, 9000, 0);
        for (int i = 0; i < PASSES; i++)
            live(&bench, kept[i], 1000, 0);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        ok(is_named(at(&bench, "memory.leaks"), "verdict", kind == BREAKS_OFF ? "unknown" : "leak"), "layers, or rounds");
        end(&bench);
    }
}

/* Without stacks: each round goes through all again that the rounds before kept. One that keeps nothing only becomes longer,
 * and of rounds that are long and short by turns nothing tells that they are rounds. */
static void rounds_that_become_longer_tell_a_leak(void)
{
    enum { LONGER, KEEPS_NOTHING, BY_TURNS, KINDS, ROUNDS = 14 };
    for (int kind = LONGER; kind < KINDS; kind++) {
        struct bench bench;
        uint64_t kept[ROUNDS][6];
        begin(&bench);
        history(&bench);
        for (int i = 0; i < ROUNDS; i++) {
            uint64_t batch = alloc(&bench, 777, 0);
            for (int j = 0; j < 6; j++)
                kept[i][j] = alloc(&bench, 1000, 0);
            uint64_t last = alloc(&bench, 1500, 0);
            for (int j = 0; j < 8 * (1 + (kind == BY_TURNS ? (i * 5) % 7 : i)); j++) {
                uint64_t next = alloc(&bench, 1500, 0); /* a gradient is there until the next one is */
                give_back(&bench, last, 1500, 0);
                last = next;
            }
            give_back(&bench, last, 1500, 0);
            for (int j = 0; j < 6 && kind == KEEPS_NOTHING; j++)
                give_back(&bench, kept[i][j], 1000, 0);
            give_back(&bench, batch, 777, 0);
        }
        for (int i = 0; i < 6 * ROUNDS && kind != KEEPS_NOTHING; i++)
            live(&bench, kept[i / 6][i % 6], 1000, 0);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        bool leaks = is_named(at(&bench, "memory.leaks"), "verdict", "leak");
        ok(leaks == (kind == LONGER), "a leak, or none");
        ok(is_named(at(&bench, "memory.leaks"), "period_source", "longer rounds") == (kind == LONGER), "how it was found");
        end(&bench);
    }
}

/* A cache that is made anew with each token, one row larger: by design, and what is live is always one allocation. */
static void a_cache_that_is_made_anew_is_no_leak(void)
{
    struct bench bench;
    begin(&bench);
    uint32_t cat = stack(&bench, "/u/cache.py|update;/u/m.py|forward;/u/generate.py|main");
    uint64_t old = 0;
    history(&bench);
    for (int i = 0; i < 30; i++) {
        uint64_t fresh = alloc(&bench, 1000 + 10 * i, cat);
        wait_for(&bench, 5);
        if (i)
            give_back(&bench, old, 990 + 10 * i, 0);
        old = fresh;
    }
    live(&bench, old, 1290, cat);
    segment(&bench, 0, -1);
    pass(&bench, 20);
    is_int(at(&bench, "memory.leaks.leaking")->as.integer, 0, "no leak");
    is_int(ap_value_integer(at(&bench, "memory.leaks.net_growth_bytes"), 0) > 100, 1, "though it grows");
    end(&bench);
}

/* In each step another layer joins the optimizer: @trials = all of them again, beside those of before. */
static void joining_layers(struct bench *bench, bool trials)
{
    uint64_t weights[PASSES], states[PASSES];
    begin(bench);
    uint32_t moved = stack(bench, MODULE_PY "|_apply;/u/train.py|main"), step = stack(bench, "/u/train.py|step");
    uint32_t set_up = stack(bench, "/x/site-packages/torch/optim/adam.py|_init_group;/u/train.py|main");
    history(bench);
    for (int i = 0; i < PASSES; i++)
        weights[i] = alloc(bench, trials ? 100 : 2000, moved);
    for (int i = 0; i < PASSES; i++) {
        mark(bench, "Optimizer.step#AdamW.step", "START", 0, bench->time_us);
        states[i] = alloc(bench, 4000, set_up);
        give_back(bench, alloc(bench, 9000, step), 9000, step);
    }
    for (int i = 0; i < PASSES; i++) {
        live(bench, weights[i], trials ? 100 : 2000, moved);
        live(bench, states[i], 4000, set_up);
    }
    segment(bench, 0, -1);
    pass(bench, 20);
}

static void state_that_is_set_up_is_no_leak(void)
{
    for (int trials = 0; trials < 2; trials++) {
        struct bench bench;
        joining_layers(&bench, trials);
        is_int(at(&bench, "memory.leaks.leaking")->as.integer, trials,
               trials ? "far more than the weights may have" : "no leak");
        end(&bench);
    }
}

/* A buffer that a constructor makes is no weight; what has a gradient of its size is. */
static void a_constructor_makes_more_than_weights(void)
{
    struct bench bench;
    begin(&bench);
    const int64_t mib = 1 << 20;
    uint32_t buffer = stack(&bench, "/u/replay.py|__init__;/u/train.py|main"), weight = stack(&bench, "/u/net.py|__init__");
    uint32_t backward = stack(&bench, "c.cpp|torch::autograd::Engine::evaluate_function()");
    history(&bench);
    uint64_t data = alloc(&bench, 64 * mib, buffer), own = alloc(&bench, 8 * mib, weight);
    wait_for(&bench, 100);
    uint64_t gradient = alloc(&bench, 8 * mib, backward);
    wait_for(&bench, 100);
    live(&bench, data, 64 * mib, buffer);
    live(&bench, own, 8 * mib, weight);
    live(&bench, gradient, 8 * mib, backward);
    segment(&bench, 0, -1);
    pass(&bench, 20);
    is_int(of_category(&bench, 0, "kept tensors"), 64 * mib, "the buffer");
    is_int(of_category(&bench, 0, "parameters"), 8 * mib, "the weight");
    end(&bench);
}

/* Weights and the state of an optimizer, read to the device beside the model and kept; where nothing else is there, they are
 * the weights. */
static void a_checkpoint_beside_the_weights_is_a_copy(void)
{
    for (int alone = 0; alone < 2; alone++) {
        struct bench bench;
        const int64_t mib = 1 << 20;
        begin(&bench);
        uint32_t moved = stack(&bench, MODULE_PY "|_apply;/u/train.py|main");
        uint32_t read = stack(&bench, "/x/torch/serialization.py|_load;/u/train.py|main");
        history(&bench);
        for (int i = 0; i < 5 && !alone; i++)
            live(&bench, alloc(&bench, (i + 1) * mib, moved), (i + 1) * mib, moved);
        for (int i = 0; i < 15; i++)
            live(&bench, alloc(&bench, (i % 5 + 1) * mib, read), (i % 5 + 1) * mib, read);
        wait_for(&bench, 100);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(of_category(&bench, 0, "copies of weights"), alone ? 0 : 45 * mib, "what was read");
        is_int(of_category(&bench, 0, "parameters"), alone ? 45 * mib : 15 * mib, "the weights");
        end(&bench);
    }
}

/* The weights were copied and given back, and the optimizer uses what was read: two of each, and no other state is there.
 * One or three of each are kept as a whole. */
static void what_an_optimizer_resumes_with_is_no_copy(void)
{
    for (int times = 1; times <= 3; times++) {
        struct bench bench;
        const int64_t mib = 1 << 20;
        begin(&bench);
        uint32_t moved = stack(&bench, MODULE_PY "|_apply;/u/train.py|main");
        uint32_t read = stack(&bench, "/x/torch/serialization.py|_load;/u/train.py|main");
        uint32_t backward = stack(&bench, "c.cpp|torch::autograd::Engine::evaluate_function()");
        history(&bench);
        for (int i = 0; i < 5; i++)
            live(&bench, alloc(&bench, (i + 1) * mib, moved), (i + 1) * mib, moved);
        for (int i = 0; i < 5 * times; i++)
            live(&bench, alloc(&bench, (i % 5 + 1) * mib, read), (i % 5 + 1) * mib, read);
        wait_for(&bench, 100);
        for (int i = 0; i < 5; i++)
            live(&bench, alloc(&bench, (i + 1) * mib, backward), (i + 1) * mib, backward);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(of_category(&bench, 0, "copies of weights"), times == 2 ? 0 : 15 * times * mib, "what was read");
        end(&bench);
    }
}

/* Two weights of five were read when the next request failed; where something else asked, what was read is what it seems. */
static void a_checkpoint_that_did_not_fit_is_a_copy(void)
{
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        struct bench bench;
        const int64_t mib = 1 << 20;
        begin(&bench);
        uint32_t moved = stack(&bench, MODULE_PY "|_apply;/u/train.py|main");
        uint32_t read = stack(&bench, "/x/torch/serialization.py|_load;/u/train.py|main");
        history(&bench);
        for (int i = 0; i < 5; i++)
            live(&bench, alloc(&bench, (i + 1) * mib, moved), (i + 1) * mib, moved);
        for (int i = 0; i < 2; i++)
            live(&bench, alloc(&bench, (i + 1) * mib, read), (i + 1) * mib, read);
        entry(&bench, AP_ACTION_OOM, 1000, 3 * mib, elsewhere ? moved : read);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(of_category(&bench, 0, "copies of weights"), elsewhere ? 0 : 3 * mib, "what was read until it failed");
        end(&bench);
    }
}

/* Frames of C++ alone: nothing tells weights and state from what else is made once, but the sizes of the gradients. */
static void weights_are_told_without_frames_of_python(void)
{
    struct bench bench;
    uint64_t gradients[6];
    begin(&bench);
    uint32_t made = stack(&bench, "|at::_ops::_to_copy::call;|start_thread"),
             zeros = stack(&bench, "|at::_ops::zeros_like::call");
    uint32_t backward = stack(&bench, "|torch::autograd::Engine::evaluate_function()");
    uint32_t update = stack(&bench, "|at::_ops::_foreach_sqrt::call;|start_thread");
    history(&bench);
    for (int i = 0; i < 6; i++)
        live(&bench, alloc(&bench, 1000 + i, made), 1000 + i, made);
    for (int i = 0; i < 12; i++)
        live(&bench, alloc(&bench, 2000 + 2 * (i % 6), zeros), 2000 + 2 * (i % 6), zeros);
    live(&bench, alloc(&bench, 70, made), 70, made);
    wait_for(&bench, 40);
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < 6; i++)
            gradients[i] = alloc(&bench, 1000 + i, backward);
        wait_for(&bench, 40);
        give_back(&bench, alloc(&bench, 5, update), 5, update);
        for (int i = 0; i < 6; i++)
            give_back(&bench, gradients[i], 1000 + i, made);
    }
    segment(&bench, 0, -1);
    pass(&bench, 20);
    is_int(of_category(&bench, 0, "parameters"), 6015, "the weights");
    is_int(of_category(&bench, 0, "optimizer state"), 24060, "two sets in 32 bits");
    is_int(of_category(&bench, 0, "gradients"), 6015, "the gradients");
    is_int(of_category(&bench, 0, "kept tensors"), 70, "what is of no such size");
    end(&bench);
}

/* Vectors and matrices of a model; an optimizer's constructor copies them in 32 bits, once or twice, and a merge of adapters
 * keeps the matrices as they were. */
static void copies_are_told_by_their_sizes(void)
{
    enum { MIB = 1 << 20 };
    for (int sets = 1; sets <= 2; sets++) {
        struct bench bench;
        begin(&bench);
        uint32_t of[4] = { stack(&bench, MODULE_PY "|convert;/u/train.py|main"),
                           stack(&bench, "/u/merge.py|merge;/u/serve.py|main"),
                           stack(&bench, "/u/masters.py|__init__;/u/train.py|main"),
                           stack(&bench, "/u/wrapper.py|__init__;/u/train.py|main") };
        uint32_t backward = stack(&bench, "|torch::autograd::Engine::evaluate_function()");
        history(&bench);
        for (int i = 0; i < 16; i++) {
            int64_t bytes = i % 2 ? 4 * MIB : MIB / 256;
            live(&bench, alloc(&bench, bytes, of[0]), bytes, of[0]);
            if (i % 2)
                live(&bench, alloc(&bench, bytes, of[1]), bytes, of[1]);
            for (int set = 0; set < sets; set++)
                live(&bench, alloc(&bench, 2 * bytes, of[2 + set]), 2 * bytes, of[2 + set]);
        }
        wait_for(&bench, 40);
        give_back(&bench, alloc(&bench, 5, backward), 5, backward);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        int64_t weights = 8 * (4 * MIB + MIB / 256), matrices = 8 * 4 * MIB;
        is_int(of_category(&bench, 0, "parameters"), weights, "the weights");
        is_int(of_category(&bench, 0, "optimizer state"), 2 * weights, "once in 32 bits is state");
        is_int(of_category(&bench, 0, "copies of weights"), matrices + (sets - 1) * 2 * weights, "all else is a copy");
        end(&bench);
    }
}

static const char forward_frames[] = "/t/torch/nn/functional.py|linear;/u/train.py|main";
static const char backward_frames[] = "engine.cpp|torch::autograd::Engine::evaluate_function()";

/* One line of the user's makes two tensors of the size of each weight, and keeps both: the states of an optimizer. So are
 * zeros, of which one is enough. */
static void states_that_stay_are_no_copies(void)
{
    enum { MIB = 1 << 20 };
    for (int kind = 1; kind <= 3; kind++) {
        struct bench bench;
        int states = kind == 2 ? 2 : 1;
        begin(&bench);
        uint32_t built = stack(&bench, MODULE_PY "|convert;/u/train.py|main"), forward = stack(&bench, forward_frames);
        uint32_t kept = stack(&bench, kind == 3 ? "??|at::_ops::zeros_like::call(X);/u/train.py|moments;/u/train.py|main"
                                                : "/u/train.py|moments;/u/train.py|main");
        history(&bench);
        for (int i = 0; i < 4; i++)
            live(&bench, alloc(&bench, (4 + i) * MIB, built), (4 + i) * MIB, built);
        for (int i = 0; i < 4 * states; i++)
            live(&bench, alloc(&bench, (4 + i / states) * MIB, kept), (4 + i / states) * MIB, kept);
        for (int i = 0; i < 40; i++)
            give_back(&bench, alloc(&bench, 10, forward), 10, forward);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(of_category(&bench, 0, "copies of weights"), kind == 1 ? 22 * MIB : 0, kind == 1 ? "a copy" : "moments");
        end(&bench);
    }
}

/* A line makes one tensor of the size of each weight and keeps them: state, where that is right behind the first backward
 * pass and nothing else is; a copy before it, behind the next forward, or beside state that is told by its frames. */
static void state_is_told_by_where_it_is_made(void)
{
    enum { MIB = 1 << 20, BEHIND, BEFORE, LATER, BESIDE_STATE, KINDS };
    for (int kind = BEHIND; kind < KINDS; kind++) {
        struct bench bench;
        begin(&bench);
        uint32_t built = stack(&bench, MODULE_PY "|convert;/u/train.py|main"), forward = stack(&bench, forward_frames);
        uint32_t backward = stack(&bench, backward_frames), made = stack(&bench, "/u/train.py|update;/u/train.py|main");
        uint32_t state = stack(&bench, "/x/site-packages/torch/optim/adam.py|_init_group;/u/train.py|main");
        history(&bench);
        for (int i = 0; i < 4; i++)
            live(&bench, alloc(&bench, (4 + i) * MIB, built), (4 + i) * MIB, built);
        for (int at = BEHIND; at <= LATER; at++) { /* in the order in which they lie: before, behind, later */
            bool here = at == (kind == BEHIND || kind == BESIDE_STATE ? BEFORE : kind == BEFORE ? BEHIND : LATER);
            for (int i = 0; i < 4 && here; i++)
                live(&bench, alloc(&bench, (4 + i) * MIB, made), (4 + i) * MIB, made);
            for (int i = 0; i < 4 && here && kind == BESIDE_STATE; i++)
                live(&bench, alloc(&bench, (4 + i) * MIB, state), (4 + i) * MIB, state);
            give_back(&bench, alloc(&bench, 10, forward), 10, forward);
            wait_for(&bench, 40);
            give_back(&bench, alloc(&bench, 10, backward), 10, backward);
        }
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(of_category(&bench, 0, "optimizer state"), kind == BEHIND || kind == BESIDE_STATE ? 22 * MIB : 0, "state");
        is_int(of_category(&bench, 0, "copies of weights"), kind == BEHIND ? 0 : 22 * MIB, "a copy");
        end(&bench);
    }
}

/* Behind each of four passes a line makes the sizes of the weights, and what the first left has the others added to; made
 * once alone they are state. */
static void what_is_added_to_is_no_state(void)
{
    enum { MIB = 1 << 20 };
    for (int once = 0; once < 2; once++) {
        struct bench bench;
        begin(&bench);
        uint32_t built = stack(&bench, MODULE_PY "|convert;/u/train.py|main"), forward = stack(&bench, forward_frames);
        uint32_t backward = stack(&bench, backward_frames), made = stack(&bench, "/u/train.py|squares;/u/train.py|main");
        history(&bench);
        for (int i = 0; i < 4; i++)
            live(&bench, alloc(&bench, (4 + i) * MIB, built), (4 + i) * MIB, built);
        for (int passes = 0; passes < 4; passes++) {
            give_back(&bench, alloc(&bench, 10, forward), 10, forward);
            wait_for(&bench, 40);
            give_back(&bench, alloc(&bench, 10, backward), 10, backward);
            for (int i = 0; i < 4 && (!passes || !once); i++) {
                uint64_t address = alloc(&bench, (4 + i) * MIB, made);
                if (passes)
                    give_back(&bench, address, (4 + i) * MIB, made);
                else
                    live(&bench, address, (4 + i) * MIB, made);
            }
        }
        wait_for(&bench, 70);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(of_category(&bench, 0, "optimizer state"), once ? 22 * MIB : 0, "state, where they are made once");
        is_int(of_category(&bench, 0, "kept tensors"), once ? 0 : 22 * MIB, "kept, where others are added to them");
        end(&bench);
    }
}

/* Gradients are summed up over three passes, then the state is made, and they are given back; where they are given back
 * behind each pass, what the third one is followed by is a copy. */
static void state_is_made_behind_the_passes_that_gradients_are_summed_over(void)
{
    enum { MIB = 1 << 20 };
    for (int sums = 0; sums < 2; sums++) {
        struct bench bench;
        begin(&bench);
        uint32_t built = stack(&bench, MODULE_PY "|convert;/u/train.py|main"), forward = stack(&bench, forward_frames);
        uint32_t backward = stack(&bench, backward_frames), made = stack(&bench, "/u/train.py|update;/u/train.py|main");
        uint32_t loop = stack(&bench, "/u/train.py|main");
        uint64_t gradient = 0;
        history(&bench);
        for (int i = 0; i < 4; i++)
            live(&bench, alloc(&bench, (4 + i) * MIB, built), (4 + i) * MIB, built);
        for (int passes = 0; passes < 4; passes++) {
            give_back(&bench, alloc(&bench, 10, forward), 10, forward);
            if (!passes || !sums)
                gradient = alloc(&bench, 7 * MIB, backward);
            give_back(&bench, alloc(&bench, 10, backward), 10, backward);
            for (int i = 0; i < 4 && passes == 2; i++)
                live(&bench, alloc(&bench, (4 + i) * MIB, made), (4 + i) * MIB, made);
            if (!sums || passes == 2)
                give_back(&bench, gradient, 7 * MIB, loop);
            wait_for(&bench, 40);
        }
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(of_category(&bench, 0, "optimizer state"), sums ? 22 * MIB : 0, "state");
        is_int(of_category(&bench, 0, "copies of weights"), sums ? 0 : 22 * MIB, "a copy");
        end(&bench);
    }
}

/* The best weights are copied anew while the last copy is there: both are copies, until they go. */
static void copies_that_are_made_anew_are_copies(void)
{
    enum { MIB = 1 << 20 };
    struct bench bench;
    uint64_t copies[3][4] = { { 0 } };
    begin(&bench);
    uint32_t built = stack(&bench, MODULE_PY "|convert;/u/train.py|main"), loop = stack(&bench, "/u/train.py|main");
    uint32_t kept = stack(&bench, "/u/keep.py|update;/u/train.py|main"), forward = stack(&bench, forward_frames);
    history(&bench);
    for (int i = 0; i < 4; i++)
        live(&bench, alloc(&bench, (4 + i) * MIB, built), (4 + i) * MIB, built);
    for (int time = 0; time < 3; time++) {
        for (int i = 0; i < 40; i++)
            give_back(&bench, alloc(&bench, 10, forward), 10, forward);
        for (int i = 0; i < 4; i++)
            copies[time][i] = alloc(&bench, (4 + i) * MIB, kept);
        for (int i = 0; i < 4 && time; i++)
            give_back(&bench, copies[time - 1][i], (4 + i) * MIB, loop);
    }
    for (int i = 0; i < 40; i++)
        give_back(&bench, alloc(&bench, 10, forward), 10, forward);
    for (int i = 0; i < 4; i++)
        give_back(&bench, copies[2][i], (4 + i) * MIB, loop);
    segment(&bench, 0, -1);
    pass(&bench, 20);
    is_int(of_category(&bench, 0, "parameters"), 22 * MIB, "the weights");
    is_int(of_category(&bench, 0, "copies of weights"), 44 * MIB, "two copies");
    end(&bench);
}

/* Between two passes of a training a line makes the sizes of the weights and of their state, and gives all back: cloned to
 * be saved. Beside gradients they may be those, clipped; zeros are no clones, and a part of the weights is none of them. */
static void a_state_that_is_cloned_to_be_saved_is_a_copy(void)
{
    enum { MIB = 1 << 20, SAVED, BESIDE_GRADIENTS, ZEROS, IN_PART, KINDS };
    for (int kind = SAVED; kind < KINDS; kind++) {
        struct bench bench;
        uint64_t gradients[8], clones[24];
        begin(&bench);
        uint32_t built = stack(&bench, MODULE_PY "|convert;/u/train.py|main"), forward = stack(&bench, forward_frames);
        uint32_t backward = stack(&bench, backward_frames);
        uint32_t state = stack(&bench, "/x/site-packages/torch/optim/adam.py|_init_group;/u/train.py|main");
        uint32_t cloned = stack(&bench, kind == ZEROS ? "??|at::_ops::zeros_like::call(X);/u/keep.py|copies;/u/train.py|main"
                                                      : "/u/keep.py|copies;/u/train.py|main");
        int sets = kind == BESIDE_GRADIENTS ? 1 : 3, weights = kind == IN_PART ? 4 : 8;
        history(&bench);
        for (int i = 0; i < 8; i++)
            live(&bench, alloc(&bench, (1 + i) * MIB, built), (1 + i) * MIB, built);
        for (int i = 0; i < 16; i++)
            live(&bench, alloc(&bench, (1 + i / 2) * MIB, state), (1 + i / 2) * MIB, state);
        for (int step = 0; step < 2; step++) {
            give_back(&bench, alloc(&bench, 10, forward), 10, forward);
            for (int i = 0; i < 8; i++)
                gradients[i] = alloc(&bench, (1 + i) * MIB, backward);
            wait_for(&bench, 40);
            for (int i = 0; i < 8 && kind != BESIDE_GRADIENTS; i++)
                give_back(&bench, gradients[i], (1 + i) * MIB, built);
            for (int i = 0; i < sets * weights; i++)
                clones[i] = alloc(&bench, (1 + i / sets) * MIB, cloned);
            wait_for(&bench, 40);
            for (int i = 0; i < sets * weights; i++)
                give_back(&bench, clones[i], (1 + i / sets) * MIB, cloned);
            for (int i = 0; i < 8 && kind == BESIDE_GRADIENTS; i++)
                give_back(&bench, gradients[i], (1 + i) * MIB, built);
        }
        wait_for(&bench, 2000);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(of_category(&bench, 0, "copies of weights"), kind == SAVED ? 3 * 36 * MIB : 0, "clones, or none");
        is_int(of_category(&bench, 0, "parameters"), 36 * MIB, "the weights");
        end(&bench);
    }
}

/* A second model of the same sizes is built after the first one was trained. Where the lines that ran the first go on beside
 * its own, both are trained; where they do not, the first one is only still there. */
static void models_that_are_trained_side_by_side_are_no_copies(void)
{
    enum { MIB = 1 << 20 };
    for (int both = 0; both < 2; both++) {
        struct bench bench;
        begin(&bench);
        uint32_t built = stack(&bench, MODULE_PY "|convert;/u/train.py|main"), backward = stack(&bench, backward_frames);
        uint32_t lines[2] = { stack(&bench, "/t/torch/nn/functional.py|linear;/u/train.py|actor"),
                              stack(&bench, "/t/torch/nn/functional.py|linear;/u/train.py|critic") };
        uint32_t state = stack(&bench, "/t/torch/optim/adamw.py|_init_group;/u/train.py|main");
        history(&bench);
        for (int model = 0; model < 2; model++) {
            for (int i = 0; i < 4; i++)
                live(&bench, alloc(&bench, (4 + i) * MIB, built), (4 + i) * MIB, built);
            for (int pass = both ? 0 : model; pass <= model; pass++) {
                uint64_t saved = alloc(&bench, 1000, lines[pass]);
                wait_for(&bench, 40);
                give_back(&bench, alloc(&bench, 50, backward), 50, backward);
                give_back(&bench, saved, 1000, backward);
            }
            live(&bench, alloc(&bench, 2 * MIB, state), 2 * MIB, state);
        }
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(of_category(&bench, 0, "parameters"), (both ? 44 : 22) * MIB, both ? "two models" : "the last model");
        is_int(of_category(&bench, 0, "copies of weights"), both ? 0 : 24 * MIB, both ? "no copy" : "and that of before");
        end(&bench);
    }
}

/* A reference is built when the model has been trained for a while, and the peak is in its first forward; training goes on
 * with the state that is there. */
static void a_model_with_a_late_reference_is_no_copy(void)
{
    enum { MIB = 1 << 20 };
    struct bench bench;
    begin(&bench);
    uint32_t built = stack(&bench, MODULE_PY "|convert;/u/train.py|main"), backward = stack(&bench, backward_frames);
    uint32_t state = stack(&bench, "/t/torch/optim/adamw.py|_init_group;/u/train.py|main");
    uint32_t forward = stack(&bench, forward_frames);
    history(&bench);
    for (int model = 0; model < 2; model++) {
        for (int i = 0; i < 4; i++)
            live(&bench, alloc(&bench, (4 + i) * MIB, built), (4 + i) * MIB, built);
        int64_t bytes = (model + 1) * MIB;
        uint64_t saved = alloc(&bench, bytes, forward);
        wait_for(&bench, 40);
        give_back(&bench, saved, bytes, forward);
        give_back(&bench, alloc(&bench, 50, backward), 50, backward);
        for (int i = 0; i < 4 && model == 0; i++)
            live(&bench, alloc(&bench, (4 + i) * MIB, state), (4 + i) * MIB, state);
    }
    wait_for(&bench, 40);
    segment(&bench, 0, -1);
    pass(&bench, 20);
    is_int(of_category(&bench, 0, "parameters"), 44 * MIB, "the model and its reference");
    is_int(of_category(&bench, 0, "optimizer state"), 22 * MIB, "the state that is in use");
    end(&bench);
}

/* Two models of the same sizes, or of twice those, are loaded by two lines: one alone has gradients and state, or both have
 * gradients, or both state: of each behind a backward pass of its own where they take turns, and twice as many of one line
 * where one optimizer with one state each has both. */
static void a_model_without_gradients_beside_its_like_is_a_copy(void)
{
    enum {
        MIB = 1 << 20,
        SAME,
        IN_32_BITS,
        BOTH_HAVE_GRADIENTS,
        BOTH_HAVE_STATE,
        TAKE_TURNS,
        OF_ONE_LINE,
        OTHER_SIZES,
        KINDS
    };
    for (int kind = SAME; kind < KINDS; kind++) {
        struct bench bench;
        begin(&bench);
        uint32_t loaded[2] = { stack(&bench, "/t/transformers/modeling_utils.py|from_pretrained;/u/train.py|policy"),
                               stack(&bench, "/t/transformers/modeling_utils.py|from_pretrained;/u/train.py|reference") };
        uint32_t backward = stack(&bench, backward_frames), forward = stack(&bench, forward_frames);
        uint32_t state[2] = { stack(&bench, "/t/torch/optim/adamw.py|_init_group;/u/train.py|main"),
                              stack(&bench, "/t/torch/optim/adam.py|_init_group;/u/train.py|main") };
        int64_t times = kind == IN_32_BITS ? 2 : 1, more = kind == OTHER_SIZES ? 7 * MIB : 0;
        history(&bench);
        for (int i = 0; i < 4; i++) {
            int64_t bytes = (4 + i) * MIB, other = times * bytes + more;
            live(&bench, alloc(&bench, bytes, loaded[0]), bytes, loaded[0]);
            live(&bench, alloc(&bench, other, loaded[1]), other, loaded[1]);
        }
        give_back(&bench, alloc(&bench, 10, forward), 10, forward);
        for (int i = 0; i < 4 * (kind == BOTH_HAVE_GRADIENTS ? 2 : 1); i++)
            live(&bench, alloc(&bench, (4 + i % 4) * MIB, backward), (4 + i % 4) * MIB, backward);
        for (int i = 0; i < 8 * (kind == BOTH_HAVE_STATE ? 2 : 1); i++) {
            if (i == 4 && kind == TAKE_TURNS)
                give_back(&bench, alloc(&bench, 10, backward), 10, backward);
            uint32_t by = state[kind == OF_ONE_LINE ? 0 : i / 4 % 2];
            live(&bench, alloc(&bench, (4 + i % 4) * MIB, by), (4 + i % 4) * MIB, by);
        }
        wait_for(&bench, 70);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        bool is_copy = kind == SAME || kind == IN_32_BITS;
        is_int(of_category(&bench, 0, "copies of weights"), is_copy ? 22 * times * MIB : 0, "the reference");
        is_int(of_category(&bench, 0, "parameters"), is_copy ? 22 * MIB : 44 * MIB + 4 * more, "what is trained");
        end(&bench);
    }
}

/* A line makes a batch before the forward of each of four passes; or it makes something behind the forward as well. */
static void batches_open_passes(void)
{
    for (int late = 0; late < 2; late++) {
        struct bench bench;
        begin(&bench);
        uint32_t forward = stack(&bench, forward_frames), backward = stack(&bench, backward_frames);
        uint32_t batch = stack(&bench, "/u/train.py|main"), other = stack(&bench, "/u/other.py|main");
        history(&bench);
        for (int passes = 0; passes < 4; passes++) {
            uint64_t address = alloc(&bench, 3000, batch);
            give_back(&bench, alloc(&bench, 10, forward), 10, forward);
            if (late)
                give_back(&bench, alloc(&bench, 10, batch), 10, batch);
            wait_for(&bench, 40);
            give_back(&bench, alloc(&bench, 10, backward), 10, backward);
            give_back(&bench, address, 3000, other);
        }
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(of_category(&bench, 0, "inputs"), late ? 0 : 3000, "the batch of the peak");
        is_int(of_category(&bench, 0, "unknown"), late ? 3000 : 0, "a line that makes more than batches");
        end(&bench);
    }
}

/* In a short history of a first step: data from before the weights stay, what is made behind them may be a batch. */
static void what_is_older_than_the_weights_is_kept(void)
{
    for (int behind = 0; behind < 2; behind++) {
        struct bench bench;
        begin(&bench);
        uint32_t built = stack(&bench, MODULE_PY "|convert;/u/train.py|main"), forward = stack(&bench, forward_frames);
        uint32_t read = stack(&bench, "/u/train.py|data;/u/train.py|main");
        history(&bench);
        for (int i = 0; i < 2; i++) {
            int64_t bytes = i == behind ? 5000 : 700;
            uint32_t made = i == behind ? read : built;
            live(&bench, alloc(&bench, bytes, made), bytes, made);
        }
        live(&bench, alloc(&bench, 10, forward), 10, forward);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(of_category(&bench, 0, "kept tensors"), behind ? 0 : 5000, "data from before the weights");
        is_int(of_category(&bench, 0, "unknown"), behind ? 5000 : 0, "data or a batch");
        end(&bench);
    }
}

/* A request fails behind the first backward pass, while state is set up that no frame tells, or in the forward behind it.
 * The state lies before the weights; still these are the older ones. */
static void a_first_update_that_fails_is_told(void)
{
    enum { MIB = 1 << 20 };
    for (int behind = 0; behind < 2; behind++) {
        struct bench bench;
        begin(&bench);
        uint32_t built = stack(&bench, "|at::native::_to_copy()"), set_up = stack(&bench, "|at::native::empty_like()");
        uint32_t forward = stack(&bench, forward_frames), backward = stack(&bench, backward_frames);
        history(&bench);
        bench.address = BASE + ((uint64_t)64 << 20);
        for (int i = 0; i < 4; i++)
            live(&bench, alloc(&bench, (4 + i) * MIB, built), (4 + i) * MIB, built);
        wait_for(&bench, 40);
        for (int i = 0; i < 4; i++)
            live(&bench, alloc(&bench, (4 + i) * MIB, backward), (4 + i) * MIB, backward);
        bench.address = BASE;
        for (int i = 0; i < 4; i++)
            live(&bench, alloc(&bench, (4 + i) * MIB, set_up), (4 + i) * MIB, set_up);
        wait_for(&bench, 200);
        if (behind)
            live(&bench, alloc(&bench, 10, forward), 10, forward);
        entry(&bench, AP_ACTION_OOM, 0, 9 * MIB, built);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(of_category(&bench, 0, "parameters"), 22 * MIB, "the weights");
        is_int(of_category(&bench, 0, "optimizer state"), 22 * MIB, "the state");
        is_int(of_category(&bench, 0, "copies of weights"), 0, "no copy");
        is_int(at(&bench, "memory.oom_summary.in_optimizer_count")->as.integer, !behind, "where the request failed");
        end(&bench);
    }
}

/* A constructor that runs in each step makes no weights. */
static void what_steps_construct_is_no_model(void)
{
    for (int steps = 1; steps <= 4; steps += 3) {
        struct bench bench;
        begin(&bench);
        uint32_t made = stack(&bench, "/u/rollout.py|__init__;/u/train.py|main");
        uint32_t forward = stack(&bench, forward_frames), backward = stack(&bench, backward_frames);
        history(&bench);
        for (int i = 0; i < steps; i++) {
            live(&bench, alloc(&bench, 12000 / steps, made), 12000 / steps, made);
            live(&bench, alloc(&bench, 12000 / steps, made), 12000 / steps, made);
            uint64_t saved = alloc(&bench, 500, forward);
            wait_for(&bench, 40);
            give_back(&bench, saved, 500, backward);
            give_back(&bench, alloc(&bench, 5, backward), 5, backward);
        }
        wait_for(&bench, 80);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(of_category(&bench, 0, "parameters"), steps == 1 ? 24000 : 0, steps == 1 ? "a model" : "objects of steps");
        end(&bench);
    }
}

/* The history begins behind the backward pass, or stacks do not tell it: of the sets beside the state that steps replace,
 * one is the weights, and the next the gradients that are added to. Only what is beyond those is a copy. */
static void an_optimizer_has_gradients(void)
{
    for (int sets = 2; sets <= 3; sets++) {
        struct bench bench;
        begin(&bench);
        uint32_t step = stack(&bench, "/u/optimizer.py|step;/u/train.py|main");
        history(&bench);
        give_back(&bench, alloc(&bench, 9000, step), 9000, step); /* the peak, before any state is replaced */
        for (int i = 0; i < 16; i++) {
            int64_t bytes = 1000 + i / 2;
            uint64_t old = bench.address;
            bench.address += 1 << 20;
            uint64_t state = alloc(&bench, bytes, step);
            give_back(&bench, old, bytes, step);
            live(&bench, state, bytes, step);
        }
        for (int i = 0; i < sets * 8; i++) {
            live(&bench, bench.address, 1000 + i % 8, 0);
            bench.address += 1 << 20;
        }
        wait_for(&bench, 40);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(of_category(&bench, 0, "parameters"), 8028, "the weights");
        is_int(of_category(&bench, 0, "gradients"), 8028, "the gradients");
        is_int(of_category(&bench, 0, "copies of weights"), sets == 3 ? 8028 : 0, "what is beyond them");
        end(&bench);
    }
}

/* Only Python's frames were recorded: a backward of its own has some, autograd's threads have none. */
static void functions_with_a_backward_hide_no_other(void)
{
    struct bench bench;
    begin(&bench);
    uint32_t forward = stack(&bench, "/t/torch/nn/functional.py|linear;/u/train.py|main");
    uint32_t custom = stack(&bench, "/u/ops.py|backward;/t/torch/autograd/function.py|apply");
    history(&bench);
    uint64_t activation = alloc(&bench, 7000, forward), gradient = alloc(&bench, 300, 0);
    give_back(&bench, activation, 7000, 0);
    give_back(&bench, alloc(&bench, 20, custom), 20, custom);
    live(&bench, gradient, 300, 0);
    segment(&bench, 0, -1);
    pass(&bench, 20);
    is_int(of_category(&bench, 0, "activations"), 7000, "the backward pass took it, though at once");
    end(&bench);
}

/* Copies of the gradients to clip them by: made and gone before a pass or step allocates. */
static void what_passes_do_not_see_is_temporary(void)
{
    struct bench bench;
    uint64_t copies[40];
    begin(&bench);
    uint32_t forward = stack(&bench, "/t/torch/nn/functional.py|linear;/u/train.py|main"),
             clip = stack(&bench, "/u/clip.py|norm");
    history(&bench);
    give_back(&bench, alloc(&bench, 10, forward), 10, forward);
    for (int i = 0; i < 40; i++)
        copies[i] = alloc(&bench, 1000, clip);
    for (int i = 0; i < 40; i++)
        give_back(&bench, copies[i], 1000, clip);
    wait_for(&bench, 3000);
    give_back(&bench, alloc(&bench, 10, forward), 10, forward);
    segment(&bench, 0, -1);
    pass(&bench, 20);
    is_int(of_category(&bench, 0, "temporaries"), 40000, "all of them");
    end(&bench);
}

static const char step_frames[] = "/u/optimizer.py|step;/u/train.py|main";

/* What grows within one backward pass is of its nodes; beside a forward in each period it is a leak. */
static void nodes_of_a_pass_are_no_steps(void)
{
    for (int with_forward = 0; with_forward < 2; with_forward++) {
        struct bench bench;
        begin(&bench);
        uint32_t node = stack(&bench, backward_frames), forward = stack(&bench, forward_frames);
        uint32_t made = stack(&bench, "f.cpp|made;engine.cpp|torch::autograd::Engine::evaluate_function()");
        uint64_t kept[PASSES];
        history(&bench);
        for (int i = 0; i < PASSES; i++) {
            uint64_t t = alloc(&bench, 9000, node), f = with_forward ? alloc(&bench, 9000, forward) : 0;
            kept[i] = alloc(&bench, 1000, made);
            give_back(&bench, t, 9000, 0);
            if (with_forward)
                give_back(&bench, f, 9000, 0);
        }
        for (int i = 0; i < PASSES; i++)
            live(&bench, kept[i], 1000, made);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        const char *verdict = with_forward ? "leak" : "unknown";
        ok(is_named(at(&bench, "memory.leaks"), "verdict", verdict), verdict);
        is_int(at(&bench, "memory.leaks.sure")->as.integer, with_forward, "how sure");
        end(&bench);
    }
}

static void is_avoidable(struct bench *bench, const char *kind, int64_t held_bytes, int64_t saved_bytes)
{
    segment(bench, 0, -1);
    pass(bench, 20);
    const struct ap_value *row = ap_value_member(at(bench, "memory.avoidable"), kind);
    is_int(number(row, "held_bytes"), held_bytes, kind);
    is_int(number(row, "saved_bytes"), saved_bytes, "by that the highest point falls");
    end(bench);
}

/* The gradient of the first pass goes behind the second forward; then that of the second comes. */
static void old_gradients_need_not_be_held(void)
{
    struct bench bench;
    begin(&bench);
    uint32_t forward = stack(&bench, forward_frames), backward = stack(&bench, backward_frames);
    uint32_t zero = stack(&bench, "/u/optimizer.py|zero_grad;/u/train.py|main");
    history(&bench);
    uint64_t first = alloc(&bench, 1000, forward), old = alloc(&bench, 500, backward);
    give_back(&bench, first, 1000, backward);
    wait_for(&bench, 40);
    uint64_t second = alloc(&bench, 2000, forward);
    give_back(&bench, old, 500, zero);
    uint64_t fresh = alloc(&bench, 300, backward);
    give_back(&bench, second, 2000, backward);
    live(&bench, fresh, 300, backward);
    is_avoidable(&bench, "old_gradients", 500, 200);
}

/* Two blocks from before the history have the sizes of the gradients that zero_grad frees; a third has another. */
static void weights_are_told_by_their_sizes(void)
{
    struct bench bench;
    begin(&bench);
    uint32_t forward = stack(&bench, forward_frames);
    uint32_t zero = stack(&bench, "/u/optimizer.py|zero_grad;/u/train.py|main");
    history(&bench);
    uint64_t activation = alloc(&bench, 1000, forward);
    give_back(&bench, BASE - 4096, 300, zero);
    give_back(&bench, BASE - 8192, 200, zero);
    give_back(&bench, activation, 1000, 0);
    live(&bench, BASE - 12288, 300, 0);
    live(&bench, BASE - 16384, 200, 0);
    live(&bench, BASE - 20480, 70, 0);
    segment(&bench, 0, -1);
    pass(&bench, 20);
    const struct ap_value *peak = at(&bench, "memory.peak");
    is_int(number(peak, "requested_bytes"), 2070, "the gradients are there at the peak");
    is_int(number(peak, "gradients_bytes"), 500, "what zero_grad frees");
    const struct ap_value *owners = ap_value_member(ap_value_first(ap_value_member(peak, "devices")), "by_category");
    is_int(number(ap_value_first(owners), "requested_bytes"), 500, "as much are weights");
    end(&bench);
}

static void weights_are_told_by_gradients_of_a_whole_pass(void)
{
    struct bench bench;
    begin(&bench);
    uint32_t forward = stack(&bench, forward_frames), backward = stack(&bench, backward_frames);
    uint32_t zero = stack(&bench, "/u/optimizer.py|zero_grad;/u/train.py|main");
    history(&bench);
    uint64_t activation = alloc(&bench, 450, forward);
    wait_for(&bench, 40);
    uint64_t first = alloc(&bench, 300, backward); /* the peak: the other gradient is not there yet */
    give_back(&bench, activation, 450, backward);
    uint64_t second = alloc(&bench, 200, backward);
    wait_for(&bench, 40);
    give_back(&bench, first, 300, zero);
    give_back(&bench, second, 200, zero);
    live(&bench, BASE - 12288, 300, 0);
    live(&bench, BASE - 16384, 200, 0);
    live(&bench, BASE - 20480, 70, 0);
    segment(&bench, 0, -1);
    pass(&bench, 20);
    const struct ap_value *peak = at(&bench, "memory.peak");
    is_int(number(peak, "requested_bytes"), 1320, "in the midst of a backward pass");
    is_int(number(peak, "gradients_bytes"), 300, "one gradient is there");
    const struct ap_value *owners = ap_value_member(ap_value_first(ap_value_member(peak, "devices")), "by_category");
    is_int(number(ap_value_first(owners), "requested_bytes"), 500, "weights have the sizes of both");
    end(&bench);
}

static const char *const lines[] = { "/t/torch/nn/functional.py|linear;/u/a.py|forward",
                                     "/t/torch/nn/functional.py|gelu;/u/b.py|forward",
                                     "/t/torch/nn/functional.py|layer_norm;/u/c.py|forward" };

/* Ten blocks of three lines go at once, before any backward pass; those of the other run go within one. */
static void passes_kept_for_nothing(struct bench *bench, bool trained)
{
    uint64_t kept[10];
    begin(bench);
    uint32_t backward = stack(bench, backward_frames), loop = stack(bench, "/u/train.py|main");
    history(bench);
    for (int i = 0; i < 10; i++)
        kept[i] = alloc(bench, 1000, stack(bench, lines[i % 3]));
    wait_for(bench, 40);
    for (int i = 0; i < 10; i++) {
        if (trained)
            give_back(bench, alloc(bench, 5, backward), 5, backward);
        give_back(bench, kept[i], 1000, trained ? backward : loop);
    }
    live(bench, alloc(bench, 70, loop), 70, loop);
    is_avoidable(bench, "unused_graphs", trained ? 0 : 10000, trained ? 0 : 9930);
}

static void graphs_without_backward_need_not_be_held(void)
{
    struct bench bench;
    passes_kept_for_nothing(&bench, false);
    passes_kept_for_nothing(&bench, true);
}

static const char *first_line(struct bench *bench, const char *kind)
{
    const struct ap_value *row = ap_value_member(at(bench, "memory.avoidable"), kind);
    return ap_value_text(ap_value_member(ap_value_first(ap_value_member(row, "lines")), "frame")).data;
}

/* Layers call each other; the line to look at is the one that called the first of them. Some tell no line of the user's. */
static void the_line_to_look_at_called_the_model(void)
{
    static const char *const layers[] = {
        "/t/torch/nn/functional.py|linear;/u/model.py|forward;/t/torch/nn/modules/module.py|_call_impl;/u/val.py|evaluate;"
        "/u/train.py|main",
        "/t/torch/nn/functional.py|gelu;/u/block.py|forward;/t/torch/nn/modules/module.py|_call_impl;/u/model.py|forward;"
        "/t/torch/nn/modules/module.py|_call_impl;/u/val.py|evaluate;/u/train.py|main",
        "/t/torch/nn/functional.py|layer_norm;/u/norm.py|forward;/t/torch/nn/modules/module.py|_call_impl"
    };
    struct bench bench;
    uint64_t kept[10];
    begin(&bench);
    uint32_t loop = stack(&bench, "/u/train.py|main");
    history(&bench);
    for (int i = 0; i < 10; i++)
        kept[i] = alloc(&bench, 1000, stack(&bench, layers[i % 3]));
    wait_for(&bench, 40);
    for (int i = 0; i < 10; i++)
        give_back(&bench, kept[i], 1000, loop);
    live(&bench, alloc(&bench, 70, loop), 70, loop);
    segment(&bench, 0, -1);
    pass(&bench, 20);
    ok(strcmp(first_line(&bench, "unused_graphs"), "/u/val.py:7 evaluate") == 0, "who called the model");
    const struct ap_value *row = ap_value_member(at(&bench, "memory.avoidable"), "unused_graphs");
    is_int(number(ap_value_first(ap_value_member(row, "lines")), "allocations"), 7, "for those that tell a line");
    is_int(number(row, "count"), 10, "of all");
    end(&bench);
}

/* Three calls of a model of ten layers, the user's loss between them, or a loop over 30 layers without anything between. */
static void calls_are_told_apart_by_what_lies_between(void)
{
    for (int losses = 0; losses < 2; losses++) {
        struct bench bench;
        uint64_t kept[30], loss[3];
        begin(&bench);
        uint32_t layer = stack(&bench, "/u/block.py|forward;/t/torch/nn/modules/module.py|_call_impl;/u/train.py|main");
        uint32_t between = stack(&bench, "/t/torch/nn/functional.py|mse_loss;/u/train.py|main");
        uint32_t backward = stack(&bench, backward_frames);
        history(&bench);
        for (int i = 0; i < 30; i++) {
            kept[i] = alloc(&bench, 1000, layer);
            if (losses && i % 10 == 9)
                loss[i / 10] = alloc(&bench, 4, between);
        }
        wait_for(&bench, 40);
        for (int i = 29; i >= 0; i--) {
            if (losses && i % 10 == 9)
                give_back(&bench, loss[i / 10], 4, backward);
            give_back(&bench, alloc(&bench, 5, backward), 5, backward);
            give_back(&bench, kept[i], 1000, backward);
        }
        live(&bench, alloc(&bench, 70, backward), 70, backward);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(number(at(&bench, "memory.avoidable.activations"), "calls"), losses ? 3 : 1, losses ? "calls" : "one call");
        end(&bench);
    }
}

#define MIB ((int64_t)1 << 20)

/* A line makes a copy of the logits, and the loss asks for as much and gets none; or something else asks. */
static void a_failed_request_tells_what_is_as_large(void)
{
    for (int loss = 0; loss < 2; loss++) {
        struct bench bench;
        begin(&bench);
        uint32_t copy = stack(&bench, "/u/train.py|step;/u/train.py|main");
        uint32_t asks = stack(&bench, loss ? "/t/site-packages/torch/nn/functional.py|cross_entropy;/u/train.py|step"
                                           : "/t/site-packages/torch/nn/functional.py|gelu;/u/train.py|step");
        history(&bench);
        wait_for(&bench, 40);
        live(&bench, alloc(&bench, 40 * MIB, copy), 40 * MIB, copy);
        entry(&bench, AP_ACTION_OOM, 1000, 40 * MIB, asks);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(number(at(&bench, "memory.avoidable.logits"), "held_bytes"), loss ? 40 * MIB : 0, "the copy of the logits");
        end(&bench);
    }
}

/* Each word tells its stack; what is as large is one of them too: logits of any function, scores of the same one alone. */
static void logits_and_scores_are_told_by_their_functions(void)
{
    static const struct {
        const char *frames, *kind;
        int64_t bytes;
    } made[] = {
        { "/t/site-packages/torch/nn/functional.py|log_softmax;/u/a.py|loss", "logits", 40 * MIB },
        { "x.cpp|at::_ops::nll_loss_backward::call;x.cpp|torch::autograd::NllLossBackward0::apply", "logits", 40 * MIB },
        { "x.cpp|torch::autograd::generated::LogSoftmaxBackward0::apply", "logits", 40 * MIB },
        { "/t/site-packages/torch/nn/functional.py|cross_entropy;/u/a.py|loss", "logits", 40 * MIB },
        { "/t/site-packages/torch/nn/functional.py|linear;/u/head.py|forward", "logits", 40 * MIB },
        { "/t/site-packages/torch/nn/functional.py|softmax;/u/attention.py|forward", "scores", 30 * MIB },
        { "x.cpp|torch::autograd::generated::SoftmaxBackward0::apply", "scores", 30 * MIB },
        { "/t/site-packages/torch/nn/functional.py|dropout;/u/attention.py|forward", "scores", 30 * MIB },
        { "/u/own.py|softmax;/u/own_attention.py|scaled;/u/own.py|forward", "scores", 20 * MIB },
        { "/u/own_attention.py|scaled;/u/own.py|forward", "scores", 20 * MIB },
        { "/t/site-packages/torch/nn/functional.py|gelu;/u/own.py|forward", "", 20 * MIB },
        { "/t/site-packages/torch/nn/functional.py|gelu;/u/mlp.py|forward", "", 30 * MIB },
        /* classes of what a module gave; their overlap with the mask */
        { "/t/site-packages/torch/nn/modules/conv.py|forward;/u/train.py|step", "", 25 * MIB },
        { "/t/site-packages/torch/nn/functional.py|softmax;/u/dice.py|loss", "", 25 * MIB },
        { "x.cpp|torch::autograd::generated::SoftmaxBackward0::apply", "", 25 * MIB },
        { "/u/dice.py|loss", "", 25 * MIB },
        /* what a sampler sorts, and its chances */
        { "/u/sample.py|pick", "", 22 * MIB },
        { "/t/site-packages/torch/nn/functional.py|softmax;/u/sample.py|pick", "", 22 * MIB },
        /* a product, its softmax, that in 16 bits, and the gradient of it */
        { "/u/block.py|forward", "scores", 24 * MIB },
        { "/t/site-packages/torch/nn/functional.py|softmax;/u/block.py|forward", "scores", 24 * MIB },
        { "/u/block.py|forward", "scores", 12 * MIB },
        { "x.cpp|torch::autograd::generated::BmmBackward0::apply", "scores", 24 * MIB },
    };
    struct bench bench;
    int64_t logits = 0, scores = 0;
    begin(&bench);
    uint32_t loop = stack(&bench, "/u/train.py|main");
    uint32_t weight = stack(&bench, MODULE_PY "|convert;/u/train.py|main");
    uint64_t addresses[AP_COUNT_OF(made)];
    history(&bench);
    live(&bench, alloc(&bench, 40 * MIB, weight), 40 * MIB, weight); /* as large as the logits */
    for (size_t i = 0; i < AP_COUNT_OF(made); i++) {
        addresses[i] = alloc(&bench, made[i].bytes, stack(&bench, made[i].frames));
        logits += strcmp(made[i].kind, "logits") == 0 ? made[i].bytes : 0;
        scores += strcmp(made[i].kind, "scores") == 0 ? made[i].bytes : 0;
    }
    wait_for(&bench, 40);
    for (size_t i = 0; i < AP_COUNT_OF(made); i++)
        give_back(&bench, addresses[i], made[i].bytes, loop);
    live(&bench, alloc(&bench, 70, loop), 70, loop);
    segment(&bench, 0, -1);
    pass(&bench, 20);
    const struct ap_value *avoidable = at(&bench, "memory.avoidable");
    is_int(number(ap_value_member(avoidable, "logits"), "held_bytes"), logits, "logits, and the layer that made them");
    is_int(number(ap_value_member(avoidable, "logits"), "saved_bytes"), logits, "need not be there");
    is_int(number(ap_value_member(avoidable, "scores"), "held_bytes"), scores, "scores, and not a layer as wide");
    end(&bench);
}

/* A variable holds the result of a batch until the next one has its own: graphs of two batches are there, and each goes at
 * once. Rows of three lines that go one by one while others are made are none. */
static void graphs_of_batches_go_one_behind_the_other(void)
{
    for (int rows = 0; rows < 2; rows++) {
        struct bench bench;
        uint64_t kept[3][10];
        begin(&bench);
        uint32_t loop = stack(&bench, "/u/train.py|main"), other = stack(&bench, forward_frames);
        history(&bench);
        for (int batch = 0; batch < 3; batch++) {
            for (int i = 0; i < 10; i++)
                kept[batch][i] = alloc(&bench, 1000, stack(&bench, lines[i % 3]));
            wait_for(&bench, 40);
            for (int i = 0; i < 10 && batch > 0; i++) {
                give_back(&bench, kept[batch - 1][i], 1000, loop);
                if (rows)
                    give_back(&bench, alloc(&bench, 5, other), 5, other);
            }
        }
        for (int i = 0; i < 10; i++)
            give_back(&bench, kept[2][i], 1000, loop);
        live(&bench, alloc(&bench, 70, loop), 70, loop);
        is_avoidable(&bench, "unused_graphs", rows ? 0 : 20000, rows ? 0 : 19930);
    }
}

/* The same under no_grad, as a decorator, or by the frames of a cache of keys and values. */
static void without_gradients_there_is_no_graph(void)
{
    static const char guard[] = ";/t/torch/utils/_contextlib.py|decorate_context;/u/serve.py|main";
    static const char cache[] = "/x/transformers/cache_utils.py|update;";
    enum { BARE, GUARDED, CACHED };
    for (int way = BARE; way <= CACHED; way++) {
        struct bench bench;
        uint64_t kept[3][10];
        char frames[3][400];
        begin(&bench);
        for (int i = 0; i < 3; i++)
            (void)snprintf(frames[i], sizeof(frames[i]), "%s%s%s", way == CACHED ? cache : "", lines[i],
                           way == GUARDED ? guard : "");
        uint32_t loop = stack(&bench, "/u/train.py|main");
        history(&bench);
        for (int batch = 0; batch < 3; batch++) {
            for (int i = 0; i < 10; i++)
                kept[batch][i] = alloc(&bench, 1000, stack(&bench, frames[i % 3]));
            wait_for(&bench, 40);
            for (int i = 0; i < 10 && batch > 0; i++)
                give_back(&bench, kept[batch - 1][i], 1000, loop);
        }
        for (int i = 0; i < 10; i++)
            give_back(&bench, kept[2][i], 1000, loop);
        live(&bench, alloc(&bench, 70, loop), 70, loop);
        is_avoidable(&bench, "unused_graphs", way ? 0 : 20000, way ? 0 : 19930);
    }
}

/* A request fails, and all that forward made goes: its own, which is no more than one forward makes; or that of several, as
 * the training before shows. */
static void a_failure_ends_its_forward(void)
{
    for (int several = 0; several < 2; several++) {
        struct bench bench;
        uint64_t kept[10];
        begin(&bench);
        uint32_t backward = stack(&bench, backward_frames), loop = stack(&bench, "/u/train.py|main");
        history(&bench);
        for (int i = 0; i < 2 && several; i++) {
            uint64_t trained = alloc(&bench, 1000, stack(&bench, lines[i]));
            give_back(&bench, alloc(&bench, 5, backward), 5, backward);
            give_back(&bench, trained, 1000, backward);
        }
        for (int i = 0; i < 10; i++)
            kept[i] = alloc(&bench, 1000, stack(&bench, lines[i % 3]));
        wait_for(&bench, 40);
        entry(&bench, AP_ACTION_OOM, 0, 9000, stack(&bench, lines[0]));
        for (int i = 0; i < 10; i++)
            give_back(&bench, kept[i], 1000, loop);
        live(&bench, alloc(&bench, 70, loop), 70, loop);
        is_avoidable(&bench, "unused_graphs", several ? 10000 : 0, several ? 8995 : 0);
    }
}

/* A teacher's ten activations go at once behind the backward pass of a student; as many hidden states that are collected lie
 * between those that it takes. */
static void graphs_that_backward_leaves_need_not_be_held(void)
{
    for (int collected = 0; collected < 2; collected++) {
        struct bench bench;
        uint64_t teacher[10], between[10], student;
        begin(&bench);
        uint32_t backward = stack(&bench, backward_frames), loop = stack(&bench, "/u/train.py|main");
        uint32_t other = stack(&bench, forward_frames);
        history(&bench);
        for (int i = 0; i < 10; i++) {
            teacher[i] = alloc(&bench, 1000, stack(&bench, lines[i % 3]));
            between[i] = collected ? alloc(&bench, 10, other) : 0;
        }
        student = alloc(&bench, 500, other);
        wait_for(&bench, 40);
        uint64_t gradient = alloc(&bench, 300, backward);
        give_back(&bench, student, 500, backward);
        for (int i = 0; i < 10 && collected; i++)
            give_back(&bench, between[i], 10, backward);
        give_back(&bench, alloc(&bench, 5, backward), 5, backward);
        for (int i = 0; i < 10; i++)
            give_back(&bench, teacher[i], 1000, loop);
        live(&bench, gradient, 300, backward);
        is_avoidable(&bench, "unused_graphs", collected ? 0 : 10000, collected ? 0 : 10000);
    }
}

/* Each backward pass goes through all steps before: nothing comes at even distances. In the end what was kept may go. */
static void passes_that_become_longer_leak(void)
{
    for (int let_go = 0; let_go < 2; let_go++) {
        struct bench bench;
        uint64_t kept[PASSES];
        begin(&bench);
        uint32_t forward = stack(&bench, forward_frames), backward = stack(&bench, backward_frames);
        history(&bench);
        for (int i = 0; i < PASSES; i++) {
            kept[i] = alloc(&bench, 1000, forward);
            for (int j = 0; j < 10 * (i + 1); j++)
                give_back(&bench, alloc(&bench, 900, backward), 900, backward);
        }
        give_back(&bench, alloc(&bench, 5, forward), 5, 0);
        for (int i = 0; i < PASSES; i++) {
            if (let_go)
                give_back(&bench, kept[i], 1000, 0);
            else
                live(&bench, kept[i], 1000, forward);
        }
        segment(&bench, 0, -1);
        pass(&bench, 20);
        ok(is_named(at(&bench, "memory.leaks"), "verdict", "leak") == !let_go, let_go ? "it goes" : "it stays");
        ok(let_go || is_named(at(&bench, "memory.leaks"), "period_source", "passes"), "passes are the steps");
        end(&bench);
    }
}

/* The backward pass fails, and what it did not come to goes at once. */
static void a_failed_backward_leaves_no_graph(void)
{
    struct bench bench;
    uint64_t kept[10];
    begin(&bench);
    uint32_t backward = stack(&bench, backward_frames), loop = stack(&bench, "/u/train.py|main");
    history(&bench);
    for (int i = 0; i < 10; i++)
        kept[i] = alloc(&bench, 1000, stack(&bench, lines[i % 3]));
    wait_for(&bench, 40);
    give_back(&bench, alloc(&bench, 5, backward), 5, backward);
    entry(&bench, AP_ACTION_OOM, 0, 9000, backward);
    for (int i = 0; i < 10; i++)
        give_back(&bench, kept[i], 1000, loop);
    live(&bench, alloc(&bench, 70, loop), 70, loop);
    is_avoidable(&bench, "unused_graphs", 0, 0);
}

/* Without what is large at the peak another moment may be the highest. */
static void large_tensors_save_what_the_peak_falls_by(void)
{
    for (int twice = 0; twice < 2; twice++) {
        struct bench bench;
        begin(&bench);
        uint32_t loop = stack(&bench, "/u/train.py|main"), forward = stack(&bench, forward_frames);
        history(&bench);
        uint64_t base = alloc(&bench, 4000, loop);
        wait_for(&bench, 40);
        uint64_t large = alloc(&bench, 1000, forward);
        give_back(&bench, large, 1000, loop);
        uint64_t other = twice ? alloc(&bench, 900, loop) : 0;
        if (twice)
            give_back(&bench, other, 900, loop);
        live(&bench, base, 4000, loop);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        const struct ap_value *row = ap_value_member(at(&bench, "memory.avoidable"), "large_tensors");
        is_int(number(row, "held_bytes"), 5000, "both are large");
        is_int(number(row, "saved_bytes"), twice ? 5000 - 900 : 5000, "by that the highest point falls");
        end(&bench);
    }
}

/* A dense gradient of an embedding is named by a frame of C++; one of another weight, as large, is not. */
static void dense_gradients_of_tables_are_told(void)
{
    static const char table[] = "??|at::_ops::zeros::call(X);??|at::_ops::embedding_dense_backward::call(X);"
                                "??|torch::autograd::generated::EmbeddingBackward0::apply(X)";
    static const char other[] = "??|at::_ops::mm::call(X);??|torch::autograd::generated::MmBackward0::apply(X)";
    struct bench bench;
    begin(&bench);
    uint32_t of[2] = { stack(&bench, table), stack(&bench, other) }, step = stack(&bench, step_frames);
    uint32_t built = stack(&bench, MODULE_PY "|convert;/u/train.py|main");
    history(&bench);
    live(&bench, alloc(&bench, 500, built), 500, built);
    for (int i = 0; i < 2; i++)
        live(&bench, alloc(&bench, 500, of[i]), 500, of[i]);
    wait_for(&bench, 200);
    give_back(&bench, alloc(&bench, 70, step), 70, step);
    segment(&bench, 0, -1);
    pass(&bench, 20);
    is_int(number(at(&bench, "memory.peak"), "table_gradients_bytes"), 500, "the table's");
    is_int(number(at(&bench, "memory.peak"), "gradients_bytes"), 1000, "both are gradients");
    end(&bench);
}

/* Frames of C++ alone: a first pass that found no room made results of layers, which nobody took. What casts weights is no
 * layer. */
static void layers_are_told_without_frames_of_python(void)
{
    static const char convolution[] = "??|at::_ops::convolution::call(X);??|THPVariable_conv2d(X);??|start_thread";
    struct bench bench;
    begin(&bench);
    uint32_t built = stack(&bench, "??|at::_ops::_to_copy::call(X);??|start_thread"), layer = stack(&bench, convolution);
    history(&bench);
    for (int i = 0; i < 4; i++)
        live(&bench, alloc(&bench, 1000, built), 1000, built);
    wait_for(&bench, 40);
    for (int i = 0; i < 3; i++)
        live(&bench, alloc(&bench, 700, layer), 700, layer);
    entry(&bench, AP_ACTION_OOM, 0, 1024, layer);
    segment(&bench, 0, -1);
    pass(&bench, 20);
    is_int(of_category(&bench, 0, "activations"), 2100, "results of layers");
    end(&bench);
}

/* The same layer called by the forward, and by a checkpoint in the backward pass. */
static void what_a_checkpoint_computes_again_is_told(void)
{
    static const char layer[] =
        "/t/torch/nn/functional.py|linear;/u/model.py|forward;/t/torch/nn/modules/module.py|_call_impl;";
    char again_frames[400], once_frames[400];
    struct bench bench;
    (void)snprintf(again_frames, sizeof(again_frames), "%s/t/torch/utils/checkpoint.py|unpack_hook", layer);
    (void)snprintf(once_frames, sizeof(once_frames), "%s/u/train.py|main", layer);
    begin(&bench);
    uint32_t again = stack(&bench, again_frames), once = stack(&bench, once_frames),
             backward = stack(&bench, backward_frames);
    history(&bench);
    uint64_t kept[2] = { alloc(&bench, 300, once), alloc(&bench, 500, again) };
    wait_for(&bench, 40);
    give_back(&bench, alloc(&bench, 5, backward), 5, backward);
    give_back(&bench, kept[1], 500, backward);
    give_back(&bench, kept[0], 300, backward);
    segment(&bench, 0, -1);
    pass(&bench, 20);
    is_int(number(at(&bench, "memory.peak"), "activations_bytes"), 800, "both are activations");
    is_int(number(at(&bench, "memory.peak"), "recomputed_bytes"), 500, "one of them within the backward pass");
    end(&bench);
}

static int64_t at_peak(const struct bench *bench, const char *key)
{
    return number(at(bench, "memory.peak"), key);
}

#define CHECKPOINT_PY "/t/torch/utils/checkpoint.py|checkpoint;"

/* Two layers of one line, of which one runs under a checkpoint, or both, or none. */
static void layers_without_a_checkpoint_are_told(void)
{
    static const char layer[] = "/u/model.py|forward;/t/torch/nn/modules/module.py|_call_impl;";
    for (int checkpoints = 0; checkpoints <= 2; checkpoints++) {
        char under_frames[400], bare_frames[400];
        struct bench bench;
        (void)snprintf(under_frames, sizeof(under_frames), "%s" CHECKPOINT_PY "/u/train.py|main", layer);
        (void)snprintf(bare_frames, sizeof(bare_frames), "%s/u/train.py|main", layer);
        begin(&bench);
        uint32_t bare = stack(&bench, bare_frames), under = checkpoints ? stack(&bench, under_frames) : bare,
                 backward = stack(&bench, backward_frames);
        history(&bench);
        uint64_t kept[2] = { alloc(&bench, 300, checkpoints > 0 ? under : bare),
                             alloc(&bench, 500, checkpoints > 1 ? under : bare) };
        wait_for(&bench, 40);
        give_back(&bench, alloc(&bench, 5, backward), 5, backward);
        give_back(&bench, kept[1], 500, backward);
        give_back(&bench, kept[0], 300, backward);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        const struct ap_value *row = ap_value_member(at(&bench, "memory.avoidable"), "unchecked");
        is_int(number(row, "held_bytes"), checkpoints == 1 ? 500 : 0, "what a checkpoint would spare");
        is_int(number(row, "saved_bytes"), checkpoints == 1 ? 500 : 0, "by that the highest point falls");
        end(&bench);
    }
}

/* Shards and what is gathered of them; a workspace. */
static void gathered_weights_and_workspaces_are_told(void)
{
    struct bench bench;
    begin(&bench);
    uint32_t shards = stack(&bench, "/t/torch/distributed/fsdp/_fully_shard/_fsdp_param.py|_init_sharded_param;/u/a.py|f");
    uint32_t whole =
        stack(&bench, "/t/torch/distributed/fsdp/_fully_shard/_fsdp_param.py|alloc_all_gather_outputs;" MODULE_PY
                      "|_call_impl;/u/a.py|f");
    uint32_t reduced = stack(&bench, "/t/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py|reduce_scatter;/u/a.py|f");
    uint32_t workspace = stack(&bench, "|at::cuda::getCurrentCUDABlasHandle();/u/a.py|f");
    history(&bench);
    live(&bench, alloc(&bench, 100, shards), 100, shards);
    live(&bench, alloc(&bench, 800, whole), 800, whole);
    live(&bench, alloc(&bench, 30, reduced), 30, reduced);
    live(&bench, alloc(&bench, 60, workspace), 60, workspace);
    wait_for(&bench, 40);
    segment(&bench, 0, -1);
    pass(&bench, 20);
    is_int(of_category(&bench, 0, "parameters"), 100, "shards are weights");
    is_int(at_peak(&bench, "gathered_bytes"), 800, "what is gathered of them");
    is_int(at_peak(&bench, "workspace_bytes"), 60, "workspaces");
    is_int(of_category(&bench, 0, "communication buffers"), 830, "gathered weights are of a collective, too");
    end(&bench);
}

/* Weights of ten layers are gathered in a forward, and go at once behind its backward pass: no graph that it left. */
static void gathered_weights_are_no_graph(void)
{
    struct bench bench;
    uint64_t whole[12];
    begin(&bench);
    uint32_t backward = stack(&bench, backward_frames), loop = stack(&bench, "/u/train.py|main");
    uint32_t forward = stack(&bench, forward_frames);
    history(&bench);
    for (int i = 0; i < 12; i++) {
        char frames[300];
        (void)snprintf(frames, sizeof(frames),
                       "/x/deepspeed/runtime/zero/partition_parameters.py|all_gather_coalesced;/u/m%d.py|forward;/u/a.py|f",
                       i % 3);
        whole[i] = alloc(&bench, 1000, stack(&bench, frames));
    }
    uint64_t saved = alloc(&bench, 500, forward);
    wait_for(&bench, 40);
    give_back(&bench, alloc(&bench, 300, backward), 300, backward);
    give_back(&bench, saved, 500, backward);
    for (int i = 0; i < 12; i++)
        give_back(&bench, whole[i], 1000, loop);
    live(&bench, alloc(&bench, 70, loop), 70, loop);
    is_avoidable(&bench, "unused_graphs", 0, 0);
}

/* An engine makes a piece of its cache for each of six layers behind the weights, or keys and values apart. Five pieces, of
 * two sizes, before the weights, or where something is trained, are none. */
static void pools_have_a_piece_for_each_layer(void)
{
    enum { ONE, APART, FEWER, UNEQUAL, BEFORE, TRAINED };
    static const int pieces[] = { 6, 12, 5, 6, 6, 6 };
    for (int way = ONE; way <= TRAINED; way++) {
        struct bench bench;
        uint64_t weights[18], pool[12];
        begin(&bench);
        uint32_t weight = stack(&bench, "/x/torch/nn/modules/linear.py|__init__;/u/serve.py|main");
        uint32_t made = stack(&bench, "/u/engine.py|__init__;/u/serve.py|main");
        uint32_t backward = stack(&bench, "??|torch::autograd::Engine::thread_main(bool)");
        history(&bench);
        for (int i = 0; i < pieces[way] && way == BEFORE; i++)
            pool[i] = alloc(&bench, 32 << 20, made);
        for (int i = 0; i < 18; i++)
            weights[i] = alloc(&bench, i < 12 ? 2 << 20 : 3 << 20, weight);
        for (int i = 0; i < pieces[way] && way != BEFORE; i++)
            pool[i] = alloc(&bench, way == UNEQUAL && i ? 33 << 20 : 32 << 20, made);
        if (way == TRAINED)
            give_back(&bench, alloc(&bench, 300, backward), 300, backward);
        wait_for(&bench, 200);
        for (int i = 0; i < 18; i++)
            live(&bench, weights[i], i < 12 ? 2 << 20 : 3 << 20, weight);
        for (int i = 0; i < pieces[way]; i++)
            live(&bench, pool[i], way == UNEQUAL && i ? 33 << 20 : 32 << 20, made);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(at_peak(&bench, "kv_cache_count"), way <= APART ? pieces[way] : 0, "pieces of the cache");
        end(&bench);
    }
}

/* Twenty requests, each with a cache of two layers of its own, which is given back behind it. */
static void caches_of_requests_replace_none(void)
{
    struct bench bench;
    begin(&bench);
    uint32_t cache = stack(&bench, "/x/transformers/cache_utils.py|update;/u/serve.py|main");
    uint32_t forward = stack(&bench, forward_frames);
    history(&bench);
    for (int request = 0; request < 20; request++) {
        uint64_t layers[2] = { alloc(&bench, 1000, cache), alloc(&bench, 1000, cache) };
        give_back(&bench, alloc(&bench, 5, forward), 5, forward);
        for (int i = 0; i < 2; i++)
            give_back(&bench, layers[i], 1000, cache);
    }
    segment(&bench, 0, -1);
    pass(&bench, 20);
    is_int(at_peak(&bench, "kv_cache_count"), 2, "pieces at the peak");
    is_int(at_peak(&bench, "kv_cache_replaced_count"), 0, "each request gives its own back");
    end(&bench);
}

/* Eight blocks whose weights are gathered for both passes, and given back behind the next one, or at the end. */
static void blocks_that_are_sharded_again_are_few_at_once(void)
{
    for (int kept = 0; kept <= 1; kept++) {
        struct bench bench;
        uint64_t whole[16];
        begin(&bench);
        uint32_t gather = stack(&bench, "/t/torch/distributed/fsdp/_fully_shard/_fsdp_param.py|alloc_all_gather_outputs;"
                                        "/u/a.py|f");
        uint32_t forward = stack(&bench, forward_frames), backward = stack(&bench, backward_frames);
        history(&bench);
        for (int step = 0; step < 2; step++) {
            uint64_t saved = alloc(&bench, 10, forward);
            for (int i = 0; i < (kept ? 8 : 16); i++) {
                if (i == 8)
                    give_back(&bench, alloc(&bench, 5, backward), 5, backward);
                whole[i] = alloc(&bench, 1000, gather);
                wait_for(&bench, 40);
                if (i && !kept)
                    give_back(&bench, whole[i - 1], 1000, gather);
            }
            give_back(&bench, alloc(&bench, 5, backward), 5, backward);
            for (int i = kept ? 0 : 15; i < (kept ? 8 : 16); i++)
                give_back(&bench, whole[i], 1000, gather);
            give_back(&bench, saved, 10, backward);
        }
        segment(&bench, 0, -1);
        pass(&bench, 20);
        double share = -1;
        (void)ap_value_number(ap_value_member(at(&bench, "memory.peak"), "gathered_at_once_ratio"), &share);
        is_int(at_peak(&bench, "gathered_bytes"), kept ? 8000 : 2000, "gathered at the peak");
        ok(share == (kept ? 1 : 0.125), "of all that one pass gathers");
        end(&bench);
    }
}

/* All weights get a gradient, or one of ten. */
static void weights_without_a_gradient_are_told(void)
{
    for (int trained = 1; trained <= 10; trained += 9) {
        struct bench bench;
        uint64_t gradients[10];
        begin(&bench);
        uint32_t weights = stack(&bench, MODULE_PY "|convert;/u/train.py|main");
        uint32_t forward = stack(&bench, forward_frames), backward = stack(&bench, backward_frames);
        uint32_t zero = stack(&bench, "/t/torch/optim/optimizer.py|zero_grad;/u/train.py|main");
        history(&bench);
        for (int i = 0; i < 10; i++)
            live(&bench, alloc(&bench, 1000, weights), 1000, weights);
        for (int step = 0; step < 2; step++) {
            uint64_t saved = alloc(&bench, 20000, forward);
            wait_for(&bench, 40);
            give_back(&bench, saved, 20000, backward);
            for (int i = 0; i < trained; i++)
                gradients[i] = alloc(&bench, 1000, backward);
            wait_for(&bench, 40);
            for (int i = 0; i < trained; i++)
                give_back(&bench, gradients[i], 1000, zero);
        }
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(at_peak(&bench, "frozen_bytes"), trained == 1 ? 9000 : 0, "weights that are not trained");
        end(&bench);
    }
}

/* A cache of two layers that grows by cat, and one that is there at once. */
static void caches_that_are_made_anew_are_counted(void)
{
    for (int grows = 0; grows <= 1; grows++) {
        struct bench bench;
        uint64_t layers[2] = { 0, 0 };
        begin(&bench);
        uint32_t cache = stack(&bench, "/x/transformers/cache_utils.py|update;/u/serve.py|main");
        history(&bench);
        for (int token = 0; token < (grows ? 12 : 1); token++)
            for (int i = 0; i < 2; i++) {
                uint64_t longer = alloc(&bench, 1000 + token, cache);
                wait_for(&bench, 40);
                if (token)
                    give_back(&bench, layers[i], 999 + token, cache);
                layers[i] = longer;
            }
        for (int i = 0; i < 2; i++)
            live(&bench, layers[i], grows ? 1011 : 1000, cache);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(at_peak(&bench, "kv_cache_count"), grows ? 3 : 2, "pieces at the peak");
        is_int(at_peak(&bench, "kv_cache_replaced_count"), grows == 1 ? 22 : 0, "pieces that a new one replaced");
        end(&bench);
    }
}

/* The same by cat in a forward of the user's own, where no frame says so: each layer's piece is larger by a token than the
 * one beside it. Lengths that grow from request to request leave none beside, or all where the results are kept; and what
 * grows outside of a model is a buffer of samples. */
static void caches_that_grow_are_told_by_their_sizes(void)
{
    enum { GONE, CACHE, KEPT, BUFFER };
    for (int way = GONE; way <= BUFFER; way++) {
        struct bench bench;
        uint64_t layers[12][2];
        begin(&bench);
        uint32_t made =
            stack(&bench, way == BUFFER ? "/u/buffer.py|add;/u/train.py|main" : "/u/model.py|forward;/u/serve.py|main");
        history(&bench);
        for (int token = 0; token < 12; token++) {
            for (int i = 0; i < 2; i++) {
                layers[token][i] = alloc(&bench, 1000 + token, made);
                wait_for(&bench, 40);
                if (token && (way == CACHE || way == BUFFER))
                    give_back(&bench, layers[token - 1][i], 999 + token, made);
            }
            for (int i = 0; i < 2 && way == GONE; i++)
                give_back(&bench, layers[token][i], 1000 + token, made);
        }
        for (int token = way == KEPT ? 0 : 11; token < 12 && way != GONE; token++)
            for (int i = 0; i < 2; i++)
                live(&bench, layers[token][i], 1000 + token, made);
        live(&bench, alloc(&bench, 7, made), 7, made);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(at_peak(&bench, "kv_cache_count"), way == CACHE ? 3 : 0, "pieces at the peak");
        is_int(at_peak(&bench, "kv_cache_replaced_count"), way == CACHE ? 22 : 0, "pieces that a new one replaced");
        end(&bench);
    }
}

enum behind_failure { TRIED_AGAIN, GIVEN_BACK, GOES_ON };

/* Three layers that begin with an embedding find no room; behind that the embedding comes again, or the next layer. */
static void what_failed_need_not_be_held(void)
{
    static const char embedding[] = "/t/torch/nn/functional.py|embedding;/u/model.py|hidden;"
                                    "/t/torch/nn/modules/module.py|_call_impl;/u/train.py|step";
    static const char layer[] = "/t/torch/nn/functional.py|linear;/u/block.py|forward;"
                                "/t/torch/nn/modules/module.py|_call_impl;/u/train.py|step";
    for (int behind = TRIED_AGAIN; behind <= GOES_ON; behind++) {
        struct bench bench;
        uint64_t kept[4];
        begin(&bench);
        uint32_t loop = stack(&bench, "/u/train.py|main");
        uint32_t stacks[2] = { stack(&bench, embedding), stack(&bench, layer) };
        history(&bench);
        for (int i = 0; i < 4; i++)
            kept[i] = alloc(&bench, 1000, stacks[i > 0]);
        wait_for(&bench, 40);
        entry(&bench, AP_ACTION_OOM, 0, 9000, stacks[1]);
        for (int i = 0; i < 4 && behind == GIVEN_BACK; i++)
            give_back(&bench, kept[i], 1000, loop);
        uint64_t again = alloc(&bench, 4500, stacks[behind == GOES_ON]);
        wait_for(&bench, 40);
        give_back(&bench, again, 4500, loop);
        for (int i = 0; i < 4 && behind != GIVEN_BACK; i++)
            give_back(&bench, kept[i], 1000, loop);
        live(&bench, alloc(&bench, 70, loop), 70, loop);
        is_avoidable(&bench, "failed_step", behind == TRIED_AGAIN ? 4000 : 0, behind == TRIED_AGAIN ? 4000 : 0);
    }
}

/* All layers of a sequence are called by one line of the user's: which module asks tells that it begins again, and the
 * second attempt may not come so far as to get anything. */
static void modules_of_a_sequence_are_told_apart(void)
{
    static const char linear[] = "/t/torch/nn/modules/linear.py|forward;/u/train.py|step";
    static const char gelu[] = "/t/torch/nn/modules/activation.py|forward;/u/train.py|step";
    for (int attempts = 1; attempts <= 2; attempts++) {
        struct bench bench;
        begin(&bench);
        uint32_t loop = stack(&bench, "/u/train.py|main");
        uint32_t stacks[2] = { stack(&bench, linear), stack(&bench, gelu) };
        history(&bench);
        uint64_t kept = alloc(&bench, 4000, stacks[0]);
        wait_for(&bench, 40);
        entry(&bench, AP_ACTION_OOM, 0, 4000, stacks[1]);
        if (attempts == 2)
            entry(&bench, AP_ACTION_OOM, 0, 2000, stacks[0]);
        uint64_t again = alloc(&bench, 1000, stacks[0]), last = alloc(&bench, 1000, stacks[1]);
        wait_for(&bench, 40);
        give_back(&bench, again, 1000, loop);
        give_back(&bench, last, 1000, loop);
        give_back(&bench, kept, 4000, loop);
        live(&bench, alloc(&bench, 70, loop), 70, loop);
        is_avoidable(&bench, "failed_step", 4000, 2000);
    }
}

/* Quantized layers are made as zeros, of several sizes; a cache is of one size, and stands beside weights. */
static void zeros_of_layers_are_weights(void)
{
    for (int beside = 0; beside < 2; beside++) {
        struct bench bench;
        begin(&bench);
        uint32_t zeros = stack(&bench, "??|at::_ops::zeros::call(X);/u/layers.py|__init__;/u/serve.py|main");
        uint32_t moved = stack(&bench, MODULE_PY "|_apply;/u/serve.py|main");
        uint32_t work = stack(&bench, forward_frames);
        history(&bench);
        for (int i = 0; i < 20; i++)
            live(&bench, alloc(&bench, 1000 + i % 4, zeros), 1000 + i % 4, zeros);
        for (int i = 0; i < 4; i++)
            live(&bench, alloc(&bench, beside ? 5000 : 5, moved), beside ? 5000 : 5, moved);
        for (int i = 0; i < 100; i++)
            give_back(&bench, alloc(&bench, 10, work), 10, work);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(number(at(&bench, "memory.peak"), "buffers_bytes"), beside ? 20030 : 0, "zeros that are no weights");
        end(&bench);
    }
}

/* Two attempts fail, one after the other, and the third finds what both made. */
static void what_each_attempt_made_is_told(void)
{
    static const char embedding[] = "/t/torch/nn/functional.py|embedding;/u/model.py|hidden;"
                                    "/t/torch/nn/modules/module.py|_call_impl;/u/train.py|step";
    static const char layer[] = "/t/torch/nn/functional.py|linear;/u/block.py|forward;"
                                "/t/torch/nn/modules/module.py|_call_impl;/u/train.py|step";
    struct bench bench;
    uint64_t kept[3][4];
    begin(&bench);
    uint32_t loop = stack(&bench, "/u/train.py|main");
    uint32_t stacks[2] = { stack(&bench, embedding), stack(&bench, layer) };
    history(&bench);
    for (int attempt = 0; attempt < 3; attempt++) {
        for (int i = 0; i < 4; i++)
            kept[attempt][i] = alloc(&bench, 1000, stacks[i > 0]);
        wait_for(&bench, 40);
        if (attempt < 2)
            entry(&bench, AP_ACTION_OOM, 0, 9000, stacks[1]);
    }
    for (int i = 0; i < 12; i++)
        give_back(&bench, kept[i / 4][i % 4], 1000, loop);
    live(&bench, alloc(&bench, 70, loop), 70, loop);
    is_avoidable(&bench, "failed_step", 8000, 8000);
}

/* The history ends before the variable of the last step goes: its graph would have been left as those before it. */
static void the_last_graph_may_be_there_at_the_end(void)
{
    struct bench bench;
    uint64_t teacher[10];
    begin(&bench);
    uint32_t backward = stack(&bench, backward_frames), loop = stack(&bench, "/u/train.py|main");
    uint32_t other = stack(&bench, forward_frames);
    history(&bench);
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < 10; i++)
            teacher[i] = alloc(&bench, 1000, stack(&bench, lines[i % 3]));
        uint64_t student = alloc(&bench, 500, other);
        wait_for(&bench, 40);
        give_back(&bench, alloc(&bench, 300, backward), 300, backward);
        give_back(&bench, student, 500, backward);
        give_back(&bench, alloc(&bench, 5, backward), 5, backward);
        for (int i = 0; i < 10; i++) {
            if (step)
                live(&bench, teacher[i], 1000, stack(&bench, lines[i % 3]));
            else
                give_back(&bench, teacher[i], 1000, loop);
        }
    }
    is_avoidable(&bench, "unused_graphs", 10000, 10000);
}

/* A gradient that the next backward pass adds to is needed. */
static void accumulated_gradients_are_needed(void)
{
    struct bench bench;
    begin(&bench);
    uint32_t forward = stack(&bench, forward_frames), backward = stack(&bench, backward_frames);
    uint32_t zero = stack(&bench, "/u/optimizer.py|zero_grad;/u/train.py|main");
    history(&bench);
    uint64_t first = alloc(&bench, 1000, forward), sum = alloc(&bench, 500, backward);
    give_back(&bench, first, 1000, backward);
    wait_for(&bench, 40);
    uint64_t second = alloc(&bench, 2000, forward), term = alloc(&bench, 100, backward);
    give_back(&bench, term, 100, backward);
    give_back(&bench, second, 2000, backward);
    give_back(&bench, sum, 500, zero);
    is_avoidable(&bench, "old_gradients", 0, 0);
}

/* In the next forward, or at the end of the next step, whose own takes its place then. */
static void outputs_of_the_step_before_need_not_be_held(void)
{
    for (int late = 0; late < 2; late++) {
        struct bench bench;
        begin(&bench);
        uint32_t output = stack(&bench, forward_frames), backward = stack(&bench, backward_frames);
        history(&bench);
        uint64_t before = alloc(&bench, 700, output), gradient = alloc(&bench, 50, backward);
        give_back(&bench, gradient, 50, backward);
        uint64_t now = alloc(&bench, 700, output);
        if (!late)
            give_back(&bench, before, 700, 0);
        gradient = alloc(&bench, 50, backward);
        give_back(&bench, gradient, 50, backward);
        if (late)
            give_back(&bench, before, 700, 0);
        uint64_t third = alloc(&bench, 10, output);
        live(&bench, third, 10, output);
        live(&bench, now, 700, output);
        is_avoidable(&bench, "previous_outputs", 700, late ? 700 : 650);
    }
}

/* A queue of five: two would do. In the other order they are the layers of a pass; a cache drops its oldest by design. */
static void batches_far_ahead_need_not_be_held(void)
{
    enum { QUEUE, LAYERS, CACHE, KINDS };
    for (int kind = QUEUE; kind < KINDS; kind++) {
        struct bench bench;
        uint64_t batches[5];
        begin(&bench);
        uint32_t fill =
            stack(&bench, kind == CACHE ? "/u/lru.py|put;/u/train.py|main" : "/u/queue.py|fill;/u/train.py|main");
        history(&bench);
        for (int i = 0; i < 5; i++)
            batches[i] = alloc(&bench, 2000, fill);
        for (int i = 0; i < 5; i++) {
            wait_for(&bench, 40);
            give_back(&bench, batches[kind == LAYERS ? 4 - i : i], 2000, 0);
        }
        is_avoidable(&bench, "batches_ahead", kind == QUEUE ? 10000 : 0, kind == QUEUE ? 6000 : 0);
    }
}

/* The loop ends, and all that is left goes at once. */
static void a_queue_may_end_with_its_loop(void)
{
    for (int taken = 0; taken <= 5; taken += 5) {
        struct bench bench;
        uint64_t batches[20];
        begin(&bench);
        uint32_t fill = stack(&bench, "/u/queue.py|fill;/u/train.py|main"), work = stack(&bench, "/u/train.py|main");
        history(&bench);
        for (int i = 0; i < 20; i++)
            batches[i] = alloc(&bench, 2000, fill);
        for (int i = 0; i < 20; i++) {
            if (i < taken) {
                wait_for(&bench, 40);
                give_back(&bench, alloc(&bench, 10, work), 10, work);
            }
            give_back(&bench, batches[i], 2000, 0);
        }
        is_avoidable(&bench, "batches_ahead", taken ? 40000 : 0, taken ? 36000 : 0);
    }
}

/* Results are joined with those of before in each of eight steps. What is larger than the one before by something that is
 * not there, as outputs of longer and longer batches are, is joined to nothing; and a list keeps all. */
static void results_that_are_joined_are_there_twice(void)
{
    enum { JOINED, LONGER, KEPT, KINDS };
    for (int kind = JOINED; kind < KINDS; kind++) {
        struct bench bench;
        uint64_t all = 0;
        begin(&bench);
        uint32_t forward = stack(&bench, forward_frames), loop = stack(&bench, "/u/eval.py|main");
        history(&bench);
        for (int i = 1; i <= 8; i++) {
            uint64_t piece = alloc(&bench, kind == LONGER ? 777 : 1000, forward);
            uint64_t next = alloc(&bench, 1000 * i, loop);
            if (kind == KEPT)
                live(&bench, next, 1000 * i, loop);
            else if (all)
                give_back(&bench, all, 1000 * (i - 1), 0);
            give_back(&bench, piece, kind == LONGER ? 777 : 1000, 0);
            all = next;
        }
        if (kind != KEPT)
            live(&bench, all, 8000, loop);
        is_avoidable(&bench, "regrown", kind == JOINED ? 15000 : 0, kind == JOINED ? 7000 : 0);
    }
}

static void temporaries_of_a_step_need_not_be_held(void)
{
    struct bench bench;
    begin(&bench);
    uint32_t forward = stack(&bench, forward_frames), step = stack(&bench, step_frames);
    history(&bench);
    uint64_t weight = alloc(&bench, 100, forward), terms[3];
    for (int i = 0; i < 3; i++)
        terms[i] = alloc(&bench, 1000, step);
    for (int i = 0; i < 3; i++)
        give_back(&bench, terms[i], 1000, step);
    live(&bench, weight, 100, forward);
    is_avoidable(&bench, "step_temporaries", 3000, 3000);
}

/* A step fails for its terms, which it still holds; or for the state that it sets up, which is none. */
static void temporaries_of_a_step_that_fails_are_told(void)
{
    for (int state = 0; state < 2; state++) {
        struct bench bench;
        begin(&bench);
        uint32_t built = stack(&bench, MODULE_PY "|convert;/u/train.py|main");
        uint32_t made = stack(&bench, state ? "/x/torch/optim/adam.py|_init_group;/u/train.py|main" : step_frames);
        history(&bench);
        for (int i = 0; i < 4; i++)
            live(&bench, alloc(&bench, 1000, built), 1000, built);
        wait_for(&bench, 200);
        for (int i = 0; i < 3; i++)
            live(&bench, alloc(&bench, 1000, made), 1000, made);
        entry(&bench, AP_ACTION_OOM, 0, 1024, made);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(at(&bench, "memory.oom_summary.in_optimizer_count")->as.integer, 1, "where the request failed");
        is_int(number(at(&bench, "memory.avoidable.step_temporaries"), "held_bytes"), state ? 0 : 3000, "its terms");
        is_int(of_category(&bench, 0, "optimizer state"), state ? 3000 : 0, "its state");
        end(&bench);
    }
}

static void a_spike_stands_above_the_usual(void)
{
    struct bench bench;
    begin(&bench);
    uint32_t usual = stack(&bench, "/u/x.py|usual"), rare = stack(&bench, "/u/x.py|rare");
    history(&bench);
    for (int i = 0; i < PASSES; i++) {
        uint64_t t = alloc(&bench, 1000, usual);
        wait_for(&bench, 10);
        if (i == 5) {
            uint64_t once = alloc(&bench, 9000, rare);
            give_back(&bench, once, 9000, 0);
        }
        give_back(&bench, t, 1000, 0);
    }
    segment(&bench, 0, -1);
    pass(&bench, 20);
    const struct ap_value *spike = at(&bench, "memory.spike");
    is_int(number(spike, "usual_peak_bytes"), 1000, "what a usual period needs");
    is_int(number(spike, "above_usual_bytes"), 9000, "what one of them needs above that");
    is_int(number(spike, "unfilled_bytes"), ROOM - 1000, "what none of the others fills");
    end(&bench);
}

/* A queue that is full after three quarters of the recording: what it holds is there for good. */
static void what_fills_up_is_no_spike(void)
{
    enum { STEPS = 40, ROOM_FOR = 30 };
    struct bench bench;
    uint64_t queue[STEPS];
    begin(&bench);
    uint32_t usual = stack(&bench, "/u/x.py|usual"), queued = stack(&bench, "/u/x.py|put");
    history(&bench);
    for (int i = 0; i < STEPS; i++) {
        uint64_t t = alloc(&bench, 1000, usual);
        wait_for(&bench, 10);
        queue[i] = alloc(&bench, 500, queued);
        if (i >= ROOM_FOR)
            give_back(&bench, queue[i - ROOM_FOR], 500, 0);
        give_back(&bench, t, 1000, 0);
    }
    for (int i = STEPS - ROOM_FOR; i < STEPS; i++)
        live(&bench, queue[i], 500, queued);
    segment(&bench, 0, -1);
    pass(&bench, 20);
    int64_t above_bytes = number(at(&bench, "memory.spike"), "above_usual_bytes");
    ok(above_bytes >= 0 && above_bytes <= 1000, "a queue that fills has no moment that stands out");
    end(&bench);
}

static void frames_have_signs(void)
{
    static const struct {
        const char *frames;
        enum ap_owner_sign sign;
        bool in_backward;
    } cases[] = {
        { "/u/a.py|f", AP_SIGN_NONE, false },
        { "??|at::cuda::getCUDABlasLtWorkspace()", AP_SIGN_WORKSPACE, false },
        { "??|c10d::Reducer::initialize_buckets(X)", AP_SIGN_COLLECTIVE, false },
        { "/x/torch/nn/parallel/distributed.py|_ddp_init_helper", AP_SIGN_COLLECTIVE, false },
        { "/x/torch/optim/adamw.py|_init_group;/x/torch/optim/adamw.py|step", AP_SIGN_STATE_INIT, false },
        { "/x/torch/optim/optimizer.py|_process_value_according_to_param_policy;/x/torch/optim/optimizer.py|load_state_dict",
          AP_SIGN_STATE_LOAD, false },
        { "/x/copy.py|deepcopy;/x/torch/optim/optimizer.py|load_state_dict;/u/train.py|resume", AP_SIGN_STATE_LOAD, false },
        { "/x/copy.py|deepcopy;/x/torch/nn/modules/module.py|load_state_dict;/u/train.py|resume", AP_SIGN_MODULE, false },
        { "/x/torch/nn/modules/module.py|load_state_dict;/u/train.py|resume", AP_SIGN_MODULE, false },
        { "??|at::native::(anonymous namespace)::run_conv_plan(cudnnContext*, X)", AP_SIGN_WORKSPACE, false },
        { "??|at::native::raw_cudnn_convolution_forward_out(X);/x/torch/nn/modules/conv.py|_conv_forward", AP_SIGN_WORKSPACE,
          false },
        { "??|at::native::cudnn_convolution(X);/x/torch/nn/modules/conv.py|_conv_forward", AP_SIGN_FORWARD, false },
        { "/x/torch/optim/adamw.py|_multi_tensor_adamw", AP_SIGN_OPTIMIZER, false },
        { "C:\\\\x\\\\torch\\\\optim\\\\sgd.py|_single_tensor_sgd", AP_SIGN_OPTIMIZER, false },
        { "/x/torch/nn/utils/clip_grad.py|clip_grad_norm_", AP_SIGN_OPTIMIZER, false },
        { "??|torch::autograd::AccumulateGrad::apply(X)", AP_SIGN_ACCUMULATE, true },
        { "??|torch::autograd::generated::MulBackward0::apply(X);??|torch::autograd::Engine::thread_main(X)",
          AP_SIGN_BACKWARD, true },
        { "/x/torch/autograd/__init__.py|grad", AP_SIGN_BACKWARD, true },
        { "/u/model.py|forward;/x/torch/utils/checkpoint.py|recompute_fn", AP_SIGN_FORWARD, true },
        { "/x/torch/nn/modules/module.py|_apply", AP_SIGN_MODULE, false },
        { "/x/torch/nn/modules/module.py|<lambda>;/x/torch/nn/modules/module.py|_apply;/x/torch/nn/modules/module.py|cuda",
          AP_SIGN_MODULE, false },
        { "/x/torch/nn/modules/activation.py|<lambda>", AP_SIGN_FORWARD, false },
        { "/x/torch/nn/modules/linear.py|__init__", AP_SIGN_MODULE, false },
        { "/x/torch/nn/modules/module.py|_call_impl", AP_SIGN_FORWARD, false },
        { "/x/torch/nn/modules/linear.py|anything", AP_SIGN_FORWARD, false },
        { "??|torch::autograd::THPVariable_mul(X);/u/m.py|forward;/u/t.py|my_backward", AP_SIGN_FORWARD, false },
        { "/u/cache.py|__init__", AP_SIGN_INIT, false },
        { "/u/replay.py|add;/u/train.py|collect", AP_SIGN_BUFFER, false },
        { "/u/dqn.py|push;/u/dqn.py|main", AP_SIGN_BUFFER, false },
        { "/u/feature_cache.py|put;/u/embed.py|main", AP_SIGN_BUFFER, false },
        { "/u/feature_cache.py|get;/u/embed.py|main", AP_SIGN_NONE, false },
        { "??|at::_ops::gelu::call(X);??|start_thread", AP_SIGN_FORWARD, false },
        { "??|at::_ops::gelu::call(X);/u/prefetch.py|next_batch", AP_SIGN_INPUT, false },
        { "??|at::_ops::convolution_backward::call(X);??|start_thread", AP_SIGN_NONE, false },
        { "??|at::_ops::gelu::call(X);??|torch::autograd::Engine::thread_main(X)", AP_SIGN_BACKWARD, true },
        { "/u/metrics.py|add;/u/train.py|main", AP_SIGN_NONE, false },
        { "/u/replay.py|sample;/u/train.py|main", AP_SIGN_NONE, false },
        { "/x/sglang/model_loader/loader.py|load_model;/x/sglang/engine.py|__init__", AP_SIGN_MODULE, false },
        { "/x/torch/distributed/fsdp/_fully_shard/_fsdp_param.py|_init_sharded_param", AP_SIGN_MODULE, false },
        { "/x/torch/distributed/_composable/fsdp/_fsdp_param.py|unshard", AP_SIGN_GATHERED, false },
        { "/x/deepspeed/runtime/zero/partition_parameters.py|_allgather_params", AP_SIGN_GATHERED, false },
        { "/x/deepspeed/runtime/zero/stage3.py|initialize_optimizer_states", AP_SIGN_STATE_INIT, false },
        { "/x/deepspeed/runtime/zero/stage3.py|_create_fp32_partitions", AP_SIGN_STATE_INIT, false },
        { "??|at::_ops::_foreach_sqrt::call(X)", AP_SIGN_OPTIMIZER, false },
        { "??|at::_ops::_fused_adamw_::call(X)", AP_SIGN_OPTIMIZER, false },
        { "??|at::_ops::_fused_sgd_::call(X)", AP_SIGN_OPTIMIZER, false },
        { "??|at::_ops::_fused_adagrad_::call(X)", AP_SIGN_OPTIMIZER, false },
        { "/x/deepspeed/stage3.py|_create_fp32_groups;/x/deepspeed/stage3.py|__init__", AP_SIGN_STATE_INIT, false },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench bench;
        struct ap_replay *replay = NULL;
        struct ap_owners owners;
        bool overflowed = false;
        begin(&bench);
        uint32_t id = stack(&bench, cases[i].frames);
        keep(&bench, ap_replay_new(bench.snapshot, &bench.gate, &overflowed, &replay, &bench.error));
        keep(&bench, ap_owners_init(&owners, replay, &bench.gate, &bench.error));
        is_int(owners.stacks[id].sign, cases[i].sign, cases[i].frames);
        ok(owners.stacks[id].in_backward == cases[i].in_backward, "in a backward pass or not");
        ap_owners_release(&owners);
        ap_replay_free(replay);
        end(&bench);
    }
}

/* A cache of zeros that a constructor makes; where something is trained it may be a weight. */
static void zeros_of_a_constructor_are_buffers(void)
{
    for (int trained = 0; trained < 2; trained++) {
        struct bench bench;
        begin(&bench);
        uint32_t zeros = stack(&bench, "??|at::_ops::zeros::call(X);/u/serve.py|__init__;/u/serve.py|main");
        uint32_t empty = stack(&bench, "??|at::_ops::empty::call(X);/u/serve.py|__init__;/u/serve.py|main");
        uint32_t work = stack(&bench, trained ? backward_frames : forward_frames);
        history(&bench);
        live(&bench, alloc(&bench, 3000, zeros), 3000, zeros);
        live(&bench, alloc(&bench, 500, empty), 500, empty);
        for (int i = 0; i < 100; i++)
            give_back(&bench, alloc(&bench, 10, work), 10, work);
        segment(&bench, 0, -1);
        pass(&bench, 20);
        is_int(number(at(&bench, "memory.peak"), "buffers_bytes"), trained ? 0 : 3000, "zeros that are kept");
        end(&bench);
    }
}

/* Where no symbols tell a file, the function alone is told, without its arguments. */
static void frames_without_a_file_are_functions(void)
{
    static const char *const cases[][2] = {
        { "??|torch::autograd::generated::MulBackward0::apply(std::vector<X>&&)",
          "torch::autograd::generated::MulBackward0::apply" },
        { "??|at::(anonymous namespace)::create_out(X)", "at::(anonymous namespace)::create_out" },
        { "RegisterCUDA.cpp|wrapper(X)", "RegisterCUDA.cpp:7 wrapper(X)" },
        { "/u/train.py|main", "/u/train.py:7 main" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct bench bench;
        begin(&bench);
        history(&bench);
        live(&bench, alloc(&bench, 100, stack(&bench, cases[i][0])), 100, stack(&bench, cases[i][0]));
        segment(&bench, 0, -1);
        pass(&bench, 20);
        const struct ap_value *device = ap_value_first(at(&bench, "memory.peak.devices"));
        const struct ap_value *row = ap_value_first(ap_value_member(device, "by_stack"));
        ok(ap_text_is(ap_value_text(ap_value_member(row, "frame")), cases[i][1]), cases[i][1]);
        end(&bench);
    }
}

static void short_lived_are_listed(void)
{
    struct bench bench;
    begin(&bench);
    training_step(&bench);
    pass(&bench, 1);
    const struct ap_value *row = ap_value_first(at(&bench, "memory.temporaries"));
    is_int(number(row, "largest_bytes"), 900, "one allocation is freed within a few entries");
    is_int(number(row, "allocations"), 1, "and counted");
    is_int((long long)ap_value_member(row, "mean_life_entries")->as.number, 1, "it lives an entry");
    is_int((long long)ap_value_member(row, "mean_life_us")->as.number, 10, "of 10 us");
    is_int((long long)ap_value_count(at(&bench, "memory.byte_time")), 1, "top_n bounds the lists");
    const struct ap_value *counts = ap_value_first(at(&bench, "memory.allocation_counts"));
    is_int(number(counts, "allocations"), 2, "the stack that allocates most often");
    is_int(number(counts, "requested_bytes"), 4005, "with what it allocated");
    is_int((long long)ap_value_count(at(&bench, "memory.peak.devices")), 1, "devices are not bounded by it");
    end(&bench);
}

static void byte_time_needs_no_times(void)
{
    struct bench bench;
    begin(&bench);
    bench.time_us = -1;
    uint32_t one = stack(&bench, "/u/a.py|f"), two = stack(&bench, "/u/a.py|g");
    history(&bench);
    uint64_t a = alloc(&bench, 1000000000, one);
    give_back(&bench, a, 1000000000, 0);
    a = alloc(&bench, 1000000000, two);
    wait_for(&bench, 9);
    give_back(&bench, a, 1000000000, 0);
    segment(&bench, 0, 0);
    pass(&bench, 20);
    const struct ap_value *row = ap_value_first(at(&bench, "memory.byte_time"));
    ok(is_named(row, "frame", "/u/a.py:7 g"), "the longer life first");
    is_int((long long)ap_value_member(row, "gigabyte_entries")->as.number, 10, "10 entries of a gigabyte");
    is_int(ap_value_member(row, "gigabyte_seconds")->type, AP_VALUE_NULL, "no seconds without times");
    is_int(ap_value_member(ap_value_first(at(&bench, "memory.temporaries")), "mean_life_us")->type, AP_VALUE_NULL,
           "nor here");
    end(&bench);
}

static void without_history_the_end_counts(void)
{
    struct bench bench;
    begin(&bench);
    live(&bench, BASE, 100, stack(&bench, "/u/m.py|init_weight"));
    live(&bench, BASE + 4096, 40, 0);
    segment(&bench, 3, 150);
    live(&bench, BASE, 7, 0);
    segment(&bench, 1, -1);
    pass(&bench, 20);
    const struct ap_value *first = device_row(&bench, 0), *second = device_row(&bench, 1);
    is_int(number(first, "device"), 1, "devices in order");
    is_int(number(second, "device"), 3, "whatever the file's order");
    ok(is_named(second, "at", "end"), "no history tells a peak");
    is_int(ap_value_member(second, "position")->type, AP_VALUE_NULL, "nor a position");
    is_int(of_category(&bench, 1, "parameters"), 100, "the stack alone tells");
    is_int(of_category(&bench, 1, "unknown"), 40, "or nothing");
    is_int(of_category(&bench, 1, "unexplained"), 10, "the segment says more than its blocks");
    is_int(sum_of(ap_value_member(second, "by_category"), "requested_bytes"), 150, "together the segment's word");
    is_int(number(at(&bench, "memory.peak"), "device"), 3, "the device with most");
    is_int(number(at(&bench, "memory.peak"), "requested_bytes"), 150, "and how much");
    end(&bench);
}

static void phases_are_measured(void)
{
    struct bench bench;
    begin(&bench);
    bench.time_us = 1000;
    history(&bench);
    uint64_t a = alloc(&bench, 10, 0), b = alloc(&bench, 100, 0); /* 1000, 1010 */
    give_back(&bench, b, 100, 0);                                 /* 1020, 1030 */
    uint64_t c = alloc(&bench, 7, 0);                             /* 1040 */
    live(&bench, a, 10, 0);
    live(&bench, c, 7, 0);
    segment(&bench, 0, -1);
    mark(&bench, "step", "START", 0, 1005);
    mark(&bench, "inner", "START", 0, 1009);
    mark(&bench, "inner", "END", 0, 1015);
    mark(&bench, "step", "END", 0, 1025);
    mark(&bench, "step", "START", -1, 1035);
    mark(&bench, "step", "END", -1, 1045);
    mark(&bench, "open", "START", 0, 1000);
    mark(&bench, "stray", "END", 0, 1001);
    pass(&bench, 20);
    const struct ap_value *list = at(&bench, "memory.phases"), *step = row_named(list, "name", "step");
    const struct ap_value *inner = row_named(list, "name", "inner");
    is_int((long long)ap_value_count(list), 2, "what has no other end is left out");
    is_int(number(step, "count"), 2, "an annotation without a device holds for all");
    is_int(number(step, "peak_requested_bytes"), 110, "the highest in it");
    is_int(number(step, "delta_bytes"), 0, "it gives back what it takes");
    is_int(number(inner, "delta_bytes"), 100, "the inner one does not");
    is_int(number(inner, "start_us"), 1009000, "where it starts");
    is_int(number(step, "delta_bytes_sum"), 7, "the second occurrence grows");
    ok(is_named(device_row(&bench, 0), "phase", "inner"), "the peak falls in the innermost");
    end(&bench);
}

static void nested_phases_match_the_last(void)
{
    struct bench bench;
    begin(&bench);
    bench.time_us = 1000;
    history(&bench);
    uint64_t a = alloc(&bench, 10, 0), b = alloc(&bench, 5, 0);
    live(&bench, a, 10, 0);
    live(&bench, b, 5, 0);
    segment(&bench, 0, -1);
    mark(&bench, "n", "START", 0, 990);
    mark(&bench, "n", "START", 0, 1005);
    mark(&bench, "n", "END", 0, 1020);
    mark(&bench, "n", "END", 0, 1030);
    pass(&bench, 20);
    const struct ap_value *row = ap_value_first(at(&bench, "memory.phases"));
    is_int(number(row, "count"), 2, "both are there");
    is_int(number(row, "start_us"), 990000, "the first of equal peaks");
    is_int(number(row, "delta_bytes"), 15, "the outer one sees all");
    is_int(number(row, "delta_bytes_sum"), 20, "the inner one the second");
    end(&bench);
}

/* ---- the flame graph ---- */

static void check_tree(const struct bench *bench, const char *claim)
{
    const struct ap_value *nodes = at(bench, "memory.flame.nodes");
    int64_t names = (int64_t)ap_value_count(at(bench, "memory.flame.names")), index = 0, odd = 0;
    static int64_t own[2001], below[2001];
    static bool parent[2001];
    memset(below, 0, sizeof(below));
    memset(parent, 0, sizeof(parent));
    for (const struct ap_value *node = ap_value_first(nodes); node && index <= 2000; node = node->next, index++) {
        int64_t of = number(node, "parent");
        own[index] = number(node, "requested_bytes");
        odd += number(node, "name") < 0 || number(node, "name") >= names;
        odd += index == 0 ? of != -999 : of < 0 || of >= index;
        if (index && of >= 0 && of < index) {
            below[of] += own[index];
            parent[of] = true;
        }
    }
    for (int64_t i = 0; i < index; i++)
        odd += parent[i] && below[i] != own[i];
    is_int(odd, 0, claim);
    ok(index <= 2000, "and there are no more than a chart shows");
}

static void flame_adds_up(void)
{
    struct bench bench;
    begin(&bench);
    live(&bench, BASE, 10, stack(&bench, "/u/a.py|f;/u/a.py|main"));
    live(&bench, BASE + 1024, 5, stack(&bench, "/u/a.py|g;/u/a.py|f;/u/a.py|main"));
    live(&bench, BASE + 2048, 3, stack(&bench, "??|malloc;/u/a.py|g;??|eval;/u/a.py|f;/u/a.py|main"));
    live(&bench, BASE + 4096, 2, 0);
    segment(&bench, 0, -1);
    pass(&bench, 20);
    const struct ap_value *nodes = at(&bench, "memory.flame.nodes"), *names = at(&bench, "memory.flame.names");
    static const struct {
        int64_t parent, bytes;
        const char *name;
    } wanted[] = { { -999, 20, "all" },      { 0, 18, "/u/a.py:7 main" }, { 0, 2, "no stack recorded" },
                   { 1, 18, "/u/a.py:7 f" }, { 3, 10, "self" },           { 3, 8, "/u/a.py:7 g" } };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        const struct ap_value *node = list_item(nodes, i);
        is_int(number(node, "parent"), wanted[i].parent, "parent");
        is_int(number(node, "requested_bytes"), wanted[i].bytes, "bytes");
        ok(ap_text_is(ap_value_text(list_item(names, (size_t)number(node, "name"))), wanted[i].name), wanted[i].name);
    }
    is_int((long long)ap_value_count(nodes), 6, "C++ frames between Python's are not shown");
    check_tree(&bench, "children add up");
    end(&bench);
}

/* Random trees of callers, wide and deep enough to be cut. */
static void flame_is_bounded(void)
{
    struct random random = { .state = 5 };
    for (int round = 0; round < 6; round++) {
        struct bench bench;
        begin(&bench);
        int stacks = round < 3 ? 40 : 3000;
        size_t width = round % 3 == 0 ? 2 : round % 3 == 1 ? 20 : 500, depth = round % 3 == 2 ? 3 : 12;
        for (int i = 0; i < stacks; i++) {
            char frames[1024] = "";
            for (size_t j = 0; j < 1 + random_below(&random, depth); j++) {
                size_t used = strlen(frames);
                (void)snprintf(frames + used, sizeof(frames) - used, "%s/u/%d.py|f", used ? ";" : "",
                               (int)random_below(&random, width));
            }
            live(&bench, BASE + (uint64_t)i * 4096, 1 + (int64_t)random_below(&random, 1000), stack(&bench, frames));
        }
        segment(&bench, 0, -1);
        pass(&bench, 5);
        is_int(bench.status, AP_OK, "random callers");
        check_tree(&bench, "children add up in a random tree");
        is_int(number(ap_value_first(at(&bench, "memory.flame.nodes")), "requested_bytes"),
               number(device_row(&bench, 0), "requested_bytes"), "the whole is there");
        end(&bench);
    }
}

static void peak_stacks_hold_all(void)
{
    struct bench bench;
    struct ap_peak_stacks stacks;
    int64_t sum = 0;
    begin(&bench);
    training_step(&bench);
    keep(&bench, ap_peak_stacks_init(&stacks, bench.snapshot, &bench.error));
    is_int(bench.status, AP_OK, "every stack at the peak");
    for (size_t i = 0; i < stacks.count; i++)
        sum += stacks.list[i].bytes;
    is_int(sum, 87655221, "holds all bytes");
    ok(!stacks.several_devices, "of one device");
    ap_peak_stacks_release(&stacks);
    end(&bench);
}

/* ---- what comes of bad input and refused memory ---- */

static void empty_is_fine(void)
{
    struct bench bench;
    begin(&bench);
    pass(&bench, 20);
    is_int(bench.status, AP_OK, "nothing at all");
    is_int(at(&bench, "memory.flame")->type, AP_VALUE_NULL, "no flame");
    is_int(at(&bench, "memory.peak.requested_bytes")->type, AP_VALUE_NULL, "no peak");
    is_int((long long)ap_value_count(at(&bench, "memory.peak.devices")), 0, "no device");
    end(&bench);
}

static void many_devices_are_bounded(void)
{
    struct bench bench;
    begin(&bench);
    for (int32_t i = 0; i < 3000; i++) {
        live(&bench, BASE, 1, 0);
        segment(&bench, i, -1);
    }
    pass(&bench, 20);
    is_int((long long)ap_value_count(at(&bench, "memory.peak.devices")), 64, "64 devices at most");
    end(&bench);
}

static void sizes_at_the_ends_of_the_range(void)
{
    struct bench bench;
    begin(&bench);
    bench.time_us = -1;
    history(&bench);
    for (int i = 0; i < 4; i++)
        live(&bench, alloc(&bench, i % 2 ? INT64_MIN : INT64_MAX, stack(&bench, i % 2 ? "a|b" : "c|d")), 1, 0);
    bench.live_bytes = INT64_MAX;
    segment(&bench, 0, -1);
    pass(&bench, 20);
    is_int(bench.status, AP_OK, "sums stop at the ends of the range");
    end(&bench);
}

static enum ap_status run_with(int64_t fail_after, bool *ret_clean)
{
    struct bench bench;
    begin(&bench);
    training_step(&bench);
    mark(&bench, "step", "START", 0, 1);
    mark(&bench, "step", "END", 0, 90000);
    atomic_store(&bench.gate.fail_after, fail_after);
    pass(&bench, 3);
    struct ap_peak_stacks stacks;
    if (bench.status == AP_OK) {
        keep(&bench, ap_peak_stacks_init(&stacks, bench.snapshot, &bench.error));
        if (bench.status == AP_OK)
            ap_peak_stacks_release(&stacks);
    }
    ap_model_release(&bench.model);
    ap_snapshot_free(bench.snapshot);
    *ret_clean = bench.gate.used_bytes == 0 && (bench.status == AP_OK || bench.status == AP_ERROR_MEMORY);
    return bench.status;
}

static void refused_memory_ends_cleanly(void)
{
    int64_t odd = 0, count = 0;
    for (; count < 5000; count++) {
        bool clean;
        enum ap_status status = run_with(count, &clean);
        odd += !clean;
        if (status == AP_OK)
            break;
    }
    is_int(odd, 0, "each refused allocation ends in a clean error");
    ok(count > 20 && count < 5000, "there were some to refuse");
}

int main(void)
{
    owners_are_told();
    devices_beyond_those_that_are_told_of_are_counted();
    gradients_held_while_forward_runs_are_told();
    passes_that_keep_their_graphs_leak();
    who_called_a_model_that_leaks();
    a_cache_that_is_made_anew_is_no_leak();
    nodes_of_a_pass_are_no_steps();
    old_gradients_need_not_be_held();
    weights_are_told_by_their_sizes();
    weights_are_told_by_gradients_of_a_whole_pass();
    graphs_without_backward_need_not_be_held();
    the_line_to_look_at_called_the_model();
    calls_are_told_apart_by_what_lies_between();
    logits_and_scores_are_told_by_their_functions();
    a_failed_request_tells_what_is_as_large();
    graphs_of_batches_go_one_behind_the_other();
    a_failure_ends_its_forward();
    graphs_that_backward_leaves_need_not_be_held();
    a_failed_backward_leaves_no_graph();
    large_tensors_save_what_the_peak_falls_by();
    dense_gradients_of_tables_are_told();
    layers_are_told_without_frames_of_python();
    what_a_checkpoint_computes_again_is_told();
    layers_without_a_checkpoint_are_told();
    gathered_weights_and_workspaces_are_told();
    gathered_weights_are_no_graph();
    blocks_that_are_sharded_again_are_few_at_once();
    caches_of_requests_replace_none();
    pools_have_a_piece_for_each_layer();
    weights_without_a_gradient_are_told();
    caches_that_are_made_anew_are_counted();
    what_failed_need_not_be_held();
    what_each_attempt_made_is_told();
    modules_of_a_sequence_are_told_apart();
    caches_that_grow_are_told_by_their_sizes();
    without_gradients_there_is_no_graph();
    copies_that_are_made_anew_are_copies();
    a_state_that_is_cloned_to_be_saved_is_a_copy();
    states_that_stay_are_no_copies();
    state_is_told_by_where_it_is_made();
    what_is_added_to_is_no_state();
    state_is_made_behind_the_passes_that_gradients_are_summed_over();
    models_that_are_trained_side_by_side_are_no_copies();
    a_model_with_a_late_reference_is_no_copy();
    a_model_without_gradients_beside_its_like_is_a_copy();
    batches_open_passes();
    what_is_older_than_the_weights_is_kept();
    a_first_update_that_fails_is_told();
    what_steps_construct_is_no_model();
    the_last_graph_may_be_there_at_the_end();
    passes_that_become_longer_leak();
    what_fills_a_buffer_is_told();
    passes_behind_a_failure_are_counted();
    a_segment_hides_no_allocation();
    layers_that_a_function_calls_are_no_leak();
    a_pass_that_breaks_off_is_no_leak();
    rounds_that_become_longer_tell_a_leak();
    state_that_is_set_up_is_no_leak();
    a_constructor_makes_more_than_weights();
    a_checkpoint_beside_the_weights_is_a_copy();
    what_an_optimizer_resumes_with_is_no_copy();
    a_checkpoint_that_did_not_fit_is_a_copy();
    copies_are_told_by_their_sizes();
    an_optimizer_has_gradients();
    weights_are_told_without_frames_of_python();
    functions_with_a_backward_hide_no_other();
    what_passes_do_not_see_is_temporary();
    accumulated_gradients_are_needed();
    outputs_of_the_step_before_need_not_be_held();
    batches_far_ahead_need_not_be_held();
    a_queue_may_end_with_its_loop();
    results_that_are_joined_are_there_twice();
    temporaries_of_a_step_need_not_be_held();
    temporaries_of_a_step_that_fails_are_told();
    a_spike_stands_above_the_usual();
    what_fills_up_is_no_spike();
    frames_have_signs();
    frames_without_a_file_are_functions();
    zeros_of_a_constructor_are_buffers();
    zeros_of_layers_are_weights();
    short_lived_are_listed();
    byte_time_needs_no_times();
    without_history_the_end_counts();
    phases_are_measured();
    nested_phases_match_the_last();
    flame_adds_up();
    flame_is_bounded();
    peak_stacks_hold_all();
    empty_is_fine();
    many_devices_are_bounded();
    sizes_at_the_ends_of_the_range();
    refused_memory_ends_cleanly();
    return done();
}
