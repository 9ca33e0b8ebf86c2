/* SPDX-License-Identifier: MIT
 * figure_path.h - a figure by its path in the JSON report, lists on the way folded by maximum:
 * "memory.replay.devices.peak_reserved_bytes" is the largest of all devices. */
#ifndef AP_FIGURE_PATH_H
#define AP_FIGURE_PATH_H

#include "base.h"

/** The value at @path with the largest number; NULL where there is none that is known. */
const struct ap_value *ap_figure_fold(const struct ap_value *root, struct ap_text path);

#endif
