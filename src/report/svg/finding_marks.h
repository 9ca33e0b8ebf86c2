/* SPDX-License-Identifier: MIT
 * finding_marks.h - where findings stand in time. Private to src/report. */
#ifndef AP_FINDING_MARKS_H
#define AP_FINDING_MARKS_H

#include "html.h"

/* A stretch of time, and where it is drawn. */
struct ap_marked_stretch {
    int64_t start_ns, dur_ns;
    double left, right, top, bottom;
    bool beyond; /* the reader can go there: places outside are drawn outside */
};

/** Does the place of a finding overlap with this stretch? */
bool ap_place_is_within(const struct ap_value *place, int64_t start_ns, int64_t dur_ns);

/** The places of the page's findings within @stretch, a hidden group for each finding, that the script shows when the reader
 *  asks for one; nothing in pictures that stand alone. */
void ap_mark_findings(struct html *html, const struct ap_marked_stretch *stretch);

#endif
