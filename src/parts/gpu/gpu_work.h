/* SPDX-License-Identifier: MIT
 * gpu_work.h - inside part_gpu: what its parts share. GPU work is what has the category kernel, gpu_memcpy or gpu_memset; a
 * row is told by its category alone. */
#ifndef AP_GPU_WORK_H
#define AP_GPU_WORK_H

#include "name_sums.h"
#include "part.h"

#define AP_GPU_SHORT_KERNEL_NS 10000

/** Of all devices. */
struct ap_gpu_totals {
    int64_t rows, kernel_count, kernel_ns;
    int64_t window_ns, recorded_window_ns, busy_ns, compute_ns;
    int64_t communication_ns, exposed_communication_ns, communication_overlap_ns;
    int64_t memcpy_ns, exposed_memcpy_ns, memcpy_overlap_ns;
    int64_t unlaunched_count, unlaunched_ns; /* launched before recording began */
    bool overflowed;
};

struct ap_gpu_work {
    struct ap_part_context *context;
    struct ap_gpu_totals totals;
};

/* The parts, in the order in which they run; each adds its values to the object "gpu". */
/** devices, streams, and what the totals say of all devices */
enum ap_status ap_gpu_add_devices(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                                  struct ap_error *reterr);
enum ap_status ap_gpu_add_streams(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                                  struct ap_error *reterr);
/** kernel, short_kernels, kernels, families, subfamilies, family_share, unnamed_family, communication */
enum ap_status ap_gpu_add_kernels(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                                  struct ap_error *reterr);
/** unfused_attention */
enum ap_status ap_gpu_add_attention(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                                    struct ap_error *reterr);
/** unaligned_gemm */
enum ap_status ap_gpu_add_alignment(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                                    struct ap_error *reterr);
/** sm */
enum ap_status ap_gpu_add_sm(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                             struct ap_error *reterr);
/** fill */
enum ap_status ap_gpu_add_fill(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                               struct ap_error *reterr);
/** turns */
void ap_gpu_add_turns(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu);
/** drift */
enum ap_status ap_gpu_add_drift(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                                struct ap_error *reterr);
/** memcpy, copies, memset */
enum ap_status ap_gpu_add_copies(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                                 struct ap_error *reterr);
/** sequences */
enum ap_status ap_gpu_add_sequences(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                                    struct ap_error *reterr);

static inline int64_t ap_gpu_add_ns(struct ap_gpu_work *work, int64_t a, int64_t b)
{
    return ap_add_sat(a, b, &work->totals.overflowed);
}

/* What a row of GPU work is, as bits. */
#define AP_GPU_COMPUTE 1u /* kernels other than communication */
#define AP_GPU_COMMUNICATION 2u
#define AP_GPU_MEMCPY 4u
#define AP_GPU_MEMSET 8u

static inline unsigned ap_gpu_part(const struct ap_gpu_work *work, uint32_t row)
{
    const struct ap_trace *trace = work->context->trace;
    switch (ap_row_kind(trace->events.tag[row])) {
    case AP_KIND_memcpy: return AP_GPU_MEMCPY;
    case AP_KIND_memset: return AP_GPU_MEMSET;
    default:
        return ap_kernel_is_communication(&work->context->facts->families, trace, row) ? AP_GPU_COMMUNICATION
                                                                                       : AP_GPU_COMPUTE;
    }
}

#endif
