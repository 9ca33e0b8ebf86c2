/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include "recorder.h"

#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "poison.h"

#define DEFAULT_MAX_EVENTS 1000000

static _Atomic uint64_t serials, thread_numbers;

/* Of the calling thread. Initial-exec makes reaching it one instruction, in a shared library too. */
static _Thread_local struct {
    uint64_t serial; /* of the recorder that thread belongs to; 0 = none */
    struct ap_record_thread *thread;
    uint64_t number;
} mine __attribute__((tls_model("initial-exec")));

/* ---------------------------------------------------------------------------------------------------------- life */

static int64_t since_1970_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void start_clock(struct ap_recorder *recorder, const struct ap_recorder_options *options)
{
    recorder->clock_ns = options->clock_ns;
    recorder->clock_self = options->clock_self;
    recorder->use_ticks = !options->clock_ns && ap_record_ticks_usable();
    recorder->begun = ap_record_anchor_now(recorder);
    recorder->epoch_ns = options->clock_ns ? 0 : since_1970_ns() - ap_record_clock_ns(recorder);
}

static struct ap_recorder *recorder_alloc(const struct ap_recorder_options *options)
{
    struct ap_gate gate;
    ap_gate_init(&gate, 0);
    if (options->fail_after)
        atomic_store(&gate.fail_after, options->fail_after - 1);
    struct ap_recorder *recorder = ap_mem_cleared(&gate, sizeof(*recorder));
    if (!recorder)
        return NULL;
    ap_gate_init(&recorder->gate, 0);
    atomic_store(&recorder->gate.fail_after, atomic_load(&gate.fail_after));
    return recorder;
}

enum ap_status ap_recorder_new(const struct ap_recorder_options *options, struct ap_recorder **ret_recorder,
                               struct ap_error *reterr)
{
    struct ap_recorder *recorder = recorder_alloc(options);
    if (!recorder)
        return ap_fail(reterr, AP_ERROR_MEMORY, "out of memory: no recorder");
    recorder->serial = atomic_fetch_add(&serials, 1) + 1;
    recorder->max_events = options->max_events ? options->max_events : DEFAULT_MAX_EVENTS;
    atomic_store(&recorder->room, recorder->max_events);
    pthread_mutex_init(&recorder->lock, NULL);
    pthread_mutex_init(&recorder->memory_lock, NULL);
    ap_strpool_init(&recorder->pool, &recorder->gate);
    ap_arena_init(&recorder->arena, &recorder->gate);
    ap_record_memory_init(&recorder->memory, &recorder->gate, recorder->max_events);
    recorder->process_name = ap_recorder_keep_text(recorder, options->process_name ? options->process_name : "process");
    if (!recorder->process_name) {
        ap_recorder_free(recorder);
        return ap_fail(reterr, AP_ERROR_MEMORY, "out of memory: no recorder");
    }
    start_clock(recorder, options);
    recorder->on.on = !options->start_off;
    *ret_recorder = recorder;
    return AP_OK;
}

static void free_threads(struct ap_recorder *recorder)
{
    struct ap_record_thread *thread = atomic_load(&recorder->threads);
    while (thread) {
        struct ap_record_thread *next_thread = thread->next;
        struct ap_record_chunk *chunk = atomic_load(&thread->first);
        while (chunk) {
            struct ap_record_chunk *next_chunk = atomic_load(&chunk->next);
            ap_mem_free(&recorder->gate, chunk, sizeof(*chunk) + chunk->capacity * sizeof(chunk->events[0]));
            chunk = next_chunk;
        }
        AP_FREE(&recorder->gate, thread, 1);
        thread = next_thread;
    }
}

void ap_recorder_free(struct ap_recorder *recorder)
{
    if (!recorder)
        return;
    free_threads(recorder);
    ap_record_memory_release(&recorder->memory);
    AP_FREE(&recorder->gate, recorder->metadata, recorder->metadata_capacity);
    AP_FREE(&recorder->gate, recorder->texts, recorder->text_capacity);
    ap_strpool_release(&recorder->pool);
    ap_arena_release(&recorder->arena);
    pthread_mutex_destroy(&recorder->lock);
    pthread_mutex_destroy(&recorder->memory_lock);
    struct ap_gate gate;
    ap_gate_init(&gate, 0);
    atomic_store(&gate.used_bytes, sizeof(*recorder));
    AP_FREE(&gate, recorder, 1);
}

