/* SPDX-License-Identifier: MIT
 * track_findings.h - findings as spans to be drawn: each at its places, or over the whole recording where it has none.
 * Remarks without a place are not drawn. */
#ifndef AP_TRACK_FINDINGS_H
#define AP_TRACK_FINDINGS_H

#include "overlay.h"

/** @root: of a report that was judged. With @overlay NULL nothing happens. */
AP_MUST_CHECK enum ap_status ap_track_findings(struct ap_overlay *overlay, const struct ap_value *root,
                                               struct ap_error *reterr);

#endif
