/* SPDX-License-Identifier: MIT
 * recording.h - what one run did, row by row: operators and ranges of the host, calls, GPU work, waits, memory. Knows
 * nothing of CUDA or of a file format. Times are nanoseconds since the Unix epoch.
 *
 * Several threads may add rows. A row that could not be added is remembered, and harness_recording_link says so. */
#ifndef HARNESS_RECORDING_H
#define HARNESS_RECORDING_H

#include <pthread.h>

#include "mem.h"

enum harness_row_kind {
    HARNESS_OP,      /* an operator; all that it does lies within it on its thread */
    HARNESS_RANGE,   /* a range that the program marks: ProfilerStep#1, a batch of the DataLoader */
    HARNESS_RUNTIME, /* a call of the CUDA runtime */
    HARNESS_DRIVER,  /* a call of the CUDA driver; left out where a runtime call makes it */
    HARNESS_KERNEL,
    HARNESS_COPY,
    HARNESS_SET,
    HARNESS_SYNC,     /* a wait of the host or of a stream */
    HARNESS_OVERHEAD, /* what the profiler or the lazy loading of code cost */
    HARNESS_MEMORY,   /* an allocation or release of device memory; no duration */
    HARNESS_OUT_OF_MEMORY
};

struct harness_kernel_facts {
    uint32_t grid[3], block[3];
    uint32_t registers_per_thread;
    uint64_t shared_bytes;
    uint32_t graph_id, reserved;
    uint64_t graph_node_id;
};

struct harness_row {
    enum harness_row_kind kind;
    const char *name; /* lives as long as the recording: a literal, or from harness_recording_text */
    int64_t start_ns, dur_ns;
    uint32_t thread; /* of host rows */
    uint32_t device, context;
    int64_t stream;       /* -1 = none */
    uint64_t correlation; /* 0 = none; equal for a call and the work that it makes */
    uint64_t external_id; /* this and the next one are filled in by harness_recording_link; 0 = none */
    bool makes_work;      /* of calls: some GPU work has the same correlation */
    union {
        struct harness_kernel_facts kernel;
        struct {
            const char *dims, *types; /* JSON arrays as text; NULL = not recorded */
        } op;
        uint32_t call_id;
        uint64_t bytes; /* of a copy or set */
        struct {
            int64_t wait_stream; /* -1 = unknown */
            uint64_t event_id;
            int64_t record_correlation; /* of the call that recorded the event; -1 = unknown */
        } sync;
        struct {
            uint64_t address;
            int64_t bytes; /* negative = released */
            uint64_t allocated_bytes, reserved_bytes;
        } memory;
    } as;
};

/** What occupancy depends on, and what a trace tells of a device. */
struct harness_device_properties {
    char name[256];
    uint64_t total_bytes;
    uint32_t compute_major, compute_minor;
    uint32_t sm_count, warp_size;
    uint32_t threads_per_block, threads_per_sm, blocks_per_sm;
    uint32_t registers_per_block, registers_per_sm;
    uint64_t shared_per_block, shared_per_block_optin, shared_per_sm, shared_reserved_per_block;
};

/** The run as a whole. Texts live as long as the recording. */
struct harness_run_facts {
    uint32_t process_id;
    int64_t start_ns, end_ns;  /* of the profiled window */
    uint32_t rank, world_size; /* world_size 0 = not distributed */
    const char *backend;
    int runtime_version, driver_version;
    uint32_t cupti_version;
    const char *trace_name;
};

struct harness_recording {
    struct ap_gate gate;
    struct ap_arena texts;
    struct harness_row *rows;
    size_t row_count, row_capacity;
    struct harness_device_properties device;
    struct harness_run_facts run;
    enum ap_status status; /* of the first row or text that could not be added */
    struct ap_error error;
    pthread_mutex_t lock;
};

AP_MUST_CHECK enum ap_status harness_recording_new(struct harness_recording **ret_recording, struct ap_error *reterr);
void harness_recording_free(struct harness_recording *recording); /* NULL is fine */

void harness_recording_add(struct harness_recording *recording, const struct harness_row *row);
/** A copy that lives as long as the recording; "" where memory is short. */
const char *harness_recording_text(struct harness_recording *recording, const char *text);

/** Everything is in: put the rows in order of their start, number the operators and ranges, and tell each call and its work
 * in which of them it was launched. Driver calls within runtime calls go, and rows outside of the profiled window too. */
AP_MUST_CHECK enum ap_status harness_recording_link(struct harness_recording *recording, struct ap_error *reterr);

bool harness_row_is_host(const struct harness_row *row);     /* operators, ranges, calls */
bool harness_row_is_gpu_work(const struct harness_row *row); /* kernels, copies, sets */

/** "cudaLaunchKernel_v7000" -> "cudaLaunchKernel": the name of a call without the version of its arguments, and without
 *  "_ptsz" for the variant of the per-thread stream. In place. */
void harness_call_name(char *name);

/** Blocks of this kernel that fit on one multiprocessor; 0 where it cannot run. */
uint32_t harness_resident_blocks(const struct harness_device_properties *device, const struct harness_kernel_facts *kernel);
/** Estimated achieved occupancy, 0 to 100, as PyTorch's profiler estimates it: what is resident, or less where the grid is
 * small. */
uint32_t harness_occupancy_percent(const struct harness_device_properties *device,
                                   const struct harness_kernel_facts *kernel);

#endif
