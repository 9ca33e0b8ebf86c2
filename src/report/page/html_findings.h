/* SPDX-License-Identifier: MIT
 * html_findings.h - what was found, as cards. Private to src/report. */
#ifndef AP_HTML_FINDINGS_H
#define AP_HTML_FINDINGS_H

#include "html.h"

/** For the top of the page: the first finding, where it is, what it could save, what to do. */
void ap_html_first_finding(struct html *html);
/** The findings as cards, in the order of the report. */
void ap_html_findings(struct html *html);

#endif
