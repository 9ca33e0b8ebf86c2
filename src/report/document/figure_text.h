/* SPDX-License-Identifier: MIT
 * figure_text.h - how numbers look in a document. A reader of the file (tests/golden.py is one) can take every figure
 * back to the JSON:
 *   1,034,551.204   exact: the JSON's number with thousands separated. Times are microseconds everywhere, so the first
 *                   comma from the right stands at milliseconds, the second at seconds
 *   39.6 %          100 times a ratio of the JSON, rounded to the digits shown
 *   1.52 x, 3,105.2 /s, 4.25 /step   a number of the JSON, rounded to the digits shown
 *   1,034,551.204 us (1.03 s), 20,971,520 B (20 MiB)   exact, then the same rounded
 * and "–" or "not recorded" for what is null. */
#ifndef AP_FIGURE_TEXT_H
#define AP_FIGURE_TEXT_H

#include "base.h"

#define AP_FIGURE_BYTES 640

/** Write @value, NUL-terminated, and return the bytes before the NUL. @name: of the figure, or a path to it, by
 *  which the catalogue tells shares from quotients, and rates; may be empty. @full: with its unit. Anything but a bool and a
 *  number is not known. */
size_t ap_figure_format(const struct ap_value *value, struct ap_text name, bool full, char to[AP_FIGURE_BYTES]);

#endif
