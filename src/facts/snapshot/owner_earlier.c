/* SPDX-License-Identifier: MIT
 * owner_earlier.c - a model that was built and trained before one of the same sizes was built, and is still there: with its
 * gradients and the state of its optimizer. */
#include "allocation_owner.h"
#include "sort.h"

#include "poison.h"

#define SHARE_MATCHED 0.9
#define LEAST_WEIGHTS 4u
#define MOST_BUILDS 64u /* models built one behind the other; of more the first are taken as one */
#define LEAST_BYTES ((int64_t)1 << 20)
#define SHARE_IN_USE 0.2 /* of the forward passes' allocations behind the second build */

struct weight {
    int64_t bytes;
    uint32_t alloc, build, index; /* AP_NO_ENTRY = before the history; how many were trained before; in the list */
};

static int by_alloc(const void *left, const void *right)
{
    const struct weight *a = left, *b = right;
    uint64_t a_key = a->alloc == AP_NO_ENTRY ? 0 : (uint64_t)a->alloc + 1;
    uint64_t b_key = b->alloc == AP_NO_ENTRY ? 0 : (uint64_t)b->alloc + 1;
    AP_BY_SMALLER(a_key, b_key);
    return a->index < b->index ? -1 : a->index > b->index;
}

static int by_build_then_bytes(const void *left, const void *right)
{
    const struct weight *a = left, *b = right;
    AP_BY_SMALLER(a->build, b->build);
    AP_BY_SMALLER(a->bytes, b->bytes);
    return a->index < b->index ? -1 : a->index > b->index;
}

static uint32_t list_weights(const struct ap_owned_device *device, struct weight *to)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < device->count; i++) {
        const struct ap_owned *owned = &device->list[i];
        if (ap_owned_category(owned) == AP_OWNER_PARAMETERS)
            to[count++] = (struct weight){ owned->bytes, owned->alloc, 0, i };
    }
    ap_sort(to, count, sizeof(*to), by_alloc);
    return count;
}

/* What is made behind a backward pass is of another build. Returns how many there are. */
static uint32_t divide(const struct ap_owners *owners, uint32_t index, struct weight *list, uint32_t count)
{
    const struct ap_replay_device *of = &owners->replay->devices[index];
    const struct ap_actions *actions = &owners->replay->snapshot->actions;
    uint32_t entry = of->first_entry, build = 0;
    bool trained = false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t stop = list[i].alloc == AP_NO_ENTRY ? of->first_entry : list[i].alloc;
        for (; entry < stop; entry++)
            trained = trained || (owners->work[entry] == AP_WORK_BACKWARD && actions->name[entry].id == AP_ACTION_ALLOC);
        build += trained && i && build < MOST_BUILDS;
        trained = false;
        list[i].build = build;
    }
    return count ? build + 1 : 0;
}

/* Both in order of sizes: nearly all of the one find their like in the other, and the other way. */
static bool is_alike(const struct weight *a, uint32_t a_count, const struct weight *b, uint32_t b_count)
{
    double a_bytes = 0, b_bytes = 0, matched = 0;
    for (uint32_t i = 0; i < a_count; i++)
        a_bytes += (double)a[i].bytes;
    for (uint32_t i = 0; i < b_count; i++)
        b_bytes += (double)b[i].bytes;
    for (uint32_t i = 0, j = 0; i < a_count && j < b_count;) {
        matched += a[i].bytes == b[j].bytes ? (double)a[i].bytes : 0;
        bool both = a[i].bytes == b[j].bytes, first = a[i].bytes < b[j].bytes;
        i += both || first;
        j += both || !first;
    }
    return a_count >= LEAST_WEIGHTS && matched >= (double)LEAST_BYTES && matched >= SHARE_MATCHED * a_bytes &&
           matched >= SHARE_MATCHED * b_bytes;
}

/* The new one has an optimizer of its own, or is in its first forward when the history ends. Else it may be a reference of
 * the one before, which is trained on, or the next layer that comes from the host. */
