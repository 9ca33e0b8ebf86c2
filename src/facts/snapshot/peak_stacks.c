/* SPDX-License-Identifier: MIT */
#include "peak_stacks.h"

#include "allocation_owner.h"

#include "poison.h"

static enum ap_status add_groups(struct ap_peak_stacks *stacks, int64_t device, const struct ap_owned_group *groups,
                                 uint32_t count, struct ap_error *reterr)
{
    AP_TRY(AP_RESERVE(stacks->gate, stacks->list, stacks->capacity, stacks->count + count, reterr));
    stacks->several_devices = stacks->several_devices || (stacks->count > 0 && count > 0);
    for (uint32_t i = 0; i < count; i++)
        stacks->list[stacks->count++] = (struct ap_peak_stack){ device, groups[i].bytes, groups[i].stack };
    return AP_OK;
}

static enum ap_status add_device(struct ap_peak_stacks *stacks, const struct ap_owners *owners, int64_t ordinal,
                                 struct ap_error *reterr)
{
    struct ap_owned_device device;
    struct ap_owned_group *groups;
    uint32_t count;
    AP_TRY(ap_owned_take(owners, ordinal, &device, reterr));
    enum ap_status status = ap_owned_by_stack(owners, &device, &groups, &count, reterr);
    ap_owned_release(owners, &device);
    if (status != AP_OK || !count)
        return status;
    status = add_groups(stacks, ordinal, groups, count, reterr);
    AP_FREE(owners->gate, groups, count);
    return status;
}

static enum ap_status fill(struct ap_peak_stacks *stacks, const struct ap_replay *replay, struct ap_error *reterr)
{
    struct ap_owners owners;
    int64_t *devices;
    uint32_t count, more;
    AP_TRY(ap_owners_init(&owners, replay, stacks->gate, reterr));
    enum ap_status status = ap_owned_devices(&owners, &devices, &count, &more, reterr);
    if (status == AP_OK) {
        for (uint32_t i = 0; i < count && status == AP_OK; i++)
            status = add_device(stacks, &owners, devices[i], reterr);
        AP_FREE(stacks->gate, devices, count);
    }
    ap_owners_release(&owners);
    return status;
}

enum ap_status ap_peak_stacks_init(struct ap_peak_stacks *stacks, const struct ap_snapshot *snapshot,
                                   struct ap_error *reterr)
{
    struct ap_replay *replay;
    bool overflowed = false;
    *stacks = (struct ap_peak_stacks){ .gate = snapshot->gate };
    AP_TRY(ap_replay_new(snapshot, snapshot->gate, &overflowed, &replay, reterr));
    enum ap_status status = fill(stacks, replay, reterr);
    ap_replay_free(replay);
    if (status != AP_OK)
        ap_peak_stacks_release(stacks);
    return status;
}

void ap_peak_stacks_release(struct ap_peak_stacks *stacks)
{
    AP_FREE(stacks->gate, stacks->list, stacks->capacity);
    *stacks = (struct ap_peak_stacks){ .gate = stacks->gate };
}
