/* SPDX-License-Identifier: MIT
 * rank_share.h - the files of a run read by several processes. Who reports finds the files and tells each helper which to
 * read: of each its kind, rank, size, host and path, every one ended by a NUL. A helper answers with two JSON documents:
 * what went wrong, then what it kept of the ranks (rank_json.h). */
#ifndef AP_RANK_SHARE_H
#define AP_RANK_SHARE_H

#include "out.h"
#include "rank_read.h"
#include "rank_spread.h"

/** Brings a share to a helper. */
AP_MUST_CHECK enum ap_status ap_share_give(const struct ap_helpers *helpers, size_t helper, const struct ap_run_files *files,
                                           struct ap_share share, struct ap_gate *gate, struct ap_error *reterr);
/** Adds what the helper found to @set and @failures. Where it gives no whole answer, its files are failures. It fails where
 *  reading them here would: without memory. */
AP_MUST_CHECK enum ap_status ap_share_take(const struct ap_helpers *helpers, size_t helper, struct ap_share share,
                                           struct ap_rank_set *set, struct ap_rank_failures *failures,
                                           struct ap_error *reterr);

/** The part of the helper: reads the files of @share and writes the answer. */
AP_MUST_CHECK enum ap_status ap_share_answer(struct ap_text share, const struct ap_cluster_options *options,
                                             struct ap_gate *gate, struct ap_sink sink, struct ap_error *reterr);

#endif
