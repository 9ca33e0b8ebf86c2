/* SPDX-License-Identifier: MIT
 * Segments and their blocks: the final state of the allocator. */
#include "snapshot_reading.h"

#include "poison.h"

enum segment_key {
    SEGMENT_DEVICE,
    SEGMENT_ADDRESS,
    SEGMENT_TOTAL,
    SEGMENT_ALLOCATED,
    SEGMENT_ACTIVE,
    SEGMENT_REQUESTED,
    SEGMENT_STREAM,
    SEGMENT_TYPE,
    SEGMENT_POOL,
    SEGMENT_EXPANDABLE,
    SEGMENT_FRAMES,
    SEGMENT_BLOCKS,
    SEGMENT_KEY_COUNT_
};

static const char *const segment_keys[SEGMENT_KEY_COUNT_] = {
    "device", "address",      "total_size",      "allocated_size", "active_size", "requested_size",
    "stream", "segment_type", "segment_pool_id", "is_expandable",  "frames",      "blocks",
};

enum block_key {
    BLOCK_ADDRESS,
    BLOCK_SIZE,
    BLOCK_REQUESTED,
    BLOCK_STATE,
    BLOCK_FRAMES,
    BLOCK_HISTORY,
    BLOCK_CPP_FRAMES,
    BLOCK_KEY_COUNT_
};

static const char *const block_keys[BLOCK_KEY_COUNT_] = {
    "address", "size", "requested_size", "state", "frames", "history", "cpp_frames",
};

/* A block while it is read. */
struct block_draft {
    struct ap_block block;
    int64_t real_size_bytes; /* of the first item of "history" (1.13 and 2.0), which stands for requested_size */
    bool has_real_size;
    uint32_t history_stack, cpp_stack; /* stand for frames where there are none */
    uint64_t seen;
};

static uint64_t bit(unsigned index)
{
    return (uint64_t)1 << index;
}

static enum ap_status read_state(struct ap_reading *reading, uint8_t *ret_state, struct ap_error *reterr)
{
    static const struct {
        const char *name;
        enum ap_block_state state;
    } states[] = {
        { "active_allocated", AP_BLOCK_ALLOCATED },
        { "inactive", AP_BLOCK_INACTIVE },
        { "active_pending_free", AP_BLOCK_PENDING },  /* what the allocator writes */
        { "active_awaiting_free", AP_BLOCK_PENDING }, /* what its documentation says */
    };
    struct ap_json_token token;
    AP_TRY(ap_reading_scalar(reading, &token, reterr));
    struct ap_text text = { token.text, token.kind == AP_JSON_STRING ? token.text_bytes : 0 };
    *ret_state = AP_BLOCK_UNKNOWN;
    for (size_t i = 0; i < AP_COUNT_OF(states); i++)
        if (ap_text_is(text, states[i].name))
            *ret_state = (uint8_t)states[i].state;
    return AP_OK;
}

/* One item of a block's history; the first is the latest, and the only one that counts. */
static enum ap_status read_history_item(struct ap_reading *reading, struct block_draft *draft, bool first,
                                        struct ap_error *reterr)
{
    static const char *const keys[] = { "addr", "real_size", "frames" };
    struct ap_json_token key;
    unsigned next = 0;
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_key(reading->json, &key, reterr));
        unsigned index = ap_reading_key(&key, keys, AP_COUNT_OF(keys), &next);
        if (index == 1 && first)
            AP_TRY(ap_reading_size(reading, &draft->real_size_bytes, &draft->has_real_size, reterr));
        else if (index == 2 && first)
            AP_TRY(ap_reading_frames(reading, &draft->history_stack, reterr));
        else
            AP_TRY(ap_json_skip_value(reading->json, reterr));
    }
}

