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

const struct doc_section ap_section_engine = {
    .title = "Inference engine: steps, prefill and decode",
    .if_any = { "engine" },
    .parts = COUNTED(parts),
};
