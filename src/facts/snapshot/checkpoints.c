/* SPDX-License-Identifier: MIT
 * checkpoints.c - activations that no checkpoint spares, though the lines which make them run under one elsewhere. */
#include "avoidable_search.h"
#include "frame_kind.h"

#include "poison.h"

enum { FRAME_CHECKPOINTS = 1, FRAME_IS_CHECKPOINTED = 2 };

static bool checkpoints(struct ap_text file)
{
    static const char *const endings[] = { "/utils/checkpoint.py", "\\utils\\checkpoint.py",
                                           "/activation_checkpointing/checkpointing.py" };
    for (size_t i = 0; i < AP_COUNT_OF(endings); i++)
        if (ap_text_ends_with(file, endings[i]))
            return true;
    return false;
}

static bool is_under_checkpoint(const struct ap_stacks *stacks, const uint8_t *marks, uint32_t stack)
{
    uint32_t count;
    const uint32_t *frames = ap_stack_frames(stacks, stack, &count);
    for (uint32_t i = 0; i < count; i++)
        if (marks[frames[i]] & FRAME_CHECKPOINTS)
            return true;
    return false;
}

/* The user's innermost line, as a frame; UINT32_MAX = none. */
static uint32_t line_of(const struct ap_snapshot *snapshot, uint32_t stack)
{
    uint32_t count, at = ap_stack_user_frame(snapshot, stack);
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    return at < count ? frames[at] : UINT32_MAX;
}

/* False where there are no checkpoints. */
static bool mark_frames(const struct ap_snapshot *snapshot, uint8_t *marks)
{
    const struct ap_stacks *stacks = &snapshot->stacks;
    bool any = false;
    for (uint32_t i = 0; i < stacks->frame_count; i++) {
        bool is = checkpoints(ap_strpool_text(&snapshot->strings, stacks->frames[i].filename));
        marks[i] = is ? FRAME_CHECKPOINTS : 0;
        any = any || is;
    }
    for (uint32_t i = 1; i <= stacks->stack_count && any; i++) {
        uint32_t line = is_under_checkpoint(stacks, marks, i) ? line_of(snapshot, i) : UINT32_MAX;
        if (line != UINT32_MAX)
            marks[line] |= FRAME_IS_CHECKPOINTED;
    }
    return any;
}

/* By stack: 1 = of such a line, outside of checkpoints. */
static void mark_stacks(const struct ap_snapshot *snapshot, const uint8_t *marks, uint8_t *stacks)
{
    for (uint32_t i = 1; i <= snapshot->stacks.stack_count; i++) {
        uint32_t line = line_of(snapshot, i);
        stacks[i] =
            line != UINT32_MAX && (marks[line] & FRAME_IS_CHECKPOINTED) && !is_under_checkpoint(&snapshot->stacks, marks, i);
    }
}

static enum ap_status take(struct ap_avoidable_search *search, const uint8_t *stacks, struct ap_avoidable *to,
                           struct ap_error *reterr)
{
    const struct ap_replay *replay = search->owners->replay;
    for (uint32_t i = 0; i < search->owned->count; i++) {
        const struct ap_owned *owned = &search->owned->list[i];
        if (stacks[owned->stack] && ap_owned_category(owned) == AP_OWNER_ACTIVATIONS)
            ap_avoidable_add(search, to, owned);
    }
    for (uint32_t i = 0; i < search->of->lifetime_count && to->count; i++) {
        uint32_t lifetime = search->of->first_lifetime + i;
        const struct ap_lifetime *life = &replay->lifetimes[lifetime];
        uint32_t end = ap_search_life_end(life);
        if (life->alloc != AP_NO_ENTRY && ap_search_is_forward(search, life->alloc) &&
            stacks[replay->snapshot->actions.stack[life->alloc]])
            AP_TRY(ap_search_cut(search, life->alloc, end == AP_NO_ENTRY ? ap_search_end(search) : end,
                                 ap_replay_lifetime_bytes(replay, lifetime), reterr));
    }
    return AP_OK;
}

enum ap_status ap_search_unchecked(struct ap_avoidable_search *search, struct ap_avoidable *to, struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = search->owners->replay->snapshot;
    struct ap_gate *gate = search->owners->gate;
    size_t frame_count = (size_t)snapshot->stacks.frame_count + 1, stack_count = (size_t)snapshot->stacks.stack_count + 1;
    uint8_t *marks = NULL, *stacks = NULL;
    enum ap_status status = AP_ALLOC_CLEARED(gate, marks, frame_count, reterr);
    AP_AND_THEN(status, AP_ALLOC_CLEARED(gate, stacks, stack_count, reterr));
    if (status == AP_OK && mark_frames(snapshot, marks)) {
        mark_stacks(snapshot, marks, stacks);
        status = take(search, stacks, to, reterr);
    }
    AP_FREE(gate, stacks, stack_count);
    AP_FREE(gate, marks, frame_count);
    return status;
}
