/* SPDX-License-Identifier: MIT */
#include "json_element.h"

#include <string.h>

#include "json_internal.h"
#include "json_layout.h"

#include "poison.h"

#define KEY_CAPACITY_BYTES 192

#define GAPS_BYTES (AP_GAP_MAX_COUNT * sizeof(struct ap_gap) + AP_LINE_BYTES)
#define CONTAINERS_BYTES (AP_CONTAINERS_KNOWN * sizeof(struct ap_known_container) + AP_LINE_BYTES)

/* The first line of the cache that begins in @room. */
static void *first_line(void *room)
{
    uint8_t *at = room;
    return at + (-(uintptr_t)at & (AP_LINE_BYTES - 1));
}

static size_t skip_bits_bytes(const struct ap_element_reader *element)
{
    return element->skip_depth_limit / 8 + 1;
}

enum ap_status ap_element_reader_new(struct ap_json_reader *json, const struct ap_json_field *fields, unsigned field_count,
                                     struct ap_element_reader **ret_element, struct ap_error *reterr)
{
    struct ap_gate *gate = json->gate;
    struct ap_element_reader *element;
    AP_TRY(AP_ALLOC_CLEARED(gate, element, 1, reterr));
    element->json = json;
    element->fields = fields;
    element->field_count = field_count;
    element->skip_depth_limit = json->limits.skipped_depth;
    element->key_capacity = KEY_CAPACITY_BYTES;
    element->gaps_room = ap_mem_resize(gate, NULL, 0, GAPS_BYTES);
    element->containers_room = ap_mem_cleared(gate, CONTAINERS_BYTES);
    element->skip_bits = ap_mem_resize(gate, NULL, 0, skip_bits_bytes(element));
    element->key = ap_mem_resize(gate, NULL, 0, element->key_capacity);
    if (!element->gaps_room || !element->containers_room || !element->skip_bits || !element->key) {
        ap_element_reader_free(element);
        return ap_fail_memory(gate, reterr);
    }
    memset(element->skip_bits, 0, skip_bits_bytes(element));
    element->gaps = first_line(element->gaps_room);
    element->containers = first_line(element->containers_room);
    ap_layout_init(element);
    ap_names_init(&element->names, fields, field_count, &gate->hash_key);
    *ret_element = element;
    return AP_OK;
}

