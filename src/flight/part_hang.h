/* SPDX-License-Identifier: MIT
 * part_hang.h - the key "hang" of the report. */
#ifndef AP_PART_HANG_H
#define AP_PART_HANG_H

#include "hang_causes.h"
#include "flight_timing.h"
#include "model_build.h"

/** Find what the dumps tell and append "hang" to the root of @model. @top_n bounds its lists; 0 = all. */
AP_MUST_CHECK enum ap_status ap_part_hang(const struct ap_flight *flight, uint64_t top_n, struct ap_notes *notes,
                                          struct ap_model *model, struct ap_error *reterr);

/* ---- inside the room ---- */

struct ap_hang_report {
    struct ap_flight_findings findings;
    struct ap_flight_groups groups;
    struct ap_flight_order order;
    struct ap_flight_mismatches mismatches;
    struct ap_flight_pairs pairs;
    struct ap_flight_waits waits;
    struct ap_flight_timing timing;
    struct ap_hang_causes causes;
    uint64_t top_n;
};

#define AP_RANK_TEXT_BYTES 400
/** "0-2, 5": at most some dozens, and how many more there are. Ascending numbers. */
const char *ap_rank_text(const uint32_t *ranks, size_t count, char text[AP_RANK_TEXT_BYTES]);

/** Name and description of a group; null for AP_FLIGHT_NONE. */
void ap_hang_add_group_name(const struct ap_hang_report *report, uint32_t group, struct ap_model *model,
                            struct ap_value *to);
/** What an entry calls, with sizes and types; null for AP_FLIGHT_NONE. @is_other: under the keys of the odd call. */
void ap_hang_add_operation(const struct ap_hang_report *report, uint32_t entry, bool is_other, struct ap_model *model,
                           struct ap_value *to);

/** verdict, confidence, sentence, action, causes */
AP_MUST_CHECK enum ap_status ap_hang_add_causes(const struct ap_hang_report *report, struct ap_model *model,
                                                struct ap_value *to, struct ap_error *reterr);
/** Do the dumps say of all operations whether they ended? */
bool ap_hang_tells_ends(const struct ap_hang_report *report);

/** groups */
AP_MUST_CHECK enum ap_status ap_hang_add_groups(const struct ap_hang_report *report, struct ap_model *model,
                                                struct ap_value *to, struct ap_error *reterr);
/** ranks */
AP_MUST_CHECK enum ap_status ap_hang_add_ranks(const struct ap_hang_report *report, struct ap_model *model,
                                               struct ap_value *to, struct ap_error *reterr);

#endif
