/* SPDX-License-Identifier: MIT
 * flight_reading.h - inside the flight room: what the parts of the reader share. */
#ifndef AP_FLIGHT_READING_H
#define AP_FLIGHT_READING_H

#include "flight.h"
#include "json_cursor.h"
#include "json_element.h"

/** One record of the Inspector, as far as it was read. */
struct ap_inspector_record {
    struct ap_str communicator, communicator_name, operation, host;
    int64_t rank, rank_count, process_id, sequence, size_bytes, duration_ns; /* -1 = not told */
    bool has_operation, is_p2p;
};

struct ap_flight_reading {
    struct ap_flight *flight;
    struct ap_json_reader *json;
    struct ap_notes *notes;
    const struct ap_flight_source *source;
    struct ap_element_reader *entries; /* NULL until the first list */
    bool dump_begun;                   /* of the document at hand: the last one of flight->dumps */
    bool recognized;                   /* something that only these files have was met */
    bool looks_like_trace, looks_like_snapshot;
    int64_t own_rank; /* that the document at hand tells; -1 = none so far */
    struct ap_inspector_record record;
};

/** The dump of the document that is read; begun where it was not. */
AP_MUST_CHECK enum ap_status ap_flight_begin_dump(struct ap_flight_reading *reading, struct ap_error *reterr);

/* After a key, each reads the value whole, whatever it is. */
AP_MUST_CHECK enum ap_status ap_flight_scalar(struct ap_flight_reading *reading, struct ap_json_token *ret_token,
                                              struct ap_error *reterr);
/** A text; absent for anything else. */
AP_MUST_CHECK enum ap_status ap_flight_name(struct ap_flight_reading *reading, struct ap_str *ret_name,
                                            struct ap_error *reterr);
/** A whole number, also written as a text; unchanged where it is none. */
AP_MUST_CHECK enum ap_status ap_flight_number(struct ap_flight_reading *reading, int64_t *number, struct ap_error *reterr);
/** Enter an object: AP_END where the value is something else, which is read past and counted. */
AP_MUST_CHECK enum ap_status ap_flight_enter(struct ap_flight_reading *reading, struct ap_error *reterr);

/** "entries": its list. */
AP_MUST_CHECK enum ap_status ap_flight_read_entries(struct ap_flight_reading *reading, struct ap_error *reterr);
/** The same, behind its '['. */
AP_MUST_CHECK enum ap_status ap_flight_read_list(struct ap_flight_reading *reading, struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_flight_read_config(struct ap_flight_reading *reading, struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_flight_read_status(struct ap_flight_reading *reading, struct ap_error *reterr);

/* Of the Inspector. Some tools write all members of a record into one object, others into "header", "metadata" and one for
 * the operation: each is taken where it stands. */

/** What was told of the process stays, since later records may not tell it again. */
void ap_inspector_begin_record(struct ap_inspector_record *record);
/** The value behind @key, whatever it is. */
AP_MUST_CHECK enum ap_status ap_inspector_read_member(struct ap_flight_reading *reading, struct ap_text key,
                                                      struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_inspector_read_object(struct ap_flight_reading *reading, struct ap_error *reterr);
/** What the members of a record come to. */
AP_MUST_CHECK enum ap_status ap_inspector_take_record(struct ap_flight_reading *reading, struct ap_error *reterr);

#endif
