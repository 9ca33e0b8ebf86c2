/* SPDX-License-Identifier: MIT */
#include "join_contradiction.h"

#include "poison.h"

#define MOST_DEVICES 64
#define WARP_OF_CUDA 32

/* A set of ordinals, as bits; what is beyond is left out. */
static void add(uint64_t *devices, int64_t device)
{
    if (device >= 0 && device < MOST_DEVICES)
        *devices |= UINT64_C(1) << device;
}

/* Of the allocator's own rows, which count as the snapshot does. */
static uint64_t devices_of_instants(const struct ap_trace *trace)
{
    uint64_t devices = 0;
    for (size_t i = 0; i < trace->memory_instant_count; i++)
        if (trace->memory_instants[i].device_type > 0)
            add(&devices, trace->memory_instants[i].device_id);
    return devices;
}

static bool is_listed_by_cuda(const struct ap_trace *trace, int64_t device)
{
    for (size_t i = 0; i < trace->device_count; i++)
        if (trace->devices[i].id == device)
            return trace->devices[i].warp_size == WARP_OF_CUDA;
    return false;
}

/* Of GPU work. ROCm counts processors among its devices, so only what CUDA lists is taken. */
static uint64_t devices_of_work(const struct ap_trace *trace)
{
    uint64_t devices = 0;
    for (size_t i = 0; i < trace->track_count; i++) {
        int64_t device = ap_track_device(trace, &trace->tracks[i]);
        if (device >= 0 && !is_listed_by_cuda(trace, device))
            return 0;
        if (device >= 0)
            add(&devices, device);
    }
    return devices;
}

static uint64_t devices_of_snapshot(const struct ap_snapshot *snapshot, const struct ap_replay *replay)
{
    uint64_t devices = 0;
    for (uint32_t i = 0; i < snapshot->segment_count; i++)
        if (snapshot->segments[i].has & AP_SEGMENT_HAS_DEVICE)
            add(&devices, snapshot->segments[i].device);
    for (uint32_t i = 0; i < replay->device_count; i++)
        if (replay->devices[i].entry_count)
            add(&devices, i);
    return devices;
}

void ap_join_find_contradiction(struct ap_memory_join *join, const struct ap_replay *replay)
{
    uint64_t of_trace = devices_of_instants(join->trace), of_snapshot = devices_of_snapshot(replay->snapshot, replay);
    if (!of_trace)
        of_trace = devices_of_work(join->trace);
    if (of_trace && of_snapshot && !(of_trace & of_snapshot)) {
        join->state = AP_JOIN_OTHER_DEVICE;
        join->device = (uint32_t)__builtin_ctzll(of_snapshot);
    }
    for (uint32_t i = 0; i < replay->device_count && join->state != AP_JOIN_OTHER_DEVICE; i++) {
        const struct ap_curve *reserved = &replay->devices[i].reserved;
        int64_t capacity = ap_memory_join_capacity(join, i);
        if (capacity > 0 && reserved->known && reserved->peak_bytes > capacity) {
            join->state = AP_JOIN_TOO_LARGE;
            join->device = i;
        }
    }
}

bool ap_join_bytes_contradict(const struct ap_memory_join *join, const struct ap_replay *replay)
{
    const struct ap_curve *reserved = &replay->devices[join->device].reserved;
    for (size_t i = 0; i < join->trace->memory_instant_count && reserved->known && !join->doubtful; i++) {
        const struct ap_memory_event *instant = &join->trace->memory_instants[i];
        if (instant->device_type > 0 && instant->device_id == (int64_t)join->device && instant->start_ns >= join->start_ns &&
            instant->start_ns <= join->end_ns && instant->total_reserved_bytes > reserved->peak_bytes)
            return true;
    }
    return false;
}
