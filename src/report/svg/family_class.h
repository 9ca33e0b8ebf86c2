/* SPDX-License-Identifier: MIT
 * family_class.h - the color of a family, the same in every picture: family_class.def. Private to src/report. */
#ifndef AP_FAMILY_CLASS_H
#define AP_FAMILY_CLASS_H

#include "base.h"

/** Has the family a class of its own? */
bool ap_has_family_class(struct ap_text family);
/** The class; that of all others where the family has none of its own. */
const char *ap_family_class(struct ap_text family);
/** The class of text that can be read on it. */
const char *ap_family_label(const char *family_class);

#endif
