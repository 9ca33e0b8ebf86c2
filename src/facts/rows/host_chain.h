/* SPDX-License-Identifier: MIT
 * host_chain.h - who asked for a call: the operators around it, from the innermost to the one that the program called, and
 * the program's own Python line where it was recorded. */
#ifndef AP_HOST_CHAIN_H
#define AP_HOST_CHAIN_H

#include "host_tree.h"
#include "user_frame.h"

struct ap_host_chains {
    const struct ap_trace *trace;
    const struct ap_host_tree *tree;
    struct ap_user_frames frames;
};

/** Rows; AP_NO_ROW = none. */
struct ap_host_chain {
    uint32_t leaf; /* innermost operator */
    uint32_t op;   /* outermost operator of aten (of any kind where there is none of aten) on the way from there to the
                    * first annotation or Python frame; where there is no operator at all, that annotation */
    uint32_t line; /* innermost Python frame that is the program's own */
};

/** Borrows @trace and @tree; no row is looked at yet. @chains may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_host_chains_init(struct ap_host_chains *chains, const struct ap_trace *trace,
                                                 const struct ap_host_tree *tree, struct ap_gate *gate,
                                                 struct ap_error *reterr);
void ap_host_chains_release(struct ap_host_chains *chains);

/** Of @row, itself included where it is an operator. */
struct ap_host_chain ap_host_chain_of(struct ap_host_chains *chains, uint32_t row);

/** The program's own Python line that calls the model around @row: the innermost one outside of all modules; AP_NO_ROW = no
 *  module or no such line was recorded. */
uint32_t ap_host_caller_of_model(struct ap_host_chains *chains, uint32_t row);

/** The rows around @row that are still open when it begins, innermost first, for loops: AP_NO_ROW after the last.
 *  @row may be AP_NO_ROW. @start_ns: of the row that the walk began with. @left: rows that may still be passed, from
 *  AP_NESTING_MAX on; those that have ended count too, as there may be any number of them. */
static inline uint32_t ap_host_next_around(const struct ap_host_tree *tree, const struct ap_trace *trace, uint32_t row,
                                           int64_t start_ns, int *left)
{
    do
        row = row == AP_NO_ROW || --*left <= 0 ? AP_NO_ROW : ap_host_parent(tree, row);
    while (row != AP_NO_ROW && ap_row_end_ns(trace, row) <= start_ns);
    return row;
}

#endif
