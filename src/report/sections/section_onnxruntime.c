/* SPDX-License-Identifier: MIT
 * section_onnxruntime.c - sessions of ONNX Runtime: their runs, and where their time goes. */
#include "sections.h"

#include "poison.h"

static const struct doc_figure figures[] = {
    FIGURE("onnxruntime.files"),
    FIGURE("onnxruntime.graphs"),
    FIGURE("onnxruntime.load_us"),
    FIGURE("onnxruntime.initialization_us"),
    FIGURE("onnxruntime.runs.count"),
    FIGURE("onnxruntime.runs.first_us"),
    { "onnxruntime.runs.warm.p50_us", "Median of the other runs" },
    { "onnxruntime.runs.warm.p90_us", "Their 90th percentile" },
    { "onnxruntime.runs.warm.p99_us", "Their 99th percentile" },
    FIGURE("onnxruntime.runs.per_s"),
    FIGURE("onnxruntime.runs.outside_us"),
    { "onnxruntime.nodes.nodes", "Nodes" },
    { "onnxruntime.nodes.calls_per_run", "Calls of nodes in a run" },
    { "onnxruntime.nodes.total_us", "Time of nodes" },
    { "onnxruntime.fallback.total_us", "On the processor beside another provider" },
    { "onnxruntime.copies.total_us", "Copies between providers" },
    { "onnxruntime.conversions.total_us", "Nodes that only convert" },
    { "onnxruntime.reorders.total_us", "Changes of layout that were put in" },
    { "onnxruntime.inserted_casts.total_us", "Casts that were put in" },
    { "onnxruntime.unfused.total_us", "Parts of operators that could be one" },
    { "onnxruntime.loops.total_us", "Going round in loops" },
    FIGURE("onnxruntime.threads.count"),
    FIGURE("onnxruntime.threads.cores"),
    FIGURE("onnxruntime.threads.helped_ratio"),
};

static const struct doc_part parts[] = {
    SAYS("All times of nodes are those of the host, and without the nodes inside a loop or branch. Of a provider with a "
         "device of its own they are the time to start the work, unless kernels are listed below."),
    FIGURES(NULL, figures),
    ROWS("Sessions", .path = "onnxruntime.sessions", .limit = 30,
         .remark = ", in the order of their files; those of one graph run the same nodes",
         COLUMNS(NAME("path", "File"), NUMBER("graph", "Graph"), NUMBER("nodes", "Nodes"), NUMBER("runs", "Runs"),
                 NUMBER("initialization_us", "Making it (us)"), NUMBER("first_us", "First run (us)"),
                 NUMBER("median_us", "Median of the others (us)"), NUMBER("run_us", "Runs (us)"),
                 FULL("share_ratio", "Share of node time"))),
    ROWS("Operators", .path = "onnxruntime.operators", .limit = 30, .remark = ", the largest sum first",
         COLUMNS(NAME("operator", "Operator"), NAME("provider", "Provider"), NUMBER("nodes", "Nodes"),
                 NUMBER("calls", "Calls"), NUMBER("total_us", "Total (us)"), FULL("share_ratio", "Share"),
                 NUMBER("mean_us", "Mean (us)"), NUMBER("max_us", "Max (us)"))),
    ROWS("Nodes", .path = "onnxruntime.node_rows", .limit = 30, .remark = ", the largest sum first",
         COLUMNS(NAME("name", "Node"), NUMBER("graph", "Graph"), NAME("operator", "Operator"), NAME("provider", "Provider"),
                 NUMBER("calls", "Calls"), NUMBER("total_us", "Total (us)"), FULL("share_ratio", "Share"),
                 NUMBER("mean_us", "Mean (us)"), NUMBER("first_us", "First (us)"), NUMBER("max_us", "Max (us)"),
                 NAME("shapes", "Shapes of the first call"))),
    ROWS("Providers", .path = "onnxruntime.providers", .limit = 20,
         COLUMNS(NAME("provider", "Provider"), NUMBER("nodes", "Nodes"), NUMBER("calls", "Calls"),
                 NUMBER("total_us", "Total (us)"), FULL("share_ratio", "Share"))),
    ROWS("Kernels", .path = "onnxruntime.kernels", .limit = 30, .remark = " of a device, the largest sum first",
         COLUMNS(NAME("name", "Kernel"), NAME("operator", "Operator"), NUMBER("calls", "Calls"),
                 NUMBER("total_us", "Total (us)"), FULL("share_ratio", "Share"), NUMBER("mean_us", "Mean (us)"))),
};

const struct doc_section ap_section_onnxruntime = { .title = "ONNX Runtime",
                                                    .if_any = { "onnxruntime" },
                                                    .parts = COUNTED(parts) };
