/* SPDX-License-Identifier: MIT
 * thread.h - helper threads of the program's own: with a small stack, deaf to signals. */
#ifndef AP_THREAD_H
#define AP_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/** False where none can be had: the work is then done without it. Join it. */
bool ap_thread_start(pthread_t *ret_thread, void *(*run)(void *self), void *self);

#endif
