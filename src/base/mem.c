/* SPDX-License-Identifier: MIT */
#include "mem.h"

#include <stdlib.h>
#include <string.h>

#include "large.h"

/* poison.h is not included here: this file is the gate that the other files are kept to. */

/* Each chunk of an arena is twice the one before, up to the larger: many arenas hold next to nothing. */
#define ARENA_FIRST_BYTES ((size_t)2 << 10)
#define ARENA_CHUNK_BYTES ((size_t)64 << 10)

/* From a key of its own, which nothing else uses. */
static void draw_redact_key(struct ap_gate *gate)
{
    struct ap_hash_key drawn;
    ap_hash_key_draw(&drawn);
    memcpy(gate->redact_key, drawn.words, sizeof(gate->redact_key));
}

void ap_gate_init(struct ap_gate *gate, uint64_t limit_bytes)
{
    gate->limit_bytes = limit_bytes;
    gate->reserve_bytes = 0;
    gate->limit_why = NULL;
    ap_hash_key_draw(&gate->hash_key);
    draw_redact_key(gate);
    atomic_init(&gate->used_bytes, 0);
    atomic_init(&gate->peak_bytes, 0);
    atomic_init(&gate->fail_after, -1);
    atomic_init(&gate->limit_was_hit, false);
    gate->stop = NULL;
    gate->stop_self = NULL;
    atomic_init(&gate->stopped, NULL);
}

static bool planned_failure(struct ap_gate *gate)
{
    if (atomic_load_explicit(&gate->fail_after, memory_order_relaxed) < 0)
        return false;
    /* Once the planned number is used up, every later request fails too: the counter stays at 0. */
    int64_t before = atomic_fetch_sub(&gate->fail_after, 1);
    if (before > 0)
        return false;
    atomic_store(&gate->fail_after, 0);
    return true;
}

/* Asked anew each time: a report that is kept may be asked again, for somebody who has time. */
static bool is_stopped(struct ap_gate *gate)
{
    const char *why = gate->stop ? gate->stop(gate->stop_self) : NULL;
    if (gate->stop)
        atomic_store_explicit(&gate->stopped, why, memory_order_relaxed);
    return why != NULL;
}

enum ap_status ap_gate_go_on(struct ap_gate *gate, struct ap_error *reterr)
{
    return is_stopped(gate) ? ap_fail_memory(gate, reterr) : AP_OK;
}

static void raise_peak(struct ap_gate *gate, uint64_t used_bytes)
{
    uint64_t peak = atomic_load_explicit(&gate->peak_bytes, memory_order_relaxed);
    while (used_bytes > peak && !atomic_compare_exchange_weak(&gate->peak_bytes, &peak, used_bytes))
        continue;
}

/* May @more bytes be asked for? They count from then on. */
static bool take(struct ap_gate *gate, uint64_t more)
{
    if (planned_failure(gate) || is_stopped(gate))
        return false;
    uint64_t used = atomic_fetch_add(&gate->used_bytes, more) + more;
    if (gate->limit_bytes && more && used > gate->limit_bytes) {
        atomic_fetch_sub(&gate->used_bytes, more);
        atomic_store(&gate->limit_was_hit, true);
        return false;
    }
    raise_peak(gate, used);
    return true;
}

void ap_mem_take_pages(void *memory, size_t memory_bytes, size_t from, size_t to)
{
    if (ap_is_large(memory_bytes))
        ap_large_take(memory, from, to);
}

static void give_back(void *memory, size_t bytes)
{
    if (ap_is_large(bytes))
        ap_large_free(memory, bytes);
    else
        free(memory);
}

/* From the C library to large blocks or back. */
static void *move(void *memory, size_t old_bytes, size_t new_bytes)
{
    void *moved = ap_is_large(new_bytes) ? ap_large_new(new_bytes, false) : malloc(new_bytes);
    if (moved && memory) {
        size_t bytes = old_bytes < new_bytes ? old_bytes : new_bytes;
        ap_mem_take_pages(moved, new_bytes, 0, bytes);
        memcpy(moved, memory, bytes);
        give_back(memory, old_bytes);
    }
    return moved;
}

