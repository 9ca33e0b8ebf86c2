/* SPDX-License-Identifier: MIT
 * record_trace.c - the recording as a Chrome trace in PyTorch's dialect: the names and categories are those that Kineto and
 * PyTorch's own ranges would have. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "json_text.h"
#include "pair_map.h"
#include "recorder.h"

#include "poison.h"

struct trace_out {
    struct ap_out out;
    struct ap_recorder *recorder;
    struct ap_record_scale scale;
    const struct ap_record_memory *memory; /* a copy */
    int64_t pid;
    bool any; /* an event was written */
};

static void begin_event(struct trace_out *to, const char *ph)
{
    ap_out_string(&to->out, to->any ? ",\n{\"ph\": \"" : "\n{\"ph\": \"");
    ap_out_string(&to->out, ph);
    ap_out_char(&to->out, '"');
    to->any = true;
}

static void put_place(struct trace_out *to, int64_t pid, int64_t tid)
{
    ap_out_format(&to->out, ", \"pid\": %" PRId64 ", \"tid\": %" PRId64, pid, tid);
}

static void put_time(struct trace_out *to, const char *key, int64_t ns)
{
    ap_out_format(&to->out, ", \"%s\": ", key);
    ap_out_microseconds(&to->out, ns);
}

/* ------------------------------------------------------------------------------------------------- names of threads */

static void write_label(struct trace_out *to, const char *what, const char *key, int64_t pid, int64_t tid, const char *label)
{
    begin_event(to, "M");
    ap_out_format(&to->out, ", \"name\": \"%s\", \"ts\": ", what);
    ap_out_microseconds(&to->out, to->scale.begun.ns);
    put_place(to, pid, tid);
    ap_out_format(&to->out, ", \"args\": {\"%s\": ", key);
    ap_json_write_text(&to->out, ap_text_of(label));
    ap_out_string(&to->out, "}}");
}

static void write_sort_index(struct trace_out *to, const char *what, int64_t pid, int64_t tid, int64_t index)
{
    begin_event(to, "M");
    ap_out_format(&to->out, ", \"name\": \"%s\", \"ts\": ", what);
    ap_out_microseconds(&to->out, to->scale.begun.ns);
    put_place(to, pid, tid);
    ap_out_format(&to->out, ", \"args\": {\"sort_index\": %" PRId64 "}}", index);
}

static void write_thread_labels(struct trace_out *to)
{
    write_label(to, "process_name", "name", to->pid, 0, to->recorder->process_name);
    write_label(to, "process_labels", "labels", to->pid, 0, "CPU");
    write_sort_index(to, "process_sort_index", to->pid, 0, to->pid);
    for (struct ap_record_thread *thread = atomic_load(&to->recorder->threads); thread; thread = thread->next) {
        const char *label = atomic_load(&thread->label);
        char plain[48];
        int bytes = snprintf(plain, sizeof(plain), "thread %" PRId64, thread->os_id);
        write_label(to, "thread_name", "name", to->pid, thread->os_id, label || bytes < 0 ? label : plain);
        write_sort_index(to, "thread_sort_index", to->pid, thread->os_id, (int64_t)thread->number);
    }
}

/* GPUs and their streams, as far as operations name them. */
static enum ap_status write_stream_labels(struct trace_out *to, struct ap_error *reterr)
{
    struct ap_pair_map seen = { .gate = &to->recorder->gate }, devices = { .gate = &to->recorder->gate };
    struct ap_record_walk walk = ap_record_walk_begin(to->recorder);
    const struct ap_record_event *event;
    enum ap_status status = AP_OK;
    while (status == AP_OK && (event = ap_record_walk_next(&walk))) {
        uint32_t number, known = seen.count, known_devices = devices.count;
        char label[48];
        if (event->device < 0)
            continue;
        status = ap_pair_map_add(&seen, (uint32_t)event->device, event->stream, &number, reterr);
        AP_AND_THEN(status, ap_pair_map_add(&devices, (uint32_t)event->device, 0, &number, reterr));
        if (status == AP_OK && devices.count != known_devices) {
            (void)snprintf(label, sizeof(label), "GPU %d", event->device);
            write_label(to, "process_name", "name", event->device, 0, to->recorder->process_name);
            write_label(to, "process_labels", "labels", event->device, 0, label);
            write_sort_index(to, "process_sort_index", event->device, 0, 5000000 + event->device);
        }
        if (status == AP_OK && seen.count != known) {
            (void)snprintf(label, sizeof(label), "stream %" PRIu32, event->stream);
            write_label(to, "thread_name", "name", event->device, event->stream, label);
        }
    }
    ap_pair_map_release(&seen);
    ap_pair_map_release(&devices);
    return status;
}

