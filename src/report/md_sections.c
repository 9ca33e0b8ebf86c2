/* SPDX-License-Identifier: MIT
 * The measured part of the report: which values stand in which table, under which title. */
#include "md.h"

#include "poison.h"

#define FIGURES(array) (array), AP_COUNT_OF(array)

/* ---- summary ---- */

void ap_md_summary(struct md *md)
{
    static const struct md_figure time[] = {
        { "trace.window_us", "Trace window" },
        { "cpu.summary.events_total", "Events" },
        { "cpu.summary.x_events_total", "Duration events (X)" },
        { "cpu.operator_summary.events", "Operator events" },
        { "cpu.operator_summary.names", "Distinct operators" },
        { "cpu.operator_summary.self_dur_us", "Operator time, all threads" },
        { "cpu.thread_summary.threads", "Threads with operators" },
        { "cpu.thread_summary.busiest_window_ratio", "Busiest thread, share of the window" },
        { "steps.count", "Recorded steps" },
        { "steps.steady.p50_us", "Median steady step" },
        { "gpu.utilization_ratio", "GPU utilization" },
        { "gpu.busy_us", "GPU busy, all devices" },
        { "gpu.idle_us", "GPU idle, all devices" },
    };
    static const struct md_figure memory[] = {
        { "memory.summary.reserved_bytes", "Reserved" },
        { "memory.summary.allocated_bytes", "Allocated" },
        { "memory.summary.active_bytes", "Active" },
        { "memory.summary.requested_bytes", "Requested" },
        { "memory.state.slack_bytes", "Slack" },
        { "memory.state.slack_ratio", "Slack, share of reserved" },
        { "memory.state.inactive_split_bytes", "Inactive split" },
        { "memory.summary.segments", "Segments" },
        { "memory.history.entries", "Allocator history entries" },
        { "memory.history.oom_count", "Out-of-memory events" },
    };
    ap_md_string(md, "\n## Resource summary\n");
    bool any = ap_md_figures(md, "Time", FIGURES(time));
    any |= ap_md_figures(md, "Memory", FIGURES(memory));
    if (!any)
        ap_md_string(md, "\nThe input holds nothing to sum up.\n");
}

/* ---- host ---- */

static const struct md_column operator_columns[] = {
    MD_COLUMN("name", "Operator", MD_NAME),
    MD_COLUMN("count", "Count", MD_FIGURE),
    MD_COLUMN("total_dur_us", "Total (us)", MD_FIGURE),
    MD_COLUMN("self_dur_us", "Self (us)", MD_FIGURE),
    MD_COLUMN("self_excl_runtime_dur_us", "Self less runtime (us)", MD_FIGURE),
    MD_COLUMN("avg_dur_us", "Mean (us)", MD_FIGURE),
    MD_COLUMN("min_dur_us", "Min (us)", MD_FIGURE),
    MD_COLUMN("p50_us", "p50 (us)", MD_FIGURE),
    MD_COLUMN("p99_us", "p99 (us)", MD_FIGURE),
    MD_COLUMN("max_dur_us", "Max (us)", MD_FIGURE),
};

static void write_operators(struct md *md)
{
    static const struct md_table by_total = {
        .path = "cpu.operators",
        .remark = ", largest total first",
        MD_COLUMNS(operator_columns),
    };
    static const struct md_table by_self = {
        .path = "cpu.operators_by_self",
        .remark = ", largest self time first",
        MD_COLUMNS(operator_columns),
    };
    static const struct md_table by_category = {
        .path = "cpu.top_ops",
        .remark = ", largest total first",
        MD_COLUMNS(operator_columns),
    };
    if (ap_md_table(md, "Operators by total time", &by_total))
        ap_md_table(md, "Operators by self time", &by_self);
    else if (!ap_md_table(md, "CPU events by total time", &by_category))
        ap_md_string(md, "\nNo operators were recorded.\n");
}

