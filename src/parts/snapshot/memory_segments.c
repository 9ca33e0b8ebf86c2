/* SPDX-License-Identifier: MIT
 * The segments whose free memory cannot be used, with the blocks that pin it; and the largest blocks. */
#include <stdio.h>

#include "frame_kind.h"
#include "snapshot_part.h"
#include "sort.h"

#include "poison.h"

#define TOP_PINS 5

void ap_memory_put_address(struct ap_snapshot_part *pass, struct ap_value *to, const char *key, bool known, uint64_t address)
{
    char digits[24];
    if (!known) {
        ap_add_null(pass->model, to, key);
    } else if (address <= INT64_MAX) {
        ap_add_count(pass->model, to, key, (int64_t)address);
    } else {
        int bytes = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)address);
        ap_add_literal(pass->model, to, key, (struct ap_text){ digits, (size_t)bytes });
    }
}

enum ap_status ap_memory_put_frame(struct ap_snapshot_part *pass, struct ap_value *to, const char *key, uint32_t stack,
                                   struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = pass->snapshot;
    uint32_t count, shown = ap_stack_main_frame(snapshot, stack);
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    if (!count) {
        ap_add_null(pass->model, to, key);
        return AP_OK;
    }
    struct ap_text text;
    AP_TRY(ap_memory_frame_text(snapshot, &pass->scratch, frames[shown], &text, reterr));
    ap_add_text(pass->model, to, key, text);
    return AP_OK;
}

/* ----------------------------------------------------------------------------------------------------------- blocks */

struct block_rank {
    int64_t size_bytes;
    uint32_t index;
};

static int by_size_then_index(const void *left, const void *right)
{
    const struct block_rank *a = left, *b = right;
    AP_BY_LARGER(a->size_bytes, b->size_bytes);
    return a->index < b->index ? -1 : a->index > b->index;
}

/* The lifetime of each block in use; AP_NO_LIFETIME where no history tells of it. */
static uint32_t *lifetimes_of_blocks(struct ap_snapshot_part *pass)
{
    const struct ap_replay *replay = pass->replay;
    uint32_t *list = ap_memory_scratch(pass, pass->snapshot->block_count, sizeof(*list));
    if (!list)
        return NULL;
    for (uint32_t i = 0; i < pass->snapshot->block_count; i++)
        list[i] = AP_NO_LIFETIME;
    for (uint32_t i = 0; i < replay->lifetime_count; i++)
        if (replay->lifetimes[i].block != AP_NO_ENTRY)
            list[replay->lifetimes[i].block] = i;
    return list;
}

/* Entries since the block was handed out; not known where that was before the history. */
static void put_age(struct ap_snapshot_part *pass, struct ap_value *row, uint32_t lifetime)
{
    const struct ap_replay *replay = pass->replay;
    uint32_t alloc = lifetime == AP_NO_LIFETIME ? AP_NO_ENTRY : replay->lifetimes[lifetime].alloc;
    uint64_t age = 0;
    if (alloc != AP_NO_ENTRY) {
        const struct ap_replay_device *device = &replay->devices[ap_replay_device_of(replay, lifetime)];
        age = (uint64_t)device->first_entry + device->entry_count - alloc;
    }
    ap_put_count(pass, row, "age_entries", alloc != AP_NO_ENTRY, age);
}

