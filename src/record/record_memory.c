/* SPDX-License-Identifier: MIT */
#include "record_memory.h"

#include <string.h>

#include "recorder.h"

#include "poison.h"

#define FIRST_RING_EVENTS 1024
#define MAX_DEVICE 255 /* a snapshot has a list for each up to the last one */

void ap_record_memory_init(struct ap_record_memory *memory, struct ap_gate *gate, uint64_t max_events)
{
    *memory = (struct ap_record_memory){ .gate = gate, .max_events = max_events, .live.gate = gate, .frame_map.gate = gate };
    ap_strpool_init(&memory->names, gate);
}

void ap_record_memory_release(struct ap_record_memory *memory)
{
    struct ap_gate *gate = memory->gate;
    ap_record_live_release(&memory->live);
    AP_FREE(gate, memory->events, memory->event_capacity);
    AP_FREE(gate, memory->devices, memory->device_capacity);
    AP_FREE(gate, memory->frames, memory->frame_capacity);
    ap_pair_map_release(&memory->frame_map);
    ap_strpool_release(&memory->names);
}

/* ---------------------------------------------------------------------------------------------------------- devices */

const struct ap_record_device *ap_record_memory_device(const struct ap_record_memory *memory, int32_t device)
{
    for (size_t i = 0; i < memory->device_count; i++)
        if (memory->devices[i].device == device)
            return &memory->devices[i];
    return NULL;
}

static struct ap_record_device *enter_device(struct ap_record_memory *memory, int32_t device)
{
    struct ap_error error;
    device = device < 0 ? AP_DEVICE_HOST : device;
    const struct ap_record_device *known = ap_record_memory_device(memory, device);
    if (known)
        return &memory->devices[known - memory->devices];
    if (device > MAX_DEVICE)
        return NULL;
    if (AP_RESERVE(memory->gate, memory->devices, memory->device_capacity, memory->device_count + 1, &error) != AP_OK)
        return NULL;
    memory->devices[memory->device_count] = (struct ap_record_device){ .device = device };
    return &memory->devices[memory->device_count++];
}

/* ----------------------------------------------------------------------------------------------------------- stacks */

static enum ap_status enter_frame(struct ap_record_memory *memory, uint32_t outer, const char *name, bool is_tag,
                                  uint32_t *ret_frame, struct ap_error *reterr)
{
    struct ap_text text = ap_record_name(name);
    struct ap_str str;
    uint32_t number, known = memory->frame_map.count;
    AP_TRY(ap_strpool_intern(&memory->names, text.data, text.bytes, &str, reterr));
    AP_TRY(AP_RESERVE(memory->gate, memory->frames, memory->frame_capacity, (size_t)known + 1, reterr));
    AP_TRY(ap_pair_map_add(&memory->frame_map, outer, str.id << 1 | is_tag, &number, reterr));
    if (number == known)
        memory->frames[number] = (struct ap_record_frame){ outer, text.data, is_tag };
    *ret_frame = number + 1;
    return AP_OK;
}

/* The open scopes of the thread, and the tag as the innermost frame. */
static enum ap_status enter_stack(struct ap_record_memory *memory, const struct ap_record_thread *thread, const char *tag,
                                  uint32_t *ret_stack, struct ap_error *reterr)
{
    uint32_t stack = 0, depth = thread->depth < AP_RECORD_OPEN_SCOPES ? thread->depth : AP_RECORD_OPEN_SCOPES;
    for (uint32_t i = 0; i < depth; i++)
        AP_TRY(enter_frame(memory, stack, thread->open[i], false, &stack, reterr));
    if (tag)
        AP_TRY(enter_frame(memory, stack, tag, true, &stack, reterr));
    *ret_stack = stack;
    return AP_OK;
}

/* ----------------------------------------------------------------------------------------------------------- events */

/* Room for one more in the ring, which doubles up to its limit and as long as there is memory. */
static void grow_ring(struct ap_record_memory *memory)
{
    if (memory->event_count < memory->event_capacity || memory->event_capacity >= memory->max_events || memory->event_begin)
        return;
    size_t wanted = memory->event_capacity ? memory->event_capacity * 2 : FIRST_RING_EVENTS;
    wanted = wanted > memory->max_events ? (size_t)memory->max_events : wanted;
    void *grown = ap_mem_resize(memory->gate, memory->events, memory->event_capacity * sizeof(memory->events[0]),
                                wanted * sizeof(memory->events[0]));
    if (grown) {
        memory->events = grown;
        memory->event_capacity = wanted;
    }
}