static void write_threads(struct md *md)
{
    static const struct md_column columns[] = {
        MD_COLUMN("name", "Thread", MD_NAME),
        MD_COLUMN("pid", "pid", MD_ID),
        MD_COLUMN("tid", "tid", MD_ID),
        MD_COLUMN("operator_events", "Operators", MD_FIGURE),
        MD_COLUMN("total_dur_us", "Sum of durations (us)", MD_FIGURE),
        MD_COLUMN("busy_us", "Busy (us)", MD_FIGURE),
        MD_COLUMN("window_share_ratio", "Share of window", MD_FIGURE),
    };
    static const struct md_table threads = { .path = "cpu.threads", MD_COLUMNS(columns) };
    static const struct md_table drop_in = { .path = "cpu.top_threads", MD_COLUMNS(columns) };
    if (!ap_md_table(md, "Threads", &threads))
        ap_md_table(md, "Threads", &drop_in);
}

void ap_md_cpu(struct md *md)
{
    static const struct md_column families[] = {
        MD_COLUMN("family", "Family", MD_NAME),
        MD_COLUMN("count", "Count", MD_FIGURE),
        MD_COLUMN("total_dur_us", "Total (us)", MD_FIGURE),
        MD_COLUMN("self_dur_us", "Self (us)", MD_FIGURE),
        MD_COLUMN("self_share_ratio", "Share of self time", MD_FIGURE),
    };
    static const struct md_column signals[] = {
        MD_COLUMN("*", "Pattern", MD_NAME),
        MD_COLUMN("count", "Count", MD_FIGURE),
        MD_COLUMN("total_dur_us", "Time (us)", MD_FIGURE),
        MD_COLUMN("window_share_ratio", "Share of window", MD_FIGURE),
        MD_COLUMN("per_step", "Per step", MD_FIGURE),
    };
    static const struct md_table family_table = { .path = "cpu.families", MD_COLUMNS(families) };
    static const struct md_table signal_table = {
        .path = "cpu.signals",
        .remark = ": operators, annotations and calls that stand for a known pattern, where there are any",
        .nonzero = "count",
        MD_COLUMNS(signals),
    };
    ap_md_string(md, "\n## CPU\n");
    if (!ap_md_known(md, "cpu")) {
        ap_md_string(md, "\nNo trace was given.\n");
        return;
    }
    write_operators(md);
    ap_md_table(md, "Operator families", &family_table);
    write_threads(md);
    ap_md_table(md, "Known patterns", &signal_table);
}

/* ---- memory ---- */

static void write_memory_figures(struct md *md)
{
    static const struct md_figure state[] = {
        { "memory.summary.reserved_vs_allocated_ratio", "Reserved over allocated" },
        { "memory.summary.allocated_vs_requested_ratio", "Allocated over requested" },
        { "memory.state.rounding_bytes", "Rounding (allocated less requested)" },
        { "memory.state.rounding_ratio", "Rounding, share of allocated" },
        { "memory.state.inactive_bytes", "Inactive blocks" },
        { "memory.state.inactive_split_bytes", "Inactive split" },
        { "memory.state.inactive_split_ratio", "Inactive split, share of reserved" },
        { "memory.state.wholly_free_segment_bytes", "Segments wholly free" },
        { "memory.state.pending_free_bytes", "Freed, waiting for a stream" },
        { "memory.state.pending_free_ratio", "Freed and waiting, share of active" },
        { "memory.state.largest_inactive_block_bytes", "Largest inactive block" },
        { "memory.state.external_fragmentation_ratio", "External fragmentation" },
        { "memory.state.small_segment_ratio", "Small pool, share of reserved" },
        { "memory.state.private_pool_bytes", "Private pools" },
        { "memory.state.private_pool_ratio", "Private pools, share of reserved" },
        { "memory.state.devices", "Devices" },
    };
    static const struct md_figure history[] = {
        { "memory.history.entries", "Entries" },
        { "memory.history.span_us", "Span" },
        { "memory.history.alloc_count", "Allocations" },
        { "memory.history.free_count", "Frees" },
        { "memory.history.allocs_per_s", "Allocations per second" },
        { "memory.history.allocated_bytes_sum", "Sum of allocated sizes" },
        { "memory.history.segment_alloc_count", "Segments taken from the driver" },
        { "memory.history.segment_free_count", "Segments given back" },
        { "memory.history.segment_ops_per_s", "Segment operations per second" },
        { "memory.history.steady_segment_alloc_count", "Segments taken, second half" },
        { "memory.history.steady_segment_free_count", "Segments given back, second half" },
        { "memory.history.retry_count", "Cache emptied to go on" },
        { "memory.history.oom_count", "Out of memory" },
        { "memory.history.oom_request_bytes", "Asked for at the last out of memory" },
        { "memory.history.oom_device_free_bytes", "Device free at the last out of memory" },
    };
    ap_md_figures(md, "State", FIGURES(state));
    if (!ap_md_false(md, "memory.recorded.history"))
        ap_md_figures(md, "History", FIGURES(history));
    else
        ap_md_string(md, "\n### History\n\nAllocator history was not recorded.\n");
}

