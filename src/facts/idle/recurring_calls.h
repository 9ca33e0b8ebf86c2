/* SPDX-License-Identifier: MIT
 * recurring_calls.h - calls of the driver, and for memory, that devices wait for: which of them a start has, and which come
 * again in each step. */
#ifndef AP_RECURRING_CALLS_H
#define AP_RECURRING_CALLS_H

#include "split.h"

/** Sets recurring_call_ns of the window and of the steady steps, from the parts and causes of @split. */
AP_MUST_CHECK enum ap_status ap_find_recurring_calls(struct ap_split *split, const struct ap_trace *trace,
                                                     const struct ap_links *links, const struct ap_steps *steps,
                                                     struct ap_error *reterr);

#endif
