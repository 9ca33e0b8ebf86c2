/* SPDX-License-Identifier: MIT
 * See job.h. */
#define _GNU_SOURCE /* gettid */

#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cuda_device.h"
#include "cupti_records.h"
#include "kernels.h"

/** Of the host before each operator launches its work: about what PyTorch's dispatcher and Python take. */
static const int64_t framework_us = 5;

const struct harness_frame harness_main_frame = { "cuda_harness.c", 0, "main", NULL };

bool harness_check(struct harness_run *run, cudaError_t error, const char *call)
{
    if (error != cudaSuccess && run->status == AP_OK)
        run->status = ap_fail(&run->error, AP_ERROR_USAGE, "%.80s: %s", call, cudaGetErrorString(error));
    return run->status == AP_OK;
}

static bool check_status(struct harness_run *run, enum ap_status status)
{
    if (run->status == AP_OK)
        run->status = status;
    return run->status == AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------ begin and end
 */

static void make_allocator(struct harness_run *run, uint64_t bytes)
{
    struct harness_cuda_device *device = calloc(1, sizeof(*device));
    if (!device) {
        run->status = ap_fail(&run->error, AP_ERROR_MEMORY, "no memory for a device");
        return;
    }
    device->bytes = bytes;
    const struct harness_device table = harness_cuda_device_table(device);
    if (!check_status(run, harness_allocator_new(&table, &(struct harness_allocator_options){ .device_index = 0 },
                                                 &run->allocator, &run->error)))
        free(device);
}

void harness_run_init(struct harness_run *run)
{
    struct harness_device_properties properties = { .name = "" };
    int device_count = 0;
    run->thread = (uint32_t)gettid();
    run->warm_up_steps = run->options->warm_up_steps;
    if (!HARNESS_CUDA(run, cudaGetDeviceCount(&device_count)) ||
        !HARNESS_CUDA(run, cudaSetDevice(device_count ? (int)run->rank % device_count : 0)) ||
        !HARNESS_CUDA(run, cudaFree(NULL)) || /* the context */
        !HARNESS_CUDA(run, harness_cuda_properties(&properties)) ||
        !HARNESS_CUDA(run, cudaStreamCreateWithFlags(&run->side, cudaStreamNonBlocking)))
        return;
    run->sm_count = properties.sm_count;
    uint64_t bytes = run->device_bytes ? run->device_bytes : properties.total_bytes;
    make_allocator(run, bytes);
    if (!run->recording)
        return;
    struct harness_run_facts *facts = &run->recording->run;
    run->recording->device = properties;
    run->recording->device.total_bytes = bytes; /* all that there is for this run */
    facts->process_id = (uint32_t)getpid();
    facts->trace_name = "trace.json";
    (void)HARNESS_CUDA(run, cudaRuntimeGetVersion(&facts->runtime_version));
    (void)HARNESS_CUDA(run, cudaDriverGetVersion(&facts->driver_version));
    /* Now, so that the first costs of the profiler itself lie before the window; what is before it is dropped later. */
    if (run->status == AP_OK)
        (void)check_status(run, harness_cupti_start(run->recording, &run->error));
}

void harness_run_release(struct harness_run *run)
{
    void *device = run->allocator ? run->allocator->device.self : NULL;
    harness_allocator_free(run->allocator);
    free(device);
    if (run->side)
        (void)cudaStreamDestroy(run->side);
}

/* -------------------------------------------------------------------------------------------------------------------- steps
 */

static void begin_window(struct harness_run *run)
{
    if (!HARNESS_CUDA(run, cudaDeviceSynchronize()))
        return;
    if (run->rank_count > 1 && !harness_meeting_wait(run->meeting, run->rank_count, 1)) {
        run->status = ap_fail(&run->error, AP_ERROR_USAGE, "another rank did not come");
        return;
    }
    run->in_window = true;
    run->window_start_ns = harness_stopwatch_ns();
    if (run->recording)
        run->recording->run.start_ns = harness_clock_ns();
}

static void end_window(struct harness_run *run)
{
    if (!HARNESS_CUDA(run, cudaDeviceSynchronize()))
        return;
    run->window_ns = harness_stopwatch_ns() - run->window_start_ns;
    run->held_bytes = run->allocator->allocated_bytes;
    if (run->recording) {
        run->recording->run.end_ns = harness_clock_ns();
        (void)check_status(run, harness_cupti_stop(run->recording, &run->error));
    }
    run->in_window = false;
}

static void begin_step(struct harness_run *run)
{
    char name[40] = "";
    if (run->recording) {
        (void)snprintf(name, sizeof(name), "ProfilerStep#%u", (unsigned)run->begun_steps);
        const char *kept = harness_recording_text(run->recording, name);
        run->step = harness_begin(run, HARNESS_RANGE, kept);
        (void)check_status(run, harness_allocator_annotate(run->allocator, kept, true, &run->error));
    }
    run->begun_steps++;
}

static void end_step(struct harness_run *run)
{
    if (run->recording) {
        const char *name = run->step.name;
        harness_end(run, run->step);
        if (name)
            (void)check_status(run, harness_allocator_annotate(run->allocator, name, false, &run->error));
    }
}

bool harness_next_step(struct harness_run *run)
{
    if (run->begun_steps && run->status == AP_OK)
        end_step(run);
    if (run->status == AP_OK && run->begun_steps == run->warm_up_steps)
        begin_window(run);
    if (run->status == AP_OK && run->begun_steps == run->warm_up_steps + run->options->steps) {
        end_window(run);
        return false;
    }
    if (run->status == AP_OK)
        begin_step(run);
    return run->status == AP_OK;
}

bool harness_last_step(const struct harness_run *run)
{
    return run->begun_steps == run->warm_up_steps + run->options->steps;
}

struct harness_span harness_begin(struct harness_run *run, enum harness_row_kind kind, const char *name)
{
    struct harness_span span = { .kind = kind };
    if (run->recording && run->in_window) {
        span.name = name;
        span.start_ns = harness_clock_ns();
    }
    if (kind == HARNESS_OP)
        harness_host_work(framework_us);
    return span;
}

void harness_end(struct harness_run *run, struct harness_span span)
{
    if (!span.name)
        return;
    const struct harness_row row = { .kind = span.kind,
                                     .name = span.name,
                                     .start_ns = span.start_ns,
                                     .dur_ns = harness_clock_ns() - span.start_ns,
                                     .thread = run->thread,
                                     .stream = -1 };
    harness_recording_add(run->recording, &row);
}

/* ------------------------------------------------------------------------------------------------------------------- memory
 */

static void add_memory_row(struct harness_run *run, enum harness_row_kind kind, uint64_t address, int64_t bytes)
{
    if (!run->recording || !run->in_window)
        return;
    struct harness_row row = { .kind = kind,
                               .name = kind == HARNESS_MEMORY ? "[memory]" : "[OutOfMemory]",
                               .start_ns = harness_clock_ns(),
                               .thread = run->thread,
                               .stream = -1 };
    row.as.memory.address = address;
    row.as.memory.bytes = bytes;
    row.as.memory.allocated_bytes = run->allocator->allocated_bytes;
    row.as.memory.reserved_bytes = run->allocator->reserved_bytes;
    harness_recording_add(run->recording, &row);
}

struct harness_block *harness_try_take(struct harness_run *run, uint64_t bytes, const struct harness_frame *frame)
{
    struct harness_block *block = NULL;
    struct ap_error error = { .status = AP_OK };
    if (run->status != AP_OK)
        return NULL;
    enum ap_status status = harness_allocate(run->allocator, bytes, 0, frame, &block, &error);
    if (status == AP_ERROR_LIMIT) {
        add_memory_row(run, HARNESS_OUT_OF_MEMORY, 0, (int64_t)bytes);
        return NULL;
    }
    if (status != AP_OK) {
        run->status = status;
        run->error = error;
        return NULL;
    }
    add_memory_row(run, HARNESS_MEMORY, block->address, (int64_t)block->size_bytes);
    return block;
}

struct harness_block *harness_take(struct harness_run *run, uint64_t bytes, const struct harness_frame *frame)
{
    struct harness_block *block = harness_try_take(run, bytes, frame);
    if (!block && run->status == AP_OK)
        run->status =
            ap_fail(&run->error, AP_ERROR_LIMIT, "the device has no %llu bytes for the job", (unsigned long long)bytes);
    return block;
}

void harness_give(struct harness_run *run, struct harness_block *block)
{
    if (!block || run->status != AP_OK)
        return;
    uint64_t address = block->address;
    int64_t bytes = (int64_t)block->size_bytes;
    (void)check_status(run, harness_release(run->allocator, block, &run->error));
    add_memory_row(run, HARNESS_MEMORY, address, -bytes);
}

void *harness_memory(const struct harness_block *block)
{
    return block ? (void *)(uintptr_t)block->address : NULL;
}

/* ------------------------------------------------------------------------------------------------------------------- layers
 */

struct harness_layer harness_layer_take(struct harness_run *run, uint32_t n, bool single, const struct harness_frame *frame)
{
    uint64_t numbers = (uint64_t)n * n, operand_bytes = numbers * (single ? sizeof(float) : 2);
    struct harness_layer layer = { .n = n,
                                   .single = single,
                                   .a = harness_take(run, operand_bytes, frame),
                                   .b = harness_take(run, operand_bytes, frame),
                                   .c = harness_take(run, numbers * sizeof(float), frame) };
    if (run->status == AP_OK) {
        (void)HARNESS_CUDA(run, cudaMemsetAsync(harness_memory(layer.a), 0, operand_bytes, 0));
        (void)HARNESS_CUDA(run, cudaMemsetAsync(harness_memory(layer.b), 0, operand_bytes, 0));
        (void)HARNESS_CUDA(run, cudaMemsetAsync(harness_memory(layer.c), 0, numbers * sizeof(float), 0));
    }
    return layer;
}

void harness_layer_give(struct harness_run *run, struct harness_layer *layer)
{
    harness_give(run, layer->a);
    harness_give(run, layer->b);
    harness_give(run, layer->c);
    *layer = (struct harness_layer){ .n = 0 };
}

static void multiply(struct harness_run *run, const struct harness_layer *layer)
{
    struct harness_span span = harness_begin(run, HARNESS_OP, "aten::mm");
    float *c = harness_memory(layer->c);
    if (layer->single)
        (void)HARNESS_CUDA(run, harness_launch_gemm_f32(harness_memory(layer->a), harness_memory(layer->b), c, layer->n, 0));
    else
        (void)HARNESS_CUDA(run, harness_launch_gemm_f16(harness_memory(layer->a), harness_memory(layer->b), c, layer->n, 0));
    harness_end(run, span);
}

void harness_layer_run(struct harness_run *run, const struct harness_layer *layer)
{
    if (run->status != AP_OK)
        return;
    multiply(run, layer);
    struct harness_span span = harness_begin(run, HARNESS_OP, "aten::mul_");
    (void)HARNESS_CUDA(run, harness_launch_stage(harness_memory(layer->c), (size_t)layer->n * layer->n, 0, 0));
    harness_end(run, span);
}
