/* SPDX-License-Identifier: MIT */
#include "json_ahead.h"

#include <string.h>

#include "json_internal.h"
#include "json_layout.h"
#include "thread.h"

#include "poison.h"

#define GUESSES_MAX 16 /* places that are tried in one block */
#define USELESS_MAX 16 /* blocks in a row for each helper that gave nothing: then reading ahead ends for good */
#define JOIN_TENTHS 1  /* of the time in which one reads a block, to take over what a helper read of it; about */

/* A block that was given to the helpers, and where in it elements were read; offsets are of the input. */
struct piece {
    enum { AT_REST, GIVEN, BEING_READ, READ } state; /* under the mutex */
    struct ap_block_view block;
    uint64_t block_offset_bytes, start_offset_bytes, end_offset_bytes;
    bool any, failed; /* elements were taken; they are void */

    /* The first thread's own. */
    bool in_use, asked_for; /* given; and what came of it is known */
    uint64_t number;        /* of the block */
};

struct helper {
    struct ap_ahead *ahead;
    struct ap_element_reader *elements;
    pthread_t thread;
};

struct ap_ahead {
    struct ap_element_reader *first;
    struct ap_ahead_user user;

    pthread_mutex_t mutex;
    pthread_cond_t given, read;
    bool stopped; /* under the mutex */

    struct helper helpers[AP_AHEAD_MOST_HELPERS];
    struct piece pieces[AP_AHEAD_PIECES];
    unsigned piece_count;

    /* The first thread's own. */
    unsigned running;  /* helpers whose thread was started */
    uint64_t borrowed; /* blocks in all */
    unsigned in_a_row; /* blocks that were given since it kept one for itself */
    unsigned useless_count;
};

/* ------------------------------------------------------------------------------------------------------ a helper */

/* Where an element seems to end and another one to begin, from @at on: behind the brace. */
static const uint8_t *guess_place(const struct helper *helper, const struct piece *piece, const uint8_t *at)
{
    const uint8_t *end = piece->block.data + piece->block.bytes;
    while (at < end && (at = memchr(at, '}', (size_t)(end - at)))) {
        at++;
        if (ap_layout_is_between(helper->elements, at))
            return at;
    }
    return NULL;
}

static void begin_at(struct helper *helper, const struct piece *piece, const uint8_t *at)
{
    struct ap_json_reader *json = helper->elements->json;
    json->notes = helper->ahead->user.notes[piece - helper->ahead->pieces];
    json->window = piece->block.data;
    json->window_offset_bytes = piece->block_offset_bytes;
    json->at = at;
    json->scan.end = piece->block.data + piece->block.bytes;
    ap_scan_forget_looks(&json->scan);
    json->scan.at_eof = true; /* what goes on in the next block is for the first thread */
    json->state = AP_STATE_AFTER;
    json->failed = AP_OK;
    helper->elements->last_was_object = helper->elements->any_object = true;
    helper->elements->used = NULL; /* another helper may have used the spans of this piece */
}

/* Only what is most usual: all else ends it here. What was counted of an element that is read again would count twice. */
static enum ap_ahead_answer read_one(struct helper *helper, unsigned piece)
{
    struct ap_json_reader *json = helper->elements->json;
    const struct ap_ahead_user *user = &helper->ahead->user;
    struct ap_error error;
    enum ap_element_outcome outcome;
    uint64_t offset_bytes, odd_tokens = json->odd_tokens;
    if (!ap_layout_is_between(helper->elements, json->at) ||
        ap_element_next(helper->elements, user->spans[piece], &outcome, &offset_bytes, &error) != AP_OK ||
        outcome != AP_ELEMENT_READ)
        return AP_AHEAD_NOT_TAKEN;
    enum ap_ahead_answer answer = user->take(user->self, piece, helper->elements, offset_bytes);
    return answer == AP_AHEAD_NOT_TAKEN && json->odd_tokens != odd_tokens ? AP_AHEAD_FAILED : answer;
}

static void read_piece(struct helper *helper, struct piece *piece)
{
    const struct ap_json_reader *json = helper->elements->json;
    const uint8_t *at = piece->block.data;
    unsigned number = (unsigned)(piece - helper->ahead->pieces);
    piece->any = piece->failed = false;
    for (int i = 0; i < GUESSES_MAX && !piece->any && !piece->failed && (at = guess_place(helper, piece, at)); i++) {
        enum ap_ahead_answer answer;
        begin_at(helper, piece, at);
        piece->start_offset_bytes = piece->end_offset_bytes = ap_json_offset(json);
        while ((answer = read_one(helper, number)) == AP_AHEAD_TAKEN) {
            piece->any = true;
            piece->end_offset_bytes = ap_json_offset(json);
        }
        piece->failed = answer == AP_AHEAD_FAILED;
    }
}

/* The one that stands earlier in the input; NULL = none was given. */
static struct piece *next_given(struct ap_ahead *ahead)
{
    struct piece *next = NULL;
    for (unsigned i = 0; i < ahead->piece_count; i++) {
        struct piece *piece = &ahead->pieces[i];
        if (piece->state == GIVEN && (!next || piece->block_offset_bytes < next->block_offset_bytes))
            next = piece;
    }
    return next;
}

static void *read_pieces(void *self)
{
    struct helper *helper = self;
    struct ap_ahead *ahead = helper->ahead;
    (void)pthread_mutex_lock(&ahead->mutex);
    for (;;) {
        struct piece *piece;
        while (!(piece = next_given(ahead)) && !ahead->stopped)
            (void)pthread_cond_wait(&ahead->given, &ahead->mutex);
        if (ahead->stopped)
            break;
        piece->state = BEING_READ;
        (void)pthread_mutex_unlock(&ahead->mutex);
        read_piece(helper, piece);
        (void)pthread_mutex_lock(&ahead->mutex);
        piece->state = READ;
        (void)pthread_cond_signal(&ahead->read);
    }
    (void)pthread_mutex_unlock(&ahead->mutex);
    return NULL;
}

