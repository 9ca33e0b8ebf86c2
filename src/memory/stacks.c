/* SPDX-License-Identifier: MIT
 * Three tables, from the cheapest question to the dearest: has this very text been read before (one hash over its bytes);
 * is this frame the text that followed the last one before (one comparison); and at last the grammar. Equal frames that
 * are written differently still become one frame, and equal sequences of frames one stack. */
#include "stacks.h"

#include <string.h>

#include "json_cursor.h"
#include "json_reader.h"

#include "poison.h"

/* Text of frames kept to compare the next ones with. Enough for tens of thousands of frames; a file with more is read
 * by the grammar. */
#define MAX_SPELLING_BYTES ((size_t)4 << 20)
#define NO_SPELLING UINT32_MAX

/* One way in which a frame was written. */
struct spelling {
    uint32_t start, bytes, frame;
    uint32_t next; /* what followed it last time */
};

struct text_slot {
    uint64_t hash;  /* of the whole list's text */
    uint32_t bytes; /* 0 = free: no list is shorter than two bytes */
    uint32_t stack;
};

struct ap_stack_reading {
    struct text_slot *texts;
    size_t text_slots, text_count;
    uint32_t *frame_slots; /* frame id + 1; 0 = free */
    size_t frame_slot_count;
    uint32_t *stack_slots; /* stack id; 0 = free */
    uint64_t *stack_hashes;
    size_t stack_slot_count, stack_hash_capacity;
    uint32_t *frame_spellings; /* by frame: how it was written last */
    size_t frame_spelling_capacity;
    struct spelling *spellings;
    size_t spelling_count, spelling_capacity;
    char *spelled;
    size_t spelled_bytes, spelled_capacity;
    char *decoded;
    size_t decoded_capacity;
    uint32_t first_spelling; /* of the list read last */
};

void ap_stacks_init(struct ap_stacks *stacks, struct ap_gate *gate)
{
    *stacks = (struct ap_stacks){ .gate = gate };
}

void ap_stacks_freeze(struct ap_stacks *stacks)
{
    struct ap_stack_reading *reading = stacks->reading;
    struct ap_gate *gate = stacks->gate;
    if (!reading)
        return;
    AP_FREE(gate, reading->texts, reading->text_slots);
    AP_FREE(gate, reading->frame_slots, reading->frame_slot_count);
    AP_FREE(gate, reading->stack_slots, reading->stack_slot_count);
    AP_FREE(gate, reading->stack_hashes, reading->stack_hash_capacity);
    AP_FREE(gate, reading->frame_spellings, reading->frame_spelling_capacity);
    AP_FREE(gate, reading->spellings, reading->spelling_capacity);
    ap_mem_free(gate, reading->spelled, reading->spelled_capacity);
    ap_mem_free(gate, reading->decoded, reading->decoded_capacity);
    AP_FREE(gate, reading, 1);
    stacks->reading = NULL;
}

void ap_stacks_release(struct ap_stacks *stacks)
{
    ap_stacks_freeze(stacks);
    AP_FREE(stacks->gate, stacks->frames, stacks->frame_capacity);
    AP_FREE(stacks->gate, stacks->starts, stacks->start_capacity);
    AP_FREE(stacks->gate, stacks->ids, stacks->id_capacity);
    *stacks = (struct ap_stacks){ .gate = stacks->gate };
}

