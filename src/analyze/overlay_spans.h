/* SPDX-License-Identifier: MIT
 * overlay_spans.h - what the analysis found as spans to be drawn. With an overlay of NULL nothing happens. */
#ifndef AP_OVERLAY_SPANS_H
#define AP_OVERLAY_SPANS_H

#include "critical_path.h"
#include "links.h"
#include "overlay.h"
#include "split.h"
#include "steps.h"

/** When the recording begins and ends, and a process id that no track of it has. */
void ap_overlay_learn_trace(struct ap_overlay *overlay, const struct ap_trace *trace);

/** Times of more than 100 us in which no device worked; those whose cause was looked into have its name, and what the host
 *  did longest in it. */
AP_MUST_CHECK enum ap_status ap_overlay_add_idle(struct ap_overlay *overlay, const struct ap_trace *trace,
                                                 const struct ap_split *split, struct ap_error *reterr);

/** The critical path, stretch by stretch, each with its class. */
AP_MUST_CHECK enum ap_status ap_overlay_add_path(struct ap_overlay *overlay, const struct ap_trace *trace,
                                                 const struct ap_row_order *order, const struct ap_critical_path *path,
                                                 struct ap_error *reterr);

/** Every step, with the name of what marks it and whether it is cold or cut. */
AP_MUST_CHECK enum ap_status ap_overlay_add_steps(struct ap_overlay *overlay, const struct ap_trace *trace,
                                                  const struct ap_steps *steps, struct ap_error *reterr);

#endif
