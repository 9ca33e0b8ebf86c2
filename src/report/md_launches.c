/* SPDX-License-Identifier: MIT
 * How the host drives the devices: launches, waits, copies. */
#include "md.h"

#include "poison.h"

#define FIGURES(array) (array), AP_COUNT_OF(array)

/* Where the row behind a table row stands, to find it in a viewer. */
#define PLACE(object) \
    MD_COLUMN(object "start_us", "Start (us)", MD_FIGURE), \
    MD_COLUMN(object "dur_us", "Duration (us)", MD_FIGURE), \
    MD_COLUMN(object "tid", "Thread or stream", MD_ID)

/* ---- launches ---- */

static void write_links(struct md *md)
{
    static const struct md_figure figures[] = {
        { "links.device_rows", "Rows of GPU work" },
        { "links.launched_count", "With a launching call" },
        { "launches.unlinked_device_count", "Launched before recording, or cut off" },
        { "links.launched_time_ratio", "GPU time with a launching call" },
        { "links.operator_time_ratio", "GPU time with an operator" },
        { "links.by_external_id_count", "Operators found by External id" },
        { "links.by_time_count", "Operators found by time" },
        { "links.sync_without_record_count", "Waits between streams without a usable record" },
    };
    ap_md_figures(md, "Links from the GPU to the host", FIGURES(figures));
}

static void write_launch_figures(struct md *md)
{
    static const struct md_figure figures[] = {
        { "launches.calls", "Launching calls" },
        { "launches.per_step", "Launching calls per step" },
        { "launches.kernels_per_step", "Kernels per step" },
        { "launches.calls_per_s", "Launching calls per second" },
        { "launches.call_dur_us", "Time in launching calls" },
        { "launches.call_outlier_count", "Launching calls over 50 us" },
        { "launches.call_outlier_excess_us", "What they took beyond 50 us" },
        { "launches.graph_launches", "Graph launches" },
        { "launches.kernels_per_graph_launch", "GPU rows per graph launch" },
        { "launches.queue_delay_us.mean", "Queue delay, mean" },
        { "launches.queue_delay_us.p50", "Queue delay, p50" },
        { "launches.queue_delay_us.p90", "Queue delay, p90" },
        { "launches.queue_delay_us.p99", "Queue delay, p99" },
        { "launches.queue_delay_us.max", "Queue delay, max" },
        { "launches.without_graphs.queue_delay_us.p50", "Queue delay without graph launches, p50" },
        { "launches.launch_delay.p50_us", "End of the call to the start, p50" },
        { "launches.launch_delay.outlier_count", "Started over 100 us after their call" },
        { "launches.launch_delay.outlier_idle_stream_count", "Of these, on a stream with nothing to do" },
        { "launches.started_before_call_end_count", "Started before their call ended" },
        { "launches.started_before_call_count", "Started before their call (clocks differ)" },
        { "launches.short_kernel_count", "Shorter than their call" },
        { "launches.short_kernel_ratio", "Shorter than their call, share" },
        { "launches.queue.max_length", "Longest queue" },
        { "launches.queue.mean_length", "Mean queue, busiest stream" },
        { "launches.queue.empty_ratio", "Queue empty, busiest stream" },
        { "launches.queue.at_limit_us", "Time at 1,024 waiting launches" },
    };
    ap_md_figures(md, NULL, FIGURES(figures));
}

void ap_md_launches(struct md *md)
{
    static const struct md_column streams[] = {
        MD_COLUMN("pid", "Device", MD_ID),
        MD_COLUMN("tid", "Stream", MD_ID),
        MD_COLUMN("launches", "Launches", MD_FIGURE),
        MD_COLUMN("max_length", "Longest queue", MD_FIGURE),
        MD_COLUMN("mean_length", "Mean queue", MD_FIGURE),
        MD_COLUMN("at_limit_us", "At 1,024 (us)", MD_FIGURE),
        MD_COLUMN("empty_ratio", "Empty", MD_FIGURE),
    };
    static const struct md_column calls[] = {
        MD_COLUMN("name", "Call", MD_NAME),
        MD_COLUMN("kind", "Kind", MD_NAME),
        MD_COLUMN("count", "Count", MD_FIGURE),
        MD_COLUMN("total_dur_us", "Total (us)", MD_FIGURE),
        MD_COLUMN("mean_dur_us", "Mean (us)", MD_FIGURE),
        MD_COLUMN("p50_us", "p50 (us)", MD_FIGURE),
        MD_COLUMN("p99_us", "p99 (us)", MD_FIGURE),
        MD_COLUMN("outlier_count", "Over 50 us", MD_FIGURE),
        PLACE("longest."),
    };
    static const struct md_table stream_table = { .path = "launches.queue.streams", .limit = 20, MD_COLUMNS(streams) };
    static const struct md_table call_table = {
        .path = "runtime.calls",
        .remark = ", largest total first; start, duration and thread are those of the longest",
        MD_COLUMNS(calls),
    };
    if (!ap_md_known(md, "launches") && !ap_md_known(md, "runtime"))
        return;
    ap_md_string(md, "\n## Launches\n");
    ap_md_string(md, "\nQueue delay: from the start of a launching call to the start on the device. A long one with a "
                     "full queue means that the host is ahead, a short one with an empty queue that the device waits for "
                     "the host.\n");
    if (ap_md_known(md, "launches"))
        write_launch_figures(md);
    else
        ap_md_string(md, "\nNo GPU work was recorded.\n");
    ap_md_table(md, "Queues by stream", &stream_table);
    ap_md_table(md, "Runtime and driver calls", &call_table);
    write_links(md);
}

