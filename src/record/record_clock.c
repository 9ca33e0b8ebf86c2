/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "recorder.h"

#include "poison.h"

#define LEAST_STRETCH_NS 5000000 /* two moments nearer than this give no ratio */
#define TRIES 7

/* The counter runs at one speed in all states of the processor, and the kernel takes its own time from it: then it has
 * found the counters of all processors alike. Where reading the clock is a system call's work, as in many virtual
 * machines, this makes a scope half as dear. */
bool ap_record_ticks_usable(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (!__get_cpuid(0x80000007u, &a, &b, &c, &d) || !(d & 1u << 8))
        return false;
    char source[16] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (!file)
        return false;
    bool is_tsc = fgets(source, sizeof(source), file) && strcmp(source, "tsc\n") == 0;
    fclose(file);
    return is_tsc;
#else
    return false;
#endif
}

int64_t ap_record_clock_ns(const struct ap_recorder *recorder)
{
    if (recorder->clock_ns)
        return recorder->clock_ns(recorder->clock_self);
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t ap_recorder_now_ns(const struct ap_recorder *recorder)
{
    return ap_record_clock_ns(recorder);
}

/* The closest of several tries: the thread may have lost its core in between. */
struct ap_record_anchor ap_record_anchor_now(const struct ap_recorder *recorder)
{
    struct ap_record_anchor anchor = { 0, 0 };
    if (!recorder->use_ticks) {
        anchor.ticks = anchor.ns = ap_record_clock_ns(recorder);
        return anchor;
    }
    int64_t narrowest = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        int64_t before = ap_record_time(recorder), ns = ap_record_clock_ns(recorder), after = ap_record_time(recorder);
        if (after - before < narrowest) {
            narrowest = after - before;
            anchor = (struct ap_record_anchor){ before + (after - before) / 2, ns };
        }
    }
    return anchor;
}

static struct ap_record_anchor latest_anchor(struct ap_recorder *recorder)
{
    struct ap_record_anchor latest;
    for (;;) {
        pthread_mutex_lock(&recorder->lock);
        bool stopped = recorder->has_stopped;
        latest = stopped ? recorder->stopped : ap_record_anchor_now(recorder);
        if (stopped && latest.ns - recorder->begun.ns < LEAST_STRETCH_NS)
            latest = recorder->stopped = ap_record_anchor_now(recorder);
        pthread_mutex_unlock(&recorder->lock);
        int64_t missing_ns = LEAST_STRETCH_NS - (latest.ns - recorder->begun.ns);
        if (missing_ns <= 0)
            return latest;
        struct timespec wait = { 0, (long)missing_ns };
        (void)nanosleep(&wait, NULL);
    }
}

struct ap_record_scale ap_record_scale_now(struct ap_recorder *recorder)
{
    struct ap_record_scale scale = { recorder->begun, 0 };
    if (recorder->use_ticks) {
        struct ap_record_anchor latest = latest_anchor(recorder);
        scale.ns_per_tick = (double)(latest.ns - scale.begun.ns) / (double)(latest.ticks - scale.begun.ticks);
    }
    return scale;
}

int64_t ap_record_ns(const struct ap_record_scale *scale, int64_t ticks)
{
    if (scale->ns_per_tick == 0)
        return ticks;
    return scale->begun.ns + (int64_t)((double)(ticks - scale->begun.ticks) * scale->ns_per_tick);
}
