/* SPDX-License-Identifier: MIT
 * rank_group.h - a process group as a text that is the same on each of its ranks: its members in order, "0-7", "0-56:8" for
 * every eighth, "3,5,9"; where they are not told "?" with the group's description or name and its size. Programs make
 * several groups of the same ranks, each with numbers of its own: the second one by name is "0-7 #2". */
#ifndef AP_RANK_GROUP_H
#define AP_RANK_GROUP_H

#include "id_map.h"
#include "pair_map.h"
#include "rank_set.h"
#include "trace.h"

/** Groups of one trace. */
struct ap_rank_groups {
    const struct ap_trace *trace;
    struct ap_rank_set *set; /* that keeps the texts */
    struct ap_pair_map seen; /* by name and list of ranks */
    struct ap_named_ranks {
        struct ap_str name, text;
    } * list; /* by its number */
    size_t capacity;
    struct ap_id_map by_name; /* of trace->groups */
};

/** Of all that the trace lists or its collectives name. Release @groups after a failure too. */
AP_MUST_CHECK enum ap_status ap_rank_groups_init(struct ap_rank_groups *groups, const struct ap_trace *trace,
                                                 struct ap_rank_set *set, struct ap_error *reterr);
/** The texts stay with the set. */
void ap_rank_groups_release(struct ap_rank_groups *groups);
/** The text of the group that a collective of the trace names; absent where it names none. */
struct ap_str ap_rank_group_of(const struct ap_rank_groups *groups, const struct ap_collective *told);

/** The members alone. */
struct ap_text ap_group_members(struct ap_text text);
/** How many ranks it has; 0 where the text does not tell. */
int64_t ap_group_size(struct ap_text text);
/** Goes through them in order: @at is 0 to begin with. False behind the last one. */
bool ap_group_next(struct ap_text text, size_t *at, int64_t *first, int64_t *last, int64_t *stride);

#endif
