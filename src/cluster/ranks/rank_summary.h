/* SPDX-License-Identifier: MIT
 * rank_summary.h - what stays of one rank's trace. */
#ifndef AP_RANK_SUMMARY_H
#define AP_RANK_SUMMARY_H

#include "facts.h"
#include "rank_set.h"

/** Appends to @set the summary of a trace. @facts were just initialized, none found: those that are needed are found
 *  here. @rank
 *  is what the trace tells, or its file's name; @path and @host are those of the file. */
AP_MUST_CHECK enum ap_status ap_rank_summarize(struct ap_rank_set *set, struct ap_facts *facts, int64_t rank,
                                               struct ap_text path, struct ap_text host, struct ap_error *reterr);

#endif
