/* SPDX-License-Identifier: MIT
 * See cupti_records.h. Later versions of CUPTI append members to its records, so those of CUDA 12.4 are read everywhere. */
#include "cupti_records.h"

#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES ((size_t)1 << 22)
#define MOST_EVENTS 4096

static const CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,     CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_RUNTIME,           CUPTI_ACTIVITY_KIND_DRIVER,     CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
    CUPTI_ACTIVITY_KIND_OVERHEAD,          CUPTI_ACTIVITY_KIND_CUDA_EVENT,
};

static const unsigned buffer_request_kind = 7u << 16; /* CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST, since CUDA 12.5 */

/** Where an event was recorded last, as far as CUPTI has told. */
struct recorded_event {
    uint32_t id, context, stream, correlation;
};

/** CUPTI's callbacks take no argument of ours. */
static struct {
    struct harness_recording *recording;
    struct recorded_event events[MOST_EVENTS];
    size_t event_count;
    size_t lost_records;
} taking;

static enum ap_status check(CUptiResult result, const char *call, struct ap_error *reterr)
{
    const char *text = NULL;
    if (result == CUPTI_SUCCESS)
        return AP_OK;
    (void)cuptiGetResultString(result, &text);
    return ap_fail(reterr, AP_ERROR_USAGE, "%s: %s", call, text ? text : "unknown error");
}

#define CUPTI_TRY(call) AP_TRY(check((call), #call, reterr))

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *bytes, size_t *most_records)
{
    *buffer = aligned_alloc(8, BUFFER_BYTES); /* NULL: CUPTI drops records, and says how many */
    *bytes = *buffer ? BUFFER_BYTES : 0;
    *most_records = 0;
}

static struct harness_row gpu_row(enum harness_row_kind kind, uint64_t start_ns, uint64_t end_ns, uint32_t device,
                                  uint32_t context, uint32_t stream, uint32_t correlation)
{
    return (struct harness_row){ .kind = kind,
                                 .start_ns = (int64_t)start_ns,
                                 .dur_ns = (int64_t)(end_ns - start_ns),
                                 .device = device,
                                 .context = context,
                                 .stream = stream == UINT32_MAX ? -1 : (int64_t)stream,
                                 .correlation = correlation };
}

static void take_kernel(const CUpti_ActivityKernel9 *record)
{
    struct harness_row row = gpu_row(HARNESS_KERNEL, record->start, record->end, record->deviceId, record->contextId,
                                     record->streamId, record->correlationId);
    row.name = harness_recording_text(taking.recording, record->name);
    row.as.kernel = (struct harness_kernel_facts){
        .grid = { (uint32_t)record->gridX, (uint32_t)record->gridY, (uint32_t)record->gridZ },
        .block = { (uint32_t)record->blockX, (uint32_t)record->blockY, (uint32_t)record->blockZ },
        .registers_per_thread = record->registersPerThread,
        .shared_bytes = (uint64_t)record->staticSharedMemory + (uint64_t)record->dynamicSharedMemory,
        .graph_id = record->graphId,
        .graph_node_id = record->graphNodeId,
    };
    harness_recording_add(taking.recording, &row);
}

/** As Kineto names them. */
static const char *direction_name(uint8_t kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD: return "HtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH: return "DtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA: return "HtoA";
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH: return "AtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD: return "DtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH: return "HtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP: return "PtoP";
    default: return "<unknown>";
    }
}

static const char *memory_name(uint8_t kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE: return "Pageable";
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED: return "Pinned";
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE: return "Device";
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY: return "Array";
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED: return "Managed";
    default: return "Unknown";
    }
}

static void take_copy(const CUpti_ActivityMemcpy5 *record)
{
    struct harness_row row = gpu_row(HARNESS_COPY, record->start, record->end, record->deviceId, record->contextId,
                                     record->streamId, record->correlationId);
    char name[100];
    (void)snprintf(name, sizeof(name), "Memcpy %s (%s -> %s)", direction_name(record->copyKind),
                   memory_name(record->srcKind), memory_name(record->dstKind));
    row.name = harness_recording_text(taking.recording, name);
    row.as.bytes = record->bytes;
    harness_recording_add(taking.recording, &row);
}

static void take_set(const CUpti_ActivityMemset4 *record)
{
    struct harness_row row = gpu_row(HARNESS_SET, record->start, record->end, record->deviceId, record->contextId,
                                     record->streamId, record->correlationId);
    char name[100];
    (void)snprintf(name, sizeof(name), "Memset (%s)", memory_name((uint8_t)record->memoryKind));
    row.name = harness_recording_text(taking.recording, name);
    row.as.bytes = record->bytes;
    harness_recording_add(taking.recording, &row);
}

/** Calls that tell nothing and that PyTorch's profiler leaves out too. */
static bool is_noise(const char *name)
{
    static const char *const noise[] = { "cudaGetDevice",       "cudaSetDevice",   "cudaGetLastError",
                                         "cudaPeekAtLastError", "cudaEventCreate", "cudaEventCreateWithFlags",
                                         "cudaEventDestroy" };
    for (size_t i = 0; i < AP_COUNT_OF(noise); i++)
        if (strcmp(name, noise[i]) == 0)
            return true;
    return false;
}

