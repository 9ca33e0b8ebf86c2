/* SPDX-License-Identifier: MIT
 * rank_group.h - a process group as a text that is the same on each of its ranks: its members in order, "0-7", "0-56:8" for
 * every eighth, "3,5,9"; where they are not told "?" with the group's description or name and its size. */
#ifndef AP_RANK_GROUP_H
#define AP_RANK_GROUP_H

#include "id_map.h"
#include "pair_map.h"
#include "rank_set.h"
#include "trace.h"

/** Groups of one trace: the text of each is made once. */
struct ap_rank_groups {
    const struct ap_trace *trace;
    struct ap_rank_set *set; /* that keeps the texts */
    struct ap_pair_map seen; /* by name and list of ranks */
    struct ap_str *texts;    /* by its number */
    size_t capacity;
    struct ap_id_map by_name; /* of trace->groups */
};

/** Release @groups after a failure too. */
AP_MUST_CHECK enum ap_status ap_rank_groups_init(struct ap_rank_groups *groups, const struct ap_trace *trace,
                                                 struct ap_rank_set *set, struct ap_error *reterr);
/** The texts stay with the set. */
void ap_rank_groups_release(struct ap_rank_groups *groups);
/** The text of the group that a collective names; absent where it names none. */
AP_MUST_CHECK enum ap_status ap_rank_group_of(struct ap_rank_groups *groups, const struct ap_collective *told,
                                              struct ap_str *ret_text, struct ap_error *reterr);

/** Ranks in a text that tells its members; 0 where it does not. */
int64_t ap_group_size(struct ap_text text);
/** Goes through them in order: @at is 0 to begin with. False behind the last one. */
bool ap_group_next(struct ap_text text, size_t *at, int64_t *first, int64_t *last, int64_t *stride);

#endif
