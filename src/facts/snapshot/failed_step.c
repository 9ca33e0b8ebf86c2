/* SPDX-License-Identifier: MIT
 * failed_step.c - what a step that found no room had made, and what is there still while it is tried again: an exception
 * holds the frames that it came through, and they hold their tensors. */
#include "avoidable_search.h"
#include "frame_kind.h"
#include "sort.h"

#include "poison.h"

#define NO_LINE UINT64_MAX

/* The user's line that asked and the innermost frame, which tells the modules of a sequence apart. */
static uint64_t line_of(const struct ap_avoidable_search *search, uint32_t entry)
{
    const struct ap_snapshot *snapshot = search->owners->replay->snapshot;
    uint32_t count, stack = snapshot->actions.stack[entry], user = ap_stack_user_frame(snapshot, stack);
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    return user < count ? (uint64_t)frames[user] << 32 | frames[0] : NO_LINE;
}

/* The first allocation of a forward from one entry on and before another; @end where there is none. */
static uint32_t first_forward(const struct ap_avoidable_search *search, uint32_t entry, uint32_t end)
{
    while (entry < end && !ap_search_is_forward(search, entry))
        entry++;
    return entry;
}

/* What a step that failed had made by then, as entries; in the order of the failures, of which none is within another. */
struct failed {
    uint32_t start, failure;
};

/* The forward that failed, or whose backward pass did: from where its pass was last at the line that it begins with, behind
 * the failure before. Of several forwards for one backward pass those before are needed. */
static uint32_t start_of_failed(const struct ap_avoidable_search *search, uint32_t first, uint32_t before, uint32_t failure)
{
    uint64_t line = line_of(search, first);
    uint32_t start = AP_NO_ENTRY, least = before > first ? before : first;
    for (uint32_t i = failure; i-- > least;) {
        if (!ap_search_is_forward(search, i))
            continue;
        if (line_of(search, i) == line)
            start = i;
        else if (start != AP_NO_ENTRY)
            break;
    }
    return start;
}

/* Is the first thing behind the failure what the failed pass began with, be it only asked for? Where it goes on instead, as
 * behind a workspace that could do with less, all that it made is needed. */
static bool is_tried_again(const struct ap_avoidable_search *search, uint32_t first, uint32_t failure, uint32_t next)
{
    uint32_t again = first_forward(search, failure + 1, next);
    uint64_t line = line_of(search, first);
    bool asks = again == next && next <= search->peak; /* the next request that failed */
    return (again < next || asks) && line != NO_LINE && line_of(search, again) == line && line_of(search, failure) != line;
}

/* Where the pass begins whose forward or backward failed; @failure where it had not begun. Behind the last allocation of a
 * backward pass the next pass is counted from. */
static uint32_t first_of_failed(const struct ap_avoidable_search *search, uint32_t failure)
{
    const struct ap_pass *pass = ap_search_pass(search, failure);
    uint32_t first = pass ? first_forward(search, pass->start, failure) : failure;
    return first == failure && pass && pass > search->passes ? first_forward(search, pass[-1].start, failure) : first;
}

/* Requests that failed up to the peak, and behind them where the search ends. */
static uint32_t list_failures(const struct ap_avoidable_search *search, uint32_t *failures)
{
    uint32_t count = 0;
    for (uint32_t i = search->of->first_entry; i <= search->peak; i++) {
        if (search->owners->replay->snapshot->actions.name[i].id != AP_ACTION_OOM)
            continue;
        if (failures)
            failures[count] = i;
        count++;
    }
    if (failures)
        failures[count] = search->peak + 1;
    return count;
}

/* Of each attempt that another one follows. */
static uint32_t list_failed(const struct ap_avoidable_search *search, const uint32_t *failures, uint32_t failure_count,
                            struct failed *list)
{
    uint32_t count = 0, first = AP_NO_ENTRY, before = search->of->first_entry;
    const struct ap_pass *of = NULL;
    for (uint32_t i = 0; i < failure_count; i++) {
        const struct ap_pass *pass = ap_search_pass(search, failures[i]);
        if (!i || pass != of)
            first = first_of_failed(search, failures[i]);
        else if (first == before - 1) /* it had not begun at the failure before */
            first = first_forward(search, before, failures[i]);
        of = pass;
        if (first < failures[i] && is_tried_again(search, first, failures[i], failures[i + 1])) {
            uint32_t start = start_of_failed(search, first, before, failures[i]);
            if (start != AP_NO_ENTRY)
                list[count++] = (struct failed){ start, failures[i] };
        }
        before = failures[i] + 1;
    }
    return count;
}

static const struct failed *failed_of(const struct failed *list, uint32_t count, uint32_t alloc)
{
    size_t at = 0;
    AP_BISECT(at, count, i, list[i].failure < alloc);
    return at < count && alloc >= list[at].start ? &list[at] : NULL;
}

static enum ap_status add_failed(struct ap_avoidable_search *search, const struct failed *list, uint32_t count,
                                 struct ap_avoidable *to, struct ap_error *reterr)
{
    for (uint32_t i = 0; i < search->owned->count && count; i++) {
        const struct ap_owned *owned = &search->owned->list[i];
        const struct failed *of = owned->alloc == AP_NO_ENTRY ? NULL : failed_of(list, count, owned->alloc);
        if (!of || ap_owned_category(owned) != AP_OWNER_ACTIVATIONS)
            continue;
        ap_avoidable_add(search, to, owned);
        AP_TRY(ap_search_cut(search, of->failure, owned->end == AP_NO_ENTRY ? ap_search_end(search) : owned->end,
                             owned->bytes, reterr));
    }
    return AP_OK;
}

enum ap_status ap_search_failed_step(struct ap_avoidable_search *search, struct ap_avoidable *to, struct ap_error *reterr)
{
    struct ap_gate *gate = search->owners->gate;
    uint32_t *failures = NULL, count = list_failures(search, NULL);
    struct failed *list = NULL;
    if (!count)
        return AP_OK;
    enum ap_status status = AP_ALLOC(gate, failures, (size_t)count + 1, reterr);
    AP_AND_THEN(status, AP_ALLOC(gate, list, count, reterr));
    if (status == AP_OK) {
        (void)list_failures(search, failures);
        status = add_failed(search, list, list_failed(search, failures, count, list), to, reterr);
    }
    AP_FREE(gate, list, count);
    AP_FREE(gate, failures, (size_t)count + 1);
    return status;
}
