/* SPDX-License-Identifier: MIT */
#include "json_reader.h"

#include <stdio.h>
#include <string.h>

#include "json_internal.h"

#include "poison.h"

#define DEFAULT_WINDOW_BYTES ((size_t)1 << 20)
#define DEFAULT_TOKEN_BYTES ((size_t)16 << 20)
#define DEFAULT_KEPT_DEPTH 512
#define DEFAULT_SKIPPED_DEPTH 10000

static void apply_defaults(struct ap_json_limits *limits)
{
    if (!limits->kept_depth)
        limits->kept_depth = DEFAULT_KEPT_DEPTH;
    if (!limits->skipped_depth)
        limits->skipped_depth = DEFAULT_SKIPPED_DEPTH;
    if (limits->skipped_depth < limits->kept_depth)
        limits->kept_depth = limits->skipped_depth;
    if (!limits->window_bytes)
        limits->window_bytes = DEFAULT_WINDOW_BYTES;
    if (!limits->token_bytes)
        limits->token_bytes = DEFAULT_TOKEN_BYTES;
}

static size_t depth_bytes(const struct ap_json_limits *limits)
{
    return limits->skipped_depth / 8 + 2; /* skipping begins at a whole byte above the reader's own levels */
}

enum ap_status ap_json_reader_new(struct ap_gate *gate, struct ap_byte_source source, struct ap_notes *notes,
                                  const struct ap_json_limits *limits, struct ap_json_reader **ret_reader,
                                  struct ap_error *reterr)
{
    struct ap_json_reader *reader;
    AP_TRY(AP_ALLOC(gate, reader, 1, reterr));
    *reader = (struct ap_json_reader){ .gate = gate, .source = source, .notes = notes };
    if (limits)
        reader->limits = *limits;
    apply_defaults(&reader->limits);
    reader->is_object = ap_mem_resize(gate, NULL, 0, depth_bytes(&reader->limits));
    if (!reader->is_object) {
        ap_json_reader_free(reader);
        return ap_fail_memory(gate, reterr);
    }
    memset(reader->is_object, 0, depth_bytes(&reader->limits));
    reader->scan.ops = ap_scan_best();
    reader->window = reader->nothing;
    reader->scan.end = reader->at = reader->window;
    *ret_reader = reader;
    return AP_OK;
}

void ap_json_reader_free(struct ap_json_reader *reader)
{
    if (!reader)
        return;
    struct ap_gate *gate = reader->gate;
    ap_mem_free(gate, reader->decoded, reader->decoded_capacity);
    if (reader->own)
        ap_mem_free(gate, reader->own, reader->capacity + AP_SCAN_SLACK_BYTES);
    if (reader->is_object)
        ap_mem_free(gate, reader->is_object, depth_bytes(&reader->limits));
    AP_FREE(gate, reader, 1);
}

uint64_t ap_json_offset(const struct ap_json_reader *reader)
{
    return ap_json_offset_of(reader, reader->at);
}

static enum ap_status repeat_failure(const struct ap_json_reader *reader, struct ap_error *reterr)
{
    if (reterr)
        *reterr = reader->error;
    return reader->failed;
}

/* -------------------------------------------------------------------------------------------------------- window */

/* The window is where text lies: the reader's own buffer, or a block borrowed from the source, with what was unfinished
 * in the last block copied to right before it. */

/* Room for @wanted_bytes in the own buffer, of which the text at *keep comes first. */
static enum ap_status keep_in_own(struct ap_json_reader *reader, const uint8_t *keep, size_t kept_bytes, size_t wanted_bytes,
                                  struct ap_error *reterr)
{
    bool within = reader->window == reader->own;
    if (within && kept_bytes)
        memmove(reader->own, keep, kept_bytes);
    if (wanted_bytes > reader->capacity) {
        size_t old_bytes = reader->own ? reader->capacity + AP_SCAN_SLACK_BYTES : 0;
        uint8_t *own = ap_mem_resize(reader->gate, reader->own, old_bytes, wanted_bytes + AP_SCAN_SLACK_BYTES);
        if (!own)
            return ap_fail_memory(reader->gate, reterr);
        reader->own = own;
        reader->capacity = wanted_bytes;
        if (within)
            reader->window = own;
    }
    if (!within && kept_bytes)
        memcpy(reader->own, keep, kept_bytes);
    return AP_OK;
}