/* ----------------------------------------------------------------------------------------------------------- rows */

static const char *host_category(const struct ap_record_event *event)
{
    return event->category == AP_RECORD_COMPUTE || event->category == AP_RECORD_MEMORY ? "cpu_op" : "user_annotation";
}

static const char *gpu_category(const struct ap_record_event *event)
{
    switch ((enum ap_record_category)event->category) {
    case AP_RECORD_COMPUTE:
    case AP_RECORD_COMMUNICATION: return "kernel";
    case AP_RECORD_MEMORY:
        return ap_text_contains_folded(ap_record_name(event->name), "memset") ? "gpu_memset" : "gpu_memcpy";
    case AP_RECORD_SYNCHRONISATION: return "cuda_sync";
    default: return "gpu_user_annotation";
    }
}

/* The library stands before a colon: "gloo:all_reduce", "c10d::broadcast_". */
static bool has_library(struct ap_text name)
{
    return memchr(name.data, ':', name.bytes) != NULL;
}

/* "BEFORE NAME BEHIND" as one text. */
static void put_name(struct trace_out *to, const char *before, struct ap_text name, const char *behind)
{
    char text[512];
    int bytes =
        snprintf(text, sizeof(text), "%s%.*s%s", before, name.bytes < 400 ? (int)name.bytes : 400, name.data, behind);
    ap_json_write_text(&to->out, (struct ap_text){ text, bytes > 0 ? (size_t)bytes : 0 });
}

static void put_host_name(struct trace_out *to, const struct ap_record_event *event)
{
    struct ap_text name = ap_record_name(event->name);
    if (event->kind == AP_RECORD_STEP)
        ap_out_format(&to->out, "\"ProfilerStep#%" PRId64 "\"", event->memory_bytes);
    else if (event->category == AP_RECORD_DATA_LOADING && !ap_text_starts_with(name, "enumerate(DataLoader)"))
        put_name(to, "enumerate(DataLoader)#", name, ".__next__");
    else if (event->category == AP_RECORD_SYNCHRONISATION)
        put_name(to, "synchronize(", name, ")");
    else if (event->category == AP_RECORD_COMMUNICATION && !has_library(name))
        put_name(to, "c10d::", name, "");
    else
        ap_json_write_text(&to->out, name);
}

static void put_args(struct trace_out *to, const struct ap_record_event *event)
{
    const char *separator = "";
    ap_out_string(&to->out, ", \"args\": {");
    if (event->device >= 0) {
        ap_out_format(&to->out, "\"device\": %d, \"stream\": %" PRIu32, event->device, event->stream);
        separator = ", ";
    }
    if (event->memory_bytes && event->kind != AP_RECORD_STEP) {
        ap_out_format(&to->out, "%s\"%s\": %" PRId64, separator, event->device >= 0 ? "bytes" : "memory bytes",
                      event->memory_bytes);
        separator = ", ";
    }
    if (event->flops > 0) {
        ap_out_format(&to->out, "%s\"flops\": ", separator);
        ap_out_number(&to->out, event->flops);
    }
    ap_out_char(&to->out, '}');
}

static void write_row(struct trace_out *to, const struct ap_record_event *event, const struct ap_record_thread *thread)
{
    struct ap_record_span span = ap_record_span_of(event, &to->scale);
    bool on_gpu = event->device >= 0;
    begin_event(to, "X");
    ap_out_format(&to->out, ", \"cat\": \"%s\", \"name\": ", on_gpu ? gpu_category(event) : host_category(event));
    if (on_gpu)
        ap_json_write_text(&to->out, ap_record_name(event->name));
    else
        put_host_name(to, event);
    if (on_gpu)
        put_place(to, event->device, event->stream);
    else
        put_place(to, to->pid, thread->os_id);
    put_time(to, "ts", span.start_ns);
    put_time(to, "dur", span.dur_ns);
    put_args(to, event);
    ap_out_char(&to->out, '}');
}

