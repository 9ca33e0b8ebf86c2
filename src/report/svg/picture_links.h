/* SPDX-License-Identifier: MIT
 * picture_links.h - which pictures show what a finding is about, the other way, and where in time findings
 * stand. Private to src/report. */
#ifndef AP_PICTURE_LINKS_H
#define AP_PICTURE_LINKS_H

#include "html.h"

#define AP_MOST_LINKED_FINDINGS 6 /* their cards always have room */
#define AP_MOST_LINKED_PICTURES 4

/** Pictures of the page that show what @finding is about, the most telling first; how many. None where the contents of the
 *  page are not known. */
size_t ap_pictures_of_finding(const struct html *html, const struct ap_value *finding,
                              const struct html_part *ret_pictures[AP_MOST_LINKED_PICTURES]);
/** A paragraph of links to the cards of the findings that the picture shows; nothing where it shows none. */
void ap_link_findings(struct html *html, const char *picture_id);

/* A stretch of time, and where it is drawn. */
struct ap_marked_stretch {
    int64_t start_ns, dur_ns;
    double left, right, top, bottom;
    bool beyond; /* the reader can go there: places outside are drawn outside */
};

/** The places of the page's findings within @stretch, a hidden group for each finding, that the script shows when the reader
 *  asks for one; nothing in pictures that stand alone. */
void ap_mark_findings(struct html *html, const struct ap_marked_stretch *stretch);

#endif
