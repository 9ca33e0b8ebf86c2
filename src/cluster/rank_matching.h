/* SPDX-License-Identifier: MIT
 * rank_matching.h - which collectives of different ranks are one: by group and number where the trace tells it, else by
 * group, step, operation and order; never by size, which differs between ranks in uneven exchanges. */
#ifndef AP_RANK_MATCHING_H
#define AP_RANK_MATCHING_H

#include "run_view.h"

/** One rank's part in a collective. */
struct ap_match_member {
    uint32_t rank;       /* number in the view */
    uint32_t collective; /* number among those of the rank */
};

struct ap_match {
    uint32_t first, count; /* of members, by rank */
    int64_t step;          /* -1 = none */
    int64_t bytes;         /* the largest that a member tells; -1 = unknown */
    int64_t size;          /* members that the group has, given or not; 0 = not known */
    struct ap_str group;
    uint8_t operation;
    bool on_host;
    bool ends_together; /* nobody leaves it before all have come */
    bool has_root;      /* one sends to all or gathers from all, and the others do not wait for each other */
};

enum ap_unmatched {
    AP_UNMATCHED_transfers, /* sends and receives: of two ranks, and not compared */
    AP_UNMATCHED_alone,     /* no other rank that is given has recorded it */
    AP_UNMATCHED_counts,    /* without numbers, and the ranks have recorded different counts in the step */
    AP_UNMATCHED_differ,    /* of one number, but the ranks disagree on the operation or its size */
    AP_UNMATCHED_steps,     /* outside of the steps that all have */
    AP_UNMATCHED_groups,    /* no trace tells the group, and it is not that of all ranks */
    AP_UNMATCHED_COUNT_
};

struct ap_matching {
    struct ap_gate *gate;
    const struct ap_run_view *view;
    struct ap_match_member *members;
    size_t member_count, member_capacity;
    struct ap_match *matches;
    size_t count, capacity;
    uint64_t recorded_count;  /* collectives of all ranks */
    uint64_t by_number_count; /* of members, those that were matched by number */
    uint64_t unmatched[AP_UNMATCHED_COUNT_];
    bool may_hide_groups;        /* no trace tells groups, all were taken for one, and it may be that they are not */
    uint64_t transfer_count;     /* sends and receives in the steps that are compared: */
    int64_t transfer_exposed_ns; /* time in which a rank had nothing but them */
};

/** Matches the collectives of the view. Release @matching after a failure too. */
AP_MUST_CHECK enum ap_status ap_matching_init(struct ap_matching *matching, const struct ap_run_view *view,
                                              struct ap_error *reterr);
void ap_matching_release(struct ap_matching *matching);

/* Inside the room: a part of ap_matching_init(), in match_groups.c. */

/** Takes the matches without a group out of @matching, where they cannot be of all ranks, and counts their members as
 *  AP_UNMATCHED_groups. */
AP_MUST_CHECK enum ap_status ap_match_groups_check(struct ap_matching *matching, struct ap_error *reterr);

static inline const struct ap_rank_collective *ap_match_row(const struct ap_matching *matching, size_t member)
{
    const struct ap_match_member *it = &matching->members[member];
    return &ap_view_rank(matching->view, it->rank)->collectives[it->collective];
}

#endif
