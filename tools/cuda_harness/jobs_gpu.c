/* SPDX-License-Identifier: MIT
 * jobs_gpu.c - jobs whose cause is how the device is used: streams, grids, passes over memory, tensor cores. */
#include "job.h"
#include "kernels.h"

static const struct harness_frame layer_frame = { "jobs_gpu.c", __LINE__, "take_layer", &harness_main_frame };
static const struct harness_frame data_frame = { "jobs_gpu.c", __LINE__, "take_data", &harness_main_frame };

static struct harness_block *take_floats(struct harness_run *run, size_t count)
{
    struct harness_block *block = harness_take(run, count * sizeof(float), &data_frame);
    (void)HARNESS_CUDA(run, cudaMemsetAsync(harness_memory(block), 0, count * sizeof(float), 0));
    return block;
}

static void iterate(struct harness_run *run, struct harness_block *data, size_t count, uint32_t rounds, uint32_t blocks,
                    cudaStream_t stream)
{
    struct harness_span span = harness_begin(run, HARNESS_OP, "harness::iterate_map");
    (void)HARNESS_CUDA(run, harness_launch_iterate(harness_memory(data), count, rounds, blocks, stream));
    harness_end(run, span);
}

/** Kernels on two streams, each of a grid for half of the device. Planted: each waits for the one before on the other
 * stream. */
void job_event_serialized(struct harness_run *run)
{
    enum { PAIRS = 10 };
    const size_t count = (size_t)1 << 20;
    struct harness_block *data[2] = { take_floats(run, count), take_floats(run, count) };
    cudaStream_t streams[2] = { run->side, NULL };
    cudaEvent_t done[2] = { NULL, NULL };
    (void)HARNESS_CUDA(run, cudaStreamCreateWithFlags(&streams[1], cudaStreamNonBlocking));
    for (int i = 0; i < 2; i++)
        (void)HARNESS_CUDA(run, cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming));
    while (harness_next_step(run)) {
        for (int i = 0; i < 2 * PAIRS; i++) {
            int at = i % 2;
            if (run->planted && i)
                (void)HARNESS_CUDA(run, cudaStreamWaitEvent(streams[at], done[1 - at], 0));
            iterate(run, data[at], count, 4096, run->sm_count / 2, streams[at]);
            if (run->planted)
                (void)HARNESS_CUDA(run, cudaEventRecord(done[at], streams[at]));
        }
    }
    for (int i = 0; i < 2; i++)
        harness_give(run, data[i]);
}

void job_low_occupancy(struct harness_run *run)
{
    const size_t count = (size_t)1 << 20;
    struct harness_layer layer = harness_layer_take(run, 2048, false, &layer_frame);
    struct harness_block *data = take_floats(run, count);
    while (harness_next_step(run)) {
        for (int i = 0; i < 4; i++) {
            harness_layer_run(run, &layer);
            iterate(run, data, count, 1024, run->planted ? 8 : run->sm_count * 8, 0);
        }
    }
    harness_give(run, data);
    harness_layer_give(run, &layer);
}

void job_memory_bound(struct harness_run *run)
{
    enum { STAGES = 32 };
    const size_t count = (size_t)16 << 20;
    struct harness_layer layer = harness_layer_take(run, 2048, false, &layer_frame);
    struct harness_block *data = take_floats(run, count);
    while (harness_next_step(run)) {
        for (int i = 0; i < 4; i++)
            harness_layer_run(run, &layer);
        for (uint32_t stage = 0; stage < STAGES && run->planted; stage++) {
            struct harness_span span = harness_begin(run, HARNESS_OP, stage % 2 ? "aten::add_" : "aten::mul_");
            (void)HARNESS_CUDA(run, harness_launch_stage(harness_memory(data), count, stage, 0));
            harness_end(run, span);
        }
        if (!run->planted) {
            struct harness_span span = harness_begin(run, HARNESS_OP, "harness::fused_chain");
            (void)HARNESS_CUDA(run, harness_launch_all_stages(harness_memory(data), count, STAGES, 0));
            harness_end(run, span);
        }
    }
    harness_give(run, data);
    harness_layer_give(run, &layer);
}

void job_no_tensor_cores(struct harness_run *run)
{
    struct harness_layer layer = harness_layer_take(run, 2048, run->planted, &layer_frame);
    while (harness_next_step(run))
        for (int i = 0; i < 8; i++)
            harness_layer_run(run, &layer);
    harness_layer_give(run, &layer);
}
