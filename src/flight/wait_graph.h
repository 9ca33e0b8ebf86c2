/* SPDX-License-Identifier: MIT
 * wait_graph.h - arrows between numbered nodes: what can be reached, and what lies on a circle. Knows nothing of ranks. */
#ifndef AP_WAIT_GRAPH_H
#define AP_WAIT_GRAPH_H

#include "mem.h"

#define AP_NODE_NONE UINT32_MAX

struct ap_arrow {
    uint32_t from, to;
};

struct ap_wait_graph {
    struct ap_gate *gate;
    struct ap_arrow *arrows;
    uint32_t arrow_count, node_count;
    size_t arrow_capacity;
    uint32_t *starts, *targets; /* by node: where its arrows lead */
};

/** Without arrows. */
void ap_wait_graph_init(struct ap_wait_graph *graph, struct ap_gate *gate, uint32_t node_count);
void ap_wait_graph_release(struct ap_wait_graph *graph);
/** One more arrow, which may be there already. */
AP_MUST_CHECK enum ap_status ap_wait_graph_add(struct ap_wait_graph *graph, uint32_t from, uint32_t to,
                                               struct ap_error *reterr);
/** After the last arrow: fill in starts and targets; @reversed: by where they come from. May be called again. */
AP_MUST_CHECK enum ap_status ap_wait_graph_index(struct ap_wait_graph *graph, bool reversed, struct ap_error *reterr);

/** By node: a number that the nodes of one circle share, AP_NODE_NONE outside of any. @circles has room for all nodes. */
AP_MUST_CHECK enum ap_status ap_wait_graph_circles(const struct ap_wait_graph *graph, uint32_t *circles, uint32_t *ret_count,
                                                   struct ap_error *reterr);

#endif
