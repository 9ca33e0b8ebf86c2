/* SPDX-License-Identifier: MIT
 * See meeting.h. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include "meeting.h"

#include <sched.h>
#include <sys/mman.h>
#include <time.h>

size_t harness_meeting_bytes(uint32_t rank_count)
{
    return sizeof(struct harness_meeting) + 2 * rank_count * HARNESS_REDUCE_FLOATS * sizeof(float);
}

struct harness_meeting *harness_meeting_new(uint32_t rank_count)
{
    void *memory = mmap(NULL, harness_meeting_bytes(rank_count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void harness_meeting_free(struct harness_meeting *meeting, uint32_t rank_count)
{
    if (meeting)
        (void)munmap(meeting, harness_meeting_bytes(rank_count));
}

bool harness_meeting_wait(struct harness_meeting *meeting, uint32_t rank_count, uint32_t turn)
{
    time_t begin = time(NULL);
    (void)atomic_fetch_add(&meeting->arrived, 1);
    while (atomic_load(&meeting->arrived) < rank_count * turn) {
        if (time(NULL) - begin > 60)
            return false;
        (void)sched_yield();
    }
    return true;
}
