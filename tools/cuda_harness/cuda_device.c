/* SPDX-License-Identifier: MIT
 * See cuda_device.h. */
#include "cuda_device.h"

#include <stdio.h>

#include "harness_clock.h"

static uint64_t allocate(void *self, uint64_t bytes)
{
    struct harness_cuda_device *device = self;
    void *memory = NULL;
    if (bytes > device->bytes - device->used_bytes || device->region_count == AP_COUNT_OF(device->regions))
        return 0;
    if (cudaMalloc(&memory, bytes) != cudaSuccess) {
        (void)cudaGetLastError(); /* the next launch is not to report it */
        return 0;
    }
    device->regions[device->region_count].address = (uint64_t)(uintptr_t)memory;
    device->regions[device->region_count++].bytes = bytes;
    device->used_bytes += bytes;
    return (uint64_t)(uintptr_t)memory;
}

static void release(void *self, uint64_t address)
{
    struct harness_cuda_device *device = self;
    for (size_t i = 0; i < device->region_count; i++) {
        if (device->regions[i].address != address)
            continue;
        (void)cudaFree((void *)(uintptr_t)address);
        device->used_bytes -= device->regions[i].bytes;
        device->regions[i] = device->regions[--device->region_count];
        return;
    }
}

static uint64_t free_bytes(void *self)
{
    const struct harness_cuda_device *device = self;
    size_t free_now = 0, total = 0;
    uint64_t left = device->bytes - device->used_bytes;
    if (cudaMemGetInfo(&free_now, &total) != cudaSuccess)
        return left;
    return left < free_now ? left : free_now;
}

static int64_t now_us(void *self)
{
    (void)self;
    return harness_clock_ns() / 1000;
}

struct harness_device harness_cuda_device_table(struct harness_cuda_device *device)
{
    return (struct harness_device){ device, allocate, release, free_bytes, now_us };
}

cudaError_t harness_cuda_properties(struct harness_device_properties *ret_properties)
{
    struct cudaDeviceProp facts;
    int device = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaGetDeviceProperties(&facts, device);
    if (error != cudaSuccess)
        return error;
    *ret_properties = (struct harness_device_properties){
        .total_bytes = facts.totalGlobalMem,
        .compute_major = (uint32_t)facts.major,
        .compute_minor = (uint32_t)facts.minor,
        .sm_count = (uint32_t)facts.multiProcessorCount,
        .warp_size = (uint32_t)facts.warpSize,
        .threads_per_block = (uint32_t)facts.maxThreadsPerBlock,
        .threads_per_sm = (uint32_t)facts.maxThreadsPerMultiProcessor,
        .blocks_per_sm = (uint32_t)facts.maxBlocksPerMultiProcessor,
        .registers_per_block = (uint32_t)facts.regsPerBlock,
        .registers_per_sm = (uint32_t)facts.regsPerMultiprocessor,
        .shared_per_block = facts.sharedMemPerBlock,
        .shared_per_block_optin = facts.sharedMemPerBlockOptin,
        .shared_per_sm = facts.sharedMemPerMultiprocessor,
        .shared_reserved_per_block = facts.reservedSharedMemPerBlock,
    };
    (void)snprintf(ret_properties->name, sizeof(ret_properties->name), "%s", facts.name);
    return cudaSuccess;
}
