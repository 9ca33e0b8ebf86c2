/* SPDX-License-Identifier: MIT
 * prose_words.h - sentences of ours with words of the input in them, taken apart into text and code. */
#ifndef AP_PROSE_WORDS_H
#define AP_PROSE_WORDS_H

#include "base.h"

/** Give the parts of @text to @take in their order: runs of white space as one space, what stands in back-ticks as code
 *  (never empty), words that some dialect of Markdown would turn into a link, a mention or a formula as code, all else as
 *  text. */
void ap_prose_words(struct ap_text text, void (*take)(void *self, bool is_code, struct ap_text part), void *self);

/** Does code begin and end with a space that Markdown takes away, which it does where there is more than spaces? */
bool ap_code_is_padded(struct ap_text code);

#endif