static void *resize(void *memory, size_t old_bytes, size_t new_bytes)
{
    if (ap_is_large(old_bytes) != ap_is_large(new_bytes))
        return move(memory, old_bytes, new_bytes);
    return ap_is_large(new_bytes) ? ap_large_resize(memory, old_bytes, new_bytes) : realloc(memory, new_bytes);
}

void *ap_mem_resize(struct ap_gate *gate, void *memory, size_t old_bytes, size_t new_bytes)
{
    size_t more = new_bytes > old_bytes ? new_bytes - old_bytes : 0;
    if (!take(gate, more))
        return NULL;
    void *resized = resize(memory, old_bytes, new_bytes);
    if (!resized)
        atomic_fetch_sub(&gate->used_bytes, more);
    else if (new_bytes < old_bytes)
        atomic_fetch_sub(&gate->used_bytes, old_bytes - new_bytes);
    return resized;
}

/* What is asked for in its whole size is used as a whole. Of smaller blocks the C library knows which pages are clear. */
static void *new_block(struct ap_gate *gate, size_t bytes, bool is_cleared)
{
    if (!take(gate, bytes))
        return NULL;
    void *memory = ap_is_large(bytes) ? ap_large_new(bytes, true) : is_cleared ? calloc(1, bytes) : malloc(bytes);
    if (!memory)
        atomic_fetch_sub(&gate->used_bytes, bytes);
    return memory;
}

void *ap_mem_cleared(struct ap_gate *gate, size_t bytes)
{
    return new_block(gate, bytes, true);
}

void ap_mem_free(struct ap_gate *gate, void *memory, size_t bytes)
{
    if (!memory)
        return;
    give_back(memory, bytes);
    atomic_fetch_sub(&gate->used_bytes, bytes);
}

union sized_memory {
    size_t bytes;
    max_align_t align;
};

void *ap_mem_take_sized(void *gate, size_t bytes)
{
    union sized_memory *memory = NULL;
    if (bytes <= SIZE_MAX - sizeof(*memory))
        memory = ap_mem_resize(gate, NULL, 0, bytes + sizeof(*memory));
    if (!memory)
        return NULL;
    memory->bytes = bytes + sizeof(*memory);
    return memory + 1;
}

void ap_mem_give_sized(void *gate, void *memory)
{
    union sized_memory *sized = memory;
    if (sized)
        ap_mem_free(gate, sized - 1, sized[-1].bytes);
}

enum ap_status ap_fail_memory(const struct ap_gate *gate, struct ap_error *reterr)
{
    const char *stopped = atomic_load_explicit(&gate->stopped, memory_order_relaxed);
    if (stopped)
        return ap_advise(reterr, AP_ADVICE_GO_ON, ap_fail(reterr, AP_ERROR_LIMIT, "given up: %s", stopped));
    if (atomic_load(&gate->limit_was_hit))
        return ap_advise(reterr, AP_ADVICE_MORE_MEMORY,
                         ap_fail(reterr, AP_ERROR_LIMIT, "the memory limit of %llu bytes%s%s was reached",
                                 (unsigned long long)(gate->limit_bytes + gate->reserve_bytes), gate->limit_why ? ", " : "",
                                 gate->limit_why ? gate->limit_why : ""));
    return ap_fail(reterr, AP_ERROR_MEMORY, "out of memory: run on a machine with more, or record a shorter trace");
}

bool ap_gate_ends_all(const struct ap_gate *gate, enum ap_status status)
{
    return status == AP_ERROR_MEMORY ||
           (status == AP_ERROR_LIMIT &&
            (atomic_load_explicit(&gate->stopped, memory_order_relaxed) || atomic_load(&gate->limit_was_hit)));
}

void *ap_mem_array(struct ap_gate *gate, size_t count, size_t element_bytes)
{
    return count > SIZE_MAX / 2 / element_bytes ? NULL : new_block(gate, count * element_bytes, false);
}

