/* SPDX-License-Identifier: MIT
 * record_cost.c - what recording costs: nanoseconds a scope, with the recorder on and off, beside the loop around it.
 *
 *     record_cost [SCOPES]       default 1,000,000 a round; prints the best and the median of 9 rounds of each case
 *
 * The loop's body is a step of a random generator that the next round depends on, so that it is not optimized away; each
 * case is one loop, so that its cost less that of the empty one is what the calls cost. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "analyze_profile/record.h"

#define ROUNDS 9

static uint64_t state = 1;

static inline void body(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    __asm__ volatile("" : "+r"(state));
}

static void empty_loop(struct ap_recorder *recorder, uint64_t count)
{
    (void)recorder;
    for (uint64_t i = 0; i < count; i++)
        body();
}

static void scopes(struct ap_recorder *recorder, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        AP_SCOPE(recorder, AP_RECORD_COMPUTE, "scope");
        body();
    }
}

static void allocations(struct ap_recorder *recorder, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        body();
        ap_record_allocation(recorder, AP_DEVICE_HOST, &state, 64, "tag");
        ap_record_release(recorder, AP_DEVICE_HOST, &state);
    }
}

static void clock_reads(struct ap_recorder *recorder, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        body();
        (void)ap_recorder_now_ns(recorder);
    }
}

static int64_t clock_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Each round has a recorder of its own: the room for its events is part of the cost. */
static int measure(const char *what, void (*loop)(struct ap_recorder *recorder, uint64_t count), uint64_t count, bool off)
{
    double ns[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        struct ap_recorder *recorder;
        struct ap_error error;
        if (ap_recorder_new(&(struct ap_recorder_options){ .max_events = count, .start_off = off }, &recorder, &error) !=
            AP_OK) {
            fprintf(stderr, "%s\n", error.message);
            return 1;
        }
        int64_t begun_ns = clock_ns();
        loop(recorder, count);
        ns[i] = (double)(clock_ns() - begun_ns) / (double)count;
        ap_recorder_free(recorder);
    }
    qsort(ns, ROUNDS, sizeof(ns[0]), by_size);
    printf("%-40s %8.2f %8.2f\n", what, ns[0], ns[ROUNDS / 2]);
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    count = count ? count : 1;
    printf("%-40s %8s %8s\n", "ns each", "best", "median");
    return measure("empty loop", empty_loop, count, false) || measure("scope, recorder off", scopes, count, true) ||
           measure("scope, recorder on", scopes, count, false) ||
           measure("allocation and release, recorder off", allocations, count, true) ||
           measure("allocation and release, recorder on", allocations, count, false) ||
           measure("one read of the system's clock", clock_reads, count, false);
}
