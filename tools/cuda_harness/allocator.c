/* SPDX-License-Identifier: MIT
 * See allocator.h. The constants and the order of what is tried are PyTorch's. */
#include "allocator.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t block_unit_bytes = 512;
static const uint64_t small_request_bytes = 1u << 20; /* the largest of the small pool */
static const uint64_t small_segment_bytes = 2u << 20;
static const uint64_t large_segment_bytes = 20u << 20; /* for requests below large_request_bytes */
static const uint64_t large_request_bytes = 10u << 20; /* from here a segment fits its request */
static const uint64_t large_unit_bytes = 2u << 20;

enum ap_status harness_allocator_new(const struct harness_device *device, const struct harness_allocator_options *options,
                                     struct harness_allocator **ret_allocator, struct ap_error *reterr)
{
    struct harness_allocator *allocator = calloc(1, sizeof(*allocator));
    if (!allocator)
        return ap_fail(reterr, AP_ERROR_MEMORY, "no memory for an allocator");
    ap_gate_init(&allocator->gate, 0);
    allocator->device = *device;
    allocator->options = *options;
    allocator->recording = true;
    *ret_allocator = allocator;
    return AP_OK;
}

static void free_block(struct harness_allocator *allocator, struct harness_block *block)
{
    ap_mem_free(&allocator->gate, block, sizeof(*block));
}

static void free_segment(struct harness_allocator *allocator, struct harness_segment *segment)
{
    allocator->device.release(allocator->device.self, segment->address);
    for (struct harness_block *block = segment->first, *next; block; block = next) {
        next = block->next;
        free_block(allocator, block);
    }
    ap_mem_free(&allocator->gate, segment, sizeof(*segment));
}

void harness_allocator_free(struct harness_allocator *allocator)
{
    if (!allocator)
        return;
    for (size_t i = 0; i < allocator->segment_count; i++)
        free_segment(allocator, allocator->segments[i]);
    struct ap_gate *gate = &allocator->gate;
    for (size_t i = 0; i < AP_COUNT_OF(allocator->pools); i++)
        ap_mem_free(gate, allocator->pools[i].blocks, allocator->pools[i].capacity * sizeof(*allocator->pools[i].blocks));
    ap_mem_free(gate, allocator->segments, allocator->segment_capacity * sizeof(*allocator->segments));
    ap_mem_free(gate, allocator->history, allocator->entry_capacity * sizeof(*allocator->history));
    ap_mem_free(gate, allocator->annotations, allocator->annotation_capacity * sizeof(*allocator->annotations));
    free(allocator);
}

static enum ap_status note_action(struct harness_allocator *allocator, enum harness_action action, uint64_t address,
                                  uint64_t size_bytes, uint64_t stream, const struct harness_frame *frame,
                                  struct ap_error *reterr)
{
    if (!allocator->recording)
        return AP_OK;
    const struct harness_entry entry = {
        .action = action,
        .address = address,
        .size_bytes = size_bytes,
        .stream = stream,
        .frame = frame,
        .time_us = allocator->device.now_us(allocator->device.self),
    };
    if (allocator->options.history_limit && allocator->entry_count == allocator->options.history_limit) {
        allocator->history[allocator->oldest_entry] = entry;
        allocator->oldest_entry = (allocator->oldest_entry + 1) % allocator->entry_count;
        return AP_OK;
    }
    AP_TRY(ap_mem_reserve(&allocator->gate, (void **)&allocator->history, &allocator->entry_capacity,
                          allocator->entry_count + 1, sizeof(*allocator->history), reterr));
    allocator->history[allocator->entry_count++] = entry;
    return AP_OK;
}

const struct harness_entry *harness_allocator_entry(const struct harness_allocator *allocator, size_t index)
{
    return &allocator->history[(allocator->oldest_entry + index) % allocator->entry_count];
}

static int compare_segments(const void *left, const void *right)
{
    const struct harness_segment *const *a = left, *const *b = right;
    return ((*a)->address > (*b)->address) - ((*a)->address < (*b)->address);
}

