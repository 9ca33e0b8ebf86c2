/* SPDX-License-Identifier: MIT
 * allocator_model.h - a small model of the CUDA caching allocator, which writes its history and knows its own figures.
 * Rounding to 512 bytes, small and large pool, segment sizes, best fit within one stream and pool, splitting, merging,
 * frees that wait for a stream, empty_cache. Nothing is written until recording is on. */
#ifndef AP_ALLOCATOR_MODEL_H
#define AP_ALLOCATOR_MODEL_H

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "random.h"
#include "snapshot.h"

#define MODEL_SEGMENTS 64
#define MODEL_BLOCKS 128
#define MODEL_ENTRIES 6000
#define MODEL_MIB ((int64_t)1 << 20)

struct model_block {
    uint64_t address;
    int64_t size_bytes, requested_bytes;
    enum ap_block_state state;
    bool unseen; /* its free was requested before recording: for the history it is in use until that completes */
};

struct model_segment {
    uint64_t address;
    int64_t size_bytes;
    uint64_t stream;
    bool small;
    int count;
    struct model_block blocks[MODEL_BLOCKS];
};

/* What holds after an entry. */
struct model_figures {
    int64_t requested_bytes, active_requested_bytes, reserved_bytes; /* the three curves */
    int64_t active_bytes, inactive_bytes, largest_hole_bytes;        /* rounded */
};

struct model_entry {
    uint32_t action;
    uint64_t address, stream;
    int64_t size_bytes;
};

struct allocator_model {
    struct model_segment segments[MODEL_SEGMENTS];
    int segment_count;
    uint64_t next_address;
    bool recording;
    struct model_entry entries[MODEL_ENTRIES];
    struct model_figures figures[MODEL_ENTRIES + 1]; /* by position */
    uint32_t entry_count;
};

static struct model_figures model_now(const struct allocator_model *model)
{
    struct model_figures now = { 0 };
    for (int i = 0; i < model->segment_count; i++) {
        const struct model_segment *segment = &model->segments[i];
        now.reserved_bytes += segment->size_bytes;
        for (int j = 0; j < segment->count; j++) {
            const struct model_block *block = &segment->blocks[j];
            if (block->state == AP_BLOCK_INACTIVE) {
                now.inactive_bytes += block->size_bytes;
                if (block->size_bytes > now.largest_hole_bytes)
                    now.largest_hole_bytes = block->size_bytes;
                continue;
            }
            now.active_bytes += block->size_bytes;
            now.active_requested_bytes += block->requested_bytes;
            if (block->state == AP_BLOCK_ALLOCATED || block->unseen)
                now.requested_bytes += block->requested_bytes;
        }
    }
    return now;
}

static void model_record(struct allocator_model *model)
{
    model->recording = true;
    for (int i = 0; i < model->segment_count; i++)
        for (int j = 0; j < model->segments[i].count; j++)
            model->segments[i].blocks[j].unseen = model->segments[i].blocks[j].state == AP_BLOCK_PENDING;
    model->figures[0] = model_now(model);
}

static void model_write(struct allocator_model *model, uint32_t action, uint64_t address, int64_t size_bytes,
                        uint64_t stream)
{
    if (!model->recording)
        return;
    assert(model->entry_count < MODEL_ENTRIES);
    model->entries[model->entry_count++] = (struct model_entry){ action, address, stream, size_bytes };
    model->figures[model->entry_count] = model_now(model);
}

static void model_insert(struct model_segment *segment, int at, struct model_block block)
{
    assert(segment->count < MODEL_BLOCKS);
    memmove(&segment->blocks[at + 1], &segment->blocks[at], (size_t)(segment->count - at) * sizeof(block));
    segment->blocks[at] = block;
    segment->count++;
}

static void model_remove(struct model_segment *segment, int at)
{
    segment->count--;
    memmove(&segment->blocks[at], &segment->blocks[at + 1], (size_t)(segment->count - at) * sizeof(segment->blocks[0]));
}

static bool model_find(struct allocator_model *model, int64_t size_bytes, bool small, uint64_t stream, int *ret_segment,
                       int *ret_block)
{
    int64_t best_bytes = INT64_MAX;
    for (int i = 0; i < model->segment_count; i++) {
        const struct model_segment *segment = &model->segments[i];
        for (int j = 0; j < segment->count && segment->small == small && segment->stream == stream; j++) {
            const struct model_block *block = &segment->blocks[j];
            if (block->state != AP_BLOCK_INACTIVE || block->size_bytes < size_bytes || block->size_bytes >= best_bytes)
                continue;
            best_bytes = block->size_bytes;
            *ret_segment = i;
            *ret_block = j;
        }
    }
    return best_bytes != INT64_MAX;
}