static void use_own(struct ap_json_reader *reader, size_t filled_bytes)
{
    memset(reader->own + filled_bytes, 0, AP_SCAN_SLACK_BYTES);
    reader->window = reader->own;
    reader->scan.end = reader->own + filled_bytes;
}

/* A status of the source: an early end is remembered and shows when the text is used up. */
static enum ap_status take_status(struct ap_json_reader *reader, enum ap_status status, size_t got_bytes)
{
    if (status == AP_ERROR_CUT)
        reader->end_status = status;
    else if (status != AP_OK)
        return status;
    if (status == AP_ERROR_CUT || got_bytes == 0)
        reader->scan.at_eof = true;
    return AP_OK;
}

/* Read at least as much again as is kept: a token that needs several reads is then scanned twice at most. */
static enum ap_status read_more(struct ap_json_reader *reader, const uint8_t *keep, size_t kept_bytes,
                                struct ap_error *reterr)
{
    size_t capacity = reader->capacity ? reader->capacity : reader->limits.window_bytes;
    if (kept_bytes > capacity / 2)
        capacity *= 2;
    AP_TRY(keep_in_own(reader, keep, kept_bytes, capacity, reterr));
    size_t filled = kept_bytes, wanted = kept_bytes ? kept_bytes * 2 : 1;
    if (wanted > capacity)
        wanted = capacity;
    while (filled < wanted && !reader->scan.at_eof) {
        size_t room = capacity - filled, got = 0;
        if (room > reader->limits.window_bytes)
            room = reader->limits.window_bytes;
        enum ap_status status = reader->source.read(reader->source.self, reader->own + filled, room, &got, reterr);
        AP_TRY(take_status(reader, status, got));
        filled += got;
    }
    use_own(reader, filled);
    return AP_OK;
}

static enum ap_status borrow_block(struct ap_json_reader *reader, struct ap_block_view *ret_block, struct ap_error *reterr)
{
    *ret_block = (struct ap_block_view){ NULL, 0 };
    ap_ahead_before_block(reader->ahead);
    enum ap_status status = reader->source.borrow(reader->source.self, ret_block, reterr);
    return take_status(reader, status, ret_block->bytes);
}

/* What is kept does not fit before a block: join blocks in the own buffer until there is as much again. */
static enum ap_status join_blocks(struct ap_json_reader *reader, const uint8_t *keep, size_t kept_bytes,
                                  struct ap_error *reterr)
{
    size_t filled = kept_bytes;
    AP_TRY(keep_in_own(reader, keep, kept_bytes, kept_bytes * 2, reterr));
    use_own(reader, filled);
    while (filled < kept_bytes * 2 && !reader->scan.at_eof) {
        struct ap_block_view block;
        AP_TRY(borrow_block(reader, &block, reterr));
        AP_TRY(keep_in_own(reader, reader->own, filled, filled + block.bytes, reterr));
        if (block.bytes)
            memcpy(reader->own + filled, block.data, block.bytes);
        filled += block.bytes;
        use_own(reader, filled);
    }
    return AP_OK;
}

static enum ap_status borrow_more(struct ap_json_reader *reader, const uint8_t *keep, size_t kept_bytes,
                                  struct ap_error *reterr)
{
    if (kept_bytes > AP_BLOCK_ROOM_BEFORE)
        return join_blocks(reader, keep, kept_bytes, reterr);
    struct ap_block_view block;
    AP_TRY(borrow_block(reader, &block, reterr));
    if (block.bytes == 0) { /* the old block stays where it is */
        reader->window = (uint8_t *)(uintptr_t)keep;
        return AP_OK;
    }
    reader->window = block.data - kept_bytes;
    if (kept_bytes)
        memcpy(reader->window, keep, kept_bytes);
    reader->scan.end = block.data + block.bytes;
    return AP_OK;
}

