/* SPDX-License-Identifier: MIT
 * cluster_parts.h - inside the room: what writes the keys of the report. */
#ifndef AP_CLUSTER_PARTS_H
#define AP_CLUSTER_PARTS_H

#include "cluster.h"
#include "rank_clocks.h"
#include "rank_read.h"
#include "run_verdict.h"

/** All that was found of a run. */
struct ap_run_found {
    const struct ap_run_files *files;
    const struct ap_rank_failures *failures;
    const struct ap_cluster_options *options;
    const struct ap_run_view *view;
    const struct ap_matching *matching;
    const struct ap_delays *delays;
    const struct ap_clocks *clocks;
    const struct ap_run_verdict *verdict;
};

/** "rank 5 on node3", of the model; the host where it is known. */
struct ap_text ap_rank_label(const struct ap_run_view *view, size_t index, struct ap_model *model);

/* By file part_cluster_<name>.c. */

/** Adds files, files_left_out. */
AP_MUST_CHECK enum ap_status ap_cluster_add_files(const struct ap_run_found *found, struct ap_model *model,
                                                  struct ap_value *to, struct ap_error *reterr);
/** Adds sizes, steps, matching, waiting, time. */
void ap_cluster_add_summary(const struct ap_run_found *found, struct ap_model *model, struct ap_value *to);
/** Adds verdict, late, link. */
void ap_cluster_add_late(const struct ap_run_found *found, struct ap_model *model, struct ap_value *to);
/** Adds ranks, steps_of_ranks, worst. */
AP_MUST_CHECK enum ap_status ap_cluster_add_ranks(const struct ap_run_found *found, struct ap_model *model,
                                                  struct ap_value *to, struct ap_error *reterr);

/** Adds step. */
AP_MUST_CHECK enum ap_status ap_cluster_add_step(const struct ap_run_found *found, struct ap_model *model,
                                                 struct ap_value *to, struct ap_error *reterr);
/** Adds memory. */
AP_MUST_CHECK enum ap_status ap_cluster_add_memory(const struct ap_run_found *found, struct ap_model *model,
                                                   struct ap_value *to, struct ap_error *reterr);
/** Adds clocks. */
AP_MUST_CHECK enum ap_status ap_cluster_add_clocks(const struct ap_run_found *found, struct ap_model *model,
                                                   struct ap_value *to, struct ap_error *reterr);

#endif
