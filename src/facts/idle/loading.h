/* SPDX-License-Identifier: MIT
 * loading.h - when kernels and modules were loaded, or the profiler made room for its rows, as rows of its own tell: "Lazy
 * Function Loading" and its like. They stand on a track of their own, beside the calls that they make long. */
#ifndef AP_LOADING_H
#define AP_LOADING_H

#include "row_order.h"

struct ap_loading {
    struct ap_gate *gate;
    struct ap_loading_span {
        int64_t start_ns, end_ns;
    } * spans; /* by start */
    size_t count, capacity;
};

#define AP_LOADING_NAMES "*Lazy Function Loading*|*Module Loading*"

/** Lists the profiler's own rows of these names, by start. @loading may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_loading_init(struct ap_loading *loading, const struct ap_trace *trace, const char *names_of,
                                             struct ap_gate *gate, struct ap_error *reterr);
void ap_loading_release(struct ap_loading *loading);

/** Does one of them start then? */
bool ap_loading_starts_within(const struct ap_loading *loading, int64_t start_ns, int64_t end_ns);

/** Does loading take most of this row's time? */
bool ap_loading_fills(const struct ap_loading *loading, const struct ap_trace *trace, uint32_t row);

#endif
