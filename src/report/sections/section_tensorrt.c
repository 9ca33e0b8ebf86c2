/* SPDX-License-Identifier: MIT
 * section_tensorrt.c - an engine of TensorRT: queries and layers. */
#include "sections.h"

#include "poison.h"

static const struct doc_figure figures[] = {
    { "tensorrt.times.parts.latency.count", "Queries" },
    FIGURE("tensorrt.times.window_us"),
    FIGURE("tensorrt.times.per_s"),
    FIGURE("tensorrt.times.first_us"),
    FIGURE("tensorrt.times.idle_us"),
    FIGURE("tensorrt.times.enqueue_times"),
    FIGURE("tensorrt.layers.count"),
    FIGURE("tensorrt.layers.described_count"),
    FIGURE("tensorrt.layers.iterations"),
    FIGURE("tensorrt.layers.total_us"),
    FIGURE("tensorrt.layers.query_times"),
    { "tensorrt.layers.reformats.total_us", "Layers that only change layouts" },
    { "tensorrt.layers.fp32.total_us", "Layers in FP32" },
    { "tensorrt.layers.low_precision.total_us", "Layers in 16 bit or less" },
};

static const struct doc_part parts[] = {
    FIGURES(NULL, figures),
    ROWS("Parts of a query", .path = "tensorrt.times.parts",
         .remark = ": all of it, the device's work, copies to and from it, and handing it over on the host",
         COLUMNS(NAME("*", "Part"), NUMBER("mean_us", "Mean (us)"), NUMBER("min_us", "Min (us)"),
                 NUMBER("p50_us", "p50 (us)"), NUMBER("p90_us", "p90 (us)"), NUMBER("p95_us", "p95 (us)"),
                 NUMBER("p99_us", "p99 (us)"), NUMBER("max_us", "Max (us)"), FULL("cv_ratio", "Spread"))),
    ROWS("Layers by type and precision", .path = "tensorrt.layers.kinds", .limit = 30, .remark = ", the largest sum first",
         COLUMNS(NAME("type", "Type"), NAME("precision", "Precision"), NUMBER("count", "Layers"),
                 NUMBER("total_us", "Total (us)"), FULL("share_ratio", "Share"))),
    ROWS("Layers", .path = "tensorrt.layers.rows", .limit = 40, .remark = ", the longest first",
         COLUMNS(NAME("name", "Layer"), NAME("type", "Type"), NAME("precision", "Precision"), NUMBER("mean_us", "Mean (us)"),
                 NUMBER("p50_us", "p50 (us)"), FULL("share_ratio", "Share"), NAME("tactic", "Kernel"))),
};

const struct doc_section ap_section_tensorrt = { .title = "TensorRT", .if_any = { "tensorrt" }, .parts = COUNTED(parts) };