static void set_on(struct ap_recorder *recorder, int on)
{
    __atomic_store_n(&recorder->on.on, on, __ATOMIC_RELAXED);
}

void ap_recorder_start(struct ap_recorder *recorder)
{
    pthread_mutex_lock(&recorder->lock);
    recorder->has_stopped = false;
    pthread_mutex_unlock(&recorder->lock);
    set_on(recorder, 1);
}

void ap_recorder_stop(struct ap_recorder *recorder)
{
    set_on(recorder, 0);
    pthread_mutex_lock(&recorder->lock);
    if (!recorder->has_stopped)
        recorder->stopped = ap_record_anchor_now(recorder);
    recorder->has_stopped = true;
    recorder->step_open = false;
    pthread_mutex_unlock(&recorder->lock);
}

/* ---------------------------------------------------------------------------------------------------------- texts */

static const char *keep_text(struct ap_recorder *recorder, const char *text)
{
    struct ap_str str;
    struct ap_error error;
    if (ap_strpool_intern(&recorder->pool, text, strlen(text), &str, &error) != AP_OK ||
        AP_RESERVE(&recorder->gate, recorder->texts, recorder->text_capacity, (size_t)str.id + 1, &error) != AP_OK)
        return NULL;
    while (recorder->text_count <= str.id) /* one whose copy failed has none */
        recorder->texts[recorder->text_count++] = NULL;
    if (!recorder->texts[str.id])
        recorder->texts[str.id] = ap_arena_text(&recorder->arena, ap_text_of(text)).data;
    return recorder->texts[str.id];
}

const char *ap_recorder_keep_text(struct ap_recorder *recorder, const char *text)
{
    pthread_mutex_lock(&recorder->lock);
    const char *kept = keep_text(recorder, text);
    pthread_mutex_unlock(&recorder->lock);
    return kept;
}

static bool is_taken(const char *key)
{
    static const char *const taken[] = {
        "schemaVersion", "deviceProperties", "distributedInfo", "baseTimeNanoseconds", "displayTimeUnit", "traceEvents",
        "traceName",     "profile_memory",   "record_shapes",   "with_stack",          "with_modules",    "with_flops",
        "recorder",      "analyze_profile",  "segments",        "device_traces",       "schema",          "nodes"
    };
    for (size_t i = 0; i < AP_COUNT_OF(taken); i++)
        if (strcmp(taken[i], key) == 0)
            return true;
    return false;
}

static enum ap_status set_metadata(struct ap_recorder *recorder, const char *key, const char *value, struct ap_error *reterr)
{
    struct ap_record_metadata entry = { keep_text(recorder, key), keep_text(recorder, value) };
    if (!entry.key || !entry.value)
        return ap_fail_memory(&recorder->gate, reterr);
    for (size_t i = 0; i < recorder->metadata_count; i++)
        if (recorder->metadata[i].key == entry.key) {
            recorder->metadata[i].value = entry.value;
            return AP_OK;
        }
    AP_TRY_ADD(&recorder->gate, recorder->metadata, recorder->metadata_count, recorder->metadata_capacity, reterr, entry);
    return AP_OK;
}

enum ap_status ap_recorder_set_metadata(struct ap_recorder *recorder, const char *key, const char *value,
                                        struct ap_error *reterr)
{
    if (is_taken(key))
        return ap_fail(reterr, AP_ERROR_USAGE,
                       "metadata '%.200s': the trace has a member of this name itself; choose another", key);
    pthread_mutex_lock(&recorder->lock);
    enum ap_status status = set_metadata(recorder, key, value, reterr);
    pthread_mutex_unlock(&recorder->lock);
    return status;
}

enum ap_status ap_recorder_set_rank(struct ap_recorder *recorder, uint32_t rank, uint32_t world_size, const char *backend,
                                    struct ap_error *reterr)
{
    if (rank >= world_size)
        return ap_fail(reterr, AP_ERROR_USAGE, "rank %u of %u: ranks count from 0", (unsigned)rank, (unsigned)world_size);
    const char *kept = ap_recorder_keep_text(recorder, backend);
    if (!kept)
        return ap_fail_memory(&recorder->gate, reterr);
    pthread_mutex_lock(&recorder->lock);
    recorder->rank = rank;
    recorder->world_size = world_size;
    recorder->backend = kept;
    pthread_mutex_unlock(&recorder->lock);
    return AP_OK;
}

/* -------------------------------------------------------------------------------------------------------- threads */

