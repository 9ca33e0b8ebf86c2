/* SPDX-License-Identifier: MIT
 * flight_waits.h - who waits for whom, over all groups at once.
 *
 *     rank 0, 1 --wait in--> group "dp" #6 --for--> rank 2 --waits in--> group "tp" #4 --for--> rank 3: waits for nobody
 *
 * A group waits where a collective of it is pending: for the members that have not entered it, and for those whose device
 * has not come to it, since it still waits in what they entered before. Ranks that are waited for and wait for nobody are
 * the roots; groups that wait for nobody hang by themselves; what waits in a circle waits forever. */
#ifndef AP_FLIGHT_WAITS_H
#define AP_FLIGHT_WAITS_H

#include "flight_order.h"
#include "flight_p2p.h"

/** Where a member stands at the collective that its group waits in. */
enum ap_flight_place {
    AP_PLACE_UNKNOWN, /* its older entries are missing */
    AP_PLACE_EARLIER, /* its dump is older than those of others: see struct ap_flight_waits */
    AP_PLACE_ABSENT,  /* there is no dump of it */
    AP_PLACE_MISSING, /* it has not entered */
    AP_PLACE_PENDING, /* it has, and waits */
    AP_PLACE_DONE,    /* it went through */
    AP_PLACE_COUNT_
};

struct ap_flight_wait {
    int64_t sequence; /* of the first collective that is pending; -1 = none is */
    uint32_t entry;   /* of a rank that waits in it */
    uint32_t counts[AP_PLACE_COUNT_];
    bool is_assumed;  /* whether anything ended is not recorded: the ranks that are ahead are taken to wait */
    bool has_through; /* some of those it waits for wait in something else first */
    uint32_t level;   /* 0 = nothing is behind it but its own members; AP_FLIGHT_NONE = not reached */
    uint32_t through; /* the rank (dump) that it waits for which itself waits; AP_FLIGHT_NONE = none */
    uint32_t behind;  /* the group in which that one waits */
    uint32_t circle;  /* a number that the nodes of one circle share; AP_FLIGHT_NONE = in none */
};

struct ap_flight_rank_wait {
    uint32_t seat;   /* in which it waits first; AP_FLIGHT_NONE = in none */
    uint32_t entry;  /* with which; AP_FLIGHT_NONE = with none. It may be a send or receive */
    bool is_awaited; /* a group or a rank waits for it */
    bool is_root;    /* and it waits for nobody */
    uint32_t pair;   /* the transfer that it waits in first; AP_FLIGHT_NONE = in none */
    uint32_t
        peer; /* the rank (dump) whose send or receive that lacks, or which is held up before it; AP_FLIGHT_NONE = none */
    uint32_t circle;
};

struct ap_flight_waits {
    struct ap_gate *gate;
    const struct ap_flight_groups *groups;
    struct ap_flight_wait *list;       /* by group */
    uint8_t *places;                   /* by member, as groups->members: enum ap_flight_place */
    uint8_t *is_older;                 /* by dump: on others ended what it entered only after it was written */
    struct ap_flight_rank_wait *ranks; /* by dump */
    uint32_t circle_count, pending_groups;
};

/** @waits may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_flight_waits_init(struct ap_flight_waits *waits, const struct ap_flight_order *order,
                                                  const struct ap_flight_pairs *pairs, struct ap_error *reterr);
void ap_flight_waits_release(struct ap_flight_waits *waits);

#endif
