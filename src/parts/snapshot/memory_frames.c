/* SPDX-License-Identifier: MIT
 * memory_frames.c - the list of frames of a stack. */
#include "snapshot_part.h"

#include "poison.h"

#define MOST_FRAMES 16

enum ap_status ap_memory_put_frames(struct ap_snapshot_part *pass, struct ap_value *to, uint32_t stack,
                                    struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = pass->snapshot;
    struct ap_value *list = ap_add_list(pass->model, to, "frames");
    uint32_t count = ap_stack_shown(snapshot, stack, NULL);
    uint32_t *frames = ap_memory_scratch(pass, count, sizeof(*frames));
    if (!frames)
        return ap_fail_memory(pass->scratch.gate, reterr);
    (void)ap_stack_shown(snapshot, stack, frames);
    for (uint32_t i = 0; i < count && i < MOST_FRAMES; i++) {
        struct ap_text text;
        AP_TRY(ap_memory_frame_text(snapshot, &pass->scratch, frames[i], &text, reterr));
        ap_add_text(pass->model, list, NULL, text);
    }
    ap_add_count(pass->model, to, "frames_left_out", count > MOST_FRAMES ? count - MOST_FRAMES : 0);
    return AP_OK;
}
