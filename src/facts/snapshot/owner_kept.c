/* SPDX-License-Identifier: MIT
 * owner_kept.c - what no frame and no size tells, but its lifetime or its pool does: a program's own buffers, data sets and
 * lists, and what CUDA graphs hold. */
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

void ap_owned_settle_kept(const struct ap_owners *owners, uint32_t index, struct ap_owned_device *device)
{
    const struct ap_replay_device *of = &owners->replay->devices[index];
    uint32_t end = of->first_entry + of->entry_count, old = ap_owned_old_entries(of);
    for (uint32_t i = 0; i < device->count; i++) {
        struct ap_owned *owned = &device->list[i];
        if (ap_owner_evidence_category((enum ap_owner_evidence)owned->evidence) != AP_OWNER_UNKNOWN)
            continue;
        bool kept = owned->stack && owned->end == AP_NO_ENTRY && (owned->alloc == AP_NO_ENTRY || end - owned->alloc > old);
        if (in_private_pool(owners, owned))
            owned->evidence = AP_EVIDENCE_PRIVATE_POOL;
        else if (owned->stack && owners->stacks[owned->stack].sign == AP_SIGN_BUFFER)
            owned->evidence = AP_EVIDENCE_BUFFER;
        else if (kept)
            owned->evidence = AP_EVIDENCE_KEPT_OUTSIDE;
    }
}
