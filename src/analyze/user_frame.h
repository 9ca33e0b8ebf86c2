/* SPDX-License-Identifier: MIT
 * user_frame.h - which Python frames are lines of the user's, and the one that stands behind a host row. What counts as a
 * library is told by library_frames.def. */
#ifndef AP_USER_FRAME_H
#define AP_USER_FRAME_H

#include "host_tree.h"
#include "name_pattern.h"

/** Distinct names are looked at once, when they are first asked for. */
struct ap_user_frames {
    struct ap_gate *gate;
    const struct ap_trace *trace;
    struct ap_name_patterns library;
    uint8_t *kinds; /* by name id */
    size_t count;
};

/** @frames may be released after a failure too. No name may be interned while it is in use. */
AP_MUST_CHECK enum ap_status ap_user_frames_init(struct ap_user_frames *frames, const struct ap_trace *trace,
                                                 struct ap_gate *gate, struct ap_error *reterr);
void ap_user_frames_release(struct ap_user_frames *frames);

/** Is a Python row of this name a line of the user's? */
bool ap_is_user_frame(struct ap_user_frames *frames, uint32_t name);
/** Is a Python row of this name the call of an nn.Module? */
bool ap_is_module_frame(struct ap_user_frames *frames, uint32_t name);

/** The innermost Python row of the user's that was open when @row (which may be AP_NO_ROW) began; @row itself where it is
 *  one; AP_NO_ROW where there is none. Walks up: for few rows only. */
uint32_t ap_user_frame_of(struct ap_user_frames *frames, const struct ap_host_tree *tree, uint32_t row);

#endif
