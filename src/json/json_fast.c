/* SPDX-License-Identifier: MIT
 * json_fast.c - the work per byte: elements by their learned layout. Compiled once for each instruction set. */
#include "json_containers.h"
#include "json_guesses.h"

#include "poison.h"

#define NOT_INLINE __attribute__((noinline)) /* rare, and would cost the usual path its registers */

static inline bool gap_matches(const struct ap_gap *gap, const uint8_t *p)
{
    return text_matches(gap->text, gap->needed, gap->bytes, p);
}

static inline uint8_t kind_of_value(uint8_t first)
{
    switch (first) {
    case '{': return AP_JSON_OBJECT_BEGIN;
    case '[': return AP_JSON_ARRAY_BEGIN;
    case 't': return AP_JSON_TRUE;
    case 'f': return AP_JSON_FALSE;
    default: return AP_JSON_NUMBER;
    }
}

/* What stands between two values is not what did last time: another known text, or by the grammar. *@gap is the gap before
 * the last value on entry, the one that was read on return. */
static NOT_INLINE enum ap_scan_result find_gap(struct ap_scan *scan, struct ap_element_reader *element, struct ap_gap **gap,
                                               const uint8_t **p)
{
    struct ap_gap *before = *gap, **followers = before->followers;
    for (unsigned i = 1; i < AP_GAP_FOLLOWERS && followers[i] != &element->never; i++) {
        struct ap_gap *known = followers[i];
        if (gap_matches(known, *p)) {
            followers[i] = followers[0];
            followers[0] = known;
            *p += known->bytes;
            *gap = known;
            return AP_SCAN_OK;
        }
    }
    const uint8_t *start = *p;
    enum ap_scan_result result = ap_layout_parse_gap(scan, element, before, p);
    if (result != AP_SCAN_OK)
        return result;
    struct ap_gap *learned = NULL;
    if (before != &element->parsed_gaps[0] && before != &element->parsed_gaps[1])
        learned = ap_layout_learn(element, before, start, (size_t)(*p - start));
    *gap = learned ? learned : element->parsed;
    return AP_SCAN_OK;
}

/* Keys of the gap at @at had been read before. */
static NOT_INLINE void count_repeated(struct ap_scan *scan, struct ap_element_reader *element, const struct ap_gap *gap,
                                      const uint8_t *at)
{
    for (uint64_t keys = gap->repeated; keys; keys &= keys - 1)
        ap_scan_odd(scan, AP_ODD_DUPLICATE, at);
    ap_layout_forget_members(element, gap->repeated);
}

/* A value that is not laid out as last time. */
static NOT_INLINE enum ap_scan_result read_any_value(struct ap_scan *scan, struct ap_element_reader *element,
                                                     struct ap_gap *gap, const uint8_t **p, struct ap_json_span *span)
{
    const uint8_t *start = *p;
    enum ap_scan_result result;
    unsigned flags = 0;
    /* The learned gap may end before a number where this object has a string, or more white space. */
    bool string = gap->action == AP_GAP_STRING;
    if (!string && *start <= '"') {
        start = skip_space(start);
        string = *start == '"';
        start += string;
        *p = start;
    }
    if (string) {
        result = scan_string(scan, p, &flags);
        *span = (struct ap_json_span){ (const char *)start, (uint32_t)(*p - start), AP_JSON_STRING, (uint8_t)flags };
        *p += result == AP_SCAN_OK;
        return result;
    }
    uint8_t kind = kind_of_value(*start);
    if (is_digit(*start) || (*start == '-' && is_digit(start[1]))) {
        result = scan_number(scan, p);
        kind = (uint8_t)ap_scan_number_kind(start);
    } else if (*start == '{' || *start == '[') {
        result = skip_container(scan, element, p);
    } else {
        enum ap_json_kind literal = AP_JSON_NULL;
        result = ap_scan_literal(scan, p, &literal);
        kind = (uint8_t)literal;
    }
    *span = (struct ap_json_span){ (const char *)start, (uint32_t)(*p - start), kind, 0 };
    return result;
}

/* What follows a string is no gap: its writer may have forgotten to escape a quotation mark within it. One that is escaped
 * may have been meant to end the string, behind the last backslash of a path: that is looked into first. @value_start is
 * NULL where no value was read, or its end was found here. */
static enum ap_scan_result recover(struct ap_scan *scan, struct ap_element_reader *element, const struct ap_gap *gap,
                                   const uint8_t *value_start, const uint8_t **p)
{
    bool possible = value_start && gap->action == AP_GAP_STRING && gap->field != element->field_count &&
                    element->fields[gap->field].strings == AP_STRINGS_WITH_QUOTES;
    if (!possible || (!scan->paths_end && memchr(value_start, '"', (size_t)(*p - 1 - value_start))))
        return AP_SCAN_BAD;
    enum ap_scan_result result = ap_layout_recover_quote(scan, element, value_start, p);
    if (result != AP_SCAN_OK)
        return result;
    struct ap_json_span *span = &element->spans[gap->field];
    span->bytes = (uint32_t)(*p - 1 - value_start);
    span->decode = AP_STRING_DECODE;
    return AP_SCAN_OK;
}

