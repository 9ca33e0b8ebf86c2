/* SPDX-License-Identifier: MIT
 * section_compute.c - what kernels do of what the device could. */
#include "sections.h"

#include "poison.h"

static const struct doc_figure figures[] = {
    { "compute.calls", "Calls that are counted" },
    { "compute.flops", "Matrix operations" },
    { "compute.macs", "Multiplications with addition (MACs)" },
    { "compute.bytes", "Least bytes" },
    { "compute.tflop_s", "Achieved in matrix work (TFLOP/s)" },
    { "compute.gb_s", "Least bytes over time (GB/s)" },
    { "compute.mfu_ratio", "Model FLOPs utilization" },
    { "compute.coverage.kernel_us", "Kernels but collectives" },
    { "compute.coverage.known_us", "Of them known: operations or bytes" },
    { "compute.coverage.known_ratio", "That, share of the kernels" },
    { "compute.coverage.products_ratio", "Matrix work that is known, share of the kernels" },
    { "compute.above_peak.count", "Calls above what the device can" },
    { "compute.kernel_bound_us", "What faster kernels could save at most" },
};

#define RATE_COLUMNS                                                                                   \
    NUMBER("tflop_s", "TFLOP/s"), NUMBER("gb_s", "GB/s"), NUMBER("roofline_ratio", "Of the roofline"), \
        NUMBER("lost_us", "Slower than good kernels by (us)")

static const struct doc_part parts[] = {
    { .only_if = "compute.device",
      .says =
          "Compared with {n compute.device.judged_as} (told by: {n compute.device.told_by}), {F compute.device.gb_s} GB/s. "
          "Known are the operations or bytes of {F compute.coverage.known_ratio} of the time of kernels, collectives left "
          "out; the rest has no shapes, runs in graphs or compiled code, or is of operators that are not counted." },
    FIGURES(NULL, figures),
    ROWS("Rates of the device", .path = "compute.device.rates", .limit = 10,
         COLUMNS(NAME("type", "Type"), NUMBER("tflop_s", "TFLOP/s"))),
    ROWS("Kinds of work", .path = "compute.kinds", .limit = 20,
         COLUMNS(NAME("kind", "Kind"), NUMBER("count", "Calls"), NUMBER("total_dur_us", "Time (us)"),
                 NUMBER("kernel_ratio", "Share of kernels but collectives"), RATE_COLUMNS)),
    ROWS("Why kernels are slow", .path = "compute.causes", .nonzero = "count", .limit = 20,
         .remark = ": calls that reach less than 60 % of what good kernels do, by the first cause that fits",
         COLUMNS(NAME("*", "Cause"), NUMBER("count", "Calls"), NUMBER("total_dur_us", "Time (us)"), RATE_COLUMNS)),
    ROWS("Operators and their rates", .path = "compute.operators",
         .remark = ", by what they lose against good kernels, else by time; rates are of the median call",
         COLUMNS(NAME("operator", "Operator"), NAME("dims", "Shapes"), NAME("type", "Type"), NUMBER("timed_count", "Calls"),
                 NUMBER("total_dur_us", "Total (us)"), NUMBER("median_us", "Median (us)"), NUMBER("cold_count", "Cold"),
                 NUMBER("flops_per_byte", "FLOP/B"), NUMBER("tflop_s", "TFLOP/s"), NUMBER("gb_s", "GB/s"),
                 NAME("bound", "Bound by"), NUMBER("roofline_ratio", "Of the roofline"), NUMBER("lost_us", "Lost (us)"),
                 NAME("cause", "Cause"), NAME("kernel", "Kernel"), PROSE("above_peak", "Above the peak"))),
    ROWS("Kernels of these calls", .path = "compute.kernels",
         .remark = ", longest first; small side kernels count with the main one",
         COLUMNS(NAME("name", "Kernel"), NAME("kind", "Kind"), NUMBER("count", "Calls"),
                 NUMBER("total_dur_us", "Total (us)"), NUMBER("flops_per_byte", "FLOP/B"), RATE_COLUMNS)),
    ROWS("Layers", .path = "compute.layers.items",
         .remark = ", those first that keep the device busy longest; each has its own work, without the layers in it. "
                   "Parameters are estimated by the weights that calls met",
         COLUMNS(NAME("path", "Layer"), NUMBER("instances", "Modules"), NUMBER("calls", "Calls"),
                 NUMBER("host_us", "Host (us)"), NUMBER("device_us", "GPU work (us)"),
                 NUMBER("backward_device_us", "Of it backward (us)"), NUMBER("flops", "Matrix operations"),
                 NUMBER("lost_us", "Slower than good kernels by (us)"), NUMBER("allocated_bytes", "Allocated (B)"),
                 NUMBER("parameters", "Parameters (estimate)"))),
    { .only_if = "compute.layers.parameters",
      .says = "All layers together hold some {F compute.layers.parameters} parameters." },
    { .only_if = "compute.layers",
      .says = "Of all GPU work of {F compute.layers.total.device_us}, {F compute.layers.outside.device_us} is outside of "
              "modules, and {F compute.layers.other.device_us} in layers that are not listed." },
};

const struct doc_section ap_section_compute = {
    .title = "Compute: operations, bytes and roofline",
    .if_any = { "compute" },
    .parts = COUNTED(parts),
};