enum ap_status ap_json_more(struct ap_json_reader *reader, const uint8_t **keep, struct ap_error *reterr)
{
    size_t kept_bytes = (size_t)(reader->scan.end - *keep);
    struct ap_error error;
    uint64_t offset_bytes = ap_json_offset_of(reader, *keep);
    enum ap_status status;
    if (kept_bytes > reader->limits.token_bytes)
        status = ap_fail_at(&error, AP_ERROR_LIMIT, offset_bytes, "one string or number is longer than %zu bytes",
                            reader->limits.token_bytes);
    else if (reader->source.borrow)
        status = borrow_more(reader, *keep, kept_bytes, &error);
    else
        status = read_more(reader, *keep, kept_bytes, &error);
    reader->window_offset_bytes = offset_bytes;
    *keep = reader->at = reader->window;
    ap_scan_forget_looks(&reader->scan);
    if (status == AP_OK) {
        ap_ahead_after_blocks(reader->ahead);
        return AP_OK;
    }
    reader->scan.end = reader->window;
    if (reterr)
        *reterr = error;
    return ap_json_keep_failure(reader, status, &error);
}

enum ap_status ap_json_space(struct ap_json_reader *reader, struct ap_error *reterr)
{
    for (;;) {
        reader->at = reader->scan.ops->space(reader->at);
        if (reader->at < reader->scan.end || reader->scan.at_eof)
            return AP_OK;
        AP_TRY(ap_json_more(reader, &reader->at, reterr));
    }
}

void ap_json_commit_odds(struct ap_json_reader *reader)
{
    static const enum ap_counter counters[AP_ODD_COUNT_] = {
        [AP_ODD_NONFINITE] = AP_COUNTER_nonfinite,      [AP_ODD_BAD_UTF8] = AP_COUNTER_bad_utf8,
        [AP_ODD_RAW_CONTROL] = AP_COUNTER_raw_control,  [AP_ODD_DUPLICATE] = AP_COUNTER_duplicate_key,
        [AP_ODD_QUOTE] = AP_COUNTER_unescaped_quote,    [AP_ODD_NOT_AVAILABLE] = AP_COUNTER_bare_na,
        [AP_ODD_BACKSLASH] = AP_COUNTER_bare_backslash, [AP_ODD_PATH_END] = AP_COUNTER_path_end,
        [AP_ODD_PYTHON_WORD] = AP_COUNTER_python_word,  [AP_ODD_MEMBER_TYPE] = AP_COUNTER_member_type,
    };
    struct ap_scan_odds *odds = &reader->scan.odds;
    if (AP_LIKELY(!odds->any))
        return;
    reader->odd_tokens++;
    for (int i = 0; i < AP_ODD_COUNT_; i++) {
        if (!odds->count[i])
            continue;
        ap_note(reader->notes, counters[i], ap_json_offset_of(reader, odds->first[i]));
        ap_note_many(reader->notes, counters[i], odds->count[i] - 1);
    }
    *odds = (struct ap_scan_odds){ .any = false };
}

/* -------------------------------------------------------------------------------------------------------- tokens */

static bool in_object(const struct ap_json_reader *reader)
{
    uint32_t level = reader->depth - 1;
    return reader->is_object[level / 8] >> (level % 8) & 1;
}

static enum ap_status open_container(struct ap_json_reader *reader, bool object, struct ap_json_token *token,
                                     struct ap_error *reterr)
{
    if (reader->depth >= reader->limits.kept_depth)
        return ap_json_fail_depth(reader, reader->at, reader->limits.kept_depth, reterr);
    uint8_t bit = (uint8_t)(1u << (reader->depth % 8)), *byte = &reader->is_object[reader->depth / 8];
    *byte = (uint8_t)(object ? *byte | bit : *byte & ~bit);
    reader->depth++;
    reader->at++;
    reader->state = object ? AP_STATE_FIRST_KEY : AP_STATE_FIRST_ELEMENT;
    token->kind = object ? AP_JSON_OBJECT_BEGIN : AP_JSON_ARRAY_BEGIN;
    return AP_OK;
}

static enum ap_status close_container(struct ap_json_reader *reader, struct ap_json_token *token)
{
    token->kind = in_object(reader) ? AP_JSON_OBJECT_END : AP_JSON_ARRAY_END;
    reader->depth--;
    reader->at++;
    reader->state = AP_STATE_AFTER;
    return AP_OK;
}

static enum ap_status decode_token(struct ap_json_reader *reader, struct ap_json_token *token, struct ap_error *reterr)
{
    enum ap_status status =
        AP_RESERVE(reader->gate, reader->decoded, reader->decoded_capacity, token->text_bytes * 3, reterr);
    if (status != AP_OK)
        return ap_json_keep_failure(reader, status, reterr);
    token->text_bytes = ap_json_decode(token->text, token->text_bytes, reader->decoded);
    token->text = reader->decoded;
    return AP_OK;
}

