/* SPDX-License-Identifier: MIT
 * graph_runs.h - the launches of GPU graphs with their kernels, those alike together, and what a mapping tells of these:
 * in a replay itself no kernel has an operator. */
#ifndef AP_GRAPH_RUNS_H
#define AP_GRAPH_RUNS_H

#include "graph_mapping.h"

struct ap_graph_launch {
    uint32_t row;   /* the call */
    uint32_t graph; /* in graphs */
    size_t first;   /* in places */
    uint32_t count; /* kernels */
};

/** How the kernels of a graph were found in the mapping. */
enum ap_graph_match {
    AP_GRAPH_unmatched,
    AP_GRAPH_by_capture,  /* a captured graph has the same names in the same order */
    AP_GRAPH_by_sequence, /* they stand so among other kernels */
    AP_GRAPH_by_count,    /* a captured graph has as many of each name: the n-th of one is the n-th of the other */
    AP_GRAPH_MATCH_COUNT_
};

/** Launches whose kernels have the same names in the same order. */
struct ap_graph_kind {
    size_t launch; /* the first one of them */
    uint32_t launches, kernels;
    int64_t total_ns; /* of kernels, of all launches */
    enum ap_graph_match match;
    bool shapes_differ; /* several captured graphs fit, and differ in the shapes that are then left out */
    size_t mapped;      /* where matched: the first of its kernels in mapped */
};

struct ap_graph_runs {
    struct ap_gate *gate;
    size_t *places; /* in links->row, launch by launch in order of start */
    size_t place_count;
    struct ap_graph_launch *launches;
    size_t launch_count;
    struct ap_graph_kind *kinds;
    size_t kind_count, kind_capacity;
    struct ap_mapped_kernel *mapped; /* of matched kinds, kernel by kernel */
    size_t mapped_count, mapped_capacity;
    size_t matched_kernels; /* of all launches */
    bool overflowed;
};

/** @mapping NULL: none was given. @runs may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_graph_runs_init(struct ap_graph_runs *runs, const struct ap_trace *trace,
                                                const struct ap_links *links, const struct ap_call_kinds *calls,
                                                const struct ap_graph_mapping *mapping, struct ap_gate *gate,
                                                struct ap_error *reterr);
void ap_graph_runs_release(struct ap_graph_runs *runs);

/** What the mapping tells of a kernel of a launch; NULL = nothing. */
static inline const struct ap_mapped_kernel *ap_graph_mapped(const struct ap_graph_runs *runs,
                                                             const struct ap_graph_launch *launch, uint32_t kernel)
{
    const struct ap_graph_kind *kind = &runs->kinds[launch->graph];
    return kind->match == AP_GRAPH_unmatched ? NULL : &runs->mapped[kind->mapped + kernel];
}

#endif