static bool is_trained_anew(const struct ap_owners *owners, const struct ap_owned_device *device, uint32_t from)
{
    const struct ap_replay_device *of = &owners->replay->devices[device->device];
    const struct ap_actions *actions = &owners->replay->snapshot->actions;
    bool passed = false, forward = false, state = false;
    for (uint32_t i = from; i < of->first_entry + of->entry_count && !state; i++) {
        bool allocates = actions->name[i].id == AP_ACTION_ALLOC;
        passed = passed || (allocates && owners->work[i] == AP_WORK_BACKWARD);
        forward = forward || (allocates && owners->work[i] == AP_WORK_FORWARD);
        state = allocates && owners->stacks[actions->stack[i]].sign == AP_SIGN_STATE_INIT;
    }
    for (uint32_t i = 0; i < device->count && !state; i++)
        state = ap_owned_category(&device->list[i]) == AP_OWNER_OPTIMIZER_STATE && device->list[i].alloc != AP_NO_ENTRY &&
                device->list[i].alloc > from;
    return state || (forward && !passed);
}

/* Two models that are trained side by side, as those of an adversary or a critic are: behind the second build the lines that
 * ran the first one's forward go on, beside new ones. A model that is built again is run by the same lines, or by others. */
static enum ap_status are_both_in_use(const struct ap_owners *owners, uint32_t index, uint32_t built, bool *ret_both,
                                      struct ap_error *reterr)
{
    const struct ap_replay_device *of = &owners->replay->devices[index];
    const struct ap_actions *actions = &owners->replay->snapshot->actions;
    size_t stacks = (size_t)owners->replay->snapshot->stacks.stack_count + 1;
    uint32_t count[2] = { 0, 0 }; /* by stacks that are new, and by those of before */
    bool *seen;
    AP_TRY(AP_ALLOC_CLEARED(owners->gate, seen, stacks, reterr));
    for (uint32_t i = of->first_entry; i < of->first_entry + of->entry_count; i++) {
        if (actions->name[i].id != AP_ACTION_ALLOC || owners->work[i] != AP_WORK_FORWARD)
            continue;
        if (i < built)
            seen[actions->stack[i]] = true;
        else
            count[seen[actions->stack[i]] ? 1 : 0]++;
    }
    AP_FREE(owners->gate, seen, stacks);
    double least = SHARE_IN_USE * ((double)count[0] + (double)count[1]);
    *ret_both = count[0] && count[1] && (double)count[0] >= least && (double)count[1] >= least;
    return AP_OK;
}

/* What an optimizer and a backward pass had made by then is of those that were there. */
static void settle_state(struct ap_owned_device *device, uint32_t before)
{
    for (uint32_t i = 0; i < device->count; i++) {
        struct ap_owned *owned = &device->list[i];
        enum ap_owner_category category = ap_owned_category(owned);
        bool is_earlier = owned->alloc == AP_NO_ENTRY || owned->alloc < before;
        if ((category == AP_OWNER_OPTIMIZER_STATE || category == AP_OWNER_GRADIENTS) && is_earlier)
            owned->evidence = AP_EVIDENCE_EARLIER_MODEL;
    }
}

/* In order of builds; the last of them begins at @last. */
static void settle(struct ap_owned_device *device, struct weight *list, uint32_t count, uint32_t last)
{
    uint32_t end, alloc = list[last].alloc;
    bool any = false, all = true;
    ap_sort(list, count, sizeof(*list), by_build_then_bytes);
    for (uint32_t i = 0; i < last; i = end) {
        for (end = i + 1; end < last && list[end].build == list[i].build;)
            end++;
        bool alike = is_alike(list + i, end - i, list + last, count - last);
        for (uint32_t j = i; j < end && alike; j++)
            device->list[list[j].index].evidence = AP_EVIDENCE_EARLIER_MODEL;
        any = any || alike;
        all = all && alike;
    }
    if (any && all)
        settle_state(device, alloc);
}

enum ap_status ap_owned_settle_earlier(const struct ap_owners *owners, uint32_t index, struct ap_owned_device *device,
                                       struct ap_error *reterr)
{
    struct weight *list;
    if (!device->count || !owners->has_backward)
        return AP_OK;
    AP_TRY(AP_ALLOC(owners->gate, list, device->count, reterr));
    uint32_t count = list_weights(device, list), first = 0;
    enum ap_status status = AP_OK;
    if (divide(owners, index, list, count) > 1) {
        while (list[first].build != list[count - 1].build)
            first++;
        bool both = false;
        status = are_both_in_use(owners, index, list[first].alloc, &both, reterr);
        if (status == AP_OK && !both && is_trained_anew(owners, device, list[first].alloc))
            settle(device, list, count, first);
    }
    AP_FREE(owners->gate, list, device->count);
    return status;
}
