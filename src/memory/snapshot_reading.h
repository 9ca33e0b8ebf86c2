/* SPDX-License-Identifier: MIT
 * snapshot_reading.h - inside the memory stage: what the parts of the snapshot reader share. */
#ifndef AP_SNAPSHOT_READING_H
#define AP_SNAPSHOT_READING_H

#include "json_element.h"
#include "snapshot.h"

struct ap_reading {
    struct ap_json_reader *json;
    struct ap_notes *notes;
    struct ap_snapshot *to;
    struct ap_element_reader *entries; /* of the histories; NULL until the first one */
    uint32_t foreign_marks;            /* keys met that tell other documents */
    bool recognized;                   /* something that only a snapshot has was met */
    uint64_t trace_at_bytes;           /* + 1: events of a trace in the same document; 0 = none */
    bool segments_whole;               /* the list of segments was read to its end */
    bool segments_begun;
    bool refused; /* the failure is ours: the document is something else */
};

/** An object's known keys: the index of the key in @keys, or @count. Writers keep one order, so the search starts
 *  behind the key that was found last: *next is that place, kept by the caller. */
unsigned ap_reading_key(const struct ap_json_token *key, const char *const *keys, unsigned count, unsigned *next);

/* After a key: its value. Each reads the value whole, whatever it is. */

/** Any value's first token; a container is read past, its token tells its kind. */
AP_MUST_CHECK enum ap_status ap_reading_scalar(struct ap_reading *reading, struct ap_json_token *ret_token,
                                               struct ap_error *reterr);
/** A number of bytes; not known, and counted as odd, where it is no whole number. */
AP_MUST_CHECK enum ap_status ap_reading_size(struct ap_reading *reading, int64_t *ret_bytes, bool *ret_known,
                                             struct ap_error *reterr);
/** No memory of a device or a host lies in the upper half, which negative numbers fall into. */
static inline bool ap_is_address(uint64_t address)
{
    return address <= INT64_MAX;
}

/** An address, a stream, a pool id: whole and at most 64 bits; not counted where it is not. The token is handed on. */
AP_MUST_CHECK enum ap_status ap_reading_id(struct ap_reading *reading, uint64_t *ret_id, bool *ret_known,
                                           struct ap_json_token *ret_token, struct ap_error *reterr);
/** Microseconds since the epoch, as nanoseconds; not known, and counted as odd, where it is no such number. */
AP_MUST_CHECK enum ap_status ap_reading_time(struct ap_reading *reading, int64_t *ret_ns, bool *ret_known,
                                             struct ap_error *reterr);
/** Like ap_taken_name. *@ret_is_text tells whether it was a string. */
AP_MUST_CHECK enum ap_status ap_reading_name(struct ap_reading *reading, struct ap_str *ret_name, bool *ret_is_text,
                                             struct ap_error *reterr);
/** The token of a number or string as interned text, for what is shown as written; absent for anything else. */
AP_MUST_CHECK enum ap_status ap_reading_intern(struct ap_reading *reading, const struct ap_json_token *token,
                                               struct ap_str *ret_str, struct ap_error *reterr);
/** Enter a container: AP_OK when the value is of that kind; else it is read past, counted, and AP_END. */
AP_MUST_CHECK enum ap_status ap_reading_enter(struct ap_reading *reading, enum ap_json_kind kind, struct ap_error *reterr);
/** A list of stack frames: its stack; 0 where it is empty, or too long to be kept. */
AP_MUST_CHECK enum ap_status ap_reading_frames(struct ap_reading *reading, uint32_t *ret_stack, struct ap_error *reterr);
/** The same from its text, which is valid JSON. */
AP_MUST_CHECK enum ap_status ap_taken_frames(struct ap_reading *reading, struct ap_text json, uint32_t *ret_stack,
                                             struct ap_error *reterr);

/* A value that was read already, as its token tells it. */

/** A size. False, and counted, where it is no whole number; *@ret_bytes is 0 then. A negative one is counted too. */
bool ap_taken_size(struct ap_reading *reading, const struct ap_json_token *token, int64_t *ret_bytes);
/** Microseconds since the Unix epoch. False, and counted, where it is no number or out of range. */
bool ap_taken_time(struct ap_reading *reading, const struct ap_json_token *token, int64_t *ret_ns);
/** A name: a string, or what Python's str() makes of another scalar. Containers become "unknown", counted. */
AP_MUST_CHECK enum ap_status ap_taken_name(struct ap_reading *reading, const struct ap_json_token *token,
                                           struct ap_str *ret_name, struct ap_error *reterr);
/** The number of a whole token up to 2^64-1, or down to -2^63 as two's complement. */
bool ap_reading_whole(const struct ap_json_token *token, uint64_t *ret_number);

/* The parts of the document; each begins after its key, but the segment, which begins after its '{'. */
AP_MUST_CHECK enum ap_status ap_reading_segment(struct ap_reading *reading, uint64_t offset_bytes, struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_reading_histories(struct ap_reading *reading, struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_reading_annotations(struct ap_reading *reading, struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_reading_settings(struct ap_reading *reading, struct ap_error *reterr);

/** Once all is read: count segments and blocks that lie over each other, or blocks outside their segment. */
AP_MUST_CHECK enum ap_status ap_reading_check_places(const struct ap_reading *reading, struct ap_error *reterr);
/** Takes their time from entries of a history that cannot be of its run. */
AP_MUST_CHECK enum ap_status ap_reading_leave_strays(const struct ap_reading *reading, struct ap_error *reterr);

/* Other documents that are given as a snapshot by mistake. */

/** Remember a key that a snapshot does not have. */
void ap_foreign_key(struct ap_reading *reading, const struct ap_json_token *key);
/** Remember that the document is a list whose first element is a list. */
void ap_foreign_list_of_lists(struct ap_reading *reading);
struct ap_foreign {
    const char *says; /* what the document is */
    enum ap_advice advice;
};
/** What the remembered keys say; NULL when they say nothing. */
const struct ap_foreign *ap_foreign_document(const struct ap_reading *reading);

#endif
