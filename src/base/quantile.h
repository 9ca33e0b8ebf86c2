/* SPDX-License-Identifier: MIT
 * quantile.h - quantiles by linear interpolation between closest ranks: position percent/100 * (n - 1). */
#ifndef AP_QUANTILE_H
#define AP_QUANTILE_H

#include "base.h"

/** @percent of 0..100; reorders @values. @count must not be 0. Interpolated values are rounded to whole numbers. */
int64_t ap_quantile(int64_t *values, size_t count, unsigned percent);

#endif
