/* SPDX-License-Identifier: MIT
 * layers.h - the tree of a model's modules, each with its work forward and backward: by class and by what is around it, so
 * that the many equal layers of a model are one. What a layer costs itself, without the layers in it. */
#ifndef AP_LAYERS_H
#define AP_LAYERS_H

#include "autograd.h"
#include "compute_calls.h"
#include "roofline.h"

struct ap_layer {
    uint32_t parent;    /* layer around it; AP_PAIR_NONE = outermost */
    uint32_t class_id;  /* of classes: "Linear" */
    uint32_t instances; /* modules of different names */
    uint32_t calls;
    int64_t host_ns; /* of the modules' rows, less those of layers in it */
    int64_t forward_device_ns, backward_device_ns;
    double forward_flops, backward_flops; /* matrix operations */
    double lost_ns;                       /* beyond good kernels */
    double allocated_bytes;               /* of all allocations while it was the innermost one */
    double weights;                       /* elements that its calls met, of all calls; see ap_layer_parameters() */
};

struct ap_layers {
    struct ap_gate *gate;
    struct ap_strpool classes;
    struct ap_layer *layers; /* a layer stands behind the one around it */
    uint32_t count;
    size_t capacity;
    struct ap_layer outside; /* what belongs to none: device time, operations, losses, allocations */
    bool knows_memory;       /* allocations were recorded */
    bool overflowed;
};

/** Without layers where the trace has no rows of modules. @rooflines: by group of @compute; NULL = nothing is lost. @layers
 *  may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_layers_init(struct ap_layers *layers, const struct ap_facts *facts,
                                            const struct ap_compute *compute, const struct ap_roofline *rooflines,
                                            struct ap_gate *gate, struct ap_error *reterr);
void ap_layers_release(struct ap_layers *layers);

/** An estimate: weights that calls met in forward, for each of its modules once. */
double ap_layer_parameters(const struct ap_layer *layer);

#endif
