/* SPDX-License-Identifier: MIT */
#include "snapshot_reading.h"

#include <string.h>

#include "decimal.h"

#include "poison.h"

unsigned ap_reading_key(const struct ap_json_token *key, const char *const *keys, unsigned count, unsigned *next)
{
    for (unsigned tried = 0, at = *next; tried < count; tried++, at++) {
        if (at >= count)
            at = 0;
        if (strlen(keys[at]) == key->text_bytes && memcmp(keys[at], key->text, key->text_bytes) == 0) {
            *next = at + 1;
            return at;
        }
    }
    return count;
}

enum ap_status ap_reading_scalar(struct ap_reading *reading, struct ap_json_token *ret_token, struct ap_error *reterr)
{
    AP_TRY(ap_json_next(reading->json, ret_token, reterr));
    if (ret_token->kind == AP_JSON_OBJECT_BEGIN || ret_token->kind == AP_JSON_ARRAY_BEGIN)
        return ap_json_skip_rest(reading->json, ret_token, reterr);
    return AP_OK;
}

bool ap_taken_size(struct ap_reading *reading, const struct ap_json_token *token, int64_t *ret_bytes)
{
    int64_t bytes = 0;
    bool known = ap_json_integer(token, &bytes) ||
                 (token->kind == AP_JSON_NUMBER && ap_decimal_to_integer(token->text, token->text_bytes, &bytes));
    known = known && bytes != INT64_MIN; /* which could not be taken off again */
    if (!known)
        ap_note(reading->notes, AP_COUNTER_size_not_number, token->offset_bytes);
    else if (bytes < 0)
        ap_note(reading->notes, AP_COUNTER_size_negative, token->offset_bytes);
    *ret_bytes = known ? bytes : 0;
    return known;
}

enum ap_status ap_reading_size(struct ap_reading *reading, int64_t *ret_bytes, bool *ret_known, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_reading_scalar(reading, &token, reterr));
    *ret_known = ap_taken_size(reading, &token, ret_bytes);
    return AP_OK;
}

bool ap_reading_whole(const struct ap_json_token *token, uint64_t *ret_number)
{
    int64_t number;
    if (token->kind != AP_JSON_NUMBER)
        return false;
    if (ap_decimal_to_u64(token->text, token->text_bytes, ret_number))
        return true;
    if (!ap_decimal_to_integer(token->text, token->text_bytes, &number))
        return false;
    *ret_number = (uint64_t)number;
    return true;
}

enum ap_status ap_reading_id(struct ap_reading *reading, uint64_t *ret_id, bool *ret_known, struct ap_json_token *ret_token,
                             struct ap_error *reterr)
{
    *ret_id = 0;
    AP_TRY(ap_reading_scalar(reading, ret_token, reterr));
    *ret_known = ap_reading_whole(ret_token, ret_id);
    return AP_OK;
}

bool ap_taken_time(struct ap_reading *reading, const struct ap_json_token *token, int64_t *ret_ns)
{
    const int64_t most_us = AP_MAX_TIME_NS / 1000;
    int64_t time_us;
    if (AP_LIKELY(ap_json_integer(token, &time_us) && time_us >= -most_us && time_us <= most_us)) {
        *ret_ns = time_us * 1000; /* what the allocator writes: whole microseconds */
        return true;
    }
    enum ap_decimal_result result = AP_DECIMAL_OUT_OF_RANGE;
    *ret_ns = 0;
    if (token->kind == AP_JSON_NUMBER)
        result = ap_decimal_us_to_ns(token->text, token->text_bytes, ret_ns);
    if (result == AP_DECIMAL_OUT_OF_RANGE)
        ap_note(reading->notes, AP_COUNTER_time_us_not_number, token->offset_bytes);
    else if (result == AP_DECIMAL_ROUNDED)
        ap_note(reading->notes, AP_COUNTER_time_rounded, token->offset_bytes);
    return result != AP_DECIMAL_OUT_OF_RANGE;
}

enum ap_status ap_reading_time(struct ap_reading *reading, int64_t *ret_ns, bool *ret_known, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_reading_scalar(reading, &token, reterr));
    *ret_known = ap_taken_time(reading, &token, ret_ns);
    return AP_OK;
}

enum ap_status ap_reading_intern(struct ap_reading *reading, const struct ap_json_token *token, struct ap_str *ret_str,
                                 struct ap_error *reterr)
{
    ret_str->id = 0;
    if (token->kind != AP_JSON_STRING && token->kind != AP_JSON_NUMBER)
        return AP_OK;
    return ap_strpool_intern(&reading->to->strings, token->text, token->text_bytes, ret_str, reterr);
}

/* What Python's str() shows of a value that is no string; numbers stand as they are written. */
static const char *python_name(enum ap_json_kind kind)
{
    switch (kind) {
    case AP_JSON_TRUE: return "True";
    case AP_JSON_FALSE: return "False";
    case AP_JSON_NULL: return "None";
    default: return NULL;
    }
}

enum ap_status ap_taken_name(struct ap_reading *reading, const struct ap_json_token *token, struct ap_str *ret_name,
                             struct ap_error *reterr)
{
    struct ap_strpool *strings = &reading->to->strings;
    const char *name = python_name(token->kind);
    if (name)
        return ap_strpool_intern(strings, name, strlen(name), ret_name, reterr);
    if (token->kind != AP_JSON_OBJECT_BEGIN && token->kind != AP_JSON_ARRAY_BEGIN)
        return ap_strpool_intern(strings, token->text, token->text_bytes, ret_name, reterr);
    ap_note(reading->notes, AP_COUNTER_member_type, token->offset_bytes);
    ret_name->id = AP_NAME_UNKNOWN;
    return AP_OK;
}

enum ap_status ap_reading_name(struct ap_reading *reading, struct ap_str *ret_name, bool *ret_is_text,
                               struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_reading_scalar(reading, &token, reterr));
    *ret_is_text = token.kind == AP_JSON_STRING;
    return ap_taken_name(reading, &token, ret_name, reterr);
}

enum ap_status ap_reading_enter(struct ap_reading *reading, enum ap_json_kind kind, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(reading->json, &token, reterr));
    if (token.kind == kind)
        return AP_OK;
    ap_note(reading->notes, AP_COUNTER_member_type, token.offset_bytes);
    AP_TRY(ap_json_skip_rest(reading->json, &token, reterr));
    return AP_END;
}

enum ap_status ap_taken_frames(struct ap_reading *reading, struct ap_text json, uint32_t *ret_stack, struct ap_error *reterr)
{
    AP_TRY(ap_stacks_take(&reading->to->stacks, &reading->to->strings, json, ret_stack, reterr));
    if (*ret_stack)
        reading->to->has |= AP_SNAPSHOT_HAS_STACKS;
    return AP_OK;
}

enum ap_status ap_reading_frames(struct ap_reading *reading, uint32_t *ret_stack, struct ap_error *reterr)
{
    struct ap_text json;
    *ret_stack = 0;
    AP_TRY(ap_json_raw_value(reading->json, &json, reterr));
    return json.data ? ap_taken_frames(reading, json, ret_stack, reterr) : AP_OK;
}
