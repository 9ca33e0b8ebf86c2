/* SPDX-License-Identifier: MIT
 * verdict_unknown.h - what of the judged time is known, and why a recording may not tell what bounds the run. */
#ifndef AP_VERDICT_UNKNOWN_H
#define AP_VERDICT_UNKNOWN_H

#include "part.h"

static inline int64_t ap_known_ns(const struct ap_split_part *judged)
{
    return judged->dur_ns - judged->cause_ns[AP_IDLE_not_recorded];
}

/** Devices were recorded without the host. */
static inline bool ap_lacks_host(const struct ap_part_context *context)
{
    return context->facts->main_track == AP_NO_ROW;
}

/** Graphs are captured: what is launched does not run, so neither an idle device nor a busy host means anything. */
bool ap_is_capture(const struct ap_value *root);

/** Without steps the window of the devices is judged: here it is short, and the host waits for work that is not in it. */
bool ap_is_glimpse(const struct ap_part_context *context, const struct ap_split_part *judged);

/** As the end of a sentence; NULL = the recording tells it. */
const char *ap_why_unknown(const struct ap_part_context *context, const struct ap_split_part *judged,
                           const struct ap_value *root);

#endif
