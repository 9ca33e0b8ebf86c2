/* SPDX-License-Identifier: MIT
 * record.h - a program records itself: scopes, operations, events, steps and memory, kept in memory while it runs; read back
 * as statistics, written as a trace and a memory snapshot in PyTorch's forms, which analyze_profile and viewers read.
 *
 *     struct ap_recorder *recorder;
 *     ap_recorder_new(&(struct ap_recorder_options){ .process_name = "trainer" }, &recorder, &error);
 *     for (...) {
 *         ap_record_step(recorder);
 *         AP_SCOPE(recorder, AP_RECORD_COMPUTE, "forward");       until the end of the block
 *     }
 *     ap_recorder_stop(recorder);
 *     ap_recorder_save_trace(recorder, "trace.json", &error);
 *
 * Any number of threads may record into one recorder. Recording never fails and never waits for another thread (memory
 * tracking does, shortly): what finds no room is counted as dropped. A recorder that is off costs one branch a call.
 * @recorder is never NULL.
 *
 * Names are texts that live as long as the recorder: literals, or what ap_recorder_keep_text() returns. Times are
 * nanoseconds of CLOCK_MONOTONIC. */
#ifndef ANALYZE_PROFILE_RECORD_H
#define ANALYZE_PROFILE_RECORD_H

#include <stddef.h>

#include "analyze_profile/analyze_profile.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ap_record_category {
    AP_RECORD_COMPUTE,
    AP_RECORD_MEMORY,          /* copies, fills, allocation */
    AP_RECORD_DATA_LOADING,    /* waiting for input, or making it */
    AP_RECORD_SYNCHRONISATION, /* waiting for other threads or devices */
    AP_RECORD_COMMUNICATION,   /* with other processes: "all_reduce", or with its library: "gloo:all_reduce" */
    AP_RECORD_CUSTOM
};

#define AP_DEVICE_HOST \
    (-1) /* as a device: the machine's own memory and cores; GPUs count from 0, memory is tracked of the first 256 */

struct ap_recorder;

/** A zeroed struct is a sensible choice. */
struct ap_recorder_options {
    const char *process_name; /* shown by viewers; copied; NULL = "process" */
    uint64_t max_events;      /* events kept, and memory events and live allocations likewise; 0 = 1,000,000 */
    bool start_off;           /* until ap_recorder_start() */
    int64_t (*clock_ns)(
        void *clock_self); /* tests: the time since 1970 that is recorded; called by all threads; NULL = real */
    void *clock_self;
    int64_t fail_after; /* tests: the allocation that fails, and all later ones; 0 = none */
};

/** A recorder that is on, unless start_off. Costs some 50 bytes an event, in pieces as they are needed: a thread takes room
 * for 64, then for 1,024 at a time, so that of several threads some may drop events while others have room left. */
AP_API enum ap_status ap_recorder_new(const struct ap_recorder_options *options, struct ap_recorder **ret_recorder,
                                      struct ap_error *reterr);
/** No thread may be recording any more. NULL is fine. */
AP_API void ap_recorder_free(struct ap_recorder *recorder);

/** Scopes that are open when recording stops are recorded when they end, an open step is left out; memory is not tracked
 * while it is off. */
AP_API void ap_recorder_start(struct ap_recorder *recorder);
AP_API void ap_recorder_stop(struct ap_recorder *recorder);

/** The clock of the recorder: what start_ns of an operation counts in. */
AP_API int64_t ap_recorder_now_ns(const struct ap_recorder *recorder);

/** A copy of @text that lives as long as the recorder; equal texts give the same copy. NULL where memory ends: scopes and
 *  events with the name NULL are called "unknown". */
AP_API const char *ap_recorder_keep_text(struct ap_recorder *recorder, const char *text);

/** Stands in the trace as a member of its own, as text. Both are copied; a key that is set again is replaced. Refused
 *  (AP_ERROR_USAGE) are keys that the form itself uses, such as traceEvents. */
AP_API enum ap_status ap_recorder_set_metadata(struct ap_recorder *recorder, const char *key, const char *value,
                                               struct ap_error *reterr);
/** Of a program of several processes: which one this is, of how many, and by what they communicate (copied). */
AP_API enum ap_status ap_recorder_set_rank(struct ap_recorder *recorder, uint32_t rank, uint32_t world_size,
                                           const char *backend, struct ap_error *reterr);
