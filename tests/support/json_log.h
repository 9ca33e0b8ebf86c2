/* SPDX-License-Identifier: MIT
 * json_log.h - everything that the pull reader says of a text, as one text: tokens, how it ends, what was odd. Two
 * readings are the same where their logs are. */
#ifndef AP_JSON_LOG_H
#define AP_JSON_LOG_H

#include "feed.h"
#include "json_internal.h"
#include "json_reader.h"
#include "text_log.h"

/** How a text is read. */
struct reading {
    size_t window_bytes, piece_bytes; /* 0 = whole */
    unsigned scan_set;                /* index + 1 of ap_scan_at; 0 = the best */
    struct ap_json_limits limits;     /* window_bytes is taken from above */
    bool lend;                        /* hand out blocks in place of copies */
    unsigned ahead;                   /* and let them be seen ahead, for so many helper threads */
};

/** A reader with its surroundings. */
struct json_run {
    struct ap_gate gate;
    struct ap_notes notes;
    struct ap_error error;
    struct feed feed;
    struct ap_json_reader *json;
};

/* ---- blocks that are lent, with the room around them that the contract promises */

#define LENDER_AHEAD 18

struct lender {
    struct feed feed;
    struct ap_block_view blocks[2 + LENDER_AHEAD]; /* the last two that were lent, and those that can be seen ahead */
    size_t ahead_count;
};

static inline void lender_free_block(struct ap_block_view *block)
{
    if (block->data)
        free(block->data - AP_BLOCK_ROOM_BEFORE);
    *block = (struct ap_block_view){ NULL, 0 };
}

static inline enum ap_status lender_fill(struct lender *lender, struct ap_block_view *block, struct ap_error *reterr)
{
    size_t left = lender->feed.bytes - lender->feed.at, got = 0;
    size_t bytes = lender->feed.piece_bytes && lender->feed.piece_bytes < left ? lender->feed.piece_bytes : left;
    uint8_t *memory = malloc(AP_BLOCK_ROOM_BEFORE + bytes + AP_BLOCK_ROOM_AFTER);
    if (!memory)
        abort();
    *block = (struct ap_block_view){ memory + AP_BLOCK_ROOM_BEFORE, 0 };
    enum ap_status status = feed_read(&lender->feed, block->data, bytes, &got, reterr);
    if (status != AP_OK) {
        lender_free_block(block);
        return status;
    }
    memset(block->data + got, 0, AP_BLOCK_ROOM_AFTER);
    block->bytes = got;
    return AP_OK;
}

/* A block is valid until the call after the next one: then it is freed. */
static inline enum ap_status lender_borrow(void *self, struct ap_block_view *ret_block, struct ap_error *reterr)
{
    struct lender *lender = self;
    if (!lender->ahead_count) {
        AP_TRY(lender_fill(lender, &lender->blocks[2], reterr));
        lender->ahead_count = 1;
    }
    lender_free_block(&lender->blocks[0]);
    memmove(lender->blocks, lender->blocks + 1, lender->ahead_count * sizeof(lender->blocks[0]) + sizeof(lender->blocks[0]));
    lender->ahead_count--;
    lender->blocks[2 + lender->ahead_count] = (struct ap_block_view){ NULL, 0 };
    while (lender->ahead_count < LENDER_AHEAD && lender->feed.at < lender->feed.bytes) {
        AP_TRY(lender_fill(lender, &lender->blocks[2 + lender->ahead_count], reterr));
        lender->ahead_count++;
    }
    *ret_block = lender->blocks[1];
    return AP_OK;
}

static inline bool lender_peek(void *self, unsigned ahead, struct ap_block_view *ret_block)
{
    const struct lender *lender = self;
    if (ahead >= lender->ahead_count)
        return false;
    *ret_block = lender->blocks[2 + ahead];
    return true;
}

