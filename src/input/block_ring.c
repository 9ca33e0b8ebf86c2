/* SPDX-License-Identifier: MIT */
#include "block_ring.h"

#include <string.h>

#include "thread.h"

#include "poison.h"

static size_t stride_bytes(const struct ap_block_ring *ring)
{
    size_t bytes = ring->room_before + ring->cap_bytes + ring->room_after;
    return (bytes + 63) & ~(size_t)63;
}

static uint8_t *block_data(const struct ap_block_ring *ring, uint64_t number)
{
    return ring->memory + (size_t)(number % ring->count) * stride_bytes(ring) + ring->room_before;
}

enum ap_status ap_block_ring_init(struct ap_block_ring *ring, struct ap_gate *gate, unsigned count, size_t room_before,
                                  size_t cap_bytes, size_t room_after, struct ap_error *reterr)
{
    *ring = (struct ap_block_ring){
        .gate = gate, .count = count, .room_before = room_before, .cap_bytes = cap_bytes, .room_after = room_after
    };
    ring->memory_bytes = count * stride_bytes(ring);
    ring->memory = ap_mem_resize(gate, NULL, 0, ring->memory_bytes);
    if (!ring->memory)
        return ap_fail_memory(gate, reterr);
    /* With default attributes these cannot fail. */
    (void)pthread_mutex_init(&ring->mutex, NULL);
    (void)pthread_cond_init(&ring->was_filled, NULL);
    (void)pthread_cond_init(&ring->was_released, NULL);
    atomic_init(&ring->filled, 0);
    atomic_init(&ring->released, 0);
    atomic_init(&ring->ended, false);
    atomic_init(&ring->stopped, false);
    return AP_OK;
}

/* Its turn, when all blocks before it are filled. False when nothing more is wanted, or comes. */
static bool hand_on(struct ap_block_ring *ring, uint64_t number, enum ap_status status, size_t bytes,
                    const struct ap_error *error)
{
    (void)pthread_mutex_lock(&ring->mutex);
    while (atomic_load(&ring->filled) != number && !atomic_load(&ring->ended) && !atomic_load(&ring->stopped))
        (void)pthread_cond_wait(&ring->was_filled, &ring->mutex);
    bool wanted = atomic_load(&ring->filled) == number && !atomic_load(&ring->ended);
    if (wanted && status == AP_OK) {
        ring->filled_bytes[number % ring->count] = bytes;
        atomic_store_explicit(&ring->filled, number + 1, memory_order_release);
    }
    bool last = status != AP_OK || (ring->by_number && bytes < ring->cap_bytes);
    if (wanted && last) {
        ring->final_status = status == AP_OK ? AP_END : status;
        if (status != AP_OK && status != AP_END)
            ring->final_error = *error;
        atomic_store_explicit(&ring->ended, true, memory_order_release);
    }
    (void)pthread_cond_broadcast(&ring->was_filled);
    (void)pthread_mutex_unlock(&ring->mutex);
    return wanted && !last;
}

static bool fill_block(struct ap_block_ring *ring, uint64_t number)
{
    uint8_t *data = block_data(ring, number);
    struct ap_error error;
    size_t bytes = 0;
    enum ap_status status = ring->filler.fill(ring->filler.self, number, data, ring->cap_bytes, &bytes, &error);
    if (status == AP_OK)
        memset(data + bytes, 0, ring->room_after);
    return hand_on(ring, number, status, bytes, &error);
}

/* The next block that nobody fills, once there is room for it. */
static bool claim(struct ap_block_ring *ring, uint64_t *ret_number)
{
    (void)pthread_mutex_lock(&ring->mutex);
    while (ring->claimed - atomic_load(&ring->released) >= ring->count && !atomic_load(&ring->stopped) &&
           !atomic_load(&ring->ended))
        (void)pthread_cond_wait(&ring->was_released, &ring->mutex);
    bool wanted = !atomic_load(&ring->stopped) && !atomic_load(&ring->ended);
    *ret_number = ring->claimed;
    ring->claimed += wanted;
    (void)pthread_mutex_unlock(&ring->mutex);
    return wanted;
}

static void *fill_all(void *self);