/* A string token; reader->at stands on its opening quote. */
static enum ap_status read_string(struct ap_json_reader *reader, enum ap_json_kind kind, struct ap_json_token *token,
                                  struct ap_error *reterr)
{
    for (;;) {
        const uint8_t *at = reader->at + 1;
        unsigned flags = 0;
        ap_json_forget_odds(reader);
        enum ap_scan_result result = reader->scan.ops->string(&reader->scan, &at, &flags);
        if (result == AP_SCAN_OK) {
            token->kind = kind;
            token->text = (const char *)reader->at + 1;
            token->text_bytes = (size_t)(at - reader->at - 1);
            ap_json_commit_odds(reader);
            reader->at = at + 1;
            reader->state = kind == AP_JSON_KEY ? AP_STATE_COLON : AP_STATE_AFTER;
            return flags & AP_STRING_DECODE ? decode_token(reader, token, reterr) : AP_OK;
        }
        if (result == AP_SCAN_BAD || reader->scan.at_eof)
            return ap_json_fail_scan(reader, result, reterr);
        AP_TRY(ap_json_more(reader, &reader->at, reterr));
    }
}

static enum ap_status read_scalar(struct ap_json_reader *reader, struct ap_json_token *token, struct ap_error *reterr)
{
    for (;;) {
        const uint8_t *at = reader->at;
        enum ap_json_kind kind = AP_JSON_NUMBER;
        enum ap_scan_result result;
        ap_json_forget_odds(reader);
        if (!reader->scan.at_eof && reader->scan.end - at < 16)
            result = ap_scan_bad(&reader->scan, reader->scan.end, "the rest of a value");
        else if ((*at >= '0' && *at <= '9') || (*at == '-' && (at[1] | 0x20) != 'i' && at[1] != 'n'))
            result = reader->scan.ops->number(&reader->scan, &at);
        else
            result = ap_scan_literal(&reader->scan, &at, &kind);
        if (result == AP_SCAN_OK) {
            token->kind = kind == AP_JSON_NUMBER ? ap_scan_number_kind(reader->at) : kind;
            token->text = (const char *)reader->at;
            token->text_bytes = (size_t)(at - reader->at);
            ap_json_commit_odds(reader);
            reader->at = at;
            reader->state = AP_STATE_AFTER;
            return AP_OK;
        }
        if (result == AP_SCAN_BAD || reader->scan.at_eof)
            return ap_json_fail_scan(reader, result, reterr);
        AP_TRY(ap_json_more(reader, &reader->at, reterr));
    }
}

static enum ap_status read_value(struct ap_json_reader *reader, struct ap_json_token *token, struct ap_error *reterr)
{
    switch (*reader->at) {
    case '{': return open_container(reader, true, token, reterr);
    case '[': return open_container(reader, false, token, reterr);
    case '"': return read_string(reader, AP_JSON_STRING, token, reterr);
    default: return read_scalar(reader, token, reterr);
    }
}

static enum ap_status unexpected(struct ap_json_reader *reader, const char *expected, struct ap_error *reterr)
{
    return ap_json_fail_scan(reader, ap_scan_bad(&reader->scan, reader->at, expected), reterr);
}

static enum ap_status skip_byte_order_mark(struct ap_json_reader *reader, struct ap_error *reterr)
{
    reader->started = true;
    while (reader->scan.end - reader->at < 3 && !reader->scan.at_eof)
        AP_TRY(ap_json_more(reader, &reader->at, reterr));
    if (reader->scan.end - reader->at >= 3 && memcmp(reader->at, "\xef\xbb\xbf", 3) == 0) {
        ap_note(reader->notes, AP_COUNTER_bom, 0);
        reader->at += 3;
    }
    return AP_OK;
}

/* The document's only value was read, or the last of several. */
static enum ap_status end_of_document(struct ap_json_reader *reader, struct ap_error *reterr)
{
    if (reader->at < reader->scan.end)
        return unexpected(reader, "the end of the document", reterr);
    if (reader->end_status == AP_OK)
        return AP_END;
    ap_fail_at(reterr, AP_ERROR_CUT, ap_json_offset(reader), "the compressed stream ends before its end: it is cut");
    return ap_json_keep_failure(reader, AP_ERROR_CUT, reterr);
}

