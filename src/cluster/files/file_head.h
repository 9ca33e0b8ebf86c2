/* SPDX-License-Identifier: MIT
 * file_head.h - what a file is, and of which rank and host, by the members that stand before its bulk. Told by the first
 * member that only one kind of document has, never by the name of the file. */
#ifndef AP_FILE_HEAD_H
#define AP_FILE_HEAD_H

#include "input.h"
#include "other_format.h"

enum ap_file_kind {
    AP_FILE_other,
    AP_FILE_trace,
    AP_FILE_snapshot,
    AP_FILE_flight,  /* a dump of the flight recorder */
    AP_FILE_summary, /* what this program keeps of ranks */
    AP_FILE_report,  /* a report of this program */
    AP_FILE_profile, /* of another profiler */
    AP_FILE_KIND_COUNT_
};

#define AP_FILE_HOST_BYTES 128

struct ap_file_head {
    enum ap_file_kind kind;
    enum ap_other_format format;   /* of AP_FILE_profile */
    int64_t rank, world_size;      /* -1 = not told so far */
    char host[AP_FILE_HOST_BYTES]; /* "" = likewise */
};

/** Look at the document that @json is about to read. A failure behind the member that tells the kind is none: the file is
 *  what it is. One that is told by name alone is AP_ERROR_INPUT, with what to do. */
AP_MUST_CHECK enum ap_status ap_file_look(struct ap_json_reader *json, struct ap_file_head *ret_head,
                                          struct ap_error *reterr);
/** The same of an input that was probed, which may be a text: @input was opened with accepts_logs. */
AP_MUST_CHECK enum ap_status ap_file_look_at_input(struct ap_gate *gate, struct ap_input *input, size_t window_bytes,
                                                   struct ap_notes *notes, struct ap_file_head *ret_head,
                                                   struct ap_error *reterr);
/** As the report writes it: "trace". */
const char *ap_file_kind_name(enum ap_file_kind kind);

#endif