static enum ap_status read_block_history(struct ap_reading *reading, struct block_draft *draft, struct ap_error *reterr)
{
    struct ap_json_token token;
    enum ap_status status = ap_reading_enter(reading, AP_JSON_ARRAY_BEGIN, reterr);
    for (bool first = true; status == AP_OK; first = false) {
        status = ap_json_next_element(reading->json, &token, reterr);
        if (status != AP_OK)
            break;
        if (token.kind == AP_JSON_OBJECT_BEGIN)
            status = read_history_item(reading, draft, first, reterr);
        else
            status = ap_json_skip_rest(reading->json, &token, reterr);
    }
    return status == AP_END ? AP_OK : status;
}

static enum ap_status read_block_member(struct ap_reading *reading, enum block_key key, struct block_draft *draft,
                                        struct ap_error *reterr)
{
    struct ap_block *block = &draft->block;
    struct ap_json_token token;
    bool known = false;
    switch (key) {
    case BLOCK_ADDRESS:
        AP_TRY(ap_reading_id(reading, &block->address, &known, &token, reterr));
        if (!known)
            ap_note(reading->notes, AP_COUNTER_member_type, token.offset_bytes);
        block->has = (uint8_t)((block->has & ~AP_BLOCK_HAS_ADDRESS) | (known ? AP_BLOCK_HAS_ADDRESS : 0));
        return AP_OK;
    case BLOCK_SIZE: return ap_reading_size(reading, &block->size_bytes, &known, reterr);
    case BLOCK_REQUESTED:
        AP_TRY(ap_reading_size(reading, &block->requested_bytes, &known, reterr));
        block->has = (uint8_t)((block->has & ~AP_BLOCK_HAS_REQUESTED) | (known ? AP_BLOCK_HAS_REQUESTED : 0));
        return AP_OK;
    case BLOCK_STATE: return read_state(reading, &block->state, reterr);
    case BLOCK_FRAMES: return ap_reading_frames(reading, &block->stack, reterr);
    case BLOCK_CPP_FRAMES: return ap_reading_frames(reading, &draft->cpp_stack, reterr);
    case BLOCK_HISTORY:
        draft->has_real_size = false;
        draft->history_stack = 0;
        return read_block_history(reading, draft, reterr);
    default: return ap_json_skip_value(reading->json, reterr);
    }
}

/* Behind the block's '{'. */
static enum ap_status read_block(struct ap_reading *reading, uint64_t offset_bytes, unsigned *next, struct ap_error *reterr)
{
    struct block_draft draft = { .seen = 0 };
    struct ap_json_token key;
    enum ap_status status;
    while ((status = ap_json_next_key(reading->json, &key, reterr)) == AP_OK) {
        unsigned index = ap_reading_key(&key, block_keys, BLOCK_KEY_COUNT_, next);
        if (index < BLOCK_KEY_COUNT_)
            ap_json_seen(reading->json, &draft.seen, index, key.offset_bytes);
        AP_TRY(read_block_member(reading, (enum block_key)index, &draft, reterr));
    }
    if (status != AP_END)
        return status;
    if (!(draft.seen & bit(BLOCK_SIZE)))
        ap_note(reading->notes, AP_COUNTER_block_size_missing, offset_bytes);
    if (draft.block.state == AP_BLOCK_UNKNOWN)
        ap_note(reading->notes, AP_COUNTER_block_state_unknown, offset_bytes);
    if (!(draft.seen & bit(BLOCK_REQUESTED)) && draft.has_real_size) {
        draft.block.requested_bytes = draft.real_size_bytes;
        draft.block.has |= AP_BLOCK_HAS_REQUESTED;
    }
    if (!draft.block.stack)
        draft.block.stack = draft.history_stack ? draft.history_stack : draft.cpp_stack;
    return ap_snapshot_add_block(reading->to, &draft.block, reterr);
}

static enum ap_status read_blocks(struct ap_reading *reading, struct ap_segment *segment, struct ap_error *reterr)
{
    struct ap_json_token token;
    unsigned next = 0;
    AP_TRY_UNTIL_END(ap_reading_enter(reading, AP_JSON_ARRAY_BEGIN, reterr));
    segment->has |= AP_SEGMENT_HAS_BLOCKS;
    for (;;) {
        AP_TRY_UNTIL_END(ap_json_next_element(reading->json, &token, reterr));
        if (token.kind == AP_JSON_OBJECT_BEGIN) {
            AP_TRY(read_block(reading, token.offset_bytes, &next, reterr));
        } else {
            ap_note(reading->notes, AP_COUNTER_block_not_object, token.offset_bytes);
            AP_TRY(ap_json_skip_rest(reading->json, &token, reterr));
        }
    }
}

