/* SPDX-License-Identifier: MIT
 * decimal.h - decimal text to integers and back, digit by digit: time stamps never pass through a double. */
#ifndef AP_DECIMAL_H
#define AP_DECIMAL_H

#include "base.h"

/** Largest time taken, about 146 years: sums of two of them do not overflow. */
#define AP_MAX_TIME_NS INT64_C(4611686018427387903)

enum ap_decimal_result { AP_DECIMAL_EXACT, AP_DECIMAL_ROUNDED, AP_DECIMAL_OUT_OF_RANGE };

/** A number in JSON's grammar, in microseconds, as nanoseconds; what is finer is rounded half away from zero. */
enum ap_decimal_result ap_decimal_us_to_ns(const char *text, size_t bytes, int64_t *ret_ns);

/** A number that is whole, also written 1e6 or 512.0; false where it is not, or beyond int64, or no number: any text may
 *  be given. */
bool ap_decimal_to_integer(const char *text, size_t bytes, int64_t *ret_integer);

/** A number in JSON's grammar in millionths; what is finer is rounded half away from zero. */
enum ap_decimal_result ap_decimal_to_millionths(const char *text, size_t bytes, int64_t *ret_millionths);

/** Digits only, up to 2^64-1. */
bool ap_decimal_to_u64(const char *text, size_t bytes, uint64_t *ret_number);

#define AP_DECIMAL_BYTES 24 /* that any number below takes, its sign, its point and a NUL included */

/** The digits of a number; they stand in @room, with a NUL behind them. */
struct ap_text ap_decimal_of(int64_t number, char room[AP_DECIMAL_BYTES]);
/** @ns as microseconds with up to three exact decimals, likewise: 1500 -> 1.5, 2000 -> 2. */
struct ap_text ap_decimal_of_ns_in_us(int64_t ns, char room[AP_DECIMAL_BYTES]);
/** As printf writes it with "%.9g", likewise; empty where that has an exponent, or takes more than an exact product. */
struct ap_text ap_decimal_of_double(double number, char room[AP_DECIMAL_BYTES]);

#endif
