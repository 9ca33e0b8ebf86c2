/* SPDX-License-Identifier: MIT
 * join_place.h - what a process did at a moment: which rows were open on its threads. For few moments only. */
#ifndef AP_JOIN_PLACE_H
#define AP_JOIN_PLACE_H

#include "part.h"
#include "user_frame.h"

struct ap_join_place {
    int64_t time_ns;
    uint32_t row;     /* the innermost host row that was open; AP_NO_ROW = none */
    uint32_t forward; /* in backward: the operator that made the node, by sequence number; AP_NO_ROW = not found */
    ap_link_key sequence;
};

/** Fills in all but time_ns. Of several busy threads that of autograd comes first where it runs operators, then the one that
 *  drives the run, then any other. */
void ap_join_places_find(const struct ap_part_context *context, struct ap_join_place *places, size_t count);

/** Adds step, phase, module, operator, user_line and the place of the row. */
void ap_add_join_place(const struct ap_part_context *context, struct ap_user_frames *frames,
                       const struct ap_join_place *place, struct ap_model *model, struct ap_value *to);

/** The same where nothing is known. */
void ap_add_no_join_place(struct ap_model *model, struct ap_value *to);

#endif
