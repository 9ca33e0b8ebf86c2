/* SPDX-License-Identifier: MIT
 * cuda_device.h - a CUDA device behind the allocator, and what a trace tells of it. */
#ifndef HARNESS_CUDA_DEVICE_H
#define HARNESS_CUDA_DEVICE_H

#include <cuda_runtime_api.h>

#include "allocator.h"
#include "recording.h"

/** @bytes bounds what the allocator may take, as torch.cuda.set_per_process_memory_fraction() does. */
struct harness_cuda_device {
    uint64_t bytes, used_bytes;
    struct {
        uint64_t address, bytes;
    } regions[4096];
    size_t region_count;
};

struct harness_device harness_cuda_device_table(struct harness_cuda_device *device);

/** Of the current device. */
cudaError_t harness_cuda_properties(struct harness_device_properties *ret_properties);

#endif
