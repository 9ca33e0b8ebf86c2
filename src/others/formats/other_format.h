/* SPDX-License-Identifier: MIT
 * other_format.h - which files of other profilers there are, and how each is told from all else by its content. Knows signs
 * and names, and reads no more than they need. */
#ifndef AP_OTHER_FORMAT_H
#define AP_OTHER_FORMAT_H

#include "json_reader.h"

enum ap_other_format {
    AP_OTHER_none,
#define AP_OTHER(id, key, name) AP_OTHER_##id,
#define AP_OTHER_NAMED(id, name, advice) AP_OTHER_##id,
#define AP_OTHER_SIGN(where, key, id)
#include "other_format.def"
#undef AP_OTHER
#undef AP_OTHER_NAMED
#undef AP_OTHER_SIGN
    AP_OTHER_COUNT_
};

/** "ONNX Runtime profile"; NULL for AP_OTHER_none. */
const char *ap_other_name(enum ap_other_format format);
/** The key of the report that tells of it; NULL where none does: it is told by name alone. */
const char *ap_other_key(enum ap_other_format format);
/** What to do with a file that is told by name alone; NULL for others. */
const char *ap_other_advice(enum ap_other_format format);

/** A member of the document, or of an object in the array that is the document. */
enum ap_other_where { AP_OTHER_DOCUMENT, AP_OTHER_ELEMENT };

/** What was met in one object so far. */
struct ap_other_seen {
    bool schema, nodes;                   /* of a document */
    bool dimensions, values;              /* of an element */
    bool is_event, has_category, is_node; /* of an element: ph, and cat and name as ONNX Runtime has them */
};

/** After a key, whose value is read: what the object is by now, AP_OTHER_none for anything or nothing. */
AP_MUST_CHECK enum ap_status ap_other_look(struct ap_json_reader *json, enum ap_other_where where, struct ap_text key,
                                           struct ap_other_seen *seen, enum ap_other_format *ret_format,
                                           struct ap_error *reterr);

/** Behind the '[' of the first array in the array that is the document: is that a memory timeline, raw rows of four
 *  numbers or a list of times and one of sizes? Reads the array, and the one behind it where it must. */
AP_MUST_CHECK enum ap_status ap_other_look_at_rows(struct ap_json_reader *json, enum ap_other_format *ret_format,
                                                   struct ap_error *reterr);

#endif
