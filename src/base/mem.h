/* SPDX-License-Identifier: MIT
 * mem.h - the one gate through which all memory passes, and the arena on top of it.
 * Several threads may use one gate; an arena belongs to one thread. */
#ifndef AP_MEM_H
#define AP_MEM_H

#include <stdatomic.h>

#include "base.h"
#include "hash.h"

struct ap_gate {
    uint64_t limit_bytes;                 /* 0 = none */
    const char *limit_why;                /* where nobody chose it; NULL = somebody did */
    const char *(*stop)(void *stop_self); /* why the work is given up; NULL, also as its answer: it goes on. On any thread */
    void *stop_self;
    uint64_t reserve_bytes;      /* of the limit that the user gave, kept for what does not pass the gate */
    struct ap_hash_key hash_key; /* of this run; no output depends on it */
    uint64_t redact_key[2];      /* drawn, too, unless somebody gives one: outputs under another key differ */
    _Atomic uint64_t used_bytes;
    _Atomic uint64_t peak_bytes;
    _Atomic int64_t fail_after; /* tests: requests that still succeed; negative = never fail */
    _Atomic bool limit_was_hit;
    _Atomic(const char *) stopped; /* what stop() said; memory is refused from then on */
};

/** @limit_bytes 0 means without limit. */
void ap_gate_init(struct ap_gate *gate, uint64_t limit_bytes);

/** Grow, shrink or (@memory NULL, @old_bytes 0) obtain memory. NULL when refused: the old memory stays valid then.
 *  New bytes are not cleared. @new_bytes must not be 0. */
AP_MUST_CHECK void *ap_mem_resize(struct ap_gate *gate, void *memory, size_t old_bytes, size_t new_bytes);

/** Of @memory all bytes from @from to @to are about to be written, from first to last: their pages are taken at once, where
 *  that is quicker. */
void ap_mem_take_pages(void *memory, size_t memory_bytes, size_t from, size_t to);

/** New memory, cleared; NULL when refused. Give it back as that of ap_mem_resize. */
AP_MUST_CHECK void *ap_mem_cleared(struct ap_gate *gate, size_t bytes);
/** Give back what ap_mem_resize returned with exactly this size; NULL is fine. */
void ap_mem_free(struct ap_gate *gate, void *memory, size_t bytes);

/** For libraries that give memory back without saying how much: the size stands in front of it.
 *  @gate is a struct ap_gate. */
void *ap_mem_take_sized(void *gate, size_t bytes);
/** NULL is fine. */
void ap_mem_give_sized(void *gate, void *memory);

/** The error for a refused request: AP_ERROR_LIMIT when --max-memory refused it or the work is given up, else
 *  AP_ERROR_MEMORY. */
enum ap_status ap_fail_memory(const struct ap_gate *gate, struct ap_error *reterr);

/** Does a failure with @status end all that uses the gate? Want of memory does, and work that is given up; a limit that the
 *  content of one file breaks ends the reading of that file. */
bool ap_gate_ends_all(const struct ap_gate *gate, enum ap_status status);

/** AP_ERROR_LIMIT where the work is given up. Requests for memory ask by themselves; this is for whoever goes on for long
 *  without one. */
AP_MUST_CHECK enum ap_status ap_gate_go_on(struct ap_gate *gate, struct ap_error *reterr);

/** What the macros below are made of. */
AP_MUST_CHECK void *ap_mem_array(struct ap_gate *gate, size_t count, size_t element_bytes);
AP_MUST_CHECK void *ap_mem_array_cleared(struct ap_gate *gate, size_t count, size_t element_bytes);
AP_MUST_CHECK enum ap_status ap_mem_reserve(struct ap_gate *gate, void **array, size_t *capacity, size_t needed_count,
                                            size_t element_bytes, struct ap_error *reterr);

/* Arrays of the gate, typed by the pointer @array, which is named more than once: no side effects in it. */

/** An enum ap_status: @array gets room for @count elements, NULL where that is refused. New elements are not cleared. */
#define AP_ALLOC(gate, array, count, reterr) \
    (((array) = ap_mem_array((gate), (count), sizeof((array)[0]))) != NULL ? AP_OK : ap_fail_memory((gate), (reterr)))
#define AP_ALLOC_CLEARED(gate, array, count, reterr)                                       \
    (((array) = ap_mem_array_cleared((gate), (count), sizeof((array)[0]))) != NULL ? AP_OK \
                                                                                   : ap_fail_memory((gate), (reterr)))
/** Give back what has room for @count elements; NULL is fine. */
#define AP_FREE(gate, array, count) ap_mem_free((gate), (array), (size_t)(count) * sizeof((array)[0]))

/** An enum ap_status: room for @needed elements in @array, whose size_t @capacity grows by half at least; both are
 *  unchanged on failure. */
#define AP_RESERVE(gate, array, capacity, needed, reterr) \
    (AP_LIKELY((needed) <= (capacity))                    \
         ? AP_OK                                          \
         : ap_mem_reserve((gate), (void **)&(array), &(capacity), (needed), sizeof((array)[0]), (reterr)))
/** Append what stands last, which may be a list in braces; return from the function on failure, as AP_TRY does. */
#define AP_TRY_ADD(gate, array, count, capacity, reterr, ...)                           \
    do {                                                                                \
        AP_TRY(AP_RESERVE((gate), (array), (capacity), (size_t)(count) + 1, (reterr))); \
        (array)[(count)++] = __VA_ARGS__;                                               \
    } while (0)

/** Memory that dies together. Nothing in it is freed singly. */
struct ap_arena {
    struct ap_gate *gate;
    struct ap_arena_chunk *chunks;
    size_t chunk_used_bytes, chunk_size_bytes;
};

/** An empty arena; memory is taken from @gate when it is first asked for. */
void ap_arena_init(struct ap_arena *arena, struct ap_gate *gate);
/** 16-byte aligned, cleared; NULL when refused. */
AP_MUST_CHECK void *ap_arena_alloc(struct ap_arena *arena, size_t bytes);
/** Copy of the text with a NUL behind it; data is NULL when refused. */
AP_MUST_CHECK struct ap_text ap_arena_text(struct ap_arena *arena, struct ap_text text);
/** Take over what @from holds: it then dies with @arena. */
void ap_arena_adopt(struct ap_arena *arena, struct ap_arena *from);
/** Frees all at once; the arena is empty then and may be used again. */
void ap_arena_release(struct ap_arena *arena);

#endif
