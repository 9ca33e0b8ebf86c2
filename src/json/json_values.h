/* SPDX-License-Identifier: MIT
 * json_values.h - inside the json stage: one value by the grammar, read or skipped. */
#ifndef AP_JSON_VALUES_H
#define AP_JSON_VALUES_H

#include "json_lanes.h"

static inline enum ap_scan_result scan_string(struct ap_scan *scan, const uint8_t **p, unsigned *flags)
{
    for (;;) {
        *p = seek_string_stop(*p);
        if (AP_LIKELY(**p == '"'))
            return AP_SCAN_OK;
        bool done;
        enum ap_scan_result result = ap_scan_string_special(scan, p, flags, &done);
        if (result != AP_SCAN_OK || done)
            return result;
    }
}

static inline bool is_digit(uint8_t c)
{
    return (uint8_t)(c - '0') <= 9;
}

/* -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?, or what Windows writes in its place. */
static inline enum ap_scan_result scan_number(struct ap_scan *scan, const uint8_t **p)
{
    const uint8_t *at = *p;
    at += *at == '-';
    if (*at == '0')
        at++;
    else if (AP_LIKELY(is_digit(*at)))
        at = seek_not_digit(at + 1);
    else
        return ap_scan_bad(scan, at, "a digit");
    if (*at == '.') {
        if (AP_UNLIKELY(!is_digit(at[1]))) {
            enum ap_json_kind kind;
            return at[1] == '#' ? ap_scan_literal(scan, p, &kind)
                                : ap_scan_bad(scan, at + 1, "a digit after the decimal point");
        }
        at = seek_not_digit(at + 2);
    }
    if (AP_UNLIKELY((*at | 0x20) == 'e')) {
        const uint8_t *digits = at + 1 + (at[1] == '+' || at[1] == '-');
        if (!is_digit(*digits))
            return ap_scan_bad(scan, digits, "a digit in the exponent");
        at = seek_not_digit(digits + 1);
    }
    if (AP_UNLIKELY(at >= scan->end && !scan->at_eof))
        return ap_scan_bad(scan, scan->end, "the rest of a number");
    *p = at;
    return AP_SCAN_OK;
}

static inline enum ap_scan_result scan_scalar(struct ap_scan *scan, const uint8_t **p)
{
    enum ap_json_kind kind;
    const uint8_t *at = *p;
    if (is_digit(*at) || (*at == '-' && (at[1] | 0x20) != 'i' && at[1] != 'n'))
        return scan_number(scan, p);
    return ap_scan_literal(scan, p, &kind);
}

/* ------------------------------------------------------------------------------------------------ skipping values */

static inline bool level_is_object(const struct ap_skip *skip)
{
    uint32_t level = skip->depth - 1;
    return skip->is_object[level / 8] >> (level % 8) & 1;
}

/* At a bracket or brace. */
static inline enum ap_scan_result open_level(struct ap_scan *scan, struct ap_skip *skip, const uint8_t **p)
{
    bool object = **p == '{';
    if (AP_UNLIKELY(skip->depth >= skip->depth_limit)) {
        skip->too_deep = true;
        scan->expected = "less nesting";
        scan->at = *p;
        return AP_SCAN_BAD;
    }
    uint8_t bit = (uint8_t)(1u << (skip->depth % 8)), *byte = &skip->is_object[skip->depth / 8];
    *byte = (uint8_t)(object ? *byte | bit : *byte & ~bit);
    skip->depth++;
    skip->label = object ? AP_SKIP_FIRST_KEY : AP_SKIP_FIRST_ELEMENT;
    ++*p;
    return AP_SCAN_OK;
}

static inline bool close_level(struct ap_skip *skip, const uint8_t **p, uint8_t end)
{
    *p = skip_space(*p);
    if (**p != end)
        return false;
    skip->depth--;
    skip->label = AP_SKIP_AFTER;
    ++*p;
    return true;
}

