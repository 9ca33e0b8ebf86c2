/* SPDX-License-Identifier: MIT
 * section_joined.c - snapshot and trace of one run on one axis of time. */
#include "sections.h"

#include "poison.h"

/* "The peak falls in step 7, backward of layer X." */
static void write_peak(struct doc *doc)
{
    static const char within[] =
        "The peak of {r requested_bytes} falls in step {f step}[, {n phase}][ of {n module}][, in {n operator}]"
        "[, made by {n forward_operator}][, called from {n user_line}].";
    static const char between[] =
        "The peak of {r requested_bytes} falls in no step[, {n phase}][ of {n module}][, in {n operator}]"
        "[, made by {n forward_operator}][, called from {n user_line}].";
    const struct ap_value *peak = ap_doc_at(doc, "joined.peak");
    if (!ap_doc_known(doc, "joined.peak.requested_bytes"))
        return;
    ap_doc_paragraph(doc, peak,
                     ap_doc_false(doc, "joined.peak.in_trace")
                         ? "The peak of {r requested_bytes} does not fall into the trace."
                     : ap_doc_known(doc, "joined.peak.step") ? within
                                                             : between);
}

static const struct doc_figure figures[] = {
    FIGURE("joined.overlap_us"),
    FIGURE("joined.offset_us"),
    FIGURE("joined.matched_allocations"),
    FIGURE("joined.compared_allocations"),
    FIGURE("joined.peak_in_trace.requested_bytes"),
    FIGURE("joined.capacity_bytes"),
    FIGURE("joined.peak_capacity_ratio"),
};

static const struct doc_part parts[] = {
    SAYS("Put on one axis of time by: {p joined.method}; confidence {p joined.confidence}: {p joined.reason}."),
    CALL(write_peak),
    FIGURES(NULL, figures),
    ROWS("Requests that failed, in the trace", .path = "joined.oom",
         COLUMNS(ID("device", "Device"), NUMBER("requested_bytes", "Asked for (B)"), NUMBER("at_us", "At (us)"),
                 NUMBER("step", "Step"), NAME("phase", "Phase"), NAME("module", "Module"), NAME("operator", "Operator"),
                 NAME("user_line", "Line"))),
    ROWS("Memory of the snapshot by phase of the trace", .path = "joined.phases",
         .remark = ", the replayed curve cut by the trace's phases",
         COLUMNS(NAME("phase", "Phase"), NUMBER("count", "Times"), NUMBER("peak_requested_bytes", "Peak requested (B)"),
                 NUMBER("peak_at_us", "At (us)"), NUMBER("delta_bytes", "Change, all times (B)"))),
    ROWS("Memory of the snapshot by step of the trace", .path = "joined.steps", .remark = ", the same by steps",
         COLUMNS(NUMBER("step", "Step"), NUMBER("whole", "Whole"), NUMBER("start_requested_bytes", "At its start (B)"),
                 NUMBER("peak_requested_bytes", "Peak (B)"), NAME("peak_phase", "In"), NUMBER("peak_at_us", "At (us)"),
                 NUMBER("end_requested_bytes", "At its end (B)"))),
};

const struct doc_section ap_section_joined = { .title = "Trace and snapshot together",
                                               .if_any = { "joined" },
                                               .parts = COUNTED(parts) };