void ap_element_reader_free(struct ap_element_reader *element)
{
    if (!element)
        return;
    struct ap_gate *gate = element->json->gate;
    ap_mem_free(gate, element->gaps_room, GAPS_BYTES);
    ap_mem_free(gate, element->containers_room, CONTAINERS_BYTES);
    if (element->skip_bits)
        ap_mem_free(gate, element->skip_bits, skip_bits_bytes(element));
    ap_mem_free(gate, element->key, element->key ? element->key_capacity : 0);
    ap_mem_free(gate, element->decoded, element->decoded_bytes);
    AP_FREE(gate, element, 1);
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

/* Few fields have values, and they come first: only of the same array of spans is known what the element before left. */
static inline void clear_used_spans(struct ap_element_reader *element)
{
    clear_spans(element->spans, element->used == element->spans ? element->used_end : element->field_count);
    element->used = NULL;
}

/* For an element of which nothing is read. */
static void leave_spans_clear(struct ap_element_reader *element)
{
    clear_used_spans(element);
    element->used = element->spans;
    element->used_end = 0;
}

/* An object larger than the limit: pass by it without keeping it. */
static enum ap_status skip_large(struct ap_element_reader *element, enum ap_element_outcome *ret_outcome,
                                 struct ap_error *reterr)
{
    leave_spans_clear(element);
    *ret_outcome = AP_ELEMENT_TOO_LARGE;
    return ap_json_skip_stream(element->json, AP_SKIP_VALUE, reterr);
}

/* The object at json->at, as far as the window shows it: json->at goes behind it where it is whole, and else stays. */
static inline enum ap_scan_result scan_object(struct ap_element_reader *element)
{
    struct ap_json_reader *json = element->json;
    clear_used_spans(element);
    ap_json_forget_odds(json);
    element->too_deep = false;
    enum ap_scan_result result = json->scan.ops->element(&json->scan, element, &json->at);
    if (AP_LIKELY(result == AP_SCAN_OK))
        element->used = element->spans;
    return result;
}

/* Does an object end at @at as elements of an array do? */
static enum ap_scan_result check_behind(struct ap_scan *scan, const uint8_t *at)
{
    at = scan->ops->space(at);
    if (at >= scan->end)
        return scan->at_eof ? AP_SCAN_OK : ap_scan_bad(scan, scan->end, "a comma or a closing bracket");
    return *at == ',' || *at == ']' ? AP_SCAN_OK : AP_SCAN_BAD;
}

/* The object at json->at, which is no JSON: its writer may have left a Windows path as it is, with a backslash at its end.
 * Only where that makes JSON of it, as far as the input goes, so that nothing that is some already is read otherwise. */
static enum ap_scan_result scan_with_paths(struct ap_element_reader *element, enum ap_scan_result otherwise)
{
    struct ap_scan *scan = &element->json->scan;
    const uint8_t *at = scan->at, *start = element->json->at;
    const char *expected = scan->expected;
    scan->paths_end = true;
    enum ap_scan_result result = scan_object(element);
    scan->paths_end = false;
    if (result == AP_SCAN_OK)
        result = check_behind(scan, element->json->at);
    if (result != AP_SCAN_OK)
        element->json->at = start;
    if (result != AP_SCAN_BAD || element->too_deep)
        return result;
    scan->at = at;
    scan->expected = expected;
    return otherwise;
}

/* The object at json->at. */
static enum ap_status read_object(struct ap_element_reader *element, enum ap_element_outcome *ret_outcome,
                                  struct ap_error *reterr)
{
    struct ap_json_reader *json = element->json;
    for (;;) {
        enum ap_scan_result result = scan_object(element);
        bool failed = result == AP_SCAN_BAD || (result == AP_SCAN_MORE && json->scan.at_eof);
        if (AP_UNLIKELY(failed && !element->too_deep && !json->is_ahead))
            result = scan_with_paths(element, result);
        if (AP_LIKELY(result == AP_SCAN_OK)) {
            ap_json_commit_odds(json);
            *ret_outcome = AP_ELEMENT_READ;
            return AP_OK;
        }
        if (element->too_deep)
            return ap_json_fail_depth(json, json->scan.at, json->limits.skipped_depth, reterr);
        if (result == AP_SCAN_BAD || json->scan.at_eof)
            return ap_json_fail_scan(json, result, reterr);
        if ((size_t)(json->scan.end - json->at) > json->limits.token_bytes)
            return skip_large(element, ret_outcome, reterr);
        AP_TRY(ap_json_more(json, &json->at, reterr));
    }
}

/* To the first byte of the next element; AP_END behind the closing bracket. */
static enum ap_status next_element(struct ap_element_reader *element, struct ap_error *reterr)
{
    struct ap_json_reader *json = element->json;
    element->at_boundary = true;
    AP_TRY(ap_json_space(json, reterr));
    bool first = json->state == AP_STATE_FIRST_ELEMENT, comma = false;
    if (first) {
        element->any_object = element->last_was_object = false;
        element->used = NULL; /* between two arrays spans are the caller's */
    }
    if (!first && *json->at == ',') {
        json->at++;
        comma = true;
        AP_TRY(ap_json_space(json, reterr));
    }
    if (*json->at == ']' && (!comma || element->any_object)) {
        if (comma)
            ap_note(json->notes, AP_COUNTER_trailing_comma, ap_json_offset(json));
        json->at++;
        json->depth--;
        json->state = AP_STATE_AFTER;
        element->last_was_object = false; /* what is usual between two elements is wrong before the first one */
        return AP_END;
    }
    if (!first && !comma)
        return ap_json_fail_scan(json, ap_scan_bad(&json->scan, json->at, "a comma or a closing bracket"), reterr);
    if (json->at >= json->scan.end)
        return ap_json_fail_scan(json, ap_scan_bad(&json->scan, json->at, "the next element"), reterr);
    json->state = AP_STATE_AFTER;
    element->at_boundary = false;
    return AP_OK;
}

/* Remember the text between two elements, when it is short and lies in the window. */
static void learn_between(struct ap_element_reader *element, uint64_t start_offset_bytes)
{
    struct ap_json_reader *json = element->json;
    uint64_t bytes = ap_json_offset(json) + 1 - start_offset_bytes;
    if (bytes > 16 || start_offset_bytes < json->window_offset_bytes)
        return;
    memcpy(element->between, json->at + 1 - bytes, 16); /* the slack makes 16 bytes readable */
    for (unsigned i = 0; i < 2; i++) {
        uint64_t kept = bytes > 8 * i ? bytes - 8 * i : 0;
        element->between_mask[i] = kept >= 8 ? UINT64_MAX : first_bytes((unsigned)kept);
        element->between[i] &= element->between_mask[i];
    }
    element->between_bytes = (uint8_t)bytes;
}

bool ap_element_at_boundary(const struct ap_element_reader *element)
{
    return element && element->at_boundary && element->json->end_status == AP_OK;
}

/* Where the text before the next element is none that is known, or the element is not whole in the window. */
static __attribute__((noinline)) enum ap_status next_slowly(struct ap_element_reader *element,
                                                            enum ap_element_outcome *ret_outcome, uint64_t *ret_offset,
                                                            struct ap_error *reterr)
{
    struct ap_json_reader *json = element->json;
    uint64_t start_offset_bytes = ap_json_offset(json);
    bool after_object = element->last_was_object;
    AP_TRY(next_element(element, reterr));
    *ret_offset = ap_json_offset(json);
    element->last_was_object = *json->at == '{';
    element->any_object |= element->last_was_object;
    if (AP_LIKELY(element->last_was_object)) {
        if (after_object)
            learn_between(element, start_offset_bytes);
        return read_object(element, ret_outcome, reterr);
    }
    leave_spans_clear(element);
    *ret_outcome = AP_ELEMENT_NOT_OBJECT;
    return ap_json_skip_stream(json, AP_SKIP_VALUE, reterr);
}

enum ap_status ap_element_next(struct ap_element_reader *element, struct ap_json_span *spans,
                               enum ap_element_outcome *ret_outcome, uint64_t *ret_offset, struct ap_error *reterr)
{
    struct ap_json_reader *json = element->json;
    if (AP_UNLIKELY(json->failed)) {
        if (reterr)
            *reterr = json->error;
        return json->failed;
    }
    element->spans = spans;
    if (AP_UNLIKELY(json->at == element->ahead_at)) {
        *ret_outcome = AP_ELEMENT_AHEAD;
        return AP_OK;
    }
    if (AP_UNLIKELY(!element->last_was_object || !ap_layout_is_between(element, json->at)))
        return next_slowly(element, ret_outcome, ret_offset, reterr);
    json->at += element->between_bytes - 1;
    *ret_offset = ap_json_offset_of(json, json->at);
    *ret_outcome = AP_ELEMENT_READ;
    if (AP_UNLIKELY(scan_object(element) != AP_SCAN_OK))
        return read_object(element, ret_outcome, reterr);
    if (AP_UNLIKELY(json->scan.odds.any))
        ap_json_commit_odds(json);
    return AP_OK;
}

struct ap_text ap_element_raw(const struct ap_element_reader *element, uint64_t offset_bytes)
{
    size_t bytes = (size_t)(ap_json_offset(element->json) - offset_bytes);
    return (struct ap_text){ (const char *)element->json->at - bytes, bytes };
}

enum ap_status ap_element_text(struct ap_element_reader *element, const struct ap_json_span *span, struct ap_text *ret_text,
                               struct ap_error *reterr)
{
    *ret_text = (struct ap_text){ span->text, span->bytes };
    if (AP_LIKELY(!span->decode))
        return AP_OK;
    AP_TRY(AP_RESERVE(element->json->gate, element->decoded, element->decoded_bytes, (size_t)span->bytes * 3, reterr));
    *ret_text = (struct ap_text){ element->decoded, ap_json_decode(span->text, span->bytes, element->decoded) };
    return AP_OK;
}