static inline struct lender *lender_new(const struct feed *feed)
{
    struct lender *lender = calloc(1, sizeof(*lender));
    if (!lender)
        abort();
    lender->feed = *feed;
    return lender;
}

static inline void lender_free(struct lender *lender)
{
    if (!lender)
        return;
    for (size_t i = 0; i < AP_COUNT_OF(lender->blocks); i++)
        lender_free_block(&lender->blocks[i]);
    free(lender);
}

/* ---- running */

/** Opens a reader; ends the program where that fails, as nothing is made to fail here. Returns the lender, if any. */
static inline struct lender *json_run_open(struct json_run *run, const void *text, size_t bytes,
                                           const struct reading *reading)
{
    memset(run, 0, sizeof(*run));
    ap_gate_init(&run->gate, 0);
    run->feed = feed_of(text, bytes, reading->piece_bytes);
    struct ap_json_limits limits = reading->limits;
    /* not a megabyte for each of thousands of readers: sanitizers mark all of it */
    limits.window_bytes = reading->window_bytes ? reading->window_bytes : bytes + 1;
    struct ap_byte_source source = feed_source(&run->feed);
    struct lender *lender = NULL;
    if (reading->lend) {
        lender = lender_new(&run->feed);
        source.self = lender;
        source.borrow = lender_borrow;
        source.peek = reading->ahead ? lender_peek : NULL;
    }
    if (ap_json_reader_new(&run->gate, source, &run->notes, &limits, &run->json, &run->error) != AP_OK)
        abort();
    if (reading->scan_set)
        run->json->scan.ops = ap_scan_at(reading->scan_set - 1);
    return lender;
}

/** Closes it; true where all memory was given back. */
static inline bool json_run_close(struct json_run *run, struct lender *lender)
{
    ap_json_reader_free(run->json);
    run->json = NULL;
    lender_free(lender);
    return atomic_load(&run->gate.used_bytes) == 0;
}

static inline void log_token(struct text_log *log, const struct ap_json_token *token)
{
    log_format(log, "%llu kind %d ", (unsigned long long)token->offset_bytes, (int)token->kind);
    log_bytes(log, token->text, token->text_bytes);
    log_bytes(log, "\n", 1);
}

static inline void log_end(struct text_log *log, enum ap_status status, const struct ap_error *error)
{
    log_format(log, "status %d", (int)status);
    if (status != AP_OK && status != AP_END)
        log_format(log, " at %llu%s", (unsigned long long)error->offset_bytes, error->has_offset ? "" : " (no place)");
    if (status == AP_ERROR_INPUT || status == AP_ERROR_LIMIT)
        log_format(log, ": %s", error->message);
    log_bytes(log, "\n", 1);
}

static inline void log_notes(struct text_log *log, const struct ap_notes *notes)
{
    for (int i = 0; i < AP_COUNTER_COUNT_; i++) {
        const struct ap_note *note = &notes->notes[i];
        if (note->count)
            log_format(log, "%s %llu first %lld\n", ap_counter_info((enum ap_counter)i)->code,
                       (unsigned long long)note->count, note->has_offset ? (long long)note->first_offset_bytes : -1LL);
    }
}

/** Reads all tokens of @text and logs them. Returns the last status: AP_END where all is well. */
static inline enum ap_status log_tokens(struct text_log *log, const void *text, size_t bytes, const struct reading *reading)
{
    struct json_run run;
    struct lender *lender = json_run_open(&run, text, bytes, reading);
    struct ap_json_token token;
    enum ap_status status;
    while ((status = ap_json_next(run.json, &token, &run.error)) == AP_OK)
        log_token(log, &token);
    log_end(log, status, &run.error);
    log_notes(log, &run.notes);
    log_format(log, "offset %llu\n", (unsigned long long)(status == AP_END ? ap_json_offset(run.json) : 0));
    if (!json_run_close(&run, lender))
        log_format(log, "memory was kept\n");
    return status;
}

#endif
