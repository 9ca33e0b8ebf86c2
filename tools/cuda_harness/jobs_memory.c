/* SPDX-License-Identifier: MIT
 * jobs_memory.c - jobs whose cause is in the device's memory, of which the allocator has run->device_bytes. */
#include "job.h"

static const struct harness_frame layer_frame = { "jobs_memory.c", __LINE__, "take_layer", &harness_main_frame };
static const struct harness_frame step_frame = { "jobs_memory.c", __LINE__, "train_step", &harness_main_frame };

enum { MOST_BUFFERS = 4096 };

struct buffers {
    struct harness_block *blocks[MOST_BUFFERS];
    uint32_t count;
};

/** torch.empty() of a buffer that is written once. False where the device has no more. */
static bool add_buffer(struct harness_run *run, struct buffers *buffers, uint64_t bytes, const struct harness_frame *frame)
{
    struct harness_span span = harness_begin(run, HARNESS_OP, "aten::empty");
    struct harness_block *block = buffers->count < MOST_BUFFERS ? harness_try_take(run, bytes, frame) : NULL;
    if (block) {
        buffers->blocks[buffers->count++] = block;
        (void)HARNESS_CUDA(run, cudaMemsetAsync(harness_memory(block), 0, bytes, 0));
    }
    harness_end(run, span);
    return block != NULL;
}

static void give_all(struct harness_run *run, struct buffers *buffers)
{
    while (buffers->count)
        harness_give(run, buffers->blocks[--buffers->count]);
}

static void need(struct harness_run *run, bool had)
{
    if (!had && run->status == AP_OK)
        run->status = ap_fail(&run->error, AP_ERROR_LIMIT, "the device is full where it must not be");
}

/** Short-lived and long-lived buffers for six tenths of the device; four buffers of 5 MiB share a segment of 20 MiB.
 * Planted: they come by turns, so that each segment has both kinds; else all long-lived ones come first. */
static void fill_cache(struct harness_run *run, struct buffers *short_lived, struct buffers *long_lived)
{
    static const struct harness_frame short_frame = { "jobs_memory.c", __LINE__, "load_temporary", &harness_main_frame };
    static const struct harness_frame long_frame = { "jobs_memory.c", __LINE__, "load_table", &harness_main_frame };
    const uint32_t count = (uint32_t)(run->device_bytes / (20u << 20)) * 4 * 6 / 10;
    for (uint32_t i = 0; i < count && run->status == AP_OK; i++) {
        bool keep = run->planted ? i % 2 == 0 : i < count / 2;
        need(run, add_buffer(run, keep ? long_lived : short_lived, UINT64_C(5) << 20, keep ? &long_frame : &short_frame));
    }
}

/** In the last step the short-lived buffers go, and two fifths of the device are asked for at once. */
void job_fragmentation(struct harness_run *run)
{
    static const struct harness_frame temporary_frame = { "jobs_memory.c", __LINE__, "activations", &step_frame };
    static const struct harness_frame large_frame = { "jobs_memory.c", __LINE__, "evaluate", &step_frame };
    static struct buffers short_lived, long_lived, temporary, large;
    struct harness_layer layer = harness_layer_take(run, 4096, false, &layer_frame);
    short_lived.count = long_lived.count = temporary.count = large.count = 0;
    fill_cache(run, &short_lived, &long_lived);
    while (harness_next_step(run)) {
        for (int i = 0; i < 4; i++) {
            need(run, add_buffer(run, &temporary, UINT64_C(5) << 20, &temporary_frame));
            harness_layer_run(run, &layer);
        }
        give_all(run, &temporary);
        if (!harness_last_step(run))
            continue;
        give_all(run, &short_lived);
        bool had = add_buffer(run, &large, run->device_bytes / 5 * 2, &large_frame);
        if (had == run->planted && run->status == AP_OK)
            run->status = ap_fail(&run->error, AP_ERROR_LIMIT, "the large request %s", had ? "did not fail" : "failed");
    }
}

/** Buffers of one step, of which the planted job keeps one more in each step of the window. */
void job_leak(struct harness_run *run)
{
    static const struct harness_frame kept_frame = { "jobs_memory.c", __LINE__, "append_loss", &step_frame };
    static const struct harness_frame temporary_frame = { "jobs_memory.c", __LINE__, "activations", &step_frame };
    static struct buffers kept, temporary;
    const uint64_t bytes = UINT64_C(16) << 20;
    struct harness_layer layer = harness_layer_take(run, 4096, false, &layer_frame);
    kept.count = temporary.count = 0;
    while (harness_next_step(run)) {
        for (int i = 0; i < 4; i++) {
            need(run, add_buffer(run, &temporary, bytes, &temporary_frame));
            harness_layer_run(run, &layer);
        }
        need(run, add_buffer(run, run->planted && run->in_window ? &kept : &temporary, bytes, &kept_frame));
        give_all(run, &temporary);
    }
}

/** In the last step twice as many activations are taken as in the others. */
void job_device_full(struct harness_run *run)
{
    static const struct harness_frame activation_frame = { "jobs_memory.c", __LINE__, "activations", &step_frame };
    static struct buffers activations;
    struct harness_layer layer = harness_layer_take(run, 2048, false, &layer_frame);
    activations.count = 0;
    while (harness_next_step(run)) {
        const uint32_t wanted = run->planted && harness_last_step(run) ? 34 : 16;
        bool had = true;
        for (uint32_t i = 0; i < wanted && had && run->status == AP_OK; i++) {
            had = add_buffer(run, &activations, run->device_bytes / 32, &activation_frame);
            harness_layer_run(run, &layer);
        }
        if (had == (run->planted && harness_last_step(run)) && run->status == AP_OK)
            run->status = ap_fail(&run->error, AP_ERROR_LIMIT, "the device %s", had ? "was not filled" : "was full");
        if (!harness_last_step(run))
            give_all(run, &activations);
    }
}