static void set_bit(struct ap_segment *segment, uint16_t which, bool on)
{
    segment->has = (uint16_t)(on ? segment->has | which : segment->has & ~which);
}

static enum ap_status read_size(struct ap_reading *reading, struct ap_segment *segment, uint16_t which, int64_t *ret_bytes,
                                struct ap_error *reterr)
{
    bool known;
    AP_TRY(ap_reading_size(reading, ret_bytes, &known, reterr));
    set_bit(segment, which, known);
    return AP_OK;
}

/* A device or address that is no number is counted and shown as it is written. */
static enum ap_status read_place(struct ap_reading *reading, struct ap_segment *segment, uint16_t which,
                                 uint64_t *ret_number, struct ap_str *ret_odd, struct ap_error *reterr)
{
    struct ap_json_token token;
    bool known;
    AP_TRY(ap_reading_id(reading, ret_number, &known, &token, reterr));
    if (known && which == AP_SEGMENT_HAS_DEVICE)
        known = (int64_t)*ret_number >= INT32_MIN && (int64_t)*ret_number <= INT32_MAX;
    set_bit(segment, which, known);
    *ret_odd = (struct ap_str){ 0 };
    if (known)
        return AP_OK;
    *ret_number = 0;
    ap_note(reading->notes, AP_COUNTER_segment_place, token.offset_bytes);
    return ap_reading_intern(reading, &token, ret_odd, reterr);
}

static enum ap_status read_pool(struct ap_reading *reading, struct ap_segment *segment, struct ap_error *reterr)
{
    struct ap_json_token token;
    uint64_t number = 0;
    unsigned count = 0;
    bool whole = true;
    segment->pool[0] = segment->pool[1] = 0;
    set_bit(segment, AP_SEGMENT_HAS_POOL, false);
    AP_TRY_UNTIL_END(ap_reading_enter(reading, AP_JSON_ARRAY_BEGIN, reterr));
    enum ap_status status;
    for (; (status = ap_json_next_element(reading->json, &token, reterr)) == AP_OK; count++) {
        whole = ap_reading_whole(&token, &number) && whole;
        AP_TRY(ap_json_skip_rest(reading->json, &token, reterr));
        if (count < 2)
            segment->pool[count] = (int64_t)number;
    }
    if (status != AP_END)
        return status;
    set_bit(segment, AP_SEGMENT_HAS_POOL, whole && count == 2);
    if (!(segment->has & AP_SEGMENT_HAS_POOL))
        ap_note(reading->notes, AP_COUNTER_member_type, token.offset_bytes);
    return AP_OK;
}

static enum ap_status read_flag(struct ap_reading *reading, struct ap_segment *segment, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_reading_scalar(reading, &token, reterr));
    segment->expandable = token.kind == AP_JSON_TRUE;
    bool known = segment->expandable || token.kind == AP_JSON_FALSE;
    set_bit(segment, AP_SEGMENT_HAS_EXPANDABLE, known);
    if (!known)
        ap_note(reading->notes, AP_COUNTER_member_type, token.offset_bytes);
    return AP_OK;
}

static enum ap_status read_stream(struct ap_reading *reading, struct ap_segment *segment, struct ap_error *reterr)
{
    struct ap_json_token token;
    bool known;
    AP_TRY(ap_reading_id(reading, &segment->stream, &known, &token, reterr));
    set_bit(segment, AP_SEGMENT_HAS_STREAM, known);
    if (!known)
        ap_note(reading->notes, AP_COUNTER_member_type, token.offset_bytes);
    return AP_OK;
}

