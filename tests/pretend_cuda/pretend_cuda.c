/* SPDX-License-Identifier: MIT
 * pretend_cuda.c - a CUDA runtime, a CUPTI and the harness's kernels that only pretend. Time is a number that each call
 * moves on by what such a call takes; each stream knows until when it is busy. So a job takes no time, and the same one each
 * time. */
#define _GNU_SOURCE /* gettid */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cupti.h"
#include "harness_clock.h"
#include "kernels.h"
#include "pretend_cuda.h"

#define NO_ID UINT32_MAX
#define MOST_NODES 1024
#define MOST_REGIONS 4096

static const int64_t launch_ns = 3500, call_ns = 1200, to_device_ns = 1500, between_ns = 700, malloc_ns = 120000,
                     free_ns = 90000;
static const int64_t load_ns = 150000, wake_ns = 5000;
static const double memory_gb_s = 3000, pinned_gb_s = 50, pageable_gb_s = 7;
static const size_t device_bytes = (size_t)140 << 30;

enum call {
    LAUNCH,
    COPY,
    SET,
    MALLOC,
    FREE,
    MALLOC_HOST,
    STREAM_SYNC,
    DEVICE_SYNC,
    EVENT_SYNC,
    EVENT_RECORD,
    STREAM_WAIT,
    GRAPH_LAUNCH
};
static const char *const call_names[] = {
    "cudaLaunchKernel_v7000",
    "cudaMemcpyAsync_v3020",
    "cudaMemsetAsync_v3020",
    "cudaMalloc_v3020",
    "cudaFree_v3020",
    "cudaMallocHost_v3020",
    "cudaStreamSynchronize_v3020",
    "cudaDeviceSynchronize_v3020",
    "cudaEventSynchronize_v3020",
    "cudaEventRecord_v3020",
    "cudaStreamWaitEvent_v3020",
    "cudaGraphLaunch_v10000",
};

struct kernel {
    const char *name;
    int64_t dur_ns;
    uint32_t grid, block, registers, shared_bytes;
};

struct pretend_stream {
    uint32_t id;
    int64_t busy_until_ns;
    struct pretend_graph *capture;
};

struct pretend_event {
    uint32_t id, stream;
    int64_t at_ns;
};

struct pretend_graph {
    struct kernel nodes[MOST_NODES];
    size_t count;
};

struct region {
    const char *start;
    size_t bytes;
};

struct world {
    int64_t now_ns;
    struct pretend_stream streams[16];
    struct pretend_event events[256];
    uint32_t stream_count, event_count, correlation;
    struct region device[MOST_REGIONS], pinned[64];
    size_t device_count, pinned_count, used_bytes;
    uint64_t next_address;
    const char *loaded[256];
    size_t loaded_count;
    bool recording;
    CUpti_BuffersCallbackRequestFunc *request;
    CUpti_BuffersCallbackCompleteFunc *complete;
    uint8_t *buffer;
    size_t buffer_bytes, buffer_used_bytes;
};

static struct world world;

void pretend_cuda_reset(void)
{
    world = (struct world){ .now_ns = INT64_C(1753000000000000000),
                            .streams = { { .id = 7 } },
                            .stream_count = 1,
                            .next_address = UINT64_C(0x7f0000000000) };
}

int64_t harness_clock_ns(void)
{
    return world.now_ns;
}

int64_t harness_stopwatch_ns(void)
{
    return world.now_ns;
}

void harness_host_work(int64_t dur_us)
{
    world.now_ns += dur_us * 1000;
}

/* ------------------------------------------------------------------------------------------------------------------ records
 */

/** All records stand in units of the largest one. */
union record {
    CUpti_Activity any;
    CUpti_ActivityKernel9 kernel;
    CUpti_ActivityMemcpy5 copy;
    CUpti_ActivityMemset4 set;
    CUpti_ActivityAPI call;
    CUpti_ActivitySynchronization sync;
    CUpti_ActivityCudaEvent event;
    CUpti_ActivityOverhead3 overhead;
};

static void hand_over(void)
{
    uint8_t *buffer = world.buffer;
    world.buffer = NULL;
    if (buffer)
        world.complete(NULL, 0, buffer, world.buffer_bytes, world.buffer_used_bytes);
}

static void put(const union record *record)
{
    size_t most_records = 0;
    if (!world.recording)
        return;
    if (world.buffer && world.buffer_used_bytes + sizeof(*record) > world.buffer_bytes)
        hand_over();
    if (!world.buffer) {
        world.request(&world.buffer, &world.buffer_bytes, &most_records);
        world.buffer_used_bytes = 0;
    }
    if (!world.buffer)
        return;
    memcpy(world.buffer + world.buffer_used_bytes, record, sizeof(*record));
    world.buffer_used_bytes += sizeof(*record);
}

