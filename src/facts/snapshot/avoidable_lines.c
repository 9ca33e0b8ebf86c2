/* SPDX-License-Identifier: MIT
 * avoidable_lines.c - who holds what is avoidable: stacks, and the user's lines to look at. */
#include "avoidable_search.h"
#include "frame_kind.h"
#include "sort.h"

#include "poison.h"

#define NO_FRAME UINT32_MAX
#define LEAST_OF_CALL 8u     /* activations that a call keeps */
#define NO_CALLER UINT32_MAX /* was looked for */

/* Keeps the list in order, the largest first. One that no longer fits is in the sum alone. */
static void add_stack(struct ap_avoidable *to, uint32_t of, int64_t bytes)
{
    bool overflowed = false;
    uint32_t at = 0;
    while (at < to->stack_count && to->stacks[at].stack != of)
        at++;
    if (at == AP_AVOIDABLE_TOP)
        return;
    if (at == to->stack_count)
        to->stacks[to->stack_count++] = (struct ap_avoidable_stack){ 0, of, 0 };
    struct ap_avoidable_stack stack = to->stacks[at];
    stack.bytes = ap_add_sat(stack.bytes, bytes, &overflowed);
    stack.count++;
    for (; at > 0 && to->stacks[at - 1].bytes < stack.bytes; at--)
        to->stacks[at] = to->stacks[at - 1];
    to->stacks[at] = stack;
}

static void add_line(struct ap_avoidable *to, uint32_t frame, int64_t bytes)
{
    bool overflowed = false;
    uint32_t at = 0;
    while (at < to->line_count && to->lines[at].frame != frame)
        at++;
    if (at == AP_AVOIDABLE_TOP || frame == NO_FRAME)
        return;
    if (at == to->line_count)
        to->lines[to->line_count++] = (struct ap_avoidable_line){ 0, frame, 0 };
    struct ap_avoidable_line line = to->lines[at];
    line.bytes = ap_add_sat(line.bytes, bytes, &overflowed);
    line.count++;
    for (; at > 0 && to->lines[at - 1].bytes < line.bytes; at--)
        to->lines[at] = to->lines[at - 1];
    to->lines[at] = line;
}

static uint32_t frame_at(const struct ap_snapshot *snapshot, uint32_t stack, uint32_t index)
{
    uint32_t count;
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    return index < count ? frames[index] : NO_FRAME;
}

static uint32_t caller_of(const struct ap_avoidable_search *search, uint32_t stack)
{
    const struct ap_snapshot *snapshot = search->owners->replay->snapshot;
    if (!search->callers[stack]) {
        uint32_t frame = frame_at(snapshot, stack, ap_stack_calling_frame(snapshot, stack));
        search->callers[stack] = frame == NO_FRAME ? NO_CALLER : frame + 1;
    }
    return search->callers[stack] == NO_CALLER ? NO_FRAME : search->callers[stack] - 1;
}

static void add_to_sum(struct ap_avoidable *to, const struct ap_owned *owned)
{
    bool overflowed = false;
    to->held_bytes = ap_add_sat(to->held_bytes, owned->bytes, &overflowed);
    to->count++;
    add_stack(to, owned->stack, owned->bytes);
}

void ap_avoidable_add(const struct ap_avoidable_search *search, struct ap_avoidable *to, const struct ap_owned *owned)
{
    add_to_sum(to, owned);
    add_line(to, caller_of(search, owned->stack), owned->bytes);
}

void ap_avoidable_add_freed(const struct ap_avoidable_search *search, struct ap_avoidable *to, const struct ap_owned *owned)
{
    const struct ap_snapshot *snapshot = search->owners->replay->snapshot;
    uint32_t stack = owned->end == AP_NO_ENTRY ? 0 : snapshot->actions.stack[owned->end];
    add_to_sum(to, owned);
    add_line(to, frame_at(snapshot, stack, ap_stack_user_frame(snapshot, stack)), owned->bytes);
}

/* ---------------------------------------------------------------------------------------------- how many calls are kept */

/* An allocation by code that no module was called from, as a loss has it. */
static bool is_between_calls(const struct ap_avoidable_search *search, uint32_t entry)
{
    uint32_t stack = search->owners->replay->snapshot->actions.stack[entry];
    enum ap_work work = ap_search_work(search, entry);
    return ap_search_allocates(search, entry) && stack && (work == AP_WORK_FORWARD || work == AP_WORK_OTHER) &&
           caller_of(search, stack) == NO_FRAME;
}

static int by_entry(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* Between layers in a loop nothing else allocates, between two calls what the user's loop does. A call that keeps less than
 * half of what the largest one does is of something else. */
static uint32_t calls_of(const struct ap_avoidable_search *search, uint32_t *entries, uint32_t count, uint32_t *kept)
{
    uint32_t runs = 0, largest = 0, calls = 0;
    ap_sort(entries, count, sizeof(*entries), by_entry);
    for (uint32_t i = 0; i < count; i++) {
        bool apart = !i;
        for (uint32_t j = i ? entries[i - 1] + 1 : entries[i]; j < entries[i] && !apart; j++)
            apart = is_between_calls(search, j);
        if (apart)
            kept[runs++] = 0;
        kept[runs - 1]++;
        largest = kept[runs - 1] > largest ? kept[runs - 1] : largest;
    }
    for (uint32_t i = 0; i < runs && largest >= LEAST_OF_CALL; i++)
        calls += kept[i] * 2 >= largest;
    return calls;
}

enum ap_status ap_avoidable_count_calls(const struct ap_avoidable_search *search, struct ap_avoidable *to,
                                        struct ap_error *reterr)
{
    const struct ap_owned_device *owned = search->owned;
    uint32_t *entries = NULL, count = 0;
    if (!to->line_count)
        return AP_OK;
    AP_TRY(AP_ALLOC(search->owners->gate, entries, 2 * (size_t)owned->count, reterr));
    for (uint32_t i = 0; i < owned->count; i++) {
        const struct ap_owned *one = &owned->list[i];
        if (one->alloc != AP_NO_ENTRY && one->alloc <= search->peak && ap_owned_category(one) == AP_OWNER_ACTIVATIONS &&
            caller_of(search, one->stack) == to->lines[0].frame)
            entries[count++] = one->alloc;
    }
    to->call_count = calls_of(search, entries, count, entries + owned->count);
    AP_FREE(search->owners->gate, entries, 2 * (size_t)owned->count);
    return AP_OK;
}
