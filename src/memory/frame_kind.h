/* SPDX-License-Identifier: MIT
 * frame_kind.h - whose code a stack frame is: the user's, or that of what the user's code stands on. */
#ifndef AP_FRAME_KIND_H
#define AP_FRAME_KIND_H

#include "snapshot.h"

/** Not the user's code: torch and the standard library of Python, C and C++, generated code and interpreter frames.
 *  Other Python packages count as the user's: they are what the user chose to call. The list is in library_files.def. */
bool ap_frame_is_library(struct ap_text filename);
/** A shared object or the interpreter: where symbols were looked up there, a line is an address and no line. */
bool ap_frame_is_object(struct ap_text filename);

/** Of an installed package, be it torch or one that the user chose. */
bool ap_frame_is_package(struct ap_text filename);

/** Index (within the stack, 0 = innermost) of the innermost frame that is not a library's; UINT32_MAX where all are. */
uint32_t ap_stack_user_frame(const struct ap_snapshot *snapshot, uint32_t stack);
/** Index of the node of a backward pass that asked, in the stack of a thread of autograd's, where no line of the user's
 *  stands; UINT32_MAX where there is none. */
uint32_t ap_stack_backward_frame(const struct ap_snapshot *snapshot, uint32_t stack);
/** A call to a module, by its name. */
bool ap_frame_calls_module(const struct ap_snapshot *snapshot, uint32_t frame);
/** Is one of them a call to a module or to another object? */
bool ap_frames_have_call(const struct ap_snapshot *snapshot, const uint32_t *frames, uint32_t count);
/** Is no such call in the stack, but a function that makes one in @calling_stack? */
bool ap_stack_is_beside_calls(const struct ap_snapshot *snapshot, uint32_t stack, uint32_t calling_stack);
/** Index of the user's line that called the outermost module; UINT32_MAX where no module or no such line is seen. */
uint32_t ap_stack_calling_frame(const struct ap_snapshot *snapshot, uint32_t stack);
/** Index of the frame that stands for the stack: the user's, else the node of a backward pass, else the
 *  innermost one that is neither the recorder's nor the allocator's. */
uint32_t ap_stack_main_frame(const struct ap_snapshot *snapshot, uint32_t stack);

#endif
