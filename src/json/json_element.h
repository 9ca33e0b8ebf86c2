/* SPDX-License-Identifier: MIT
 * json_element.h - reads the objects of one array when all are wanted alike and fast.
 *
 * Writers repeat one layout for hundreds of thousands of objects. The reader learns the text that stands between two
 * values ("gap": comma, white space, key, colon, opening quote) together with what followed it last time. Where the next
 * object repeats it, comparing the bytes IS the validation; where it does not, the gap is parsed by the grammar and
 * learned. Any key order and any white space give the same result, only at another speed. */
#ifndef AP_JSON_ELEMENT_H
#define AP_JSON_ELEMENT_H

#include "json_reader.h"

/** A wanted member: of the element itself (@parent NULL) or of the object that is the element's member @parent. */
struct ap_json_field {
    const char *parent, *key;
    enum ap_json_strings {
        AP_STRINGS_ANY,
        AP_STRINGS_REPEAT,     /* few short ones, that stand in most elements: quick where they come first */
        AP_STRINGS_WITH_QUOTES /* whose quotation marks some writers forgot to escape: recovered and counted */
    } strings;
};

/** A list of fields is a macro that names these for each, for its enum and for its array:
 * #define FIELDS(FIELD) FIELD(id, parent or NULL, key, strings) ... */
#define AP_JSON_FIELD_ID(id, parent, key, strings) id,
#define AP_JSON_FIELD(id, parent, key, strings) { parent, key, AP_STRINGS_##strings },

/** A member's value as it stands in the input, borrowed until the next element. */
struct ap_json_span {
    const char *text; /* strings: without the quotes; containers: the whole text */
    uint32_t bytes;
    uint8_t kind;   /* AP_SPAN_ABSENT or an enum ap_json_kind: STRING, NUMBER, ..., OBJECT_BEGIN, ARRAY_BEGIN */
    uint8_t decode; /* a string that differs from its raw text: use ap_json_element_text */
};
#define AP_SPAN_ABSENT 255

enum ap_element_outcome {
    AP_ELEMENT_READ,
    AP_ELEMENT_NOT_OBJECT, /* the element is something else; it was skipped */
    AP_ELEMENT_TOO_LARGE,  /* larger than limits.token_bytes; it was skipped */
    AP_ELEMENT_AHEAD       /* nothing was read: the next elements were read ahead (json_ahead.h) */
};

struct ap_element_reader;

/** To read the elements of the array that @json stands in; @fields is borrowed. Nothing is left behind on failure. */
AP_MUST_CHECK enum ap_status ap_element_reader_new(struct ap_json_reader *json, const struct ap_json_field *fields,
                                                   unsigned field_count, struct ap_element_reader **ret_element,
                                                   struct ap_error *reterr);
void ap_element_reader_free(struct ap_element_reader *element);

/** Within an array: read the next element. AP_END once ']' was read. @spans has field_count + 1 elements, the last of which
 * is scratch; while an array is read nobody else writes to them. *ret_offset is the element's first byte. A comma before ']'
 * is accepted and counted in an array that holds an object. */
AP_MUST_CHECK enum ap_status ap_element_next(struct ap_element_reader *element, struct ap_json_span *spans,
                                             enum ap_element_outcome *ret_outcome, uint64_t *ret_offset,
                                             struct ap_error *reterr);

/** After AP_ERROR_CUT: did the input end between two elements of the array, its container whole? Then only the closing
 *  bracket is missing. */
bool ap_element_at_boundary(const struct ap_element_reader *element);

/** The decoded text of a string span; other kinds: as written. Borrowed until the next call or element. */
AP_MUST_CHECK enum ap_status ap_element_text(struct ap_element_reader *element, const struct ap_json_span *span,
                                             struct ap_text *ret_text, struct ap_error *reterr);

/** After AP_ELEMENT_READ: the object from brace to brace as it stands in the input; @offset_bytes as ap_element_next told
 *  it. Borrowed until the next element. */
struct ap_text ap_element_raw(const struct ap_element_reader *element, uint64_t offset_bytes);

#endif