enum ap_status ap_json_next(struct ap_json_reader *reader, struct ap_json_token *token, struct ap_error *reterr)
{
    if (AP_UNLIKELY(reader->failed))
        return repeat_failure(reader, reterr);
    if (AP_UNLIKELY(!reader->started))
        AP_TRY(skip_byte_order_mark(reader, reterr));
    for (;;) {
        AP_TRY(ap_json_space(reader, reterr));
        token->offset_bytes = ap_json_offset(reader);
        token->text = "";
        token->text_bytes = 0;
        uint8_t c = *reader->at;
        switch (reader->state) {
        case AP_STATE_AFTER:
            if (reader->depth == 0 && reader->limits.several && reader->at < reader->scan.end) {
                reader->state = AP_STATE_VALUE;
                continue;
            }
            if (reader->depth == 0)
                return end_of_document(reader, reterr);
            if (c == ',') {
                reader->at++;
                reader->state = in_object(reader) ? AP_STATE_KEY : AP_STATE_VALUE;
                continue;
            }
            if (c == (in_object(reader) ? '}' : ']'))
                return close_container(reader, token);
            return unexpected(reader, in_object(reader) ? "a comma or a closing brace" : "a comma or a closing bracket",
                              reterr);
        case AP_STATE_FIRST_KEY:
            if (c == '}')
                return close_container(reader, token);
            /* fall through */
        case AP_STATE_KEY:
            if (c != '"')
                return unexpected(reader, "a key in quotation marks", reterr);
            return read_string(reader, AP_JSON_KEY, token, reterr);
        case AP_STATE_COLON:
            if (c != ':')
                return unexpected(reader, "a colon", reterr);
            reader->at++;
            reader->state = AP_STATE_VALUE;
            continue;
        case AP_STATE_FIRST_ELEMENT:
            if (c == ']')
                return close_container(reader, token);
            /* fall through */
        case AP_STATE_VALUE: return read_value(reader, token, reterr);
        }
    }
}

enum ap_status ap_json_next_key(struct ap_json_reader *reader, struct ap_json_token *key, struct ap_error *reterr)
{
    AP_TRY(ap_json_next(reader, key, reterr));
    return key->kind == AP_JSON_OBJECT_END ? AP_END : AP_OK;
}

enum ap_status ap_json_next_element(struct ap_json_reader *reader, struct ap_json_token *token, struct ap_error *reterr)
{
    AP_TRY(ap_json_next(reader, token, reterr));
    return token->kind == AP_JSON_ARRAY_END ? AP_END : AP_OK;
}

/* ------------------------------------------------------------------------------------------------------ skipping */

/* More text, where a pause within a string keeps what a backslash may look back at. */
static enum ap_status more_within(struct ap_json_reader *reader, uint8_t label, struct ap_error *reterr)
{
    bool in_string = label == AP_SKIP_IN_STRING || label == AP_SKIP_IN_KEY;
    size_t before = in_string ? (size_t)(reader->at - reader->window) : 0;
    before = before > AP_SCAN_LOOK_BACK_BYTES ? AP_SCAN_LOOK_BACK_BYTES : before;
    const uint8_t *keep = reader->at - before;
    AP_TRY(ap_json_more(reader, &keep, reterr));
    reader->at = keep + before;
    return AP_OK;
}

enum ap_status ap_json_skip_stream(struct ap_json_reader *reader, enum ap_skip_label label, struct ap_error *reterr)
{
    /* The levels of the reader itself lie below: skipping uses the bits above them. */
    uint32_t base = (reader->depth + 7) / 8 * 8;
    bool within = label != AP_SKIP_VALUE;
    struct ap_skip skip = { .label = (uint8_t)label, .depth = within };
    skip.is_object = reader->is_object + base / 8;
    skip.depth_limit = reader->limits.skipped_depth - reader->depth;
    if (within && skip.depth_limit == 0)
        return ap_json_fail_depth(reader, reader->at, reader->limits.skipped_depth, reterr);
    if (within)
        skip.is_object[0] = label == AP_SKIP_FIRST_KEY;
    for (;;) {
        const uint8_t *at = reader->at;
        ap_json_forget_odds(reader);
        enum ap_scan_result result = reader->scan.ops->skip(&reader->scan, &skip, &at);
        ap_json_commit_odds(reader);
        reader->at = at;
        if (result == AP_SCAN_OK)
            return AP_OK;
        if (skip.too_deep)
            return ap_json_fail_depth(reader, reader->scan.at, reader->limits.skipped_depth, reterr);
        if (result == AP_SCAN_BAD || reader->scan.at_eof)
            return ap_json_fail_scan(reader, result, reterr);
        AP_TRY(more_within(reader, skip.label, reterr));
    }
}

