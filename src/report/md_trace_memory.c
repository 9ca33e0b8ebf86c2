/* SPDX-License-Identifier: MIT
 * Memory as the trace tells it: curves and peaks, parts of the step, owners. */
#include "md.h"

#include "poison.h"

#define FIGURES(array) (array), AP_COUNT_OF(array)
#define DEVICE MD_COLUMN("device_type", "Device", MD_NAME), MD_COLUMN("device_id", "Id", MD_ID)

static void write_devices(struct md *md)
{
    static const struct md_column sizes[] = {
        DEVICE,
        MD_COLUMN("relative", "From 0", MD_FIGURE),
        MD_COLUMN("start_allocated_bytes", "At the start (B)", MD_FIGURE),
        MD_COLUMN("end_allocated_bytes", "At the end (B)", MD_FIGURE),
        MD_COLUMN("peak_allocated_bytes", "Peak allocated (B)", MD_FIGURE),
        MD_COLUMN("peak_at_least_bytes", "Peak, at least (B)", MD_FIGURE),
        MD_COLUMN("peak_reserved_bytes", "Peak reserved (B)", MD_FIGURE),
        MD_COLUMN("allocations", "Allocations", MD_FIGURE),
        MD_COLUMN("allocated_sum_bytes", "Sum of them (B)", MD_FIGURE),
        MD_COLUMN("freed_sum_bytes", "Freed (B)", MD_FIGURE),
    };
    static const struct md_column peaks[] = {
        DEVICE,
        MD_COLUMN("peak_allocated_at_us", "At (us)", MD_FIGURE),
        MD_COLUMN("peak.step", "Step", MD_FIGURE),
        MD_COLUMN("peak.phase", "Phase", MD_NAME),
        MD_COLUMN("peak.operator", "Operator", MD_NAME),
        MD_COLUMN("peak.module", "Module", MD_NAME),
        MD_COLUMN("peak.tid", "Thread", MD_ID),
    };
    static const struct md_table size_table = {
        .path = "trace_memory.devices",
        .remark = ", the main one first. From 0: the trace tells no totals, so sizes count from its first event",
        MD_COLUMNS(sizes),
    };
    static const struct md_table peak_table = { .path = "trace_memory.devices", MD_COLUMNS(peaks) };
    ap_md_table(md, "Devices", &size_table);
    ap_md_table(md, "What ran at the peak", &peak_table);
}

static void write_phases(struct md *md)
{
    static const struct md_column columns[] = {
        MD_COLUMN("phase", "Phase", MD_NAME),
        MD_COLUMN("steps", "Steps", MD_FIGURE),
        MD_COLUMN("at_start_allocated_bytes", "Allocated at its start (B)", MD_FIGURE),
        MD_COLUMN("at_end_allocated_bytes", "Allocated at its end (B)", MD_FIGURE),
        MD_COLUMN("at_end_reserved_bytes", "Reserved at its end (B)", MD_FIGURE),
        MD_COLUMN("delta_bytes", "Rise (B)", MD_FIGURE),
        MD_COLUMN("peak_bytes", "Peak (B)", MD_FIGURE),
        MD_COLUMN("allocations", "Allocations, all steps", MD_FIGURE),
        MD_COLUMN("allocated_bytes", "Allocated, all steps (B)", MD_FIGURE),
        MD_COLUMN("net_bytes", "Less freed (B)", MD_FIGURE),
    };
    static const struct md_column jumps[] = {
        MD_COLUMN("of", "Likely", MD_NAME),
        MD_COLUMN("bytes", "Size (B)", MD_FIGURE),
        MD_COLUMN("step", "Step", MD_FIGURE),
        MD_COLUMN("at_us", "At (us)", MD_FIGURE),
        MD_COLUMN("evidence", "Found as", MD_PROSE),
    };
    static const struct md_table table = {
        .path = "trace_memory.phases",
        .remark = ", of the main device; levels are means of the steps that count",
        MD_COLUMNS(columns),
    };
    static const struct md_table jump_table = { .path = "trace_memory.jumps", .remark = ", hypotheses", MD_COLUMNS(jumps) };
    ap_md_table(md, "Phases", &table);
    ap_md_table(md, "Jumps between phases", &jump_table);
}

