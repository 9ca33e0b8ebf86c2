/* SPDX-License-Identifier: MIT */
#include "early_gradients.h"

#include "snapshot_state.h"

#include "poison.h"

/* Optimizers that work in place leave no entries, but marks. */
static bool is_of_optimizer(const struct ap_owners *owners, const struct ap_memory_range *range, int64_t device)
{
    struct ap_text name = ap_strpool_text(&owners->replay->snapshot->strings, (struct ap_str){ range->name });
    return (int64_t)range->device == device && ap_text_starts_with(name, "Optimizer.");
}

static bool is_optimizer(enum ap_work work)
{
    return work == AP_WORK_OPTIMIZER || work == AP_WORK_ZERO_GRAD;
}

/* Does an optimizer step or drop gradients between two positions? */
static bool steps_within(const struct ap_owners *owners, const struct ap_memory_ranges *ranges, int64_t device,
                         uint32_t from, uint32_t to)
{
    uint32_t first = owners->replay->devices[device].first_entry;
    for (uint32_t i = from; i < to; i++)
        if (is_optimizer((enum ap_work)owners->work[first + i]))
            return true;
    for (size_t i = 0; i < ranges->count; i++)
        if (is_of_optimizer(owners, &ranges->list[i], device) && ranges->list[i].to >= from && ranges->list[i].from <= to)
            return true;
    return false;
}

/* The last position at or before @at whose entry allocates for @work; 0 = there is none. */
static uint32_t last_of(const struct ap_owners *owners, int64_t device, uint32_t at, enum ap_work work)
{
    const struct ap_replay_device *of = &owners->replay->devices[device];
    while (at > 0 && (owners->replay->snapshot->actions.name[of->first_entry + at - 1].id != AP_ACTION_ALLOC ||
                      owners->work[of->first_entry + at - 1] != work))
        at--;
    return at;
}

static bool are_needed(const struct ap_owners *owners, const struct ap_memory_ranges *ranges,
                       const struct ap_owned_device *device)
{
    if (!device->has_history || !device->position)
        return false;
    const struct ap_replay_device *of = &owners->replay->devices[device->device];
    if (owners->work[of->first_entry + device->position - 1] == AP_WORK_OPTIMIZER)
        return true;
    uint32_t forward = last_of(owners, device->device, device->position, AP_WORK_FORWARD);
    uint32_t backward = last_of(owners, device->device, forward, AP_WORK_BACKWARD);
    return backward && steps_within(owners, ranges, device->device, 0, of->entry_count) &&
           !steps_within(owners, ranges, device->device, backward, forward);
}

int64_t ap_early_gradients(const struct ap_owners *owners, const struct ap_memory_ranges *ranges,
                           const struct ap_owned_device *device, bool *overflowed)
{
    uint32_t last_activation = 0;
    int64_t bytes = 0;
    bool any = false;
    for (uint32_t i = 0; i < device->count; i++) {
        const struct ap_owned *owned = &device->list[i];
        if (owned->evidence != AP_EVIDENCE_FORWARD_SAVED || owned->alloc == AP_NO_ENTRY)
            continue;
        last_activation = !any || owned->alloc > last_activation ? owned->alloc : last_activation;
        any = true;
    }
    if (!any || are_needed(owners, ranges, device))
        return 0;
    for (uint32_t i = 0; i < device->count; i++) {
        const struct ap_owned *owned = &device->list[i];
        bool early = owned->alloc == AP_NO_ENTRY || owned->alloc < last_activation;
        if (early && ap_owned_category(owned) == AP_OWNER_GRADIENTS)
            bytes = ap_add_sat(bytes, owned->bytes, overflowed);
    }
    return bytes;
}