static void add_event(struct ap_record_memory *memory, const struct ap_record_memory_event *event)
{
    grow_ring(memory);
    if (memory->event_count < memory->event_capacity) {
        memory->events[memory->event_count++] = *event;
        return;
    }
    memory->events_dropped++;
    if (!memory->event_count)
        return;
    struct ap_record_memory_event *oldest = &memory->events[memory->event_begin];
    struct ap_record_device *device = &memory->devices[oldest->device_index];
    if (oldest->current_bytes > device->forgotten_peak_bytes)
        device->forgotten_peak_bytes = oldest->current_bytes;
    *oldest = *event;
    memory->event_begin = (memory->event_begin + 1) % memory->event_count;
}

static void change_use(struct ap_record_memory *memory, struct ap_record_thread *thread, struct ap_record_device *device,
                       struct ap_record_block allocation, int64_t change_bytes, uint32_t stack)
{
    bool overflowed = false;
    struct ap_memory_use *use = &device->use;
    int64_t time = ap_record_time(thread->recorder);
    use->current_bytes = ap_add_sat(use->current_bytes, change_bytes, &overflowed);
    thread->memory_bytes = ap_add_sat(thread->memory_bytes, change_bytes, &overflowed);
    if (use->current_bytes > use->peak_bytes) {
        use->peak_bytes = use->current_bytes;
        device->peak_time = time;
    }
    add_event(memory, &(struct ap_record_memory_event){ time, allocation.address, change_bytes, use->current_bytes,
                                                        (uint32_t)(device - memory->devices), stack, thread->os_id });
}

static void release(struct ap_record_memory *memory, struct ap_record_thread *thread, struct ap_record_device *device,
                    struct ap_record_block *found)
{
    struct ap_record_block allocation = *found;
    ap_record_live_remove(&memory->live, found);
    change_use(memory, thread, device, allocation, -allocation.bytes, 0);
}

static bool allocate(struct ap_record_memory *memory, struct ap_record_thread *thread, struct ap_record_block allocation,
                     const char *tag)
{
    struct ap_error error;
    struct ap_record_device *device = enter_device(memory, allocation.device);
    if (!device || enter_stack(memory, thread, tag, &allocation.stack, &error) != AP_OK ||
        ap_record_live_reserve(&memory->live, &error) != AP_OK)
        return false;
    struct ap_record_block *in_use = ap_record_live_find(&memory->live, device->device, allocation.address);
    if (!in_use && memory->live.count >= memory->max_events)
        return false;
    if (in_use) {
        release(memory, thread, device, in_use);
        device->use.lost_count++;
    }
    allocation.device = device->device;
    ap_record_live_add(&memory->live, allocation);
    device->use.allocation_count++;
    change_use(memory, thread, device, allocation, allocation.bytes, allocation.stack);
    return true;
}

void ap_record_allocation(struct ap_recorder *recorder, int32_t device, const void *address, uint64_t bytes, const char *tag)
{
    struct ap_record_thread *thread = ap_recorder_is_on(recorder) ? ap_record_thread_get(recorder) : NULL;
    if (!thread)
        return;
    struct ap_record_block allocation = { (uint64_t)(uintptr_t)address, bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX,
                                          device, 0 };
    pthread_mutex_lock(&recorder->memory_lock);
    recorder->memory.allocations_dropped += !allocate(&recorder->memory, thread, allocation, tag);
    pthread_mutex_unlock(&recorder->memory_lock);
}

void ap_record_release(struct ap_recorder *recorder, int32_t device, const void *address)
{
    struct ap_record_thread *thread = ap_recorder_is_on(recorder) ? ap_record_thread_get(recorder) : NULL;
    if (!thread)
        return;
    pthread_mutex_lock(&recorder->memory_lock);
    struct ap_record_device *known = enter_device(&recorder->memory, device);
    struct ap_record_block *found =
        known ? ap_record_live_find(&recorder->memory.live, known->device, (uint64_t)(uintptr_t)address) : NULL;
    if (found) {
        known->use.release_count++;
        release(&recorder->memory, thread, known, found);
    } else if (known) {
        known->use.unmatched_count++;
    }
    pthread_mutex_unlock(&recorder->memory_lock);
}

/* ---------------------------------------------------------------------------------------------------------- reading */

void ap_recorder_memory(struct ap_recorder *recorder, int32_t device, struct ap_memory_use *ret_use)
{
    struct ap_record_scale scale = ap_record_scale_now(recorder);
    pthread_mutex_lock(&recorder->memory_lock);
    const struct ap_record_device *known = ap_record_memory_device(&recorder->memory, device < 0 ? AP_DEVICE_HOST : device);
    *ret_use = known ? known->use : (struct ap_memory_use){ 0 };
    if (known && known->use.peak_bytes)
        ret_use->peak_ns = ap_record_ns(&scale, known->peak_time);
    pthread_mutex_unlock(&recorder->memory_lock);
}

