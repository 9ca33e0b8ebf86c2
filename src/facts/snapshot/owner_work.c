/* SPDX-License-Identifier: MIT
 * owner_work.c - what each entry of the histories is part of: forward, backward, an optimizer's step. */
#include "allocation_owner.h"
#include "sort.h"

#include "poison.h"

/* --------------------------------------------------------------------------------------------- threads without stacks */

/* Where only frames of Python are recorded, autograd's threads have none: what has no stack among entries that have one is
 * a backward pass, unless frames of C++ show another one. Python's own there are of a function with a backward of its own,
 * or of a forward that is computed again. */
struct bare {
    bool any, stacked, backward;
};

static void look(const struct ap_owners *owners, struct bare *at, uint32_t entry)
{
    uint32_t stack = owners->replay->snapshot->actions.stack[entry];
    at->any = at->any || !stack;
    at->stacked = at->stacked || stack;
    at->backward = at->backward || owners->stacks[stack].native;
}

static bool is_free(uint32_t name)
{
    return name == AP_ACTION_FREE_REQUESTED || name == AP_ACTION_FREE_COMPLETED;
}

static void take_stacks(struct ap_owners *owners, const struct ap_replay_device *device)
{
    const struct ap_actions *actions = &owners->replay->snapshot->actions;
    struct bare allocs = { false, false, false }, frees = allocs;
    uint32_t end = device->first_entry + device->entry_count;
    for (uint32_t i = device->first_entry; i < end; i++) {
        owners->work[i] = owners->stacks[actions->stack[i]].work;
        if (actions->name[i].id == AP_ACTION_ALLOC)
            look(owners, &allocs, i);
        else if (is_free(actions->name[i].id))
            look(owners, &frees, i);
    }
    bool bare_allocs = allocs.any && allocs.stacked && !allocs.backward;
    bool bare_frees = frees.any && frees.stacked && !frees.backward;
    for (uint32_t i = device->first_entry; i < end && (bare_allocs || bare_frees); i++)
        if (!actions->stack[i] &&
            ((bare_allocs && actions->name[i].id == AP_ACTION_ALLOC) || (bare_frees && is_free(actions->name[i].id))))
            owners->work[i] = AP_WORK_BACKWARD;
}

/* -------------------------------------------------------------------------------------------------------- annotations */

struct mark {
    int64_t time_ns;
    int32_t device; /* -1 = all */
    int8_t change;
    uint8_t work; /* enum ap_work */
};

static int by_time_then_change(const void *left, const void *right)
{
    const struct mark *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return (int)b->change - (int)a->change;
}

static bool take_mark(const struct ap_snapshot *snapshot, const struct ap_annotation *annotation, struct mark *ret_mark)
{
    struct ap_text name = ap_strpool_text(&snapshot->strings, annotation->name);
    struct ap_text stage = ap_strpool_text(&snapshot->strings, annotation->stage);
    bool step = ap_text_starts_with(name, "Optimizer.step"), zero = ap_text_starts_with(name, "Optimizer.zero_grad");
    bool start = ap_text_is(stage, "START");
    if (!annotation->has_time || !(step || zero) || !(start || ap_text_is(stage, "END")))
        return false;
    *ret_mark = (struct mark){ annotation->time_ns, annotation->device, start ? 1 : -1,
                               step ? AP_WORK_OPTIMIZER : AP_WORK_ZERO_GRAD };
    return true;
}

/* Within a marked range what nothing else says is of the range. */
static void apply_marks(struct ap_owners *owners, uint32_t index, const struct mark *marks, uint32_t count)
{
    const struct ap_replay_device *device = &owners->replay->devices[index];
    const int64_t *times_ns = owners->replay->snapshot->actions.time_ns;
    uint32_t at = 0, open[AP_WORK_ZERO_GRAD + 1] = { 0 };
    for (uint32_t i = device->first_entry; i < device->first_entry + device->entry_count; i++) {
        for (; at < count && marks[at].time_ns <= times_ns[i]; at++) {
            if (marks[at].device >= 0 && (uint32_t)marks[at].device != index)
                continue;
            if (marks[at].change > 0)
                open[marks[at].work]++;
            else if (open[marks[at].work])
                open[marks[at].work]--;
        }
        if (owners->work[i] == AP_WORK_OTHER && open[AP_WORK_OPTIMIZER])
            owners->work[i] = AP_WORK_OPTIMIZER;
        else if (owners->work[i] == AP_WORK_OTHER && open[AP_WORK_ZERO_GRAD])
            owners->work[i] = AP_WORK_ZERO_GRAD;
    }
}