static enum ap_status put_block(struct ap_snapshot_part *pass, struct ap_value *list, uint32_t index,
                                const uint32_t *lifetimes, struct ap_error *reterr)
{
    static const char *const states[] = { [AP_BLOCK_ALLOCATED] = "allocated",
                                          [AP_BLOCK_PENDING] = "pending_free",
                                          [AP_BLOCK_INACTIVE] = "inactive",
                                          [AP_BLOCK_UNKNOWN] = "unknown" };
    const struct ap_block *block = &pass->snapshot->blocks[index];
    struct ap_value *row = ap_add_object(pass->model, list, NULL);
    uint32_t stack = block->stack;
    if (!stack && lifetimes[index] != AP_NO_LIFETIME) {
        struct ap_allocation allocation;
        ap_replay_allocation(pass->replay, lifetimes[index], &allocation);
        stack = allocation.stack;
    }
    ap_memory_put_address(pass, row, "address", block->has & AP_BLOCK_HAS_ADDRESS, block->address);
    ap_add_bytes(pass->model, row, "size_bytes", block->size_bytes);
    ap_put_bytes(pass, row, "requested_bytes", block->has & AP_BLOCK_HAS_REQUESTED, block->requested_bytes);
    ap_add_string(pass->model, row, "state", states[block->state]);
    put_age(pass, row, lifetimes[index]);
    return ap_memory_put_frame(pass, row, "frame", stack, reterr);
}

/* The largest of the blocks in use from @first on. */
static enum ap_status put_largest_used(struct ap_snapshot_part *pass, struct ap_value *list, uint32_t first, uint32_t count,
                                       uint64_t limit, const uint32_t *lifetimes, struct ap_error *reterr)
{
    struct block_rank *ranks = ap_memory_scratch(pass, count, sizeof(*ranks));
    size_t used = 0;
    if (!ranks)
        return ap_fail_memory(pass->scratch.gate, reterr);
    for (uint32_t i = first; i < first + count; i++)
        if (pass->snapshot->blocks[i].state != AP_BLOCK_INACTIVE)
            ranks[used++] = (struct block_rank){ pass->snapshot->blocks[i].size_bytes, i };
    ap_sort(ranks, used, sizeof(*ranks), by_size_then_index);
    for (size_t i = 0; i < used && (!limit || i < limit); i++)
        AP_TRY(put_block(pass, list, ranks[i].index, lifetimes, reterr));
    return AP_OK;
}

/* --------------------------------------------------------------------------------------------------------- segments */

struct segment_rank {
    int64_t stranded_bytes, reserved_bytes;
    uint32_t index;
};

static int by_stranded_then_reserved(const void *left, const void *right)
{
    const struct segment_rank *a = left, *b = right;
    AP_BY_LARGER(a->stranded_bytes, b->stranded_bytes);
    AP_BY_LARGER(a->reserved_bytes, b->reserved_bytes);
    return a->index < b->index ? -1 : a->index > b->index;
}

void ap_memory_put_segment_head(struct ap_snapshot_part *pass, struct ap_value *row, const struct ap_segment *segment)
{
    ap_put_count(pass, row, "device", segment->has & AP_SEGMENT_HAS_DEVICE, (uint64_t)(int64_t)segment->device);
    ap_memory_put_address(pass, row, "address", segment->has & AP_SEGMENT_HAS_ADDRESS, segment->address);
    ap_add_text(pass->model, row, "segment_type", ap_strpool_text(&pass->snapshot->strings, segment->type));
    ap_memory_put_pool_id(pass, row, segment->has & AP_SEGMENT_HAS_POOL, segment->pool);
    ap_memory_put_address(pass, row, "stream", segment->has & AP_SEGMENT_HAS_STREAM, segment->stream);
    ap_put_bool(pass, row, "expandable", segment->has & AP_SEGMENT_HAS_EXPANDABLE, segment->expandable);
}

static void count_blocks(const struct ap_snapshot *snapshot, const struct ap_segment *segment, uint32_t *ret_used,
                         uint32_t *ret_free)
{
    *ret_used = *ret_free = 0;
    for (uint32_t i = 0; i < segment->block_count; i++) {
        bool inactive = snapshot->blocks[segment->first_block + i].state == AP_BLOCK_INACTIVE;
        *ret_used += !inactive;
        *ret_free += inactive;
    }
}

