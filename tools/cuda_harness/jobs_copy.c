/* SPDX-License-Identifier: MIT
 * jobs_copy.c - jobs whose cause is a copy, or a batch that comes late. */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

static const uint64_t batch_bytes = UINT64_C(64) << 20;
static const uint32_t copy_layers = 4, copy_n = 4096;

static const struct harness_frame batch_frame = { "jobs_copy.c", __LINE__, "take_batches", &harness_main_frame };
static const struct harness_frame layer_frame = { "jobs_copy.c", __LINE__, "take_layer", &harness_main_frame };

/* ------------------------------------------------------------------------------------------------------------ input batches
 */

enum input_mode { INPUT_PAGEABLE, INPUT_SAME_STREAM, INPUT_OWN_STREAM };

struct input {
    enum input_mode mode;
    void *host[2];
    struct harness_block *device[2];
    cudaEvent_t ready[2], used[2]; /* of the device's buffers */
};

static void input_take(struct harness_run *run, struct input *input, enum input_mode mode)
{
    *input = (struct input){ .mode = mode };
    for (int i = 0; i < 2; i++) {
        if (mode == INPUT_PAGEABLE) {
            input->host[i] = malloc(batch_bytes);
            if (!input->host[i])
                run->status = ap_fail(&run->error, AP_ERROR_MEMORY, "no memory for a batch");
        } else {
            (void)HARNESS_CUDA(run, cudaMallocHost(&input->host[i], batch_bytes));
        }
        if (run->status == AP_OK)
            memset(input->host[i], i, batch_bytes);
        input->device[i] = harness_take(run, batch_bytes, &batch_frame);
        (void)HARNESS_CUDA(run, cudaEventCreateWithFlags(&input->ready[i], cudaEventDisableTiming));
        (void)HARNESS_CUDA(run, cudaEventCreateWithFlags(&input->used[i], cudaEventDisableTiming));
    }
}

static void input_give(struct harness_run *run, struct input *input)
{
    for (int i = 0; i < 2; i++) {
        harness_give(run, input->device[i]);
        if (input->mode == INPUT_PAGEABLE)
            free(input->host[i]);
        else
            (void)cudaFreeHost(input->host[i]);
    }
}

/** batch.to(device), to the buffer @slot. */
static void copy_batch(struct harness_run *run, const struct input *input, int slot)
{
    cudaStream_t stream = input->mode == INPUT_OWN_STREAM ? run->side : 0;
    struct harness_span to = harness_begin(run, HARNESS_OP, "aten::to");
    struct harness_span copy = harness_begin(run, HARNESS_OP, "aten::copy_");
    if (input->mode == INPUT_OWN_STREAM)
        (void)HARNESS_CUDA(run, cudaStreamWaitEvent(stream, input->used[slot], 0));
    (void)HARNESS_CUDA(run, cudaMemcpyAsync(harness_memory(input->device[slot]), input->host[slot], batch_bytes,
                                            cudaMemcpyHostToDevice, stream));
    if (input->mode == INPUT_PAGEABLE) /* as PyTorch does for copies that are not to be asynchronous */
        (void)HARNESS_CUDA(run, cudaStreamSynchronize(stream));
    if (input->mode == INPUT_OWN_STREAM)
        (void)HARNESS_CUDA(run, cudaEventRecord(input->ready[slot], stream));
    harness_end(run, copy);
    harness_end(run, to);
}

static void train_on_copies(struct harness_run *run, enum input_mode mode)
{
    struct input input;
    input_take(run, &input, mode);
    struct harness_layer layer = harness_layer_take(run, copy_n, false, &layer_frame);
    int slot = 0;
    if (mode == INPUT_OWN_STREAM)
        copy_batch(run, &input, slot);
    for (; harness_next_step(run); slot = 1 - slot) {
        if (mode == INPUT_OWN_STREAM) { /* the batch of the next step, while this one runs */
            copy_batch(run, &input, 1 - slot);
            (void)HARNESS_CUDA(run, cudaStreamWaitEvent(0, input.ready[slot], 0));
        } else {
            copy_batch(run, &input, slot);
        }
        for (uint32_t i = 0; i < copy_layers; i++)
            harness_layer_run(run, &layer);
        if (mode == INPUT_OWN_STREAM)
            (void)HARNESS_CUDA(run, cudaEventRecord(input.used[slot], 0));
    }
    harness_layer_give(run, &layer);
    input_give(run, &input);
}

void job_pageable_copies(struct harness_run *run)
{
    train_on_copies(run, run->planted ? INPUT_PAGEABLE : INPUT_OWN_STREAM);
}

void job_no_overlap(struct harness_run *run)
{
    train_on_copies(run, run->planted ? INPUT_SAME_STREAM : INPUT_OWN_STREAM);
}

/* -------------------------------------------------------------------------------------------------------------- slow
 * workers */

#define MOST_WORKERS 8

static const int64_t batch_work_us = 16000; /* that a worker needs for one batch */
static const uint64_t small_batch_bytes = UINT64_C(1) << 20;

/** Threads that make batches, and how many of these wait to be taken. */
struct loader {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t workers[MOST_WORKERS];
    uint32_t worker_count, batches, slots;
    bool ended;
};

