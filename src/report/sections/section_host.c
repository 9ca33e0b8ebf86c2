/* SPDX-License-Identifier: MIT
 * section_host.c - the first figures of all, and the host: operators, threads, known patterns. */
#include "sections.h"

#include "poison.h"

/* ---- summary ---- */

static const struct doc_figure time[] = {
    FIGURE("trace.window_us"),
    FIGURE("cpu.summary.events_total"),
    FIGURE("cpu.summary.x_events_total"),
    FIGURE("cpu.operator_summary.events"),
    FIGURE("cpu.operator_summary.names"),
    FIGURE("cpu.operator_summary.self_dur_us"),
    FIGURE("cpu.thread_summary.threads"),
    FIGURE("cpu.thread_summary.busiest_window_ratio"),
    { "steps.count", "Recorded steps" },
    { "steps.steady.p50_us", "Median steady step" },
    FIGURE("gpu.utilization_ratio"),
    { "gpu.busy_us", "GPU busy, all devices" },
    { "gpu.idle_us", "GPU idle, all devices" },
};

static const struct doc_figure memory[] = {
    { "memory.summary.reserved_bytes", "Reserved" },
    { "memory.summary.allocated_bytes", "Allocated" },
    FIGURE("memory.summary.active_bytes"),
    FIGURE("memory.summary.requested_bytes"),
    FIGURE("memory.state.slack_bytes"),
    FIGURE("memory.state.slack_ratio"),
    { "memory.state.inactive_split_bytes", "Inactive split" },
    FIGURE("memory.summary.segments"),
    FIGURE("memory.history.entries"),
    FIGURE("memory.history.oom_count"),
};

static void write_summary(struct doc *doc)
{
    static const struct doc_part tables[] = { FIGURES("Time", time), FIGURES("Memory", memory) };
    if (!ap_doc_parts(doc, COUNTED(tables)))
        ap_doc_paragraph(doc, NULL, "The input holds nothing to sum up.");
}

static const struct doc_part summary_parts[] = { CALL(write_summary) };

const struct doc_section ap_section_summary = { .title = "Resource summary",
                                                .if_any = { "cpu", "memory", "steps" },
                                                .parts = COUNTED(summary_parts) };

/* ---- host ---- */

#define OPERATOR_COLUMNS                                                                                   \
    NAME("name", "Operator"), NUMBER("count", "Count"), NUMBER("total_dur_us", "Total (us)"),              \
        NUMBER("self_dur_us", "Self (us)"), NUMBER("self_excl_runtime_dur_us", "Self less runtime (us)"),  \
        NUMBER("avg_dur_us", "Mean (us)"), NUMBER("min_dur_us", "Min (us)"), NUMBER("p50_us", "p50 (us)"), \
        NUMBER("p99_us", "p99 (us)"), NUMBER("max_dur_us", "Max (us)")

#define THREAD_COLUMNS                                                                                  \
    NAME("name", "Thread"), ID("pid", "pid"), ID("tid", "tid"), NUMBER("operator_events", "Operators"), \
        NUMBER("total_dur_us", "Sum of durations (us)"), NUMBER("busy_us", "Busy (us)"),                \
        NUMBER("window_share_ratio", "Share of window")

static const struct doc_part by_time[] = {
    ROWS("Operators by total time", .path = "cpu.operators", .remark = ", largest total first", COLUMNS(OPERATOR_COLUMNS)),
};

static const struct doc_part by_self[] = {
    ROWS("Operators by self time", .path = "cpu.operators_by_self", .remark = ", largest self time first",
         COLUMNS(OPERATOR_COLUMNS)),
};

static const struct doc_part by_category[] = {
    ROWS("CPU events by total time", .path = "cpu.top_ops", .remark = ", largest total first", COLUMNS(OPERATOR_COLUMNS)),
};

static void write_operators(struct doc *doc)
{
    if (ap_doc_parts(doc, COUNTED(by_time)))
        (void)ap_doc_parts(doc, COUNTED(by_self));
    else if (!ap_doc_parts(doc, COUNTED(by_category)))
        ap_doc_paragraph(doc, NULL, "No operators were recorded.");
}

static const struct doc_part own_threads[] = { ROWS("Threads", .path = "cpu.threads", COLUMNS(THREAD_COLUMNS)) };

static const struct doc_part drop_in_threads[] = { ROWS("Threads", .path = "cpu.top_threads", COLUMNS(THREAD_COLUMNS)) };

static void write_threads(struct doc *doc)
{
    if (!ap_doc_parts(doc, COUNTED(own_threads)))
        (void)ap_doc_parts(doc, COUNTED(drop_in_threads));
}

static const struct doc_part cpu_parts[] = {
    CALL(write_operators),
    ROWS("Operator families", .path = "cpu.families",
         COLUMNS(NAME("family", "Family"), NUMBER("count", "Count"), NUMBER("total_dur_us", "Total (us)"),
                 NUMBER("self_dur_us", "Self (us)"), NUMBER("self_share_ratio", "Share of self time"))),
    CALL(write_threads),
    ROWS("Known patterns", .path = "cpu.signals",
         .remark = ": operators, annotations and calls that stand for a known pattern, where there are any",
         .nonzero = "count",
         COLUMNS(NAME("*", "Pattern"), NUMBER("count", "Count"), NUMBER("total_dur_us", "Time (us)"),
                 NUMBER("window_share_ratio", "Share of window"), NUMBER("per_step", "Per step"))),
};

const struct doc_section ap_section_cpu = { .title = "CPU", .if_any = { "cpu" }, .parts = COUNTED(cpu_parts) };
