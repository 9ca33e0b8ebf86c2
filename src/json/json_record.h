/* SPDX-License-Identifier: MIT
 * json_record.h - reads the objects of one array when all are wanted alike and fast.
 *
 * Writers repeat one layout for hundreds of thousands of objects. The reader learns the text that stands between two
 * values ("gap": comma, white space, key, colon, opening quote) together with what followed it last time. Where the next
 * object repeats it, comparing the bytes IS the validation; where it does not, the gap is parsed by the grammar and
 * learned. Any key order and any white space give the same result, only at another speed. */
#ifndef AP_JSON_RECORD_H
#define AP_JSON_RECORD_H

#include "json_reader.h"

#define AP_RECORD_MAX_FIELDS 64

/** A wanted member: of the record itself (@parent NULL) or of the object that is the record's member @parent. */
struct ap_json_field {
    const char *parent, *key;
    bool may_hold_quotes; /* a string whose quotation marks some writers forgot to escape: recovered and counted */
};

/** A member's value as it stands in the input, borrowed until the next record. */
struct ap_json_span {
    const char *text; /* strings: without the quotes; containers: the whole text */
    uint32_t bytes;
    uint8_t kind;   /* AP_SPAN_ABSENT or an enum ap_json_kind: STRING, NUMBER, ..., OBJECT_BEGIN, ARRAY_BEGIN */
    uint8_t decode; /* a string that differs from its raw text: use ap_json_record_text */
};
#define AP_SPAN_ABSENT 255

enum ap_record_outcome {
    AP_RECORD_READ,
    AP_RECORD_NOT_OBJECT, /* the element is something else; it was skipped */
    AP_RECORD_TOO_LARGE,  /* larger than limits.token_bytes; it was skipped */
    AP_RECORD_AHEAD       /* nothing was read: the next records were read ahead (json_ahead.h) */
};

struct ap_record_reader;

/** To read the elements of the array that @json stands in; @fields is borrowed. Nothing is left behind on failure. */
AP_MUST_CHECK enum ap_status ap_record_reader_new(struct ap_json_reader *json, const struct ap_json_field *fields,
                                                  unsigned field_count, struct ap_record_reader **ret_record,
                                                  struct ap_error *reterr);
void ap_record_reader_free(struct ap_record_reader *record);

/** Within an array: read the next element. AP_END once ']' was read. @spans has field_count + 1 elements, the last of which
 * is scratch. *ret_offset is the element's first byte. A comma before ']' is accepted and counted in an array that holds an
 * object. */
AP_MUST_CHECK enum ap_status ap_record_next(struct ap_record_reader *record, struct ap_json_span *spans,
                                            enum ap_record_outcome *ret_outcome, uint64_t *ret_offset,
                                            struct ap_error *reterr);

/** After AP_ERROR_CUT: did the input end between two elements of the array, its container whole? Then only the closing
 *  bracket is missing. */
bool ap_record_at_boundary(const struct ap_record_reader *record);

/** The decoded text of a string span; other kinds: as written. Borrowed until the next call or record. */
AP_MUST_CHECK enum ap_status ap_record_text(struct ap_record_reader *record, const struct ap_json_span *span,
                                            struct ap_text *ret_text, struct ap_error *reterr);

/** After AP_RECORD_READ: the object from brace to brace as it stands in the input; @offset_bytes as ap_record_next told it.
 *  Borrowed until the next record. */
struct ap_text ap_record_raw(const struct ap_record_reader *record, uint64_t offset_bytes);

#endif
