/* SPDX-License-Identifier: MIT
 * base.h - what every file of the project may use: attributes, error building, small integer helpers. */
#ifndef AP_BASE_H
#define AP_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze_profile/error.h"
#include "analyze_profile/model.h" /* struct ap_text */

#define AP_MUST_CHECK __attribute__((warn_unused_result))
#define AP_PRINTF(format_index, first_index) __attribute__((format(printf, format_index, first_index)))
#define AP_LIKELY(x) __builtin_expect(!!(x), 1)
#define AP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define AP_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#define AP_TRY(call)                                   \
    do {                                               \
        enum ap_status ap_try_status_ = (call);        \
        if (AP_UNLIKELY(ap_try_status_ != AP_OK))      \
            return ap_try_status_;                     \
    } while (0)

/** Fill *reterr and return @status, so that a failing function can end with `return ap_fail(...)`. */
enum ap_status ap_fail(struct ap_error *reterr, enum ap_status status, const char *format, ...) AP_PRINTF(3, 4);

/** The same, with the byte of the decompressed input at which it went wrong. */
enum ap_status ap_fail_at(struct ap_error *reterr, enum ap_status status, uint64_t offset_bytes, const char *format,
                          ...) AP_PRINTF(4, 5);

#define AP_TEXT(literal) ((struct ap_text){ (literal), sizeof(literal) - 1 })

struct ap_text ap_text_of(const char *nul_terminated);
bool ap_text_equal(struct ap_text a, struct ap_text b);
bool ap_text_is(struct ap_text text, const char *nul_terminated);
/** memcmp order, the shorter first where one is a prefix. */
int ap_text_compare(struct ap_text a, struct ap_text b);
/** ASCII case folded search. @needle must be lower case. */
bool ap_text_contains_folded(struct ap_text text, const char *lower_needle);
bool ap_text_starts_with(struct ap_text text, const char *prefix);

/** Sum that stops at the ends of int64 and says so in *overflowed (never cleared here). */
static inline int64_t ap_add_sat(int64_t a, int64_t b, bool *overflowed)
{
    int64_t sum;
    if (AP_LIKELY(!__builtin_add_overflow(a, b, &sum)))
        return sum;
    *overflowed = true;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

#endif
