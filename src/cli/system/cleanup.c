/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "cleanup.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
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

static const char *late_message;
static int late_exit_code;

/* By a signal, as a limit that the work itself has to look at holds only where it looks. */
static void end_late(int number)
{
    (void)number;
    remove_all(files, 0);
    remove_all(folders, AT_REMOVEDIR);
    (void)!write(STDERR_FILENO, late_message, strlen(late_message));
    _exit(late_exit_code);
}

void ap_cli_cleanup_after(unsigned seconds, const char *message, int exit_code)
{
    struct sigaction action = { .sa_handler = end_late };
    late_message = message;
    late_exit_code = exit_code;
    (void)sigfillset(&action.sa_mask);
    if (sigaction(SIGALRM, &action, NULL) == 0)
        (void)alarm(seconds);
}

void ap_cli_cleanup_begin(void)
{
    static const int ends[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF };
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