static enum ap_status read_segment_member(struct ap_reading *reading, enum segment_key key, struct ap_segment *segment,
                                          uint32_t first_block, struct ap_error *reterr)
{
    uint64_t number = 0;
    bool is_text;
    switch (key) {
    case SEGMENT_DEVICE:
        AP_TRY(read_place(reading, segment, AP_SEGMENT_HAS_DEVICE, &number, &segment->odd_device, reterr));
        segment->device = (int32_t)(int64_t)number;
        return AP_OK;
    case SEGMENT_ADDRESS:
        return read_place(reading, segment, AP_SEGMENT_HAS_ADDRESS, &segment->address, &segment->odd_address, reterr);
    case SEGMENT_TOTAL: return read_size(reading, segment, AP_SEGMENT_HAS_TOTAL, &segment->total_bytes, reterr);
    case SEGMENT_ALLOCATED: return read_size(reading, segment, AP_SEGMENT_HAS_ALLOCATED, &segment->allocated_bytes, reterr);
    case SEGMENT_ACTIVE: return read_size(reading, segment, AP_SEGMENT_HAS_ACTIVE, &segment->active_bytes, reterr);
    case SEGMENT_REQUESTED: return read_size(reading, segment, AP_SEGMENT_HAS_REQUESTED, &segment->requested_bytes, reterr);
    case SEGMENT_STREAM: return read_stream(reading, segment, reterr);
    case SEGMENT_TYPE:
        AP_TRY(ap_reading_name(reading, &segment->type, &is_text, reterr));
        set_bit(segment, AP_SEGMENT_HAS_TYPE, is_text);
        return AP_OK;
    case SEGMENT_POOL: return read_pool(reading, segment, reterr);
    case SEGMENT_EXPANDABLE: return read_flag(reading, segment, reterr);
    case SEGMENT_FRAMES: return ap_reading_frames(reading, &segment->stack, reterr);
    case SEGMENT_BLOCKS:
        reading->to->block_count = first_block; /* of two lists the last one counts */
        set_bit(segment, AP_SEGMENT_HAS_BLOCKS, false);
        return read_blocks(reading, segment, reterr);
    default: return ap_json_skip_value(reading->json, reterr);
    }
}

static void note_missing(struct ap_reading *reading, uint64_t seen, uint64_t offset_bytes)
{
    if (!(seen & bit(SEGMENT_TOTAL)))
        ap_note(reading->notes, AP_COUNTER_size_missing, offset_bytes);
    if (!(seen & bit(SEGMENT_ALLOCATED)) || !(seen & bit(SEGMENT_ACTIVE)))
        ap_note(reading->notes, AP_COUNTER_use_missing, offset_bytes);
    if (!(seen & bit(SEGMENT_TYPE)))
        ap_note(reading->notes, AP_COUNTER_segment_type_missing, offset_bytes);
}

enum ap_status ap_reading_segment(struct ap_reading *reading, uint64_t offset_bytes, struct ap_error *reterr)
{
    const uint64_t telling = bit(SEGMENT_TOTAL) | bit(SEGMENT_ALLOCATED) | bit(SEGMENT_TYPE) | bit(SEGMENT_BLOCKS);
    struct ap_segment segment = { .type = { AP_NAME_UNKNOWN }, .offset_bytes = offset_bytes };
    uint32_t first_block = reading->to->block_count;
    struct ap_json_token key;
    uint64_t seen = 0;
    unsigned next = 0;
    enum ap_status status;
    while ((status = ap_json_next_key(reading->json, &key, reterr)) == AP_OK) {
        unsigned index = ap_reading_key(&key, segment_keys, SEGMENT_KEY_COUNT_, &next);
        if (index < SEGMENT_KEY_COUNT_) {
            ap_json_seen(reading->json, &seen, index, key.offset_bytes);
            reading->recognized = reading->recognized || (bit(index) & telling);
        } else if (!reading->recognized) {
            ap_foreign_key(reading, &key);
        }
        AP_TRY(read_segment_member(reading, (enum segment_key)index, &segment, first_block, reterr));
    }
    if (status != AP_END)
        return status;
    note_missing(reading, seen, offset_bytes);
    return ap_snapshot_add_segment(reading->to, &segment, reterr);
}
