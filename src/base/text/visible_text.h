/* SPDX-License-Identifier: MIT
 * visible_text.h - text for a terminal: what would move the cursor, hide or reorder is written as \u{...}. */
#ifndef AP_VISIBLE_TEXT_H
#define AP_VISIBLE_TEXT_H

#include "out.h"

/** Columns that the whole text takes, one for each code point that is shown as it is. */
size_t ap_visible_columns(struct ap_text text);
/** Write @text in at most @max_columns (0 = all of it); what is cut ends in "...". Returns the columns that it took. */
size_t ap_out_visible(struct ap_out *out, struct ap_text text, size_t max_columns);
/** What of a name stands where room is for little: of a path its last part, with the function behind it. */
struct ap_text ap_short_label(struct ap_text name);

#endif
