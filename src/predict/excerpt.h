/* SPDX-License-Identifier: MIT
 * excerpt.h - some steps in the middle of a long recording, as facts of their own: what they gain tells what all do, for a
 * small part of the time. */
#ifndef AP_EXCERPT_H
#define AP_EXCERPT_H

#include "facts.h"

struct ap_excerpt {
    struct ap_facts facts; /* those of the whole but for order, links, steps, path index and window */
    size_t row_capacity, link_capacity;
    int64_t start_ns, end_ns;
};

/** Takes steps from the first steady one of the second half on, as many as have at most @most_rows. *ret_found: they are
 *  three or more. Borrows @whole; release it after a failure too. */
AP_MUST_CHECK enum ap_status ap_excerpt_init(struct ap_excerpt *excerpt, const struct ap_facts *whole, size_t most_rows,
                                             bool *ret_found, struct ap_error *reterr);
/** A zeroed one is fine. */
void ap_excerpt_release(struct ap_excerpt *excerpt);

#endif
