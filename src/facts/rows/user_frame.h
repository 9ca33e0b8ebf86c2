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
    size_t entry_count; /* of patterns */
    uint8_t *kinds;     /* by name id */
    size_t count;
};

/** @frames may be released after a failure too. No name may be interned while it is in use. */
AP_MUST_CHECK enum ap_status ap_user_frames_init(struct ap_user_frames *frames, const struct ap_trace *trace,
                                                 struct ap_gate *gate, struct ap_error *reterr);
void ap_user_frames_release(struct ap_user_frames *frames);

enum ap_frame_kind { AP_FRAME_NOT_ASKED, AP_FRAME_OF_USER, AP_FRAME_OF_LIBRARY, AP_FRAME_OF_MODULE };

/** Looks at a name that nobody asked for yet. */
enum ap_frame_kind ap_frame_kind_find(struct ap_user_frames *frames, uint32_t name);

static inline enum ap_frame_kind ap_frame_kind_of(struct ap_user_frames *frames, uint32_t name)
{
    uint8_t kind = frames->kinds[name];
    return kind == AP_FRAME_NOT_ASKED ? ap_frame_kind_find(frames, name) : (enum ap_frame_kind)kind;
}

/** Is a Python row of this name a line of the user's? */
static inline bool ap_is_user_frame(struct ap_user_frames *frames, uint32_t name)
{
    return ap_frame_kind_of(frames, name) == AP_FRAME_OF_USER;
}

/** Is a Python row of this name the call of an nn.Module? */
static inline bool ap_is_module_frame(struct ap_user_frames *frames, uint32_t name)
{
    return ap_frame_kind_of(frames, name) == AP_FRAME_OF_MODULE;
}

/** The module's class: "nn.Module: Linear_12" is the 13th Linear. */
struct ap_text ap_module_class(struct ap_text name);

#endif
