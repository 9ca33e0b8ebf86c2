/* SPDX-License-Identifier: MIT
 * match_order.h - an order of the matched collectives in which those of each rank come as the rank came to them. */
#ifndef AP_MATCH_ORDER_H
#define AP_MATCH_ORDER_H

#include "rank_matching.h"

/** Fills @order with the numbers of all matches. *ret_by_time: no such order goes all the way, since ranks began some in
 *  different orders; from there on they stand by the time of their first start. */
AP_MUST_CHECK enum ap_status ap_match_order(const struct ap_matching *matching, uint32_t *order, bool *ret_by_time,
                                            struct ap_error *reterr);

#endif
