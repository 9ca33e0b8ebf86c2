/* SPDX-License-Identifier: MIT
 * op_stats.h - totals and self times by row name, and which thread is busiest.
 * Self time of a row: the time during which it is the innermost open one among the operator rows of its thread; so the
 * self times of a thread add up to the union of its rows, also where rows cross. */
#ifndef AP_OP_STATS_H
#define AP_OP_STATS_H

#include "row_order.h"

/** Columns by name id (index 0 is unused), up to the last one that a row of them has. Plain sums hold every row, self times
 *  those that are placed in time. */
struct ap_name_totals {
    uint32_t *count;
    int64_t *total_ns;
    int64_t *self_ns;              /* children: operator rows */
    int64_t *self_excl_runtime_ns; /* children: operator rows and runtime calls; NULL = without these self_ns is the same */
};

struct ap_op_stats {
    struct ap_gate *gate;
    uint32_t name_count;             /* ids 1..name_count; those above have no such rows */
    bool alike;                      /* cpu and operators are the same rows and share their columns */
    struct ap_name_totals cpu;       /* ph X and a category with "cpu": the original script's rows */
    struct ap_name_totals operators; /* rows of kind operator */
    uint64_t cpu_row_count, operator_row_count;
    int64_t operator_self_ns;
    uint64_t short_count; /* operator rows with less than AP_SHORT_SELF_NS of self time */
    int64_t short_self_ns;
    uint32_t thread_count; /* tracks below it; the others have no such rows */
    uint32_t busiest;      /* track with the longest union of operator rows */
    uint64_t straddle_count, mismatch_count;
    bool overflowed;
};

#define AP_SHORT_SELF_NS 10000

/** All but self times, the busiest thread and what is counted with them. */
AP_MUST_CHECK enum ap_status ap_op_stats_init(struct ap_op_stats *stats, const struct ap_trace *trace, struct ap_gate *gate,
                                              struct ap_error *reterr);
/** The rest, after it. */
AP_MUST_CHECK enum ap_status ap_op_stats_nest(struct ap_op_stats *stats, const struct ap_trace *trace,
                                              const struct ap_row_order *order, struct ap_error *reterr);
/** What is told of names is not needed any more: of millions it is large. */
void ap_op_stats_forget_names(struct ap_op_stats *stats);
void ap_op_stats_release(struct ap_op_stats *stats);

#endif
