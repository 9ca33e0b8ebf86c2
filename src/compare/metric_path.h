/* SPDX-License-Identifier: MIT
 * metric_path.h - a figure by its path in the JSON report, lists on the way folded by maximum:
 * "memory.replay.devices.peak_reserved_bytes" is the largest of all devices. */
#ifndef AP_METRIC_PATH_H
#define AP_METRIC_PATH_H

#include "base.h"

/** The value at @path with the largest number; NULL where there is none that is known. */
const struct ap_value *ap_metric_fold(const struct ap_value *root, struct ap_text path);

#endif
