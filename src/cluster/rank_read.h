/* SPDX-License-Identifier: MIT
 * rank_read.h - reads the traces and summaries of a run, several at a time; of each trace only its summary stays. */
#ifndef AP_RANK_READ_H
#define AP_RANK_READ_H

#include "cluster.h"
#include "rank_set.h"

/** Why a file gave nothing; by number in the files. NULL = it gave something, or is no input. */
struct ap_rank_failures {
    struct ap_arena arena;
    const char **why; /* one for each file */
    size_t count;
};

/** Reads all traces and summaries of @files into @set, which was initialized and is finished then. A file that cannot be
 *  read is noted in @failures;
 *  it fails only without memory. Release both after a failure too. */
AP_MUST_CHECK enum ap_status ap_rank_read_all(struct ap_rank_set *set, struct ap_rank_failures *failures,
                                              const struct ap_run_files *files, const struct ap_cluster_options *options,
                                              struct ap_error *reterr);
void ap_rank_failures_release(struct ap_rank_failures *failures);

#endif
