/* SPDX-License-Identifier: MIT
 * table.h - rows of a source that are asked for, in the order that is asked for, as text, JSON or CSV. */
#ifndef AP_TABLE_H
#define AP_TABLE_H

#include "analyze_profile/analyze_profile.h"
#include "out.h"
#include "row_source.h"

/** Of the JSON of all answers: references/answer-schema.json tells what the parts mean. */
#define AP_ANSWER_VERSION "1.0"

/** @query: all but its name; @words: of the text. */
AP_MUST_CHECK enum ap_status ap_table_write(const struct ap_row_source *source, const struct ap_table_query *query,
                                            enum ap_words words, struct ap_sink sink, struct ap_error *reterr);

#endif
