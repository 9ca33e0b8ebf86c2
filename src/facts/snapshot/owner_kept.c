/* SPDX-License-Identifier: MIT
 * owner_kept.c - what no frame and no size tells, but its place in the run, its lifetime or its pool does: a program's own
 * buffers, data sets and lists, batches, and what CUDA graphs hold. */
#include "allocation_owner.h"

#include "poison.h"

static bool in_private_pool(const struct ap_owners *owners, const struct ap_owned *owned)
{
    struct ap_allocation allocation;
    if (owned->lifetime == AP_NO_LIFETIME)
        return false;
    ap_replay_allocation(owners->replay, owned->lifetime, &allocation);
    return allocation.has_pool && (allocation.pool[0] || allocation.pool[1]);
}

/* When the last of the weights was made that are there; 0 = before the history, or none is. */
static uint32_t last_weight(const struct ap_owned_device *device)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < device->count; i++) {
        const struct ap_owned *owned = &device->list[i];
        if (owned->evidence == AP_EVIDENCE_MODULE && owned->alloc != AP_NO_ENTRY && owned->alloc > last)
            last = owned->alloc;
    }
    return last;
}

void ap_owned_settle_kept(const struct ap_owners *owners, uint32_t index, struct ap_owned_device *device)
{
    const struct ap_replay_device *of = &owners->replay->devices[index];
    uint32_t end = of->first_entry + of->entry_count, old = ap_owned_old_entries(of), built = last_weight(device);
    for (uint32_t i = 0; i < device->count; i++) {
        struct ap_owned *owned = &device->list[i];
        if (ap_owned_category(owned) != AP_OWNER_UNKNOWN)
            continue;
        bool stays = owned->stack && owned->end == AP_NO_ENTRY;
        bool kept = stays && (owned->alloc == AP_NO_ENTRY || end - owned->alloc > old);
        if (in_private_pool(owners, owned))
            owned->evidence = AP_EVIDENCE_PRIVATE_POOL;
        else if (owned->stack && owners->stacks[owned->stack].sign == AP_SIGN_BUFFER)
            owned->evidence = AP_EVIDENCE_BUFFER;
        else if (kept)
            owned->evidence = AP_EVIDENCE_KEPT_OUTSIDE;
        else if (stays && owned->alloc < built)
            owned->evidence = AP_EVIDENCE_BEFORE_WEIGHTS;
        else if (owned->stack && owners->stacks[owned->stack].opens)
            owned->evidence = AP_EVIDENCE_OPENS_PASS;
    }
}
