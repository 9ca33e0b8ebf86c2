/* SPDX-License-Identifier: MIT
 * tensorrt.h - what trtexec exports of an engine: times of queries, times of layers, descriptions of layers; any of the
 * three. See references/guide/other-profilers.md. */
#ifndef AP_TENSORRT_H
#define AP_TENSORRT_H

#include "json_element.h"
#include "other_reader.h"
#include "pair_map.h"
#include "strpool.h"
#include "time_spread.h"

/** Times of one query; -1 = not told. */
struct ap_trt_query {
    int64_t start_ns, end_ns;                 /* of all of it */
    int64_t compute_start_ns, compute_end_ns; /* on the device */
    int64_t enqueue_ns, h2d_ns, compute_ns, d2h_ns, latency_ns;
};

/** A layer of the profile. */
struct ap_trt_layer {
    struct ap_str name;
    int64_t total_ns, mean_ns, median_ns; /* -1 = not told */
    uint32_t described;                   /* by which description; AP_PAIR_NONE = by none */
};

struct ap_trt_description {
    struct ap_str name, type, precision, tactic;
};

struct ap_trt {
    struct ap_gate *gate;
    struct ap_strpool strings;
    struct ap_trt_query *queries;
    size_t query_count, query_capacity;
    struct ap_trt_layer *layers;
    size_t layer_count, layer_capacity;
    struct ap_trt_description *descriptions;
    size_t description_count, description_capacity;
    int64_t iterations; /* that the layer times are of; -1 = not told */
    unsigned times_files, profile_files, layer_files;
    bool overflowed;
};

/** Read one file; its format says which of the three. @json reads its source. */
AP_MUST_CHECK enum ap_status ap_trt_read(struct ap_trt *trt, struct ap_json_reader *json, const struct ap_other_input *input,
                                         struct ap_notes *notes, struct ap_error *reterr);
/** Give each layer its description: the n-th of a name to the n-th of that name. */
AP_MUST_CHECK enum ap_status ap_trt_join(struct ap_trt *trt, struct ap_error *reterr);
/** The member "layers", null where no file tells of them. */
AP_MUST_CHECK enum ap_status ap_trt_add_layers(struct ap_trt *trt, uint64_t top_n, struct ap_model *model,
                                               struct ap_value *to, struct ap_other_verdict *ret_verdict,
                                               struct ap_error *reterr);

#endif
