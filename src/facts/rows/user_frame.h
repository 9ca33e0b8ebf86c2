/* SPDX-License-Identifier: MIT
 * user_frame.h - which Python frames are lines of the user's: what counts as a library is told by library_frames.def. */
#ifndef AP_USER_FRAME_H
#define AP_USER_FRAME_H

#include "name_pattern.h"
#include "trace.h"

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
/** The module's class: "nn.Module: Linear_12" is the 13th Linear. */
struct ap_text ap_module_class(struct ap_text name);

#endif
