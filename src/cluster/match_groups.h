/* SPDX-License-Identifier: MIT
 * match_groups.h - collectives whose groups no trace tells: are they of all ranks, as was assumed?
 *
 * If they are, their ends are common, and two ranks see them apart by what their clocks differ by: always by the same.
 * Ranks of two groups come into line in some collectives and not in others. Sends and receives are of groups, too: where a
 * run has them its collectives may be of one stage each, however steady the difference. */
#ifndef AP_MATCH_GROUPS_H
#define AP_MATCH_GROUPS_H

#include "rank_matching.h"

/** Takes the matches without a group out of @matching, where they cannot be of all ranks, and counts their members as
 *  AP_UNMATCHED_groups. */
AP_MUST_CHECK enum ap_status ap_match_groups_check(struct ap_matching *matching, struct ap_error *reterr);

#endif