static void put_call(enum call call, int64_t start_ns, uint32_t correlation)
{
    union record record = { .call = { .kind = CUPTI_ACTIVITY_KIND_RUNTIME,
                                      .cbid = call,
                                      .start = (uint64_t)start_ns,
                                      .end = (uint64_t)world.now_ns,
                                      .threadId = (uint32_t)gettid(),
                                      .correlationId = correlation } };
    put(&record);
    if (call == LAUNCH) { /* the driver's call within it */
        record.call.kind = CUPTI_ACTIVITY_KIND_DRIVER;
        record.call.start += 300;
        record.call.end -= 300;
        put(&record);
    }
}

static void put_kernel(const struct kernel *kernel, int64_t end_ns, uint32_t stream, uint32_t correlation, uint32_t graph)
{
    put(&(const union record){ .kernel = { .kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                           .registersPerThread = (uint16_t)kernel->registers,
                                           .start = (uint64_t)(end_ns - kernel->dur_ns),
                                           .end = (uint64_t)end_ns,
                                           .contextId = 1,
                                           .streamId = stream,
                                           .gridX = (int32_t)kernel->grid,
                                           .gridY = 1,
                                           .gridZ = 1,
                                           .blockX = (int32_t)kernel->block,
                                           .blockY = 1,
                                           .blockZ = 1,
                                           .staticSharedMemory = (int32_t)kernel->shared_bytes,
                                           .correlationId = correlation,
                                           .graphId = graph,
                                           .name = kernel->name } });
}

static void put_sync(CUpti_ActivitySynchronizationType type, int64_t start_ns, uint32_t stream, uint32_t event,
                     uint32_t correlation)
{
    put(&(const union record){ .sync = { .kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                         .type = type,
                                         .start = (uint64_t)start_ns,
                                         .end = (uint64_t)world.now_ns,
                                         .correlationId = correlation,
                                         .contextId = 1,
                                         .streamId = stream,
                                         .cudaEventId = event } });
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
    *version = 1;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
    *text = result == CUPTI_SUCCESS ? "success" : "no more records";
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
    (void)type;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc *request,
                                           CUpti_BuffersCallbackCompleteFunc *complete)
{
    world.request = request;
    world.complete = complete;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    (void)kind;
    world.recording = true;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    (void)kind;
    world.recording = false;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flags)
{
    (void)flags;
    hand_over();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes, CUpti_Activity **record)
{
    uint8_t *next = *record ? (uint8_t *)*record + sizeof(union record) : buffer;
    if (next >= buffer + valid_bytes)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)(void *)next;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped)
{
    (void)context;
    (void)stream;
    *dropped = 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
    *name = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? call_names[id] : "cuLaunchKernel";
    return CUPTI_SUCCESS;
}

/* -------------------------------------------------------------------------------------------------------------------
 * streams */

static struct pretend_stream *stream_of(cudaStream_t stream)
{
    return stream ? stream : &world.streams[0];
}

static void wait_until(int64_t time_ns)
{
    if (world.now_ns < time_ns)
        world.now_ns = time_ns;
}

static int64_t all_done_ns(void)
{
    int64_t latest_ns = 0;
    for (uint32_t i = 0; i < world.stream_count; i++)
        if (world.streams[i].busy_until_ns > latest_ns)
            latest_ns = world.streams[i].busy_until_ns;
    return latest_ns;
}

