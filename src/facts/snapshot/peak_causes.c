/* SPDX-License-Identifier: MIT */
#include "peak_causes.h"

#include "snapshot_state.h"

#include "poison.h"

#define SHARE_TRAINED 0.2 /* of the weights, by the bytes of their gradients; more is training of the whole */

/* ------------------------------------------------------------------------------------------------------- frozen weights */

/* At the peak there may be no gradients yet, so those behind a backward pass are asked. None at all may be of a step that is
 * taken within the backward pass. */
static enum ap_status find_frozen(const struct ap_owners *owners, const struct ap_owned_device *owned, int64_t *ret_bytes,
                                  struct ap_error *reterr)
{
    int64_t weights_bytes = ap_owned_sum_bytes(owned, AP_OWNER_PARAMETERS);
    uint32_t passes, behind = 0;
    if (owned->at_peak && weights_bytes)
        behind = ap_owned_behind_backward(owners, (uint32_t)owned->device, &passes);
    struct ap_owned_device later;
    bool overflowed = false;
    *ret_bytes = 0;
    if (!behind)
        return AP_OK;
    AP_TRY(ap_owned_take_at(owners, (uint32_t)owned->device, behind, &later, reterr));
    int64_t trained_bytes = ap_owned_sum_bytes(&later, AP_OWNER_GRADIENTS),
            state_bytes = ap_owned_sum_bytes(owned, AP_OWNER_OPTIMIZER_STATE);
    ap_owned_release(owners, &later);
    if (trained_bytes > 0 && (double)trained_bytes < SHARE_TRAINED * (double)weights_bytes &&
        (double)state_bytes < 2 * SHARE_TRAINED * (double)weights_bytes)
        *ret_bytes = ap_subtract_sat(weights_bytes, trained_bytes, &overflowed);
    return AP_OK;
}

/* ----------------------------------------------------------------------------------------------------------------- all */

static void add_one(const struct ap_owners *owners, const struct ap_owned *owned, struct ap_peak_causes *to)
{
    enum ap_owner_evidence evidence = (enum ap_owner_evidence)owned->evidence;
    bool overflowed = false;
    int64_t *sum = NULL;
    if (evidence == AP_EVIDENCE_ZEROS_KEPT ||
        (!owners->has_backward && (evidence == AP_EVIDENCE_KEPT_OUTSIDE || evidence == AP_EVIDENCE_INIT_ALONE)))
        sum = &to->buffers_bytes;
    else if (evidence == AP_EVIDENCE_GATHERED)
        sum = &to->gathered_bytes;
    else if (evidence == AP_EVIDENCE_WORKSPACE)
        sum = &to->workspace_bytes;
    else if (ap_owned_category(owned) == AP_OWNER_KV_CACHE)
        sum = &to->cache_bytes;
    else if (owned->stack && owners->stacks[owned->stack].table)
        sum = &to->table_gradients_bytes;
    else if (owned->stack && owners->stacks[owned->stack].in_backward && ap_owned_category(owned) == AP_OWNER_ACTIVATIONS)
        sum = &to->recomputed_bytes;
    if (sum)
        *sum = ap_add_sat(*sum, owned->bytes, &overflowed);
    to->cache_count += ap_owned_category(owned) == AP_OWNER_KV_CACHE;
}

static bool is_made(const struct ap_owners *owners, uint32_t entry, enum ap_owner_sign sign)
{
    const struct ap_actions *actions = &owners->replay->snapshot->actions;
    return actions->name[entry].id == AP_ACTION_ALLOC && owners->stacks[actions->stack[entry]].sign == sign;
}

/* The last allocation, or request to free, before the entry. */
static uint32_t change_before(const struct ap_owners *owners, const struct ap_replay_device *of, uint32_t entry)
{
    const struct ap_actions *actions = &owners->replay->snapshot->actions;
    while (entry-- > of->first_entry)
        if (actions->name[entry].id == AP_ACTION_ALLOC || actions->name[entry].id == AP_ACTION_FREE_REQUESTED)
            return entry;
    return AP_NO_ENTRY;
}

/* A piece that is given back right behind the next one was made: cat, or another order. Requests that follow each other give
 * theirs back first. */
static uint64_t count_replaced(const struct ap_owners *owners, const struct ap_replay_device *of)
{
    uint64_t count = owners->remade_count;
    for (uint32_t i = 0; i < of->lifetime_count; i++) {
        const struct ap_lifetime *life = &owners->replay->lifetimes[of->first_lifetime + i];
        if (life->alloc == AP_NO_ENTRY || life->free_requested == AP_NO_ENTRY ||
            !is_made(owners, life->alloc, AP_SIGN_KV_CACHE))
            continue;
        uint32_t before = change_before(owners, of, life->free_requested);
        count += before != AP_NO_ENTRY && before != life->alloc && is_made(owners, before, AP_SIGN_KV_CACHE);
    }
    return count;
}

/* In forward and backward pass together. */
static int64_t gathered_in_pass(const struct ap_owners *owners, uint32_t index)
{
    const struct ap_replay_device *of = &owners->replay->devices[index];
    uint32_t passes;
    int64_t bytes = 0;
    bool overflowed = false;
    (void)ap_owned_behind_backward(owners, index, &passes);
    for (uint32_t i = of->first_entry; i < of->first_entry + of->entry_count; i++)
        if (is_made(owners, i, AP_SIGN_GATHERED))
            bytes = ap_add_sat(bytes, owners->replay->snapshot->actions.size_bytes[i], &overflowed);
    return bytes / (passes ? passes : 1);
}

enum ap_status ap_peak_causes_find(const struct ap_owners *owners, const struct ap_owned_device *owned,
                                   struct ap_peak_causes *ret_causes, struct ap_error *reterr)
{
    struct ap_peak_causes causes = { .buffers_bytes = 0 };
    for (uint32_t i = 0; i < owned->count; i++)
        add_one(owners, &owned->list[i], &causes);
    if (owned->has_history) {
        causes.cache_replaced_count = count_replaced(owners, &owners->replay->devices[owned->device]);
        causes.gathered_pass_bytes = gathered_in_pass(owners, (uint32_t)owned->device);
    }
    AP_TRY(find_frozen(owners, owned, &causes.frozen_bytes, reterr));
    AP_TRY(ap_peak_find_cast(owners, owned, &causes.cast_bytes, reterr));
    *ret_causes = causes;
    return AP_OK;
}