static enum ap_status begin_reading(struct ap_stacks *stacks, struct ap_error *reterr)
{
    struct ap_stack_reading *reading;
    AP_TRY(AP_ALLOC(stacks->gate, reading, 1, reterr));
    *reading = (struct ap_stack_reading){ .first_spelling = NO_SPELLING };
    stacks->reading = reading;
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------ texts */

/* All 64 bits are relied on: texts whose hash and length are equal count as equal (hash.h says how likely that errs). */
static struct text_slot *text_slot(const struct ap_stack_reading *reading, uint64_t hash, uint32_t bytes)
{
    size_t mask = reading->text_slots - 1, at = (size_t)hash & mask;
    while (reading->texts[at].bytes && (reading->texts[at].hash != hash || reading->texts[at].bytes != bytes))
        at = (at + 1) & mask;
    return &reading->texts[at];
}

static enum ap_status grow_texts(struct ap_stacks *stacks, struct ap_error *reterr)
{
    struct ap_stack_reading *reading = stacks->reading;
    struct text_slot *old = reading->texts;
    size_t old_slots = reading->text_slots, slots = old_slots ? old_slots * 2 : 256;
    struct text_slot *grown;
    AP_TRY(AP_ALLOC_CLEARED(stacks->gate, grown, slots, reterr));
    reading->texts = grown;
    reading->text_slots = slots;
    for (size_t i = 0; i < old_slots; i++)
        if (old[i].bytes)
            *text_slot(reading, old[i].hash, old[i].bytes) = old[i];
    AP_FREE(stacks->gate, old, old_slots);
    return AP_OK;
}

/* ----------------------------------------------------------------------------------------------------------- frames */

static uint64_t hash_frame(const struct ap_stacks *stacks, const struct ap_frame *frame)
{
    uint64_t names = (uint64_t)frame->filename.id << 32 | frame->name.id;
    return ap_hash_pair(&stacks->gate->hash_key, names, (uint32_t)frame->line);
}

static uint32_t *frame_slot(const struct ap_stacks *stacks, const struct ap_frame *frame)
{
    const struct ap_stack_reading *reading = stacks->reading;
    size_t mask = reading->frame_slot_count - 1, at = (size_t)hash_frame(stacks, frame) & mask;
    for (; reading->frame_slots[at]; at = (at + 1) & mask) {
        const struct ap_frame *known = &stacks->frames[reading->frame_slots[at] - 1];
        if (known->filename.id == frame->filename.id && known->name.id == frame->name.id && known->line == frame->line)
            break;
    }
    return &reading->frame_slots[at];
}

static enum ap_status grow_frame_slots(struct ap_stacks *stacks, struct ap_error *reterr)
{
    struct ap_stack_reading *reading = stacks->reading;
    size_t count = reading->frame_slot_count ? reading->frame_slot_count * 2 : 1024;
    uint32_t *slots;
    AP_TRY(AP_ALLOC_CLEARED(stacks->gate, slots, count, reterr));
    ap_mem_free(stacks->gate, reading->frame_slots, reading->frame_slot_count * sizeof(*slots));
    reading->frame_slots = slots;
    reading->frame_slot_count = count;
    for (uint32_t i = 0; i < stacks->frame_count; i++)
        *frame_slot(stacks, &stacks->frames[i]) = i + 1;
    return AP_OK;
}

static enum ap_status intern_frame(struct ap_stacks *stacks, const struct ap_frame *frame, uint32_t *ret_id,
                                   struct ap_error *reterr)
{
    if (stacks->frame_count >= UINT32_MAX / 2)
        return ap_fail(reterr, AP_ERROR_LIMIT, "more than 2 billion distinct stack frames: record a shorter history");
    if (stacks->frame_count + (size_t)1 > stacks->reading->frame_slot_count / 8 * 5)
        AP_TRY(grow_frame_slots(stacks, reterr));
    uint32_t *slot = frame_slot(stacks, frame);
    if (!*slot) {
        AP_TRY(AP_RESERVE(stacks->gate, stacks->frames, stacks->frame_capacity, (size_t)stacks->frame_count + 1, reterr));
        AP_TRY(AP_RESERVE(stacks->gate, stacks->reading->frame_spellings, stacks->reading->frame_spelling_capacity,
                          (size_t)stacks->frame_count + 1, reterr));
        stacks->frames[stacks->frame_count] = *frame;
        stacks->reading->frame_spellings[stacks->frame_count] = NO_SPELLING;
        *slot = ++stacks->frame_count;
    }
    *ret_id = *slot - 1;
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------ the grammar */

struct walk {
    struct ap_stacks *stacks;
    struct ap_strpool *strings;
    struct ap_json_cursor cursor;
};

/* At a quote. */
static enum ap_status take_text(struct walk *walk, struct ap_text *ret_text, struct ap_error *reterr)
{
    struct ap_stack_reading *reading = walk->stacks->reading;
    bool decode;
    *ret_text = ap_cursor_string(&walk->cursor, &decode);
    if (!decode)
        return AP_OK;
    AP_TRY(AP_RESERVE(walk->stacks->gate, reading->decoded, reading->decoded_capacity, ret_text->bytes * 3, reterr));
    *ret_text = (struct ap_text){ reading->decoded, ap_json_decode(ret_text->data, ret_text->bytes, reading->decoded) };
    return AP_OK;
}

static enum ap_status take_name(struct walk *walk, struct ap_str *ret_name, struct ap_error *reterr)
{
    struct ap_text text;
    if (ap_cursor_peek(&walk->cursor) != '"') {
        ap_cursor_skip(&walk->cursor);
        return AP_OK;
    }
    AP_TRY(take_text(walk, &text, reterr));
    return ap_strpool_intern(walk->strings, text.data, text.bytes, ret_name, reterr);
}

static enum ap_status take_member(struct walk *walk, struct ap_text key, struct ap_frame *frame, struct ap_error *reterr)
{
    bool is_file = ap_text_is(key, "filename"), is_name = ap_text_is(key, "name"), is_line = ap_text_is(key, "line");
    int64_t number;
    (void)ap_cursor_take(&walk->cursor, ':');
    if (is_file)
        return take_name(walk, &frame->filename, reterr);
    if (is_name)
        return take_name(walk, &frame->name, reterr);
    if (!is_line)
        ap_cursor_skip(&walk->cursor);
    else if (ap_cursor_whole(&walk->cursor, &number))
        frame->line = number >= 0 && number <= INT32_MAX ? (int32_t)number : -1;
    return AP_OK;
}

/* Any element is a frame, if only an unnamed one. */
static enum ap_status take_frame(struct walk *walk, struct ap_frame *frame, struct ap_error *reterr)
{
    struct ap_json_cursor *cursor = &walk->cursor;
    char first = ap_cursor_peek(cursor);
    *frame = (struct ap_frame){ .line = -1 };
    if (first == '"')
        return take_name(walk, &frame->name, reterr);
    if (first != '{') {
        ap_cursor_skip(cursor);
        return AP_OK;
    }
    cursor->at++;
    while (ap_cursor_peek(cursor) == '"') {
        struct ap_text key;
        AP_TRY(take_text(walk, &key, reterr));
        AP_TRY(take_member(walk, key, frame, reterr));
        (void)ap_cursor_take(cursor, ',');
    }
    (void)ap_cursor_take(cursor, '}');
    return AP_OK;
}

static bool spelled_so(const struct ap_stack_reading *reading, uint32_t spelling, const char *text, size_t bytes)
{
    if (spelling == NO_SPELLING || reading->spellings[spelling].bytes > bytes)
        return false;
    const char *spelled = reading->spelled + reading->spellings[spelling].start;
    return memcmp(spelled, text, reading->spellings[spelling].bytes) == 0;
}

/* Is the text at the cursor the one that followed @before last time? */
static uint32_t spelling_here(const struct walk *walk, uint32_t before)
{
    const struct ap_stack_reading *reading = walk->stacks->reading;
    uint32_t guess = before == NO_SPELLING ? reading->first_spelling : reading->spellings[before].next;
    bool same = spelled_so(reading, guess, walk->cursor.at, (size_t)(walk->cursor.end - walk->cursor.at));
    return same ? guess : NO_SPELLING;
}

/* Only objects are remembered: their text cannot be the beginning of a longer one. */
static enum ap_status remember_spelling(struct ap_stacks *stacks, struct ap_text text, uint32_t frame,
                                        uint32_t *ret_spelling, struct ap_error *reterr)
{
    struct ap_stack_reading *reading = stacks->reading;
    *ret_spelling = reading->frame_spellings[frame];
    if (spelled_so(reading, *ret_spelling, text.data, text.bytes))
        return AP_OK;
    *ret_spelling = NO_SPELLING;
    if (!text.bytes || text.data[0] != '{' || text.bytes > MAX_SPELLING_BYTES - reading->spelled_bytes)
        return AP_OK;
    AP_TRY(
        AP_RESERVE(stacks->gate, reading->spelled, reading->spelled_capacity, reading->spelled_bytes + text.bytes, reterr));
    AP_TRY(AP_RESERVE(stacks->gate, reading->spellings, reading->spelling_capacity, reading->spelling_count + 1, reterr));
    memcpy(reading->spelled + reading->spelled_bytes, text.data, text.bytes);
    *ret_spelling = (uint32_t)reading->spelling_count++;
    reading->spellings[*ret_spelling] =
        (struct spelling){ (uint32_t)reading->spelled_bytes, (uint32_t)text.bytes, frame, NO_SPELLING };
    reading->spelled_bytes += text.bytes;
    reading->frame_spellings[frame] = *ret_spelling;
    return AP_OK;
}

static enum ap_status next_frame(struct walk *walk, uint32_t *spelling, uint32_t *ret_frame, struct ap_error *reterr)
{
    struct ap_stack_reading *reading = walk->stacks->reading;
    struct ap_frame frame;
    uint32_t before = *spelling;
    ap_cursor_space(&walk->cursor);
    *spelling = spelling_here(walk, before);
    if (*spelling != NO_SPELLING) {
        walk->cursor.at += reading->spellings[*spelling].bytes;
        *ret_frame = reading->spellings[*spelling].frame;
        return AP_OK;
    }
    const char *start = walk->cursor.at;
    AP_TRY(take_frame(walk, &frame, reterr));
    AP_TRY(intern_frame(walk->stacks, &frame, ret_frame, reterr));
    AP_TRY(remember_spelling(walk->stacks, (struct ap_text){ start, (size_t)(walk->cursor.at - start) }, *ret_frame,
                             spelling, reterr));
    if (before != NO_SPELLING)
        reading->spellings[before].next = *spelling;
    else
        reading->first_spelling = *spelling;
    return AP_OK;
}

/* The frames behind the last stack's are those of the stack being read. */
static enum ap_status read_frames(struct walk *walk, uint32_t *ret_count, struct ap_error *reterr)
{
    struct ap_stacks *stacks = walk->stacks;
    uint32_t spelling = NO_SPELLING, count = 0;
    while (ap_cursor_peek(&walk->cursor) != ']' && walk->cursor.at < walk->cursor.end) {
        const char *start = walk->cursor.at;
        AP_TRY(AP_RESERVE(stacks->gate, stacks->ids, stacks->id_capacity, stacks->id_count + count + 1, reterr));
        AP_TRY(next_frame(walk, &spelling, &stacks->ids[stacks->id_count + count], reterr));
        count++;
        (void)ap_cursor_take(&walk->cursor, ',');
        if (walk->cursor.at == start)
            break; /* no valid list: it would never end */
    }
    *ret_count = count;
    return AP_OK;
}

/* ----------------------------------------------------------------------------------------------------------- stacks */

static uint32_t *stack_slot(const struct ap_stacks *stacks, uint64_t hash, uint32_t count)
{
    const struct ap_stack_reading *reading = stacks->reading;
    const uint32_t *wanted = stacks->ids + stacks->id_count;
    size_t mask = reading->stack_slot_count - 1, at = (size_t)hash & mask;
    for (; reading->stack_slots[at]; at = (at + 1) & mask) {
        uint32_t stack = reading->stack_slots[at], known_count;
        const uint32_t *known = ap_stack_frames(stacks, stack, &known_count);
        if (reading->stack_hashes[stack] == hash && known_count == count &&
            memcmp(known, wanted, count * sizeof(*known)) == 0)
            break;
    }
    return &reading->stack_slots[at];
}

static enum ap_status grow_stack_slots(struct ap_stacks *stacks, struct ap_error *reterr)
{
    struct ap_stack_reading *reading = stacks->reading;
    size_t count = reading->stack_slot_count ? reading->stack_slot_count * 2 : 256, mask = count - 1;
    uint32_t *slots;
    AP_TRY(AP_ALLOC_CLEARED(stacks->gate, slots, count, reterr));
    ap_mem_free(stacks->gate, reading->stack_slots, reading->stack_slot_count * sizeof(*slots));
    reading->stack_slots = slots;
    reading->stack_slot_count = count;
    for (uint32_t stack = 1; stack <= stacks->stack_count; stack++) {
        size_t at = (size_t)reading->stack_hashes[stack] & mask;
        while (slots[at])
            at = (at + 1) & mask;
        slots[at] = stack;
    }
    return AP_OK;
}

/* The last @count frame ids, behind those in use, become a stack, or turn out to be one. */
static enum ap_status intern_stack(struct ap_stacks *stacks, uint32_t count, uint32_t *ret_stack, struct ap_error *reterr)
{
    struct ap_stack_reading *reading = stacks->reading;
    if (stacks->id_count + count > UINT32_MAX || stacks->stack_count >= UINT32_MAX / 2)
        return ap_fail(reterr, AP_ERROR_LIMIT, "more than 4 billion frames in distinct stacks: record a shorter history");
    if (stacks->stack_count + (size_t)1 > reading->stack_slot_count / 8 * 5)
        AP_TRY(grow_stack_slots(stacks, reterr));
    uint64_t hash = ap_hash_bytes(&stacks->gate->hash_key, stacks->ids + stacks->id_count, count * sizeof(*stacks->ids));
    uint32_t *slot = stack_slot(stacks, hash, count);
    if (!*slot) {
        size_t needed = (size_t)stacks->stack_count + 2;
        AP_TRY(AP_RESERVE(stacks->gate, stacks->starts, stacks->start_capacity, needed, reterr));
        AP_TRY(AP_RESERVE(stacks->gate, reading->stack_hashes, reading->stack_hash_capacity, needed, reterr));
        stacks->starts[0] = 0;
        *slot = ++stacks->stack_count;
        stacks->id_count += count;
        stacks->starts[*slot] = (uint32_t)stacks->id_count;
        reading->stack_hashes[*slot] = hash;
    }
    *ret_stack = *slot;
    return AP_OK;
}

enum ap_status ap_stacks_take(struct ap_stacks *stacks, struct ap_strpool *strings, struct ap_text json, uint32_t *ret_stack,
                              struct ap_error *reterr)
{
    struct walk walk = { stacks, strings, { json.data, json.data + json.bytes } };
    uint32_t count;
    *ret_stack = 0;
    if (json.bytes > UINT32_MAX || !ap_cursor_take(&walk.cursor, '[') || ap_cursor_peek(&walk.cursor) == ']')
        return AP_OK;
    if (!stacks->reading)
        AP_TRY(begin_reading(stacks, reterr));
    struct ap_stack_reading *reading = stacks->reading;
    if (reading->text_count + 1 > reading->text_slots / 8 * 5)
        AP_TRY(grow_texts(stacks, reterr));
    uint64_t hash = ap_hash_bytes(&stacks->gate->hash_key, json.data, json.bytes);
    struct text_slot *slot = text_slot(reading, hash, (uint32_t)json.bytes);
    if (!slot->bytes) {
        AP_TRY(read_frames(&walk, &count, reterr));
        uint32_t stack = 0;
        if (count)
            AP_TRY(intern_stack(stacks, count, &stack, reterr));
        *slot = (struct text_slot){ hash, (uint32_t)json.bytes, stack };
        reading->text_count++;
    }
    *ret_stack = slot->stack;
    return AP_OK;
}