/* @gap_bytes: between the last segment and this one. */
static void model_add_segment(struct allocator_model *model, int64_t size_bytes, bool small, uint64_t stream,
                              uint64_t gap_bytes)
{
    struct model_segment *segment = &model->segments[model->segment_count++];
    *segment = (struct model_segment){
        .address = model->next_address + gap_bytes, .size_bytes = size_bytes, .stream = stream, .small = small
    };
    model->next_address = segment->address + (uint64_t)size_bytes;
    model_insert(segment, 0, (struct model_block){ segment->address, size_bytes, 0, AP_BLOCK_INACTIVE, false });
    model_write(model, AP_ACTION_SEGMENT_ALLOC, segment->address, size_bytes, stream);
}

static int64_t model_segment_bytes(int64_t size_bytes)
{
    if (size_bytes <= MODEL_MIB)
        return 2 * MODEL_MIB;
    if (size_bytes < 10 * MODEL_MIB)
        return 20 * MODEL_MIB;
    return (size_bytes + 2 * MODEL_MIB - 1) / (2 * MODEL_MIB) * (2 * MODEL_MIB);
}

/* False where the model is full. */
static bool model_alloc(struct allocator_model *model, int64_t requested_bytes, uint64_t stream, uint64_t gap_bytes)
{
    int64_t size_bytes = (requested_bytes + 511) / 512 * 512, left_bytes;
    bool small = size_bytes <= MODEL_MIB;
    int segment_index, at;
    if (!model_find(model, size_bytes, small, stream, &segment_index, &at)) {
        if (model->segment_count == MODEL_SEGMENTS)
            return false;
        model_add_segment(model, model_segment_bytes(size_bytes), small, stream, gap_bytes);
        segment_index = model->segment_count - 1;
        at = 0;
    }
    struct model_segment *segment = &model->segments[segment_index];
    struct model_block *block = &segment->blocks[at];
    if (segment->count >= MODEL_BLOCKS - 1)
        return false;
    left_bytes = block->size_bytes - size_bytes;
    if (small ? left_bytes >= 512 : left_bytes > MODEL_MIB) {
        model_insert(segment, at + 1,
                     (struct model_block){ block->address + (uint64_t)size_bytes, left_bytes, 0, AP_BLOCK_INACTIVE, false });
        block->size_bytes = size_bytes;
    }
    block->state = AP_BLOCK_ALLOCATED;
    block->requested_bytes = requested_bytes;
    model_write(model, AP_ACTION_ALLOC, block->address, requested_bytes, stream);
    return true;
}

static void model_complete(struct allocator_model *model, struct model_segment *segment, int at)
{
    struct model_block *block = &segment->blocks[at];
    uint64_t address = block->address;
    int64_t requested_bytes = block->requested_bytes;
    block->state = AP_BLOCK_INACTIVE;
    block->requested_bytes = 0;
    block->unseen = false;
    if (at + 1 < segment->count && segment->blocks[at + 1].state == AP_BLOCK_INACTIVE) {
        block->size_bytes += segment->blocks[at + 1].size_bytes;
        model_remove(segment, at + 1);
    }
    if (at > 0 && segment->blocks[at - 1].state == AP_BLOCK_INACTIVE) {
        segment->blocks[at - 1].size_bytes += segment->blocks[at].size_bytes;
        model_remove(segment, at);
    }
    model_write(model, AP_ACTION_FREE_COMPLETED, address, requested_bytes, segment->stream);
}

static void model_request_free(struct allocator_model *model, struct model_segment *segment, int at)
{
    struct model_block *block = &segment->blocks[at];
    block->state = AP_BLOCK_PENDING;
    model_write(model, AP_ACTION_FREE_REQUESTED, block->address, block->requested_bytes, segment->stream);
}

/* Of what waits, the part whose request is not in the history completes. */
static void model_complete_unseen(struct allocator_model *model)
{
    for (int i = 0; i < model->segment_count; i++)
        for (int j = model->segments[i].count; j-- > 0;)
            if (j < model->segments[i].count && model->segments[i].blocks[j].unseen)
                model_complete(model, &model->segments[i], j);
}

