/* SPDX-License-Identifier: MIT
 * near_name.h - names that may have been meant by one that does not exist. */
#ifndef AP_NEAR_NAME_H
#define AP_NEAR_NAME_H

#include "base.h"

#define AP_NEAR_NAMES 3

/** The best so far, best first; {0} has none. The texts are borrowed. */
struct ap_near_names {
    struct ap_text names[AP_NEAR_NAMES];
    size_t scores[AP_NEAR_NAMES];
    size_t count;
};

/** Take @candidate where it begins as @wanted does, has it as a part, or differs by a few letters; case and the signs
 * between words do not matter. Of several those that begin so come first, then those with the part, the shorter ones before.
 */
void ap_near_names_offer(struct ap_near_names *near, struct ap_text wanted, struct ap_text candidate);

/** "; did you mean a, b or c?" into @to, or nothing. */
void ap_near_names_write(const struct ap_near_names *near, char *to, size_t capacity);

#endif
