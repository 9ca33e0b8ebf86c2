/* SPDX-License-Identifier: MIT
 * track_table.c - threads and streams, found by their ids. There may be as many as rows. */
#include <string.h>

#include "trace_internal.h"

#include "poison.h"

#define FIRST_SLOTS 64
#define FAR_DEVICES_MAX ((size_t)INT32_MAX)

/* What a track is found by. */
struct ids {
    struct ap_str pid, tid;
    bool is_other; /* of @device, beside the track of these ids, which is of another one */
    int64_t device;
};

/* A member that is missing and one that is empty are the same. */
static uint32_t id_of(const struct ap_trace *trace, struct ap_str id)
{
    return ap_trace_id_text(trace, id).bytes ? id.id : 0;
}

static uint64_t hash_of(const struct ap_trace *trace, const struct ids *ids)
{
    return ap_hash_pair(&trace->gate->hash_key, (uint64_t)id_of(trace, ids->pid) << 32 | id_of(trace, ids->tid),
                        ids->is_other ? (uint64_t)ids->device : UINT64_MAX);
}

static struct ids ids_of(const struct ap_trace *trace, const struct ap_track *track)
{
    return (struct ids){ track->pid, track->tid, track->is_other, ap_track_device(trace, track) };
}

static bool are_of(const struct ap_trace *trace, const struct ids *ids, const struct ap_track *track)
{
    return id_of(trace, track->tid) == id_of(trace, ids->tid) && id_of(trace, track->pid) == id_of(trace, ids->pid) &&
           track->is_other == ids->is_other && (!ids->is_other || ap_track_device(trace, track) == ids->device);
}

/* The slot that holds the track's number + 1, or the free one where it belongs. */
static uint32_t *slot_of(const struct ap_trace *trace, const struct ids *ids)
{
    size_t mask = trace->track_slot_count - 1, at = (size_t)hash_of(trace, ids) & mask;
    while (trace->track_slots[at] && !are_of(trace, ids, &trace->tracks[trace->track_slots[at] - 1]))
        at = (at + 1) & mask;
    return &trace->track_slots[at];
}

/* Made anew from the tracks, so that two of them are never there. */
static enum ap_status grow_slots(struct ap_trace *trace, struct ap_error *reterr)
{
    size_t count = FIRST_SLOTS;
    while (trace->track_count + 1 > count / 8 * 5)
        count *= 2;
    AP_FREE(trace->gate, trace->track_slots, trace->track_slot_count);
    trace->track_slot_count = 0;
    AP_TRY(AP_ALLOC_CLEARED(trace->gate, trace->track_slots, count, reterr));
    trace->track_slot_count = count;
    for (size_t i = 0; i < trace->track_count; i++) {
        struct ids ids = ids_of(trace, &trace->tracks[i]);
        *slot_of(trace, &ids) = (uint32_t)i + 1;
    }
    return AP_OK;
}

/* The number of the track, of what is new that of @fresh, which is added. */
static enum ap_status find_or_add(struct ap_trace *trace, const struct ids *ids, struct ap_track fresh, uint32_t *ret_track,
                                  bool *ret_is_new, struct ap_error *reterr)
{
    if (trace->track_count + 1 > trace->track_slot_count / 8 * 5)
        AP_TRY(grow_slots(trace, reterr));
    uint32_t *slot = slot_of(trace, ids);
    *ret_is_new = !*slot;
    if (!*slot) {
        AP_TRY_ADD(trace->gate, trace->tracks, trace->track_count, trace->track_capacity, reterr, fresh);
        *slot = (uint32_t)trace->track_count;
    }
    *ret_track = *slot - 1;
    return AP_OK;
}

enum ap_status ap_trace_track(struct ap_trace *trace, struct ap_text pid, bool pid_is_text, struct ap_text tid,
                              bool tid_is_text, uint32_t *ret_track, struct ap_error *reterr)
{
    struct ap_track fresh = { .pid_is_text = pid_is_text, .tid_is_text = tid_is_text, .device = -1 };
    bool is_new;
    if (pid.data)
        AP_TRY(ap_strpool_intern(&trace->track_ids, pid.data, pid.bytes, &fresh.pid, reterr));
    if (tid.data)
        AP_TRY(ap_strpool_intern(&trace->track_ids, tid.data, tid.bytes, &fresh.tid, reterr));
    return find_or_add(trace, &(struct ids){ fresh.pid, fresh.tid, false, -1 }, fresh, ret_track, &is_new, reterr);
}