static void write_segments(struct md *md)
{
#define SIZE_COLUMNS                                       \
    MD_COLUMN("reserved_bytes", "Reserved (B)", MD_FIGURE),    \
    MD_COLUMN("allocated_bytes", "Allocated (B)", MD_FIGURE),  \
    MD_COLUMN("active_bytes", "Active (B)", MD_FIGURE),        \
    MD_COLUMN("requested_bytes", "Requested (B)", MD_FIGURE)
    static const struct md_column types[] = {
        MD_COLUMN("*", "Type", MD_NAME),
        MD_COLUMN("segments", "Segments", MD_FIGURE),
        SIZE_COLUMNS,
        MD_COLUMN("reserved_vs_allocated_ratio", "Reserved / allocated", MD_FIGURE),
        MD_COLUMN("allocated_vs_requested_ratio", "Allocated / requested", MD_FIGURE),
    };
    static const struct md_column devices[] = {
        MD_COLUMN("device", "Device", MD_ID),
        MD_COLUMN("segments", "Segments", MD_FIGURE),
        SIZE_COLUMNS,
        MD_COLUMN("inactive_bytes", "Inactive (B)", MD_FIGURE),
        MD_COLUMN("inactive_split_bytes", "Inactive split (B)", MD_FIGURE),
        MD_COLUMN("wholly_free_segment_bytes", "Wholly free segments (B)", MD_FIGURE),
    };
    static const struct md_column largest[] = {
        MD_COLUMN("device", "Device", MD_ID),
        MD_COLUMN("segment_type", "Type", MD_NAME),
        MD_COLUMN("reserved", "Reserved (B)", MD_FIGURE),
        MD_COLUMN("allocated", "Allocated (B)", MD_FIGURE),
        MD_COLUMN("active", "Active (B)", MD_FIGURE),
        MD_COLUMN("requested", "Requested (B)", MD_FIGURE),
        MD_COLUMN("slack", "Slack (B)", MD_FIGURE),
        MD_COLUMN("address", "Address", MD_ID),
    };
    static const struct md_table type_table = { .path = "memory.segment_types", .limit = 100, MD_COLUMNS(types) };
    static const struct md_table device_table = { .path = "memory.by_device", .limit = 100, MD_COLUMNS(devices) };
    static const struct md_table largest_table = {
        .path = "memory.largest_segments",
        .remark = ", largest first",
        MD_COLUMNS(largest),
    };
    ap_md_table(md, "Segment types", &type_table);
    ap_md_table(md, "Devices", &device_table);
    ap_md_table(md, "Largest segments", &largest_table);
}

static void write_actions(struct md *md)
{
    static const struct md_column actions[] = {
        MD_COLUMN("*", "Action", MD_NAME),
        MD_COLUMN(NULL, "Entries", MD_FIGURE),
        { .title = "Per second", .form = MD_FIGURE, .from = "memory.history.rates", .unit = "per_s" },
    };
    static const struct md_column names[] = {
        MD_COLUMN("*", "Annotation", MD_NAME),
        MD_COLUMN(NULL, "Entries", MD_FIGURE),
    };
    static const struct md_table action_table = {
        .path = "memory.trace_actions.counts",
        .remark = " and `memory.history.rates`",
        .limit = 100,
        MD_COLUMNS(actions),
    };
    static const struct md_table name_table = {
        .path = "memory.annotations.top_names",
        .remark = ", the most frequent",
        MD_COLUMNS(names),
    };
    ap_md_table(md, "Allocator actions", &action_table);
    ap_md_table(md, "Annotations", &name_table);
}