/** Work that is handed over now: the time of its end. */
static int64_t enqueue(struct pretend_stream *stream, int64_t dur_ns)
{
    int64_t arrival_ns = world.now_ns + to_device_ns, free_from_ns = stream->busy_until_ns + between_ns;
    stream->busy_until_ns = (arrival_ns > free_from_ns ? arrival_ns : free_from_ns) + dur_ns;
    return stream->busy_until_ns;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    (void)flags;
    if (world.stream_count == 16)
        return cudaErrorMemoryAllocation;
    *stream = &world.streams[world.stream_count];
    **stream = (struct pretend_stream){ .id = 13 + 4 * world.stream_count++ };
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    (void)stream;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    int64_t start_ns = world.now_ns;
    uint32_t correlation = ++world.correlation;
    wait_until(all_done_ns() + wake_ns);
    put_sync(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, start_ns, NO_ID, NO_ID, correlation);
    put_call(DEVICE_SYNC, start_ns, correlation);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    int64_t start_ns = world.now_ns;
    uint32_t correlation = ++world.correlation;
    wait_until(stream_of(stream)->busy_until_ns + wake_ns);
    put_sync(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, start_ns, stream_of(stream)->id, NO_ID, correlation);
    put_call(STREAM_SYNC, start_ns, correlation);
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    (void)flags;
    if (world.event_count == 256)
        return cudaErrorMemoryAllocation;
    *event = &world.events[world.event_count++];
    (*event)->id = world.event_count;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    int64_t start_ns = world.now_ns;
    uint32_t correlation = ++world.correlation;
    event->at_ns = stream_of(stream)->busy_until_ns;
    event->stream = stream_of(stream)->id;
    world.now_ns += call_ns;
    put(&(const union record){ .event = { .kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT,
                                          .correlationId = correlation,
                                          .contextId = 1,
                                          .streamId = event->stream,
                                          .eventId = event->id } });
    put_call(EVENT_RECORD, start_ns, correlation);
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    int64_t start_ns = world.now_ns;
    uint32_t correlation = ++world.correlation;
    (void)flags;
    world.now_ns += call_ns;
    if (stream_of(stream)->busy_until_ns < event->at_ns)
        stream_of(stream)->busy_until_ns = event->at_ns;
    put_sync(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, start_ns, stream_of(stream)->id, event->id, correlation);
    put_call(STREAM_WAIT, start_ns, correlation);
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    int64_t start_ns = world.now_ns;
    uint32_t correlation = ++world.correlation;
    wait_until(event->at_ns + wake_ns);
    put_sync(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, start_ns, event->stream, event->id, correlation);
    put_call(EVENT_SYNC, start_ns, correlation);
    return cudaSuccess;
}

/* --------------------------------------------------------------------------------------------------------------------
 * memory */

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    int64_t start_ns = world.now_ns;
    if (bytes > device_bytes - world.used_bytes || world.device_count == MOST_REGIONS)
        return cudaErrorMemoryAllocation;
    world.now_ns += malloc_ns;
    *memory = (void *)(uintptr_t)world.next_address;
    world.next_address += (bytes + (2u << 20)) >> 21 << 21;
    world.used_bytes += bytes;
    world.device[world.device_count].start = *memory;
    world.device[world.device_count++].bytes = bytes;
    put_call(MALLOC, start_ns, ++world.correlation);
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory)
{
    int64_t start_ns = world.now_ns;
    if (!memory)
        return cudaSuccess;
    wait_until(all_done_ns());
    world.now_ns += free_ns;
    for (size_t i = 0; i < world.device_count; i++) {
        if (world.device[i].start != memory)
            continue;
        world.used_bytes -= world.device[i].bytes;
        world.device[i] = world.device[--world.device_count];
        break;
    }
    put_call(FREE, start_ns, ++world.correlation);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    int64_t start_ns = world.now_ns;
    void *room = world.pinned_count < 64 ? malloc(bytes) : NULL;
    if (!room)
        return cudaErrorMemoryAllocation;
    *memory = room;
    world.now_ns += malloc_ns;
    world.pinned[world.pinned_count].start = room;
    world.pinned[world.pinned_count++].bytes = bytes;
    put_call(MALLOC_HOST, start_ns, ++world.correlation);
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *memory)
{
    for (size_t i = 0; i < world.pinned_count; i++)
        if (world.pinned[i].start == memory)
            world.pinned[i] = world.pinned[--world.pinned_count];
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned flags)
{
    (void)memory;
    (void)bytes;
    (void)flags;
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *memory)
{
    (void)memory;
    return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    (void)flags;
    *device = host;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    *total_bytes = device_bytes;
    *free_bytes = device_bytes - world.used_bytes;
    return cudaSuccess;
}

static bool is_pinned(const char *host)
{
    for (size_t i = 0; i < world.pinned_count; i++)
        if (host >= world.pinned[i].start && host < world.pinned[i].start + world.pinned[i].bytes)
            return true;
    return false;
}

