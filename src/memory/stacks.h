/* SPDX-License-Identifier: MIT
 * stacks.h - call stacks of a snapshot: every frame and every stack is kept once, however often the file repeats it.
 * A snapshot as JSON repeats the frames of a stack in full for each entry; most of its bytes are such repetitions. */
#ifndef AP_STACKS_H
#define AP_STACKS_H

#include "strpool.h"

struct ap_frame {
    struct ap_str filename, name; /* absent = not recorded */
    int32_t line;                 /* -1 = not recorded */
};

/** Stack 0 is "not recorded" and has no frames; ids count up from 1. The innermost frame comes first. */
struct ap_stacks {
    struct ap_gate *gate;
    struct ap_strpool frame_pool, pool; /* frames; ids of frames, a text for each stack */
    const struct ap_frame *frames;
    uint32_t frame_count, stack_count; /* stack 0 not counted */
    struct ap_stack_reading *reading;  /* what only reading needs; NULL before and after */
};

/** No frames and no stacks; id 0 is no stack. */
void ap_stacks_init(struct ap_stacks *stacks, struct ap_gate *gate);
void ap_stacks_release(struct ap_stacks *stacks);
/** No stack will be added any more: give back what only adding needs. */
void ap_stacks_freeze(struct ap_stacks *stacks);

/** The stack that a list of frames tells, as it stands in valid JSON: objects with filename, line and name, or strings.
 *  An empty list, or another value than a list, is stack 0. Texts are interned in @strings. */
AP_MUST_CHECK enum ap_status ap_stacks_take(struct ap_stacks *stacks, struct ap_strpool *strings, struct ap_text json,
                                            uint32_t *ret_stack, struct ap_error *reterr);

/** Frame ids of a stack, innermost first; they index stacks->frames. */
static inline const uint32_t *ap_stack_frames(const struct ap_stacks *stacks, uint32_t stack, uint32_t *ret_count)
{
    struct ap_text ids = ap_strpool_text(&stacks->pool, (struct ap_str){ stack });
    *ret_count = (uint32_t)(ids.bytes / sizeof(uint32_t));
    return (const void *)ids.data;
}

#endif