void *ap_mem_array_cleared(struct ap_gate *gate, size_t count, size_t element_bytes)
{
    return count > SIZE_MAX / 2 / element_bytes ? NULL : ap_mem_cleared(gate, count * element_bytes);
}

enum ap_status ap_mem_reserve(struct ap_gate *gate, void **array, size_t *capacity, size_t needed_count,
                              size_t element_bytes, struct ap_error *reterr)
{
    if (needed_count <= *capacity)
        return AP_OK;
    size_t grown = *capacity + *capacity / 2;
    if (grown < needed_count)
        grown = needed_count;
    /* Elements and not bytes: columns of several sizes that grow in step have to have the same capacity. */
    if (grown < 16)
        grown = 16;
    if (grown > SIZE_MAX / 2 / element_bytes)
        return ap_fail_memory(gate, reterr);
    void *resized = ap_mem_resize(gate, *array, *capacity * element_bytes, grown * element_bytes);
    if (!resized)
        return ap_fail_memory(gate, reterr);
    *array = resized;
    *capacity = grown;
    return AP_OK;
}

struct ap_arena_chunk {
    struct ap_arena_chunk *older;
    size_t bytes;
    _Alignas(16) unsigned char data[];
};

void ap_arena_init(struct ap_arena *arena, struct ap_gate *gate)
{
    *arena = (struct ap_arena){ .gate = gate };
}

static bool add_chunk(struct ap_arena *arena, size_t data_bytes)
{
    size_t size = arena->chunk_size_bytes ? 2 * arena->chunk_size_bytes : ARENA_FIRST_BYTES;
    size = size < ARENA_CHUNK_BYTES ? size : ARENA_CHUNK_BYTES;
    size = size > data_bytes ? size : data_bytes;
    size_t total = sizeof(struct ap_arena_chunk) + size;
    struct ap_arena_chunk *chunk = ap_mem_resize(arena->gate, NULL, 0, total);
    if (!chunk)
        return false;
    chunk->older = arena->chunks;
    chunk->bytes = total;
    arena->chunks = chunk;
    arena->chunk_used_bytes = 0;
    arena->chunk_size_bytes = size;
    return true;
}

void *ap_arena_alloc(struct ap_arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + 15) & ~(size_t)15;
    if (planned_failure(arena->gate)) /* of a piece, too: what is written piece by piece lacks one somewhere */
        return NULL;
    if (arena->chunk_size_bytes - arena->chunk_used_bytes < bytes && !add_chunk(arena, bytes))
        return NULL;
    if (!arena->chunks && !add_chunk(arena, bytes))
        return NULL;
    unsigned char *memory = arena->chunks->data + arena->chunk_used_bytes;
    arena->chunk_used_bytes += bytes;
    memset(memory, 0, bytes);
    return memory;
}

struct ap_text ap_arena_text(struct ap_arena *arena, struct ap_text text)
{
    char *copy = ap_arena_alloc(arena, text.bytes + 1);
    if (!copy)
        return (struct ap_text){ NULL, 0 };
    if (text.bytes)
        memcpy(copy, text.data, text.bytes);
    return (struct ap_text){ copy, text.bytes };
}

/* Behind the newest chunk, which is still being filled. */
void ap_arena_adopt(struct ap_arena *arena, struct ap_arena *from)
{
    struct ap_arena_chunk *oldest = from->chunks;
    if (!oldest)
        return;
    while (oldest->older)
        oldest = oldest->older;
    if (arena->chunks) {
        oldest->older = arena->chunks->older;
        arena->chunks->older = from->chunks;
    } else {
        *arena = *from;
    }
    *from = (struct ap_arena){ .gate = from->gate };
}

void ap_arena_release(struct ap_arena *arena)
{
    while (arena->chunks) {
        struct ap_arena_chunk *older = arena->chunks->older;
        ap_mem_free(arena->gate, arena->chunks, arena->chunks->bytes);
        arena->chunks = older;
    }
    arena->chunk_used_bytes = arena->chunk_size_bytes = 0;
}