/** How viewers call the calling thread; copied. Dropped where memory ends. */
AP_API void ap_recorder_name_thread(struct ap_recorder *recorder, const char *name);

/* ---- scopes: from begin to end on one thread, properly nested ---- */

/** Lives on the stack of who records. */
struct ap_scope {
    void *thread; /* of the recorder; NULL = not recorded */
    struct ap_recorder *recorder;
    const char *name;
    int64_t start, memory_bytes;
    double flops;
    uint32_t category, depth;
};

/* The first member of every recorder. */
struct ap_recorder_switch {
    int on;
};

static inline bool ap_recorder_is_on(const struct ap_recorder *recorder)
{
    return __atomic_load_n(&((const struct ap_recorder_switch *)(const void *)recorder)->on, __ATOMIC_RELAXED) != 0;
}

/* Called by the two functions below it. */
AP_API void ap_scope_begin_on(struct ap_scope *scope, struct ap_recorder *recorder, enum ap_record_category category,
                              const char *name);
AP_API void ap_scope_end_on(struct ap_scope *scope);

static inline void ap_scope_begin(struct ap_scope *scope, struct ap_recorder *recorder, enum ap_record_category category,
                                  const char *name)
{
    scope->thread = NULL;
    if (__builtin_expect(ap_recorder_is_on(recorder), 0))
        ap_scope_begin_on(scope, recorder, category, name);
}

/** On the thread that began it. */
static inline void ap_scope_end(struct ap_scope *scope)
{
    if (__builtin_expect(scope->thread != NULL, 0))
        ap_scope_end_on(scope);
}

/** Floating-point operations that the scope did; adds up. */
static inline void ap_scope_add_flops(struct ap_scope *scope, double flops)
{
    if (scope->thread)
        scope->flops += flops;
}

#define AP_SCOPE_JOIN_(a, b) a##b
#define AP_SCOPE_JOIN(a, b) AP_SCOPE_JOIN_(a, b)
/** A scope from here to the end of the block, however it is left (return, break, an exception in C++). Two statements: it
 *  needs braces behind an if. AP_NAMED_SCOPE gives it a name for ap_scope_add_flops. */
#define AP_NAMED_SCOPE(variable, recorder, category, name)           \
    struct ap_scope variable __attribute__((cleanup(ap_scope_end))); \
    ap_scope_begin(&variable, (recorder), (category), (name))
#define AP_SCOPE(recorder, category, name) AP_NAMED_SCOPE(AP_SCOPE_JOIN(ap_scope_, __LINE__), recorder, category, name)

/* ---- operations, events, steps ---- */

/** Something that was timed elsewhere. A zeroed struct is on the GPU 0: set device. */
struct ap_operation {
    const char *name;
    enum ap_record_category category;
    int64_t start_ns, duration_ns; /* a negative duration counts as 0 */
    int64_t memory_bytes;          /* allocated less released; of a copy or fill on a GPU: moved */
    double flops;                  /* 0 = not known */
    int32_t device;                /* AP_DEVICE_HOST: on the calling thread */
    uint32_t stream;               /* of a GPU */
};
/** Copies what @operation says, but borrows its name. Nothing happens while the recorder is off. */
AP_API void ap_record_operation(struct ap_recorder *recorder, const struct ap_operation *operation);

/** A moment on the calling thread. */
AP_API void ap_record_instant(struct ap_recorder *recorder, enum ap_record_category category, const char *name);

/** The next step begins, which ends the one before. Steps count from 0, whatever thread marks them; one thread should. */
AP_API void ap_record_step(struct ap_recorder *recorder);
/** The current step ends, and none begins. Without it the last step has no end and is left out. */
AP_API void ap_record_step_end(struct ap_recorder *recorder);

/* ---- memory ---- */

/** @bytes at @address of @device were allocated; call it behind the allocation. @tag, or NULL, says what for; together with
 *  the open scopes of the thread it is the allocation's stack. An address that is in use already counts as released. */
AP_API void ap_record_allocation(struct ap_recorder *recorder, int32_t device, const void *address, uint64_t bytes,
                                 const char *tag);
