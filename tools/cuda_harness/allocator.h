/* SPDX-License-Identifier: MIT
 * allocator.h - a caching allocator for device memory after PyTorch's scheme (c10/cuda/CUDACachingAllocator.cpp), expandable
 * segments off: requests are rounded to 512 bytes; those up to 1 MiB come from segments of 2 MiB, others from segments of 20
 * MiB or of multiples of 2 MiB; the smallest free block of the stream that is large enough is taken and split; neighbors
 * merge when they are freed; when the device is full, whole free segments are given back and the request is tried again.
 *
 * Knows nothing of CUDA: the device is a table of functions. One thread. */
#ifndef HARNESS_ALLOCATOR_H
#define HARNESS_ALLOCATOR_H

#include "mem.h"

struct harness_device {
    void *self;
    uint64_t (*allocate)(void *self, uint64_t bytes); /* an address; 0 = the device has no such room */
    void (*release)(void *self, uint64_t address);
    uint64_t (*free_bytes)(void *self);
    int64_t (*now_us)(void *self); /* since the Unix epoch */
};

/** Where an allocation was made. Static: blocks and history keep pointers. */
struct harness_frame {
    const char *file;
    int line;
    const char *name;
    const struct harness_frame *outer; /* the caller; NULL = the outermost */
};

struct harness_block {
    uint64_t address, size_bytes, requested_bytes;
    bool allocated;
    struct harness_block *previous, *next; /* neighbors in the segment */
    struct harness_segment *segment;
    const struct harness_frame *frame;
};

struct harness_segment {
    uint64_t address, size_bytes, stream;
    bool small;
    struct harness_block *first;
    const struct harness_frame *frame;
};

enum harness_action {
    HARNESS_ALLOC,
    HARNESS_FREE_REQUESTED,
    HARNESS_FREE_COMPLETED,
    HARNESS_SEGMENT_ALLOC,
    HARNESS_SEGMENT_FREE,
    HARNESS_OOM
};

struct harness_entry {
    enum harness_action action;
    uint64_t address; /* of an oom: bytes that the device has free */
    uint64_t size_bytes, stream;
    int64_t time_us;
    const struct harness_frame *frame;
};

struct harness_annotation {
    const char *name; /* lives as long as the allocator */
    bool start;
    int64_t time_us;
};

struct harness_allocator_options {
    uint32_t device_index;
    size_t history_limit; /* entries kept, the newest; 0 = all */
};

/** Free blocks of a pool, in order of stream, size, address. */
struct harness_pool {
    struct harness_block **blocks;
    size_t count, capacity;
};

struct harness_allocator {
    struct ap_gate gate;
    struct harness_device device;
    struct harness_allocator_options options;
    struct harness_pool pools[2]; /* small, large */
    struct harness_segment **segments;
    size_t segment_count, segment_capacity;
    struct harness_entry *history;
    size_t entry_count, entry_capacity;
    size_t oldest_entry; /* where the ring begins; 0 until it is full */
    struct harness_annotation *annotations;
    size_t annotation_count, annotation_capacity;
    uint64_t reserved_bytes, allocated_bytes, requested_bytes, peak_reserved_bytes, peak_allocated_bytes;
    uint64_t retry_count, oom_count;
    bool recording; /* history and annotations are kept */
};

AP_MUST_CHECK enum ap_status harness_allocator_new(const struct harness_device *device,
                                                   const struct harness_allocator_options *options,
                                                   struct harness_allocator **ret_allocator, struct ap_error *reterr);
/** Everything goes back to the device, blocks in use too. NULL is fine. */
void harness_allocator_free(struct harness_allocator *allocator);

/** AP_ERROR_LIMIT where the device has no room for it even when the cache is given up; the history then has an oom entry.
 *  @bytes 0 takes 512. */
AP_MUST_CHECK enum ap_status harness_allocate(struct harness_allocator *allocator, uint64_t bytes, uint64_t stream,
                                              const struct harness_frame *frame, struct harness_block **ret_block,
                                              struct ap_error *reterr);
/** The block is invalid afterwards. Fails where the history cannot grow; the memory is free then all the same. */
AP_MUST_CHECK enum ap_status harness_release(struct harness_allocator *allocator, struct harness_block *block,
                                             struct ap_error *reterr);
/** Whole free segments go back to the device: torch.cuda.empty_cache(). */
AP_MUST_CHECK enum ap_status harness_allocator_empty_cache(struct harness_allocator *allocator, struct ap_error *reterr);
AP_MUST_CHECK enum ap_status harness_allocator_annotate(struct harness_allocator *allocator, const char *name, bool start,
                                                        struct ap_error *reterr);

/** The @index-th entry that is kept, the oldest first. */
const struct harness_entry *harness_allocator_entry(const struct harness_allocator *allocator, size_t index);
/** Segments in order of their address, as a snapshot lists them. */
void harness_allocator_sort_segments(struct harness_allocator *allocator);

#endif
