/* SPDX-License-Identifier: MIT
 * meeting.h - memory that the processes of one run share: where ranks wait for each other, exchange numbers and leave their
 * results. Knows nothing of CUDA. */
#ifndef HARNESS_MEETING_H
#define HARNESS_MEETING_H

#include <stdatomic.h>

#include "base.h"

#define HARNESS_MOST_RANKS 8
#define HARNESS_FLAGS 1024
#define HARNESS_REDUCE_FLOATS ((size_t)1 << 20)

struct harness_result {
    bool done;
    enum ap_status status;
    struct ap_error error;
    int64_t window_ns;
    uint64_t held_bytes;
};

struct harness_meeting {
    uint32_t flags[HARNESS_FLAGS]; /* written by devices */
    uint32_t gave_up;
    atomic_uint arrived; /* at barriers, all of them */
    struct harness_result results[HARNESS_MOST_RANKS];
    _Alignas(4096) float slots[]; /* 2 * ranks * HARNESS_REDUCE_FLOATS */
};

size_t harness_meeting_bytes(uint32_t rank_count);
/** Memory for a meeting that children inherit; NULL where there is none. */
struct harness_meeting *harness_meeting_new(uint32_t rank_count);
void harness_meeting_free(struct harness_meeting *meeting, uint32_t rank_count); /* NULL is fine */

/** Wait for all ranks; @turn counts the barriers from 1. False where they did not come within a minute. */
bool harness_meeting_wait(struct harness_meeting *meeting, uint32_t rank_count, uint32_t turn);

#endif
