/* SPDX-License-Identifier: MIT
 * record_memory.h - what is known of a program's memory: what is in use, the totals of each device, and the newest events,
 * in a ring that keeps the end of the story whole. Its owner guards it with a lock. */
#ifndef AP_RECORD_MEMORY_H
#define AP_RECORD_MEMORY_H

#include "analyze_profile/record.h"
#include "mem.h"
#include "pair_map.h"
#include "record_live.h"
#include "strpool.h"

struct ap_record_memory_event {
    int64_t time; /* ticks */
    uint64_t address;
    int64_t change_bytes;
    int64_t current_bytes; /* of the device, behind the event */
    uint32_t device_index;
    uint32_t stack;    /* 0 = of a release */
    int64_t thread_id; /* as the system calls it */
};

struct ap_record_device {
    int32_t device;
    int64_t forgotten_peak_bytes; /* highest current_bytes of the events that the ring has given up */
    int64_t peak_time;            /* ticks */
    struct ap_memory_use use;     /* all but peak_ns */
};

/* One frame of a stack and those around it. Number 0 is no stack. */
struct ap_record_frame {
    uint32_t outer;   /* number of the frame around it; 0 = none */
    const char *name; /* of a scope, or a tag */
    bool is_tag;
};

struct ap_record_memory {
    struct ap_gate *gate;
    uint64_t max_events;
    struct ap_record_live live;
    struct ap_record_memory_event *events; /* ring: the oldest stands at event_begin once it is full */
    size_t event_count, event_begin, event_capacity;
    uint64_t events_dropped, allocations_dropped;
    struct ap_record_device *devices; /* in order of first sight */
    size_t device_count, device_capacity;
    struct ap_strpool names;
    struct ap_pair_map frame_map;   /* (outer frame, name and is_tag) -> number of the frame less 1 */
    struct ap_record_frame *frames; /* frame n stands at n - 1 */
    size_t frame_capacity;
};

/** Empty; keeps at most @max_events events. Takes memory as it is needed. */
void ap_record_memory_init(struct ap_record_memory *memory, struct ap_gate *gate, uint64_t max_events);
void ap_record_memory_release(struct ap_record_memory *memory);

/** The i-th of the events that are kept, oldest first. */
static inline const struct ap_record_memory_event *ap_record_memory_event_at(const struct ap_record_memory *memory, size_t i)
{
    return &memory->events[(memory->event_begin + i) % memory->event_count];
}

struct ap_recorder;
/** A copy of what export and timeline read, taken under the lock; frames and their names may be borrowed, they stay: only
 *  the table of them is copied. */
AP_MUST_CHECK enum ap_status ap_record_memory_copy(struct ap_recorder *recorder, struct ap_record_memory *ret_copy,
                                                   struct ap_error *reterr);
void ap_record_memory_copy_release(struct ap_record_memory *copy);

/** NULL where the device was never named. */
const struct ap_record_device *ap_record_memory_device(const struct ap_record_memory *memory, int32_t device);

#endif
