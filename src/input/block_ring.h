/* SPDX-License-Identifier: MIT
 * block_ring.h - hands filled blocks from the threads that fill them to the one that uses them.
 * One user. Without other threads the user fills. Knows nothing of what is in the blocks. */
#ifndef AP_BLOCK_RING_H
#define AP_BLOCK_RING_H

#include <pthread.h>
#include <stdatomic.h>

#include "mem.h"

/** One kept, one in use, two for each helper that reads ahead and one between for the reader, the others being filled. */
#define AP_BLOCK_RING_COUNT(helpers) (5 + 3 * (helpers))
#define AP_BLOCK_RING_HELPERS 15
#define AP_BLOCK_RING_MOST AP_BLOCK_RING_COUNT(AP_BLOCK_RING_HELPERS)

#define AP_BLOCK_FETCHERS 3

struct ap_block_filler {
    /** Stores 1..cap bytes of block @number and returns AP_OK; AP_END or a failure when there is nothing more, and then is
     *  not called again. Blocks are filled in order, unless: */
    enum ap_status (*fill)(void *self, uint64_t number, uint8_t *to, size_t cap_bytes, size_t *ret_bytes,
                           struct ap_error *reterr);
    /** Asked once, behind the first block, where there is a thread: how many, AP_BLOCK_FETCHERS at most, may fill at a time,
     *  each a block of its own? All blocks but the last are then of the whole size. */
    unsigned (*fetchers)(void *self);
    void *self;
};

struct ap_block_ring {
    struct ap_gate *gate;
    struct ap_block_filler filler;
    uint8_t *memory;
    size_t memory_bytes, room_before, cap_bytes, room_after;
    size_t filled_bytes[AP_BLOCK_RING_MOST];
    unsigned count; /* of blocks */
    bool threaded;
    pthread_t threads[AP_BLOCK_FETCHERS];
    unsigned thread_count; /* the first thread's own, until it has ended */
    bool by_number;        /* blocks are filled out of order */
    uint64_t claimed;      /* blocks that are filled or being filled, under the mutex */
    pthread_mutex_t mutex;
    pthread_cond_t was_filled, was_released;
    /* Counts of blocks since the start: released <= taken <= filled <= released + count. */
    _Atomic uint64_t filled, released;
    uint64_t taken;              /* the user's own */
    _Atomic bool ended, stopped; /* nothing more comes; nothing more is wanted */
    enum ap_status final_status; /* valid once ended */
    struct ap_error final_error;
};

/** All memory is obtained here, for @count blocks, AP_BLOCK_RING_MOST at most. */
AP_MUST_CHECK enum ap_status ap_block_ring_init(struct ap_block_ring *ring, struct ap_gate *gate, unsigned count,
                                                size_t room_before, size_t cap_bytes, size_t room_after,
                                                struct ap_error *reterr);

/** Begin to fill, on a thread if @threaded is wanted and possible. */
void ap_block_ring_start(struct ap_block_ring *ring, struct ap_block_filler filler, bool threaded);

/** The next block; @room_after zero bytes stand behind it. Blocks before it go back to the filler, but for the last one
 *  with @keep_last. AP_END or the filler's failure, again and again, when there is none. */
AP_MUST_CHECK enum ap_status ap_block_ring_next(struct ap_block_ring *ring, bool keep_last, uint8_t **ret_data,
                                                size_t *ret_bytes, struct ap_error *reterr);

/** A block that was not taken yet, @ahead behind the next one; false where it is not filled yet. It stays until it was
 *  taken and given back. */
bool ap_block_ring_peek(const struct ap_block_ring *ring, unsigned ahead, uint8_t **ret_data, size_t *ret_bytes);

/** Ask the filler to end after the block it is filling. */
void ap_block_ring_stop(struct ap_block_ring *ring);

/** Wait for the filler and free the memory. ap_block_ring_stop comes first. */
void ap_block_ring_release(struct ap_block_ring *ring);

#endif
