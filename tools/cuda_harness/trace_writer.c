/* SPDX-License-Identifier: MIT
 * See trace_writer.h. Key names and their order are Kineto's (libkineto/src/output_json.cpp). */
#include "trace_writer.h"

#include <inttypes.h>

#include "harness_text.h"

static const int64_t hour_ns = INT64_C(3600) * 1000 * 1000 * 1000;

struct trace_writing {
    const struct harness_recording *recording;
    struct ap_out *out;
    int64_t base_ns;
    uint32_t pid;
    bool first;
};

static void begin_event(struct trace_writing *writing)
{
    ap_out_string(writing->out, writing->first ? "\n    {" : ",\n    {");
    writing->first = false;
}

/** "key": number and a comma behind it; for the members that another one always follows. */
static void member(struct ap_out *out, const char *key, uint64_t number)
{
    ap_out_format(out, "\"%s\": %" PRIu64 ", ", key, number);
}

static void time_member(struct trace_writing *writing, const char *key, int64_t ns)
{
    ap_out_format(writing->out, "\"%s\": %" PRId64 ".%03d", key, ns / 1000, (int)(ns % 1000));
}

static void ts(struct trace_writing *writing, int64_t ns)
{
    time_member(writing, "ts", ns - writing->base_ns);
}

static const char *category(const struct harness_row *row)
{
    switch (row->kind) {
    case HARNESS_OP: return "cpu_op";
    case HARNESS_RANGE: return "user_annotation";
    case HARNESS_RUNTIME: return "cuda_runtime";
    case HARNESS_DRIVER: return "cuda_driver";
    case HARNESS_KERNEL: return "kernel";
    case HARNESS_COPY: return "gpu_memcpy";
    case HARNESS_SET: return "gpu_memset";
    case HARNESS_SYNC: return "cuda_sync";
    case HARNESS_OVERHEAD: return "overhead";
    case HARNESS_MEMORY:
    case HARNESS_OUT_OF_MEMORY: break;
    }
    return "cpu_instant_event";
}

/** On a row of the GPU: pid = device, tid = stream. Overhead has rows of its own. */
static void place(struct trace_writing *writing, const struct harness_row *row)
{
    if (row->kind == HARNESS_OVERHEAD)
        ap_out_string(writing->out, "\"pid\": -1, \"tid\": 0, ");
    else if (harness_row_is_gpu_work(row) || row->kind == HARNESS_SYNC)
        ap_out_format(writing->out, "\"pid\": %" PRIu32 ", \"tid\": %" PRId64 ", ", row->device, row->stream);
    else
        ap_out_format(writing->out, "\"pid\": %" PRIu32 ", \"tid\": %" PRIu32 ", ", writing->pid, row->thread);
}

static void op_args(struct ap_out *out, const struct harness_row *row)
{
    if (row->as.op.dims)
        ap_out_format(out, ", \"Input Dims\": %s", row->as.op.dims);
    if (row->as.op.types)
        ap_out_format(out, ", \"Input type\": %s", row->as.op.types);
}

static void kernel_args(const struct trace_writing *writing, const struct harness_row *row)
{
    struct ap_out *out = writing->out;
    const struct harness_device_properties *device = &writing->recording->device;
    const struct harness_kernel_facts *kernel = &row->as.kernel;
    const uint32_t *grid = kernel->grid, *block = kernel->block;
    double threads = (double)block[0] * block[1] * block[2];
    double blocks_per_sm = device->sm_count ? (double)grid[0] * grid[1] * grid[2] / device->sm_count : 0;
    ap_out_format(out, ", \"registers per thread\": %" PRIu32 ", \"shared memory\": %" PRIu64, kernel->registers_per_thread,
                  kernel->shared_bytes);
    ap_out_string(out, ", \"blocks per SM\": ");
    ap_out_number(out, blocks_per_sm);
    ap_out_string(out, ", \"warps per SM\": ");
    ap_out_number(out, blocks_per_sm * threads / (device->warp_size ? device->warp_size : 32));
    ap_out_format(out,
                  ", \"grid\": [%" PRIu32 ", %" PRIu32 ", %" PRIu32 "], \"block\": [%" PRIu32 ", %" PRIu32 ", %" PRIu32 "]",
                  grid[0], grid[1], grid[2], block[0], block[1], block[2]);
    ap_out_format(out, ", \"est. achieved occupancy %%\": %" PRIu32, harness_occupancy_percent(device, kernel));
    if (kernel->graph_id)
        ap_out_format(out, ", \"graph id\": %" PRIu32 ", \"graph node id\": %" PRIu64, kernel->graph_id,
                      kernel->graph_node_id);
}

static void transfer_args(struct ap_out *out, const struct harness_row *row)
{
    ap_out_format(out, ", \"bytes\": %" PRIu64 ", \"memory bandwidth (GB/s)\": ", row->as.bytes);
    ap_out_number(out, row->dur_ns > 0 ? (double)row->as.bytes / (double)row->dur_ns : 0);
}

