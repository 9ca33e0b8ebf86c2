/* SPDX-License-Identifier: MIT
 * harness_clock.h - the times of a run, in one place so that a test can put a modeled clock there. */
#ifndef HARNESS_CLOCK_H
#define HARNESS_CLOCK_H

#include <stdint.h>

int64_t harness_clock_ns(void);     /* since the Unix epoch, as CUPTI stamps its records */
int64_t harness_stopwatch_ns(void); /* goes on evenly */
/** The host computes. */
void harness_host_work(int64_t dur_us);

#endif
