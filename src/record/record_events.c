/* SPDX-License-Identifier: MIT
 * record_events.c - recording: the path that has to be short. */
#include "recorder.h"

#include "poison.h"

#define FIRST_CHUNK_EVENTS 64
#define CHUNK_EVENTS 1024

/* As much of the room that is left as is wanted. */
static uint32_t claim_room(struct ap_recorder *recorder, uint32_t wanted)
{
    uint64_t left = atomic_load_explicit(&recorder->room, memory_order_relaxed);
    uint64_t claimed;
    do {
        claimed = left < wanted ? left : wanted;
    } while (claimed && !atomic_compare_exchange_weak(&recorder->room, &left, left - claimed));
    return (uint32_t)claimed;
}

static __attribute__((noinline)) bool add_chunk(struct ap_record_thread *thread)
{
    struct ap_recorder *recorder = thread->recorder;
    uint32_t wanted = thread->last ? CHUNK_EVENTS : FIRST_CHUNK_EVENTS, capacity = claim_room(recorder, wanted);
    struct ap_record_chunk *chunk = NULL;
    if (capacity)
        chunk = ap_mem_resize(&recorder->gate, NULL, 0, sizeof(*chunk) + capacity * sizeof(chunk->events[0]));
    if (!chunk) {
        atomic_fetch_add(&recorder->room, capacity);
        return false;
    }
    atomic_init(&chunk->next, NULL);
    atomic_init(&chunk->count, 0);
    chunk->capacity = capacity;
    if (thread->last)
        atomic_store_explicit(&thread->last->next, chunk, memory_order_release);
    else
        atomic_store_explicit(&thread->first, chunk, memory_order_release);
    thread->last = chunk;
    thread->used = 0;
    return true;
}

static inline void append(struct ap_record_thread *thread, const struct ap_record_event *event)
{
    struct ap_record_chunk *chunk = thread->last;
    if (AP_UNLIKELY(!chunk || thread->used == chunk->capacity)) {
        if (!add_chunk(thread)) {
            atomic_fetch_add_explicit(&thread->dropped, 1, memory_order_relaxed);
            return;
        }
        chunk = thread->last;
    }
    chunk->events[thread->used++] = *event;
    atomic_store_explicit(&chunk->count, thread->used, memory_order_release);
}

void ap_scope_begin_on(struct ap_scope *scope, struct ap_recorder *recorder, enum ap_record_category category,
                       const char *name)
{
    struct ap_record_thread *thread = ap_record_thread_get(recorder);
    if (!thread)
        return;
    scope->thread = thread;
    scope->recorder = recorder;
    scope->name = name;
    scope->category = category;
    scope->flops = 0;
    scope->memory_bytes = thread->memory_bytes;
    scope->depth = thread->depth;
    if (thread->depth < AP_RECORD_OPEN_SCOPES)
        thread->open[thread->depth] = name;
    thread->depth++;
    scope->start = ap_record_time(recorder);
}

void ap_scope_end_on(struct ap_scope *scope)
{
    int64_t end = ap_record_time(scope->recorder);
    struct ap_record_thread *thread = scope->thread;
    thread->depth = scope->depth;
    append(thread, &(struct ap_record_event){ scope->name, scope->start, end, thread->memory_bytes - scope->memory_bytes,
                                              scope->flops, AP_RECORD_SCOPE, (uint8_t)scope->category, AP_DEVICE_HOST, 0 });
}

void ap_record_operation(struct ap_recorder *recorder, const struct ap_operation *operation)
{
    struct ap_record_thread *thread = ap_recorder_is_on(recorder) ? ap_record_thread_get(recorder) : NULL;
    if (!thread)
        return;
    bool overflowed = false;
    int64_t dur_ns = operation->duration_ns > 0 ? operation->duration_ns : 0;
    int32_t device = operation->device < 0 ? AP_DEVICE_HOST : operation->device < INT16_MAX ? operation->device : INT16_MAX;
    append(thread, &(struct ap_record_event){ operation->name, operation->start_ns,
                                              ap_add_sat(operation->start_ns, dur_ns, &overflowed), operation->memory_bytes,
                                              operation->flops, AP_RECORD_OPERATION, (uint8_t)operation->category,
                                              (int16_t)device, operation->stream });
}

void ap_record_instant(struct ap_recorder *recorder, enum ap_record_category category, const char *name)
{
    struct ap_record_thread *thread = ap_recorder_is_on(recorder) ? ap_record_thread_get(recorder) : NULL;
    if (!thread)
        return;
    int64_t now = ap_record_time(recorder);
    append(thread,
           &(struct ap_record_event){ name, now, now, 0, 0, AP_RECORD_INSTANT, (uint8_t)category, AP_DEVICE_HOST, 0 });
}

/* One moment ends a step and begins the next. */
static void change_step(struct ap_recorder *recorder, bool begin)
{
    struct ap_record_thread *thread = ap_recorder_is_on(recorder) ? ap_record_thread_get(recorder) : NULL;
    if (!thread)
        return;
    pthread_mutex_lock(&recorder->lock);
    int64_t now = ap_record_time(recorder);
    if (recorder->step_open)
        append(thread,
               &(struct ap_record_event){ "ProfilerStep", recorder->step_start, now, (int64_t)(recorder->step_count - 1), 0,
                                          AP_RECORD_STEP, AP_RECORD_CUSTOM, AP_DEVICE_HOST, 0 });
    recorder->step_open = begin;
    recorder->step_start = now;
    recorder->step_count += begin;
    pthread_mutex_unlock(&recorder->lock);
}

void ap_record_step(struct ap_recorder *recorder)
{
    change_step(recorder, true);
}

void ap_record_step_end(struct ap_recorder *recorder)
{
    change_step(recorder, false);
}