static void gpu_args(struct trace_writing *writing, const struct harness_row *row)
{
    struct ap_out *out = writing->out;
    ap_out_string(out, "\"args\": {");
    if (row->external_id)
        member(out, "External id", row->external_id);
    if (row->kind == HARNESS_SYNC) {
        ap_out_string(out, "\"cuda_sync_kind\": ");
        harness_json_string(out, row->name);
        ap_out_string(out, ", ");
        if (row->as.sync.wait_stream >= 0)
            ap_out_format(out,
                          "\"wait_on_stream\": %" PRId64 ", \"wait_on_cuda_event_record_corr_id\": %" PRId64
                          ", \"wait_on_cuda_event_id\": %" PRIu64 ", ",
                          row->as.sync.wait_stream, row->as.sync.record_correlation, row->as.sync.event_id);
    } else if (row->kind == HARNESS_KERNEL) {
        member(out, "queued", 0);
    }
    member(out, "device", row->device);
    member(out, "context", row->context);
    ap_out_format(out, "\"stream\": %" PRId64 ", \"correlation\": %" PRIu64, row->stream, row->correlation);
    if (row->kind == HARNESS_KERNEL)
        kernel_args(writing, row);
    else if (row->kind != HARNESS_SYNC)
        transfer_args(out, row);
    ap_out_string(out, "}");
}

static void host_args(struct ap_out *out, const struct harness_row *row)
{
    ap_out_string(out, "\"args\": {");
    if (row->kind == HARNESS_OP || row->kind == HARNESS_RANGE) {
        ap_out_format(out, "\"External id\": %" PRIu64, row->external_id);
        if (row->kind == HARNESS_OP)
            op_args(out, row);
    } else {
        if (row->external_id)
            member(out, "External id", row->external_id);
        member(out, "cbid", row->as.call_id);
        ap_out_format(out, "\"correlation\": %" PRIu64, row->correlation);
    }
    ap_out_string(out, "}");
}

static void memory_args(struct ap_out *out, const struct harness_row *row)
{
    ap_out_string(out, "\"args\": {");
    if (row->kind == HARNESS_MEMORY) {
        member(out, "Total Reserved", row->as.memory.reserved_bytes);
        member(out, "Total Allocated", row->as.memory.allocated_bytes);
        ap_out_format(out, "\"Bytes\": %" PRId64 ", ", row->as.memory.bytes);
        member(out, "Addr", row->as.memory.address);
    } else {
        member(out, "Total Reserved", row->as.memory.reserved_bytes);
        member(out, "Total Allocated", row->as.memory.allocated_bytes);
        ap_out_format(out, "\"Bytes\": %" PRId64 ", ", row->as.memory.bytes);
    }
    ap_out_format(out, "\"Device Id\": %" PRIu32 ", \"Device Type\": 1}", row->device); /* 1 = CUDA */
}

static void instant(struct trace_writing *writing, const struct harness_row *row)
{
    struct ap_out *out = writing->out;
    begin_event(writing);
    ap_out_format(out, "\"ph\": \"i\", \"cat\": \"%s\", \"s\": \"t\", \"name\": ", category(row));
    harness_json_string(out, row->name);
    ap_out_string(out, ", ");
    place(writing, row);
    ts(writing, row->start_ns);
    ap_out_string(out, ", ");
    memory_args(out, row);
    ap_out_char(out, '}');
}

/** The arrow from a call to the work that it made. */
static void flow(struct trace_writing *writing, const struct harness_row *row)
{
    bool start = !harness_row_is_gpu_work(row);
    begin_event(writing);
    ap_out_format(writing->out, "\"ph\": \"%c\", \"id\": %" PRIu64 ", ", start ? 's' : 'f', row->correlation);
    place(writing, row);
    ts(writing, row->start_ns);
    ap_out_format(writing->out, ", \"cat\": \"ac2g\", \"name\": \"ac2g\"%s}", start ? "" : ", \"bp\": \"e\"");
}

static bool makes_work(const struct harness_row *row)
{
    return (row->kind == HARNESS_RUNTIME || row->kind == HARNESS_DRIVER) && row->correlation && row->makes_work;
}

static void duration(struct trace_writing *writing, const struct harness_row *row)
{
    struct ap_out *out = writing->out;
    begin_event(writing);
    ap_out_format(out, "\"ph\": \"X\", \"cat\": \"%s\", \"name\": ", category(row));
    harness_json_string(out, row->name);
    ap_out_string(out, ", ");
    place(writing, row);
    ts(writing, row->start_ns);
    ap_out_string(out, ", ");
    time_member(writing, "dur", row->dur_ns);
    ap_out_string(out, ", ");
    if (row->kind == HARNESS_OVERHEAD)
        ap_out_string(out, "\"args\": {}");
    else if (harness_row_is_host(row))
        host_args(out, row);
    else
        gpu_args(writing, row);
    ap_out_char(out, '}');
    if (harness_row_is_gpu_work(row) || makes_work(row))
        flow(writing, row);
}

