/* SPDX-License-Identifier: MIT
 * autograd.h - backward nodes and the forward operators that made them, by sequence number. */
#ifndef AP_AUTOGRAD_H
#define AP_AUTOGRAD_H

#include "host_work.h"

struct ap_autograd_pair {
    uint32_t forward_name, backward_row; /* a row that has the node's name; all rows of a pair have it */
    uint64_t count;
    int64_t forward_host_ns, backward_host_ns;
    uint32_t first_node, last_node; /* a chain in nodes */
};

struct ap_autograd_node {
    uint32_t row;      /* the outer one of a node's rows */
    uint32_t name_row; /* the inner one, which has the plain name */
    uint32_t producer; /* AP_NO_ROW = not in the trace */
    bool is_first;     /* of the nodes of its producer */
    uint32_t next;     /* node of the same pair; AP_PAIR_NONE = last */
};

struct ap_autograd {
    struct ap_gate *gate;
    struct ap_autograd_node *nodes;
    size_t node_count, node_capacity;
    uint64_t linked_count;
    uint64_t ambiguous_count;    /* sequence numbers with backward nodes of several names */
    struct ap_pair_map pair_map; /* (forward name, backward name) */
    struct ap_autograd_pair *pairs;
    size_t pair_capacity;
    struct ap_chosen_rows chosen; /* of producers and outer rows: their GPU work is filled in later */
};

/** @autograd may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_autograd_init(struct ap_autograd *autograd, const struct ap_trace *trace,
                                              const struct ap_row_order *order, const struct ap_host_tree *tree,
                                              struct ap_gate *gate, struct ap_error *reterr);
void ap_autograd_release(struct ap_autograd *autograd);

/** The name of a backward row without what the engine puts before it. */
struct ap_text ap_autograd_node_name(const struct ap_trace *trace, uint32_t row);

#endif