/* Behind the first block: only its thread ever writes here what the others look at, before they are there. */
static void start_others(struct ap_block_ring *ring)
{
    unsigned wanted = ring->filler.fetchers ? ring->filler.fetchers(ring->filler.self) : 0;
    ring->by_number = wanted > 1;
    while (ring->thread_count < wanted && ap_thread_start(&ring->threads[ring->thread_count], fill_all, ring))
        ring->thread_count++;
}

static void *fill_all(void *self)
{
    struct ap_block_ring *ring = self;
    uint64_t number;
    while (claim(ring, &number) && fill_block(ring, number))
        if (number == 0)
            start_others(ring);
    return NULL;
}

void ap_block_ring_start(struct ap_block_ring *ring, struct ap_block_filler filler, bool threaded)
{
    ring->filler = filler;
    ring->threaded = threaded; /* before the thread looks at it */
    ring->thread_count = threaded;
    if (threaded && !ap_thread_start(&ring->threads[0], fill_all, ring)) {
        ring->threaded = false;
        ring->thread_count = 0;
    }
}

static void release_blocks(struct ap_block_ring *ring, uint64_t released)
{
    if (released == atomic_load_explicit(&ring->released, memory_order_relaxed))
        return;
    if (!ring->threaded) {
        atomic_store_explicit(&ring->released, released, memory_order_relaxed);
        return;
    }
    (void)pthread_mutex_lock(&ring->mutex);
    atomic_store_explicit(&ring->released, released, memory_order_release);
    (void)pthread_cond_broadcast(&ring->was_released);
    (void)pthread_mutex_unlock(&ring->mutex);
}

static bool may_take(struct ap_block_ring *ring)
{
    return atomic_load_explicit(&ring->filled, memory_order_acquire) > ring->taken;
}

static void wait_for_block(struct ap_block_ring *ring)
{
    if (!ring->threaded) {
        if (!may_take(ring) && !atomic_load(&ring->ended))
            (void)fill_block(ring, ring->taken);
        return;
    }
    if (may_take(ring))
        return;
    (void)pthread_mutex_lock(&ring->mutex);
    while (!may_take(ring) && !atomic_load(&ring->ended))
        (void)pthread_cond_wait(&ring->was_filled, &ring->mutex);
    (void)pthread_mutex_unlock(&ring->mutex);
}

enum ap_status ap_block_ring_next(struct ap_block_ring *ring, bool keep_last, uint8_t **ret_data, size_t *ret_bytes,
                                  struct ap_error *reterr)
{
    release_blocks(ring, keep_last && ring->taken ? ring->taken - 1 : ring->taken);
    wait_for_block(ring);
    if (!may_take(ring)) {
        if (ring->final_status != AP_END)
            *reterr = ring->final_error;
        return ring->final_status;
    }
    *ret_data = block_data(ring, ring->taken);
    *ret_bytes = ring->filled_bytes[ring->taken % ring->count];
    ring->taken++;
    return AP_OK;
}

bool ap_block_ring_peek(const struct ap_block_ring *ring, unsigned ahead, uint8_t **ret_data, size_t *ret_bytes)
{
    uint64_t number = ring->taken + ahead;
    if (atomic_load_explicit(&ring->filled, memory_order_acquire) <= number)
        return false;
    *ret_data = block_data(ring, number);
    *ret_bytes = ring->filled_bytes[number % ring->count];
    return true;
}

void ap_block_ring_stop(struct ap_block_ring *ring)
{
    (void)pthread_mutex_lock(&ring->mutex);
    atomic_store(&ring->stopped, true);
    (void)pthread_cond_broadcast(&ring->was_released);
    (void)pthread_cond_broadcast(&ring->was_filled);
    (void)pthread_mutex_unlock(&ring->mutex);
}

void ap_block_ring_release(struct ap_block_ring *ring)
{
    if (ring->threaded)
        (void)pthread_join(ring->threads[0], NULL);
    for (unsigned i = 1; i < ring->thread_count; i++) /* no more are started when the first one has ended */
        (void)pthread_join(ring->threads[i], NULL);
    (void)pthread_cond_destroy(&ring->was_released);
    (void)pthread_cond_destroy(&ring->was_filled);
    (void)pthread_mutex_destroy(&ring->mutex);
    ap_mem_free(ring->gate, ring->memory, ring->memory_bytes);
}
