/* SPDX-License-Identifier: MIT
 * thread.h - helper threads of the program's own: with a small stack, deaf to signals. */
#ifndef AP_THREAD_H
#define AP_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/** More than any work needs. The default of 8 MiB would count against address space limits, or be what ulimit -s says. */
#define AP_THREAD_STACK_BYTES ((size_t)512 << 10)

/** False where none can be had: the work is then done without it. Join it. */
bool ap_thread_start(pthread_t *ret_thread, void *(*run)(void *self), void *self);

#endif
