/* SPDX-License-Identifier: MIT
 * Where segments and blocks lie: what is listed twice, or lies over another, counts twice in all sums. */
#include "snapshot_reading.h"
#include "sort.h"

#include "poison.h"

struct place {
    int32_t device;
    uint64_t start, end, offset_bytes;
};

static int by_place(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    AP_BY_SMALLER(a->device, b->device);
    AP_BY_SMALLER(a->start, b->start);
    AP_BY_SMALLER(a->end, b->end);
    AP_BY_SMALLER(a->offset_bytes, b->offset_bytes);
    return 0;
}

static uint64_t end_of(uint64_t start, int64_t bytes)
{
    uint64_t end = start + (uint64_t)(bytes > 0 ? bytes : 0);
    return end < start ? UINT64_MAX : end;
}

/* Sorts the places; each that begins before one ahead of it ends is counted. */
static void note_overlaps(struct place *places, size_t count, struct ap_notes *notes, enum ap_counter counter)
{
    uint64_t end = 0;
    ap_sort(places, count, sizeof(places[0]), by_place);
    for (size_t i = 0; i < count; i++) {
        if (!i || places[i].device != places[i - 1].device)
            end = 0;
        if (places[i].start < end)
            ap_note(notes, counter, places[i].offset_bytes);
        end = places[i].end > end ? places[i].end : end;
    }
}

static void check_segments(const struct ap_snapshot *snapshot, struct place *places, struct ap_notes *notes)
{
    size_t count = 0;
    for (uint32_t i = 0; i < snapshot->segment_count; i++) {
        const struct ap_segment *segment = &snapshot->segments[i];
        if ((segment->has & AP_SEGMENT_HAS_ADDRESS) && !ap_is_address(segment->address))
            ap_note(notes, AP_COUNTER_address_range, segment->offset_bytes);
        if ((segment->has & AP_SEGMENT_HAS_ADDRESS) && segment->total_bytes > 0 && !segment->odd_device.id)
            places[count++] = (struct place){ segment->device, segment->address,
                                              end_of(segment->address, segment->total_bytes), segment->offset_bytes };
    }
    note_overlaps(places, count, notes, AP_COUNTER_segment_overlap);
}

/* As writers list them: each from where the one before it ends, up to the end of the segment. */
static bool is_in_order(const struct place *places, size_t count, struct place within)
{
    uint64_t end = within.start;
    for (size_t i = 0; i < count; i++) {
        if (places[i].start < end)
            return false;
        end = places[i].end;
    }
    return end <= within.end;
}

static void check_blocks(const struct ap_snapshot *snapshot, const struct ap_segment *segment, struct place *places,
                         struct ap_notes *notes)
{
    const uint16_t needed = AP_SEGMENT_HAS_ADDRESS | AP_SEGMENT_HAS_TOTAL;
    struct place within = { 0, segment->address, end_of(segment->address, segment->total_bytes), segment->offset_bytes };
    size_t count = 0;
    for (uint32_t i = 0; i < segment->block_count; i++) {
        const struct ap_block *block = &snapshot->blocks[segment->first_block + i];
        if ((block->has & AP_BLOCK_HAS_ADDRESS) && block->size_bytes > 0)
            places[count++] =
                (struct place){ 0, block->address, end_of(block->address, block->size_bytes), segment->offset_bytes };
    }
    if ((segment->has & needed) != needed)
        within = (struct place){ 0, 0, UINT64_MAX, 0 };
    if (is_in_order(places, count, within))
        return;
    for (size_t i = 0; i < count; i++)
        if (places[i].start < within.start || places[i].end > within.end)
            ap_note(notes, AP_COUNTER_block_outside, segment->offset_bytes);
    note_overlaps(places, count, notes, AP_COUNTER_block_overlap);
}

enum ap_status ap_reading_check_places(const struct ap_reading *reading, struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = reading->to;
    struct place *places;
    size_t most = snapshot->segment_count;
    for (uint32_t i = 0; i < snapshot->segment_count; i++)
        most = snapshot->segments[i].block_count > most ? snapshot->segments[i].block_count : most;
    AP_TRY(AP_ALLOC(snapshot->gate, places, most + 1, reterr));
    check_segments(snapshot, places, reading->notes);
    for (uint32_t i = 0; i < snapshot->segment_count; i++)
        check_blocks(snapshot, &snapshot->segments[i], places, reading->notes);
    AP_FREE(snapshot->gate, places, most + 1);
    return AP_OK;
}
