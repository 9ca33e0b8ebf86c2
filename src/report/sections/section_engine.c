/* SPDX-License-Identifier: MIT
 * section_engine.c - requests and steps of an inference engine. */
#include "sections.h"

#include "poison.h"

static const struct doc_figure figures[] = {
    { "engine.count", "Steps" },
    { "engine.total_us", "Time of them" },
    { "engine.pauses", "Pauses for want of requests" },
    { "engine.queued_us", "Queued behind steps before" },
    { "engine.tokens", "Tokens of prompts and answers" },
    { "engine.tokens_s", "Tokens per second" },
    { "engine.device_ratio", "Time in which the device works for the steps" },
    { "engine.graph_ratio", "GPU work in graphs" },
    { "engine.gaps.total_us", "Between the GPU work of a step and the next one's" },
    { "engine.gaps.time_ratio", "That, share of the steps" },
    { "engine.gaps.host_mean_us", "Host from step to step, mean" },
    { "engine.stalls.count", "Interruptions of decoding by prompts" },
    { "engine.stalls.total_us", "Time of these" },
};

static const struct doc_part parts[] = {
    { .only_if = "engine",
      .says =
          "{n engine.name} marks its steps. A step lasts from the end of the one before to its own, on the device where it "
          "has work there: of decode steps that is what a request waits for its next token." },
    FIGURES(NULL, figures),
    ROWS("Prefill and decode", .path = "engine.phases", .nonzero = "count", .limit = 10,
         COLUMNS(NAME("*", "Steps"), NUMBER("count", "Number"), NUMBER("total_us", "Total (us)"),
                 NUMBER("median_us", "Median (us)"), NUMBER("p90_us", "p90 (us)"), NUMBER("p99_us", "p99 (us)"),
                 NUMBER("max_us", "Longest (us)"), NUMBER("requests", "Requests"), NUMBER("tokens", "Tokens"),
                 NUMBER("token_us", "Time per token (us)"), NUMBER("tokens_s", "Tokens per second"),
                 NUMBER("device_ratio", "Device works"), NUMBER("graph_ratio", "In graphs"))),
    ROWS("Batches", .path = "engine.batches", .remark = ", those first that took most time",
         COLUMNS(NAME("phase", "Steps"), NUMBER("requests", "Requests"), NUMBER("count", "Number"),
                 NUMBER("tokens", "Tokens"), NUMBER("total_us", "Total (us)"), NUMBER("median_us", "Median (us)"),
                 NUMBER("token_us", "Time per token (us)"), NUMBER("device_ratio", "Device works"))),
    ROWS("Slowest steps", .path = "engine.slowest", .limit = 10,
         COLUMNS(NUMBER("step", "Step"), NAME("phase", "Kind"), NUMBER("requests", "Requests"), NUMBER("tokens", "Tokens"),
                 NUMBER("step_us", "Time (us)"), NUMBER("device_us", "Device works (us)"),
                 NUMBER("gap_us", "Idle before (us)"), NUMBER("start_us", "Start (us)"), NAME("name", "Annotation"))),
};

static const struct doc_figure replay_figures[] = {
    { "graphs.launches", "Graph launches" },
    { "graphs.kinds", "Different graphs" },
    { "graphs.kernels", "Kernels in graphs" },
    { "graphs.kernel_ratio", "Their time, share of all kernels" },
    { "graphs.mapped_kernels", "Of them found in the trace given beside" },
    { "repeats.length", "Kernels of the stretch that repeats (a layer, or a step)" },
    { "repeats.in_a_row", "Repeats in a row" },
    { "repeats.mean_us", "Kernels of a repeat, mean" },
    { "repeats.median_us", "The same, median" },
    { "repeats.kernel_ratio", "All repeats, share of all kernels" },
    { "repeats.fusion_saves_us", "What known fused kernels would save of it at most" },
};

/* The trace given beside has none of the graphs: a capture by CUDA records operators, and no kernels. */
static void write_unmapped(struct doc *doc)
{
    if (!ap_value_integer(ap_doc_at(doc, "graphs.mapped_kernels"), 1))
        ap_doc_paragraph(doc, NULL,
                         "No kernels of these graphs were found in the trace given beside. A capture by CUDA records "
                         "operators and no kernels: give a run of the same step without graphs.");
}

static const struct doc_part replay_parts[] = {
    FIGURES(NULL, replay_figures),
    CALL(write_unmapped),
    ROWS("Graphs", .path = "graphs.items", .limit = 10, .remark = ", those first that took most time",
         COLUMNS(NUMBER("launches", "Launches"), NUMBER("kernels", "Kernels"), NUMBER("total_us", "Total (us)"),
                 NUMBER("mean_us", "Mean (us)"), NAME("match", "Found as"))),
    ROWS("Operators in graphs", .path = "graphs.operators", .remark = ", by the trace given beside",
         COLUMNS(NAME("operator", "Operator"), NAME("dims", "Shapes"), NUMBER("count", "Kernels"),
                 NUMBER("total_us", "Total (us)"), NAME("kernel", "Kernel"), NAME("line", "Line"))),
    ROWS("The stretch that repeats, kernel by kernel", .path = "repeats.kernels", .limit = 40,
         COLUMNS(NAME("name", "Kernel"), NAME("subfamily", "For"), NUMBER("mean_us", "Mean (us)"),
                 NAME("operator", "Operator"), NAME("dims", "Shapes"), NAME("line", "Line"))),
    ROWS("Neighbors that a known fused kernel replaces", .path = "repeats.fusions",
         COLUMNS(PROSE("fused", "Fused kernel"), NUMBER("count", "Pairs"), NUMBER("total_us", "Total (us)"),
                 NUMBER("saves_us", "Saves at most (us)"), NAME("first", "First"), NAME("second", "Second"))),
};

const struct doc_section ap_section_replay = {
    .title = "Graphs, and what repeats",
    .if_any = { "graphs", "repeats" },
    .parts = COUNTED(replay_parts),
};

const struct doc_section ap_section_engine = {
    .title = "Inference engine: steps, prefill and decode",
    .if_any = { "engine" },
    .parts = COUNTED(parts),
};