/* ---- waits ---- */

void ap_md_syncs(struct md *md)
{
    static const struct md_figure figures[] = {
        { "sync.count", "Waits" },
        { "sync.per_step", "Waits per step" },
        { "sync.blocked_us", "Time blocked" },
        { "sync.blocked_share_ratio", "Time blocked on all threads, over the trace window" },
        { "sync.idle_us", "GPU idle because of them" },
        { "sync.idle_share_ratio", "GPU idle because of them, share of the GPU window" },
        { "sync.costly_count", "Waits that cost the GPU 10 us or more" },
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
        { "sync.at_end_count", "Waits at the end (cost nothing)" },
        { "sync.at_end_blocked_us", "Time in these" },
    };
    static const struct md_column causes[] = {
        MD_COLUMN("category", "Why", MD_NAME),
        MD_COLUMN("operator", "Operator", MD_NAME),
        MD_COLUMN("call", "Call", MD_NAME),
        MD_COLUMN("line", "Line", MD_NAME),
        MD_COLUMN("count", "Count", MD_FIGURE),
        MD_COLUMN("blocked_us", "Blocked (us)", MD_FIGURE),
        MD_COLUMN("idle_us", "GPU idle (us)", MD_FIGURE),
        PLACE("worst."),
    };
    static const struct md_table cause_table = {
        .path = "sync.by_cause",
        .remark = ", what cost the GPU most first; start, duration and thread are those of the worst",
        MD_COLUMNS(causes),
    };
    if (!ap_md_known(md, "sync"))
        return;
    ap_md_string(md, "\n## Synchronisation\n");
    ap_md_string(md, "\nBlocked: the host waits. GPU idle: what the device stood still because of that, with "
                     "nothing queued; never more than the wait, or the operator that is there for it, held the host. A wait on a busy GPU costs nothing.\n");
    ap_md_figures(md, NULL, FIGURES(figures));
    ap_md_table(md, "Waits by cause", &cause_table);
}

/* ---- copies ---- */

void ap_md_copies(struct md *md)
{
#define COPY_FIGURES(kind, title)                                       \
    { "copies." kind ".count", title },                                 \
    { "copies." kind ".bytes", title ", size" },                        \
    { "copies." kind ".dur_us", title ", GPU time" },                   \
    { "copies." kind ".exposed_us", title ", GPU time not hidden" }
    static const struct md_figure figures[] = {
        COPY_FIGURES("htod_pageable", "To the device, pageable"),
        COPY_FIGURES("htod_pinned", "To the device, page-locked"),
        { "copies.blocking_pinned.count", "Of these, holding the host" },
        COPY_FIGURES("dtoh", "To the host"),
        COPY_FIGURES("dtod", "Within the device"),
        { "copies.cast.count", "Casts" },
        { "copies.cast.dur_us", "Casts, GPU time" },
        { "copies.layout.count", "Layout changes" },
        { "copies.layout.dur_us", "Layout changes, GPU time" },
        { "copies.cast_layout_ratio", "Casts and layout changes, share of GPU work" },
        { "copies.cpu_only.count", "Copies on the host" },
        { "copies.cpu_only.host_dur_us", "Copies on the host, time" },
    };
#undef COPY_FIGURES
    static const struct md_column causes[] = {
        MD_COLUMN("what", "What", MD_NAME),
        MD_COLUMN("operator", "Operator", MD_NAME),
        MD_COLUMN("line", "Line", MD_NAME),
        MD_COLUMN("count", "Count", MD_FIGURE),
        MD_COLUMN("bytes", "Size (B)", MD_FIGURE),
        MD_COLUMN("device_dur_us", "GPU time (us)", MD_FIGURE),
        MD_COLUMN("exposed_us", "Not hidden (us)", MD_FIGURE),
        MD_COLUMN("host_dur_us", "Host time (us)", MD_FIGURE),
        MD_COLUMN("gigabytes_per_s", "GB/s", MD_FIGURE),
        PLACE("longest."),
        MD_COLUMN("advice", "What helps", MD_PROSE),
    };
    static const struct md_table cause_table = {
        .path = "copies.by_cause",
        .remark = ", most GPU time that nothing hides first; start, duration and thread are those of the longest",
        MD_COLUMNS(causes),
    };
    if (!ap_md_known(md, "copies"))
        return;
    ap_md_string(md, "\n## Copies\n");
    ap_md_string(md, "\nWhat operators that copy turned out to launch. Not hidden: time in which no kernel or memset ran on "
                     "the device but copies.\n");
    ap_md_figures(md, NULL, FIGURES(figures));
    ap_md_table(md, "Copies by cause", &cause_table);
}
