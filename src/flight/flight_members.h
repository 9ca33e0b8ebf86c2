/* SPDX-License-Identifier: MIT
 * flight_members.h - inside the flight room: who is in a group. */
#ifndef AP_FLIGHT_MEMBERS_H
#define AP_FLIGHT_MEMBERS_H

#include "flight_groups.h"

/** Members of the group from "[0, 1, 2]". */
AP_MUST_CHECK enum ap_status ap_flight_members_listed(struct ap_flight_groups *groups, struct ap_flight_group *group,
                                                      struct ap_text ranks, struct ap_error *reterr);
/** Members from who used it; its seats are there. @hidden_count: as below. */
AP_MUST_CHECK enum ap_status ap_flight_members_inferred(struct ap_flight_groups *groups, struct ap_flight_group *group,
                                                        uint32_t hidden_count, struct ap_error *reterr);

/** How many ranks above the highest one there are without a dump, as far as gloo gives them away: it writes no members, but
 *  how many its last group has, under no name. Believed only where that is right for the groups of the other dumps,
 *  and these divide the ranks. */
uint32_t ap_flight_hidden_ranks(const struct ap_flight_groups *groups);

#endif
