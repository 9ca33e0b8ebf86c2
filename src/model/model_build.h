/* SPDX-License-Identifier: MIT
 * model_build.h - fills the tree of model.h. A refused allocation is remembered, not returned: builders append
 * freely (values then vanish into a spare one) and check ap_model_status() once at the end.
 * Text is copied, and so are keys that come from an input, so nothing of it needs to live on. */
#ifndef AP_MODEL_BUILD_H
#define AP_MODEL_BUILD_H

#include "mem.h"
#include "notes.h"
#include "stretches.h"

/** Where in time the rows lie that a figure of the report stands on: of @path itself and of all below it. No part of the
 *  report; findings that are about the same time are told by it. */
struct ap_model_time {
    struct ap_model_time *next;
    const char *path; /* "habits.recompute" */
    struct ap_stretches stretches;
};

struct ap_model {
    struct ap_arena arena;
    struct ap_model_time *times;
    struct ap_value root; /* an object */
    uint64_t cut_texts;   /* that did not stay whole */
    bool failed;
    struct ap_value spare; /* where values go after a failure */
};

/** A tree with an empty object as its root. Memory comes from @gate. */
void ap_model_init(struct ap_model *model, struct ap_gate *gate);
void ap_model_release(struct ap_model *model);
/** AP_ERROR_MEMORY where anything that was added so far found no room. */
AP_MUST_CHECK enum ap_status ap_model_status(const struct ap_model *model, struct ap_error *reterr);

/** ap_value_member for a key that does not end with a zero byte. */
const struct ap_value *ap_value_member_of(const struct ap_value *object, struct ap_text key);
/** ap_value_at for a path that does not end with a zero byte. */
const struct ap_value *ap_value_below(const struct ap_value *root, struct ap_text path);
/** ap_value_text and ap_value_integer of what stands at a key or a path. */
struct ap_text ap_text_member(const struct ap_value *object, const char *key);
struct ap_text ap_text_at(const struct ap_value *root, const char *path);
int64_t ap_integer_member(const struct ap_value *object, const char *key, int64_t otherwise);
int64_t ap_integer_at(const struct ap_value *root, const char *path, int64_t otherwise);
/** Append the values of @from's root to that of @model, which owns them from then on; @from is empty afterwards. */
void ap_model_adopt(struct ap_model *model, struct ap_model *from);

/** Keep the stretches for the figures at @path; they are the model's from then on, and empty afterwards. */
void ap_model_keep_time(struct ap_model *model, const char *path, struct ap_stretches *stretches);
/** The stretches that the figure stands on; NULL where they are not known. */
struct ap_stretches *ap_model_time_of(const struct ap_model *model, const char *path);

/* Each call adds one value at the end of @parent: an object (give a key) or a list (key NULL). Keys are literals: they are
 * not copied. */
struct ap_value *ap_add_object(struct ap_model *model, struct ap_value *parent, const char *key);
struct ap_value *ap_add_list(struct ap_model *model, struct ap_value *parent, const char *key);
void ap_add_null(struct ap_model *model, struct ap_value *parent, const char *key);
void ap_add_bool(struct ap_model *model, struct ap_value *parent, const char *key, bool value);
void ap_add_count(struct ap_model *model, struct ap_value *parent, const char *key, int64_t count);
void ap_add_bytes(struct ap_model *model, struct ap_value *parent, const char *key, int64_t bytes);
void ap_add_time(struct ap_model *model, struct ap_value *parent, const char *key, int64_t ns);
/** null where the denominator is 0 */
void ap_add_quotient(struct ap_model *model, struct ap_value *parent, const char *key, double over, double under);
void ap_add_ratio(struct ap_model *model, struct ap_value *parent, const char *key, double ratio);
void ap_add_number(struct ap_model *model, struct ap_value *parent, const char *key, double number);
/** A number with a unit of its own (so many of these for each of those), where a quotient is a share; null
 *  where the denominator is not above 0. */
void ap_add_number_per(struct ap_model *model, struct ap_value *parent, const char *key, double over, double under);
/** A figure again, in its unit; null for NULL and for what is no figure. */
void ap_add_figure(struct ap_model *model, struct ap_value *parent, const char *key, const struct ap_value *figure);
/** The value again, with its key and all that is below it, from another tree. */
void ap_add_copy(struct ap_model *model, struct ap_value *parent, const struct ap_value *value);
/** Of more than 8 KiB the beginning, with "..." behind it; counted in model->cut_texts. */
void ap_add_text(struct ap_model *model, struct ap_value *parent, const char *key, struct ap_text text);
void ap_add_string(struct ap_model *model, struct ap_value *parent, const char *key, const char *text);
void ap_add_literal(struct ap_model *model, struct ap_value *parent, const char *key, struct ap_text json_literal);
/** The same where @is_known, else null. The value may be anything then. */
void ap_add_known_bool(struct ap_model *model, struct ap_value *parent, const char *key, bool is_known, bool value);
void ap_add_known_count(struct ap_model *model, struct ap_value *parent, const char *key, bool is_known, int64_t count);
void ap_add_known_bytes(struct ap_model *model, struct ap_value *parent, const char *key, bool is_known, int64_t bytes);
void ap_add_known_time(struct ap_model *model, struct ap_value *parent, const char *key, bool is_known, int64_t ns);
void ap_add_known_ratio(struct ap_model *model, struct ap_value *parent, const char *key, bool is_known, double ratio);
void ap_add_known_number(struct ap_model *model, struct ap_value *parent, const char *key, bool is_known, double number);
void ap_add_known_text(struct ap_model *model, struct ap_value *parent, const char *key, bool is_known, struct ap_text text);
void ap_add_known_literal(struct ap_model *model, struct ap_value *parent, const char *key, bool is_known,
                          struct ap_text json_literal);
void ap_add_known_string(struct ap_model *model, struct ap_value *parent, const char *key, bool is_known, const char *text);
/** The same for keys that come from an input (allocator actions, segment types); a text stays whole. */
struct ap_value *ap_add_object_named(struct ap_model *model, struct ap_value *parent, struct ap_text key);
void ap_add_count_named(struct ap_model *model, struct ap_value *parent, struct ap_text key, int64_t count);
void ap_add_text_named(struct ap_model *model, struct ap_value *parent, struct ap_text key, struct ap_text text);
void ap_add_number_named(struct ap_model *model, struct ap_value *parent, struct ap_text key, double number);

/** Append the non-zero counters of one input to the list "warnings" of the root: code, severity, input, message,
 *  count, first_byte_offset. */
void ap_add_warnings(struct ap_model *model, struct ap_value *warnings, const char *input, const struct ap_notes *notes);

#endif
