/* SPDX-License-Identifier: MIT
 * flight_p2p.h - sends and receives between two ranks of a group that do not add up. An entry's state alone tells nothing:
 * batches stay scheduled when they are long done. */
#ifndef AP_FLIGHT_P2P_H
#define AP_FLIGHT_P2P_H

#include "flight_groups.h"

struct ap_flight_pair {
    uint32_t group, from, to; /* indices of members within the group */
    uint32_t from_dump, to_dump;
    uint32_t sends, receives;               /* recorded */
    uint32_t pending_send, pending_receive; /* the first entry behind the last one that is done; AP_FLIGHT_NONE = none */
    bool is_unmatched; /* both dumps are whole, the numbers differ, and the last one of the larger side is not done */
};

struct ap_flight_pairs {
    struct ap_gate *gate;
    struct ap_flight_pair *list;
    uint32_t count, unmatched_count;
    size_t capacity;
};

/** @pairs may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_flight_pairs_init(struct ap_flight_pairs *pairs, const struct ap_flight_groups *groups,
                                                  struct ap_error *reterr);
void ap_flight_pairs_release(struct ap_flight_pairs *pairs);

/** The dump that waits, and the one that it waits for, of an unmatched pair. */
uint32_t ap_flight_pair_waiter(const struct ap_flight_pair *pair);
uint32_t ap_flight_pair_awaited(const struct ap_flight_pair *pair);
/** The entry with which it waits. */
uint32_t ap_flight_pair_entry(const struct ap_flight_pair *pair);

#endif
