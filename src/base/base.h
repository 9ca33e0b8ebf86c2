/* SPDX-License-Identifier: MIT
 * base.h - what every file of the project may use: attributes, error building, small integer helpers. */
#ifndef AP_BASE_H
#define AP_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "analyze_profile/error.h"
#include "analyze_profile/model.h" /* struct ap_text */

#define AP_MUST_CHECK __attribute__((warn_unused_result))
#define AP_PRINTF(format_index, first_index) __attribute__((format(printf, format_index, first_index)))
#define AP_LIKELY(x) __builtin_expect(!!(x), 1)
#define AP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define AP_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#define AP_TRY(call)                              \
    do {                                          \
        enum ap_status ap_try_status_ = (call);   \
        if (AP_UNLIKELY(ap_try_status_ != AP_OK)) \
            return ap_try_status_;                \
    } while (0)

/** The next step of a function that has something to release at its end: not taken where one failed before. */
#define AP_AND_THEN(status, call) \
    do {                          \
        if ((status) == AP_OK)    \
            (status) = (call);    \
    } while (0)

/** AP_TRY in a function that reads up to an end, which is its success. */
#define AP_TRY_UNTIL_END(call)                                        \
    do {                                                              \
        enum ap_status ap_try_status_ = (call);                       \
        if (ap_try_status_ != AP_OK)                                  \
            return ap_try_status_ == AP_END ? AP_OK : ap_try_status_; \
    } while (0)

/** Fill *reterr and return @status, so that a failing function can end with `return ap_fail(...)`. */
enum ap_status ap_fail(struct ap_error *reterr, enum ap_status status, const char *format, ...) AP_PRINTF(3, 4);

/** The same, with the byte of the decompressed input at which it went wrong. */
enum ap_status ap_fail_at(struct ap_error *reterr, enum ap_status status, uint64_t offset_bytes, const char *format, ...)
    AP_PRINTF(4, 5);

/** AP_ERROR_USAGE about one setting, which the message need not name. */
enum ap_status ap_refuse(struct ap_error *reterr, enum ap_setting setting, const char *format, ...) AP_PRINTF(3, 4);

/** Behind a failure, what may help; returns @status: `return ap_advise(reterr, AP_ADVICE_SALVAGE, ap_fail(...))`. */
enum ap_status ap_advise(struct ap_error *reterr, enum ap_advice advice, enum ap_status status);

#define AP_TEXT(literal) ((struct ap_text){ (literal), sizeof(literal) - 1 })

/** A text that borrows a string, without its NUL. */
static inline struct ap_text ap_text_of(const char *nul_terminated)
{
    return (struct ap_text){ nul_terminated, strlen(nul_terminated) };
}

/** Are all bytes the same? Most texts that differ do so in length or in the first one. */
static inline bool ap_text_equal(struct ap_text a, struct ap_text b)
{
    return a.bytes == b.bytes && (a.bytes == 0 || (a.data[0] == b.data[0] && memcmp(a.data, b.data, a.bytes) == 0));
}

/** Is it exactly this string? */
static inline bool ap_text_is(struct ap_text text, const char *nul_terminated)
{
    return ap_text_equal(text, ap_text_of(nul_terminated));
}

/** memcmp order, the shorter first where one is a prefix. */
int ap_text_compare(struct ap_text a, struct ap_text b);
/** ASCII case folded search. @needle must be lower case. */
bool ap_text_contains_folded(struct ap_text text, const char *lower_needle);
/** Case counts; @prefix may be empty. */
bool ap_text_starts_with(struct ap_text text, const char *prefix);
/** @text without the white space at its ends. */
struct ap_text ap_text_trim(struct ap_text text);
/** At most the first @most_bytes of @text, without a part of a character of UTF-8 at the end. */
struct ap_text ap_text_cut(struct ap_text text, size_t most_bytes);
/** The text up to @separator, trimmed; *rest is what follows it. False when nothing is left. */
bool ap_text_next_part(struct ap_text *rest, char separator, struct ap_text *ret_part);
/** Does @text end with @ending, or hold @part? Bytes are compared. */
bool ap_text_ends_with(struct ap_text text, const char *ending);
bool ap_text_contains(struct ap_text text, struct ap_text part);

/* Of ASCII, whatever the locale. */
static inline bool ap_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool ap_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/** Capital letters in lower case. */
static inline char ap_folded(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static inline bool ap_is_letter(char c)
{
    return ap_folded(c) >= 'a' && ap_folded(c) <= 'z';
}

/** Sum that stops at the ends of int64 and says so in *overflowed (never cleared here). */
static inline int64_t ap_add_sat(int64_t a, int64_t b, bool *overflowed)
{
    int64_t sum;
    if (AP_LIKELY(!__builtin_add_overflow(a, b, &sum)))
        return sum;
    *overflowed = true;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

/** @share, from 0 on, of @whole >= 0; at most @whole, which as a double may be more than an int64_t holds. */
static inline int64_t ap_share_of(int64_t whole, double share)
{
    return share < 1 ? (int64_t)((double)whole * share) : whole;
}

#endif
