/* SPDX-License-Identifier: MIT
 * series.h - the runs of --series: each trace is analyzed, and what time and memory it took is kept. */
#ifndef AP_SERIES_H
#define AP_SERIES_H

#include "analyze_profile/analyze_profile.h"
#include "scaling.h"

struct ap_series {
    struct ap_scaling_point points[AP_SCALING_MAX_POINTS];
    size_t count;
};

/** Analyze the traces of request->series. *ret_path: the one that an error is about. */
AP_MUST_CHECK enum ap_status ap_series_read(const struct ap_request *request, struct ap_series *ret_series,
                                            const char **ret_path, struct ap_error *reterr);
/** The trace with the largest batch. */
const char *ap_series_largest(const struct ap_series *series);
/** What a step of that costs: whatever the batch, and in proportion to it. False where that is not known. */
bool ap_series_cost(const struct ap_series *series, int64_t *ret_fixed_ns, int64_t *ret_grows_ns);

#endif
