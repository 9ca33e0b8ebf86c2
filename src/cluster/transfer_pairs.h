/* SPDX-License-Identifier: MIT
 * transfer_pairs.h - sends and receives of two ranks matched: the k-th send of a step from one rank to another is the k-th
 * receive of that step there. Whoever came first waits, so that the shorter of the two is the transfer. */
#ifndef AP_TRANSFER_PAIRS_H
#define AP_TRANSFER_PAIRS_H

#include "rank_matching.h"

struct ap_transfer_pair {
    uint32_t ranks[2]; /* numbers in the view, the lower one first: of both directions */
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
