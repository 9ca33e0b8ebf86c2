/* SPDX-License-Identifier: MIT
 * flight_groups.h - process groups over all ranks, and what each rank did in each of them last.
 *
 * A group is told by its name and its members, since one name can mean other members on other ranks. Where no dump tells the
 * members (gloo), they are the ranks that used it; of the default group, all ranks. */
#ifndef AP_FLIGHT_GROUPS_H
#define AP_FLIGHT_GROUPS_H

#include "flight.h"

struct ap_flight_member {
    uint32_t rank;
    uint32_t dump; /* AP_FLIGHT_NONE = there is no dump of it */
};

struct ap_flight_group {
    struct ap_str name, description;
    bool is_recorded; /* a dump tells the members */
    uint32_t first_member, member_count, first_seat, seat_count;
    uint32_t size; /* members, or more, where the library tells how many there are */
};

/** A rank in a group that it used. Sequence numbers are of collectives, -1 = none. */
struct ap_flight_seat {
    uint32_t dump, group;
    uint32_t first_entry;   /* where the group began again: entries before it count no more */
    uint32_t last_entry;    /* of its collectives; AP_FLIGHT_NONE = only p2p */
    uint32_t pending_entry; /* the first that is not done */
    uint32_t pending_count;
    int64_t first_sequence, last_sequence, pending_sequence, done_sequence;
    int64_t met_sequence; /* the last one that ended and ends on nobody before all members have entered it */
    bool is_open;         /* whether its collectives ended is not recorded */
};

enum ap_flight_done { AP_FLIGHT_PENDING, AP_FLIGHT_DONE, AP_FLIGHT_DONE_UNKNOWN };

struct ap_flight_groups {
    struct ap_gate *gate;
    const struct ap_flight *flight;
    struct ap_flight_group *groups;
    struct ap_flight_member *members; /* of a group together, in the order of ranks within it */
    struct ap_flight_seat *seats;     /* of a group together, by dump */
    uint32_t *entry_seats;            /* by entry: its seat */
    uint8_t *done;                    /* by entry: enum ap_flight_done */
    uint32_t *dump_seats;             /* indices of seats, those of a dump together */
    uint32_t *dump_seat_starts;       /* by dump, and one behind the last */
    uint32_t group_count, member_count, seat_count;
    size_t group_capacity, member_capacity, seat_capacity;
    uint32_t world_size;      /* highest rank that is known of, and one */
    uint32_t restarted_count; /* seats whose sequence numbers begin again */
};

/** @groups may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_flight_groups_init(struct ap_flight_groups *groups, const struct ap_flight *flight,
                                                   struct ap_error *reterr);
void ap_flight_groups_release(struct ap_flight_groups *groups);

/** The dump of a rank; AP_FLIGHT_NONE where there is none. */
uint32_t ap_flight_dump_of_rank(const struct ap_flight *flight, uint32_t rank);
/** The seat of a dump in a group; AP_FLIGHT_NONE where it did not use it. */
uint32_t ap_flight_find_seat(const struct ap_flight_groups *groups, uint32_t group, uint32_t dump);

#endif