static void *work(void *self)
{
    struct loader *loader = self;
    (void)pthread_mutex_lock(&loader->lock);
    while (!loader->ended) {
        if (loader->batches >= loader->slots) {
            (void)pthread_cond_wait(&loader->changed, &loader->lock);
            continue;
        }
        (void)pthread_mutex_unlock(&loader->lock);
        harness_host_work(batch_work_us);
        (void)pthread_mutex_lock(&loader->lock);
        loader->batches++;
        (void)pthread_cond_broadcast(&loader->changed);
    }
    (void)pthread_mutex_unlock(&loader->lock);
    return NULL;
}

static void loader_start(struct harness_run *run, struct loader *loader, uint32_t worker_count)
{
    *loader = (struct loader){ .slots = worker_count * 2 };
    if (pthread_mutex_init(&loader->lock, NULL) != 0 || pthread_cond_init(&loader->changed, NULL) != 0)
        run->status = ap_fail(&run->error, AP_ERROR_MEMORY, "no lock for a loader");
    while (run->status == AP_OK && loader->worker_count < worker_count) {
        if (pthread_create(&loader->workers[loader->worker_count], NULL, work, loader) != 0)
            run->status = ap_fail(&run->error, AP_ERROR_MEMORY, "no thread for a loader");
        else
            loader->worker_count++;
    }
}

static void loader_stop(struct loader *loader)
{
    (void)pthread_mutex_lock(&loader->lock);
    loader->ended = true;
    (void)pthread_cond_broadcast(&loader->changed);
    (void)pthread_mutex_unlock(&loader->lock);
    for (uint32_t i = 0; i < loader->worker_count; i++)
        (void)pthread_join(loader->workers[i], NULL);
    (void)pthread_cond_destroy(&loader->changed);
    (void)pthread_mutex_destroy(&loader->lock);
}

static void next_batch(struct harness_run *run, struct loader *loader)
{
    struct harness_span span =
        harness_begin(run, HARNESS_RANGE, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");
    (void)pthread_mutex_lock(&loader->lock);
    while (loader->batches == 0)
        (void)pthread_cond_wait(&loader->changed, &loader->lock);
    loader->batches--;
    (void)pthread_cond_broadcast(&loader->changed);
    (void)pthread_mutex_unlock(&loader->lock);
    harness_end(run, span);
}

void job_slow_input(struct harness_run *run)
{
    struct loader loader;
    void *host = NULL;
    cudaEvent_t done[2] = { NULL, NULL };
    struct harness_layer layer = harness_layer_take(run, copy_n, false, &layer_frame);
    struct harness_block *batch = harness_take(run, small_batch_bytes, &batch_frame);
    (void)HARNESS_CUDA(run, cudaMallocHost(&host, small_batch_bytes));
    for (int i = 0; i < 2; i++)
        (void)HARNESS_CUDA(run, cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming));
    loader_start(run, &loader, run->planted ? 1 : MOST_WORKERS);
    for (uint32_t step = 0; harness_next_step(run); step++) {
        next_batch(run, &loader);
        struct harness_span copy = harness_begin(run, HARNESS_OP, "aten::copy_");
        (void)HARNESS_CUDA(run, cudaMemcpyAsync(harness_memory(batch), host, small_batch_bytes, cudaMemcpyHostToDevice, 0));
        harness_end(run, copy);
        for (uint32_t i = 0; i < copy_layers; i++)
            harness_layer_run(run, &layer);
        (void)HARNESS_CUDA(run, cudaEventRecord(done[step % 2], 0));
        if (step) /* the host is one step ahead of the device at most */
            (void)HARNESS_CUDA(run, cudaEventSynchronize(done[(step - 1) % 2]));
    }
    loader_stop(&loader);
    (void)cudaFreeHost(host);
    harness_give(run, batch);
    harness_layer_give(run, &layer);
}

/* ----------------------------------------------------------------------------------------------------- copies in the device
 */

void job_device_copies(struct harness_run *run)
{
    static const struct harness_frame clone_frame = { "jobs_copy.c", __LINE__, "clone_input", &harness_main_frame };
    struct harness_layer layer = harness_layer_take(run, 2048, false, &layer_frame);
    struct harness_block *from = harness_take(run, batch_bytes, &batch_frame);
    while (harness_next_step(run)) {
        for (int i = 0; i < 8; i++) {
            struct harness_block *to = NULL;
            if (run->planted) {
                struct harness_span clone = harness_begin(run, HARNESS_OP, "aten::clone");
                to = harness_take(run, batch_bytes, &clone_frame);
                struct harness_span copy = harness_begin(run, HARNESS_OP, "aten::copy_");
                (void)HARNESS_CUDA(run, cudaMemcpyAsync(harness_memory(to), harness_memory(from), batch_bytes,
                                                        cudaMemcpyDeviceToDevice, 0));
                harness_end(run, copy);
                harness_end(run, clone);
            }
            harness_layer_run(run, &layer);
            harness_give(run, to);
        }
    }
    harness_give(run, from);
    harness_layer_give(run, &layer);
}