enum ap_status ap_json_skip_rest(struct ap_json_reader *reader, const struct ap_json_token *token, struct ap_error *reterr)
{
    if (AP_UNLIKELY(reader->failed))
        return repeat_failure(reader, reterr);
    if (token->kind != AP_JSON_OBJECT_BEGIN && token->kind != AP_JSON_ARRAY_BEGIN)
        return AP_OK;
    reader->depth--;
    reader->state = AP_STATE_AFTER;
    return ap_json_skip_stream(reader, token->kind == AP_JSON_OBJECT_BEGIN ? AP_SKIP_FIRST_KEY : AP_SKIP_FIRST_ELEMENT,
                               reterr);
}

/* Over the white space and the colon before a member's value. */
static enum ap_status to_value(struct ap_json_reader *reader, struct ap_error *reterr)
{
    AP_TRY(ap_json_space(reader, reterr));
    if (reader->state == AP_STATE_COLON) {
        if (*reader->at != ':')
            return unexpected(reader, "a colon", reterr);
        reader->at++;
    }
    reader->state = AP_STATE_AFTER;
    return AP_OK;
}

enum ap_status ap_json_skip_value(struct ap_json_reader *reader, struct ap_error *reterr)
{
    if (AP_UNLIKELY(reader->failed))
        return repeat_failure(reader, reterr);
    AP_TRY(to_value(reader, reterr));
    return ap_json_skip_stream(reader, AP_SKIP_VALUE, reterr);
}

/* A value that reaches over the end of the window is begun again once there is more text. */
enum ap_status ap_json_raw_value(struct ap_json_reader *reader, struct ap_text *ret_text, struct ap_error *reterr)
{
    if (AP_UNLIKELY(reader->failed))
        return repeat_failure(reader, reterr);
    AP_TRY(to_value(reader, reterr));
    AP_TRY(ap_json_space(reader, reterr));
    for (;;) {
        struct ap_skip skip = { .label = AP_SKIP_VALUE, .depth_limit = reader->limits.skipped_depth - reader->depth };
        const uint8_t *at = reader->at;
        skip.is_object = reader->is_object + (reader->depth + 7) / 8;
        ap_json_forget_odds(reader);
        enum ap_scan_result result = reader->scan.ops->skip(&reader->scan, &skip, &at);
        if (result == AP_SCAN_OK) {
            ap_json_commit_odds(reader);
            *ret_text = (struct ap_text){ (const char *)reader->at, (size_t)(at - reader->at) };
            reader->at = at;
            return AP_OK;
        }
        if (skip.too_deep)
            return ap_json_fail_depth(reader, reader->scan.at, reader->limits.skipped_depth, reterr);
        if (result == AP_SCAN_BAD || reader->scan.at_eof)
            return ap_json_fail_scan(reader, result, reterr);
        if ((size_t)(reader->scan.end - reader->at) > reader->limits.token_bytes) {
            *ret_text = (struct ap_text){ NULL, 0 };
            return ap_json_skip_stream(reader, AP_SKIP_VALUE, reterr);
        }
        AP_TRY(ap_json_more(reader, &reader->at, reterr));
    }
}

void ap_json_seen(struct ap_json_reader *reader, uint64_t *seen, unsigned index, uint64_t offset_bytes)
{
    uint64_t bit = (uint64_t)1 << (index % 64);
    if (*seen & bit)
        ap_note(reader->notes, AP_COUNTER_duplicate_key, offset_bytes);
    *seen |= bit;
}

bool ap_json_integer(const struct ap_json_token *token, int64_t *ret_integer)
{
    if (token->kind != AP_JSON_NUMBER)
        return false;
    const char *at = token->text, *end = at + token->text_bytes;
    bool negative = at < end && *at == '-';
    uint64_t value = 0;
    for (at += negative; at < end; at++) {
        if (*at < '0' || *at > '9')
            return false;
        if (__builtin_mul_overflow(value, 10u, &value) || __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return false;
    }
    if (value > (uint64_t)INT64_MAX + negative)
        return false;
    *ret_integer = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}