static void begin_instant(struct trace_out *to, struct ap_text name, int64_t tid, int64_t ns)
{
    begin_event(to, "i");
    ap_out_string(&to->out, ", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": ");
    ap_json_write_text(&to->out, name);
    put_place(to, to->pid, tid);
    put_time(to, "ts", ns);
}

static void write_events(struct trace_out *to)
{
    struct ap_record_walk walk = ap_record_walk_begin(to->recorder);
    const struct ap_record_event *event;
    while (to->out.status == AP_OK && (event = ap_record_walk_next(&walk))) {
        if (event->kind == AP_RECORD_INSTANT) {
            begin_instant(to, ap_record_name(event->name), walk.thread->os_id, ap_record_ns(&to->scale, event->start));
            ap_out_char(&to->out, '}');
        } else {
            write_row(to, event, walk.thread);
        }
    }
}

/* PyTorch counts what it gave back as negative bytes. Of the host it knows no pool: reserved is 0. */
static void write_memory_instants(struct trace_out *to)
{
    const struct ap_record_memory *memory = to->memory;
    for (size_t i = 0; i < memory->event_count && to->out.status == AP_OK; i++) {
        const struct ap_record_memory_event *event = ap_record_memory_event_at(memory, i);
        struct ap_record_device *device = &memory->devices[event->device_index];
        if (event->current_bytes > device->forgotten_peak_bytes)
            device->forgotten_peak_bytes = event->current_bytes;
        if (!event->change_bytes)
            continue;
        bool on_host = device->device < 0;
        begin_instant(to, AP_TEXT("[memory]"), event->thread_id, ap_record_ns(&to->scale, event->time));
        ap_out_format(&to->out,
                      ", \"args\": {\"Total Reserved\": %" PRId64 ", \"Total Allocated\": %" PRId64 ", \"Bytes\": %" PRId64
                      ", \"Device Id\": %d, \"Device Type\": %d, \"Addr\": %" PRIu64 "}}",
                      on_host ? 0 : device->forgotten_peak_bytes, event->current_bytes, event->change_bytes,
                      on_host ? -1 : (int)device->device, on_host ? 0 : 1, event->address);
    }
}

/* -------------------------------------------------------------------------------------------------------- document */

/* The lock is not held while the caller's function writes. */
static bool metadata_at(struct ap_recorder *recorder, size_t i, struct ap_record_metadata *ret_entry)
{
    pthread_mutex_lock(&recorder->lock);
    bool found = i < recorder->metadata_count;
    if (found)
        *ret_entry = recorder->metadata[i];
    pthread_mutex_unlock(&recorder->lock);
    return found;
}

static void write_rank(struct trace_out *to)
{
    pthread_mutex_lock(&to->recorder->lock);
    uint32_t rank = to->recorder->rank, world_size = to->recorder->world_size;
    const char *backend = to->recorder->backend;
    pthread_mutex_unlock(&to->recorder->lock);
    if (!world_size)
        return;
    ap_out_string(&to->out, ", \"distributedInfo\": {\"backend\": ");
    ap_json_write_text(&to->out, ap_text_of(backend));
    ap_out_format(&to->out, ", \"rank\": %" PRIu32 ", \"world_size\": %" PRIu32 "}", rank, world_size);
}

static void write_head(struct trace_out *to)
{
    struct ap_recorder *recorder = to->recorder;
    ap_out_format(&to->out,
                  "{\"schemaVersion\": 1, \"deviceProperties\": [], \"profile_memory\": %d, \"displayTimeUnit\": \"ms\", "
                  "\"baseTimeNanoseconds\": %" PRId64,
                  to->memory->event_count != 0, recorder->epoch_ns);
    write_rank(to);
    struct ap_record_metadata entry;
    for (size_t i = 0; metadata_at(recorder, i, &entry); i++) {
        ap_out_string(&to->out, ", ");
        ap_json_write_text(&to->out, ap_text_of(entry.key));
        ap_out_string(&to->out, ": ");
        ap_json_write_text(&to->out, ap_text_of(entry.value));
    }
}

static void write_recorder_member(struct trace_out *to)
{
    struct ap_recorder_counts counts;
    ap_recorder_count(to->recorder, &counts);
    ap_out_format(&to->out,
                  ", \"recorder\": {\"events\": %" PRIu64 ", \"events_dropped\": %" PRIu64
                  ", \"memory_events_dropped\": %" PRIu64 ", \"allocations_dropped\": %" PRIu64 "}",
                  counts.events, counts.events_dropped, counts.memory_events_dropped, counts.allocations_dropped);
}

enum ap_status ap_recorder_write_trace(struct ap_recorder *recorder, ap_write_fn *write, void *write_self,
                                       struct ap_error *reterr)
{
    struct ap_record_memory memory;
    AP_TRY(ap_record_memory_copy(recorder, &memory, reterr));
    struct trace_out to = { .recorder = recorder, .memory = &memory, .pid = getpid() };
    to.scale = ap_record_scale_now(recorder);
    ap_out_init(&to.out, (struct ap_sink){ write, write_self });
    write_head(&to);
    write_recorder_member(&to);
    ap_out_string(&to.out, ", \"traceEvents\": [");
    write_thread_labels(&to);
    enum ap_status status = write_stream_labels(&to, reterr);
    if (status == AP_OK) {
        write_events(&to);
        write_memory_instants(&to);
        ap_out_string(&to.out, "\n]}\n");
        status = ap_out_finish(&to.out, reterr);
    }
    ap_record_memory_copy_release(&memory);
    return status;
}