static enum ap_status put_segment(struct ap_snapshot_part *pass, struct ap_value *list, uint32_t index,
                                  const uint32_t *lifetimes, struct ap_error *reterr)
{
    const struct ap_segment *segment = &pass->snapshot->segments[index];
    struct ap_value *row = ap_add_object(pass->model, list, NULL);
    struct ap_block_sums sums;
    struct ap_memory_state state = { .use_unknown = 0 };
    uint32_t used, free_blocks;
    ap_block_sums(pass->snapshot, segment, &sums, &pass->overflowed);
    ap_memory_state_add(&state, segment, &sums, &pass->overflowed);
    count_blocks(pass->snapshot, segment, &used, &free_blocks);
    ap_memory_put_segment_head(pass, row, segment);
    ap_memory_put_parts(pass, row, &state);
    ap_add_count(pass->model, row, "used_blocks", used);
    ap_add_count(pass->model, row, "free_blocks", free_blocks);
    AP_TRY(ap_memory_put_frame(pass, row, "frame", segment->stack, reterr));
    struct ap_value *pins = ap_add_list(pass->model, row, "pinned_by");
    if (!sums.inactive_bytes || sums.all_inactive)
        return AP_OK;
    return put_largest_used(pass, pins, segment->first_block, segment->block_count, TOP_PINS, lifetimes, reterr);
}

static enum ap_status put_segments(struct ap_snapshot_part *pass, struct ap_value *memory, const uint32_t *lifetimes,
                                   struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = pass->snapshot;
    struct ap_value *list = ap_add_list(pass->model, memory, "segments");
    struct segment_rank *ranks = ap_memory_scratch(pass, snapshot->segment_count, sizeof(*ranks));
    if (!ranks)
        return ap_fail_memory(pass->scratch.gate, reterr);
    for (uint32_t i = 0; i < snapshot->segment_count; i++) {
        struct ap_block_sums sums;
        ap_block_sums(snapshot, &snapshot->segments[i], &sums, &pass->overflowed);
        ranks[i] =
            (struct segment_rank){ sums.all_inactive ? 0 : sums.inactive_bytes, snapshot->segments[i].total_bytes, i };
    }
    ap_sort(ranks, snapshot->segment_count, sizeof(*ranks), by_stranded_then_reserved);
    for (uint32_t i = 0; i < snapshot->segment_count && (!pass->top_n || i < pass->top_n); i++)
        AP_TRY(put_segment(pass, list, ranks[i].index, lifetimes, reterr));
    return AP_OK;
}

#define LARGEST_BLOCKS 16

static void put_largest_bytes(struct ap_snapshot_part *pass, struct ap_value *memory)
{
    const struct ap_snapshot *snapshot = pass->snapshot;
    int64_t largest[LARGEST_BLOCKS] = { 0 }, sum = 0;
    for (uint32_t i = 0; i < snapshot->block_count; i++) {
        int64_t bytes = snapshot->blocks[i].state == AP_BLOCK_ALLOCATED ? snapshot->blocks[i].size_bytes : 0;
        size_t at = LARGEST_BLOCKS;
        for (; at && largest[at - 1] < bytes; at--)
            if (at < LARGEST_BLOCKS)
                largest[at] = largest[at - 1];
        if (at < LARGEST_BLOCKS)
            largest[at] = bytes;
    }
    for (size_t i = 0; i < LARGEST_BLOCKS; i++)
        sum = ap_add_sat(sum, largest[i], &pass->overflowed);
    ap_put_bytes(pass, memory, "largest_blocks_bytes", largest[0] > 0, sum);
}

enum ap_status ap_memory_put_segments(struct ap_snapshot_part *pass, struct ap_value *memory, struct ap_error *reterr)
{
    uint32_t *lifetimes = lifetimes_of_blocks(pass);
    if (!lifetimes)
        return ap_fail_memory(pass->scratch.gate, reterr);
    AP_TRY(put_segments(pass, memory, lifetimes, reterr));
    struct ap_value *blocks = ap_add_list(pass->model, memory, "blocks");
    AP_TRY(put_largest_used(pass, blocks, 0, pass->snapshot->block_count, pass->top_n, lifetimes, reterr));
    put_largest_bytes(pass, memory);
    return AP_OK;
}
