/* SPDX-License-Identifier: MIT */
#include "json_record.h"

#include <string.h>

#include "json_internal.h"
#include "json_layout.h"

#include "poison.h"

#define KEY_CAPACITY_BYTES 192

static size_t gaps_bytes(void)
{
    return (AP_GAP_MAX_COUNT + 1) * sizeof(struct ap_gap);
}

static size_t skip_bits_bytes(const struct ap_record_reader *record)
{
    return record->skip_depth_limit / 8 + 1;
}

enum ap_status ap_record_reader_new(struct ap_json_reader *json, const struct ap_json_field *fields, unsigned field_count,
                                    struct ap_record_reader **ret_record, struct ap_error *reterr)
{
    struct ap_gate *gate = json->gate;
    struct ap_record_reader *record;
    AP_TRY(AP_ALLOC_CLEARED(gate, record, 1, reterr));
    record->json = json;
    record->fields = fields;
    record->field_count = field_count;
    record->skip_depth_limit = json->limits.skipped_depth;
    record->key_capacity = KEY_CAPACITY_BYTES;
    record->gaps = ap_mem_resize(gate, NULL, 0, gaps_bytes());
    record->skip_bits = ap_mem_resize(gate, NULL, 0, skip_bits_bytes(record));
    record->key = ap_mem_resize(gate, NULL, 0, record->key_capacity);
    if (!record->gaps || !record->skip_bits || !record->key) {
        ap_record_reader_free(record);
        return ap_fail_memory(gate, reterr);
    }
    memset(record->skip_bits, 0, skip_bits_bytes(record));
    ap_layout_init(record);
    ap_layout_know_parents(record);
    *ret_record = record;
    return AP_OK;
}

void ap_record_reader_free(struct ap_record_reader *record)
{
    if (!record)
        return;
    struct ap_gate *gate = record->json->gate;
    if (record->gaps)
        ap_mem_free(gate, record->gaps, gaps_bytes());
    if (record->skip_bits)
        ap_mem_free(gate, record->skip_bits, skip_bits_bytes(record));
    ap_mem_free(gate, record->key, record->key ? record->key_capacity : 0);
    ap_mem_free(gate, record->decoded, record->decoded_bytes);
    AP_FREE(gate, record, 1);
}

_Static_assert(AP_SPAN_ABSENT == 0xff, "spans are cleared by setting all their bits");

/* A word whose first @count bytes in memory are all ones. */
static uint64_t first_bytes(unsigned count)
{
    uint8_t bytes[8] = { 0 };
    uint64_t word;
    memset(bytes, 0xff, count);
    memcpy(&word, bytes, sizeof(word));
    return word;
}

static void clear_spans(struct ap_json_span *spans, unsigned count)
{
    memset(spans, 0xff, count * sizeof(spans[0]));
}

/* An object larger than the limit: pass by it without keeping it. */
static enum ap_status skip_large(struct ap_record_reader *record, enum ap_record_outcome *ret_outcome,
                                 struct ap_error *reterr)
{
    clear_spans(record->spans, record->field_count);
    *ret_outcome = AP_RECORD_TOO_LARGE;
    return ap_json_skip_stream(record->json, AP_SKIP_VALUE, reterr);
}

/* The object at json->at. */
static enum ap_status read_object(struct ap_record_reader *record, enum ap_record_outcome *ret_outcome,
                                  struct ap_error *reterr)
{
    struct ap_json_reader *json = record->json;
    for (;;) {
        const uint8_t *at = json->at;
        clear_spans(record->spans, record->field_count);
        if (AP_UNLIKELY(json->scan.odds.any))
            json->scan.odds = (struct ap_scan_odds){ .any = false };
        record->too_deep = false;
        enum ap_scan_result result = json->scan.ops->record(&json->scan, record, &at);
        if (AP_LIKELY(result == AP_SCAN_OK)) {
            ap_json_commit_odds(json);
            json->at = at;
            *ret_outcome = AP_RECORD_READ;
            return AP_OK;
        }
        if (record->too_deep)
            return ap_json_fail_depth(json, json->scan.at, json->limits.skipped_depth, reterr);
        if (result == AP_SCAN_BAD || json->scan.at_eof)
            return ap_json_fail_scan(json, result, reterr);
        if ((size_t)(json->scan.end - json->at) > json->limits.token_bytes)
            return skip_large(record, ret_outcome, reterr);
        AP_TRY(ap_json_more(json, &json->at, reterr));
    }
}

