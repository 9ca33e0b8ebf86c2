/* SPDX-License-Identifier: MIT
 * captures.h - when GPU graphs were captured: what the host launches then does not run, so devices wait for none of it. */
#ifndef AP_CAPTURES_H
#define AP_CAPTURES_H

#include "links.h"
#include "row_order.h"
#include "stretches.h"

struct ap_captures {
    struct ap_stretches time; /* in order */
    uint64_t count;           /* begun, or known by their end alone */
    int64_t total_ns;         /* of all threads */
    uint32_t row;             /* the call that began one; AP_NO_ROW = there is none */
};

/** @captures may be released after a failure too, with the gate. */
AP_MUST_CHECK enum ap_status ap_captures_init(struct ap_captures *captures, const struct ap_trace *trace,
                                              const struct ap_row_order *order, const struct ap_links *links,
                                              struct ap_gate *gate, struct ap_error *reterr);
/** The first one that ends behind this moment; NULL = none. */
const struct ap_stretch *ap_capture_after(const struct ap_captures *captures, int64_t at_ns);

#endif