static inline enum ap_scan_result skip_byte(struct ap_scan *scan, struct ap_skip *skip, const uint8_t **p, uint8_t byte,
                                            const char *what, enum ap_skip_label next)
{
    *p = skip_space(*p);
    if (AP_UNLIKELY(**p != byte))
        return ap_scan_bad(scan, *p, what);
    skip->label = (uint8_t)next;
    ++*p;
    return AP_SCAN_OK;
}

static inline enum ap_scan_result skip_text(struct ap_scan *scan, struct ap_skip *skip, const uint8_t **p,
                                            enum ap_skip_label next)
{
    unsigned flags = 0;
    enum ap_scan_result result = scan_string(scan, p, &flags);
    if (AP_UNLIKELY(result != AP_SCAN_OK))
        return result;
    skip->label = (uint8_t)next;
    ++*p;
    return AP_SCAN_OK;
}

/* A scalar or string whole, a container up to its first bracket or brace. */
static inline enum ap_scan_result skip_into(struct ap_scan *scan, struct ap_skip *skip, const uint8_t **p)
{
    if (**p == '"') {
        skip->label = AP_SKIP_IN_STRING;
        ++*p;
        return skip_text(scan, skip, p, AP_SKIP_AFTER);
    }
    if (**p == '[' || **p == '{')
        return open_level(scan, skip, p);
    enum ap_scan_result result = scan_scalar(scan, p);
    if (AP_LIKELY(result == AP_SCAN_OK))
        skip->label = AP_SKIP_AFTER;
    return result;
}

static inline enum ap_scan_result skip_behind(struct ap_scan *scan, struct ap_skip *skip, const uint8_t **p)
{
    bool object = level_is_object(skip);
    if (close_level(skip, p, object ? '}' : ']'))
        return AP_SCAN_OK;
    return skip_byte(scan, skip, p, ',', object ? "a comma or a closing brace" : "a comma or a closing bracket",
                     object ? AP_SKIP_KEY : AP_SKIP_VALUE);
}

#define SKIP_TRY(call)                          \
    do {                                        \
        enum ap_scan_result result_ = (call);   \
        if (AP_UNLIKELY(result_ != AP_SCAN_OK)) \
            return result_;                     \
    } while (0)

/* From the place in the grammar that skip->label names on to a later one; where that fails, the label names the place. */
static inline enum ap_scan_result skip_step(struct ap_scan *scan, struct ap_skip *skip, const uint8_t **p)
{
    switch ((enum ap_skip_label)skip->label) {
    case AP_SKIP_FIRST_KEY:
        if (close_level(skip, p, '}'))
            return AP_SCAN_OK;
        /* fall through */
    case AP_SKIP_KEY:
        SKIP_TRY(skip_byte(scan, skip, p, '"', "a key in quotation marks", AP_SKIP_IN_KEY));
        /* fall through */
    case AP_SKIP_IN_KEY:
        SKIP_TRY(skip_text(scan, skip, p, AP_SKIP_COLON));
        /* fall through */
    case AP_SKIP_COLON:
        SKIP_TRY(skip_byte(scan, skip, p, ':', "a colon", AP_SKIP_VALUE));
        /* fall through */
    case AP_SKIP_VALUE:
        *p = skip_space(*p);
        SKIP_TRY(skip_into(scan, skip, p));
        if (skip->label != AP_SKIP_AFTER)
            return AP_SCAN_OK;
        /* fall through */
    case AP_SKIP_AFTER: return skip->depth ? skip_behind(scan, skip, p) : AP_SCAN_OK;
    case AP_SKIP_FIRST_ELEMENT: return close_level(skip, p, ']') ? AP_SCAN_OK : skip_into(scan, skip, p);
    case AP_SKIP_IN_STRING: return skip_text(scan, skip, p, AP_SKIP_AFTER);
    }
    return AP_SCAN_OK;
}

static inline enum ap_scan_result skip_value(struct ap_scan *scan, struct ap_skip *skip, const uint8_t **p)
{
    enum ap_scan_result result = AP_SCAN_OK;
    while (result == AP_SCAN_OK && !(skip->depth == 0 && skip->label == AP_SKIP_AFTER))
        result = skip_step(scan, skip, p);
    return result;
}

#endif