static void take_call(const CUpti_ActivityAPI *record)
{
    bool runtime = record->kind == CUPTI_ACTIVITY_KIND_RUNTIME;
    const char *known = NULL;
    char name[128];
    if (cuptiGetCallbackName(runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API, record->cbid, &known) !=
            CUPTI_SUCCESS ||
        !known)
        return; /* what CUPTI does for itself has no name */
    (void)snprintf(name, sizeof(name), "%s", known);
    if (runtime)
        harness_call_name(name);
    if (is_noise(name))
        return;
    struct harness_row row = { .kind = runtime ? HARNESS_RUNTIME : HARNESS_DRIVER,
                               .name = harness_recording_text(taking.recording, name),
                               .start_ns = (int64_t)record->start,
                               .dur_ns = (int64_t)(record->end - record->start),
                               .thread = record->threadId,
                               .stream = -1,
                               .correlation = record->correlationId };
    row.as.call_id = record->cbid;
    harness_recording_add(taking.recording, &row);
}

static struct recorded_event *find_event(uint32_t id, uint32_t context)
{
    for (size_t i = 0; i < taking.event_count; i++)
        if (taking.events[i].id == id && taking.events[i].context == context)
            return &taking.events[i];
    return NULL;
}

static void take_event(const CUpti_ActivityCudaEvent *record)
{
    struct recorded_event *event = find_event(record->eventId, record->contextId);
    if (!event && taking.event_count < MOST_EVENTS)
        event = &taking.events[taking.event_count++];
    if (event)
        *event = (struct recorded_event){ record->eventId, record->contextId, record->streamId, record->correlationId };
}

static const char *sync_name(CUpti_ActivitySynchronizationType type)
{
    switch (type) {
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE: return "Event Sync";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT: return "Stream Wait Event";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE: return "Stream Sync";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE: return "Context Sync";
    default: return "Unknown Sync";
    }
}

static void take_sync(const CUpti_ActivitySynchronization *record)
{
    struct harness_row row =
        gpu_row(HARNESS_SYNC, record->start, record->end, 0, record->contextId, record->streamId, record->correlationId);
    const struct recorded_event *event = find_event(record->cudaEventId, record->contextId);
    row.name = sync_name(record->type);
    row.as.sync.wait_stream = row.as.sync.record_correlation = -1;
    row.as.sync.event_id = record->cudaEventId;
    if (event && (record->type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT ||
                  record->type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE)) {
        row.as.sync.wait_stream = event->stream;
        row.as.sync.record_correlation = event->correlation;
    }
    harness_recording_add(taking.recording, &row);
}

static void take_overhead(const CUpti_ActivityOverhead3 *record)
{
    const char *name = "Unknown overhead";
    switch (record->overheadKind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER: name = "Driver Compiler"; break;
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH: name = "Buffer Flush"; break;
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION: name = "Instrumentation"; break;
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE: name = "Resource"; break;
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING: name = "Runtime Triggered Module Loading"; break;
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING: name = "Lazy Function Loading"; break;
    case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL: name = "Command Buffer Full"; break;
    default: name = (unsigned)record->overheadKind == buffer_request_kind ? "Activity Buffer Request" : name;
    }
    const struct harness_row row = { .kind = HARNESS_OVERHEAD,
                                     .name = name,
                                     .start_ns = (int64_t)record->start,
                                     .dur_ns = (int64_t)(record->end - record->start),
                                     .stream = -1 };
    harness_recording_add(taking.recording, &row);
}

static void take_record(const CUpti_Activity *record)
{
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: take_kernel((const void *)record); break;
    case CUPTI_ACTIVITY_KIND_MEMCPY: take_copy((const void *)record); break;
    case CUPTI_ACTIVITY_KIND_MEMSET: take_set((const void *)record); break;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: take_call((const void *)record); break;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: take_sync((const void *)record); break;
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT: take_event((const void *)record); break;
    case CUPTI_ACTIVITY_KIND_OVERHEAD: take_overhead((const void *)record); break;
    default: break;
    }
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes)
{
    CUpti_Activity *record = NULL;
    size_t dropped = 0;
    (void)bytes;
    while (valid_bytes && cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS)
        take_record(record);
    if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS)
        taking.lost_records += dropped;
    free(buffer);
}

enum ap_status harness_cupti_start(struct harness_recording *recording, struct ap_error *reterr)
{
    taking.recording = recording;
    taking.event_count = taking.lost_records = 0;
    CUPTI_TRY(cuptiGetVersion(&recording->run.cupti_version));
    CUPTI_TRY(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM));
    CUPTI_TRY(cuptiActivityRegisterCallbacks(give_buffer, take_buffer));
    for (size_t i = 0; i < AP_COUNT_OF(kinds); i++)
        AP_TRY(check(cuptiActivityEnable(kinds[i]), "cuptiActivityEnable", reterr));
    return AP_OK;
}

enum ap_status harness_cupti_stop(struct harness_recording *recording, struct ap_error *reterr)
{
    (void)recording;
    CUPTI_TRY(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
    for (size_t i = 0; i < AP_COUNT_OF(kinds); i++)
        AP_TRY(check(cuptiActivityDisable(kinds[i]), "cuptiActivityDisable", reterr));
    if (taking.lost_records)
        return ap_fail(reterr, AP_ERROR_LIMIT, "CUPTI dropped %zu records", taking.lost_records);
    return AP_OK;
}
