/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "thread.h"

#include <signal.h>
#include <stddef.h>

#include "poison.h"

/* Signals are for the thread that the program knows of. */
bool ap_thread_start(pthread_t *ret_thread, void *(*run)(void *self), void *self)
{
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    (void)pthread_attr_setstacksize(&attributes, AP_THREAD_STACK_BYTES);
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(ret_thread, &attributes, run, self) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return started;
}