void ap_md_memory(struct md *md)
{
    static const struct md_column settings[] = {
        MD_COLUMN("*", "Setting", MD_NAME),
        MD_COLUMN(NULL, "Value", MD_FULL),
    };
    static const struct md_table setting_table = { .path = "memory.settings", MD_COLUMNS(settings) };
    ap_md_string(md, "\n## Memory\n");
    if (!ap_md_known(md, "memory")) {
        ap_md_string(md, "\nNo memory snapshot was given.\n");
        return;
    }
    write_memory_figures(md);
    ap_md_memory_use(md);
    ap_md_memory_health(md);
    ap_md_memory_owners(md);
    write_segments(md);
    write_actions(md);
    if (!ap_md_table(md, "Allocator settings", &setting_table))
        ap_md_string(md, "\n### Allocator settings\n\nNot recorded.\n");
}

/* ---- the files ---- */

static void write_recorded(struct md *md, const char *path, const char *title)
{
    const struct ap_value *first = ap_value_first(ap_md_at(md, path));
    if (!first)
        return;
    ap_md_string(md, "\n### ");
    ap_md_string(md, title);
    for (int wanted = 1; wanted >= 0; wanted--) {
        ap_md_string(md, wanted ? "\n\n- Recorded: " : "\n- Not recorded: ");
        bool any = false;
        for (const struct ap_value *part = first; part; part = part->next)
            if (part->type == AP_VALUE_BOOL && part->as.integer == wanted) {
                ap_md_string(md, any ? ", " : "");
                ap_md_name(md, part->key);
                any = true;
            }
        ap_md_string(md, any ? "." : "nothing.");
    }
    ap_out_char(&md->out, '\n');
}

void ap_md_trace(struct md *md)
{
    static const struct md_column categories[] = {
        MD_COLUMN("category", "Category", MD_NAME),
        MD_COLUMN("kind", "Taken as", MD_NAME),
        MD_COLUMN("events", "Events", MD_FIGURE),
        MD_COLUMN("total_dur_us", "Sum of durations (us)", MD_FIGURE),
    };
    static const struct md_column phases[] = {
        MD_COLUMN("*", "ph", MD_NAME),
        MD_COLUMN(NULL, "Events", MD_FIGURE),
    };
    static const struct md_column devices[] = {
        MD_COLUMN("id", "Device", MD_ID),
        MD_COLUMN("name", "Name", MD_NAME),
        MD_COLUMN("memory_bytes", "Memory (B)", MD_FIGURE),
        MD_COLUMN("sm_count", "Multiprocessors", MD_FIGURE),
        MD_COLUMN("compute_capability", "Compute capability", MD_FIGURE),
    };
    static const struct md_table category_table = { .path = "trace.categories", .limit = 100, MD_COLUMNS(categories) };
    static const struct md_table phase_table = { .path = "trace.events.by_phase", .limit = 50, MD_COLUMNS(phases) };
    static const struct md_table device_table = { .path = "trace.devices", .limit = 100, MD_COLUMNS(devices) };
    static const struct md_figure figures[] = {
        { "trace.events.total", "Events" },
        { "trace.events.duration", "Duration events" },
        { "trace.unknown_category_events", "Events of unknown category" },
        { "trace.bytes_read", "Bytes read from the trace" },
        { "memory.bytes_read", "Bytes read from the snapshot" },
    };
    if (!ap_md_known(md, "trace") && !ap_md_known(md, "memory"))
        return;
    ap_md_string(md, "\n## What the input holds\n");
    ap_md_figures(md, NULL, FIGURES(figures));
    ap_md_table(md, "Event categories", &category_table);
    ap_md_table(md, "Event phases", &phase_table);
    ap_md_table(md, "GPU devices", &device_table);
    write_recorded(md, "trace.recorded", "In the trace");
    write_recorded(md, "memory.recorded", "In the snapshot");
}