/** Copies nothing. From pageable memory the host is held until the copy is done. */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    bool in_device = kind == cudaMemcpyDeviceToDevice, to_device = kind == cudaMemcpyHostToDevice;
    bool pinned = in_device || is_pinned(to_device ? from : to);
    const uint8_t host_kind = pinned ? CUPTI_ACTIVITY_MEMORY_KIND_PINNED : CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
    int64_t start_ns = world.now_ns;
    uint32_t correlation = ++world.correlation;
    double gb_s = in_device ? memory_gb_s / 2 : pinned ? pinned_gb_s : pageable_gb_s;
    int64_t dur_ns = 1000 + (int64_t)((double)bytes / gb_s);
    world.now_ns += launch_ns;
    int64_t end_ns = enqueue(stream_of(stream), dur_ns);
    if (!pinned)
        wait_until(end_ns);
    put_call(COPY, start_ns, correlation);
    put(&(const union record){ .copy = { .kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                                         .copyKind = in_device   ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD
                                                     : to_device ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD
                                                                 : CUPTI_ACTIVITY_MEMCPY_KIND_DTOH,
                                         .srcKind = to_device ? host_kind : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                         .dstKind = in_device || to_device ? CUPTI_ACTIVITY_MEMORY_KIND_DEVICE : host_kind,
                                         .bytes = bytes,
                                         .start = (uint64_t)(end_ns - dur_ns),
                                         .end = (uint64_t)end_ns,
                                         .contextId = 1,
                                         .streamId = stream_of(stream)->id,
                                         .correlationId = correlation } });
    return cudaSuccess;
}

/** At least what the shortest kernel takes. */
static int64_t pass_ns(double bytes)
{
    double ns = bytes / memory_gb_s;
    return ns < 1800 ? 1800 : (int64_t)ns;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    int64_t start_ns = world.now_ns, dur_ns = pass_ns((double)bytes);
    uint32_t correlation = ++world.correlation;
    (void)to;
    (void)value;
    world.now_ns += launch_ns;
    int64_t end_ns = enqueue(stream_of(stream), dur_ns);
    put_call(SET, start_ns, correlation);
    put(&(const union record){ .set = { .kind = CUPTI_ACTIVITY_KIND_MEMSET,
                                        .bytes = bytes,
                                        .start = (uint64_t)(end_ns - dur_ns),
                                        .end = (uint64_t)end_ns,
                                        .contextId = 1,
                                        .streamId = stream_of(stream)->id,
                                        .correlationId = correlation,
                                        .memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE } });
    return cudaSuccess;
}

/* -------------------------------------------------------------------------------------------------------------------
 * kernels */

static void load_once(const char *name)
{
    for (size_t i = 0; i < world.loaded_count; i++)
        if (strcmp(world.loaded[i], name) == 0)
            return;
    if (world.loaded_count < 256)
        world.loaded[world.loaded_count++] = name;
    int64_t start_ns = world.now_ns;
    world.now_ns += load_ns;
    put(&(const union record){ .overhead = { .kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
                                             .overheadKind = CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING,
                                             .start = (uint64_t)start_ns,
                                             .end = (uint64_t)world.now_ns } });
}

static cudaError_t launch(struct kernel kernel, cudaStream_t at)
{
    struct pretend_stream *stream = stream_of(at);
    if (stream->capture) {
        if (stream->capture->count == MOST_NODES)
            return cudaErrorMemoryAllocation;
        stream->capture->nodes[stream->capture->count++] = kernel;
        return cudaSuccess;
    }
    int64_t start_ns = world.now_ns;
    uint32_t correlation = ++world.correlation;
    load_once(kernel.name);
    world.now_ns += launch_ns;
    put_kernel(&kernel, enqueue(stream, kernel.dur_ns), stream->id, correlation, 0);
    put_call(LAUNCH, start_ns, correlation);
    return cudaSuccess;
}

/** A kernel that is bound by the bytes it moves. */
static struct kernel pass(const char *name, size_t count, double bytes_each)
{
    size_t blocks = (count + 255) / 256;
    return (struct kernel){ .name = name,
                            .dur_ns = pass_ns((double)count * bytes_each),
                            .block = 256,
                            .registers = 16,
                            .grid = blocks < 2048 ? (uint32_t)blocks : 2048 };
}

cudaError_t harness_launch_gemm_f16(const void *a, const void *b, float *c, uint32_t n, cudaStream_t stream)
{
    (void)a;
    (void)b;
    (void)c;
    return launch((struct kernel){ "gemm_f16_wmma_tensorop_kernel", (int64_t)(2.0 * n * n * n / 120e3), n / 128 * (n / 128),
                                   256, 123, 18944 },
                  stream);
}

cudaError_t harness_launch_gemm_f32(const float *a, const float *b, float *c, uint32_t n, cudaStream_t stream)
{
    (void)a;
    (void)b;
    (void)c;
    return launch(
        (struct kernel){ "gemm_f32_simt_kernel", (int64_t)(2.0 * n * n * n / 15e3), n / 64 * (n / 64), 256, 32, 8256 },
        stream);
}

