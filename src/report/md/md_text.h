/* SPDX-License-Identifier: MIT
 * md_text.h - text of the input in Markdown: nothing else in the writer may print text that is not a literal of ours. */
#ifndef AP_MD_TEXT_H
#define AP_MD_TEXT_H

#include "out.h"

/** A name of the input in code spans; with an ellipsis where it was cut. */
void ap_md_name(struct ap_out *out, struct ap_text name, bool is_cut);
/** Sentences of ours with words of the input in them: all markup but `code` is written as text. */
void ap_md_prose(struct ap_out *out, struct ap_text text);

#endif
