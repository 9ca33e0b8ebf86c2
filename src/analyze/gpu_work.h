/* SPDX-License-Identifier: MIT
 * gpu_work.h - inside pass_gpu: what its parts share. GPU work is what has the category kernel, gpu_memcpy or gpu_memset; a
 * row is told by its category alone. */
#ifndef AP_GPU_WORK_H
#define AP_GPU_WORK_H

#include "passes.h"

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
    struct ap_pass_context *context;
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
/** sm */
enum ap_status ap_gpu_add_sm(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
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

/** A quotient that is no share of anything; null where the denominator is 0. */
void ap_gpu_add_rate(struct ap_model *model, struct ap_value *to, const char *key, double over, double under);

/** Length of the union of intervals that come in order of their starts. */
struct ap_gpu_cover {
    int64_t to_ns, sum_ns;
};

#define AP_GPU_COVER_START ((struct ap_gpu_cover){ .to_ns = INT64_MIN })

static inline void ap_gpu_cover_add(struct ap_gpu_cover *cover, int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= cover->to_ns)
        return;
    cover->sum_ns += end_ns - (start_ns > cover->to_ns ? start_ns : cover->to_ns);
    cover->to_ns = end_ns;
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
    case AP_KIND_memcpy:
        return AP_GPU_MEMCPY;
    case AP_KIND_memset:
        return AP_GPU_MEMSET;
    default:
        return ap_kernel_is_communication(&work->context->families, trace, row) ? AP_GPU_COMMUNICATION : AP_GPU_COMPUTE;
    }
}

/** Rows of some names, summed: kernels or copies. */
struct ap_gpu_name {
    int64_t total_ns;
    uint32_t name, count;
    uint32_t longest; /* row */
};

struct ap_gpu_names {
    struct ap_gate *gate;
    uint32_t *slot;   /* by name id: number + 1 in names; 0 = no row has it */
    size_t slot_count;
    struct ap_gpu_name *names; /* in order of first sight */
    size_t count, capacity;
};

AP_MUST_CHECK enum ap_status ap_gpu_names_init(struct ap_gpu_names *names, const struct ap_gpu_work *work,
                                               struct ap_error *reterr);
/** One more row; a negative duration is summed as written. */
AP_MUST_CHECK enum ap_status ap_gpu_names_add(struct ap_gpu_names *names, struct ap_gpu_work *work, uint32_t row,
                                              struct ap_error *reterr);
/** Every row of the kind, placed in time or not. */
AP_MUST_CHECK enum ap_status ap_gpu_names_add_all(struct ap_gpu_names *names, struct ap_gpu_work *work,
                                                  enum ap_event_kind kind, struct ap_error *reterr);
void ap_gpu_names_release(struct ap_gpu_names *names);
/** The first --top-n names, largest sum first; free as ap_top_indices says. */
AP_MUST_CHECK enum ap_status ap_gpu_names_top(const struct ap_gpu_names *names, const struct ap_pass_context *context,
                                              uint32_t **ret_list, size_t *ret_count, struct ap_error *reterr);

#endif
