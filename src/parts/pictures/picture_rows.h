/* SPDX-License-Identifier: MIT
 * picture_rows.h - what a timeline shows at first, and which rows are to be had beyond. Private to src/parts/pictures. */
#ifndef AP_PICTURE_ROWS_H
#define AP_PICTURE_ROWS_H

#include "part.h"

struct ap_picture_view {
    int64_t start_ns, end_ns;
    const struct ap_gap_detail *gap; /* the longest within; NULL = none worth it */
    const char *about;
    uint32_t step_row;                      /* that marks the step; AP_NO_ROW = it is none */
    const struct ap_value *finding, *place; /* the first, where it lies within; NULL = it does not */
};

/** The whole step that the first finding points into; where it points nowhere, or at many, the median steady step; all of
 *  the recording where there are no steps. */
AP_MUST_CHECK enum ap_status ap_picture_view_choose(const struct ap_part_context *context, const struct ap_model *model,
                                                    struct ap_picture_view *ret_view, struct ap_error *reterr);

#define AP_MOST_MORE_ROWS 6000u

/** Rows for readers who zoom or go elsewhere: the longest around each finding, of the step, and of the recording. Free with
 *  AP_FREE(gate, list, AP_MOST_MORE_ROWS). */
AP_MUST_CHECK enum ap_status ap_picture_more_rows(const struct ap_part_context *context, const struct ap_model *model,
                                                  const struct ap_picture_view *view, uint32_t **ret_list, size_t *ret_count,
                                                  struct ap_error *reterr);

/** The first place of @finding, which may be NULL, in time; NULL where it has none, and of remarks. */
const struct ap_value *ap_picture_place(const struct ap_value *finding);

#endif