/* No exporter writes two devices under one pid and tid; files that were put together from several may. */
static enum ap_status other_device(struct ap_trace *trace, int64_t device, uint32_t *track, struct ap_error *reterr)
{
    struct ap_track fresh = trace->tracks[*track];
    uint32_t first = *track, label = ap_track_label_number(trace, first);
    bool is_new;
    fresh.is_other = true;
    fresh.open_begin = 0;
    AP_TRY(find_or_add(trace, &(struct ids){ fresh.pid, fresh.tid, true, device }, fresh, track, &is_new, reterr));
    trace->tracks_split = true;
    if (is_new)
        AP_TRY(ap_trace_set_device(trace, *track, device, reterr));
    /* A label of its own, as the first may still get another name. */
    if (label)
        AP_TRY(ap_trace_set_label(trace, *track, trace->track_labels[label - 1], reterr));
    return AP_OK;
}

enum ap_status ap_trace_set_device(struct ap_trace *trace, uint32_t track, int64_t device, struct ap_error *reterr)
{
    if (ap_track_device(trace, &trace->tracks[track]) == device)
        return AP_OK;
    if (device >= -1 && device <= INT32_MAX) {
        trace->tracks[track].device = (int32_t)device;
        return AP_OK;
    }
    if (trace->far_device_count == FAR_DEVICES_MAX)
        return ap_fail(reterr, AP_ERROR_LIMIT, "more than 2,147,483,647 large numbers of devices: record a shorter run");
    AP_TRY_ADD(trace->gate, trace->far_devices, trace->far_device_count, trace->far_device_capacity, reterr, device);
    trace->tracks[track].device = (int32_t)(-1 - (int64_t)trace->far_device_count);
    return AP_OK;
}

enum ap_status ap_trace_device_track(struct ap_trace *trace, int64_t device, uint32_t *track, struct ap_error *reterr)
{
    int64_t before = ap_track_device(trace, &trace->tracks[*track]);
    if (AP_LIKELY(before == device))
        return AP_OK;
    return before >= 0 ? other_device(trace, device, track, reterr) : ap_trace_set_device(trace, *track, device, reterr);
}

/* Few tracks have a label: the others take no room for one. */
enum ap_status ap_trace_set_label(struct ap_trace *trace, uint32_t track, struct ap_track_label label,
                                  struct ap_error *reterr)
{
    size_t before = trace->label_capacity;
    AP_TRY(AP_RESERVE(trace->gate, trace->label_of_track, trace->label_capacity, (size_t)track + 1, reterr));
    memset(trace->label_of_track + before, 0, (trace->label_capacity - before) * sizeof(trace->label_of_track[0]));
    uint32_t *number = &trace->label_of_track[track];
    if (!*number) {
        AP_TRY_ADD(trace->gate, trace->track_labels, trace->track_label_count, trace->track_label_capacity, reterr, label);
        *number = (uint32_t)trace->track_label_count;
    }
    trace->track_labels[*number - 1] = label;
    return AP_OK;
}

void ap_trace_freeze_tracks(struct ap_trace *trace)
{
    ap_strpool_freeze(&trace->track_ids);
    AP_FREE(trace->gate, trace->track_slots, trace->track_slot_count);
    trace->track_slots = NULL;
    trace->track_slot_count = 0;
}

void ap_trace_release_tracks(struct ap_trace *trace)
{
    ap_trace_freeze_tracks(trace);
    ap_strpool_release(&trace->track_ids);
    AP_FREE(trace->gate, trace->tracks, trace->track_capacity);
    AP_FREE(trace->gate, trace->far_devices, trace->far_device_capacity);
    AP_FREE(trace->gate, trace->label_of_track, trace->label_capacity);
    AP_FREE(trace->gate, trace->track_labels, trace->track_label_capacity);
}