/** Call it before the release: then no other thread can have been given the address. The size is known from the
 *  allocation; one that was not recorded is counted as unmatched. */
AP_API void ap_record_release(struct ap_recorder *recorder, int32_t device, const void *address);

struct ap_memory_use {
    int64_t current_bytes, peak_bytes; /* of what was tracked */
    int64_t peak_ns;                   /* when the peak was first reached; 0 = nothing was allocated */
    uint64_t allocation_count, release_count;
    uint64_t unmatched_count; /* releases of what is not known */
    uint64_t lost_count;      /* allocations at an address in use: their release was not recorded */
};
/** All zero for a device that was never named. */
AP_API void ap_recorder_memory(struct ap_recorder *recorder, int32_t device, struct ap_memory_use *ret_use);

struct ap_memory_point {
    int64_t time_ns, change_bytes, current_bytes;
    uint64_t address;
    const char *tag; /* NULL = none, and of releases */
};
/** The last allocations and releases of a device in order; at most @capacity of them, the newest, go to @points. *@ret_count
 *  is how many there are. */
AP_API void ap_recorder_timeline(struct ap_recorder *recorder, int32_t device, struct ap_memory_point *points,
                                 size_t capacity, size_t *ret_count);

/* ---- statistics: summed up when they are asked for, 40 ns an event; within 5 ms of the beginning, figures with times wait
 * until those are over, to know the clock's speed ---- */

/** All scopes and operations of one name, category and device. */
struct ap_hotspot {
    const char *name;
    enum ap_record_category category;
    int32_t device;
    uint64_t count;
    int64_t total_ns, mean_ns, min_ns, max_ns; /* durations, with what ran inside */
    int64_t memory_bytes;                      /* allocated less released by the same thread meanwhile */
    double flops;                              /* 0 = not told */
};
/** Those with the longest total first, at most @capacity of them; *@ret_count is how many there are. */
AP_API enum ap_status ap_recorder_hotspots(struct ap_recorder *recorder, struct ap_hotspot *hotspots, size_t capacity,
                                           size_t *ret_count, struct ap_error *reterr);
/** The one of a name with the longest total; AP_END where there is none. */
AP_API enum ap_status ap_recorder_statistics(struct ap_recorder *recorder, const char *name, struct ap_hotspot *ret_hotspot,
                                             struct ap_error *reterr);

struct ap_recorder_counts {
    uint64_t events, memory_events; /* kept */
    uint64_t events_dropped;        /* beyond the limit, or without memory: in no figure */
    uint64_t memory_events_dropped; /* the oldest ones: current and peak are right all the same */
    uint64_t allocations_dropped;   /* not tracked: current and peak are too low */
    uint64_t threads, steps;
};
/** What was kept and what was dropped so far; may be called while others record. */
AP_API void ap_recorder_count(struct ap_recorder *recorder, struct ap_recorder_counts *ret_counts);

/* ---- export; may be called while others record: what began before is in it ---- */

/** A Chrome trace in PyTorch's dialect. Compute and memory are operators (kernels and copies on a GPU), steps are
 *  "ProfilerStep#N", data loading is "enumerate(DataLoader)#NAME", synchronization "synchronize(NAME)", communication
 *  "c10d::NAME" unless the name has its library, custom is an annotation; memory events are "[memory]" instants. */
AP_API enum ap_status ap_recorder_write_trace(struct ap_recorder *recorder, ap_write_fn *write, void *write_self,
                                              struct ap_error *reterr);
/** A snapshot in the form of torch.cuda.memory._snapshot(). The host's memory is the device behind the last GPU. Of pools
 *  the recorder knows nothing: reserved is the most that was in use so far, as a pool without waste would have it. */
AP_API enum ap_status ap_recorder_write_snapshot(struct ap_recorder *recorder, ap_write_fn *write, void *write_self,
                                                 struct ap_error *reterr);
/** The same into a file, which is replaced. A file that could not be written whole is left as it is. */
AP_API enum ap_status ap_recorder_save_trace(struct ap_recorder *recorder, const char *path, struct ap_error *reterr);
AP_API enum ap_status ap_recorder_save_snapshot(struct ap_recorder *recorder, const char *path, struct ap_error *reterr);

#ifdef __cplusplus
}
#endif

#endif
