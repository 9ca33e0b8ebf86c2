/* SPDX-License-Identifier: MIT
 * trace_ahead.c - events that helper threads read ahead: each block into a trace of its own. */
#include <string.h>

#include "json_ahead.h"
#include "trace_join.h"

#include "poison.h"

/* The part's texts are kept from block to block, so that each is compared with those of the whole only once; not without
 * end. */
#define PART_TEXT_MAX_BYTES ((size_t)1 << 20)
#define PART_TEXT_MAX_COUNT 16384
#define PART_TRACKS_MAX 256

/* What was read of one block. */
struct part {
    struct ap_trace_reading reading; /* the helper's; its trace is made when needed */
    struct ap_notes notes;
    struct ap_trace_join join;
};

struct ap_trace_ahead {
    struct part *parts;
    size_t part_count;
    struct ap_ahead *ahead;
};

/* Events that change what was read before are for the first thread. */
static bool is_for_helper(const struct ap_trace_reading *part)
{
    const struct ap_json_span *ph = &part->spans[AP_FIELD_PH];
    return ph->kind == AP_JSON_STRING && ph->bytes == 1 && (uint8_t)ph->text[0] < 128 && ph->text[0] != 'B' &&
           ph->text[0] != 'E' && ph->text[0] != 'M';
}

static enum ap_ahead_answer take(void *self, unsigned piece, struct ap_element_reader *elements, uint64_t offset_bytes)
{
    struct ap_trace_reading *part = &((struct ap_trace_ahead *)self)->parts[piece].reading;
    struct ap_error error;
    if (!is_for_helper(part))
        return AP_AHEAD_NOT_TAKEN;
    if (!part->trace && ap_trace_new(part->gate, &part->trace, &error) != AP_OK)
        return AP_AHEAD_FAILED;
    part->elements = elements;
    part->offset_bytes = offset_bytes;
    part->trace->event_count++;
    part->trace->object_count++;
    return ap_trace_take_event(part, &error) == AP_OK ? AP_AHEAD_TAKEN : AP_AHEAD_FAILED;
}

static void forget_all(struct part *part)
{
    ap_trace_free(part->reading.trace);
    part->reading.trace = NULL;
    memset(part->reading.known_categories, 0, sizeof(part->reading.known_categories));
    memset(part->reading.known_tracks, 0, sizeof(part->reading.known_tracks));
    part->notes = (struct ap_notes){ .notes = { { .count = 0 } } };
    ap_trace_join_reset(&part->join);
}

static void drop(void *self, unsigned piece)
{
    forget_all(&((struct ap_trace_ahead *)self)->parts[piece]);
}

static enum ap_status make_parts(struct ap_trace_ahead *ahead, struct ap_trace_reading *reading, struct ap_error *reterr)
{
    struct ap_ahead_user user = {
        .helpers = reading->helpers, .take = take, .drop = drop, .self = ahead, .always_wait = reading->always_wait
    };
    ahead->part_count = 2 * (size_t)reading->helpers;
    AP_TRY(AP_ALLOC_CLEARED(reading->gate, ahead->parts, ahead->part_count, reterr));
    for (size_t i = 0; i < ahead->part_count; i++) {
        struct part *part = &ahead->parts[i];
        part->reading.gate = part->join.gate = reading->gate;
        part->reading.notes = user.notes[i] = &part->notes;
        user.spans[i] = part->reading.spans;
    }
    return ap_ahead_new(reading->elements, &user, &ahead->ahead, reterr);
}

enum ap_status ap_trace_ahead_new(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    if (!reading->helpers)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(reading->gate, reading->ahead, 1, reterr));
    enum ap_status status = make_parts(reading->ahead, reading, reterr);
    if (status != AP_OK || !reading->ahead->ahead)
        ap_trace_ahead_free(reading);
    return status;
}

void ap_trace_ahead_free(struct ap_trace_reading *reading)
{
    struct ap_trace_ahead *ahead = reading->ahead;
    if (!ahead)
        return;
    ap_ahead_free(ahead->ahead);
    for (size_t i = 0; i < ahead->part_count && ahead->parts; i++) {
        ap_trace_free(ahead->parts[i].reading.trace);
        ap_trace_join_release(&ahead->parts[i].join);
    }
    AP_FREE(reading->gate, ahead->parts, ahead->parts ? ahead->part_count : 0);
    AP_FREE(reading->gate, ahead, 1);
    reading->ahead = NULL;
}

static bool is_full(const struct ap_strpool *pool)
{
    return pool->bytes_used > PART_TEXT_MAX_BYTES || ap_strpool_count(pool) > PART_TEXT_MAX_COUNT;
}

/* What was taken over need not be taken again; what is known of the part stays, if it is not too much. */
static void forget_taken(struct part *part)
{
    struct ap_trace *trace = part->reading.trace;
    if (is_full(&trace->strings) || is_full(&trace->signatures) || is_full(&trace->odd_keys) ||
        is_full(&trace->category_names) || trace->track_count > PART_TRACKS_MAX) {
        forget_all(part);
        return;
    }
    ap_trace_forget_events(trace);
    part->notes = (struct ap_notes){ .notes = { { .count = 0 } } };
}

enum ap_status ap_trace_ahead_take(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    struct ap_trace_ahead *ahead = reading->ahead;
    struct part *part = &ahead->parts[ap_ahead_piece(ahead->ahead)];
    bool fits;
    AP_TRY(ap_trace_join_fits(&part->join, reading->trace, part->reading.trace, &fits, reterr));
    if (!fits) {
        ap_ahead_refuse(ahead->ahead);
        return AP_OK;
    }
    AP_TRY(ap_trace_join_add(&part->join, reading->trace, part->reading.trace, reterr));
    ap_notes_add(reading->notes, &part->notes);
    forget_taken(part);
    ap_ahead_take_over(ahead->ahead);
    return AP_OK;
}
