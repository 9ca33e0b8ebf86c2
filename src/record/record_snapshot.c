/* SPDX-License-Identifier: MIT
 * record_snapshot.c - the memory of a recording in the form of torch.cuda.memory._snapshot().
 *
 * The recorder sees allocations and no pool behind them. So that nothing is claimed of segments, the pool is one without
 * waste: it grows by what is missing whenever more is in use than ever before, and gives nothing back. At the end each
 * allocation in use is a segment of its own, and what an earlier peak needed beyond them is one free segment. */
#include <inttypes.h>

#include "json_text.h"
#include "recorder.h"
#include "sort.h"

#include "poison.h"

#define FREE_SEGMENT_ALIGN (UINT64_C(2) << 20)

struct snapshot_out {
    struct ap_out out;
    struct ap_record_scale scale;
    int64_t epoch_ns;
    const struct ap_record_memory *memory; /* a copy */
    int32_t host_index;                    /* of the host's memory among the devices */
    uint64_t highest_address;              /* behind all that was seen */
    bool any;                              /* in the list that is being written */
};

static void begin_item(struct snapshot_out *to)
{
    ap_out_string(&to->out, to->any ? ",\n{" : "\n{");
    to->any = true;
}

static int32_t index_of(const struct snapshot_out *to, int32_t device)
{
    return device < 0 ? to->host_index : device;
}

/* Innermost first. A tag stands for the line of code that allocates, a scope for a function. */
static void put_frames(struct snapshot_out *to, uint32_t stack)
{
    ap_out_string(&to->out, "\"frames\": [");
    for (const char *before = ""; stack; before = ", ") {
        const struct ap_record_frame *frame = &to->memory->frames[stack - 1];
        ap_out_format(&to->out, "%s{\"name\": ", before);
        ap_json_write_text(&to->out, ap_record_name(frame->name));
        ap_out_format(&to->out, ", \"filename\": \"%s\", \"line\": 0}", frame->is_tag ? "tag" : "scope");
        stack = frame->outer;
    }
    ap_out_char(&to->out, ']');
}

/* -------------------------------------------------------------------------------------------------------- segments */

static int by_place(const void *a_self, const void *b_self)
{
    const struct ap_record_block *a = a_self, *b = b_self;
    AP_BY_SMALLER(a->device, b->device);
    return (a->address > b->address) - (a->address < b->address);
}

static void begin_segment(struct snapshot_out *to, int32_t device, uint64_t address, int64_t bytes, int64_t used_bytes)
{
    begin_item(to);
    ap_out_format(
        &to->out,
        "\"device\": %d, \"address\": %" PRIu64 ", \"total_size\": %" PRId64 ", \"allocated_size\": %" PRId64
        ", \"active_size\": %" PRId64 ", \"requested_size\": %" PRId64 ", \"stream\": 0, \"segment_type\": \"large\", "
        "\"segment_pool_id\": [0, 0], \"is_expandable\": false, \"frames\": [], \"blocks\": [{\"address\": %" PRIu64
        ", \"size\": %" PRId64 ", \"requested_size\": %" PRId64 ", \"state\": \"%s\", ",
        (int)index_of(to, device), address, bytes, used_bytes, used_bytes, used_bytes, address, bytes, used_bytes,
        used_bytes ? "active_allocated" : "inactive");
}

static void write_segments(struct snapshot_out *to)
{
    struct ap_record_block *slots = to->memory->live.slots;
    ap_sort(slots, to->memory->live.slot_count, sizeof(slots[0]), by_place);
    for (size_t i = 0; i < to->memory->live.slot_count; i++) {
        if (slots[i].bytes <= 0) /* free slots, and allocations of nothing */
            continue;
        begin_segment(to, slots[i].device, slots[i].address, slots[i].bytes, slots[i].bytes);
        put_frames(to, slots[i].stack);
        ap_out_string(&to->out, "}]}");
    }
    uint64_t address = (to->highest_address + FREE_SEGMENT_ALIGN) & ~(FREE_SEGMENT_ALIGN - 1);
    for (size_t i = 0; i < to->memory->device_count; i++) {
        const struct ap_record_device *device = &to->memory->devices[i];
        int64_t rest_bytes = device->use.peak_bytes - device->use.current_bytes;
        if (rest_bytes <= 0)
            continue;
        begin_segment(to, device->device, address, rest_bytes, 0);
        ap_out_string(&to->out, "\"frames\": []}]}");
        address += ((uint64_t)rest_bytes + FREE_SEGMENT_ALIGN) & ~(FREE_SEGMENT_ALIGN - 1);
    }
}

/* --------------------------------------------------------------------------------------------------------- history */

static void write_entry(struct snapshot_out *to, const char *action, uint64_t address, int64_t bytes, int64_t time,
                        uint32_t stack)
{
    begin_item(to);
    int64_t ns = ap_record_ns(&to->scale, time) + to->epoch_ns;
    ap_out_format(&to->out,
                  "\"action\": \"%s\", \"addr\": %" PRIu64 ", \"size\": %" PRId64 ", \"stream\": 0, \"time_us\": %" PRId64
                  ", ",
                  action, address, bytes, ns / 1000);
    put_frames(to, stack);
    ap_out_char(&to->out, '}');
}

