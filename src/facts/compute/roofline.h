/* SPDX-License-Identifier: MIT
 * roofline.h - how calls that are alike compare with what the device can do at most, with what good kernels of their kind
 * reach, and why they do not. */
#ifndef AP_ROOFLINE_H
#define AP_ROOFLINE_H

#include "compute_calls.h"
#include "gpu_peaks.h"

enum ap_compute_cause {
#define AP_COMPUTE_CAUSE(id, sentence) AP_CAUSE_##id,
#include "compute_cause.def"
#undef AP_COMPUTE_CAUSE
    AP_CAUSE_none, /* as fast as good ones, or too short to judge */
    AP_CAUSE_COUNT_ = AP_CAUSE_none
};

/** Why more than the device can do seems to be done; in words of the catalogue. */
enum ap_above_peak {
    AP_ABOVE_no,
    AP_ABOVE_fewer_multiplications, /* Winograd, FFT: the count is of the plain way */
    AP_ABOVE_hidden_by_mask,        /* what a mask or a window hides was counted */
    AP_ABOVE_fewer_experts,         /* tokens met fewer experts than if they chose evenly */
    AP_ABOVE_in_cache,              /* small enough to stay in the cache between two kernels */
    AP_ABOVE_other_device,          /* or the shapes are not those of the work: a view, a part */
    AP_ABOVE_COUNT_
};

/* There may be as many as calls: what two numbers of the group tell is not kept. */
struct ap_roofline {
    double bound_ns; /* the least that the device needs for a call; negative = not known */
    double good_ns;  /* what a good kernel takes for a call; negative = not known */
    double lost_ns;  /* beyond that, of all calls; 0 at least */
    enum ap_peak_type type : 8;
    enum ap_above_peak above : 8;
    enum ap_compute_cause cause : 8;
    enum ap_compute_cause shape_cause : 8; /* what would be the cause if they were slow */
    bool is_memory_bound;                  /* where bound_ns is known */
    bool is_unsized; /* a convolution that arithmetic limits, of which nobody knows how large an image it makes */
};

/** How a kernel's tiles cover what it computes. Negative = not known. */
struct ap_tile_fill {
    double tile_ratio; /* of the area of tiles that is matrix */
    double wave_ratio; /* of the places for tiles that are taken */
};

/** What the median call achieves, and its operations for a byte; negative = not known. */
double ap_achieved_flops_s(const struct ap_compute_group *group);
double ap_achieved_bytes_s(const struct ap_compute_group *group);
double ap_compute_intensity(const struct ap_compute_group *group);
/** The least time over that of the median call; negative = not known. */
double ap_roofline_ratio(const struct ap_roofline *roofline, const struct ap_compute_group *group);

/** @device NULL: not known; rates are told, and nothing is judged. */
void ap_roofline_of(const struct ap_compute *compute, const struct ap_compute_group *group, const struct ap_facts *facts,
                    const struct ap_device_peak *device, struct ap_roofline *ret_roofline);

/** Of the calls' longest kernel; it is asked of few. */
struct ap_tile_fill ap_tile_fill_of(const struct ap_compute *compute, const struct ap_compute_group *group,
                                    const struct ap_facts *facts, const struct ap_device_peak *device);

/** Of products of 32-bit numbers that are bound by arithmetic: what half the bits would save of the time of all calls, at
 *  the share of the roofline that they reach now; 0 of other work. */
double ap_roofline_saved_by_16_bits_ns(const struct ap_compute_group *group, const struct ap_roofline *roofline,
                                       const struct ap_device_peak *device);

/** Do the shapes tell why? Not of AP_CAUSE_none. */
bool ap_compute_cause_is_of_shape(enum ap_compute_cause cause);

/** As the report writes it: "few_rows". Not of AP_CAUSE_none. */
const char *ap_compute_cause_name(enum ap_compute_cause cause);

#endif
