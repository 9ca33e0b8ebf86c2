/* SPDX-License-Identifier: MIT
 * What the history of each device comes to when it is replayed. */
#include "snapshot_part.h"

#include "poison.h"

static const char *begin_name(const struct ap_replay_device *device)
{
    static const char *const names[] = {
        [AP_BEGIN_NOTHING] = "no history",
        [AP_BEGIN_SINGLE] = "single entry",
        [AP_BEGIN_EMPTY] = "empty state",
        [AP_BEGIN_MID_RUN] = "mid-run",
    };
    return names[device->begin];
}

#define MOST_DEVICES 256 /* a file with more is none that a machine wrote */

/* How far the curves can be relied on. */
static const char *confidence(const struct ap_replay_device *device)
{
    bool contradicted = device->below_zero || device->above_reserved;
    if (device->begin == AP_BEGIN_NOTHING || device->begin == AP_BEGIN_SINGLE)
        return "none";
    if (!contradicted && !device->inconsistencies)
        return "high";
    return !contradicted && device->inconsistencies <= device->entry_count / 100 ? "medium" : "low";
}

static void put_peak(struct ap_snapshot_part *pass, struct ap_value *row, const struct ap_replay_device *device,
                     const struct ap_curve *curve, bool known, const char *entry_key, const char *time_key)
{
    const struct ap_actions *actions = &pass->snapshot->actions;
    uint32_t position = curve->peak_position, entry = device->first_entry + position - 1;
    bool at_entry = known && position > 0;
    ap_put_count(pass, row, entry_key, at_entry, at_entry ? position - 1 : 0);
    ap_put_time(pass, row, time_key, at_entry && (actions->has[entry] & AP_ACTION_HAS_TIME),
                at_entry ? actions->time_ns[entry] : 0);
}

static void put_curves(struct ap_snapshot_part *pass, struct ap_value *row, const struct ap_replay_device *device)
{
    bool any = device->begin != AP_BEGIN_NOTHING, claims = any && device->begin != AP_BEGIN_SINGLE;
    bool requested = device->requested.known, reserved = device->reserved.known;
    ap_put_bytes(pass, row, "start_requested_bytes", any && requested, device->requested.start_bytes);
    ap_put_bytes(pass, row, "peak_requested_bytes", claims && requested, device->requested.peak_bytes);
    put_peak(pass, row, device, &device->requested, claims && requested, "peak_entry", "peak_time_us");
    ap_put_bytes(pass, row, "end_requested_bytes", requested, device->requested.end_bytes);
    ap_put_bytes(pass, row, "offset_bytes", requested && device->live_end_known, device->offset_bytes);
    ap_put_bytes(pass, row, "peak_active_bytes", claims && requested, device->active.peak_bytes);
    ap_put_bytes(pass, row, "start_reserved_bytes", any && reserved, device->reserved.start_bytes);
    ap_put_bytes(pass, row, "peak_reserved_bytes", claims && reserved, device->reserved.peak_bytes);
    put_peak(pass, row, device, &device->reserved, claims && reserved, "peak_reserved_entry", "peak_reserved_time_us");
    ap_put_bytes(pass, row, "end_reserved_bytes", reserved, device->reserved.end_bytes);
}

static void put_oddities(struct ap_snapshot_part *pass, struct ap_value *row, const struct ap_replay_device *device)
{
    bool any = device->begin != AP_BEGIN_NOTHING;
    ap_add_count(pass->model, row, "inconsistencies", (int64_t)device->inconsistencies);
    struct ap_value *kinds = ap_add_object(pass->model, row, "inconsistent_entries");
    ap_add_count(pass->model, kinds, "alloc_lost", (int64_t)device->odd[AP_REPLAY_ALLOC_LOST]);
    ap_add_count(pass->model, kinds, "free_of_live", (int64_t)device->odd[AP_REPLAY_FREE_OF_LIVE]);
    ap_add_count(pass->model, kinds, "size_differs", (int64_t)device->odd[AP_REPLAY_SIZE_DIFFERS]);
    ap_add_count(pass->model, kinds, "no_address", (int64_t)device->odd[AP_REPLAY_NO_ADDRESS]);
    ap_put_bool(pass, row, "below_zero", any, device->below_zero);
    ap_put_bool(pass, row, "above_reserved", any, device->above_reserved);
    ap_add_count(pass->model, row, "times_backwards", (int64_t)device->times_backwards);
    ap_add_string(pass->model, row, "confidence", confidence(device));
}

static void put_device(struct ap_snapshot_part *pass, struct ap_value *list, uint32_t index)
{
    const struct ap_replay_device *device = &pass->replay->devices[index];
    struct ap_value *row = ap_add_object(pass->model, list, NULL);
    bool any = device->begin != AP_BEGIN_NOTHING;
    ap_add_count(pass->model, row, "device", index);
    ap_add_count(pass->model, row, "entries", device->entry_count);
    ap_add_string(pass->model, row, "begins", begin_name(device));
    ap_put_bool(pass, row, "starts_live", any, device->starts_live);
    ap_put_bool(pass, row, "ring_was_full", any, device->ring_was_full);
    put_curves(pass, row, device);
    ap_add_count(pass->model, row, "allocations", device->lifetime_count);
    ap_put_count(pass, row, "allocated_before_count", any, device->lived_before);
    put_oddities(pass, row, device);
}

void ap_memory_put_replay(struct ap_snapshot_part *pass, struct ap_value *memory)
{
    const struct ap_replay *replay = pass->replay;
    struct ap_value *to = ap_add_object(pass->model, memory, "replay");
    struct ap_value *list = ap_add_list(pass->model, to, "devices");
    int64_t peak_bytes = 0;
    uint64_t inconsistencies = 0;
    bool known = false, live = false, recorded = false;
    for (uint32_t i = 0; i < replay->device_count; i++) {
        const struct ap_replay_device *device = &replay->devices[i];
        if (i < MOST_DEVICES)
            put_device(pass, list, i);
        inconsistencies += device->inconsistencies;
        live = live || device->begin == AP_BEGIN_MID_RUN;
        if (device->begin != AP_BEGIN_EMPTY && device->begin != AP_BEGIN_MID_RUN)
            continue;
        recorded = true;
        if (device->requested.known && (!known || device->requested.peak_bytes > peak_bytes))
            peak_bytes = device->requested.peak_bytes;
        known = known || device->requested.known;
    }
    ap_add_count(pass->model, to, "device_count", replay->device_count);
    ap_put_bytes(pass, to, "peak_requested_bytes", known, peak_bytes);
    ap_put_count(pass, to, "inconsistencies", recorded, inconsistencies);
    ap_put_bool(pass, to, "starts_live", recorded, live);
}
