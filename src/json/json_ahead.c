/* SPDX-License-Identifier: MIT */
#include "json_ahead.h"

#include <string.h>

#include "json_internal.h"
#include "json_layout.h"
#include "thread.h"

#include "poison.h"

#define GUESSES_MAX 16 /* places that are tried in one block */
#define USELESS_MAX 16 /* blocks in a row that gave nothing: then reading ahead ends for good */

/* A block that was given to the second thread, and where in it elements were read; offsets are of the input. */
struct piece {
    enum { AT_REST, GIVEN, BEING_READ, READ } state; /* under the mutex */
    struct ap_block_view block;
    uint64_t block_offset_bytes, start_offset_bytes, end_offset_bytes;
    bool any, failed; /* elements were taken; they are void */

    /* The first thread's own. */
    bool in_use, asked_for; /* given; and what came of it is known */
    uint64_t number;        /* of the block */
};

struct ap_ahead {
    struct ap_element_reader *first, *second;
    struct ap_ahead_user user;

    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t given, read;
    bool stopped; /* under the mutex */

    /* So that the second thread need not wait until the first has taken over what it read. */
    struct piece pieces[AP_AHEAD_PIECES];

    /* The first thread's own. */
    bool has_thread;
    uint64_t borrowed; /* blocks in all */
    unsigned useless_count;
};

/* ---------------------------------------------------------------------------------------------- the second thread */

/* Where an element seems to end and another one to begin, from @at on: behind the brace. */
static const uint8_t *guess_place(const struct ap_ahead *ahead, const struct piece *piece, const uint8_t *at)
{
    const uint8_t *end = piece->block.data + piece->block.bytes;
    while (at < end && (at = memchr(at, '}', (size_t)(end - at)))) {
        at++;
        if (ap_layout_is_between(ahead->second, at))
            return at;
    }
    return NULL;
}

static void begin_at(struct ap_ahead *ahead, const struct piece *piece, const uint8_t *at)
{
    struct ap_json_reader *json = ahead->second->json;
    json->notes = ahead->user.notes[piece - ahead->pieces];
    json->window = piece->block.data;
    json->window_offset_bytes = piece->block_offset_bytes;
    json->at = at;
    json->scan.end = piece->block.data + piece->block.bytes;
    json->scan.at_eof = true; /* what goes on in the next block is for the first thread */
    json->state = AP_STATE_AFTER;
    json->failed = AP_OK;
    ahead->second->last_was_object = ahead->second->any_object = true;
}

/* Only what is most usual: all else ends it here. What was counted of an element that is read again would count twice. */
static enum ap_ahead_answer read_one(struct ap_ahead *ahead, unsigned piece)
{
    struct ap_json_reader *json = ahead->second->json;
    struct ap_error error;
    enum ap_element_outcome outcome;
    uint64_t offset_bytes, odd_tokens = json->odd_tokens;
    if (!ap_layout_is_between(ahead->second, json->at) ||
        ap_element_next(ahead->second, ahead->user.spans[piece], &outcome, &offset_bytes, &error) != AP_OK ||
        outcome != AP_ELEMENT_READ)
        return AP_AHEAD_NOT_TAKEN;
    enum ap_ahead_answer answer = ahead->user.take(ahead->user.self, piece, offset_bytes);
    return answer == AP_AHEAD_NOT_TAKEN && json->odd_tokens != odd_tokens ? AP_AHEAD_FAILED : answer;
}

static void read_piece(struct ap_ahead *ahead, struct piece *piece)
{
    const uint8_t *at = piece->block.data;
    piece->any = piece->failed = false;
    for (int i = 0; i < GUESSES_MAX && !piece->any && !piece->failed && (at = guess_place(ahead, piece, at)); i++) {
        enum ap_ahead_answer answer;
        begin_at(ahead, piece, at);
        piece->start_offset_bytes = piece->end_offset_bytes = ap_json_offset(ahead->second->json);
        while ((answer = read_one(ahead, (unsigned)(piece - ahead->pieces))) == AP_AHEAD_TAKEN) {
            piece->any = true;
            piece->end_offset_bytes = ap_json_offset(ahead->second->json);
        }
        piece->failed = answer == AP_AHEAD_FAILED;
    }
}

/* The one that stands earlier in the input; NULL = none was given. */
static struct piece *next_given(struct ap_ahead *ahead)
{
    struct piece *next = NULL;
    for (size_t i = 0; i < AP_AHEAD_PIECES; i++) {
        struct piece *piece = &ahead->pieces[i];
        if (piece->state == GIVEN && (!next || piece->block_offset_bytes < next->block_offset_bytes))
            next = piece;
    }
    return next;
}

