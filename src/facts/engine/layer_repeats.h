/* SPDX-License-Identifier: MIT
 * layer_repeats.h - the layers of a model as its kernels show them: the stretch that repeats on the stream with most work,
 * and neighbors in it that a known fused kernel replaces. */
#ifndef AP_LAYER_REPEATS_H
#define AP_LAYER_REPEATS_H

#include "facts.h"
#include "fusion.h"
#include "kernel_period.h"

/** Neighbors of two names, or what is the same to their pair. */
struct ap_fusion_found {
    const char *text; /* what the fused kernel does */
    size_t at;        /* in places: the first kernel of the longest pair */
    uint32_t count;
    int64_t total_ns, saves_ns, longest_ns; /* of both; the shorter one and the gap: what is not read and written again */
};

struct ap_layer_repeats {
    struct ap_gate *gate;
    size_t *places; /* in links->row: kernels of the stream, in order of start */
    size_t count;
    uint8_t *covered; /* by place: stands in a run of repeats */
    struct ap_kernel_period period;
    int64_t total_ns; /* of the kernels in runs */
    struct ap_fusion_found *fusions;
    size_t fusion_count, fusion_capacity;
    bool overflowed;
};

/** The facts must hold order, names and links. @repeats may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_layer_repeats_init(struct ap_layer_repeats *repeats, const struct ap_facts *facts,
                                                   struct ap_gate *gate, struct ap_error *reterr);
void ap_layer_repeats_release(struct ap_layer_repeats *repeats);

#endif
