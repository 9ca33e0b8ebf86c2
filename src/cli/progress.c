/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define FIRST_AFTER_NS INT64_C(1000000000)
#define EVERY_NS INT64_C(200000000)

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void ap_progress_init(struct ap_progress *progress, bool quiet)
{
    *progress = (struct ap_progress){ .enabled = !quiet && isatty(STDERR_FILENO), .started_ns = now_ns() };
}

void ap_progress_update(void *self, const char *path, uint64_t done_bytes, uint64_t total_bytes)
{
    struct ap_progress *progress = self;
    int64_t now = now_ns();
    (void)path; /* the name is the user's and may hold anything; the amount says enough */
    if (!progress->enabled || now - progress->started_ns < FIRST_AFTER_NS || now - progress->last_ns < EVERY_NS)
        return;
    progress->last_ns = now;
    progress->shown = true;
    double done_mb = (double)done_bytes / 1e6, total_mb = (double)total_bytes / 1e6;
    if (total_bytes)
        (void)fprintf(stderr, "\rreading: %.0f of %.0f MB (%.0f %%)\033[K", done_mb, total_mb, 100 * done_mb / total_mb);
    else
        (void)fprintf(stderr, "\rreading: %.0f MB\033[K", done_mb);
    (void)fflush(stderr);
}

void ap_progress_end(struct ap_progress *progress)
{
    if (progress->shown)
        (void)fputs("\r\033[K", stderr);
    progress->shown = false;
}
