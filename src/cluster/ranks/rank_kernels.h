/* SPDX-License-Identifier: MIT
 * rank_kernels.h - which kernels a rank ran: how long those of one name and shape took, so that ranks can be compared
 * that do
 * the same work. */
#ifndef AP_RANK_KERNELS_H
#define AP_RANK_KERNELS_H

#include "facts.h"
#include "rank_set.h"

/** Kernels of a rank that are kept: those with most time. */
#define AP_RANK_KERNELS 24

/** Fills the kernels of @to, and what its steps say of theirs. Steps were added. */
AP_MUST_CHECK enum ap_status ap_rank_kernels_add(struct ap_rank_set *set, struct ap_rank_summary *to,
                                                 const struct ap_facts *facts, int64_t device, struct ap_error *reterr);

#endif