static struct ap_record_thread *find_thread(struct ap_recorder *recorder)
{
    struct ap_record_thread *thread = atomic_load(&recorder->threads);
    while (thread && thread->number != mine.number)
        thread = thread->next;
    return thread;
}

static struct ap_record_thread *add_thread(struct ap_recorder *recorder)
{
    struct ap_record_thread *thread = ap_mem_cleared(&recorder->gate, sizeof(*thread));
    if (!thread)
        return NULL;
    thread->recorder = recorder;
    thread->number = mine.number;
    thread->os_id = syscall(SYS_gettid);
    thread->next = atomic_load(&recorder->threads);
    atomic_store(&recorder->threads, thread);
    return thread;
}

static __attribute__((noinline)) struct ap_record_thread *enter_thread(struct ap_recorder *recorder)
{
    if (!mine.number)
        mine.number = atomic_fetch_add(&thread_numbers, 1) + 1;
    pthread_mutex_lock(&recorder->lock);
    struct ap_record_thread *thread = find_thread(recorder);
    if (!thread)
        thread = add_thread(recorder);
    pthread_mutex_unlock(&recorder->lock);
    if (thread) {
        mine.serial = recorder->serial;
        mine.thread = thread;
    } else {
        atomic_fetch_add(&recorder->dropped, 1);
    }
    return thread;
}

struct ap_record_thread *ap_record_thread_get(struct ap_recorder *recorder)
{
    return AP_LIKELY(mine.serial == recorder->serial) ? mine.thread : enter_thread(recorder);
}

void ap_recorder_name_thread(struct ap_recorder *recorder, const char *name)
{
    struct ap_record_thread *thread = ap_record_thread_get(recorder);
    const char *kept = ap_recorder_keep_text(recorder, name);
    if (thread && kept)
        atomic_store(&thread->label, kept);
}

/* -------------------------------------------------------------------------------------------------------- reading */

struct ap_record_walk ap_record_walk_begin(struct ap_recorder *recorder)
{
    struct ap_record_walk walk = { atomic_load(&recorder->threads), NULL, 0 };
    if (walk.thread)
        walk.chunk = atomic_load_explicit(&walk.thread->first, memory_order_acquire);
    return walk;
}

const struct ap_record_event *ap_record_walk_next(struct ap_record_walk *walk)
{
    while (walk->thread) {
        while (walk->chunk) {
            if (walk->at < atomic_load_explicit(&walk->chunk->count, memory_order_acquire))
                return &walk->chunk->events[walk->at++];
            walk->chunk = atomic_load_explicit(&walk->chunk->next, memory_order_acquire);
            walk->at = 0;
        }
        walk->thread = walk->thread->next;
        if (walk->thread)
            walk->chunk = atomic_load_explicit(&walk->thread->first, memory_order_acquire);
    }
    return NULL;
}

struct ap_record_span ap_record_span_of(const struct ap_record_event *event, const struct ap_record_scale *scale)
{
    bool in_ns = event->kind == AP_RECORD_OPERATION;
    int64_t start_ns = in_ns ? event->start : ap_record_ns(scale, event->start);
    int64_t end_ns = in_ns ? event->end : ap_record_ns(scale, event->end);
    bool overflowed = false;
    return (struct ap_record_span){ start_ns, end_ns > start_ns ? ap_add_sat(end_ns, -start_ns, &overflowed) : 0 };
}

void ap_recorder_count(struct ap_recorder *recorder, struct ap_recorder_counts *ret_counts)
{
    struct ap_recorder_counts counts = { .events_dropped = atomic_load(&recorder->dropped) };
    for (struct ap_record_thread *thread = atomic_load(&recorder->threads); thread; thread = thread->next) {
        counts.threads++;
        counts.events_dropped += atomic_load(&thread->dropped);
    }
    for (struct ap_record_walk walk = ap_record_walk_begin(recorder); ap_record_walk_next(&walk);)
        counts.events++;
    pthread_mutex_lock(&recorder->lock);
    counts.steps = recorder->step_count;
    pthread_mutex_unlock(&recorder->lock);
    pthread_mutex_lock(&recorder->memory_lock);
    counts.memory_events = recorder->memory.event_count;
    counts.memory_events_dropped = recorder->memory.events_dropped;
    counts.allocations_dropped = recorder->memory.allocations_dropped;
    pthread_mutex_unlock(&recorder->memory_lock);
    *ret_counts = counts;
}
