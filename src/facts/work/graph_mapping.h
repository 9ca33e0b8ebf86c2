/* SPDX-License-Identifier: MIT
 * graph_mapping.h - which operators launched the kernels of a graph, as another trace shows it: that of the capture, or of a
 * run without graphs. */
#ifndef AP_GRAPH_MAPPING_H
#define AP_GRAPH_MAPPING_H

#include "call_kind.h"
#include "links.h"

/** A kernel as it was launched there; names and signatures are of the trace that the mapping is for. */
struct ap_mapped_kernel {
    uint32_t kernel;                    /* name; 0 = none */
    uint32_t op;                        /* name of the operator whose work it does; 0 = unknown */
    uint32_t line;                      /* name of the user's Python frame; 0 = unknown */
    uint32_t call;                      /* kernels of one call of the operator have the same number; 0 = unknown */
    struct ap_str signature, arguments; /* of the call */
};

/** Kernels in the order in which a thread launched them: while a graph was captured, or all others. */
struct ap_mapped_sequence {
    size_t first, count; /* in kernels */
    bool is_capture;
};

struct ap_graph_mapping {
    struct ap_gate *gate;
    struct ap_mapped_kernel *kernels;
    size_t count, capacity;
    struct ap_mapped_sequence *sequences;
    size_t sequence_count, sequence_capacity;
};

/** @from: the other trace, with what is found of it. Its names enter @whole, which must not be frozen. @mapping may be
 *  released after a failure too. */
AP_MUST_CHECK enum ap_status ap_graph_mapping_init(struct ap_graph_mapping *mapping, struct ap_trace *whole,
                                                   const struct ap_trace *from, const struct ap_row_order *order,
                                                   const struct ap_host_tree *tree, const struct ap_links *links,
                                                   const struct ap_call_kinds *calls, struct ap_gate *gate,
                                                   struct ap_error *reterr);
void ap_graph_mapping_release(struct ap_graph_mapping *mapping);

#endif