void harness_allocator_sort_segments(struct harness_allocator *allocator)
{
    if (allocator->segment_count)
        qsort(allocator->segments, allocator->segment_count, sizeof(*allocator->segments), compare_segments);
}

static uint64_t round_to(uint64_t bytes, uint64_t unit_bytes)
{
    return (bytes + unit_bytes - 1) / unit_bytes * unit_bytes;
}

static uint64_t block_bytes_of(uint64_t requested_bytes)
{
    return requested_bytes < block_unit_bytes ? block_unit_bytes : round_to(requested_bytes, block_unit_bytes);
}

static uint64_t segment_bytes_of(uint64_t block_bytes)
{
    if (block_bytes <= small_request_bytes)
        return small_segment_bytes;
    return block_bytes < large_request_bytes ? large_segment_bytes : round_to(block_bytes, large_unit_bytes);
}

static struct harness_pool *pool_of(struct harness_allocator *allocator, const struct harness_segment *segment)
{
    return &allocator->pools[segment->small ? 0 : 1];
}

static bool stands_before(const struct harness_block *a, uint64_t stream, uint64_t size_bytes, uint64_t address)
{
    if (a->segment->stream != stream)
        return a->segment->stream < stream;
    return a->size_bytes != size_bytes ? a->size_bytes < size_bytes : a->address < address;
}