cudaError_t harness_launch_add(float *to, const float *from, size_t count, cudaStream_t stream)
{
    (void)to;
    (void)from;
    return launch(pass("elementwise_add_kernel", count, 12), stream);
}

cudaError_t harness_launch_add_all(float *to, const float *from, size_t count, cudaStream_t stream)
{
    (void)to;
    (void)from;
    return launch(pass("multi_tensor_apply_add_kernel", count, 12), stream);
}

cudaError_t harness_launch_stage(float *data, size_t count, uint32_t stage, cudaStream_t stream)
{
    (void)data;
    (void)stage;
    return launch(pass("elementwise_stage_kernel", count, 8), stream);
}

cudaError_t harness_launch_all_stages(float *data, size_t count, uint32_t stages, cudaStream_t stream)
{
    (void)data;
    (void)stages;
    return launch(pass("elementwise_all_stages_kernel", count, 9), stream);
}

cudaError_t harness_launch_sum(const float *data, float *to, size_t count, cudaStream_t stream)
{
    (void)data;
    (void)to;
    return launch(pass("reduce_sum_kernel", count, 4), stream);
}

/** Four cycles of 1.7 GHz for each round; a multiprocessor of 132 does 128 at a time. */
cudaError_t harness_launch_iterate(float *data, size_t count, uint32_t rounds, uint32_t blocks, cudaStream_t stream)
{
    double each = (double)count / ((double)blocks * 256), multiprocessors = blocks < 132 ? blocks : 132;
    double latency_ns = (each < 1 ? 1 : each) * rounds * 4 / 1.7;
    double work_ns = (double)count * rounds / (multiprocessors * 128 * 1.7);
    (void)data;
    return launch(
        (struct kernel){ "iterate_map_kernel", (int64_t)(latency_ns > work_ns ? latency_ns : work_ns), blocks, 256, 16, 0 },
        stream);
}

cudaError_t harness_launch_cold(uint32_t index, float *data, size_t count, cudaStream_t stream)
{
    static char names[HARNESS_COLD_KERNELS][40];
    (void)data;
    (void)snprintf(names[index], sizeof(names[index]), "elementwise_cold_%02u_kernel", (unsigned)index);
    return launch(pass(names[index], count, 8), stream);
}

/** Of one rank. */
cudaError_t harness_launch_all_reduce(float *data, size_t count, const struct harness_reduce_area *area, uint32_t rank,
                                      uint32_t rank_count, uint32_t round, cudaStream_t stream)
{
    (void)data;
    (void)area;
    (void)rank;
    (void)rank_count;
    (void)round;
    return launch((struct kernel){ "allreduce_host_memory_kernel", (int64_t)((double)count * 8 / pinned_gb_s),
                                   HARNESS_REDUCE_BLOCKS, 512, 32, 0 },
                  stream);
}

/* --------------------------------------------------------------------------------------------------------------------
 * graphs */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    (void)mode;
    stream_of(stream)->capture = calloc(1, sizeof(*stream->capture));
    return stream_of(stream)->capture ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    *graph = stream_of(stream)->capture;
    stream_of(stream)->capture = NULL;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    (void)flags;
    *exec = malloc(sizeof(**exec));
    if (!*exec)
        return cudaErrorMemoryAllocation;
    **exec = *graph;
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    free(graph);
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    free(exec);
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    int64_t start_ns = world.now_ns;
    uint32_t correlation = ++world.correlation;
    world.now_ns += 10 * launch_ns;
    for (size_t i = 0; i < exec->count; i++)
        put_kernel(&exec->nodes[i], enqueue(stream_of(stream), exec->nodes[i].dur_ns), stream_of(stream)->id, correlation,
                   1);
    put_call(GRAPH_LAUNCH, start_ns, correlation);
    return cudaSuccess;
}

/* --------------------------------------------------------------------------------------------------------------------
 * device */

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess ? "no error" : "out of memory";
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    (void)device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    (void)device;
    *properties = (struct cudaDeviceProp){
        .name = "Pretended device",
        .totalGlobalMem = device_bytes,
        .sharedMemPerBlock = 49152,
        .sharedMemPerBlockOptin = 232448,
        .sharedMemPerMultiprocessor = 233472,
        .reservedSharedMemPerBlock = 1024,
        .major = 9,
        .multiProcessorCount = 132,
        .warpSize = 32,
        .maxThreadsPerBlock = 1024,
        .maxThreadsPerMultiProcessor = 2048,
        .maxBlocksPerMultiProcessor = 32,
        .regsPerBlock = 65536,
        .regsPerMultiprocessor = 65536,
    };
    return cudaSuccess;
}
