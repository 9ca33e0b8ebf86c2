/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "processors.h"

#include <sched.h>
#include <unistd.h>

#include "poison.h"

unsigned ap_processor_count(void)
{
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
        return (unsigned)CPU_COUNT(&set);
#endif
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (unsigned)count : 1;
}
