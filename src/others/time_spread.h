/* SPDX-License-Identifier: MIT
 * time_spread.h - how times of one kind lie: count, mean, quantiles, spread. */
#ifndef AP_TIME_SPREAD_H
#define AP_TIME_SPREAD_H

#include "model_build.h"

struct ap_time_spread {
    uint64_t count;
    int64_t total_ns, mean_ns, min_ns, p50_ns, p90_ns, p95_ns, p99_ns, max_ns;
    double cv_ratio; /* standard deviation over mean; negative = not defined */
};

/** All 0 for no values. Reorders @values_ns. */
struct ap_time_spread ap_time_spread_of(int64_t *values_ns, size_t count);
/** The same as an object of the catalogue's shape time_spread; what is not defined is null. */
void ap_time_spread_add(const struct ap_time_spread *spread, struct ap_model *model, struct ap_value *parent,
                        const char *key);

#endif
