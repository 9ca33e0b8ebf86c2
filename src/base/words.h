/* SPDX-License-Identifier: MIT
 * words.h - the names of settings in the words of a front end, from one table. */
#ifndef AP_WORDS_H
#define AP_WORDS_H

#include "base.h"

/** "" of AP_SETTING_NONE. */
const char *ap_setting_name(enum ap_setting setting, enum ap_words words);
/** "" of AP_ADVICE_NONE, and where these words have nothing to say. */
const char *ap_advice_text(enum ap_advice advice, enum ap_words words);

#endif
