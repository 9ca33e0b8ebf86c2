/* SPDX-License-Identifier: MIT
 * kernels.h - the kernels of the jobs, launched from C. The names of the kernels say what they do, as a library's would: a
 * trace is read by them. Each call launches one kernel on @stream and returns what the launch says. */
#ifndef HARNESS_KERNELS_H
#define HARNESS_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HARNESS_COLD_KERNELS 48 /* that differ in their code alone */
#define HARNESS_REDUCE_BLOCKS 16
#define HARNESS_REDUCE_RANKS 8 /* at most */

/** c = a b, square of @n, a multiple of 128: fp16 on tensor cores, summed in fp32. */
cudaError_t harness_launch_gemm_f16(const void *a, const void *b, float *c, uint32_t n, cudaStream_t stream);
/** The same in fp32 without tensor cores. */
cudaError_t harness_launch_gemm_f32(const float *a, const float *b, float *c, uint32_t n, cudaStream_t stream);
/** to[i] += from[i] */
cudaError_t harness_launch_add(float *to, const float *from, size_t count, cudaStream_t stream);
/** The same for many tensors that stand one behind the other. */
cudaError_t harness_launch_add_all(float *to, const float *from, size_t count, cudaStream_t stream);
/** One stage of a chain of cheap functions, in place. */
cudaError_t harness_launch_stage(float *data, size_t count, uint32_t stage, cudaStream_t stream);
/** The stages 0 .. @stages - 1 at once. */
cudaError_t harness_launch_all_stages(float *data, size_t count, uint32_t stages, cudaStream_t stream);
/** *to = sum of data; *to is 0 before. */
cudaError_t harness_launch_sum(const float *data, float *to, size_t count, cudaStream_t stream);
/** Much arithmetic for each element, by @blocks blocks of 256 threads. */
cudaError_t harness_launch_iterate(float *data, size_t count, uint32_t rounds, uint32_t blocks, cudaStream_t stream);
/** Kernel @index of HARNESS_COLD_KERNELS. */
cudaError_t harness_launch_cold(uint32_t index, float *data, size_t count, cudaStream_t stream);

/** Host memory that the ranks share, as a device sees it. */
struct harness_reduce_area {
    volatile uint32_t *arrived; /* HARNESS_REDUCE_RANKS * HARNESS_REDUCE_BLOCKS: the round that a block of a rank is in */
    volatile float *slots;      /* for each rank and parity of the round: count numbers */
    uint32_t *gave_up;          /* set where another rank did not come */
};
/** data = sum of all ranks' data, through memory of the host. @round counts from 1. */
cudaError_t harness_launch_all_reduce(float *data, size_t count, const struct harness_reduce_area *area, uint32_t rank,
                                      uint32_t rank_count, uint32_t round, cudaStream_t stream);

/** What a kernel takes of a multiprocessor, and how many blocks of it the runtime says fit there. */
struct harness_kernel_limits {
    const char *name;
    uint32_t threads, registers, blocks_per_sm;
    uint64_t shared_bytes;
};
#define HARNESS_KERNELS 9
/** Of kernel @index of HARNESS_KERNELS, with as many threads to a block as it is launched with. */
cudaError_t harness_kernel_limits(uint32_t index, struct harness_kernel_limits *ret_limits);

#ifdef __cplusplus
}
#endif

#endif
