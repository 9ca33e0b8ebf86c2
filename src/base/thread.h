/* SPDX-License-Identifier: MIT
 * thread.h - helper threads of the program's own: with a small stack, deaf to signals. */
#ifndef AP_THREAD_H
#define AP_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/** More than any work needs. The default of 8 MiB would count against address space limits, or be what ulimit -s says. */
#define AP_THREAD_STACK_BYTES ((size_t)512 << 10)

/** False where none can be had: the work is then done without it. Join it. */
bool ap_thread_start(pthread_t *ret_thread, void *(*run)(void *self), void *self);

/** Call @run with each number below @count once, in this order, on @threads threads (0 = as many as there are processors),
 *  of which the caller's is one; fewer where no more can be had. Where a call answers false, no more are begun. */
void ap_thread_share(size_t count, size_t threads, bool (*run)(void *self, size_t number), void *self);

/** Processors that this process may use; at least 1. */
unsigned ap_processor_count(void);

#endif