/* To the first byte of the next element; AP_END behind the closing bracket. */
static enum ap_status next_element(struct ap_record_reader *record, struct ap_error *reterr)
{
    struct ap_json_reader *json = record->json;
    record->at_boundary = true;
    AP_TRY(ap_json_space(json, reterr));
    bool first = json->state == AP_STATE_FIRST_ELEMENT, comma = false;
    if (first)
        record->any_object = record->last_was_object = false;
    if (!first && *json->at == ',') {
        json->at++;
        comma = true;
        AP_TRY(ap_json_space(json, reterr));
    }
    if (*json->at == ']' && (!comma || record->any_object)) {
        if (comma)
            ap_note(json->notes, AP_COUNTER_trailing_comma, ap_json_offset(json));
        json->at++;
        json->depth--;
        json->state = AP_STATE_AFTER;
        return AP_END;
    }
    if (!first && !comma)
        return ap_json_fail_scan(json, ap_scan_bad(&json->scan, json->at, "a comma or a closing bracket"), reterr);
    if (json->at >= json->scan.end)
        return ap_json_fail_scan(json, ap_scan_bad(&json->scan, json->at, "the next element"), reterr);
    json->state = AP_STATE_AFTER;
    record->at_boundary = false;
    return AP_OK;
}

/* Remember the text between two records, when it is short and lies in the window. */
static void learn_between(struct ap_record_reader *record, uint64_t start_offset_bytes)
{
    struct ap_json_reader *json = record->json;
    uint64_t bytes = ap_json_offset(json) + 1 - start_offset_bytes;
    if (bytes > 16 || start_offset_bytes < json->window_offset_bytes)
        return;
    memcpy(record->between, json->at + 1 - bytes, 16); /* the slack makes 16 bytes readable */
    for (unsigned i = 0; i < 2; i++) {
        uint64_t kept = bytes > 8 * i ? bytes - 8 * i : 0;
        record->between_mask[i] = kept >= 8 ? UINT64_MAX : first_bytes((unsigned)kept);
        record->between[i] &= record->between_mask[i];
    }
    record->between_bytes = (uint8_t)bytes;
}

bool ap_record_at_boundary(const struct ap_record_reader *record)
{
    return record && record->at_boundary && record->json->end_status == AP_OK;
}

enum ap_status ap_record_next(struct ap_record_reader *record, struct ap_json_span *spans,
                              enum ap_record_outcome *ret_outcome, uint64_t *ret_offset, struct ap_error *reterr)
{
    struct ap_json_reader *json = record->json;
    if (AP_UNLIKELY(json->failed)) {
        if (reterr)
            *reterr = json->error;
        return json->failed;
    }
    record->spans = spans;
    if (AP_UNLIKELY(json->at == record->ahead_at)) {
        *ret_outcome = AP_RECORD_AHEAD;
        return AP_OK;
    }
    if (AP_LIKELY(record->last_was_object && ap_layout_is_between(record, json->at))) {
        json->at += record->between_bytes - 1;
        *ret_offset = ap_json_offset(json);
        return read_object(record, ret_outcome, reterr);
    }
    uint64_t start_offset_bytes = ap_json_offset(json);
    bool after_object = record->last_was_object;
    AP_TRY(next_element(record, reterr));
    *ret_offset = ap_json_offset(json);
    record->last_was_object = *json->at == '{';
    record->any_object |= record->last_was_object;
    if (AP_LIKELY(record->last_was_object)) {
        if (after_object)
            learn_between(record, start_offset_bytes);
        return read_object(record, ret_outcome, reterr);
    }
    clear_spans(spans, record->field_count);
    *ret_outcome = AP_RECORD_NOT_OBJECT;
    return ap_json_skip_stream(json, AP_SKIP_VALUE, reterr);
}

struct ap_text ap_record_raw(const struct ap_record_reader *record, uint64_t offset_bytes)
{
    size_t bytes = (size_t)(ap_json_offset(record->json) - offset_bytes);
    return (struct ap_text){ (const char *)record->json->at - bytes, bytes };
}

enum ap_status ap_record_text(struct ap_record_reader *record, const struct ap_json_span *span, struct ap_text *ret_text,
                              struct ap_error *reterr)
{
    *ret_text = (struct ap_text){ span->text, span->bytes };
    if (AP_LIKELY(!span->decode))
        return AP_OK;
    AP_TRY(AP_RESERVE(record->json->gate, record->decoded, record->decoded_bytes, (size_t)span->bytes * 3, reterr));
    *ret_text = (struct ap_text){ record->decoded, ap_json_decode(span->text, span->bytes, record->decoded) };
    return AP_OK;
}
