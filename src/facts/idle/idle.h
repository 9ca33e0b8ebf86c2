/* SPDX-License-Identifier: MIT
 * idle.h - inside the split: what each gap is due to. */
#ifndef AP_IDLE_H
#define AP_IDLE_H

#include "device_gaps.h"
#include "split.h"

/** What tells what host threads did. */
struct ap_idle_input {
    const struct ap_trace *trace;
    const struct ap_row_order *order;
    const struct ap_host_tree *tree;
    const struct ap_links *links;
    const struct ap_steps *steps;
    uint32_t main_track;
};

/** Divides every gap of @walk among the causes: in the window, the steps and the details of the @longest, which are as many
 *  as the split has details. */
AP_MUST_CHECK enum ap_status ap_idle_attribute(struct ap_split *split, const struct ap_idle_input *input,
                                               struct ap_gap_walk walk, const struct ap_long_gap *longest,
                                               struct ap_error *reterr);

static inline bool ap_gap_in_window(const struct ap_split *split, const struct ap_gap *gap)
{
    return gap->start_ns >= split->start_ns && gap->end_ns <= split->end_ns;
}

#endif
