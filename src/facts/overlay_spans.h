/* SPDX-License-Identifier: MIT
 * overlay_spans.h - facts about a trace as spans to be drawn. */
#ifndef AP_OVERLAY_SPANS_H
#define AP_OVERLAY_SPANS_H

#include "facts.h"
#include "overlay.h"

/** Every step, with the name of what marks it and whether it is cold or cut; times of more than 100 us in which no device
 *  worked, those whose cause was looked into with its name and what the host did longest in it; the critical path, stretch
 * by stretch, each with its class. And when the recording begins and ends, and a process id that no track of it has. */
AP_MUST_CHECK enum ap_status ap_overlay_add_facts(struct ap_overlay *overlay, const struct ap_facts *facts,
                                                  struct ap_error *reterr);

#endif