static enum ap_status take_annotations(struct ap_owners *owners, struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = owners->replay->snapshot;
    size_t bytes = snapshot->annotation_count * sizeof(struct mark);
    uint32_t count = 0;
    if (!bytes)
        return AP_OK;
    struct mark *marks = ap_mem_resize(owners->gate, NULL, 0, bytes);
    if (!marks)
        return ap_fail_memory(owners->gate, reterr);
    for (uint32_t i = 0; i < snapshot->annotation_count; i++)
        count += take_mark(snapshot, &snapshot->annotations[i], &marks[count]);
    ap_sort(marks, count, sizeof(*marks), by_time_then_change);
    for (uint32_t i = 0; i < owners->replay->device_count && count; i++)
        if (owners->replay->devices[i].has_times && !owners->replay->devices[i].times_backwards)
            apply_marks(owners, i, marks, count);
    ap_mem_free(owners->gate, marks, bytes);
    return AP_OK;
}

/* -------------------------------------------------------------------------------------------------- stacks of each step
 */

#define LEAST_PASSES 3u

/* In how many passes a stack allocates; a pass begins behind a backward one. */
struct passes {
    uint32_t last, count;
    bool late; /* behind a forward that began */
};

static enum ap_status find_again(struct ap_owners *owners, struct ap_error *reterr)
{
    const struct ap_actions *actions = &owners->replay->snapshot->actions;
    size_t stacks = (size_t)owners->replay->snapshot->stacks.stack_count + 1;
    struct passes *of;
    uint32_t pass = 1;
    bool backward = false, forward = false;
    if (!owners->has_backward)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(owners->gate, of, stacks, reterr));
    for (uint32_t i = 0; i < actions->count; i++) {
        uint32_t stack = actions->stack[i];
        if (actions->name[i].id != AP_ACTION_ALLOC)
            continue;
        pass += backward && owners->work[i] != AP_WORK_BACKWARD;
        backward = owners->work[i] == AP_WORK_BACKWARD;
        forward = !backward && (forward || owners->work[i] == AP_WORK_FORWARD);
        of[stack].count += of[stack].last != pass;
        of[stack].last = pass;
        of[stack].late = of[stack].late || forward || backward;
        owners->stacks[stack].again = of[stack].count >= LEAST_PASSES;
        owners->stacks[stack].opens = owners->stacks[stack].again && !of[stack].late;
    }
    AP_FREE(owners->gate, of, stacks);
    return AP_OK;
}

enum ap_status ap_owners_find_work(struct ap_owners *owners, struct ap_error *reterr)
{
    for (uint32_t i = 0; i < owners->replay->snapshot->actions.count; i++)
        owners->work[i] = AP_WORK_OTHER;
    for (uint32_t i = 0; i < owners->replay->device_count; i++)
        take_stacks(owners, &owners->replay->devices[i]);
    AP_TRY(take_annotations(owners, reterr));
    for (uint32_t i = 0; i < owners->replay->snapshot->actions.count; i++) {
        if (owners->replay->snapshot->actions.name[i].id != AP_ACTION_ALLOC)
            continue;
        owners->has_backward = owners->has_backward || owners->work[i] == AP_WORK_BACKWARD;
        owners->has_passes =
            owners->has_passes || (owners->work[i] != AP_WORK_OTHER && owners->work[i] != AP_WORK_ZERO_GRAD);
    }
    return find_again(owners, reterr);
}
