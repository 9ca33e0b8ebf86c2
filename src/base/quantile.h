/* SPDX-License-Identifier: MIT
 * quantile.h - quantiles by linear interpolation between closest ranks: position percent/100 * (n - 1); means. */
#ifndef AP_QUANTILE_H
#define AP_QUANTILE_H

#include "base.h"

/** @percent of 0..100; reorders @values. @count must not be 0. Interpolated values are rounded to whole numbers. */
int64_t ap_quantile(int64_t *values, size_t count, unsigned percent);

/** Several at once, which share the work; @percents ascending. */
void ap_quantiles(int64_t *values, size_t count, const unsigned *percents, size_t percent_count, int64_t *ret_values);

/** total / count, rounded to a whole number, half away from zero; 0 for no values. */
int64_t ap_mean(int64_t total, uint64_t count);

#endif