static void write_history(struct snapshot_out *to, uint32_t device_index)
{
    int64_t reserved_bytes = to->memory->devices[device_index].forgotten_peak_bytes;
    for (size_t i = 0; i < to->memory->event_count && to->out.status == AP_OK; i++) {
        const struct ap_record_memory_event *event = ap_record_memory_event_at(to->memory, i);
        if (event->device_index != device_index || !event->change_bytes)
            continue;
        if (event->current_bytes > reserved_bytes) {
            write_entry(to, "segment_alloc", event->address, event->current_bytes - reserved_bytes, event->time,
                        event->stack);
            reserved_bytes = event->current_bytes;
        }
        if (event->change_bytes > 0) {
            write_entry(to, "alloc", event->address, event->change_bytes, event->time, event->stack);
        } else {
            write_entry(to, "free_requested", event->address, -event->change_bytes, event->time, 0);
            write_entry(to, "free_completed", event->address, -event->change_bytes, event->time, 0);
        }
    }
}

static void write_histories(struct snapshot_out *to)
{
    for (int32_t index = 0; index <= to->host_index; index++) {
        int32_t device = index == to->host_index ? AP_DEVICE_HOST : index;
        const struct ap_record_device *known = ap_record_memory_device(to->memory, device);
        if (index == to->host_index && !known)
            break;
        ap_out_string(&to->out, index ? ",\n[" : "\n[");
        to->any = false;
        if (known)
            write_history(to, (uint32_t)(known - to->memory->devices));
        ap_out_char(&to->out, ']');
    }
}

/* ----------------------------------------------------------------------------------------------------------- steps */

/* They bound the periods that growth is judged by. Device -1 stands for all. */
static void write_mark(struct snapshot_out *to, const char *stage, int64_t number, int64_t ns)
{
    begin_item(to);
    ap_out_format(&to->out,
                  "\"name\": \"ProfilerStep#%" PRId64 "\", \"stage\": \"%s\", \"device\": -1, \"time_us\": %" PRId64 "}",
                  number, stage, (ns + to->epoch_ns) / 1000);
}

static void write_steps(struct snapshot_out *to, struct ap_recorder *recorder)
{
    struct ap_record_walk walk = ap_record_walk_begin(recorder);
    const struct ap_record_event *event;
    to->any = false;
    while (to->out.status == AP_OK && (event = ap_record_walk_next(&walk))) {
        if (event->kind != AP_RECORD_STEP)
            continue;
        struct ap_record_span span = ap_record_span_of(event, &to->scale);
        write_mark(to, "START", event->memory_bytes, span.start_ns);
        write_mark(to, "END", event->memory_bytes, span.start_ns + span.dur_ns);
    }
}

/* -------------------------------------------------------------------------------------------------------- document */

static void find_places(struct snapshot_out *to)
{
    const struct ap_record_memory *memory = to->memory;
    for (size_t i = 0; i < memory->device_count; i++)
        if (memory->devices[i].device >= to->host_index)
            to->host_index = memory->devices[i].device + 1;
    for (size_t i = 0; i < memory->event_count; i++) {
        const struct ap_record_memory_event *event = ap_record_memory_event_at(memory, i);
        uint64_t end = event->address + (uint64_t)(event->change_bytes > 0 ? event->change_bytes : 0);
        to->highest_address = end > to->highest_address ? end : to->highest_address;
    }
    for (size_t i = 0; i < memory->live.slot_count; i++) {
        const struct ap_record_block *slot = &memory->live.slots[i];
        if (slot->bytes >= 0 && slot->address + (uint64_t)slot->bytes > to->highest_address)
            to->highest_address = slot->address + (uint64_t)slot->bytes;
    }
}

enum ap_status ap_recorder_write_snapshot(struct ap_recorder *recorder, ap_write_fn *write, void *write_self,
                                          struct ap_error *reterr)
{
    struct ap_record_memory memory;
    AP_TRY(ap_record_memory_copy(recorder, &memory, reterr));
    struct snapshot_out to = { .memory = &memory, .epoch_ns = recorder->epoch_ns };
    to.scale = ap_record_scale_now(recorder);
    ap_out_init(&to.out, (struct ap_sink){ write, write_self });
    find_places(&to);
    ap_out_string(&to.out, "{\"segments\": [");
    write_segments(&to);
    ap_out_string(&to.out, "],\n\"device_traces\": [");
    write_histories(&to);
    ap_out_string(&to.out, "],\n\"external_annotations\": [");
    write_steps(&to, recorder);
    ap_out_string(&to.out, "]}\n");
    enum ap_status status = ap_out_finish(&to.out, reterr);
    ap_record_memory_copy_release(&memory);
    return status;
}
