/* SPDX-License-Identifier: MIT
 * host_tree.h - which host row was open when another one began: operators, annotations, runtime calls and Python frames
 * of a thread in one tree. Every question of the kind "who caused this" walks up in it. */
#ifndef AP_HOST_TREE_H
#define AP_HOST_TREE_H

#include "row_order.h"

/** What is nested deeper is no program's stack: walks up end there, so that none is quadratic on made-up input. */
#define AP_NESTING_MAX 1000

struct ap_host_tree {
    struct ap_gate *gate;
    uint32_t *parent; /* by row, as ap_host_parent(); NULL = none has one */
    size_t count;
};

/** Finds the parent of each host row, track by track. @tree may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_host_tree_init(struct ap_host_tree *tree, const struct ap_trace *trace,
                                               const struct ap_row_order *order, struct ap_gate *gate,
                                               struct ap_error *reterr);
void ap_host_tree_release(struct ap_host_tree *tree);

/** The innermost host row of its track that was open when @row began; AP_NO_ROW = none. A Python function is open no longer
 *  than the one that called it. */
static inline uint32_t ap_host_parent(const struct ap_host_tree *tree, uint32_t row)
{
    return tree->parent ? tree->parent[row] : AP_NO_ROW;
}

/** The nearest row around @row (which may be AP_NO_ROW) of one of these kinds, still open when @row began (rows may
 *  cross); AP_NO_ROW where there is none within AP_NESTING_MAX rows. */
uint32_t ap_host_around(const struct ap_host_tree *tree, const struct ap_trace *trace, uint32_t row, uint32_t kinds);

/** The nearest row around @row that contains it: rows that it outlives by more than half of its own time are passed over (a
 *  profiler's own frames end soon behind the start of the range that they open). AP_NO_ROW where there is none. */
uint32_t ap_host_container(const struct ap_host_tree *tree, const struct ap_trace *trace, uint32_t row);

#endif
