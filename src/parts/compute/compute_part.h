/* SPDX-License-Identifier: MIT
 * compute_part.h - inside the part "compute": what its files share. */
#ifndef AP_COMPUTE_PART_H
#define AP_COMPUTE_PART_H

#include "part.h"
#include "roofline.h"

#define AP_USUAL_DEVICES 3
#define AP_COMPUTE_NO_GROUP UINT32_MAX

struct ap_compute_work {
    struct ap_part_context *context;
    struct ap_compute compute;
    struct ap_device_peak device;
    bool has_device;
    bool is_rated;     /* against the device: times are of its kernels */
    int64_t matrix_ns; /* of kernels that multiply, by their names */
    double
        elsewhere[AP_USUAL_DEVICES]; /* roofline ratio on usual devices where this one is not told; negative = not known */
    struct ap_roofline *rooflines;   /* by group; where nothing is rated, by type of the elements, which is all they tell */
};

static inline const struct ap_roofline *ap_compute_roofline(const struct ap_compute_work *work, uint32_t group)
{
    return &work->rooflines[work->is_rated ? group : (uint32_t)ap_compute_element(&work->compute, group)];
}
static inline size_t ap_compute_roofline_count(const struct ap_compute_work *work)
{
    return work->is_rated ? work->compute.group_count : AP_ELEMENT_COUNT_;
}

/** Sums over calls that differ. */
struct ap_compute_sum {
    uint64_t count; /* calls with kernels */
    int64_t total_ns;
    int64_t rated_ns;          /* of those whose bound is known */
    double flops, bytes;       /* of calls where they are known; flops of all kinds of work */
    bool has_flops, has_bytes; /* of any call */
    double bound_ns, lost_ns;  /* of rated calls */
    uint32_t worst;            /* group that loses most; AP_PAIR_NONE = none */
};

/** What the median call of the group achieves. */
void ap_compute_add_achieved(struct ap_model *model, struct ap_value *row, const struct ap_compute_group *group);
/** All calls of the group. */
void ap_compute_sum_add(const struct ap_compute_work *work, struct ap_compute_sum *sum, uint32_t group);
/** How its longest kernel's tiles cover what it computes. */
static inline struct ap_tile_fill ap_compute_fill(const struct ap_compute_work *work, const struct ap_compute_group *group)
{
    return ap_tile_fill_of(&work->compute, group, work->context->facts, work->has_device ? &work->device : NULL);
}

/** Adds tflop_s, gb_s and roofline_ratio. */
void ap_compute_add_rates(const struct ap_compute_sum *sum, struct ap_model *model, struct ap_value *row);
/** Adds longest: where the group stands that loses most. */
void ap_compute_add_worst(const struct ap_compute_work *work, const struct ap_compute_sum *sum, struct ap_model *model,
                          struct ap_value *row);
/** Adds a count of operations, which is null where it is negative. */
void ap_compute_add_flops(struct ap_model *model, struct ap_value *row, const char *key, double flops);
/** What of a figure in double is no negative one, in whole nanoseconds. */
int64_t ap_compute_ns(double ns);

/** What all rated calls together reach of the roofline of another device; negative where it could not do them, or not at
 *  this speed. */
double ap_compute_ratio_on(const struct ap_compute_work *work, const struct ap_gpu_peak *peak);

/* What each adds to "compute". */
/** device */
void ap_compute_add_device(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to);
/** longest */
void ap_compute_add_longest(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to);
/** kinds, causes */
void ap_compute_add_sums(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to);
/** promoted, vocabulary, drawn, scaling, dequantized, channels_first, empty_tiles, repeated, recast, wide_attention */
void ap_compute_add_patterns(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to);
/** searched, trained_norms, vector_runs */
void ap_compute_add_modes(const struct ap_compute_work *work, struct ap_model *model, struct ap_value *to);
/** An object of a pattern: its calls, and what they take beyond @keeps_ns. */
void ap_compute_add_pattern(const struct ap_compute_work *work, const struct ap_compute_sum *sum, double keeps_ns,
                            const char *key, struct ap_model *model, struct ap_value *to);
/** operators, kernels */
AP_MUST_CHECK enum ap_status ap_compute_add_lists(const struct ap_compute_work *work, struct ap_model *model,
                                                  struct ap_value *to, struct ap_error *reterr);

/** layers */
AP_MUST_CHECK enum ap_status ap_compute_add_layers(const struct ap_compute_work *work, struct ap_model *model,
                                                   struct ap_value *to, struct ap_error *reterr);

#endif