static enum ap_status copy_array(struct ap_gate *gate, const void *from, size_t bytes, void *ret_copy,
                                 struct ap_error *reterr)
{
    void *copy = NULL;
    if (bytes) {
        copy = ap_mem_resize(gate, NULL, 0, bytes);
        if (!copy)
            return ap_fail_memory(gate, reterr);
        memcpy(copy, from, bytes);
    }
    memcpy(ret_copy, &copy, sizeof(copy));
    return AP_OK;
}

static enum ap_status copy_parts(const struct ap_record_memory *memory, struct ap_record_memory *copy,
                                 struct ap_error *reterr)
{
    copy->event_capacity = copy->event_count;
    copy->device_capacity = copy->device_count;
    copy->frame_capacity = copy->frame_map.count;
    AP_TRY(copy_array(copy->gate, memory->events, copy->event_count * sizeof(copy->events[0]), &copy->events, reterr));
    AP_TRY(copy_array(copy->gate, memory->devices, copy->device_count * sizeof(copy->devices[0]), &copy->devices, reterr));
    AP_TRY(copy_array(copy->gate, memory->frames, copy->frame_capacity * sizeof(copy->frames[0]), &copy->frames, reterr));
    return copy_array(copy->gate, memory->live.slots, copy->live.slot_count * sizeof(copy->live.slots[0]), &copy->live.slots,
                      reterr);
}

enum ap_status ap_record_memory_copy(struct ap_recorder *recorder, struct ap_record_memory *ret_copy,
                                     struct ap_error *reterr)
{
    pthread_mutex_lock(&recorder->memory_lock);
    struct ap_record_memory copy = recorder->memory;
    copy.events = NULL;
    copy.devices = NULL;
    copy.frames = NULL;
    copy.live.slots = NULL;
    enum ap_status status = copy_parts(&recorder->memory, &copy, reterr);
    pthread_mutex_unlock(&recorder->memory_lock);
    if (status == AP_OK)
        *ret_copy = copy;
    else
        ap_record_memory_copy_release(&copy);
    return status;
}

void ap_record_memory_copy_release(struct ap_record_memory *copy)
{
    struct ap_gate *gate = copy->gate;
    ap_mem_free(gate, copy->events, copy->events ? copy->event_count * sizeof(copy->events[0]) : 0);
    ap_mem_free(gate, copy->devices, copy->devices ? copy->device_count * sizeof(copy->devices[0]) : 0);
    ap_mem_free(gate, copy->frames, copy->frames ? copy->frame_capacity * sizeof(copy->frames[0]) : 0);
    ap_mem_free(gate, copy->live.slots, copy->live.slots ? copy->live.slot_count * sizeof(copy->live.slots[0]) : 0);
}

static void fill_point(const struct ap_record_memory *memory, const struct ap_record_memory_event *event,
                       const struct ap_record_scale *scale, struct ap_memory_point *point)
{
    const struct ap_record_frame *frame = event->stack ? &memory->frames[event->stack - 1] : NULL;
    *point = (struct ap_memory_point){ ap_record_ns(scale, event->time), event->change_bytes, event->current_bytes,
                                       event->address, frame && frame->is_tag ? frame->name : NULL };
}

void ap_recorder_timeline(struct ap_recorder *recorder, int32_t device, struct ap_memory_point *points, size_t capacity,
                          size_t *ret_count)
{
    struct ap_record_scale scale = ap_record_scale_now(recorder);
    size_t count = 0, at = 0;
    pthread_mutex_lock(&recorder->memory_lock);
    const struct ap_record_memory *memory = &recorder->memory;
    const struct ap_record_device *known = ap_record_memory_device(memory, device < 0 ? AP_DEVICE_HOST : device);
    uint32_t index = known ? (uint32_t)(known - memory->devices) : UINT32_MAX;
    for (size_t i = 0; i < memory->event_count; i++)
        count += ap_record_memory_event_at(memory, i)->device_index == index;
    for (size_t i = 0; i < memory->event_count; i++) {
        const struct ap_record_memory_event *event = ap_record_memory_event_at(memory, i);
        if (event->device_index != index)
            continue;
        if (count - at <= capacity)
            fill_point(memory, event, &scale, points++);
        at++;
    }
    pthread_mutex_unlock(&recorder->memory_lock);
    *ret_count = count;
}