static void *read_pieces(void *self)
{
    struct ap_ahead *ahead = self;
    (void)pthread_mutex_lock(&ahead->mutex);
    for (;;) {
        struct piece *piece;
        while (!(piece = next_given(ahead)) && !ahead->stopped)
            (void)pthread_cond_wait(&ahead->given, &ahead->mutex);
        if (ahead->stopped)
            break;
        piece->state = BEING_READ;
        (void)pthread_mutex_unlock(&ahead->mutex);
        read_piece(ahead, piece);
        (void)pthread_mutex_lock(&ahead->mutex);
        piece->state = READ;
        (void)pthread_cond_signal(&ahead->read);
    }
    (void)pthread_mutex_unlock(&ahead->mutex);
    return NULL;
}

/* ----------------------------------------------------------------------------------------------- the first thread */

/* The one in use that stands earliest (or latest) in the input; NULL = none is in use. */
static struct piece *find_piece(struct ap_ahead *ahead, bool latest)
{
    struct piece *found = NULL;
    for (size_t i = 0; i < AP_AHEAD_PIECES; i++) {
        struct piece *piece = &ahead->pieces[i];
        if (piece->in_use && (!found || (piece->number > found->number) == latest))
            found = piece;
    }
    return found;
}

static void end_piece(struct ap_ahead *ahead, struct piece *piece)
{
    piece->in_use = piece->asked_for = false;
    ahead->first->ahead_at = NULL;
}

static void drop(struct ap_ahead *ahead, struct piece *piece)
{
    end_piece(ahead, piece);
    ahead->useless_count++;
    ahead->user.drop(ahead->user.self, (unsigned)(piece - ahead->pieces));
}

/* A block that the second thread has not begun with is taken back. */
static void ask_for(struct ap_ahead *ahead, struct piece *piece)
{
    (void)pthread_mutex_lock(&ahead->mutex);
    bool taken_back = piece->state == GIVEN && !ahead->user.always_wait;
    while (piece->state != READ && !taken_back)
        (void)pthread_cond_wait(&ahead->read, &ahead->mutex);
    piece->state = AT_REST;
    (void)pthread_mutex_unlock(&ahead->mutex);
    piece->asked_for = true;
    if (taken_back)
        end_piece(ahead, piece);
    else if (!piece->any || piece->failed)
        drop(ahead, piece);
}

/* The block of that number, if it is there already. */
static bool find_block(const struct ap_ahead *ahead, uint64_t number, struct piece *piece)
{
    const struct ap_json_reader *json = ahead->first->json;
    uint64_t offset_bytes = ap_json_offset_of(json, json->scan.end);
    for (uint64_t at = ahead->borrowed; at <= number; at++) {
        if (!json->source.peek(json->source.self, (unsigned)(at - ahead->borrowed), &piece->block))
            return false;
        piece->block_offset_bytes = offset_bytes;
        offset_bytes += piece->block.bytes;
    }
    piece->number = number;
    return true;
}

/* No piece is in use: the second thread rests. */
static void know_between(struct ap_ahead *ahead)
{
    memcpy(ahead->second->between, ahead->first->between, sizeof(ahead->second->between));
    memcpy(ahead->second->between_mask, ahead->first->between_mask, sizeof(ahead->second->between_mask));
    ahead->second->between_bytes = ahead->first->between_bytes;
}

static bool give(struct ap_ahead *ahead, struct piece *piece)
{
    struct piece *last = find_piece(ahead, true);
    /* Every other block; those between are the first thread's. */
    if (!find_block(ahead, last ? last->number + 2 : ahead->borrowed, piece))
        return false;
    if (!last)
        know_between(ahead);
    if (!ahead->has_thread && !ap_thread_start(&ahead->thread, read_pieces, ahead)) {
        ahead->useless_count = USELESS_MAX;
        return false;
    }
    ahead->has_thread = piece->in_use = true;
    (void)pthread_mutex_lock(&ahead->mutex);
    piece->state = GIVEN;
    (void)pthread_cond_signal(&ahead->given);
    (void)pthread_mutex_unlock(&ahead->mutex);
    return true;
}

static void give_more(struct ap_ahead *ahead)
{
    if (!ahead->first->between_bytes)
        return;
    for (size_t i = 0; i < AP_AHEAD_PIECES && ahead->useless_count < USELESS_MAX; i++)
        if (!ahead->pieces[i].in_use && !give(ahead, &ahead->pieces[i]))
            return;
}