static void write_steps(struct md *md)
{
    static const struct md_figure figures[] = {
        { "trace_memory.per_step.churn_bytes_per_step", "Allocated in a step" },
        { "trace_memory.per_step.allocations_per_step", "Allocations in a step" },
        { "trace_memory.per_step.mean_peak_bytes", "Peak of a step, mean" },
        { "trace_memory.per_step.growth_bytes_per_step", "Growth of the least held, per step" },
        { "trace_memory.per_step.leak_suspected", "It rises in every step" },
    };
    static const struct md_column columns[] = {
        MD_COLUMN("step", "Step", MD_FIGURE),
        MD_COLUMN("steady", "Steady", MD_FIGURE),
        MD_COLUMN("start_allocated_bytes", "At its start (B)", MD_FIGURE),
        MD_COLUMN("least_allocated_bytes", "Least (B)", MD_FIGURE),
        MD_COLUMN("peak_allocated_bytes", "Peak (B)", MD_FIGURE),
        MD_COLUMN("peak_phase", "Peak in", MD_NAME),
        MD_COLUMN("churn_bytes", "Allocated (B)", MD_FIGURE),
        MD_COLUMN("net_bytes", "Less freed (B)", MD_FIGURE),
        MD_COLUMN("allocations", "Allocations", MD_FIGURE),
        MD_COLUMN("start_us", "Starts at (us)", MD_FIGURE),
    };
    static const struct md_table table = { .path = "trace_memory.per_step.items", .remark = ", of the main device", MD_COLUMNS(columns) };
    ap_md_figures(md, "Memory per step", FIGURES(figures));
    ap_md_table(md, "Memory of each step", &table);
}

#define OWNER_COLUMNS                                                                                     \
    DEVICE, MD_COLUMN("allocations", "Allocations", MD_FIGURE),                                           \
        MD_COLUMN("allocated_bytes", "Allocated (B)", MD_FIGURE),                                         \
        MD_COLUMN("allocated_share_ratio", "Share", MD_FIGURE), MD_COLUMN("freed_bytes", "Freed (B)", MD_FIGURE), \
        MD_COLUMN("alive_at_peak_bytes", "Held at the peak (B)", MD_FIGURE),                              \
        MD_COLUMN("alive_at_end_bytes", "Held at the end (B)", MD_FIGURE),                                \
        MD_COLUMN("largest.bytes", "Largest (B)", MD_FIGURE),                                             \
        MD_COLUMN("largest.start_us", "Largest within (us)", MD_FIGURE)

static void write_owners(struct md *md)
{
    static const struct md_column operators[] = { MD_COLUMN("name", "Name", MD_NAME), OWNER_COLUMNS };
    static const struct md_column callers[] = { MD_COLUMN("name", "Called operator", MD_NAME), OWNER_COLUMNS };
    static const struct md_column modules[] = { MD_COLUMN("path", "Module", MD_NAME), OWNER_COLUMNS };
    static const struct md_table caller_table = {
        .path = "trace_memory.callers",
        .remark = ", by what the program called, most allocated first, per device",
        MD_COLUMNS(callers),
    };
    static const struct md_table operator_table = {
        .path = "trace_memory.operators",
        .remark = ", by the innermost operator, most allocated first, per device",
        MD_COLUMNS(operators),
    };
    static const struct md_table module_table = {
        .path = "trace_memory.modules",
        .remark = ", by the innermost nn.Module, most allocated first, per device",
        MD_COLUMNS(modules),
    };
    ap_md_table(md, "Who allocates", &caller_table);
    ap_md_table(md, "Innermost operators that allocate", &operator_table);
    ap_md_table(md, "Modules that allocate", &module_table);
}

void ap_md_trace_memory(struct md *md)
{
    static const struct md_figure figures[] = {
        { "trace_memory.gpu.peak_allocated_bytes", "Peak allocated" },
        { "trace_memory.gpu.peak_over_start_bytes", "Peak over the start" },
        { "trace_memory.gpu.peak_reserved_bytes", "Peak reserved" },
        { "trace_memory.gpu.slack_at_peak_bytes", "Reserved, not allocated, at the peak" },
        { "trace_memory.gpu.slack_at_peak_ratio", "That, share of reserved" },
        { "trace_memory.gpu.capacity_bytes", "Memory of the device" },
        { "trace_memory.gpu.peak_capacity_ratio", "Peak, share of the device" },
    };
    static const struct md_column failed[] = {
        DEVICE,
        MD_COLUMN("requested_bytes", "Asked for (B)", MD_FIGURE),
        MD_COLUMN("allocated_bytes", "Allocated (B)", MD_FIGURE),
        MD_COLUMN("reserved_bytes", "Reserved (B)", MD_FIGURE),
        MD_COLUMN("step", "Step", MD_FIGURE),
        MD_COLUMN("phase", "Phase", MD_NAME),
        MD_COLUMN("operator", "Operator", MD_NAME),
        MD_COLUMN("module", "Module", MD_NAME),
        MD_COLUMN("start_us", "At (us)", MD_FIGURE),
    };
    static const struct md_table failed_table = { .path = "trace_memory.out_of_memory", MD_COLUMNS(failed) };
    if (!ap_md_known(md, "trace_memory"))
        return;
    ap_md_string(md, "\n## Memory in the trace\n\nFrom the allocators' events in the trace. What the CPU held before the "
                     "recording is not in it.\n");
    ap_md_figures(md, NULL, FIGURES(figures));
    ap_md_table(md, "Requests that failed", &failed_table);
    write_devices(md);
    write_phases(md);
    write_steps(md);
    write_owners(md);
}
