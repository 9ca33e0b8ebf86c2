/* SPDX-License-Identifier: MIT
 * See kernels.h. */
#include <cuda_fp16.h>
#include <mma.h>

#include "kernels.h"

using namespace nvcuda;

#define TILE 128   /* rows and columns of c that one block makes */
#define TILE_K 32

/* Eight warps, each 32 rows by 64 columns of the tile. */
extern "C" __global__ void __launch_bounds__(256)
gemm_f16_wmma_tensorop_kernel(const half *a, const half *b, float *c, uint32_t n)
{
    __shared__ __align__(32) half tile_a[TILE][TILE_K + 8];
    __shared__ __align__(32) half tile_b[TILE_K][TILE + 8];
    const uint32_t warp = threadIdx.x / 32, row = warp / 2 * 32, column = warp % 2 * 64;
    const size_t first_row = (size_t)blockIdx.y * TILE, first_column = (size_t)blockIdx.x * TILE;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][4];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            wmma::fill_fragment(sum[i][j], 0.0f);
    for (uint32_t k = 0; k < n; k += TILE_K) {
        for (uint32_t at = threadIdx.x; at < TILE * TILE_K / 8; at += blockDim.x) {
            uint32_t ra = at / (TILE_K / 8), ca = at % (TILE_K / 8) * 8, rb = at / (TILE / 8), cb = at % (TILE / 8) * 8;
            *(int4 *)&tile_a[ra][ca] = *(const int4 *)&a[(first_row + ra) * n + k + ca];
            *(int4 *)&tile_b[rb][cb] = *(const int4 *)&b[(size_t)(k + rb) * n + first_column + cb];
        }
        __syncthreads();
        for (int part = 0; part < TILE_K; part += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right[4];
            for (int i = 0; i < 2; i++)
                wmma::load_matrix_sync(left[i], &tile_a[row + i * 16][part], TILE_K + 8);
            for (int j = 0; j < 4; j++)
                wmma::load_matrix_sync(right[j], &tile_b[part][column + j * 16], TILE + 8);
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++)
                    wmma::mma_sync(sum[i][j], left[i], right[j], sum[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            wmma::store_matrix_sync(&c[(first_row + row + i * 16) * n + first_column + column + j * 16], sum[i][j], n,
                                    wmma::mem_row_major);
}

#define F32_TILE 64
#define F32_TILE_K 16

/* 256 threads, each 4 by 4 of a tile of 64 by 64. */
extern "C" __global__ void __launch_bounds__(256)
gemm_f32_simt_kernel(const float *a, const float *b, float *c, uint32_t n)
{
    __shared__ float tile_a[F32_TILE_K][F32_TILE + 1], tile_b[F32_TILE_K][F32_TILE];
    const uint32_t tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    const size_t first_row = (size_t)blockIdx.y * F32_TILE, first_column = (size_t)blockIdx.x * F32_TILE;
    float sum[4][4] = {};
    for (uint32_t k = 0; k < n; k += F32_TILE_K) {
        for (uint32_t at = threadIdx.x; at < F32_TILE * F32_TILE_K; at += blockDim.x) {
            tile_a[at % F32_TILE_K][at / F32_TILE_K] = a[(first_row + at / F32_TILE_K) * n + k + at % F32_TILE_K];
            tile_b[at / F32_TILE][at % F32_TILE] = b[(size_t)(k + at / F32_TILE) * n + first_column + at % F32_TILE];
        }
        __syncthreads();
        for (int part = 0; part < F32_TILE_K; part++)
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    sum[i][j] += tile_a[part][ty + 16 * i] * tile_b[part][tx + 16 * j];
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            c[(first_row + ty + 16 * i) * n + first_column + tx + 16 * j] = sum[i][j];
}

static __device__ size_t first_element()
{
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ size_t stride()
{
    return (size_t)gridDim.x * blockDim.x;
}

extern "C" __global__ void elementwise_add_kernel(float *to, const float *from, size_t count)
{
    for (size_t i = first_element(); i < count; i += stride())
        to[i] += from[i];
}

extern "C" __global__ void multi_tensor_apply_add_kernel(float *to, const float *from, size_t count)
{
    for (size_t i = first_element(); i < count; i += stride())
        to[i] += from[i];
}

static __device__ float stage_of(float x, uint32_t stage)
{
    return x * 0.999f + (float)(stage % 7) * 0.001f;
}

extern "C" __global__ void elementwise_stage_kernel(float *data, size_t count, uint32_t stage)
{
    for (size_t i = first_element(); i < count; i += stride())
        data[i] = stage_of(data[i], stage);
}

extern "C" __global__ void elementwise_all_stages_kernel(float *data, size_t count, uint32_t stages)
{
    for (size_t i = first_element(); i < count; i += stride()) {
        float x = data[i];
        for (uint32_t stage = 0; stage < stages; stage++)
            x = stage_of(x, stage);
        data[i] = x;
    }
}

extern "C" __global__ void reduce_sum_kernel(const float *data, float *to, size_t count)
{
    float sum = 0;
    for (size_t i = first_element(); i < count; i += stride())
        sum += data[i];
    for (int offset = 16; offset; offset /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (threadIdx.x % 32 == 0)
        atomicAdd(to, sum);
}

extern "C" __global__ void iterate_map_kernel(float *data, size_t count, uint32_t rounds)
{
    for (size_t i = first_element(); i < count; i += stride()) {
        float x = data[i];
        for (uint32_t round = 0; round < rounds; round++)
            x = x * 0.999f + 0.001f;
        data[i] = x;
    }
}

/* Kernels alike but for their names, each of which is loaded when it is used for the first time. */
#define COLD_KERNEL(index)                                                                                 \
    extern "C" __global__ void elementwise_cold_##index##_kernel(float *data, size_t count)                \
    {                                                                                                      \
        for (size_t i = first_element(); i < count; i += stride())                                         \
            data[i] = stage_of(data[i], index);                                                            \
    }
#define EIGHT(apply, tens) \
    apply(tens##0) apply(tens##1) apply(tens##2) apply(tens##3) apply(tens##4) apply(tens##5) apply(tens##6) apply(tens##7)
#define EACH_COLD(apply) EIGHT(apply, 1) EIGHT(apply, 2) EIGHT(apply, 3) EIGHT(apply, 4) EIGHT(apply, 5) EIGHT(apply, 6)

EACH_COLD(COLD_KERNEL)

#define COLD_NAME(index) elementwise_cold_##index##_kernel,
static void (*const cold_kernels[HARNESS_COLD_KERNELS])(float *, size_t) = { EACH_COLD(COLD_NAME) };

/* Each block sends its part of the numbers to the host, waits until the same block of every rank has done so, and adds up. A
 * slot is written again two rounds later only, when every rank is known to have read it. */
extern "C" __global__ void allreduce_host_memory_kernel(float *data, size_t count, struct harness_reduce_area area,
                                                        uint32_t rank, uint32_t rank_count, uint32_t round)
{
    volatile float *slots = area.slots + (size_t)(round % 2) * rank_count * count;
    for (size_t i = first_element(); i < count; i += stride())
        slots[rank * count + i] = data[i];
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) {
        area.arrived[rank * HARNESS_REDUCE_BLOCKS + blockIdx.x] = round;
        __threadfence_system();
        long long begin = clock64();
        for (uint32_t other = 0; other < rank_count; other++)
            while ((int32_t)(area.arrived[other * HARNESS_REDUCE_BLOCKS + blockIdx.x] - round) < 0)
                if (clock64() - begin > 40LL * 1000 * 1000 * 1000) { /* some 20 s */
                    *area.gave_up = 1;
                    break;
                }
        __threadfence_system();
    }
    __syncthreads();
    for (size_t i = first_element(); i < count; i += stride()) {
        float sum = 0;
        for (uint32_t other = 0; other < rank_count; other++)
            sum += slots[other * count + i];
        data[i] = sum / (float)rank_count;
    }
}

static unsigned blocks_for(size_t count)
{
    size_t blocks = (count + 255) / 256;
    return blocks < 2048 ? (unsigned)blocks : 2048;
}

cudaError_t harness_launch_gemm_f16(const void *a, const void *b, float *c, uint32_t n, cudaStream_t stream)
{
    gemm_f16_wmma_tensorop_kernel<<<dim3(n / TILE, n / TILE), 256, 0, stream>>>((const half *)a, (const half *)b, c, n);
    return cudaGetLastError();
}

cudaError_t harness_launch_gemm_f32(const float *a, const float *b, float *c, uint32_t n, cudaStream_t stream)
{
    gemm_f32_simt_kernel<<<dim3(n / F32_TILE, n / F32_TILE), 256, 0, stream>>>(a, b, c, n);
    return cudaGetLastError();
}

cudaError_t harness_launch_add(float *to, const float *from, size_t count, cudaStream_t stream)
{
    elementwise_add_kernel<<<blocks_for(count), 256, 0, stream>>>(to, from, count);
    return cudaGetLastError();
}

cudaError_t harness_launch_add_all(float *to, const float *from, size_t count, cudaStream_t stream)
{
    multi_tensor_apply_add_kernel<<<blocks_for(count), 256, 0, stream>>>(to, from, count);
    return cudaGetLastError();
}

cudaError_t harness_launch_stage(float *data, size_t count, uint32_t stage, cudaStream_t stream)
{
    elementwise_stage_kernel<<<blocks_for(count), 256, 0, stream>>>(data, count, stage);
    return cudaGetLastError();
}

cudaError_t harness_launch_all_stages(float *data, size_t count, uint32_t stages, cudaStream_t stream)
{
    elementwise_all_stages_kernel<<<blocks_for(count), 256, 0, stream>>>(data, count, stages);
    return cudaGetLastError();
}

cudaError_t harness_launch_sum(const float *data, float *to, size_t count, cudaStream_t stream)
{
    reduce_sum_kernel<<<blocks_for(count), 256, 0, stream>>>(data, to, count);
    return cudaGetLastError();
}

cudaError_t harness_launch_iterate(float *data, size_t count, uint32_t rounds, uint32_t blocks, cudaStream_t stream)
{
    iterate_map_kernel<<<blocks, 256, 0, stream>>>(data, count, rounds);
    return cudaGetLastError();
}

cudaError_t harness_launch_cold(uint32_t index, float *data, size_t count, cudaStream_t stream)
{
    cold_kernels[index % HARNESS_COLD_KERNELS]<<<blocks_for(count), 256, 0, stream>>>(data, count);
    return cudaGetLastError();
}

cudaError_t harness_launch_all_reduce(float *data, size_t count, const struct harness_reduce_area *area, uint32_t rank,
                                      uint32_t rank_count, uint32_t round, cudaStream_t stream)
{
    allreduce_host_memory_kernel<<<HARNESS_REDUCE_BLOCKS, 512, 0, stream>>>(data, count, *area, rank, rank_count, round);
    return cudaGetLastError();
}

cudaError_t harness_kernel_limits(uint32_t index, struct harness_kernel_limits *ret_limits)
{
    static const struct {
        const char *name;
        const void *function;
        int threads;
    } kernels[HARNESS_KERNELS] = {
        { "gemm_f16_wmma_tensorop_kernel", (const void *)gemm_f16_wmma_tensorop_kernel, 256 },
        { "gemm_f32_simt_kernel", (const void *)gemm_f32_simt_kernel, 256 },
        { "elementwise_add_kernel", (const void *)elementwise_add_kernel, 256 },
        { "multi_tensor_apply_add_kernel", (const void *)multi_tensor_apply_add_kernel, 256 },
        { "elementwise_stage_kernel", (const void *)elementwise_stage_kernel, 256 },
        { "elementwise_all_stages_kernel", (const void *)elementwise_all_stages_kernel, 256 },
        { "reduce_sum_kernel", (const void *)reduce_sum_kernel, 256 },
        { "iterate_map_kernel", (const void *)iterate_map_kernel, 256 },
        { "allreduce_host_memory_kernel", (const void *)allreduce_host_memory_kernel, 512 },
    };
    struct cudaFuncAttributes attributes;
    int blocks = 0;
    cudaError_t error = cudaFuncGetAttributes(&attributes, kernels[index].function);
    if (error == cudaSuccess)
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernels[index].function, kernels[index].threads, 0);
    if (error != cudaSuccess)
        return error;
    ret_limits->name = kernels[index].name;
    ret_limits->threads = (uint32_t)kernels[index].threads;
    ret_limits->registers = (uint32_t)attributes.numRegs;
    ret_limits->shared_bytes = attributes.sharedSizeBytes;
    ret_limits->blocks_per_sm = (uint32_t)blocks;
    return cudaSuccess;
}
