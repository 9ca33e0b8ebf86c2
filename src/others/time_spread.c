/* SPDX-License-Identifier: MIT */
#include "time_spread.h"

#include <math.h>

#include "quantile.h"

#include "poison.h"

/* In two passes: times since a start differ little from each other. */
static double deviation(const int64_t *values_ns, size_t count, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += ((double)values_ns[i] - mean) * ((double)values_ns[i] - mean);
    return count > 1 ? sqrt(sum / (double)(count - 1)) : 0;
}

struct ap_time_spread ap_time_spread_of(int64_t *values_ns, size_t count)
{
    static const unsigned percents[] = { 0, 50, 90, 95, 99, 100 };
    struct ap_time_spread spread = { .count = count, .cv_ratio = -1 };
    int64_t at[AP_COUNT_OF(percents)];
    bool overflowed = false;
    if (!count)
        return spread;
    for (size_t i = 0; i < count; i++)
        spread.total_ns = ap_add_sat(spread.total_ns, values_ns[i], &overflowed);
    spread.mean_ns = ap_mean(spread.total_ns, count);
    if (spread.mean_ns > 0 && count > 1)
        spread.cv_ratio = deviation(values_ns, count, (double)spread.mean_ns) / (double)spread.mean_ns;
    ap_quantiles(values_ns, count, percents, AP_COUNT_OF(percents), at);
    spread.min_ns = at[0];
    spread.p50_ns = at[1];
    spread.p90_ns = at[2];
    spread.p95_ns = at[3];
    spread.p99_ns = at[4];
    spread.max_ns = at[5];
    return spread;
}

void ap_time_spread_add(const struct ap_time_spread *spread, struct ap_model *model, struct ap_value *parent,
                        const char *key)
{
    struct ap_value *to = ap_add_object(model, parent, key);
    bool known = spread->count;
    ap_add_count(model, to, "count", (int64_t)spread->count);
    ap_add_known_time(model, to, "total_us", known, spread->total_ns);
    ap_add_known_time(model, to, "mean_us", known, spread->mean_ns);
    ap_add_known_time(model, to, "min_us", known, spread->min_ns);
    ap_add_known_time(model, to, "p50_us", known, spread->p50_ns);
    ap_add_known_time(model, to, "p90_us", known, spread->p90_ns);
    ap_add_known_time(model, to, "p95_us", known, spread->p95_ns);
    ap_add_known_time(model, to, "p99_us", known, spread->p99_ns);
    ap_add_known_time(model, to, "max_us", known, spread->max_ns);
    ap_add_known_ratio(model, to, "cv_ratio", known && spread->cv_ratio >= 0, spread->cv_ratio);
}
