/* SPDX-License-Identifier: MIT
 * pictures.h - what pictures of a run are drawn from, beyond its figures; each part in a file of its own. Bounded, whatever
 * the trace. */
#ifndef AP_PICTURES_H
#define AP_PICTURES_H

#include "part.h"

/** host_flame: host rows of all threads, by their stack. */
ap_part ap_add_host_flame;
/** timeline: the rows around what the first finding points at, else around the longest gap of the median steady step. */
ap_part ap_add_timeline;

#endif
