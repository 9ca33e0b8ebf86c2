/* SPDX-License-Identifier: MIT
 * pictures.h - what pictures of a run are drawn from, beyond its figures; each part in a file of its own. Bounded, whatever
 * the trace. */
#ifndef AP_PICTURES_H
#define AP_PICTURES_H

#include "part.h"

/** host_flame: host rows of all threads, by their stack. */
ap_part ap_add_host_flame;
/** timeline: the rows of the step that the first finding points into, and the longest of all others. */
ap_part ap_add_timeline;

#endif
