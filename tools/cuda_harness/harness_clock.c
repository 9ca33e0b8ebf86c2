/* SPDX-License-Identifier: MIT
 * See harness_clock.h. */
#define _POSIX_C_SOURCE 200809L

#include "harness_clock.h"

#include <time.h>

static int64_t read_ns(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t harness_clock_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

int64_t harness_stopwatch_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

void harness_host_work(int64_t dur_us)
{
    int64_t end_ns = harness_stopwatch_ns() + dur_us * 1000;
    while (harness_stopwatch_ns() < end_ns)
        ;
}