/** Index of the first free block that does not stand before (stream, size, address). */
static size_t pool_place(const struct harness_pool *pool, uint64_t stream, uint64_t size_bytes, uint64_t address)
{
    size_t low = 0, high = pool->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (stands_before(pool->blocks[middle], stream, size_bytes, address))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/** There is room: reserved when the blocks came into being. */
static void pool_insert(struct harness_pool *pool, struct harness_block *block)
{
    size_t at = pool_place(pool, block->segment->stream, block->size_bytes, block->address);
    memmove(pool->blocks + at + 1, pool->blocks + at, (pool->count - at) * sizeof(*pool->blocks));
    pool->blocks[at] = block;
    pool->count++;
}

static void pool_remove(struct harness_pool *pool, const struct harness_block *block)
{
    size_t at = pool_place(pool, block->segment->stream, block->size_bytes, block->address);
    assert(at < pool->count && pool->blocks[at] == block);
    pool->count--;
    memmove(pool->blocks + at, pool->blocks + at + 1, (pool->count - at) * sizeof(*pool->blocks));
}

/** A pool has room for each block that is in it or was taken from it and may come back. */
static enum ap_status pool_reserve(struct harness_allocator *allocator, struct harness_pool *pool, struct ap_error *reterr)
{
    size_t blocks = 2;
    for (size_t i = 0; i < allocator->segment_count; i++) {
        if (pool_of(allocator, allocator->segments[i]) != pool)
            continue;
        for (const struct harness_block *block = allocator->segments[i]->first; block; block = block->next)
            blocks++;
    }
    return ap_mem_reserve(&allocator->gate, (void **)&pool->blocks, &pool->capacity, blocks, sizeof(*pool->blocks), reterr);
}

static enum ap_status give_back_segment(struct harness_allocator *allocator, size_t index, struct ap_error *reterr)
{
    struct harness_segment *segment = allocator->segments[index];
    enum ap_status status = note_action(allocator, HARNESS_SEGMENT_FREE, segment->address, segment->size_bytes,
                                        segment->stream, segment->frame, reterr);
    pool_remove(pool_of(allocator, segment), segment->first);
    allocator->reserved_bytes -= segment->size_bytes;
    allocator->segments[index] = allocator->segments[--allocator->segment_count];
    free_segment(allocator, segment);
    return status;
}

enum ap_status harness_allocator_empty_cache(struct harness_allocator *allocator, struct ap_error *reterr)
{
    for (size_t i = allocator->segment_count; i--;) {
        const struct harness_block *first = allocator->segments[i]->first;
        if (!first->allocated && !first->next)
            AP_TRY(give_back_segment(allocator, i, reterr));
    }
    return AP_OK;
}

/** One free block over the whole new segment, not in the pool yet. */
static enum ap_status add_segment(struct harness_allocator *allocator, uint64_t address, uint64_t size_bytes,
                                  uint64_t stream, bool small, const struct harness_frame *frame,
                                  struct harness_block **ret_block, struct ap_error *reterr)
{
    struct ap_gate *gate = &allocator->gate;
    AP_TRY(ap_mem_reserve(gate, (void **)&allocator->segments, &allocator->segment_capacity, allocator->segment_count + 1,
                          sizeof(*allocator->segments), reterr));
    struct harness_segment *segment = ap_mem_cleared(gate, sizeof(*segment));
    struct harness_block *block = segment ? ap_mem_cleared(gate, sizeof(*block)) : NULL;
    if (!block) {
        ap_mem_free(gate, segment, sizeof(*segment));
        return ap_fail_memory(gate, reterr);
    }
    *segment = (struct harness_segment){
        .address = address, .size_bytes = size_bytes, .stream = stream, .small = small, .first = block, .frame = frame
    };
    *block = (struct harness_block){ .address = address, .size_bytes = size_bytes, .segment = segment };
    allocator->segments[allocator->segment_count++] = segment;
    allocator->reserved_bytes += size_bytes;
    if (allocator->reserved_bytes > allocator->peak_reserved_bytes)
        allocator->peak_reserved_bytes = allocator->reserved_bytes;
    *ret_block = block;
    return AP_OK;
}

static enum ap_status segment_for(struct harness_allocator *allocator, uint64_t block_bytes, uint64_t stream,
                                  const struct harness_frame *frame, struct harness_block **ret_block,
                                  struct ap_error *reterr)
{
    struct harness_device *device = &allocator->device;
    uint64_t bytes = segment_bytes_of(block_bytes);
    uint64_t address = device->allocate(device->self, bytes);
    if (!address) { /* all whole free segments, then once more */
        allocator->retry_count++;
        AP_TRY(harness_allocator_empty_cache(allocator, reterr));
        address = device->allocate(device->self, bytes);
    }
    if (!address) {
        uint64_t free_bytes = device->free_bytes(device->self);
        allocator->oom_count++;
        AP_TRY(note_action(allocator, HARNESS_OOM, free_bytes, block_bytes, stream, frame, reterr));
        return ap_fail(reterr, AP_ERROR_LIMIT,
                       "out of memory: %" PRIu64 " bytes asked for, %" PRIu64 " free on the device, %" PRIu64
                       " reserved, %" PRIu64 " of these in use",
                       block_bytes, free_bytes, allocator->reserved_bytes, allocator->allocated_bytes);
    }
    enum ap_status status =
        add_segment(allocator, address, bytes, stream, block_bytes <= small_request_bytes, frame, ret_block, reterr);
    if (status != AP_OK) {
        device->release(device->self, address);
        return status;
    }
    return note_action(allocator, HARNESS_SEGMENT_ALLOC, address, bytes, stream, frame, reterr);
}

static bool worth_splitting(const struct harness_block *block, uint64_t block_bytes)
{
    uint64_t rest_bytes = block->size_bytes - block_bytes;
    return block->segment->small ? rest_bytes >= block_unit_bytes : rest_bytes > small_request_bytes;
}

/** @block keeps its first @block_bytes; the rest becomes a free block. */
static enum ap_status split(struct harness_allocator *allocator, struct harness_block *block, uint64_t block_bytes,
                            struct ap_error *reterr)
{
    struct harness_block *rest = ap_mem_cleared(&allocator->gate, sizeof(*rest));
    if (!rest)
        return ap_fail_memory(&allocator->gate, reterr);
    *rest = (struct harness_block){ .address = block->address + block_bytes,
                                    .size_bytes = block->size_bytes - block_bytes,
                                    .previous = block,
                                    .next = block->next,
                                    .segment = block->segment };
    if (rest->next)
        rest->next->previous = rest;
    block->next = rest;
    block->size_bytes = block_bytes;
    pool_insert(pool_of(allocator, block->segment), rest);
    return AP_OK;
}

static enum ap_status find_block(struct harness_allocator *allocator, uint64_t block_bytes, uint64_t stream,
                                 const struct harness_frame *frame, struct harness_block **ret_block,
                                 struct ap_error *reterr)
{
    struct harness_pool *pool = &allocator->pools[block_bytes <= small_request_bytes ? 0 : 1];
    size_t at = pool_place(pool, stream, block_bytes, 0);
    if (at == pool->count || pool->blocks[at]->segment->stream != stream)
        return segment_for(allocator, block_bytes, stream, frame, ret_block, reterr);
    *ret_block = pool->blocks[at];
    pool_remove(pool, *ret_block);
    return AP_OK;
}

enum ap_status harness_allocate(struct harness_allocator *allocator, uint64_t bytes, uint64_t stream,
                                const struct harness_frame *frame, struct harness_block **ret_block, struct ap_error *reterr)
{
    if (bytes > UINT64_MAX / 2)
        return ap_fail(reterr, AP_ERROR_USAGE, "%" PRIu64 " bytes are more than any device has", bytes);
    uint64_t block_bytes = block_bytes_of(bytes);
    struct harness_block *block = NULL;
    AP_TRY(find_block(allocator, block_bytes, stream, frame, &block, reterr));
    AP_TRY(pool_reserve(allocator, pool_of(allocator, block->segment), reterr));
    if (worth_splitting(block, block_bytes))
        AP_TRY(split(allocator, block, block_bytes, reterr));
    block->allocated = true;
    block->requested_bytes = bytes;
    block->frame = frame;
    allocator->allocated_bytes += block->size_bytes;
    allocator->requested_bytes += bytes;
    if (allocator->allocated_bytes > allocator->peak_allocated_bytes)
        allocator->peak_allocated_bytes = allocator->allocated_bytes;
    *ret_block = block;
    return note_action(allocator, HARNESS_ALLOC, block->address, bytes, stream, frame, reterr);
}

/** @right goes into @left, its free or just freed neighbor. */
static void merge(struct harness_allocator *allocator, struct harness_block *left, struct harness_block *right)
{
    left->size_bytes += right->size_bytes;
    left->next = right->next;
    if (left->next)
        left->next->previous = left;
    free_block(allocator, right);
}

enum ap_status harness_release(struct harness_allocator *allocator, struct harness_block *block, struct ap_error *reterr)
{
    assert(block->allocated);
    struct harness_pool *pool = pool_of(allocator, block->segment);
    uint64_t address = block->address, bytes = block->requested_bytes, stream = block->segment->stream;
    const struct harness_frame *frame = block->frame;
    allocator->allocated_bytes -= block->size_bytes;
    allocator->requested_bytes -= bytes;
    block->allocated = false;
    block->requested_bytes = 0;
    block->frame = NULL;
    if (block->previous && !block->previous->allocated) {
        block = block->previous;
        pool_remove(pool, block);
        merge(allocator, block, block->next);
    }
    if (block->next && !block->next->allocated) {
        pool_remove(pool, block->next);
        merge(allocator, block, block->next);
    }
    pool_insert(pool, block);
    AP_TRY(note_action(allocator, HARNESS_FREE_REQUESTED, address, bytes, stream, frame, reterr));
    return note_action(allocator, HARNESS_FREE_COMPLETED, address, bytes, stream, frame, reterr);
}

enum ap_status harness_allocator_annotate(struct harness_allocator *allocator, const char *name, bool start,
                                          struct ap_error *reterr)
{
    if (!allocator->recording)
        return AP_OK;
    AP_TRY(ap_mem_reserve(&allocator->gate, (void **)&allocator->annotations, &allocator->annotation_capacity,
                          allocator->annotation_count + 1, sizeof(*allocator->annotations), reterr));
    allocator->annotations[allocator->annotation_count++] = (struct harness_annotation){
        .name = name, .start = start, .time_us = allocator->device.now_us(allocator->device.self)
    };
    return AP_OK;
}
