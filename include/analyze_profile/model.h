/* SPDX-License-Identifier: MIT
 * model.h - what a report contains: one ordered tree of values with units.
 * A value's name is its path of keys, "cpu.summary.time_window_us"; the JSON report prints the tree as it is, the
 * rubric and the Markdown writer look values up by path. Knows nothing of traces or of any output format. */
#ifndef ANALYZE_PROFILE_MODEL_H
#define ANALYZE_PROFILE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze_profile/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Text that may hold any byte, NUL included; valid UTF-8; not necessarily NUL-terminated. */
struct ap_text {
    const char *data;
    size_t bytes;
};

enum ap_value_type {
    AP_VALUE_NULL,    /* not known, not recorded or not defined */
    AP_VALUE_BOOL,    /* as.integer is 0 or 1 */
    AP_VALUE_COUNT,   /* as.integer, a number of things */
    AP_VALUE_BYTES,   /* as.integer, bytes */
    AP_VALUE_TIME_NS, /* as.integer, nanoseconds; JSON writes microseconds, keys end in _us */
    AP_VALUE_RATIO,   /* as.number, a share or quotient without unit */
    AP_VALUE_NUMBER,  /* as.number, unit told by the key */
    AP_VALUE_TEXT,    /* as.text */
    AP_VALUE_LITERAL, /* as.text: a JSON number or literal written as it stood in the input (ids, addresses) */
    AP_VALUE_LIST,
    AP_VALUE_OBJECT
};

struct ap_value {
    enum ap_value_type type;
    bool from_input;    /* the text, or the key, stood in an input: a name that somebody gave; else all words are ours */
    struct ap_text key; /* empty within a list */
    union {
        int64_t integer;
        double number;
        struct ap_text text;
        struct {
            struct ap_value *first, *last;
        } children;
    } as;
    struct ap_value *next; /* the next value of the same parent, in report order */
};

/** The child of an object with this key, or NULL. @object may be NULL or of any type. */
AP_API const struct ap_value *ap_value_member(const struct ap_value *object, const char *key);

/** The value at a dotted path below @root ("memory.summary.reserved_bytes"), or NULL. Lists are not entered. */
AP_API const struct ap_value *ap_value_at(const struct ap_value *root, const char *path);

/** First child of an object or list; NULL when there is none. */
AP_API const struct ap_value *ap_value_first(const struct ap_value *parent);

/** True where the value exists and is a number of any kind; *@ret_number is then in the value's own unit (ns, bytes). */
AP_API bool ap_value_number(const struct ap_value *value, double *ret_number);

/** Integer of a BOOL, COUNT, BYTES or TIME_NS value, else @otherwise. */
AP_API int64_t ap_value_integer(const struct ap_value *value, int64_t otherwise);

/** Text of a TEXT or LITERAL value, else an empty text. */
AP_API struct ap_text ap_value_text(const struct ap_value *value);

/** Children of an object or list. */
AP_API size_t ap_value_count(const struct ap_value *parent);

#ifdef __cplusplus
}
#endif

#endif
