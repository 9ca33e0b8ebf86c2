/* SPDX-License-Identifier: MIT
 * rank_json.h - a set of summaries as JSON: whole numbers and names, each rank's rows as lists in the order of the
 * columns that
 * stand before them. Read back, it is the same set. */
#ifndef AP_RANK_JSON_H
#define AP_RANK_JSON_H

#include "json_reader.h"
#include "out.h"
#include "rank_set.h"

#define AP_RANK_JSON_VERSION 5

/** Write a set that is finished. */
AP_MUST_CHECK enum ap_status ap_rank_json_write(const struct ap_rank_set *set, struct ap_sink sink, struct ap_error *reterr);
/** Add what the document holds to @set. AP_ERROR_INPUT where it is of another version, or holds what cannot be. */
AP_MUST_CHECK enum ap_status ap_rank_json_read(struct ap_json_reader *json, struct ap_rank_set *set,
                                               struct ap_error *reterr);

#endif
