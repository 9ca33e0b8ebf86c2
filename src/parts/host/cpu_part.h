/* SPDX-License-Identifier: MIT
 * cpu_part.h - what the report's "cpu" is made of. */
#ifndef AP_CPU_PART_H
#define AP_CPU_PART_H

#include "part.h"

/** Each adds its members to the object "cpu". */
ap_part ap_cpu_add_operators; /* summary, top_ops, operators, operator_summary, families */
ap_part ap_cpu_add_signals;   /* signals */
ap_part ap_cpu_add_threads;   /* top_threads, threads, thread_summary */

#endif
