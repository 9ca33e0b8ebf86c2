/* SPDX-License-Identifier: MIT
 * job.h - one run of a job on a device: its steps, its operators, its memory, and what the run costs. A job is a function
 * that prepares, then works in a loop over harness_next_step(), then tidies up:
 *
 *     void job_example(struct harness_run *run)
 *     {
 *         struct harness_layer layer = harness_layer_take(run, 2048, &here);
 *         while (harness_next_step(run))
 *             harness_mm(run, &layer);
 *         harness_layer_give(run, &layer);
 *     }
 *
 * A failure is kept in the run; from then on all calls do nothing, and harness_next_step says no. A run is either timed,
 * with no profiler, or recorded; it then has a recording. */
#ifndef HARNESS_JOB_H
#define HARNESS_JOB_H

#include <cuda_runtime_api.h>

#include "allocator.h"
#include "harness_clock.h"
#include "harness_options.h"
#include "meeting.h"
#include "recording.h"

struct harness_span {
    enum harness_row_kind kind;
    const char *name; /* NULL = nothing is recorded */
    int64_t start_ns;
};

struct harness_run {
    const struct harness_options *options;
    bool planted;
    uint64_t device_bytes; /* what the allocator may take; 0 = all that the device has */
    uint32_t rank, rank_count;
    struct harness_meeting *meeting;     /* of the ranks */
    struct harness_recording *recording; /* NULL = the run is timed only */
    struct harness_allocator *allocator;
    cudaStream_t side;      /* beside the default stream, in no order with it */
    uint32_t warm_up_steps; /* before the window; a job may set it before its first step */
    uint32_t begun_steps;
    uint32_t thread, sm_count;
    bool in_window;
    struct harness_span step;
    int64_t window_start_ns; /* of the monotonic clock */
    int64_t window_ns;       /* from the first step of the window until the device has done all */
    uint64_t held_bytes;     /* in use at the end of the window */
    enum ap_status status;
    struct ap_error error;
};

/** Fills in what a run needs but for options, planted, device_bytes, ranks and recording. */
void harness_run_init(struct harness_run *run);
void harness_run_release(struct harness_run *run);

/** End the step before and begin the next one: false when all are done or something failed. */
bool harness_next_step(struct harness_run *run);
/** In the window. */
bool harness_last_step(const struct harness_run *run);

/** False where the run has failed, now or before. @call says what failed. */
bool harness_check(struct harness_run *run, cudaError_t error, const char *call);
#define HARNESS_CUDA(run, call) ((run)->status == AP_OK && harness_check((run), (call), #call))

/** An operator or range on the calling thread. An operator begins with what a framework does before it launches anything. */
struct harness_span harness_begin(struct harness_run *run, enum harness_row_kind kind, const char *name);
void harness_end(struct harness_run *run, struct harness_span span);

/** NULL where the run has failed. */
struct harness_block *harness_take(struct harness_run *run, uint64_t bytes, const struct harness_frame *frame);
/** The same, but NULL where the device has no more: no failure of the run. */
struct harness_block *harness_try_take(struct harness_run *run, uint64_t bytes, const struct harness_frame *frame);
void harness_give(struct harness_run *run, struct harness_block *block); /* NULL is fine */
void *harness_memory(const struct harness_block *block);                 /* NULL for NULL */

/** A square matrix product with its operands. */
struct harness_layer {
    uint32_t n;
    struct harness_block *a, *b, *c; /* fp16 and fp16, or fp32 and fp32, to fp32 */
    bool single;                     /* fp32 */
};
struct harness_layer harness_layer_take(struct harness_run *run, uint32_t n, bool single, const struct harness_frame *frame);
void harness_layer_give(struct harness_run *run, struct harness_layer *layer);
/** aten::mm, and an elementwise operator on its result; on the default stream. */
void harness_layer_run(struct harness_run *run, const struct harness_layer *layer);

extern const struct harness_frame harness_main_frame;

#define HARNESS_SCENARIO(identifier, name, cost, ranks, accept, planted, healthy) \
    void job_##identifier(struct harness_run *run);
#include "scenario.def"
#undef HARNESS_SCENARIO

#endif
