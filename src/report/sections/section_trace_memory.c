/* SPDX-License-Identifier: MIT
 * section_trace_memory.c - memory as the trace tells it: curves and peaks, parts of the step, owners. */
#include "sections.h"

#include "poison.h"

#define DEVICE NAME("device_type", "Device"), ID("device_id", "Id")

static const struct doc_figure figures[] = {
    FIGURE("trace_memory.gpu.peak_allocated_bytes"), FIGURE("trace_memory.gpu.peak_over_start_bytes"),
    FIGURE("trace_memory.gpu.peak_reserved_bytes"),  FIGURE("trace_memory.gpu.slack_at_peak_bytes"),
    FIGURE("trace_memory.gpu.slack_at_peak_ratio"),  FIGURE("trace_memory.gpu.capacity_bytes"),
    FIGURE("trace_memory.gpu.peak_capacity_ratio"),
};

static const struct doc_figure step_figures[] = {
    FIGURE("trace_memory.per_step.churn_bytes_per_step"), FIGURE("trace_memory.per_step.allocations_per_step"),
    FIGURE("trace_memory.per_step.mean_peak_bytes"),      FIGURE("trace_memory.per_step.growth_bytes_per_step"),
    FIGURE("trace_memory.per_step.leak_suspected"),
};

#define OWNER_COLUMNS                                                                                               \
    DEVICE, NUMBER("allocations", "Allocations"), NUMBER("allocated_bytes", "Allocated (B)"),                       \
        NUMBER("allocated_share_ratio", "Share"), NUMBER("freed_bytes", "Freed (B)"),                               \
        NUMBER("alive_at_peak_bytes", "Held at the peak (B)"), NUMBER("alive_at_end_bytes", "Held at the end (B)"), \
        NUMBER("largest.bytes", "Largest (B)"), NUMBER("largest.start_us", "In the call at (us)")

static const struct doc_part parts[] = {
    SAYS("From the allocators' events in the trace. What the CPU held before the recording is not in it."),
    FIGURES(NULL, figures),
    ROWS("Requests that failed", .path = "trace_memory.out_of_memory",
         COLUMNS(DEVICE, NUMBER("requested_bytes", "Asked for (B)"), NUMBER("allocated_bytes", "Allocated (B)"),
                 NUMBER("reserved_bytes", "Reserved (B)"), NUMBER("step", "Step"), NAME("phase", "Phase"),
                 NAME("operator", "Operator"), NAME("module", "Module"), NUMBER("start_us", "At (us)"))),
    ROWS("Devices", .path = "trace_memory.devices",
         .remark = ", the main one first. From 0: the trace tells no totals, so sizes count from its first event",
         COLUMNS(DEVICE, NUMBER("relative", "From 0"), NUMBER("start_allocated_bytes", "At the start (B)"),
                 NUMBER("end_allocated_bytes", "At the end (B)"), NUMBER("peak_allocated_bytes", "Peak allocated (B)"),
                 NUMBER("peak_at_least_bytes", "Peak, at least (B)"), NUMBER("peak_reserved_bytes", "Peak reserved (B)"),
                 NUMBER("allocations", "Allocations"), NUMBER("allocated_sum_bytes", "Sum of them (B)"),
                 NUMBER("freed_sum_bytes", "Freed (B)"))),
    ROWS("What ran at the peak", .path = "trace_memory.devices",
         COLUMNS(DEVICE, NUMBER("peak_allocated_at_us", "At (us)"), NUMBER("peak.step", "Step"), NAME("peak.phase", "Phase"),
                 NAME("peak.operator", "Operator"), NAME("peak.module", "Module"), ID("peak.tid", "Thread"))),
    ROWS("Phases", .path = "trace_memory.phases", .remark = ", of the main device; levels are means of the steps that count",
         COLUMNS(NAME("phase", "Phase"), NUMBER("steps", "Steps"),
                 NUMBER("at_start_allocated_bytes", "Allocated at its start (B)"),
                 NUMBER("at_end_allocated_bytes", "Allocated at its end (B)"),
                 NUMBER("at_end_reserved_bytes", "Reserved at its end (B)"), NUMBER("delta_bytes", "Rise (B)"),
                 NUMBER("peak_bytes", "Peak (B)"), NUMBER("allocations", "Allocations, all steps"),
                 NUMBER("allocated_bytes", "Allocated, all steps (B)"), NUMBER("net_bytes", "Less freed (B)"))),
    ROWS("Jumps between phases", .path = "trace_memory.jumps", .remark = ", hypotheses",
         COLUMNS(NAME("of", "Likely"), NUMBER("bytes", "Size (B)"), NUMBER("step", "Step"), NUMBER("at_us", "At (us)"),
                 PROSE("evidence", "Found as"))),
    FIGURES("Memory per step", step_figures),
    ROWS("Memory of each step", .path = "trace_memory.per_step.items", .remark = ", of the main device",
         COLUMNS(NUMBER("step", "Step"), NUMBER("steady", "Steady"), NUMBER("start_allocated_bytes", "At its start (B)"),
                 NUMBER("least_allocated_bytes", "Least (B)"), NUMBER("peak_allocated_bytes", "Peak (B)"),
                 NAME("peak_phase", "Peak in"), NUMBER("churn_bytes", "Allocated (B)"),
                 NUMBER("net_bytes", "Less freed (B)"), NUMBER("allocations", "Allocations"),
                 NUMBER("start_us", "Starts at (us)"))),
    ROWS("Who allocates", .path = "trace_memory.callers",
         .remark = ", by what the program called, most allocated first, per device",
         COLUMNS(NAME("name", "Called operator"), OWNER_COLUMNS)),
    ROWS("Innermost operators that allocate", .path = "trace_memory.operators",
         .remark = ", by the innermost operator, most allocated first, per device",
         COLUMNS(NAME("name", "Name"), OWNER_COLUMNS)),
    ROWS("Modules that allocate", .path = "trace_memory.modules",
         .remark = ", by the innermost nn.Module, most allocated first, per device",
         COLUMNS(NAME("path", "Module"), OWNER_COLUMNS)),
};

const struct doc_section ap_section_trace_memory = { .title = "Memory in the trace",
                                                     .if_any = { "trace_memory" },
                                                     .parts = COUNTED(parts) };
