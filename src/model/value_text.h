/* SPDX-License-Identifier: MIT
 * value_text.h - a value as a person reads it in a sentence: 1.25 ms, 3.4 GiB, 39.6 %, n/a. Three digits that count. */
#ifndef AP_VALUE_TEXT_H
#define AP_VALUE_TEXT_H

#include "base.h"

/** Longest text that ap_format_value writes for anything but AP_VALUE_TEXT and AP_VALUE_LITERAL, with its NUL. */
#define AP_VALUE_TEXT_BYTES 64

/** Write @value with a readable unit, NUL-terminated, and return the bytes before the NUL; cut where @capacity (at least 1)
 *  does not suffice. NULL, AP_VALUE_NULL, lists, objects and what is not finite are "n/a", never 0. By its key the
 *  catalogue tells shares (per cent) from other quotients (times). Texts are copied as they are. */
size_t ap_format_value(const struct ap_value *value, char *to, size_t capacity);

#endif
