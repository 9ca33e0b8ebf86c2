/* SPDX-License-Identifier: MIT
 * What the kernels of the CUDA harness compute, and what the recording says of their occupancy. Skipped where there is no
 * GPU. */
#include <cuda_runtime_api.h>
#include <stdlib.h>

#include "cuda_device.h"
#include "kernels.h"
#include "tap.h"

#define SIDE 256u
#define NUMBERS ((size_t)SIDE * SIDE)

static bool fine(cudaError_t error)
{
    if (error != cudaSuccess)
        note(cudaGetErrorString(error));
    return error == cudaSuccess;
}

/** Device memory with a copy of @data; NULL where there is none. */
static void *to_device(const void *data, size_t bytes)
{
    void *memory = NULL;
    return fine(cudaMalloc(&memory, bytes)) && fine(cudaMemcpy(memory, data, bytes, cudaMemcpyHostToDevice)) ? memory : NULL;
}

static float host[NUMBERS], back[NUMBERS];
static uint16_t halves[NUMBERS];

static bool fetch(const void *device)
{
    return fine(cudaGetLastError()) && fine(cudaMemcpy(back, device, sizeof(back), cudaMemcpyDeviceToHost));
}

/** Element (row, column) of the operand: small whole numbers, so that sums are exact in any order. */
static int operand(uint32_t row, uint32_t column)
{
    return (int)((row * 3 + column * 7) % 5) - 2;
}

static uint16_t half_of(int whole) /* -2 .. 2 */
{
    static const uint16_t magnitudes[] = { 0x0000, 0x3c00, 0x4000 };
    return (uint16_t)(magnitudes[abs(whole)] | (whole < 0 ? 0x8000u : 0u));
}

static bool is_product(void)
{
    for (uint32_t row = 0; row < SIDE; row += 7)
        for (uint32_t column = 0; column < SIDE; column++) {
            int sum = 0;
            for (uint32_t k = 0; k < SIDE; k++)
                sum += operand(row, k) * operand(k, column);
            if ((int)back[row * SIDE + column] != sum)
                return false;
        }
    return true;
}

static void products(void)
{
    for (uint32_t i = 0; i < NUMBERS; i++) {
        host[i] = (float)operand(i / SIDE, i % SIDE);
        halves[i] = half_of(operand(i / SIDE, i % SIDE));
    }
    void *single = to_device(host, sizeof(host)), *half = to_device(halves, sizeof(halves)),
         *result = to_device(host, sizeof(host));
    ok(fine(harness_launch_gemm_f16(half, half, result, SIDE, NULL)) && fetch(result) && is_product(),
       "the product of tensor cores is right");
    (void)cudaMemset(result, 0, sizeof(host));
    ok(fine(harness_launch_gemm_f32(single, single, result, SIDE, NULL)) && fetch(result) && is_product(),
       "so is that in fp32");
    (void)cudaFree(single);
    (void)cudaFree(half);
    (void)cudaFree(result);
}

static bool all_near(float wanted)
{
    for (size_t i = 0; i < NUMBERS; i++)
        if (back[i] < wanted - 0.001f || back[i] > wanted + 0.001f)
            return false;
    return true;
}

static void chains(void)
{
    enum { STAGES = 10 };
    for (size_t i = 0; i < NUMBERS; i++)
        host[i] = 1;
    void *a = to_device(host, sizeof(host)), *b = to_device(host, sizeof(host));
    bool launched = true;
    for (uint32_t stage = 0; stage < STAGES; stage++)
        launched = launched && fine(harness_launch_stage(a, NUMBERS, stage, NULL));
    ok(launched && fetch(a), "stages one by one");
    float wanted = back[0];
    ok(fine(harness_launch_all_stages(b, NUMBERS, STAGES, NULL)) && fetch(b) && all_near(wanted) && wanted > 0.9f,
       "all stages at once do the same");
    (void)cudaMemcpy(a, host, sizeof(host), cudaMemcpyHostToDevice);
    (void)cudaMemcpy(b, host, sizeof(host), cudaMemcpyHostToDevice);
    ok(fine(harness_launch_add(a, b, NUMBERS, NULL)) && fine(harness_launch_add_all(a, b, NUMBERS, NULL)) && fetch(a) &&
           all_near(3),
       "additions");
    ok(fine(harness_launch_iterate(b, NUMBERS, 100, 8, NULL)) && fetch(b) && all_near(1), "much arithmetic, few blocks");
    float sum = 0;
    void *place = to_device(&sum, sizeof(sum));
    ok(fine(harness_launch_sum(a, place, NUMBERS, NULL)) &&
           fine(cudaMemcpy(&sum, place, sizeof(sum), cudaMemcpyDeviceToHost)) && sum > 2.999f * (float)NUMBERS &&
           sum < 3.001f * (float)NUMBERS,
       "a sum");
    for (uint32_t i = 0; i < HARNESS_COLD_KERNELS && launched; i++)
        launched = fine(harness_launch_cold(i, a, NUMBERS, NULL));
    ok(launched && fetch(a), "kernels that are used once");
    (void)cudaFree(a);
    (void)cudaFree(b);
    (void)cudaFree(place);
}

/** One rank alone: the sum of one, through memory of the host. */
static void all_reduce(void)
{
    struct harness_reduce_area area = { NULL, NULL, NULL };
    void *flags = NULL, *slots = NULL, *gave_up = NULL;
    for (size_t i = 0; i < NUMBERS; i++)
        host[i] = (float)i;
    void *data = to_device(host, sizeof(host));
    if (fine(cudaMallocHost(&flags, HARNESS_REDUCE_RANKS * HARNESS_REDUCE_BLOCKS * sizeof(uint32_t))) &&
        fine(cudaMallocHost(&slots, 2 * sizeof(host))) && fine(cudaMallocHost(&gave_up, sizeof(uint32_t)))) {
        memset(flags, 0, HARNESS_REDUCE_RANKS * HARNESS_REDUCE_BLOCKS * sizeof(uint32_t));
        memset(gave_up, 0, sizeof(uint32_t));
        area.arrived = flags;
        area.slots = slots;
        area.gave_up = gave_up;
        ok(fine(harness_launch_all_reduce(data, NUMBERS, &area, 0, 1, 1, NULL)) && fetch(data) &&
               memcmp(back, host, sizeof(host)) == 0,
           "an all-reduce of one rank changes nothing");
    }
    (void)cudaFree(data);
    (void)cudaFreeHost(flags);
    (void)cudaFreeHost(slots);
    (void)cudaFreeHost(gave_up);
}

static void occupancy(void)
{
    struct harness_device_properties properties;
    if (!ok(fine(harness_cuda_properties(&properties)), "the device says what it has"))
        return;
    for (uint32_t i = 0; i < HARNESS_KERNELS; i++) {
        struct harness_kernel_limits limits;
        if (!ok(fine(harness_kernel_limits(i, &limits)), "the runtime knows the kernel"))
            continue;
        const struct harness_kernel_facts facts = { .grid = { 1, 1, 1 },
                                                    .block = { limits.threads, 1, 1 },
                                                    .registers_per_thread = limits.registers,
                                                    .shared_bytes = limits.shared_bytes };
        is_int(harness_resident_blocks(&properties, &facts), limits.blocks_per_sm, limits.name);
    }
}

int main(void)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        skip("no GPU");
        return done();
    }
    products();
    chains();
    all_reduce();
    occupancy();
    return done();
}
