/* SPDX-License-Identifier: MIT
 * json_reader.h - tokens out of a byte stream of unknown length.
 * Knows JSON and nothing of traces. Memory use is bounded by nesting depth plus one token (or one element).
 * Accepts beyond RFC 8259, each counted in the notes: a byte order mark, bare NaN, Infinity, -Infinity (and nan, inf,
 * -inf, -nan, 1.#INF as C writes them), None, True, False, N/A, raw control characters and invalid UTF-8 inside strings. */
#ifndef AP_JSON_READER_H
#define AP_JSON_READER_H

#include "byte_source.h"
#include "mem.h"
#include "notes.h"

enum ap_json_kind {
    AP_JSON_OBJECT_BEGIN,
    AP_JSON_OBJECT_END,
    AP_JSON_ARRAY_BEGIN,
    AP_JSON_ARRAY_END,
    AP_JSON_KEY,       /* text: decoded */
    AP_JSON_STRING,    /* text: decoded (escapes resolved, broken UTF-8 replaced) */
    AP_JSON_NUMBER,    /* text: as written */
    AP_JSON_NONFINITE, /* NaN and the like; text: as written */
    AP_JSON_TRUE,
    AP_JSON_FALSE,
    AP_JSON_NULL
};

/** Borrowed until the next call on the same reader. */
struct ap_json_token {
    enum ap_json_kind kind;
    const char *text; /* KEY, STRING, NUMBER, NONFINITE; not NUL-terminated */
    size_t text_bytes;
    uint64_t offset_bytes; /* of the token's first byte in the decompressed input */
};

struct ap_json_limits {
    uint32_t kept_depth;    /* nesting of values that are read; 0 = 512 */
    uint32_t skipped_depth; /* nesting of values that are skipped (ap_request.max_depth); 0 = 10,000 */
    size_t window_bytes;    /* size of one read; 0 = 1 MiB; tests use tiny ones */
    size_t token_bytes;     /* largest kept string, number or element; 0 = 16 MiB */
    bool several;           /* one value may follow another, as in JSON lines; else the document is one value */
};

struct ap_json_reader;

/** @notes receives what was odd. The reader borrows source and notes. */
AP_MUST_CHECK enum ap_status ap_json_reader_new(struct ap_gate *gate, struct ap_byte_source source, struct ap_notes *notes,
                                                const struct ap_json_limits *limits, struct ap_json_reader **ret_reader,
                                                struct ap_error *reterr);
void ap_json_reader_free(struct ap_json_reader *reader); /* NULL is fine */

/** Step to the next token. AP_END after the document's last value and white space up to the end of the input.
 *  AP_ERROR_CUT where the input ends too early; AP_ERROR_INPUT with the offset where it is not JSON.
 *  After a failure the reader stays failed and repeats the same error. */
AP_MUST_CHECK enum ap_status ap_json_next(struct ap_json_reader *reader, struct ap_json_token *ret_token,
                                          struct ap_error *reterr);

/** Within an object whose '{' was the last token (or whose last member was read whole): AP_OK and the next key, or
 *  AP_END once '}' was read. Duplicate keys are not noticed here; callers that keep members use ap_json_seen. */
AP_MUST_CHECK enum ap_status ap_json_next_key(struct ap_json_reader *reader, struct ap_json_token *ret_key,
                                              struct ap_error *reterr);

/** Within an array: AP_OK and the first token of the next element, or AP_END once ']' was read. */
AP_MUST_CHECK enum ap_status ap_json_next_element(struct ap_json_reader *reader, struct ap_json_token *ret_token,
                                                  struct ap_error *reterr);

/** Having read the first token of a value, read past the rest of it: nothing to do for a scalar. Validates fully. */
AP_MUST_CHECK enum ap_status ap_json_skip_rest(struct ap_json_reader *reader, const struct ap_json_token *token,
                                               struct ap_error *reterr);

/** After a key: read past its value without decoding it. Validates fully. */
AP_MUST_CHECK enum ap_status ap_json_skip_value(struct ap_json_reader *reader, struct ap_error *reterr);

/** After a key: read its value whole. *@ret_text is the value as it stands in the input, borrowed until the next call;
 *  data is NULL where it is longer than limits.token_bytes. Validates fully. */
AP_MUST_CHECK enum ap_status ap_json_raw_value(struct ap_json_reader *reader, struct ap_text *ret_text,
                                               struct ap_error *reterr);

/** What stands between the quotes of a valid string: resolve escapes and replace broken UTF-8. @to has room for
 *  3 * bytes. Returns the bytes written. */
size_t ap_json_decode(const char *text, size_t bytes, char *to);

/** Bytes of the decompressed input that were consumed. */
uint64_t ap_json_offset(const struct ap_json_reader *reader);

/** Count a duplicate key where bit @index of *seen is already set; sets it. */
void ap_json_seen(struct ap_json_reader *reader, uint64_t *seen, unsigned index, uint64_t offset_bytes);

/** Whole numbers within int64; false for fractions, exponents and numbers out of range. */
bool ap_json_integer(const struct ap_json_token *token, int64_t *ret_integer);

#endif
