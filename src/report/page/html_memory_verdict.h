/* SPDX-License-Identifier: MIT
 * html_memory_verdict.h - the headline of a snapshot. Private to src/report. */
#ifndef AP_HTML_MEMORY_VERDICT_H
#define AP_HTML_MEMORY_VERDICT_H

#include "html.h"

/** How much of the reserved memory is in use, and the largest piece that is free; nothing where a trace has its verdict. */
void ap_html_memory_verdict(struct html *html);

#endif
