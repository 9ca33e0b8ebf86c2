/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "thread.h"

#include <signal.h>
#include <stddef.h>

#include "poison.h"

/* A helper needs a few pages; the default of 8 MiB would count against address space limits. */
#define STACK_BYTES ((size_t)512 << 10)

/* Signals are for the thread that the program knows of. */
bool ap_thread_start(pthread_t *ret_thread, void *(*run)(void *self), void *self)
{
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(ret_thread, &attributes, run, self) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return started;
}
