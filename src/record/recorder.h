/* SPDX-License-Identifier: MIT
 * recorder.h - what a recorder holds. Each thread appends to a list of chunks of its own, without a lock; readers see what
 * is published:
 *
 *     recorder -> thread -> chunk -> chunk        count is stored (release) behind each event
 *              -> thread -> chunk
 *
 * Times of scopes, instants, steps and memory events are in ticks of the fastest clock that can be trusted, and become
 * nanoseconds when they are read. Knows nothing of traces but the names of their parts. */
#ifndef AP_RECORDER_H
#define AP_RECORDER_H

#include <pthread.h>
#include <stdatomic.h>

#include "analyze_profile/record.h"
#include "mem.h"
#include "record_memory.h"
#include "strpool.h"

#define AP_RECORD_OPEN_SCOPES 32 /* names of open scopes that a thread keeps, the outermost */

enum ap_record_kind { AP_RECORD_SCOPE, AP_RECORD_OPERATION, AP_RECORD_INSTANT, AP_RECORD_STEP };

struct ap_record_event {
    const char *name;     /* NULL = unknown */
    int64_t start, end;   /* ticks; of an operation nanoseconds */
    int64_t memory_bytes; /* of a step: its number */
    double flops;
    uint8_t kind, category;
    int16_t device;
    uint32_t stream;
};

struct ap_record_chunk {
    _Atomic(struct ap_record_chunk *) next;
    _Atomic uint32_t count; /* events that readers may look at */
    uint32_t capacity;
    struct ap_record_event events[];
};

struct ap_record_thread {
    struct ap_record_thread *next;
    struct ap_recorder *recorder;
    uint64_t number; /* of the thread, unlike all others of this process */
    int64_t os_id;
    _Atomic(const char *) label; /* NULL = none */
    _Atomic(struct ap_record_chunk *) first;
    _Atomic uint64_t dropped;
    /* the thread's own: */
    struct ap_record_chunk *last;
    uint32_t used; /* of last */
    uint32_t depth;
    int64_t memory_bytes; /* allocated less released so far */
    const char *open[AP_RECORD_OPEN_SCOPES];
};

/* The same moment in ticks and in nanoseconds. */
struct ap_record_anchor {
    int64_t ticks, ns;
};

struct ap_record_metadata {
    const char *key, *value;
};

struct ap_recorder {
    struct ap_recorder_switch on; /* first: the public header looks at it */
    bool use_ticks;
    uint64_t serial; /* unlike that of all other recorders of this process */
    int64_t (*clock_ns)(void *clock_self);
    void *clock_self;
    struct ap_gate gate;
    _Atomic(struct ap_record_thread *) threads;
    _Atomic uint64_t room;    /* events that may still be kept */
    _Atomic uint64_t dropped; /* of threads that could not be added */
    int64_t epoch_ns;         /* added to a time: since 1970 */
    uint64_t max_events;
    pthread_mutex_t lock; /* of all that follows */
    struct ap_record_anchor begun, stopped;
    bool has_stopped;
    bool step_open;
    int64_t step_start;
    uint64_t step_count; /* begun ones */
    struct ap_strpool pool;
    const char **texts; /* by id of the pool, with a NUL; NULL = none yet */
    size_t text_count, text_capacity;
    struct ap_arena arena;
    struct ap_record_metadata *metadata;
    size_t metadata_count, metadata_capacity;
    const char *process_name;
    uint32_t rank, world_size; /* world_size 0 = not told */
    const char *backend;
    pthread_mutex_t memory_lock;
    struct ap_record_memory memory;
};

/** The calling thread's part; NULL where memory ended. */
struct ap_record_thread *ap_record_thread_get(struct ap_recorder *recorder);

/* ---- time ---- */

/** Can the processor's counter stand for time? Where the kernel itself trusts it. */
bool ap_record_ticks_usable(void);
/** Now, of CLOCK_MONOTONIC, or as the options of the recorder tell the time. */
int64_t ap_record_clock_ns(const struct ap_recorder *recorder);
struct ap_record_anchor ap_record_anchor_now(const struct ap_recorder *recorder);

static inline int64_t ap_record_time(const struct ap_recorder *recorder)
{
#if defined(__x86_64__)
    if (AP_LIKELY(recorder->use_ticks))
        return (int64_t)__builtin_ia32_rdtsc();
#endif
    return ap_record_clock_ns(recorder);
}

/** From ticks to nanoseconds: straight between the moment when recording began and now (or when it was stopped). */
struct ap_record_scale {
    struct ap_record_anchor begun;
    double ns_per_tick; /* 0 = ticks are nanoseconds */
};
/** Waits some milliseconds where recording has just begun. */
struct ap_record_scale ap_record_scale_now(struct ap_recorder *recorder);
/** Ticks as nanoseconds. */
int64_t ap_record_ns(const struct ap_record_scale *scale, int64_t ticks);

/* ---- reading ---- */

struct ap_record_span {
    int64_t start_ns, dur_ns;
};
/** When the event was, in nanoseconds. A span that would end before it begins has length 0. */
struct ap_record_span ap_record_span_of(const struct ap_record_event *event, const struct ap_record_scale *scale);

/** Walks what all threads have published, thread by thread, each in the order in which its events ended. */
struct ap_record_walk {
    struct ap_record_thread *thread; /* of the event that was returned last */
    struct ap_record_chunk *chunk;
    uint32_t at;
};
/** To go over the events of all threads; what is recorded meanwhile may be in it or not. */
struct ap_record_walk ap_record_walk_begin(struct ap_recorder *recorder);
const struct ap_record_event *ap_record_walk_next(struct ap_record_walk *walk); /* NULL at the end */

static inline struct ap_text ap_record_name(const char *name)
{
    return ap_text_of(name ? name : "unknown");
}

#endif
