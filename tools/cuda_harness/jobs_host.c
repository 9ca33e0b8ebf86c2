/* SPDX-License-Identifier: MIT
 * jobs_host.c - jobs whose cause is what the host does: waits, launches, allocations, first uses. */
#include "job.h"
#include "kernels.h"

static const uint32_t layer_n = 2048, layer_count = 8;

static const struct harness_frame layer_frame = { "jobs_host.c", __LINE__, "take_layer", &harness_main_frame };
static const struct harness_frame tensor_frame = { "jobs_host.c", __LINE__, "take_tensors", &harness_main_frame };

/** loss.sum(), to a place on the device. */
static void sum_up(struct harness_run *run, const struct harness_layer *layer, const struct harness_block *sum)
{
    struct harness_span span = harness_begin(run, HARNESS_OP, "aten::sum");
    (void)HARNESS_CUDA(run, cudaMemsetAsync(harness_memory(sum), 0, sizeof(float), 0));
    (void)HARNESS_CUDA(run,
                       harness_launch_sum(harness_memory(layer->c), harness_memory(sum), (size_t)layer->n * layer->n, 0));
    harness_end(run, span);
}

/** sum.item() */
static void read_back(struct harness_run *run, const struct harness_block *sum)
{
    float number = 0;
    struct harness_span item = harness_begin(run, HARNESS_OP, "aten::item");
    struct harness_span dense = harness_begin(run, HARNESS_OP, "aten::_local_scalar_dense");
    (void)HARNESS_CUDA(run, cudaMemcpyAsync(&number, harness_memory(sum), sizeof(number), cudaMemcpyDeviceToHost, 0));
    (void)HARNESS_CUDA(run, cudaStreamSynchronize(0));
    harness_end(run, dense);
    harness_end(run, item);
}

void job_scalar_read(struct harness_run *run)
{
    struct harness_layer layer = harness_layer_take(run, layer_n, false, &layer_frame);
    struct harness_block *sum = harness_take(run, sizeof(float), &tensor_frame);
    while (harness_next_step(run)) {
        for (uint32_t i = 0; i < layer_count; i++) {
            harness_layer_run(run, &layer);
            sum_up(run, &layer, sum);
            if (run->planted)
                read_back(run, sum);
        }
    }
    harness_give(run, sum);
    harness_layer_give(run, &layer);
}

void job_explicit_sync(struct harness_run *run)
{
    struct harness_layer layer = harness_layer_take(run, layer_n, false, &layer_frame);
    while (harness_next_step(run)) {
        for (uint32_t i = 0; i < layer_count; i++) {
            harness_layer_run(run, &layer);
            if (run->planted)
                (void)HARNESS_CUDA(run, cudaDeviceSynchronize());
        }
    }
    harness_layer_give(run, &layer);
}

/* ------------------------------------------------------------------------------------------------------------ small tensors
 */

enum { TENSORS = 250, TENSOR_NUMBERS = 4096 };

struct tensors {
    struct harness_block *values, *gradients;
};

static struct tensors tensors_take(struct harness_run *run)
{
    const uint64_t bytes = (uint64_t)TENSORS * TENSOR_NUMBERS * sizeof(float);
    struct tensors tensors = { harness_take(run, bytes, &tensor_frame), harness_take(run, bytes, &tensor_frame) };
    (void)HARNESS_CUDA(run, cudaMemsetAsync(harness_memory(tensors.values), 0, bytes, 0));
    (void)HARNESS_CUDA(run, cudaMemsetAsync(harness_memory(tensors.gradients), 0, bytes, 0));
    return tensors;
}

static void tensors_give(struct harness_run *run, struct tensors *tensors)
{
    harness_give(run, tensors->values);
    harness_give(run, tensors->gradients);
}

static cudaError_t add_tensor(const struct tensors *tensors, int index, cudaStream_t stream)
{
    const size_t first = (size_t)index * TENSOR_NUMBERS;
    return harness_launch_add((float *)harness_memory(tensors->values) + first,
                              (const float *)harness_memory(tensors->gradients) + first, TENSOR_NUMBERS, stream);
}

static void add_one_by_one(struct harness_run *run, const struct tensors *tensors)
{
    for (int i = 0; i < TENSORS && run->status == AP_OK; i++) {
        struct harness_span span = harness_begin(run, HARNESS_OP, "aten::add_");
        (void)HARNESS_CUDA(run, add_tensor(tensors, i, 0));
        harness_end(run, span);
    }
}

static void add_at_once(struct harness_run *run, const struct tensors *tensors)
{
    struct harness_span span = harness_begin(run, HARNESS_OP, "aten::_foreach_add_");
    (void)HARNESS_CUDA(run, harness_launch_add_all(harness_memory(tensors->values), harness_memory(tensors->gradients),
                                                   (size_t)TENSORS * TENSOR_NUMBERS, 0));
    harness_end(run, span);
}

