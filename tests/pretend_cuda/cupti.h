/* SPDX-License-Identifier: MIT
 * cupti.h - as much of CUPTI's activity interface as the CUDA harness reads, for a CUPTI that only pretends. See
 * cuda_runtime_api.h beside it. */
#ifndef PRETEND_CUPTI_H
#define PRETEND_CUPTI_H

#include <stddef.h>
#include <stdint.h>

#define CUPTIAPI
#define CUPTI_ACTIVITY_FLAG_FLUSH_FORCED 1u

typedef enum { CUPTI_SUCCESS, CUPTI_ERROR_MAX_LIMIT_REACHED } CUptiResult;
typedef void *CUcontext;

typedef enum {
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_KERNEL,
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_DRIVER,
    CUPTI_ACTIVITY_KIND_RUNTIME,
    CUPTI_ACTIVITY_KIND_OVERHEAD,
    CUPTI_ACTIVITY_KIND_CUDA_EVENT,
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION
} CUpti_ActivityKind;

typedef enum {
    CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN,
    CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE,
    CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT,
    CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE,
    CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE
} CUpti_ActivitySynchronizationType;

typedef enum {
    CUPTI_ACTIVITY_OVERHEAD_UNKNOWN,
    CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER,
    CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH,
    CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION,
    CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE,
    CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING,
    CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING,
    CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL
} CUpti_ActivityOverheadKind;

enum {
    CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
    CUPTI_ACTIVITY_MEMCPY_KIND_DTOH,
    CUPTI_ACTIVITY_MEMCPY_KIND_HTOA,
    CUPTI_ACTIVITY_MEMCPY_KIND_ATOH,
    CUPTI_ACTIVITY_MEMCPY_KIND_DTOD,
    CUPTI_ACTIVITY_MEMCPY_KIND_HTOH,
    CUPTI_ACTIVITY_MEMCPY_KIND_PTOP
};

enum {
    CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE,
    CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
    CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
    CUPTI_ACTIVITY_MEMORY_KIND_ARRAY,
    CUPTI_ACTIVITY_MEMORY_KIND_MANAGED
};

typedef enum { CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API } CUpti_CallbackDomain;
typedef enum { CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM } CUpti_ActivityThreadIdType;

typedef struct {
    CUpti_ActivityKind kind;
} CUpti_Activity;

typedef struct {
    CUpti_ActivityKind kind;
    uint16_t registersPerThread;
    uint64_t start, end;
    uint32_t deviceId, contextId, streamId;
    int32_t gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory;
    uint32_t correlationId, graphId;
    uint64_t graphNodeId;
    const char *name;
} CUpti_ActivityKernel9;

typedef struct {
    CUpti_ActivityKind kind;
    uint8_t copyKind, srcKind, dstKind;
    uint64_t bytes, start, end;
    uint32_t deviceId, contextId, streamId, correlationId;
} CUpti_ActivityMemcpy5;

typedef struct {
    CUpti_ActivityKind kind;
    uint64_t bytes, start, end;
    uint32_t deviceId, contextId, streamId, correlationId;
    uint16_t memoryKind;
} CUpti_ActivityMemset4;

typedef struct {
    CUpti_ActivityKind kind;
    uint32_t cbid;
    uint64_t start, end;
    uint32_t threadId, correlationId;
} CUpti_ActivityAPI;

typedef struct {
    CUpti_ActivityKind kind;
    CUpti_ActivitySynchronizationType type;
    uint64_t start, end;
    uint32_t correlationId, contextId, streamId, cudaEventId;
} CUpti_ActivitySynchronization;

typedef struct {
    CUpti_ActivityKind kind;
    uint32_t correlationId, contextId, streamId, eventId;
} CUpti_ActivityCudaEvent;

typedef struct {
    CUpti_ActivityKind kind;
    CUpti_ActivityOverheadKind overheadKind;
    uint64_t start, end;
} CUpti_ActivityOverhead3;

typedef void CUpti_BuffersCallbackRequestFunc(uint8_t **buffer, size_t *bytes, size_t *most_records);
typedef void CUpti_BuffersCallbackCompleteFunc(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
                                               size_t valid_bytes);

CUptiResult cuptiGetVersion(uint32_t *version);
CUptiResult cuptiGetResultString(CUptiResult result, const char **text);
CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type);
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc *request,
                                           CUpti_BuffersCallbackCompleteFunc *complete);
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind);
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind);
CUptiResult cuptiActivityFlushAll(uint32_t flags);
CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes, CUpti_Activity **record);
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped);
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **name);

#endif
