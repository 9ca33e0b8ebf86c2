/* SPDX-License-Identifier: MIT
 * summary_rows.h - what all lists of a file of summaries are read by: rows of whole numbers, in which names stand as their
 * places in a list of names. */
#ifndef AP_SUMMARY_ROWS_H
#define AP_SUMMARY_ROWS_H

#include "json_reader.h"
#include "strpool.h"

/** The names of one list, by place. Zeroed at first. */
struct ap_summary_names {
    struct ap_str *list;
    size_t count, capacity;
};

/** The refusal of what is not as this version writes it, at the place that was read last. */
enum ap_status ap_summary_refuse(const struct ap_json_reader *json, const char *what, struct ap_error *reterr);
/** The beginning of a list or object. */
AP_MUST_CHECK enum ap_status ap_summary_expect(struct ap_json_reader *json, enum ap_json_kind kind, struct ap_error *reterr);
/** The numbers of a row whose beginning was read: exactly @width, each whole. */
AP_MUST_CHECK enum ap_status ap_summary_read_row(struct ap_json_reader *json, int64_t *values, size_t width,
                                                 struct ap_error *reterr);
/** A list of texts, which go to @pool. */
AP_MUST_CHECK enum ap_status ap_summary_read_names(struct ap_json_reader *json, struct ap_strpool *pool,
                                                   struct ap_gate *gate, struct ap_summary_names *names,
                                                   struct ap_error *reterr);
/** The name at @place, 0 = none; false where there is no such place. */
bool ap_summary_name(const struct ap_summary_names *names, int64_t place, struct ap_str *ret_name);
void ap_summary_names_release(struct ap_summary_names *names, struct ap_gate *gate);

#endif
