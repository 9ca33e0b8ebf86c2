/* SPDX-License-Identifier: MIT
 * flight_order.h - the collectives by group, sequence number and rank.
 *
 *     group 0   [ sequence 7: rank 0 | rank 1 | rank 3 ][ sequence 8: rank 0 | ...          a run in brackets
 *                             ^ a slot: what one rank entered there, several entries where they were coalesced */
#ifndef AP_FLIGHT_ORDER_H
#define AP_FLIGHT_ORDER_H

#include "flight_groups.h"

struct ap_flight_order {
    struct ap_gate *gate;
    const struct ap_flight_groups *groups;
    uint32_t *entries;
    uint32_t *group_starts; /* by group, and one behind the last: indices of entries */
    uint32_t count;
};

/** All entries of one sequence number of a group: [first, end) of order->entries. */
struct ap_flight_run {
    uint32_t group, first, end;
    int64_t sequence;
};

struct ap_flight_slot {
    uint32_t dump, first, count; /* of order->entries */
    uint64_t operation;          /* equal for equal operations */
    int64_t size;                /* numbers that all ranks have alike; -1 = none are compared */
    uint64_t type;               /* equal for equal types; 0 = not told */
    enum ap_flight_done done;
};

/** @order may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_flight_order_init(struct ap_flight_order *order, const struct ap_flight_groups *groups,
                                                  struct ap_error *reterr);
void ap_flight_order_release(struct ap_flight_order *order);

/** The run of @group that begins at *at, which then stands behind it; false behind the last. Begin with
 *  order->group_starts[group]. */
bool ap_flight_next_run(const struct ap_flight_order *order, uint32_t group, uint32_t *at, struct ap_flight_run *ret_run);
/** Likewise the slots of a run; begin with run->first. */
bool ap_flight_next_slot(const struct ap_flight_order *order, const struct ap_flight_run *run, uint32_t *at,
                         struct ap_flight_slot *ret_slot);
/** What a dump entered at a sequence number of a group; false where it did not. */
bool ap_flight_find_slot(const struct ap_flight_order *order, uint32_t group, int64_t sequence, uint32_t dump,
                         struct ap_flight_slot *ret_slot);

#endif
