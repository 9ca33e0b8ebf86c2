/* SPDX-License-Identifier: MIT
 * kept_cost.h - inside compute_calls: how a group keeps what a call costs. */
#ifndef AP_KEPT_COST_H
#define AP_KEPT_COST_H

#include "compute_calls.h"

/** Adds the numbers of @cost to those of all groups. ap_compute_cost() gives it back. */
AP_MUST_CHECK enum ap_status ap_keep_cost(struct ap_compute *compute, const struct ap_call_cost *cost,
                                          struct ap_kept_cost *ret_kept, struct ap_error *reterr);

/** Its flags as a set: bit 1 << enum ap_cost_flag. */
unsigned ap_cost_flags(const struct ap_call_cost *cost);

#endif
