/* SPDX-License-Identifier: MIT
 * even_steps.h - inside the split: what devices wait for the host in some steps only, though the host does the same in
 * all. */
#ifndef AP_EVEN_STEPS_H
#define AP_EVEN_STEPS_H

#include "split.h"

/** Sets steady.uneven_ns. The steps have their causes already. */
AP_MUST_CHECK enum ap_status ap_find_uneven_steps(struct ap_split *split, const struct ap_trace *trace,
                                                  const struct ap_row_order *order, const struct ap_steps *steps,
                                                  struct ap_error *reterr);

#endif