static void model_empty_cache(struct allocator_model *model)
{
    for (int i = model->segment_count; i-- > 0;) {
        struct model_segment gone = model->segments[i];
        if (gone.count != 1 || gone.blocks[0].state != AP_BLOCK_INACTIVE)
            continue;
        model->segments[i] = model->segments[--model->segment_count];
        model_write(model, AP_ACTION_SEGMENT_FREE, gone.address, gone.size_bytes, gone.stream);
    }
}

/* One random thing happens. */
static void model_step(struct allocator_model *model, struct random *random)
{
    int64_t sizes[] = { 700, 5000, 300000, MODEL_MIB, 3 * MODEL_MIB / 2, 4 * MODEL_MIB, 9 * MODEL_MIB, 33 * MODEL_MIB };
    if (random_once_in(random, 60)) {
        model_empty_cache(model);
        return;
    }
    if (!model->segment_count || random_below(random, 100) < 48) {
        int64_t most = sizes[random_below(random, sizeof(sizes) / sizeof(sizes[0]))];
        uint64_t gap = random_once_in(random, 2) ? 0 : (uint64_t)2 << 20;
        (void)model_alloc(model, 1 + (int64_t)random_below(random, (size_t)most), random_below(random, 2) * 7, gap);
        return;
    }
    struct model_segment *segment = &model->segments[random_below(random, (size_t)model->segment_count)];
    int at = (int)random_below(random, (size_t)segment->count);
    if (segment->blocks[at].state == AP_BLOCK_ALLOCATED) {
        model_request_free(model, segment, at);
        if (random_once_in(random, 4))
            return; /* it waits for a stream */
    }
    if (segment->blocks[at].state == AP_BLOCK_PENDING)
        model_complete(model, segment, at);
}

/* The snapshot that it would write. Pending blocks: requested_size counts them, allocated_size does not. */
static enum ap_status model_snapshot(const struct allocator_model *model, struct ap_snapshot *to, struct ap_error *reterr)
{
    for (int i = 0; i < model->segment_count; i++) {
        const struct model_segment *from = &model->segments[i];
        struct ap_segment segment = { .address = from->address,
                                      .total_bytes = from->size_bytes,
                                      .stream = from->stream,
                                      .type = { from->small ? AP_TYPE_SMALL : AP_TYPE_LARGE },
                                      .has = 0x7ff };
        for (int j = 0; j < from->count; j++) {
            const struct model_block *block = &from->blocks[j];
            bool used = block->state != AP_BLOCK_INACTIVE;
            struct ap_block made = { .address = block->address,
                                     .size_bytes = block->size_bytes,
                                     .requested_bytes = block->requested_bytes,
                                     .state = (uint8_t)block->state,
                                     .has = AP_BLOCK_HAS_ADDRESS | AP_BLOCK_HAS_REQUESTED };
            segment.allocated_bytes += block->state == AP_BLOCK_ALLOCATED ? block->size_bytes : 0;
            segment.active_bytes += used ? block->size_bytes : 0;
            segment.requested_bytes += used ? block->requested_bytes : 0;
            AP_TRY(ap_snapshot_add_block(to, &made, reterr));
        }
        AP_TRY(ap_snapshot_add_segment(to, &segment, reterr));
    }
    AP_TRY(ap_snapshot_add_history(to, reterr));
    for (uint32_t i = 0; i < model->entry_count; i++) {
        const struct model_entry *entry = &model->entries[i];
        struct ap_origin origin = { .stream = entry->stream, .has = AP_ORIGIN_HAS_STREAM };
        struct ap_action action = { .name = { entry->action },
                                    .address = entry->address,
                                    .time_ns = (int64_t)i * 1000,
                                    .size_bytes = entry->size_bytes,
                                    .has = AP_ACTION_HAS_ADDRESS | AP_ACTION_HAS_SIZE | AP_ACTION_HAS_TIME };
        AP_TRY(ap_snapshot_intern_origin(to, &origin, &action.origin, reterr));
        AP_TRY(ap_snapshot_add_action(to, &action, reterr));
    }
    to->has |= AP_SNAPSHOT_HAS_SEGMENTS | AP_SNAPSHOT_HAS_HISTORY;
    return AP_OK;
}

#endif
