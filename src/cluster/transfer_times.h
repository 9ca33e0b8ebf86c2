/* SPDX-License-Identifier: MIT
 * transfer_times.h - how long collectives went on after the last of the given ranks had come: the transfer, and the waiting
 * for ranks that are absent. */
#ifndef AP_TRANSFER_TIMES_H
#define AP_TRANSFER_TIMES_H

#include "run_verdict.h"

/** Fills what the verdict says of transfers: its link, and of absent ranks. */
AP_MUST_CHECK enum ap_status ap_transfers_judge(struct ap_run_verdict *verdict, struct ap_error *reterr);

/* ---- inside the room: transfers of two ranks, found in transfer_pairs.c ---- */

struct ap_transfer_pair {
    uint32_t ranks[2]; /* numbers in the view: who sends, who receives */
    int64_t bytes, dur_ns;
};

struct ap_transfer_pairs {
    struct ap_transfer_pair *list;
    size_t count, capacity;
};

/** Matches the transfers of the compared steps; of a step in which the counts differ none. Free the list after a failure
 *  too. */
AP_MUST_CHECK enum ap_status ap_transfer_pairs_find(struct ap_transfer_pairs *pairs, const struct ap_matching *matching,
                                                    struct ap_error *reterr);

#endif