void job_tiny_kernels(struct harness_run *run)
{
    struct harness_layer layer = harness_layer_take(run, layer_n, false, &layer_frame);
    struct tensors tensors = tensors_take(run);
    while (harness_next_step(run)) {
        for (int i = 0; i < 4; i++)
            harness_layer_run(run, &layer);
        if (run->planted)
            add_one_by_one(run, &tensors);
        else
            add_at_once(run, &tensors);
    }
    tensors_give(run, &tensors);
    harness_layer_give(run, &layer);
}

/** The additions one behind the other. */
static cudaGraphExec_t capture(struct harness_run *run, const struct tensors *tensors)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    (void)HARNESS_CUDA(run, add_tensor(tensors, 0, 0)); /* loads the kernel, which a capture does not allow */
    (void)HARNESS_CUDA(run, cudaDeviceSynchronize());
    if (!HARNESS_CUDA(run, cudaStreamBeginCapture(run->side, cudaStreamCaptureModeThreadLocal)))
        return NULL;
    for (int i = 0; i < TENSORS; i++)
        (void)HARNESS_CUDA(run, add_tensor(tensors, i, run->side));
    (void)HARNESS_CUDA(run, cudaStreamEndCapture(run->side, &graph));
    (void)HARNESS_CUDA(run, cudaGraphInstantiateWithFlags(&exec, graph, 0));
    if (graph)
        (void)cudaGraphDestroy(graph);
    return exec;
}

void job_no_graph(struct harness_run *run)
{
    struct harness_layer layer = harness_layer_take(run, layer_n, false, &layer_frame);
    struct tensors tensors = tensors_take(run);
    cudaGraphExec_t graph = run->planted ? NULL : capture(run, &tensors);
    while (harness_next_step(run)) {
        for (uint32_t i = 0; i < layer_count; i++)
            harness_layer_run(run, &layer);
        if (run->planted)
            add_one_by_one(run, &tensors);
        else
            (void)HARNESS_CUDA(run, cudaGraphLaunch(graph, 0));
    }
    if (graph)
        (void)cudaGraphExecDestroy(graph);
    tensors_give(run, &tensors);
    harness_layer_give(run, &layer);
}

/* -------------------------------------------------------------------------------------------------- memory from the driver
 */

enum { TEMPORARIES = 4 };

void job_device_malloc(struct harness_run *run)
{
    static const struct harness_frame temporary_frame = { "jobs_host.c", __LINE__, "take_temporary", &harness_main_frame };
    const size_t bytes = (size_t)64 << 20;
    struct harness_layer layer = harness_layer_take(run, layer_n, false, &layer_frame);
    while (harness_next_step(run)) {
        struct harness_block *temporaries[TEMPORARIES];
        for (int i = 0; i < TEMPORARIES; i++) {
            struct harness_span empty = harness_begin(run, HARNESS_OP, "aten::empty");
            temporaries[i] = harness_take(run, bytes, &temporary_frame);
            harness_end(run, empty);
            struct harness_span fill = harness_begin(run, HARNESS_OP, "aten::zero_");
            (void)HARNESS_CUDA(run, cudaMemsetAsync(harness_memory(temporaries[i]), 0, bytes, 0));
            harness_end(run, fill);
            harness_layer_run(run, &layer);
            harness_layer_run(run, &layer);
        }
        for (int i = 0; i < TEMPORARIES; i++)
            harness_give(run, temporaries[i]);
        if (run->planted && run->status == AP_OK)
            run->status = harness_allocator_empty_cache(run->allocator, &run->error);
    }
    harness_layer_give(run, &layer);
}

/* ---------------------------------------------------------------------------------------------------------------- first use
 */

void job_cold_start(struct harness_run *run)
{
    const size_t numbers = (size_t)1 << 20;
    struct harness_layer layer = { .n = 0 };
    struct harness_block *data = NULL;
    if (run->planted)
        run->warm_up_steps = 0;
    while (harness_next_step(run)) {
        if (!data) {
            layer = harness_layer_take(run, layer_n, false, &layer_frame);
            data = harness_take(run, numbers * sizeof(float), &tensor_frame);
            (void)HARNESS_CUDA(run, cudaMemsetAsync(harness_memory(data), 0, numbers * sizeof(float), 0));
        }
        for (uint32_t i = 0; i < HARNESS_COLD_KERNELS; i++) {
            struct harness_span span = harness_begin(run, HARNESS_OP, "aten::mul_");
            (void)HARNESS_CUDA(run, harness_launch_cold(i, harness_memory(data), numbers, 0));
            harness_end(run, span);
        }
        for (uint32_t i = 0; i < 2 * layer_count; i++)
            harness_layer_run(run, &layer);
    }
    harness_give(run, data);
    harness_layer_give(run, &layer);
}
