/* SPDX-License-Identifier: MIT
 * processors.h - how many threads can run at a time. */
#ifndef AP_PROCESSORS_H
#define AP_PROCESSORS_H

/** Processors that this process may use; at least 1. */
unsigned ap_processor_count(void);

#endif
