/* SPDX-License-Identifier: MIT
 * json_internal.h - inside the json stage: the reader's window on its source. */
#ifndef AP_JSON_INTERNAL_H
#define AP_JSON_INTERNAL_H

#include "json_scan.h"

/** What the grammar allows next. */
enum ap_json_state {
    AP_STATE_VALUE,
    AP_STATE_FIRST_ELEMENT, /* or the end of the array */
    AP_STATE_FIRST_KEY,     /* or the end of the object */
    AP_STATE_KEY,
    AP_STATE_COLON,
    AP_STATE_AFTER /* a value: comma, closing bracket, or the end of the document */
};

struct ap_json_reader {
    struct ap_gate *gate;
    struct ap_byte_source source;
    struct ap_notes *notes;
    struct ap_json_limits limits;
    struct ap_scan scan; /* ops, end, at_eof */
    uint8_t *window;     /* where the text begins that can be read now */
    uint8_t *own;        /* capacity + slack bytes, where text does not lie in a borrowed block */
    size_t capacity;
    uint8_t nothing[AP_SCAN_SLACK_BYTES]; /* the window before anything was read: zeros */
    const uint8_t *at;                    /* next byte to read */
    uint64_t window_offset_bytes;         /* of window[0] in the input */
    enum ap_json_state state;
    uint32_t depth;
    uint8_t *is_object; /* one bit a level; also used beyond depth by skipping */
    char *decoded;
    size_t decoded_capacity;
    uint64_t odd_tokens;    /* whose oddities were moved to the notes */
    struct ap_ahead *ahead; /* reads elements of the next blocks; NULL = nobody */
    bool started;
    bool is_ahead; /* a helper's: at_eof is the end of its block, and what would be odd there may be usual in the whole */
    enum ap_status end_status; /* AP_OK, or why the source ended too early */
    enum ap_status failed;
    struct ap_error error;
};

static inline uint64_t ap_json_offset_of(const struct ap_json_reader *reader, const uint8_t *at)
{
    return reader->window_offset_bytes + (uint64_t)(at - reader->window);
}

/** Nothing odd is known of the token that begins. Mostly nothing was of the one before. */
static inline void ap_json_forget_odds(struct ap_json_reader *reader)
{
    if (AP_UNLIKELY(reader->scan.odds.any))
        reader->scan.odds = (struct ap_scan_odds){ .any = false };
}

/** Before a block is borrowed: what was read ahead in it is waited for. NULL is fine. */
void ap_ahead_before_block(struct ap_ahead *ahead);
/** When the reader's window has moved on: from now on it can be met there. */
void ap_ahead_after_blocks(struct ap_ahead *ahead);
/** Bring more text, keeping what begins at *keep, which moves with it. AP_OK also at the end (scan.at_eof). */
enum ap_status ap_json_more(struct ap_json_reader *reader, const uint8_t **keep, struct ap_error *reterr);
/** Turn the scan's last BAD or (at the end of input) MORE into the reader's lasting failure. */
enum ap_status ap_json_fail_scan(struct ap_json_reader *reader, enum ap_scan_result result, struct ap_error *reterr);
/** The reader's lasting failure where values nest deeper than @limit. */
enum ap_status ap_json_fail_depth(struct ap_json_reader *reader, const uint8_t *at, uint32_t limit, struct ap_error *reterr);
/** Keep a failure of another kind. */
enum ap_status ap_json_keep_failure(struct ap_json_reader *reader, enum ap_status status, struct ap_error *reterr);
/** White space, then the first byte that is none; at the end of input reader->at == scan.end. */
enum ap_status ap_json_space(struct ap_json_reader *reader, struct ap_error *reterr);
/** Move the oddities of a complete token to the notes. */
void ap_json_commit_odds(struct ap_json_reader *reader);
/** Skip the value at reader->at, or the rest of a container from @label on; streams, whatever its size. */
enum ap_status ap_json_skip_stream(struct ap_json_reader *reader, enum ap_skip_label label, struct ap_error *reterr);

#endif
