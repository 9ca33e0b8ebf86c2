/* SPDX-License-Identifier: MIT
 * failed_step.c - what a step that found no room had made, and what is there still while it is tried again: an exception
 * holds the frames that it came through, and they hold their tensors. */
#include "avoidable_search.h"
#include "frame_kind.h"

#include "poison.h"

#define NO_LINE UINT32_MAX

/* The user's line that asked, as a frame. */
static uint32_t line_of(const struct ap_avoidable_search *search, uint32_t entry)
{
    const struct ap_snapshot *snapshot = search->owners->replay->snapshot;
    uint32_t count, stack = snapshot->actions.stack[entry], user = ap_stack_user_frame(snapshot, stack);
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    return user < count ? frames[user] : NO_LINE;
}

/* The first allocation of a forward from one entry on and before another; @end where there is none. */
static uint32_t first_forward(const struct ap_avoidable_search *search, uint32_t entry, uint32_t end)
{
    while (entry < end && !ap_search_is_forward(search, entry))
        entry++;
    return entry;
}

static uint32_t last_failure(const struct ap_avoidable_search *search)
{
    for (uint32_t i = search->peak; i-- > search->of->first_entry;)
        if (search->owners->replay->snapshot->actions.name[i].id == AP_ACTION_OOM)
            return i;
    return AP_NO_ENTRY;
}

/* The forward that failed, or whose backward pass did: from where its pass was last at the line that it begins with. Of
 * several forwards for one backward pass those before are needed. */
static uint32_t start_of_failed(const struct ap_avoidable_search *search, uint32_t first, uint32_t failure)
{
    uint32_t line = line_of(search, first), start = AP_NO_ENTRY;
    for (uint32_t i = failure; i-- > first;) {
        if (!ap_search_is_forward(search, i))
            continue;
        if (line_of(search, i) == line)
            start = i;
        else if (start != AP_NO_ENTRY)
            break;
    }
    return start;
}

/* Is the first thing behind the failure what the failed pass began with? Where it goes on instead, as behind a workspace
 * that could do with less, all that it made is needed. */
static bool is_tried_again(const struct ap_avoidable_search *search, uint32_t first, uint32_t failure)
{
    uint32_t again = first_forward(search, failure + 1, search->peak + 1), line = line_of(search, first);
    return again <= search->peak && line != NO_LINE && line_of(search, again) == line && line_of(search, failure) != line;
}

/* Where the pass begins whose forward or backward failed; @failure where it had not begun. Behind the last allocation of a
 * backward pass the next pass is counted from. */
static uint32_t first_of_failed(const struct ap_avoidable_search *search, uint32_t failure)
{
    const struct ap_pass *pass = ap_search_pass(search, failure);
    uint32_t first = pass ? first_forward(search, pass->start, failure) : failure;
    return first == failure && pass && pass > search->passes ? first_forward(search, pass[-1].start, failure) : first;
}

enum ap_status ap_search_failed_step(struct ap_avoidable_search *search, struct ap_avoidable *to, struct ap_error *reterr)
{
    uint32_t failure = last_failure(search), first = failure == AP_NO_ENTRY ? failure : first_of_failed(search, failure);
    if (first == failure || !is_tried_again(search, first, failure))
        return AP_OK;
    uint32_t start = start_of_failed(search, first, failure);
    for (uint32_t i = 0; i < search->owned->count; i++) {
        const struct ap_owned *owned = &search->owned->list[i];
        if (owned->alloc == AP_NO_ENTRY || owned->alloc < start || owned->alloc > failure ||
            ap_owner_evidence_category((enum ap_owner_evidence)owned->evidence) != AP_OWNER_ACTIVATIONS)
            continue;
        ap_avoidable_add(search, to, owned);
        AP_TRY(ap_search_cut(search, failure, owned->end == AP_NO_ENTRY ? ap_search_end(search) : owned->end, owned->bytes,
                             reterr));
    }
    return AP_OK;
}
