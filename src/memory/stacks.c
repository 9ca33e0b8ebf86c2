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
    uint32_t *ids; /* of the frames of the list that is read */
    size_t id_capacity;
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
    *stacks = (struct ap_stacks){ .gate = gate, .frame_pool.gate = gate, .pool.gate = gate };
}

void ap_stacks_freeze(struct ap_stacks *stacks)
{
    struct ap_stack_reading *reading = stacks->reading;
    struct ap_gate *gate = stacks->gate;
    if (!reading)
        return;
    AP_FREE(gate, reading->texts, reading->text_slots);
    AP_FREE(gate, reading->ids, reading->id_capacity);
    AP_FREE(gate, reading->frame_spellings, reading->frame_spelling_capacity);
    AP_FREE(gate, reading->spellings, reading->spelling_capacity);
    ap_mem_free(gate, reading->spelled, reading->spelled_capacity);
    ap_mem_free(gate, reading->decoded, reading->decoded_capacity);
    AP_FREE(gate, reading, 1);
    stacks->reading = NULL;
    ap_strpool_freeze(&stacks->frame_pool);
    ap_strpool_freeze(&stacks->pool);
}

void ap_stacks_release(struct ap_stacks *stacks)
{
    ap_stacks_freeze(stacks);
    ap_strpool_release(&stacks->frame_pool);
    ap_strpool_release(&stacks->pool);
    ap_stacks_init(stacks, stacks->gate);
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

_Static_assert(sizeof(struct ap_frame) == 2 * sizeof(struct ap_str) + sizeof(int32_t), "equal frames have equal bytes");

static enum ap_status intern_frame(struct ap_stacks *stacks, const struct ap_frame *frame, uint32_t *ret_id,
                                   struct ap_error *reterr)
{
    struct ap_stack_reading *reading = stacks->reading;
    struct ap_str id;
    AP_TRY(AP_RESERVE(stacks->gate, reading->frame_spellings, reading->frame_spelling_capacity,
                      (size_t)stacks->frame_count + 1, reterr));
    AP_TRY(ap_strpool_intern(&stacks->frame_pool, (const char *)frame, sizeof(*frame), &id, reterr));
    stacks->frames = (const void *)stacks->frame_pool.bytes;
    *ret_id = id.id - 1;
    if (id.id > stacks->frame_count) {
        stacks->frame_count = id.id;
        reading->frame_spellings[*ret_id] = NO_SPELLING;
    }
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

static enum ap_status read_frames(struct walk *walk, uint32_t *ret_count, struct ap_error *reterr)
{
    struct ap_stack_reading *reading = walk->stacks->reading;
    uint32_t spelling = NO_SPELLING, count = 0;
    while (ap_cursor_peek(&walk->cursor) != ']' && walk->cursor.at < walk->cursor.end) {
        const char *start = walk->cursor.at;
        AP_TRY(AP_RESERVE(walk->stacks->gate, reading->ids, reading->id_capacity, (size_t)count + 1, reterr));
        AP_TRY(next_frame(walk, &spelling, &reading->ids[count], reterr));
        count++;
        (void)ap_cursor_take(&walk->cursor, ',');
        if (walk->cursor.at == start)
            break; /* no valid list: it would never end */
    }
    *ret_count = count;
    return AP_OK;
}

/* ----------------------------------------------------------------------------------------------------------- stacks */

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
        struct ap_str stack = { 0 };
        if (count)
            AP_TRY(
                ap_strpool_intern(&stacks->pool, (const char *)reading->ids, count * sizeof(*reading->ids), &stack, reterr));
        stacks->stack_count = ap_strpool_count(&stacks->pool);
        *slot = (struct text_slot){ hash, (uint32_t)json.bytes, stack.id };
        reading->text_count++;
    }
    *ret_stack = slot->stack;
    return AP_OK;
}
