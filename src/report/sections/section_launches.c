/* SPDX-License-Identifier: MIT
 * section_launches.c - how the host drives the devices: launches, waits, copies. */
#include "sections.h"

#include "poison.h"

#define PLACE(object) \
    NUMBER(object "start_us", "Start (us)"), NUMBER(object "dur_us", "Duration (us)"), ID(object "tid", "Thread or stream")

/* ---- launches ---- */

static const struct doc_figure launch_figures[] = {
    FIGURE("launches.calls"),
    { "launches.per_step", "Launching calls per step" },
    { "launches.kernels_per_step", "Kernels per step" },
    FIGURE("launches.calls_per_s"),
    FIGURE("launches.call_dur_us"),
    FIGURE("launches.call_outlier_count"),
    FIGURE("launches.call_outlier_excess_us"),
    FIGURE("launches.graph_launches"),
    FIGURE("launches.kernels_per_graph_launch"),
    { "launches.queue_delay_us.mean", "Queue delay, mean" },
    { "launches.queue_delay_us.p50", "Queue delay, p50" },
    { "launches.queue_delay_us.p90", "Queue delay, p90" },
    { "launches.queue_delay_us.p99", "Queue delay, p99" },
    { "launches.queue_delay_us.max", "Queue delay, max" },
    { "launches.without_graphs.queue_delay_us.p50", "Queue delay without graph launches, p50" },
    FIGURE("launches.launch_delay.p50_us"),
    FIGURE("launches.launch_delay.outlier_count"),
    FIGURE("launches.launch_delay.outlier_idle_stream_count"),
    FIGURE("launches.started_before_call_end_count"),
    FIGURE("launches.started_before_call_count"),
    FIGURE("launches.short_kernel_count"),
    FIGURE("launches.short_kernel_ratio"),
    FIGURE("launches.queue.max_length"),
    FIGURE("launches.queue.mean_length"),
    FIGURE("launches.queue.empty_ratio"),
    FIGURE("launches.queue.at_limit_us"),
};

static const struct doc_figure link_figures[] = {
    FIGURE("links.device_rows"),
    FIGURE("links.launched_count"),
    FIGURE("launches.unlinked_device_count"),
    FIGURE("links.launched_time_ratio"),
    FIGURE("links.operator_time_ratio"),
    FIGURE("links.by_external_id_count"),
    FIGURE("links.by_time_count"),
    FIGURE("links.sync_without_record_count"),
};

static void write_no_launches(struct doc *doc)
{
    if (!ap_doc_known(doc, "launches"))
        ap_doc_paragraph(doc, NULL, "No GPU work was recorded.");
}

static const struct doc_part launch_parts[] = {
    SAYS("Queue delay: from the start of a launching call to the start on the device. A long one with a full queue means "
         "that the host is ahead, a short one with an empty queue that the device waits for the host."),
    CALL(write_no_launches),
    { .only_if = "launches", .figures = COUNTED(launch_figures) },
    ROWS("Queues by stream", .path = "launches.queue.streams", .limit = 20,
         COLUMNS(ID("pid", "Device"), ID("tid", "Stream"), NUMBER("launches", "Launches"),
                 NUMBER("max_length", "Longest queue"), NUMBER("mean_length", "Mean queue"),
                 NUMBER("at_limit_us", "At 1,024 (us)"), NUMBER("empty_ratio", "Empty"))),
    ROWS("Runtime and driver calls", .path = "runtime.calls",
         .remark = ", largest total first; start, duration and thread are those of the longest",
         COLUMNS(NAME("name", "Call"), NAME("kind", "Kind"), NUMBER("count", "Count"), NUMBER("total_dur_us", "Total (us)"),
                 NUMBER("mean_dur_us", "Mean (us)"), NUMBER("p50_us", "p50 (us)"), NUMBER("p99_us", "p99 (us)"),
                 NUMBER("outlier_count", "Over 50 us"), PLACE("longest."))),
    FIGURES("Links from the GPU to the host", link_figures),
};

const struct doc_section ap_section_launches = { .title = "Launches",
                                                 .if_any = { "launches", "runtime" },
                                                 .parts = COUNTED(launch_parts) };

/* ---- waits ---- */

