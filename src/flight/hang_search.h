/* SPDX-License-Identifier: MIT
 * hang_search.h - the search for causes of a hang, for the files that make it: hang_causes.c and hang_circles.c. */
#ifndef AP_HANG_SEARCH_H
#define AP_HANG_SEARCH_H

#include "hang_causes.h"

struct ap_hang_search {
    const struct ap_flight_findings *findings;
    struct ap_hang_causes *to;
    uint32_t *first_sends; /* by dump: its first send or receive that is pending */
    uint8_t *taken;        /* by dump: told already as the one that others wait for */
    uint8_t *mixed;        /* by circle: groups are on it */
    uint32_t *groups;      /* those that wait: what others follow from first */
    uint32_t group_count;
    uint32_t comparisons; /* of groups on circles with others that are still made: they are many only in odd input */
};

/** A cause of which no group and no entry is known. */
struct ap_hang_cause ap_hang_cause_of(const struct ap_hang_search *search, enum ap_hang verdict,
                                      enum ap_confidence confidence);
/** About the collective that a group waits in. */
struct ap_hang_cause ap_hang_cause_in_group(const struct ap_hang_search *search, enum ap_hang verdict,
                                            enum ap_confidence confidence, uint32_t group);
/** One more rank of the cause that comes next. */
AP_MUST_CHECK enum ap_status ap_hang_add_rank(struct ap_hang_search *search, uint32_t rank, struct ap_error *reterr);
/** With the ranks that were added since. */
AP_MUST_CHECK enum ap_status ap_hang_add_cause(struct ap_hang_search *search, struct ap_hang_cause cause,
                                               struct ap_error *reterr);
/** All circles, each a cause; of those where groups alike tell it the odd rank alone. */
AP_MUST_CHECK enum ap_status ap_hang_add_circles(struct ap_hang_search *search, struct ap_error *reterr);

#endif
