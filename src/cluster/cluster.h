/* SPDX-License-Identifier: MIT
 * cluster.h - a run of many ranks, read together: which rank, which host, which collective, why.
 *
 *     files -- each trace -- facts -- rank summary --+   (in parallel; the trace is dropped when its summary is made)
 *       +----- summaries of other machines ----------+-- one set of summaries -- matching -- delays -- clocks
 *                                                                                    +-- stragglers, causes -- cluster.*
 *
 * A rank summary (rank_summary.h) holds whole numbers alone: of each step what the time was spent on, of each collective
 * when it began and ended and what the rank did since the one before. A set of them is put in one order and has no two that
 * are equal, so that merging sets is a union: whatever the order and the tree, the bytes are the same. All that is told
 * about the run is made from such a set, so a report from summaries is the report from the traces.
 *
 * Waiting needs no clocks. In a collective that nobody leaves before all have come, the one with the shortest kernel came
 * last: others waited by as much as theirs are longer. What follows from it:
 *   lag of a rank      = longest duration - its duration: how much later it came than the first
 *   waiting of a rank  = its duration - the shortest; exposed as far as no other kernel of the device hid it
 * Who came late may have waited itself before, for another rank in another group. So each rank carries the delay that is
 * explained already: the waiting it took over from a collective, with the rank that is to blame for it. Lateness beyond it
 * is its own. Collectives are gone through in an order in which those of each rank come as they came (rank_delays.c).
 *
 * Own lateness is explained by what the rank did since its previous collective, against what others of its role did: the
 * class of time with the largest excess. Longer kernels are told from more work by the shapes of the kernels of the step.
 *
 * Statistics go by the number of ranks, and no finding is made of what is small. Clocks are wanted for pictures and for
 * collectives whose ends are not common; one offset for each host, with an error bar (rank_clocks.h).
 *
 * All passes are linear in ranks and collectives but for sorting: there is no table of ranks by ranks. */
#ifndef AP_CLUSTER_H
#define AP_CLUSTER_H

#include "analyze_profile/helpers.h"
#include "model_build.h"
#include "run_files.h"

struct ap_trace;

struct ap_cluster_options {
    const struct ap_opener *opener;   /* NULL = the file system */
    const struct ap_helpers *helpers; /* NULL = none: this process reads all */
    struct ap_trace *merged;          /* the only trace, of several ranks, read already; used up. NULL = all are read here */
    unsigned jobs;                    /* traces that are read at a time; 0 = as many as there are processors */
    uint64_t top_n;                   /* bound of lists; 0 = all */
    uint32_t max_depth;
    bool salvage;
};

struct ap_rank_set;

/** Reads the files of a run into @set, which was initialized, and adds the key "cluster" to the report. */
AP_MUST_CHECK enum ap_status ap_cluster_analyze(const struct ap_run_files *files, const struct ap_cluster_options *options,
                                                struct ap_rank_set *set, struct ap_model *model, struct ap_error *reterr);

#endif
