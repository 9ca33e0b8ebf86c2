/* SPDX-License-Identifier: MIT
 * quantity.h - numbers with units as users write them: 150ms, 40GiB, 5 %. */
#ifndef AP_QUANTITY_H
#define AP_QUANTITY_H

#include "metric_names.h"

/** Take digits with at most one point, 15 at most, which is what a double holds, and the spaces behind them off the front of
 *  *rest. False where there are none or more. */
bool ap_quantity_take_number(struct ap_text *rest, double *ret_number);

/** Bring *number, which was written with the unit @name, into the unit of the model: ns, bytes, parts of one. Returns what was
 *  expected instead where @name is no such unit; NULL = it is one. */
const char *ap_quantity_apply_unit(enum ap_metric_unit unit, struct ap_text name, double *number);

#endif
