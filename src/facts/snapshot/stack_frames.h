/* SPDX-License-Identifier: MIT
 * stack_frames.h - frames of a snapshot's stacks as they are shown. */
#ifndef AP_STACK_FRAMES_H
#define AP_STACK_FRAMES_H

#include "snapshot.h"

/** "file:line name" without what was not recorded; text in the arena. */
AP_MUST_CHECK enum ap_status ap_memory_frame_text(const struct ap_snapshot *snapshot, struct ap_arena *arena, uint32_t frame,
                                                  struct ap_text *ret_text, struct ap_error *reterr);

/** The frames of a stack that are shown, innermost first, to @to (room for all of the stack's; NULL = count them). Where
 *  C++ frames were recorded too, most are those of the interpreter and the allocator: of a stack with Python frames these
 *  alone are shown. */
uint32_t ap_stack_shown(const struct ap_snapshot *snapshot, uint32_t stack, uint32_t *to);

#endif
