/* SPDX-License-Identifier: MIT
 * copying.h - inside the export stage: where the writing of one trace stands. */
#ifndef AP_COPYING_H
#define AP_COPYING_H

#include "json_element.h"
#include "trace_copy.h"

#define AP_COPY_FIELDS(FIELD)                                   \
    FIELD(AP_COPY_PH, NULL, "ph", REPEAT)                       \
    FIELD(AP_COPY_CAT, NULL, "cat", REPEAT)                     \
    FIELD(AP_COPY_NAME, NULL, "name", WITH_QUOTES)              \
    FIELD(AP_COPY_PID, NULL, "pid", ANY)                        \
    FIELD(AP_COPY_TID, NULL, "tid", ANY)                        \
    FIELD(AP_COPY_TS, NULL, "ts", ANY)                          \
    FIELD(AP_COPY_DUR, NULL, "dur", ANY)                        \
    FIELD(AP_COPY_ID, NULL, "id", ANY)                          \
    FIELD(AP_COPY_BP, NULL, "bp", ANY)                          \
    FIELD(AP_COPY_SCOPE, NULL, "s", ANY)                        \
    FIELD(AP_COPY_ARGS_NAME, "args", "name", ANY)               \
    FIELD(AP_COPY_ARGS_LABELS, "args", "labels", ANY)           \
    FIELD(AP_COPY_ARGS_SORT, "args", "sort_index", ANY)         \
    FIELD(AP_COPY_ARGS_EXTERNAL_ID, "args", "External id", ANY) \
    FIELD(AP_COPY_ARGS_CORRELATION, "args", "correlation", ANY) \
    FIELD(AP_COPY_ARGS_DEVICE, "args", "device", ANY)           \
    FIELD(AP_COPY_ARGS_STREAM, "args", "stream", ANY)           \
    FIELD(AP_COPY_ARGS_BYTES, "args", "bytes", ANY)
enum ap_copy_field { AP_COPY_FIELDS(AP_JSON_FIELD_ID) AP_COPY_FIELD_COUNT_, AP_COPY_ARGS_FIRST_ = AP_COPY_ARGS_NAME };
extern const struct ap_json_field ap_copy_fields[AP_COPY_FIELD_COUNT_];

/** Stretches of time whose events are wanted: in order, not touching each other. */
struct ap_copy_windows {
    struct ap_gate *gate;
    struct ap_copy_slice *windows;
    size_t count, capacity;
    const char *around; /* what they surround, for the reader of the file */
};

/** Around the findings; where none has a place, around the longest gaps of the GPU; without gaps around the longest steps;
 * without these all. */
AP_MUST_CHECK enum ap_status ap_copy_windows_init(struct ap_copy_windows *windows, const struct ap_overlay *overlay,
                                                  struct ap_error *reterr);
/** The one that was asked for. */
AP_MUST_CHECK enum ap_status ap_copy_windows_slice(struct ap_copy_windows *windows, struct ap_gate *gate,
                                                   const struct ap_copy_slice *slice, struct ap_error *reterr);
void ap_copy_windows_release(struct ap_copy_windows *windows);
/** Does the span from @start_ns to @end_ns touch a window? */
bool ap_copy_windows_meet(const struct ap_copy_windows *windows, int64_t start_ns, int64_t end_ns);

/** Tracks with B events that wait for their E: what is written has both or none. */
struct ap_copy_open {
    struct ap_gate *gate;
    struct ap_strpool names; /* pid and tid, as JSON members */
    uint64_t *depths;        /* by id of name */
    size_t count, capacity;
    int64_t last_ns; /* latest time written */
};

struct ap_copying {
    const struct ap_trace_copy_options *options;
    struct ap_json_reader *json;
    struct ap_notes *notes;
    struct ap_element_reader *elements;
    struct ap_json_span spans[AP_COPY_FIELD_COUNT_ + 1];
    struct ap_copy_windows windows;
    struct ap_copy_open open;
    struct ap_out out;
    char *decoded; /* scratch: a string without its escapes */
    size_t decoded_capacity;
    bool of_devices;      /* what is written are the properties of the devices: their names stay */
    uint64_t header_seen; /* bits: header members that are written already */
    uint64_t arrays;      /* traceEvents members met */
    bool any_member, any_event;
    uint64_t read_count, copied_count, rewritten_count, broken_count, over_limit_count, copied_bytes;
    bool input_ended_early;
};

/** Begin a member of the document: comma, key, colon. */
void ap_copying_member(struct ap_copying *copying, const char *key);
/** Begin an element of traceEvents. */
void ap_copying_element(struct ap_copying *copying);
/** Decide about the event in copying->spans and write it. */
AP_MUST_CHECK enum ap_status ap_copy_event(struct ap_copying *copying, uint64_t offset_bytes, bool clean,
                                           struct ap_error *reterr);
/** Write a text of the input, without names where that is wanted. */
AP_MUST_CHECK enum ap_status ap_copy_text(struct ap_copying *copying, struct ap_text text, struct ap_error *reterr);
/** Write valid JSON of the input with all its texts and keys redacted. */
AP_MUST_CHECK enum ap_status ap_copy_redacted(struct ap_copying *copying, struct ap_text raw, struct ap_error *reterr);
/** E events for all B events that still wait. */
AP_MUST_CHECK enum ap_status ap_copy_close_open(struct ap_copying *copying, struct ap_error *reterr);
/** A member of the document other than traceEvents: read it, and write it where it is one of those that are kept. */
AP_MUST_CHECK enum ap_status ap_copy_header_member(struct ap_copying *copying, struct ap_text key, struct ap_error *reterr);
/** The process of our own with its tracks. */
AP_MUST_CHECK enum ap_status ap_copy_overlay(struct ap_copying *copying, struct ap_error *reterr);

#endif