/* ----------------------------------------------------------------------------------------------- the first thread */

static unsigned useless_max(const struct ap_ahead *ahead)
{
    return USELESS_MAX * ahead->user.helpers;
}

/* The one in use that stands earliest (or latest) in the input; NULL = none is in use. */
static struct piece *find_piece(struct ap_ahead *ahead, bool latest)
{
    struct piece *found = NULL;
    for (unsigned i = 0; i < ahead->piece_count; i++) {
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

/* A block that no helper has begun with is taken back. */
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

static void know_between(struct helper *helper)
{
    const struct ap_element_reader *first = helper->ahead->first;
    memcpy(helper->elements->between, first->between, sizeof(first->between));
    memcpy(helper->elements->between_mask, first->between_mask, sizeof(first->between_mask));
    helper->elements->between_bytes = first->between_bytes;
}

/* Does the first thread read the block behind those that were given? It takes over what h helpers read, and has time for a
 * share s of the blocks besides: s + (1 - s) join = (1 - s) / h, which is one in h / (1 - join h) that were given. */
static bool keeps_next(const struct ap_ahead *ahead)
{
    unsigned helpers = ahead->user.helpers, rest = helpers * JOIN_TENTHS < 10 ? 10 - helpers * JOIN_TENTHS : 0;
    return ahead->in_a_row * rest + rest / 2 >= 10 * helpers;
}

static uint64_t next_number(struct ap_ahead *ahead)
{
    const struct piece *last = find_piece(ahead, true);
    bool keeps = last && keeps_next(ahead);
    ahead->in_a_row = last && !keeps ? ahead->in_a_row + 1 : 1;
    return last ? last->number + 1 + keeps : ahead->borrowed;
}

static enum ap_status new_elements(const struct ap_ahead *ahead, struct ap_element_reader **ret_elements,
                                   struct ap_error *reterr)
{
    const struct ap_json_reader *json = ahead->first->json;
    struct ap_byte_source nothing = { .self = NULL }; /* never asked: its text ends at the end of its block */
    struct ap_json_reader *own;
    AP_TRY(ap_json_reader_new(json->gate, nothing, ahead->user.notes[0], &json->limits, &own, reterr));
    own->scan.ops = json->scan.ops;
    own->is_ahead = true;
    enum ap_status status =
        ap_element_reader_new(own, ahead->first->fields, ahead->first->field_count, ret_elements, reterr);
    if (status != AP_OK)
        ap_json_reader_free(own);
    return status;
}

static void free_elements(struct ap_element_reader *elements)
{
    struct ap_json_reader *json = elements->json;
    ap_element_reader_free(elements);
    ap_json_reader_free(json);
}

/* One more, without which all goes on as well: a file of few blocks needs few of them. */
static void start_helper(struct ap_ahead *ahead)
{
    struct helper *helper = &ahead->helpers[ahead->running];
    struct ap_error error;
    if (new_elements(ahead, &helper->elements, &error) != AP_OK)
        return;
    helper->ahead = ahead;
    know_between(helper);
    if (ap_thread_start(&helper->thread, read_pieces, helper))
        ahead->running++;
    else
        free_elements(helper->elements);
}

static bool give(struct ap_ahead *ahead, struct piece *piece)
{
    unsigned in_a_row = ahead->in_a_row, in_use = 0;
    for (unsigned i = 0; i < ahead->piece_count; i++)
        in_use += ahead->pieces[i].in_use;
    if (!find_block(ahead, next_number(ahead), piece)) {
        ahead->in_a_row = in_a_row;
        return false;
    }
    for (unsigned i = 0; i < ahead->running && !in_use; i++) /* then they rest */
        know_between(&ahead->helpers[i]);
    if (ahead->running <= in_use && ahead->running < ahead->user.helpers)
        start_helper(ahead);
    if (!ahead->running) {
        ahead->useless_count = useless_max(ahead);
        return false;
    }
    piece->in_use = true;
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
    for (unsigned i = 0; i < ahead->piece_count && ahead->useless_count < useless_max(ahead); i++)
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

/* ------------------------------------------------------------------------------------------------- begin and end */

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
    ahead->piece_count = 2 * user->helpers;
    /* With default attributes these cannot fail. */
    (void)pthread_mutex_init(&ahead->mutex, NULL);
    (void)pthread_cond_init(&ahead->given, NULL);
    (void)pthread_cond_init(&ahead->read, NULL);
    first->json->ahead = ahead;
    *ret_ahead = ahead;
    return AP_OK;
}

static void end_helpers(struct ap_ahead *ahead)
{
    (void)pthread_mutex_lock(&ahead->mutex);
    ahead->stopped = true;
    (void)pthread_cond_broadcast(&ahead->given);
    (void)pthread_mutex_unlock(&ahead->mutex);
    for (unsigned i = 0; i < ahead->running; i++) {
        (void)pthread_join(ahead->helpers[i].thread, NULL);
        free_elements(ahead->helpers[i].elements);
    }
}

void ap_ahead_free(struct ap_ahead *ahead)
{
    if (!ahead)
        return;
    end_helpers(ahead);
    (void)pthread_cond_destroy(&ahead->read);
    (void)pthread_cond_destroy(&ahead->given);
    (void)pthread_mutex_destroy(&ahead->mutex);
    ahead->first->json->ahead = NULL;
    ahead->first->ahead_at = NULL;
    AP_FREE(ahead->first->json->gate, ahead, 1);
}
