/* SPDX-License-Identifier: MIT
 * html_nav.h - the contents of the page. Private to src/report. */
#ifndef AP_HTML_NAV_H
#define AP_HTML_NAV_H

#include "html.h"

/** Links to the parts of the page; to pictures and sections where the contents are known. */
void ap_html_nav(struct html *html);

#endif
