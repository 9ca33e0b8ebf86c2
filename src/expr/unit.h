/* SPDX-License-Identifier: MIT
 * unit.h - numbers with units as people write them: 150 ms, 40GiB, 5 %. Knows no figure. */
#ifndef AP_UNIT_H
#define AP_UNIT_H

#include "catalogue.h"

/** "size", for sentences. */
const char *ap_unit_name(enum ap_unit unit);
/** "a size such as 64 KiB or 1 GiB": what is expected where a figure of this unit is compared. */
const char *ap_unit_examples(enum ap_unit unit);

/** Is this written behind a number, of whatever unit? */
bool ap_unit_is_name(struct ap_text word);
/** Take digits with at most one point off the front of *rest, 15 at most, which is what a double holds. Never through the
 *  locale. False where there are none or more. */
bool ap_unit_take_number(struct ap_text *rest, double *ret_number);
/** Bring *number, which was written with @name ("" = none), into the unit of the model: ns, bytes, parts of one. False where
 * a figure of this unit is not written so. */
bool ap_unit_apply(enum ap_unit unit, struct ap_text name, double *number);

#endif
