/* SPDX-License-Identifier: MIT
 * rank_calls.h - what a rank called and how long calls of one name and shape took, so that ranks can be compared that do the
 * same work: kernels, copies, operators of the host. */
#ifndef AP_RANK_CALLS_H
#define AP_RANK_CALLS_H

#include "facts.h"
#include "rank_set.h"

/** Calls of a kind that are kept of a rank: those with most time. */
#define AP_RANK_CALLS 24

/** Fills the calls of @to, and what its steps say of theirs. Steps were added. */
AP_MUST_CHECK enum ap_status ap_rank_calls_add(struct ap_rank_set *set, struct ap_rank_summary *to,
                                               const struct ap_facts *facts, int64_t device, struct ap_error *reterr);

#endif
