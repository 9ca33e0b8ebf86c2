/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "cleanup.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#define MOST 100

/* Files before folders, so that these are empty when their turn comes. */
static _Atomic(const char *) files[MOST], folders[MOST];

static void remove_all(_Atomic(const char *) *list, int flags)
{
    for (size_t i = 0; i < MOST; i++) {
        const char *path = atomic_load(&list[i]);
        if (path)
            (void)unlinkat(AT_FDCWD, path, flags);
    }
}

static void end(int number)
{
    remove_all(files, 0);
    remove_all(folders, AT_REMOVEDIR);
    (void)signal(number, SIG_DFL);
    (void)raise(number); /* comes once this handler returns */
}

void ap_cli_cleanup_begin(void)
{
    static const int ends[] = { SIGHUP, SIGINT, SIGTERM };
    struct sigaction action = { .sa_handler = end }, old;
    (void)sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            (void)sigaction(ends[i], &action, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
}

void ap_cli_cleanup_hold(sigset_t *ret_before)
{
    sigset_t all;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, ret_before);
}

void ap_cli_cleanup_go_on(const sigset_t *before)
{
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

void ap_cli_cleanup_list(const char *path, bool folder)
{
    _Atomic(const char *) *list = folder ? folders : files;
    for (size_t i = 0; i < MOST; i++)
        if (!atomic_load(&list[i])) {
            atomic_store(&list[i], path);
            return;
        }
}

void ap_cli_cleanup_unlist(const char *path)
{
    for (size_t i = 0; i < MOST; i++) {
        if (atomic_load(&files[i]) == path)
            atomic_store(&files[i], NULL);
        if (atomic_load(&folders[i]) == path)
            atomic_store(&folders[i], NULL);
    }
}
