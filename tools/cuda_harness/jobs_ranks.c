/* SPDX-License-Identifier: MIT
 * jobs_ranks.c - jobs of several processes. Their all-reduce is a kernel of our own through memory of the host. */
#include "job.h"
#include "kernels.h"

static const int64_t slow_host_us = 20000;

static const struct harness_frame layer_frame = { "jobs_ranks.c", __LINE__, "take_layer", &harness_main_frame };
static const struct harness_frame gradient_frame = { "jobs_ranks.c", __LINE__, "take_gradients", &harness_main_frame };

static struct harness_reduce_area shared_area(struct harness_run *run)
{
    struct harness_reduce_area area = { NULL, NULL, NULL };
    void *flags = NULL, *slots = NULL, *gave_up = NULL;
    struct harness_meeting *meeting = run->meeting;
    (void)HARNESS_CUDA(run, cudaHostRegister(meeting, harness_meeting_bytes(run->rank_count), cudaHostRegisterMapped));
    (void)HARNESS_CUDA(run, cudaHostGetDevicePointer(&flags, meeting->flags, 0));
    (void)HARNESS_CUDA(run, cudaHostGetDevicePointer(&slots, meeting->slots, 0));
    (void)HARNESS_CUDA(run, cudaHostGetDevicePointer(&gave_up, &meeting->gave_up, 0));
    area.arrived = flags;
    area.slots = slots;
    area.gave_up = gave_up;
    return area;
}

static void all_reduce(struct harness_run *run, const struct harness_block *gradients,
                       const struct harness_reduce_area *area, uint32_t round)
{
    struct harness_span span = harness_begin(run, HARNESS_OP, "harness::all_reduce");
    (void)HARNESS_CUDA(run, harness_launch_all_reduce(harness_memory(gradients), HARNESS_REDUCE_FLOATS, area, run->rank,
                                                      run->rank_count, round, 0));
    harness_end(run, span);
}

void job_slow_rank(struct harness_run *run)
{
    const size_t bytes = HARNESS_REDUCE_FLOATS * sizeof(float);
    struct harness_layer layer = harness_layer_take(run, 4096, false, &layer_frame);
    struct harness_block *gradients = harness_take(run, bytes, &gradient_frame);
    struct harness_reduce_area area = shared_area(run);
    (void)HARNESS_CUDA(run, cudaMemsetAsync(harness_memory(gradients), 0, bytes, 0));
    for (uint32_t round = 1; harness_next_step(run); round++) {
        if (run->planted && run->rank == run->rank_count - 1)
            harness_host_work(slow_host_us);
        for (int i = 0; i < 16; i++)
            harness_layer_run(run, &layer);
        all_reduce(run, gradients, &area, round);
        (void)HARNESS_CUDA(run, cudaStreamSynchronize(0)); /* the optimizer of a step sees all gradients */
    }
    if (run->meeting->gave_up && run->status == AP_OK)
        run->status = ap_fail(&run->error, AP_ERROR_USAGE, "another rank did not come to the all-reduce");
    harness_give(run, gradients);
    harness_layer_give(run, &layer);
    (void)cudaHostUnregister(run->meeting);
}
