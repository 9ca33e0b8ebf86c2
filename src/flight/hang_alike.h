/* SPDX-License-Identifier: MIT
 * hang_alike.h - what groups of the same kind tell of a call that a group waits in: whether their ranks made it. Of ranks
 * that wait for each other in a circle that tells who is the odd one. */
#ifndef AP_HANG_ALIKE_H
#define AP_HANG_ALIKE_H

#include "hang_causes.h"

enum ap_alike {
    AP_ALIKE_UNKNOWN,
    AP_ALIKE_NOT_MADE, /* by ranks of groups alike: they made all calls before it, and wait in other groups */
    AP_ALIKE_MADE      /* by all of them */
};

/** Of a group that waits. Groups alike have its description and size, and other ranks. What there is of both must be at
 *  least three ranks to one. Linear in groups and their ranks. */
enum ap_alike ap_hang_alike(const struct ap_flight_findings *findings, uint32_t group);

#endif