void ap_ahead_before_block(struct ap_ahead *ahead)
{
    if (!ahead)
        return;
    struct piece *piece = find_piece(ahead, false);
    if (piece && piece->asked_for) { /* the first thread did not come by */
        drop(ahead, piece);
        piece = find_piece(ahead, false);
    }
    if (piece && piece->number == ahead->borrowed)
        ask_for(ahead, piece);
    ahead->borrowed++;
}

void ap_ahead_after_blocks(struct ap_ahead *ahead)
{
    if (!ahead)
        return;
    const struct ap_json_reader *json = ahead->first->json;
    struct piece *piece = find_piece(ahead, false);
    if (piece && piece->asked_for) {
        if (piece->block.data >= json->window && piece->block.data < json->scan.end)
            ahead->first->ahead_at = piece->block.data + (piece->start_offset_bytes - piece->block_offset_bytes);
        else
            drop(ahead, piece);
    }
    give_more(ahead);
}

unsigned ap_ahead_piece(struct ap_ahead *ahead)
{
    return (unsigned)(find_piece(ahead, false) - ahead->pieces);
}

void ap_ahead_take_over(struct ap_ahead *ahead)
{
    struct piece *piece = find_piece(ahead, false);
    ahead->first->json->at = ahead->first->ahead_at + (piece->end_offset_bytes - piece->start_offset_bytes);
    ahead->useless_count = 0;
    end_piece(ahead, piece);
    give_more(ahead);
}

void ap_ahead_refuse(struct ap_ahead *ahead)
{
    drop(ahead, find_piece(ahead, false));
}

struct ap_element_reader *ap_ahead_elements(struct ap_ahead *ahead)
{
    return ahead->second;
}

/* ------------------------------------------------------------------------------------------------- begin and end */

static enum ap_status new_second(struct ap_ahead *ahead, struct ap_error *reterr)
{
    const struct ap_json_reader *json = ahead->first->json;
    struct ap_byte_source nothing = { .self = NULL }; /* never asked: its text ends at the end of its block */
    struct ap_json_reader *second;
    AP_TRY(ap_json_reader_new(json->gate, nothing, ahead->user.notes[0], &json->limits, &second, reterr));
    second->scan.ops = json->scan.ops;
    enum ap_status status =
        ap_element_reader_new(second, ahead->first->fields, ahead->first->field_count, &ahead->second, reterr);
    if (status != AP_OK)
        ap_json_reader_free(second);
    return status;
}

enum ap_status ap_ahead_new(struct ap_element_reader *first, const struct ap_ahead_user *user, struct ap_ahead **ret_ahead,
                            struct ap_error *reterr)
{
    struct ap_gate *gate = first->json->gate;
    *ret_ahead = NULL;
    if (!first->json->source.peek)
        return AP_OK;
    struct ap_ahead *ahead;
    AP_TRY(AP_ALLOC_CLEARED(gate, ahead, 1, reterr));
    ahead->first = first;
    ahead->user = *user;
    enum ap_status status = new_second(ahead, reterr);
    if (status != AP_OK) {
        AP_FREE(gate, ahead, 1);
        return status;
    }
    /* With default attributes these cannot fail. */
    (void)pthread_mutex_init(&ahead->mutex, NULL);
    (void)pthread_cond_init(&ahead->given, NULL);
    (void)pthread_cond_init(&ahead->read, NULL);
    first->json->ahead = ahead;
    *ret_ahead = ahead;
    return AP_OK;
}

static void end_thread(struct ap_ahead *ahead)
{
    (void)pthread_mutex_lock(&ahead->mutex);
    ahead->stopped = true;
    (void)pthread_cond_signal(&ahead->given);
    (void)pthread_mutex_unlock(&ahead->mutex);
    (void)pthread_join(ahead->thread, NULL);
}

void ap_ahead_free(struct ap_ahead *ahead)
{
    if (!ahead)
        return;
    if (ahead->has_thread)
        end_thread(ahead);
    (void)pthread_cond_destroy(&ahead->read);
    (void)pthread_cond_destroy(&ahead->given);
    (void)pthread_mutex_destroy(&ahead->mutex);
    struct ap_json_reader *second = ahead->second->json;
    ap_element_reader_free(ahead->second);
    ap_json_reader_free(second);
    ahead->first->json->ahead = NULL;
    ahead->first->ahead_at = NULL;
    AP_FREE(ahead->first->json->gate, ahead, 1);
}
