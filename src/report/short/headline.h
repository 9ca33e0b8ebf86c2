/* SPDX-License-Identifier: MIT
 * headline.h - the first facts of a report, for the short forms of it: terminal summary and digest. */
#ifndef AP_HEADLINE_H
#define AP_HEADLINE_H

#include "base.h"

#define AP_FACT_BYTES 400

/** "CPU-bound: the device waits for the host to launch work: 224 ms of ...", or why there is no verdict. */
void ap_headline_verdict(const struct ap_value *root, char to[AP_FACT_BYTES]);
/** Fact @index, from 0 on: "steps: 12, p50 1.25 ms"; false where there are no more. Facts that are not known are left out.
 */
bool ap_headline_fact(const struct ap_value *root, size_t index, char to[AP_FACT_BYTES]);
/** What a series of batch sizes tells, line @index from 0 on: knee, memory, time; false where there are no more. */
bool ap_headline_series(const struct ap_value *root, size_t index, char to[AP_FACT_BYTES]);
/** What a change that was asked for would gain, @index from 0 on, or why nothing is predicted of it; all together behind the
 *  last of several; false where there are no more. */
bool ap_headline_what_if(const struct ap_value *root, size_t index, char to[AP_FACT_BYTES]);
/** "8: 12 ms a batch, 667 samples a second" for a row of series.points. */
void ap_headline_series_point(const struct ap_value *point, char to[AP_FACT_BYTES]);
/** "saves at most 221 ms"; empty where that is not known, or nothing. */
void ap_headline_gain(const struct ap_value *finding, char to[AP_FACT_BYTES]);

#endif
