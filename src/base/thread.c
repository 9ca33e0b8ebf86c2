/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "thread.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "poison.h"

#define SHARED_BY_MOST 256

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

struct sharing {
    atomic_size_t next;
    size_t count;
    bool (*run)(void *self, size_t number);
    void *self;
};

static void *take_part(void *self)
{
    struct sharing *sharing = self;
    for (size_t number; (number = atomic_fetch_add(&sharing->next, 1)) < sharing->count;)
        if (!sharing->run(sharing->self, number))
            atomic_store(&sharing->next, sharing->count);
    return NULL;
}

void ap_thread_share(size_t count, size_t threads, bool (*run)(void *self, size_t number), void *self)
{
    struct sharing sharing = { .count = count, .run = run, .self = self };
    pthread_t helpers[SHARED_BY_MOST - 1];
    size_t started = 0, wanted = threads ? threads : ap_processor_count();
    wanted = wanted < SHARED_BY_MOST ? wanted : SHARED_BY_MOST;
    while (started + 1 < wanted && started + 1 < count && ap_thread_start(&helpers[started], take_part, &sharing))
        started++;
    (void)take_part(&sharing);
    for (size_t i = 0; i < started; i++)
        (void)pthread_join(helpers[i], NULL);
}

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
