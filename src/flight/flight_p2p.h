/* SPDX-License-Identifier: MIT
 * flight_p2p.h - sends and receives between two ranks of a group that are open, or do not add up.
 *
 * Both sides of a transfer end together, so what is open counts from the last one that ended, also where a ring has lost
 * older ones. An entry's state alone tells nothing: those of a batch stay scheduled when they are long done, unless the
 * entry of the batch tells. So open ones count where ends are told at all: of this pair, or nothing behind them has
 * ended. */
#ifndef AP_FLIGHT_P2P_H
#define AP_FLIGHT_P2P_H

#include "flight_groups.h"

/** What one of the two recorded of it. Open: not done, behind the last one that is. */
struct ap_flight_side {
    uint32_t dump, count, open_count;
    uint32_t first_open; /* AP_FLIGHT_NONE = none */
    bool has_done;
};

enum ap_pair_kind {
    AP_PAIR_EVEN,   /* nothing is open, or it is not told */
    AP_PAIR_LACKS,  /* one side has called more often: it waits for the other one */
    AP_PAIR_INSIDE, /* both have called, and it ended on none */
    AP_PAIR_ABSENT  /* one side waits, of the other there is no dump */
};

struct ap_flight_pair {
    uint32_t group, from, to; /* indices of members within the group */
    struct ap_flight_side send, receive;
    enum ap_pair_kind kind;
    bool receiver_waits; /* else the sender: of two that are inside, neither tells more */
};

struct ap_flight_pairs {
    struct ap_gate *gate;
    struct ap_flight_pair *list;
    uint32_t *unclear; /* by dump: its first open one of which the peer is not told, and nothing behind it is done */
    uint32_t count, waiting_count; /* pairs that are not even */
    uint32_t dump_count;
    size_t capacity;
};

/** @pairs may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_flight_pairs_init(struct ap_flight_pairs *pairs, const struct ap_flight_groups *groups,
                                                  struct ap_error *reterr);
void ap_flight_pairs_release(struct ap_flight_pairs *pairs);

/** The side that waits, and the one that it waits for. */
static inline const struct ap_flight_side *ap_flight_pair_waiter(const struct ap_flight_pair *pair)
{
    return pair->receiver_waits ? &pair->receive : &pair->send;
}

static inline const struct ap_flight_side *ap_flight_pair_awaited(const struct ap_flight_pair *pair)
{
    return pair->receiver_waits ? &pair->send : &pair->receive;
}

#endif