static const struct doc_figure sync_figures[] = {
    FIGURE("sync.count"),
    { "sync.per_step", "Waits per step" },
    FIGURE("sync.blocked_us"),
    FIGURE("sync.blocked_share_ratio"),
    FIGURE("sync.idle_us"),
    { "sync.idle_share_ratio", "GPU idle because of them, share of the GPU window" },
    FIGURE("sync.costly_count"),
    { "sync.scalar_read.count", "Reads of one value" },
    { "sync.scalar_read.idle_us", "GPU idle because of these" },
    { "sync.data_dependent.count", "Sizes that depend on data" },
    { "sync.data_dependent.idle_us", "GPU idle because of these" },
    { "sync.to_host.count", "Copies to the host" },
    { "sync.to_host.idle_us", "GPU idle because of these" },
    { "sync.to_device.count", "Blocking copies to the device" },
    { "sync.to_device.idle_us", "GPU idle because of these" },
    { "sync.explicit.count", "Outside of operators" },
    { "sync.explicit.idle_us", "GPU idle because of these" },
    { "sync.allocation.count", "Device memory taken or given back" },
    { "sync.allocation.blocked_us", "Time in these" },
    { "sync.allocation.idle_us", "GPU idle because of these" },
    { "sync.pinned_allocation.count", "Page-locked memory taken or given back" },
    { "sync.pinned_allocation.idle_us", "GPU idle because of these" },
    FIGURE("sync.at_end_count"),
    FIGURE("sync.at_end_blocked_us"),
};

static const struct doc_part sync_parts[] = {
    SAYS("Blocked: the host waits. GPU idle: what the device stood still because of that, with nothing queued; never more "
         "than the wait, or the operator that is there for it, held the host. A wait on a busy GPU costs nothing."),
    { .figures = COUNTED(sync_figures), .skips_nothing = true },
    ROWS("Waits by cause", .path = "sync.by_cause",
         .remark = ", what cost the GPU most first; start, duration and thread are those of the worst",
         COLUMNS(NAME("category", "Why"), NAME("operator", "Operator"), NAME("call", "Call"), NAME("line", "Line"),
                 NUMBER("count", "Count"), NUMBER("blocked_us", "Blocked (us)"), NUMBER("idle_us", "GPU idle (us)"),
                 PLACE("worst."))),
};

const struct doc_section ap_section_syncs = { .title = "Synchronization",
                                              .if_any = { "sync" },
                                              .parts = COUNTED(sync_parts) };

/* ---- copies ---- */

#define COPY_FIGURES(kind, title)                                                    \
    { "copies." kind ".count", title }, { "copies." kind ".bytes", title ", size" }, \
        { "copies." kind ".dur_us", title ", GPU time" },                            \
    {                                                                                \
        "copies." kind ".exposed_us", title ", GPU time not hidden"                  \
    }

static const struct doc_figure copy_figures[] = {
    COPY_FIGURES("htod_pageable", "To the device, pageable"),
    COPY_FIGURES("htod_pinned", "To the device, page-locked"),
    FIGURE("copies.blocking_pinned.count"),
    COPY_FIGURES("dtoh", "To the host"),
    COPY_FIGURES("dtod", "Within the device"),
    { "copies.cast.count", "Casts" },
    { "copies.cast.dur_us", "Casts, GPU time" },
    { "copies.layout.count", "Layout changes" },
    { "copies.layout.dur_us", "Layout changes, GPU time" },
    FIGURE("copies.cast_layout_ratio"),
    { "copies.cpu_only.count", "Copies on the host" },
    { "copies.cpu_only.host_dur_us", "Copies on the host, time" },
};

static const struct doc_part copy_parts[] = {
    SAYS(
        "What operators that copy turned out to launch. Not hidden: time in which no kernel or memset ran on the device but "
        "copies."),
    { .figures = COUNTED(copy_figures), .skips_nothing = true },
    ROWS("Copies by cause", .path = "copies.by_cause",
         .remark = ", most GPU time that nothing hides first; start, duration and thread are those of the longest",
         COLUMNS(NAME("what", "What"), NAME("operator", "Operator"), NAME("line", "Line"), NUMBER("count", "Count"),
                 NUMBER("bytes", "Size (B)"), NUMBER("device_dur_us", "GPU time (us)"),
                 NUMBER("exposed_us", "Not hidden (us)"), NUMBER("host_dur_us", "Host time (us)"),
                 NUMBER("gigabytes_per_s", "GB/s"), PLACE("longest."), PROSE("advice", "What helps"))),
};

const struct doc_section ap_section_copies = { .title = "Copies", .if_any = { "copies" }, .parts = COUNTED(copy_parts) };