static void name_row(struct trace_writing *writing, const char *what, int64_t pid, int64_t tid, const char *key,
                     const char *name)
{
    begin_event(writing);
    ap_out_format(writing->out, "\"name\": \"%s\", \"ph\": \"M\", ", what);
    ts(writing, writing->recording->run.start_ns);
    ap_out_format(writing->out, ", \"pid\": %" PRId64 ", \"tid\": %" PRId64 ", \"args\": {\"%s\": ", pid, tid, key);
    harness_json_string(writing->out, name);
    ap_out_string(writing->out, "}}");
}

static void names(struct trace_writing *writing)
{
    const struct harness_recording *recording = writing->recording;
    name_row(writing, "process_name", writing->pid, 0, "name", "cuda_harness");
    name_row(writing, "process_labels", writing->pid, 0, "labels", "CPU");
    if (recording->device.name[0]) {
        name_row(writing, "process_name", 0, 0, "name", "cuda_harness");
        name_row(writing, "process_labels", 0, 0, "labels", "GPU 0");
    }
}

static void device_properties(struct ap_out *out, const struct harness_device_properties *device)
{
    ap_out_string(out, "{\"id\": 0, \"name\": ");
    harness_json_string(out, device->name);
    ap_out_string(out, ", ");
    member(out, "totalGlobalMem", device->total_bytes);
    member(out, "computeMajor", device->compute_major);
    member(out, "computeMinor", device->compute_minor);
    member(out, "maxThreadsPerBlock", device->threads_per_block);
    member(out, "maxThreadsPerMultiprocessor", device->threads_per_sm);
    member(out, "regsPerBlock", device->registers_per_block);
    member(out, "warpSize", device->warp_size);
    member(out, "sharedMemPerBlock", device->shared_per_block);
    member(out, "numSms", device->sm_count);
    member(out, "regsPerMultiprocessor", device->registers_per_sm);
    member(out, "sharedMemPerBlockOptin", device->shared_per_block_optin);
    ap_out_format(out, "\"sharedMemPerMultiprocessor\": %" PRIu64 "}", device->shared_per_sm);
}

static void header(struct trace_writing *writing)
{
    const struct harness_recording *recording = writing->recording;
    const struct harness_run_facts *run = &recording->run;
    struct ap_out *out = writing->out;
    ap_out_string(out, "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [");
    if (recording->device.name[0])
        device_properties(out, &recording->device);
    ap_out_string(out, "],\n");
    if (run->runtime_version)
        ap_out_format(out,
                      "  \"cupti_version\": %" PRIu32 ",\n  \"cuda_runtime_version\": %d,\n  \"cuda_driver_version\": %d,\n",
                      run->cupti_version, run->runtime_version, run->driver_version);
    if (run->world_size) {
        ap_out_string(out, "  \"distributedInfo\": {\"backend\": ");
        harness_json_string(out, run->backend);
        ap_out_format(out, ", \"rank\": %" PRIu32 ", \"world_size\": %" PRIu32 "},\n", run->rank, run->world_size);
    }
    ap_out_string(out, "  \"profile_memory\": 1,\n  \"with_stack\": 0,\n  \"record_shapes\": 0,\n");
    ap_out_format(out, "  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": %" PRId64 ",\n  \"traceEvents\": [",
                  writing->base_ns);
}

static void footer(struct trace_writing *writing)
{
    const struct harness_run_facts *run = &writing->recording->run;
    struct ap_out *out = writing->out;
    begin_event(writing);
    ap_out_string(out, "\"ph\": \"X\", \"cat\": \"Trace\", ");
    ts(writing, run->start_ns);
    ap_out_string(out, ", ");
    time_member(writing, "dur", run->end_ns - run->start_ns);
    ap_out_string(out, ", \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\", \"name\": \"PyTorch Profiler (0)\", "
                       "\"args\": {\"Op count\": 0}}");
    begin_event(writing);
    ap_out_string(out, "\"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\", \"pid\": \"\", \"tid\": \"\", ");
    ts(writing, run->end_ns);
    ap_out_string(out, "}\n  ],\n  \"traceName\": ");
    harness_json_string(out, run->trace_name ? run->trace_name : "trace.json");
    ap_out_string(out, "\n}\n");
}

static void write_trace(struct ap_out *out, const void *self)
{
    const struct harness_recording *recording = self;
    int64_t start_ns = recording->run.start_ns;
    struct trace_writing writing = { .recording = recording,
                                     .out = out,
                                     .base_ns = start_ns - start_ns % hour_ns,
                                     .pid = recording->run.process_id,
                                     .first = true };
    header(&writing);
    for (size_t i = 0; i < recording->row_count; i++) {
        const struct harness_row *row = &recording->rows[i];
        if (row->kind == HARNESS_MEMORY || row->kind == HARNESS_OUT_OF_MEMORY)
            instant(&writing, row);
        else
            duration(&writing, row);
    }
    names(&writing);
    footer(&writing);
}

enum ap_status harness_trace_write(const struct harness_recording *recording, const char *path, struct ap_error *reterr)
{
    return harness_write_file(path, write_trace, recording, reterr);
}