/* The gap that an element probably begins with; NULL: none is known here. The values in it are taken: forget_start takes
 * that back where it does not stand there. */
static inline struct ap_gap *guess_start(struct ap_json_span *spans, const struct ap_known_start *start, const uint8_t *at)
{
    if (AP_UNLIKELY(!start->gap))
        return NULL;
    for (unsigned i = 0; i < start->value_count; i++) {
        const struct ap_start_value *value = &start->values[i];
        spans[value->field] = (struct ap_json_span){ (const char *)at + value->at, value->bytes, AP_JSON_STRING, 0 };
    }
    return start->gap;
}

static NOT_INLINE void forget_start(struct ap_element_reader *element, const struct ap_known_start *start)
{
    for (unsigned i = 0; i < start->value_count; i++)
        element->spans[start->values[i].field].kind = AP_SPAN_ABSENT;
}

/* The cursor stays in a variable whose address is not taken: through memory every step would wait for the one before. */
static enum ap_scan_result scan_element(struct ap_scan *scan, struct ap_element_reader *element, const uint8_t **p)
{
    struct ap_json_span *const spans = element->spans;
    const uint8_t *at = *p + 1, *value_start = NULL;
    struct ap_gap *gap = element->gaps;
    const struct ap_known_start *start = ap_layout_start(element, at);
    struct ap_gap *usual = guess_start(spans, start, at);
    bool known_start = usual;
    if (AP_UNLIKELY(!known_start))
        usual = gap->followers[0];
    for (;; usual = gap->followers[0]) {
        const uint8_t *gap_start = at;
        if (AP_LIKELY(gap_matches(usual, at) && usual->action != AP_GAP_NEVER)) {
            gap = usual;
            at += usual->bytes;
        } else if (known_start && gap == element->gaps) {
            forget_start(element, start);
            known_start = false;
            continue;
        } else {
            const uint8_t *slow = at;
            struct ap_gap *found = gap;
            enum ap_scan_result result = find_gap(scan, element, &found, &slow);
            if (AP_UNLIKELY(result != AP_SCAN_OK)) {
                if (result != AP_SCAN_BAD)
                    return result;
                slow = gap_start;
                result = recover(scan, element, gap, value_start, &slow);
                if (result != AP_SCAN_OK)
                    return result;
                value_start = NULL;
                at = slow;
                continue;
            }
            gap = found;
            at = slow;
        }
        struct ap_json_span *span = &spans[gap->field];
        value_start = at;
        if (gap->way == AP_GAP_OTHER) {
            unsigned bytes = guess_number(&gap->guess, at);
            if (AP_LIKELY(bytes != VALUE_UNKNOWN)) {
                *span = (struct ap_json_span){ (const char *)at, bytes, AP_JSON_NUMBER, 0 };
                at += bytes;
                continue;
            }
        } else if (gap->way == AP_GAP_STRING) {
            unsigned bytes = guess_string(&gap->guess, at);
            if (AP_LIKELY(bytes != VALUE_UNKNOWN)) {
                *span = (struct ap_json_span){ (const char *)at, bytes, AP_JSON_STRING, 0 };
                at += bytes + 1;
                continue;
            }
        } else {
            if (AP_UNLIKELY(gap->repeated))
                count_repeated(scan, element, gap, gap_start);
            if (AP_LIKELY(gap->action == AP_GAP_END)) {
                if (AP_UNLIKELY(!known_start))
                    ap_layout_learn_start(element, *p + 1);
                element->used_end = gap->fields_end;
                *p = at;
                return AP_SCAN_OK;
            }
        }
        const uint8_t *slow = at;
        enum ap_scan_result result = read_any_value(scan, element, gap, &slow, span);
        if (AP_UNLIKELY(result != AP_SCAN_OK))
            return result;
        at = slow;
    }
}

#define ISA_OPS_NAME_(isa) ap_scan_ops_##isa
#define ISA_OPS_NAME(isa) ISA_OPS_NAME_(isa)
#define ISA_TEXT_(isa) #isa
#define ISA_TEXT(isa) ISA_TEXT_(isa)

extern const struct ap_scan_ops ISA_OPS_NAME(ISA_NAME);
const struct ap_scan_ops ISA_OPS_NAME(ISA_NAME) = {
    .name = ISA_TEXT(ISA_NAME),
    .space = skip_space,
    .string = scan_string,
    .number = scan_number,
    .skip = skip_value,
    .element = scan_element,
};
